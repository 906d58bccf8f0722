"""The interface of notebooks: a picture below scikit-learn's diagram, and a live view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from driftmap.landmarks.engine_estimator import EngineEstimator
from driftmap.map import StreamMap

if TYPE_CHECKING:
    from driftmap.live.notebook import NotebookView


class NotebookInterface(EngineEstimator, BaseEstimator):
    """Methods by which a notebook shows a map."""

    _engine: StreamMap

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._html_map()
        return bundle

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._html_map()

    def _html_map(self) -> str:
        """Return a small picture of the map to show below scikit-learn's diagram; empty before the first point."""
        if not self.__sklearn_is_fitted__():
            return ""
        from driftmap.plot.notebook import html_map

        return html_map(self._engine)

    def watch(self, *, label: str = "label", points: int = 5000) -> NotebookView:
        """Return a live view for a notebook; its ``update`` learns rows and shows them (extra ``notebook``).

        A cell that ends with the view shows it. ``view.update(X, labels=...)`` is then :meth:`update` with a picture of
        the last ``points`` rows. ``label`` is the name of the labels.
        """
        from driftmap.live.notebook import NotebookView

        return NotebookView(self, label, points)
