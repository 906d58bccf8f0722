"""Landmarks that follow the stream: the engine of :class:`~driftmap.landmarks.OnlineLandmarks`.

The core (:class:`driftmap._core.Stream`) is the algorithm. The engine checks what comes in, chooses who measures, and
answers in terms of arrival numbers. It needs no scikit-learn, which takes long to import.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from driftmap._core import Stream
from driftmap.landmarks.events import Event
from driftmap.landmarks.farthest_first import farthest_first
from driftmap.landmarks.memory import memory_of, times_of
from driftmap.landmarks.nearest_before import (
    MOST_EVENTS,
    NearestBefore,
    batch_rows,
    concatenate,
    fill_rows,
    radii_before,
)
from driftmap.landmarks.serialization import Saved
from driftmap.metrics import make_store
from driftmap.utils import SMALLEST_NORMAL, Array, Ids, validation
from driftmap.utils.concurrency import Lock, new_lock
from driftmap.utils.errors import InputError
from driftmap.utils.rounding import rounded_down, rounded_up
from driftmap.utils.validation import RULES

MOST_LANDMARKS = 2**31 - 2
MOST_SLACK = 1e9
"""A radius times this is squared, and must not overflow."""
RECURSIVE = "a metric or detector cannot use the estimator that is learning with it"
BROKEN = (
    "a point was left half learnt, since no memory was left or another thread changed the batch: load the last "
    "checkpoint, or fit again"
)


@dataclass(eq=False)
class LandmarkEngine(Saved):
    """Landmarks of a stream, by the parameters of :class:`~driftmap.landmarks.OnlineLandmarks`.

    Methods that learn or save take ``lock``. So must a caller that reads attributes while another thread may learn.
    """

    n_landmarks: int  # may be given by position
    _: KW_ONLY
    initial_radius: float = 1e-20

    def __post_init__(self) -> None:
        self.lock: Lock = new_lock()
        self.stream = None
        self.detector = None
        self._time_kind = None
        self._now = -np.inf  # time of the last arrival, where points expire
        self._is_learning = False
        self.fewest_landmarks = 1, ""
        """The least ``n_landmarks``, and what needs so many."""

    def validate(self) -> None:
        """Raise an error that names the first parameter that cannot be used; of an engine that has seen nothing."""
        self.store = make_store(self.metric, self.metric_params)
        self._parameters()

    @property
    def fitted(self) -> bool:
        """Whether any point has been seen."""
        return self.stream is not None

    # --- learning ---

    def partial_fit(self, X: Any, times: Any = None) -> Self:
        """Learn from further points, in their order; an exception changes nothing.

        An interrupt (Ctrl-C) leaves the points before it learnt, if the metric is native and there is no detector.
        """
        with self.lock, self._learning(X, times) as (stream, batch, moments):
            self._take_in(stream, batch, moments)
        return self

    def learn_with_nearest(self, X: Any, times: Any = None, *, points: bool = False) -> NearestBefore:
        """Learn from further points; returns the nearest landmark of each, just before the point was learnt.

        ``points``: with the landmarks themselves.
        """
        with self.lock, self._learning(X, times) as (stream, batch, moments):
            n = len(batch)
            points = points and self.store.metric.form == "rows"
            # The radius between two events is known from them, unless points are forgotten or wait for a signal.
            size = MOST_EVENTS if moments is None and self.detector is None else 1
            with self._undone(stream) if n > size else contextlib.nullcontext():
                parts = []
                for i in range(0, n, size):
                    part = None if moments is None else moments[i : i + size]
                    parts.append(self._part_with_nearest(stream, batch[i : i + size], part, points))
            return concatenate(parts)

    @contextlib.contextmanager
    def _learning(self, X: Any, times: Any = None) -> Iterator[tuple[Stream, Any, Array | None]]:
        """The stream (a new one before the first point), the checked points, and their times where points expire."""
        if self._is_learning:  # the lock is taken, so it is this thread that learns
            raise RuntimeError(RECURSIVE)
        if self.stream is not None and self.stream.broken:
            raise RuntimeError(BROKEN)
        self._is_learning = True
        try:
            stream = self.stream
            if stream is None:
                self.store = make_store(self.metric, self.metric_params, X)
            batch = self.store.check(X)
            if stream is None:
                stream = self.store.new_stream(**self._parameters())
                self.detector = None if isinstance(self.replace_on, str) else copy.deepcopy(self.replace_on)
                self._time_kind, self._now = None, -np.inf
            moments = None
            if self._memory.expires:
                moments, self._time_kind = times_of(times, len(batch), stream.seen, self._now, self._time_kind)
            elif times is not None:
                problem = "are used to forget points: give a window or a half_life, or leave them out"
                raise InputError(problem, parameter="times")
            self.stream = stream  # also if it is the first time and interrupted: the rows before that are learnt
            yield stream, batch, moments
        finally:
            self._is_learning = False
            if self.stream is not None and not self.stream.seen:
                self.stream = None

    def _parameters(self) -> dict[str, Any]:
        """What the core needs to know, once all parameters have been checked."""
        if validation.integer_at_least(self.n_landmarks, "n_landmarks", *self.fewest_landmarks) > MOST_LANDMARKS:
            raise InputError(f"must be at most {MOST_LANDMARKS}, got {self.n_landmarks}", parameter="n_landmarks")
        validation.one_of(self.rule, "rule", RULES)
        radius = validation.positive_number(self.initial_radius, "initial_radius")
        if self.store.metric.is_euclidean and not SMALLEST_NORMAL <= radius * radius < np.inf:
            size, what = ("small", "underflows") if radius < 1 else ("large", "overflows")
            raise InputError(f"={radius:g} is too {size}: its square {what}", parameter="initial_radius")
        self._memory = memory_of(self, self.store.metric)
        slack = validation.positive_number(self.slack, "slack", or_zero=True)
        if slack > MOST_SLACK:
            raise InputError(f"must be at most {MOST_SLACK:g}, got {self.slack:g}", parameter="slack")
        return {
            "n_landmarks": int(self.n_landmarks),
            "rule": self.rule,
            "initial_radius": radius,
            "slack": slack,
            "memory": self._memory.limit,
            "window": self._memory.window,
            "half_life": self._memory.half_life,
        }

    def _part_with_nearest(self, stream: Stream, batch: Any, moments: Array | None, points: bool) -> NearestBefore:
        first, version = stream.seen, stream.version
        radius = stream.radius if first else self.initial_radius
        before = self.landmarks_of(stream) if points and first else None
        nearest, distances = self._take_in(stream, batch, moments, nearest_before=True)
        changed = stream.version != version
        if len(batch) == 1:
            radii = np.array([radius])
        else:
            radii = radii_before(radius, distances, first, stream.events() if changed else [])
        if not points:
            return NearestBefore(nearest, distances, radii)
        rows = batch_rows(nearest, first, batch)
        # A landmark that came when another was forgotten, just before the arrival, is one after it.
        for known in [before, self.landmarks_of(stream) if changed else None]:
            if known is not None:
                fill_rows(rows, nearest, *known)
        return NearestBefore(nearest, distances, radii, rows)

    def _take_in(self, stream: Stream, batch: Any, moments: Array | None, *, nearest_before: bool = False) -> Any:
        seen = stream.seen
        gate, detector = None, None
        if self.detector is not None:
            gate, detector = self._signals, copy.deepcopy(self.detector)
        try:
            learnt = self.store.open(batch, seen)
            return stream.learn(learnt, times=moments, gate=gate, nearest_before=nearest_before)
        except BaseException:
            if stream.seen == seen:
                self.detector = detector
            raise
        finally:
            self.store.close()
            if moments is not None and stream.seen > seen:
                self._now = float(moments[stream.seen - seen - 1])

    @contextlib.contextmanager
    def _undone(self, stream: Stream) -> Iterator[None]:
        """Around learning in several parts: an exception undoes all of them."""
        state = stream.state() if stream.seen else None
        store, detector, now = self.store.copy(), copy.deepcopy(self.detector), self._now
        try:
            yield
        except BaseException:
            self.store, self.detector, self._now = store, detector, now
            self.stream = None if state is None else self._restored(state)
            raise

    def _signals(self, ratio: float) -> bool:
        """Show a distance, divided by the radius, to the detector; says whether that was a change."""
        assert self.detector is not None
        self.detector.update(ratio)
        return bool(self.detector.drift_detected)

    # --- the landmarks ---

    @property
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        stream = self.fitted_stream()
        # Of the two types of 64-bit integers, NumPy prints this one without its name.
        return stream.arrivals()[stream.landmark_rows()].view(np.int64)

    @property
    def landmarks_(self) -> Any:
        """The landmarks themselves: rows of an array, or a list of objects."""
        return self.landmarks_of(self.fitted_stream())[1]

    def landmarks_of(self, stream: Stream) -> tuple[Ids, Any]:
        """What ``landmark_indices_`` and ``landmarks_`` are, also while a stream learns."""
        rows = stream.landmark_rows()
        return stream.arrivals()[rows].view(np.int64), self.store.take(rows)

    @property
    def landmark_mass_(self) -> Ids | Array:
        """For each landmark, the number of points seen that are nearest to it (with a half-life, their weight)."""
        masses = self.fitted_stream().landmark_masses()
        return masses if self._memory.half_life < np.inf else masses.astype(np.int64)

    @property
    def radius_(self) -> float:
        """The radius (the paper's rho) at which the landmarks dominate all points seen."""
        return self.fitted_stream().radius

    @property
    def covering_radius_(self) -> float:
        """The largest distance of a stored point to its nearest landmark; ``coverage_bound_`` holds for all points."""
        return self.fitted_stream().covering_radius

    @property
    def resolution_(self) -> float:
        """Every point seen lies within this distance of a stored one; 0 as long as all are stored."""
        return self.fitted_stream().resolution

    @property
    def coverage_bound_(self) -> float:
        """Every point ever seen (and not forgotten) lies within this distance of its nearest landmark.

        Rounded up, so that this holds for the true distances, too.
        """
        stream = self.fitted_stream()
        self._check_triangle("coverage_bound_")
        return rounded_up(stream.coverage_bound)

    @property
    def radius_lower_bound_(self) -> float:
        """No choice of ``n_landmarks`` points covers the stored points with a smaller radius.

        Half the smallest distance among ``n_landmarks + 1`` stored points chosen farthest-first: two of them share a
        landmark. To find them takes ``n_landmarks`` distances per stored point. Rounded down, so that this holds for
        the true distances, too.
        """
        rows = np.flatnonzero(self.fitted_stream().masses() > 0)
        self._check_triangle("radius_lower_bound_")
        return rounded_down(farthest_first(self.store.pairs, rows, self.n_landmarks)[1] / 2)

    @property
    def n_samples_seen_(self) -> int:
        """Number of points seen."""
        return self.fitted_stream().seen

    @property
    def n_replacements_(self) -> int:
        """How often a landmark was exchanged for another."""
        return self.fitted_stream().n_replacements

    @property
    def events_(self) -> list[Event]:
        """What happened to the landmarks, arrival by arrival; the last 10,000 events."""
        return [Event(*event) for event in self.fitted_stream().events()]

    @property
    def obeys_triangle(self) -> bool:
        """Whether the metric is known to obey the triangle inequality."""
        return self.store.metric.triangle

    @property
    def n_features(self) -> int | None:
        """The width of the points; None: they are not rows. Precomputed distances are as wide as points were seen."""
        stream = self.fitted_stream()
        return stream.seen if self.store.metric.form == "distances" else self.store.n_features

    # --- stored points, by their arrival numbers ---

    @property
    def stored_indices_(self) -> Ids:
        """Arrival numbers of the points that are stored and not forgotten, ascending."""
        stream = self.fitted_stream()
        return stream.arrivals()[stream.masses() > 0].view(np.int64)  # as of landmark_indices_

    def stored_masses(self) -> Array:
        """How many points each of ``stored_indices_`` represents now."""
        masses = self.fitted_stream().masses()
        return masses[masses > 0]

    def cells(self) -> tuple[list[Ids], list[Array]]:
        """For each landmark, the stored points nearest to it (its Voronoi cell), ascending; and their masses."""
        stream = self.fitted_stream()
        cells = stream.cells()
        rows = np.argsort(cells, kind="stable")
        rows = rows[np.searchsorted(cells[rows], 0) :]
        ends = np.searchsorted(cells[rows], np.arange(1, len(stream.landmark_rows()) + 1)).tolist()
        parts = [slice(*part) for part in itertools.pairwise([0, *ends])]
        arrivals, masses = stream.arrivals()[rows], stream.masses()[rows]
        return [arrivals[part] for part in parts], [masses[part] for part in parts]

    def landmark_distances(self) -> Array:
        """True distances between the landmarks, (m, m)."""
        landmarks = self.landmark_indices_
        return self.stored_distances(landmarks, landmarks)

    def stored_distances(self, rows: Ids, columns: Ids) -> Array:
        """True distances between stored points, given by arrival numbers; those to themselves are 0 to the bit."""
        return self.store.pairs(self._rows(rows), self._rows(columns))

    def stored_points(self, arrivals: Ids) -> Any:
        """Stored points themselves: rows of an array, or a list of objects."""
        return self.store.take(self._rows(arrivals))

    def distances(self, X: Any) -> Array:
        """True distances of the rows of X to the landmarks, (n, m)."""
        with self.lock:
            stream = self.fitted_stream()
            return self.store.to_stored(self.store.check_queries(X), stream.landmark_rows())

    def _rows(self, arrivals: Ids) -> Ids:
        stored = self.fitted_stream().arrivals()
        rows = np.minimum(np.searchsorted(stored, arrivals), len(stored) - 1)
        if not np.array_equal(stored[rows], arrivals):
            missing = int(arrivals[stored[rows] != arrivals][0])
            has_come = 0 <= missing < self.fitted_stream().seen
            raise KeyError(f"arrival {missing} {'is not stored any more' if has_come else 'has not come'}")
        return rows

    def fitted_stream(self) -> Stream:
        """The landmarks and stored points, or an error if there are none, or a metric asks while they change."""
        if self._is_learning:
            raise RuntimeError(RECURSIVE)
        if self.stream is None:
            raise validation.not_fitted(self.kind)
        if self.stream.broken:
            raise RuntimeError(BROKEN)
        return self.stream

    def _check_triangle(self, name: str) -> None:
        if not self.store.metric.triangle:
            raise InputError(
                f"={self.metric!r} is not known to obey the triangle inequality, which {name} needs. For directions, "
                "normalise the rows and use the Euclidean distance",
                parameter="metric",
            )
