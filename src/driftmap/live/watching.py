"""An observer that keeps the scene of the live view up to date."""

from __future__ import annotations

import time
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from driftmap.live.scene import CAPACITY, Change, Landmarks, Move, Scene
from driftmap.map.changes import Drift, surprise
from driftmap.map.frame import Frame, FrameChange
from driftmap.map.stream_map import StreamMap
from driftmap.pipeline.observer import Observer, Update
from driftmap.quality import stress
from driftmap.tables.writers import output_names
from driftmap.utils import Array, Ids
from driftmap.web.columns import GrowingColumn

MOST_COLUMNS = 16
"""Most columns shown."""
SAMPLE_SECONDS = 0.25
"""Seconds between samples of the curves."""
NOVELTY_COLUMN = "novelty"


class Watcher(Observer):
    """Shows rows as they are mapped. :meth:`refresh`, which another thread may call, updates landmarks and curves.

    Rows first appear where they were placed on arrival. When the map has a new frame, :meth:`refresh` places all rows
    again, so that learning does not wait for it. The live view shows frames and never makes one.
    """

    def __init__(self, title: str, columns: Sequence[str], label: str | None = None, capacity: int = CAPACITY) -> None:
        self._label = None if label is None else GrowingColumn(label)
        given = [] if self._label is None else [self._label]
        (novelty,), names = output_names([NOVELTY_COLUMN], [*(one.name for one in given), *columns[:MOST_COLUMNS]])
        shown = [GrowingColumn(name, "number") for name in names[len(given) :]]
        self.scene = Scene(title, [*given, GrowingColumn(novelty, "number"), *shown], capacity, label)
        self._n_shown = len(shown)
        self._rows = np.empty((0, 0))  # ring buffer of the features of the shown rows
        self._next = 0
        self._frame = 0
        self._stress = 0.0
        self._mapper: StreamMap | None = None
        self._novelty = 0.0  # the largest reach since the last sample
        self._surprise = np.nan  # of the last check
        self._change: tuple[Drift, dict[str, Any]] | None = None
        self._last = time.monotonic(), 0, 0.0  # time, rows and rate at the last sample

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Show the mapped rows and the alerts of an update."""
        if update.coordinates is not None:
            reach, rows = update.reach, update.rows
            self.show(update.first, rows.features, update.coordinates, reach, update.nearest, rows.labels)
            self._mapper = mapper
        if update.checks:
            self._surprise = float(surprise([check.p_value for check in update.checks]).max())
        drifts = [report_of(drift) for drift in update.drifts]
        if drifts:
            drift = update.drifts[-1]
            self._change = drift, drifts[-1]
            self.scene.set_change(shown_change(*self._change, np.array([one.position for one in drift.landmarks])))
        if alerts := sorted([*(alert.as_json() for alert in update.alerts), *drifts], key=itemgetter("row")):
            self.scene.add_alerts(alerts)

    def show(
        self, first: int, rows: Array, coordinates: Array, reach: Array | None, nearest: Ids | None, labels: Any = None
    ) -> None:
        """Show a batch of rows."""
        n, capacity = len(rows), self.scene.rows.capacity
        if not len(self._rows):
            self._rows = np.empty((capacity, rows.shape[1]))
        kept = np.arange(max(0, n - capacity), n)
        known = np.full(n, np.nan) if reach is None else np.where(reach < np.inf, reach, np.nan)
        values = [] if self._label is None else [np.full(n, np.nan) if labels is None else self._label.add(labels)]
        with self.scene.lock:  # refresh() reads the rows under this lock
            self._rows[(first + kept) % capacity] = rows[kept]
        self.scene.append(first, plane(coordinates), [*values, known, *rows[:, : self._n_shown].T], nearest)
        self._novelty = max(self._novelty, float(np.max(known, initial=0.0, where=np.isfinite(known))))

    def refresh(self) -> None:
        """Place the rows again if there is a new frame; update the landmarks and the curves."""
        mapper, scene = self._mapper, self.scene
        if mapper is None or not mapper.fitted:
            return
        if scene.rows.next != self._next:
            self._next = scene.rows.next
            with mapper.lock:
                given = mapper.given_frame()
                if given is None:
                    return
                number, frame = given
                why = moved_of(mapper.frames_, number)
                store = mapper._landmark_engine().store
                is_present = np.array_equal(frame.landmarks, mapper.landmark_indices_)
                masses = mapper.landmark_mass_ if is_present else frame.cover.masses
            positions = frame.landmark_positions()
            scene.set_landmarks(Landmarks(frame.landmarks, plane(positions), masses))
            self._stress = stress(store.to_points(frame.points, frame.points), positions, metric="precomputed")
            if number != self._frame:
                with scene.lock:
                    first = scene.rows.oldest
                    rows = self._rows[scene.rows.slots(first, scene.rows.next)]
                scene.move(first, plane(frame.place_queries(store, store.check_queries(rows))), why)
                self._move_change(mapper, frame)
                self._frame = number
        self._sample(mapper, time.monotonic())

    def _move_change(self, mapper: StreamMap, frame: Frame) -> None:
        """Place the cells of the last drift again, as far as their landmarks are still stored."""
        if self._change is None:
            return
        drift, report = self._change
        with mapper.lock:
            engine = mapper._landmark_engine()
            kept = np.isin([one.landmark for one in drift.landmarks], engine.stored_indices_)
            stored = [one for one, is_kept in zip(drift.landmarks, kept.tolist(), strict=True) if is_kept]
            drift = drift._replace(landmarks=stored)
            points = engine.stored_points(np.array([one.landmark for one in stored], dtype=np.int64))
            store = engine.store
        positions = frame.place_queries(store, store.check_queries(points)) if stored else np.empty((0, 2))
        self._change = drift, report
        self.scene.set_change(shown_change(drift, report, positions))

    def _sample(self, mapper: StreamMap, now: float) -> None:
        """Sample the curves periodically; when the stream stalls, add a final sample with rate zero."""
        then, seen, rate = self._last
        seen_now = self.scene.rows.next
        if now - then < SAMPLE_SECONDS or (seen_now == seen and rate == 0):
            return
        self._last = now, seen_now, (seen_now - seen) / (now - then)
        sample = {"time": time.time(), "rows": seen_now, "rate": self._last[2], "novelty": self._novelty}
        self.scene.add_sample(sample | {"radius": mapper.radius_, "stress": self._stress, "drift": self._surprise})
        self._novelty = 0.0


def moved_of(changes: Sequence[FrameChange], number: int) -> Move | None:
    """Return what a browser shows of the last move of the map, which led to this frame; None of the first one."""
    if not changes or changes[-1].frame != number:
        return None
    change = changes[-1]
    median = change.displacement.median
    return Move(number, change.arrival, change.reason, median if median < np.inf else None)


def report_of(drift: Drift) -> dict[str, Any]:
    """Return what a browser shows of a drift; the cells are shown on the map."""
    shown = {name: part for name, part in drift.as_json().items() if name != "landmarks"}
    size = float(surprise([drift.p_value])[0])
    return shown | {"at": time.time(), "size": size, "text": f"Drift since row {drift.began:,}"}


def shown_change(drift: Drift, report: dict[str, Any], positions: Array) -> Change:
    """Return what is shown of a drift whose landmarks lie here."""
    return Change(report, plane(positions), np.array(drift.log_ratios()))


def plane(coordinates: Array) -> Array:
    """Return the first two coordinates; a map with one dimension gets a second coordinate of 0."""
    flat = coordinates.shape[1] == 1
    return np.column_stack([coordinates, np.zeros(len(coordinates))]) if flat else coordinates[:, :2]
