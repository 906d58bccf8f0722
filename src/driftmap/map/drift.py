"""Drift: whether the recent rows of a stream still come from where earlier ones came, and where on the map they differ.

A :class:`DriftMonitor` takes the landmarks of a map, keeps its own copy of them, and compares the distances to them of
the last rows with those of a reference (:mod:`driftmap.map.two_sample`). Rows that were seen before the landmarks were
taken are in neither sample, so both are exchangeable while the stream does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from driftmap.map.changes import Check, Drift, FeatureShift, Found, LandmarkShare, moments_of, shares_of, shifts_between
from driftmap.map.drift_state import KINDS, Followed, FollowedNumbers, MonitorState
from driftmap.metrics import Store
from driftmap.storage.schema import check_arrays
from driftmap.storage.serialization import Arrays
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError

__all__ = ["Check", "Drift", "DriftMonitor", "FeatureShift", "LandmarkShare"]

CHECKS_PER_WINDOW = 4
FEWEST_ROWS = 20
"""The smallest window."""
LEAST_ALPHA = 1e-5
"""An alarm is confirmed by 1 / alpha permutations."""


class DriftMonitor:
    """Compares the last rows of a stream with earlier ones, and raises an alarm when they differ.

    Every ``window / 4`` rows, two tests compare the last ``window`` rows with the reference, once that has as many
    rows: the shares of the landmarks' cells, and the mean distance to each landmark. The landmarks are those that the
    map has when the monitor begins, but not before it has seen ``n_landmarks`` rows. The monitor keeps them, whatever
    the map exchanges later, until an alarm.

    Memory does not grow with the stream: the monitor holds the landmarks, the distances of the window and of at most
    1,000 rows of the reference, and the features of the window. A row costs as many distances as there are landmarks.

    Parameters
    ----------
    window : int
        Number of recent rows, at least 20.
    reference : "past", "first" or array
        "past": all rows before the window since the last alarm, which ends the reference and takes the landmarks
        of that moment. "first": the first ``window`` rows, for good. An array: these rows; the map should not have
        learnt them. With the last two, an alarm is raised once, and again after the stream has come back.
    alpha : float
        Probability of a false alarm at a check, from 1e-5 on. It holds for rows that are exchangeable: not for
        random walks or rows that depend on the rows before them.

    Examples
    --------
    >>> from driftmap import DriftMap
    >>> rows = np.random.default_rng(0).standard_normal((1500, 3))
    >>> rows[1000:, 1] *= 0.2
    >>> drift, = DriftMap(n_landmarks=20).update(rows, monitor=DriftMonitor()).drifts
    >>> drift.arrival, drift.began, len(drift.landmarks)
    (1069, 1000, 20)
    """

    def __init__(self, window: int = 200, reference: Any = "past", alpha: float = 1e-4) -> None:
        self.window = validation.integer_at_least(window, "window", FEWEST_ROWS)
        if isinstance(reference, str):
            self.reference = validation.one_of(reference, "reference", ("past", "first"))
            self._given: Any = None
        else:
            self.reference, self._given = "rows", reference
            n = reference.shape[0] if hasattr(reference, "shape") else len(reference)
            if n < window:
                problem = f"={window} is larger than the reference, which has {n} rows"
                raise InputError(f"{problem}: give a smaller window or more rows", parameter="window")
        self.alpha = validation.positive_number(alpha, "alpha")
        if not LEAST_ALPHA <= alpha < 1:
            raise InputError(f"must be at least {LEAST_ALPHA:g} and below 1, got {alpha:g}", parameter="alpha")
        self.n_checks = self.n_drifts = 0
        """Number of checks and of alarms so far."""
        self.p_value = 1.0
        """Asymptotic p-value of the last check."""
        self._followed: Followed | None = None
        self._found: list[Found] = []
        self._checks: list[Check] = []

    def __repr__(self) -> str:
        shown = self.reference if self._given is None and self.reference != "rows" else "rows"
        return f"DriftMonitor(window={self.window}, reference={shown!r}, alpha={self.alpha:g})"

    # --- following a stream: a driftmap.landmarks.online.Follower ---

    def begin(self, store: Store, seen: int, mark: tuple[float, int]) -> None:
        """Raise an error unless the monitor can go on with a map that has seen these rows."""
        if store.metric.form == "distances":
            problem = 'does not go with metric="precomputed": further rows have no distances to the landmarks it keeps'
            raise InputError(problem, parameter="monitor")
        known = self._followed
        if known is not None and (known.seen, known.mark if seen else (0.0, 0)) != (seen, mark if seen else (0.0, 0)):
            problem = f"has followed {known.seen} rows of another map, or rows were learnt without it"
            raise InputError(f"{problem}: give a new DriftMonitor", parameter="monitor")
        if self._given is not None:
            try:
                self._given = store.check_queries(self._given)
            except InputError as error:
                raise InputError(f"does not fit the map: {error}", parameter="reference") from None
        self._followed = known or Followed(seen, mark)

    def rows_to_stop(self, n_landmarks: int) -> int:
        """Return how many rows may be learnt until the landmarks are needed."""
        known = self._state()
        if known.ids is None:
            return max(1, n_landmarks - known.seen)
        return self._step - known.since_check

    def measure(self, store: Store, rows: Any) -> Array | None:
        """Return the distances of rows to the landmarks; None before there are landmarks."""
        known = self._state()
        return None if known.ids is None else np.asarray(store.to_points(rows, known.points), dtype=np.float64)

    def follow(
        self,
        store: Store,
        rows: Any,
        measured: Array | None,
        mark: tuple[float, int],
        n_landmarks: int,
        landmarks: Callable[[], tuple[Ids, Any]],
    ) -> None:
        """Take in rows that were measured and then learnt."""
        known = self._state()
        n = measured.shape[0] if measured is not None else rows.shape[0] if hasattr(rows, "shape") else len(rows)
        known = self._followed = replace(known, seen=known.seen + n, mark=mark)
        if measured is None:
            if known.seen >= n_landmarks:
                self._take(store, *landmarks())
            return
        assert known.recent is not None
        assert known.rows is not None
        known = self._followed = replace(
            known,
            recent=np.concatenate([known.recent, measured]),
            rows=np.concatenate([known.rows, matrix(store, rows)]),
            since_check=known.since_check + n,
        )
        if known.since_check == self._step:
            self._followed = self._slid(replace(known, since_check=0))
            if self._differs():
                self.n_drifts += 1
                if self.reference == "past":
                    self._take(store, *landmarks())

    def found(self) -> tuple[list[Found], list[Check]]:
        """Return what was found since the last call, and the checks."""
        found, checks = self._found, self._checks
        self._found, self._checks = [], []
        return found, checks

    def mark(self) -> tuple[Any, ...]:
        """Return what :meth:`back_to` takes."""
        return self._followed, [*self._found], [*self._checks], self.n_checks, self.n_drifts, self.p_value

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Undo what was done since ``mark`` was taken."""
        self._followed, self._found, self._checks, self.n_checks, self.n_drifts, self.p_value = mark

    @property
    def _step(self) -> int:
        return self.window // CHECKS_PER_WINDOW

    def _state(self) -> Followed:
        assert self._followed is not None, "begin comes first"
        return self._followed

    def _take(self, store: Store, ids: Ids, points: Any) -> None:
        """Take landmarks; the samples begin after them."""
        known = self._state().begun(ids, points, matrix(store, points).shape[1])
        if self._given is not None:
            rows = matrix(store, self._given)
            known = known.referring(np.asarray(store.to_points(self._given, points), dtype=np.float64), rows, 0)
        self._followed = known

    def _slid(self, known: Followed) -> Followed:
        """Return the state after rows that have left the window became part of the reference."""
        assert known.recent is not None
        assert known.rows is not None
        leaving = max(0, len(known.recent) - self.window)
        if self.reference == "past":
            taken = leaving
        else:
            taken = min(leaving, self.window - known.n_reference) if self.reference == "first" else 0
        if taken:
            known = known.referring(known.recent[:taken], known.rows[:taken], known.seen)
        assert known.recent is not None
        assert known.rows is not None
        return replace(known, recent=known.recent[leaving:], rows=known.rows[leaving:])

    def _differs(self) -> bool:
        """Check the window, and note a drift."""
        from driftmap.map.two_sample import Sample, is_confirmed, most_likely_start  # scipy is slow to import

        known = self._state()
        assert known.reference is not None
        assert known.recent is not None
        if len(known.recent) < self.window or known.n_reference < self.window:
            return False
        sample = Sample.of(known.reference, known.recent)
        found = sample.p_values()
        self.n_checks += 1
        self.p_value = found.combined
        self._checks.append(Check(known.seen - 1, found.combined))
        if found.combined > self.alpha:
            self._followed = replace(known, is_out=False)
            return False
        if known.is_out or not is_confirmed(sample, found, self.alpha, known.seen):
            return False
        self._followed = replace(known, is_out=self.reference != "past")
        assert known.ids is not None
        assert known.rows is not None
        assert known.moments is not None
        shares = np.array([shares_of(part) for part in (known.reference, known.recent)])
        began = known.seen - most_likely_start(sample, found)
        shifts = shifts_between(known.moments, moments_of(known.rows))
        self._found.append(Found(known.seen - 1, began, found.combined, known.ids, known.points, shares, shifts))
        return True

    # --- serialisation ---

    def pack(self) -> tuple[MonitorState, Arrays]:
        """Return the state as a record and arrays; the landmarks have to be rows of numbers."""
        known = self._followed
        arrays: Arrays = {} if self._given is None else {"given": np.asarray(self._given)}
        numbers = None
        if known is not None:
            numbers = FollowedNumbers(
                known.seen, *known.mark, known.n_reference, known.since_check, known.is_out
            )  # fmt: skip
            if known.ids is not None:
                arrays |= {name: getattr(known, name) for name in KINDS}
        counts = self.n_checks, self.n_drifts, self.p_value, numbers
        return MonitorState(self.window, self.reference, self.alpha, *counts), arrays

    @classmethod
    def unpack(cls, found: MonitorState, arrays: Arrays) -> Self:
        """Return the monitor that goes on from what :meth:`pack` gave; a ValueError if that is invalid."""
        is_rows = found.reference == "rows"
        if is_rows != ("given" in arrays):
            raise ValueError("its monitor lacks its reference, or has one that it does not need")
        monitor = cls(found.window, arrays["given"] if is_rows else found.reference, found.alpha)
        monitor.n_checks, monitor.n_drifts, monitor.p_value = found.n_checks, found.n_drifts, found.p_value
        rest: dict[str, Any] = {name: array for name, array in arrays.items() if name != "given"}
        if found.followed is None:
            if rest:
                raise ValueError("its monitor has landmarks, but has followed no rows")
            return monitor
        seen, radius, replacements, n_reference, since_check, is_out = found.followed
        if rest:
            check_arrays(rest, KINDS, "monitor")
            most = monitor.window + monitor._step
            if since_check >= monitor._step or not len(rest["reference"]) <= n_reference or len(rest["rows"]) > most:
                raise ValueError("its monitor contradicts itself")
        monitor._followed = Followed(
            seen, (radius, replacements), n_reference=n_reference, since_check=since_check, is_out=is_out, **rest
        )
        return monitor


def matrix(store: Store, points: Any) -> Array:
    """Return points as rows of numbers, without columns if they are something else."""
    if store.metric.form == "rows":
        return np.asarray(points, dtype=np.float64)
    return np.empty((points.shape[0] if hasattr(points, "shape") else len(points), 0))
