"""A live map in a notebook."""

from __future__ import annotations

import weakref
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

    def close(self) -> None:
        """Stop refreshing and close the widget."""
        self._ticker.stop()
        self._screen.widget.close()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._screen.widget._repr_mimebundle_(**options)


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
            self.widget.scene, self._seen = message
