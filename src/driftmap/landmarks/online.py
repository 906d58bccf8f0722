"""Landmarks that follow the stream: the engine of :class:`~driftmap.landmarks.OnlineLandmarks`.

The core (:class:`driftmap._core.Stream`) implements the algorithm. The engine validates input, selects the metric, and
identifies points by arrival number. It does not depend on scikit-learn, which is slow to import.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from driftmap._core import Stream
from driftmap.landmarks.events import Event
from driftmap.landmarks.farthest_first import farthest_first
from driftmap.landmarks.follower import Follower
from driftmap.landmarks.memory import memory_of, times_of
from driftmap.landmarks.nearest_before import (
    MOST_EVENTS,
    NearestBefore,
    batch_rows,
    concatenate,
    fill_rows,
    radii_before,
)
from driftmap.landmarks.row_sample import SIZE, RowSample
from driftmap.landmarks.serialization import Saved
from driftmap.metrics import make_store
from driftmap.utils import Array, Ids, validation
from driftmap.utils.concurrency import Lock, new_lock
from driftmap.utils.errors import InputError
from driftmap.utils.rounding import rounded_down, rounded_up
from driftmap.utils.validation import LARGEST_SQUARABLE, RULES

MOST_LANDMARKS = 2**31 - 2
MOST_SLACK = 1e9
"""A radius times this is squared, and must not overflow."""
RECURSIVE = "a metric or detector cannot use the estimator that is learning with it"
BROKEN = (
    "an arrival was interrupted while it was learnt (out of memory, or another thread changed the batch): load the "
    "last checkpoint, or fit again"
)


@dataclass(eq=False)
class LandmarkEngine(Saved):
    """Landmarks of a stream, with the parameters of :class:`~driftmap.landmarks.OnlineLandmarks`.

    Methods that learn or save acquire ``lock``. A caller that reads attributes while another thread may learn must
    acquire it, too.
    """

    n_landmarks: int  # redeclared because it may be given by position
    _: KW_ONLY
    initial_radius: float = 1e-20

    def __post_init__(self) -> None:
        self.lock: Lock = new_lock()
        self.stream = None
        self.detector = None
        self._time_kind = None
        self._now = -np.inf  # time of the last arrival, if points expire
        self._is_learning = False
        self.samples_rows = False
        """Whether a sample of the rows is kept (:meth:`sampled_rows`)."""
        self.row_sample = None
        self.fewest_landmarks = 1, ""
        """The least ``n_landmarks``, and the reason as part of the error message."""

    def validate(self) -> None:
        """Raise an error that names the first invalid parameter; call it before the first point."""
        self.store = make_store(self.metric, self.metric_params)
        self._parameters()

    @property
    def fitted(self) -> bool:
        """True once a point has been seen."""
        return self.stream is not None

    # --- learning ---

    def partial_fit(self, X: Any, times: Any = None) -> Self:
        """Learn from further points, in their order; after an exception the state is unchanged.

        After an interrupt (Ctrl-C), the points before it stay learnt if the metric is native and there is no detector.
        """
        with self.lock, self._learning(X, times) as (stream, batch, moments):
            self._take_in(stream, batch, moments)
        return self

    def learn_with_nearest(
        self, X: Any, times: Any = None, *, points: bool = False, follower: Follower | None = None
    ) -> NearestBefore:
        """Learn from further points; return the nearest landmark of each point just before it was learnt.

        With ``points``, the result includes the landmarks themselves. A ``follower`` sees all points.
        """
        with self.lock, self._learning(X, times) as (stream, batch, moments):
            n = len(batch)
            points = points and self.store.metric.form == "rows"
            # Events determine the radius between them, unless points are forgotten or a detector decides.
            size = MOST_EVENTS if moments is None and self.detector is None else 1
            if follower is not None:
                follower.begin(self.store, stream.seen, _mark(stream))
            first = size if follower is None else min(size, follower.rows_to_stop(self.n_landmarks))
            undoes = n > first or (follower is not None and not self.store.metric.native)
            with self._undone(stream, follower) if undoes else contextlib.nullcontext():
                parts: list[NearestBefore] = []
                start = 0
                while start < n:
                    stop = start + (size if follower is None else min(size, follower.rows_to_stop(self.n_landmarks)))
                    rows, part = batch[start:stop], None if moments is None else moments[start:stop]
                    measured = None if follower is None else follower.measure(self.store, rows)
                    parts.append(self._part_with_nearest(stream, rows, part, points))
                    if follower is not None:
                        known = partial(self.landmarks_of, stream)
                        follower.follow(self.store, rows, measured, _mark(stream), self.n_landmarks, known)
                    start = stop
            return concatenate(parts)

    @contextlib.contextmanager
    def _learning(self, X: Any, times: Any = None) -> Iterator[tuple[Stream, Any, Array | None]]:
        """Yield the stream (new before the first point), the validated points, and their times if points expire."""
        if self._is_learning:  # this thread holds the lock, so this is a recursive call
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
                self.row_sample = RowSample() if self.samples_rows and self._can_sample(batch) else None
            moments = None
            if self._memory.expires:
                moments, self._time_kind = times_of(times, len(batch), stream.seen, self._now, self._time_kind)
            elif times is not None:
                problem = "are used to forget points: give a window or a half_life, or leave them out"
                raise InputError(problem, parameter="times")
            self.stream = stream  # already now: after an interrupt, the rows before it stay learnt
            yield stream, batch, moments
        finally:
            self._is_learning = False
            if self.stream is not None and not self.stream.seen:
                self.stream = None

    def _can_sample(self, batch: Any) -> bool:
        """Whether points are rows of numbers, of which some will be merged and none forgotten."""
        is_rows = self.store.metric.form == "rows" and isinstance(batch, np.ndarray)
        merges = self._memory.limit is not None and not self._memory.expires
        return is_rows and self.store.metric.quick and merges

    def _parameters(self) -> dict[str, Any]:
        """Check all parameters; return those of the core."""
        if validation.integer_at_least(self.n_landmarks, "n_landmarks", *self.fewest_landmarks) > MOST_LANDMARKS:
            raise InputError(f"must be at most {MOST_LANDMARKS}, got {self.n_landmarks}", parameter="n_landmarks")
        validation.one_of(self.rule, "rule", RULES)
        radius = validation.positive_number(self.initial_radius, "initial_radius")
        if radius < (least := self.store.metric.least):
            problem = (
                f"={radius:g} is too small: distances below {least:.2g} cannot be measured, because powers underflow"
            )
            raise InputError(problem, parameter="initial_radius")
        if self.store.metric.is_euclidean and radius > LARGEST_SQUARABLE:
            raise InputError(f"={radius:g} is too large: its square overflows", parameter="initial_radius")
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
        # A landmark that replaced a forgotten one just before the arrival is found among those after it.
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
            if self.row_sample is not None and stream.seen > seen:
                self.row_sample.learn(seen, batch[: stream.seen - seen])

    @contextlib.contextmanager
    def _undone(self, stream: Stream, follower: Follower | None = None) -> Iterator[None]:
        """Undo all parts of a batch if one of them raises an exception."""
        mark = None if follower is None else follower.mark()
        state = stream.state() if stream.seen else None
        store, detector, now = self.store.copy(), copy.deepcopy(self.detector), self._now
        sample = None if self.row_sample is None else self.row_sample.copy()
        try:
            yield
        except BaseException:
            self.store, self.detector, self._now, self.row_sample = store, detector, now, sample
            self.stream = None if state is None else self._restored(state)
            if follower is not None:
                follower.back_to(mark)
            raise

    def _signals(self, ratio: float) -> bool:
        """Pass the ratio of a distance to the radius to the detector; return True if it signals a change."""
        assert self.detector is not None
        self.detector.update(ratio)
        return bool(self.detector.drift_detected)

    # --- the landmarks ---

    @property
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        stream = self.fitted_stream()
        # NumPy prints this one of its two 64-bit integer types without the dtype.
        return stream.arrivals()[stream.landmark_rows()].view(np.int64)

    @property
    def landmarks_(self) -> Any:
        """The landmarks themselves: rows of an array, or a list of objects."""
        return self.landmarks_of(self.fitted_stream())[1]

    def landmarks_of(self, stream: Stream) -> tuple[Ids, Any]:
        """Return ``landmark_indices_`` and ``landmarks_``; allowed while the stream learns."""
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
        """Every point seen lies within this distance of a stored one; 0 while all are stored."""
        return self.fitted_stream().resolution

    @property
    def coverage_bound_(self) -> float:
        """Every point ever seen (and not forgotten) lies within this distance of its nearest landmark.

        Rounded up, so that this holds for the true distances, too.
        """
        stream = self.fitted_stream()
        self._check_triangle("coverage_bound_")
        return rounded_up(stream.coverage_bound, self.store.metric.least)

    @property
    def radius_lower_bound_(self) -> float:
        """A lower bound on the radius with which any ``n_landmarks`` points cover the stored points.

        Half the smallest distance among ``n_landmarks + 1`` stored points chosen farthest-first: two of them share a
        landmark. To find them takes ``n_landmarks`` distances per stored point. Rounded down, so that this holds for
        the true distances, too.
        """
        rows = np.flatnonzero(self.fitted_stream().masses() > 0)
        self._check_triangle("radius_lower_bound_")
        reach = farthest_first(self.store.pairs, rows, self.n_landmarks, self.store.n_features)[1]
        return rounded_down(reach / 2, self.store.metric.least)

    @property
    def n_samples_seen_(self) -> int:
        """Number of points seen."""
        return self.fitted_stream().seen

    @property
    def n_replacements_(self) -> int:
        """Number of replacements of a landmark by another point."""
        return self.fitted_stream().n_replacements

    @property
    def events_(self) -> list[Event]:
        """The last 10,000 changes of the landmarks, in order of arrival."""
        return [Event(*event) for event in self.fitted_stream().events()]

    @property
    def obeys_triangle(self) -> bool:
        """True if the metric is known to obey the triangle inequality."""
        return self.store.metric.triangle

    @property
    def n_features(self) -> int | None:
        """Number of features; None if points are not rows; for precomputed distances, the number of points seen."""
        stream = self.fitted_stream()
        return stream.seen if self.store.metric.form == "distances" else self.store.n_features

    # --- stored points, by arrival number ---

    @property
    def stored_indices_(self) -> Ids:
        """Arrival numbers of the points that are stored and not forgotten, ascending."""
        stream = self.fitted_stream()
        return stream.arrivals()[stream.masses() > 0].view(np.int64)  # as in landmark_indices_

    def stored_masses(self) -> Array:
        """Return how many points each of ``stored_indices_`` represents."""
        masses = self.fitted_stream().masses()
        return masses[masses > 0]

    def cells(self) -> tuple[list[Ids], list[Array]]:
        """Return the stored points nearest to each landmark (its Voronoi cell), ascending, and their masses."""
        stream = self.fitted_stream()
        cells = stream.cells()
        rows = np.argsort(cells, kind="stable")
        rows = rows[np.searchsorted(cells[rows], 0) :]
        ends = np.searchsorted(cells[rows], np.arange(1, len(stream.landmark_rows()) + 1)).tolist()
        parts = [slice(*part) for part in itertools.pairwise([0, *ends])]
        arrivals, masses = stream.arrivals()[rows], stream.masses()[rows]
        return [arrivals[part] for part in parts], [masses[part] for part in parts]

    def landmark_distances(self) -> Array:
        """Return true distances between the landmarks, (m, m)."""
        landmarks = self.landmark_indices_
        return self.stored_distances(landmarks, landmarks)

    def sampled_rows(self, n: int) -> Ids | None:
        """Return the arrival numbers of a sample of n rows; None if it has fewer, or while all points are stored."""
        sample = self._sample()
        return None if sample is None or n > SIZE else sample.smallest(n)

    def stored_distances(self, rows: Ids, columns: Ids) -> Array:
        """Return true distances between stored points, given by arrival number; exactly 0 between equal numbers.

        Points of the sample of rows are among them.
        """
        sample = self._sample()
        if sample is None or not (sample.has(rows) or sample.has(columns)):
            return self.store.pairs(self._rows(rows), self._rows(columns))
        distances = self.store.to_points(self.stored_points(rows), self.stored_points(columns))
        distances[np.equal.outer(rows, columns)] = 0.0
        return distances

    def stored_points(self, arrivals: Ids) -> Any:
        """Return stored points, or points of the sample of rows: rows of an array, or a list of objects."""
        sample = self._sample()
        if sample is not None and sample.has(arrivals):
            return sample.rows(arrivals)
        return self.store.take(self._rows(arrivals))

    def _sample(self) -> RowSample | None:
        stream = self.fitted_stream()
        return None if len(stream.arrivals()) == stream.seen else self.row_sample

    def distances(self, X: Any) -> Array:
        """Return true distances of the rows of X to the landmarks, (n, m)."""
        with self.lock:
            stream = self.fitted_stream()
            return self.store.to_stored(self.store.check_queries(X), stream.landmark_rows())

    def _rows(self, arrivals: Ids) -> Ids:
        stored = self.fitted_stream().arrivals()
        rows = np.minimum(np.searchsorted(stored, arrivals), len(stored) - 1)
        if not np.array_equal(stored[rows], arrivals):
            missing = int(arrivals[stored[rows] != arrivals][0])
            has_come = 0 <= missing < self.fitted_stream().seen
            raise KeyError(f"arrival {missing} {'is no longer stored' if has_come else 'has not been seen'}")
        return rows

    def fitted_stream(self) -> Stream:
        """Return the stream; raise an error before the first point, or if a metric calls this during learning."""
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


def _mark(stream: Stream) -> tuple[float, int]:
    return (stream.radius, stream.n_replacements) if stream.seen else (0.0, 0)
