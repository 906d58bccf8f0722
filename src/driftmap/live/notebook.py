"""A live map in a notebook."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from driftmap.live.scene import Seen
from driftmap.live.ticker import Ticker
from driftmap.live.watching import Watcher
from driftmap.map.arrivals import Arrivals
from driftmap.map.drift import DriftMonitor
from driftmap.map.novelty import NoveltyDetector
from driftmap.map.stream_map import StreamMap
from driftmap.pipeline.observer import Update
from driftmap.plot.notebook import svg_map
from driftmap.tables.table import Chunk
from driftmap.utils import validation
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from driftmap.live.widget import MapWidget

REFRESH_SECONDS = 0.2
"""Seconds between messages to the notebook."""


class MapEstimator(Protocol):
    """The estimator that learns: a :class:`driftmap.DriftMap`."""

    _engine: StreamMap

    def update(
        self,
        X: Any,
        times: Any = None,
        *,
        detector: NoveltyDetector | None = None,
        monitor: DriftMonitor | None = None,
    ) -> Arrivals:
        """Score, learn and place a batch of rows."""


class NotebookView:
    """Learns rows and shows them on the map. A notebook displays it as the result of a cell."""

    def __init__(self, mapper: MapEstimator, label: str, points: int) -> None:
        from driftmap.live.widget import MapWidget  # needs an extra

        self._mapper, self._label = mapper, label
        self._points = validation.integer_at_least(points, "points", 10)
        self._screen = _Screen(MapWidget())
        self._output: Any = None  # where a notebook displays the view
        self._ticker = Ticker(self._screen.refresh, REFRESH_SECONDS)
        weakref.finalize(self, self._ticker.stop)

    def update(
        self,
        X: Any,
        times: Any = None,
        *,
        labels: Any = None,
        detector: NoveltyDetector | None = None,
        monitor: DriftMonitor | None = None,
    ) -> Arrivals:
        """Score, learn and place rows, as :meth:`driftmap.DriftMap.update` does, and show them.

        ``labels`` (numbers, dates or text, one for each row) colour the points.
        """
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "iufb":
            raise InputError("must be rows of numbers to be shown", parameter="X")
        if labels is not None and len(labels) != len(rows):
            raise InputError(f"must have one entry for each of the {len(rows)} rows", parameter="labels")
        arrivals = self._mapper.update(X, times, detector=detector, monitor=monitor)
        mapper = self._mapper._engine
        watcher = self._screen.watcher
        if watcher is None:
            names = mapper.feature_names or [f"x{i}" for i in range(rows.shape[1])]
            watcher = Watcher("", names, None if labels is None else self._label, self._points)
        chunk, first = Chunk(rows.astype(np.float64), labels), mapper.n_samples_seen_ - len(rows)
        update = Update("mapping", first, chunk, is_learnt=True, coordinates=arrivals.coordinates, reach=arrivals.reach)
        update = update._replace(nearest=arrivals.nearest, alerts=arrivals.alerts)
        update = update._replace(drifts=arrivals.drifts, checks=arrivals.checks)
        watcher.observe(update, mapper)
        self._screen.watcher = watcher
        return arrivals

    @property
    def selection(self) -> list[int]:
        """The arrival numbers of the rows in the lasso. Setting them highlights these rows."""
        return list(self._screen.widget.selection)

    @selection.setter
    def selection(self, arrivals: Any) -> None:
        numbers = np.asarray(arrivals)
        if numbers.ndim != 1 or (len(numbers) and (numbers.dtype.kind not in "iu" or (numbers < 0).any())):
            raise InputError("must be arrival numbers: integers from 0 on", parameter="selection")
        self._screen.widget.selection = numbers.tolist()

    def on_selection(self, callback: Callable[[list[int]], Any]) -> None:
        """Call a function with the arrival numbers whenever the selection changes."""
        self._screen.widget.observe(lambda change: callback(list(change["new"])), "selection")

    def close(self) -> None:
        """Stop refreshing and close the widget. The notebook keeps a picture of the map as it is now."""
        self._ticker.stop()
        self._screen.widget.close()
        if self._output is not None:
            self._output.update(self._picture(), raw=True)
            self._output = None

    def _picture(self) -> dict[str, str]:
        """Return the map as MIME types that need no kernel."""
        found = {"text/plain": f"<live view of {self._mapper!r}>"}
        picture = svg_map(self._mapper._engine) if self._screen.watcher is not None else None
        return found if picture is None else found | {"image/svg+xml": picture}

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle: Any = self._screen.widget._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, **self._picture()}, metadata

    def _ipython_display_(self) -> None:
        from IPython.display import display  # a notebook is running

        data, metadata = self._repr_mimebundle_()
        self._output = display(data, metadata=metadata, raw=True, display_id=True)  # type: ignore[no-untyped-call]


class _Screen:
    """The widget and its content. The refreshing thread refers to it instead of the view, which can then be freed."""

    def __init__(self, widget: MapWidget) -> None:
        self.widget = widget
        self.watcher: Watcher | None = None
        self._seen: Seen | None = None

    def refresh(self) -> None:
        """Send the scene to the notebook if it has changed."""
        if self.watcher is None:
            return
        self.watcher.refresh()
        scene = self.watcher.scene
        if scene.message(self._seen) is not None:
            message = scene.message(None)
            assert message is not None
            content, self._seen = message
            self.widget.show(content)
