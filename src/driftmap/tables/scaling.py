"""Normalisation of columns by statistics of all rows or, running, of the rows so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.storage.schema import ArrayOf, check_arrays
from driftmap.tables.steps import RowsLeftOut, State
from driftmap.utils import Array, Ids, validation
from driftmap.utils.validation import LARGEST_NUMBER, LEAST_SQUARABLE

NORMALIZATIONS = ("minmax", "zscore", "robust")
MOST_SAMPLED = 2**13
"""Most rows from which medians and quartiles are estimated; a longer table is represented by at least half as many."""
GROWTH = 1.02
"""A running estimate of quartiles is updated whenever the number of rows has grown by this factor."""


class Scaling(NamedTuple):
    """A scaling: rows become (row - shift) / scale."""

    shift: Array
    scale: Array

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], n_columns: int | None = None) -> Scaling:
        """Return the scaling of stored arrays; raise a ValueError if they are invalid or of other columns."""
        shape: tuple[str, ...] = ("d",) if any(np.ndim(array) for array in arrays.values()) else ()
        shift = ArrayOf(np.float64, shape, least=-LARGEST_NUMBER, most=LARGEST_NUMBER)
        kinds = {"shift": shift, "scale": ArrayOf(np.float64, shape, finite=True)}
        check_arrays(arrays, kinds, "scaling", **({} if n_columns is None else {"d": n_columns}))
        if not (arrays["scale"] > 0).all():
            raise ValueError("its scaling.scale is not positive")
        return cls(arrays["shift"], arrays["scale"])

    def __call__(self, rows: Array) -> Array:
        """Return the rows as the map sees them."""
        return np.asarray((rows - self.shift) / self.scale)


class Moments:
    """Range, mean and deviation of each column, of all rows so far or after each row; missing values are ignored.

    Sums are of deviations from the first value of a column, so a large mean costs no digits.

    >>> moments = Moments()
    >>> moments.update(np.array([[1.0], [3.0]]))
    >>> moments.scaling("zscore")
    Scaling(shift=array([2.]), scale=array([1.]))
    """

    _KINDS: ClassVar[Mapping[str, ArrayOf]] = {
        "base": ArrayOf(np.float64, ("d",), least=-LARGEST_NUMBER, most=LARGEST_NUMBER),
        "count": ArrayOf(np.float64, ("d",), least=0, finite=True),
        **dict.fromkeys(("low", "high"), ArrayOf(np.float64, ("d",))),
        "total": ArrayOf(np.float64, ("d",), finite=True),
        "squares": ArrayOf(np.float64, ("d",), least=0, finite=True),
    }
    """The arrays of a state. A column without numbers has NaN and infinities."""

    def __init__(self, state: Mapping[str, NDArray[Any]] | None = None, n_columns: int | None = None) -> None:
        if state:
            check_arrays(state, self._KINDS, "moments", **({} if n_columns is None else {"d": n_columns}))
        self._state: State = dict(state) if state else {}

    def state(self) -> State:
        """Return the sums, one array each."""
        return dict(self._state)

    def update(self, rows: Array) -> None:
        """Add further rows."""
        known, base, deviations = self._begin(rows)
        before = self._state
        self._state = {
            "base": base,
            "count": before["count"] + known.sum(axis=0),
            "low": np.fmin(before["low"], np.fmin.reduce(rows)),
            "high": np.fmax(before["high"], np.fmax.reduce(rows)),
            "total": _running(np.add, before["total"], deviations)[-1].copy(),
            "squares": _running(np.add, before["squares"], deviations**2)[-1].copy(),
        }

    def running(self, rows: Array) -> dict[str, Array]:
        """Add further rows; return each sum after each of them."""
        known, base, deviations = self._begin(rows)
        before = self._state
        sums = {
            "count": _running(np.add, before["count"], known),
            "low": _running(np.fmin, before["low"], rows),
            "high": _running(np.fmax, before["high"], rows),
            "total": _running(np.add, before["total"], deviations),
            "squares": _running(np.add, before["squares"], deviations**2),
        }
        self._state = {"base": base} | {name: values[-1].copy() for name, values in sums.items()}
        return sums

    def _begin(self, rows: Array) -> tuple[NDArray[np.bool_], Array, Array]:
        """Return which numbers are known, the first one of each column, and the deviations from it."""
        if not self._state:
            zeros = np.zeros(rows.shape[1])
            self._state = {
                "base": zeros + np.nan, "count": zeros, "low": zeros + np.inf, "high": zeros - np.inf, "total": zeros,
                "squares": zeros,
            }  # fmt: skip
        known = ~np.isnan(rows)
        first = np.take_along_axis(rows, known.argmax(axis=0)[None], axis=0)[0]
        base = np.where(np.isnan(self._state["base"]), first, self._state["base"])
        return known, base, np.where(known, rows - base, 0.0)

    def without_square(self) -> Ids:
        """The columns whose numbers differ, but by so little that squares underflow."""
        low, high = self._state["low"], self._state["high"]
        return np.flatnonzero((high > low) & (high - low < LEAST_SQUARABLE))

    def scaling(self, kind: str, sums: Mapping[str, Array] | None = None) -> Scaling:
        """Return the scaling to [0, 1] ("minmax"), or to mean 0 and deviation 1 ("zscore"); a constant column is only
        shifted.

        It follows from all rows so far or, with ``sums`` of :meth:`running`, from those up to each row. For "zscore", a
        column is constant until its numbers differ by 1e-150: smaller squares underflow.
        """
        sums = self._state if sums is None else sums
        base, n = np.nan_to_num(self._state["base"]), np.maximum(sums["count"], 1)
        low, high = (np.where(np.isfinite(sums[name]), sums[name], 0.0) for name in ("low", "high"))
        if kind == "minmax":
            return Scaling(low, np.where(high > low, high - low, 1.0))
        mean = sums["total"] / n
        deviation = np.sqrt(np.maximum(sums["squares"] / n - mean**2, 0.0))
        return Scaling(base + mean, np.where((high - low >= LEAST_SQUARABLE) & (deviation > 0), deviation, 1.0))


def _running(operation: np.ufunc, start: Array, rows: NDArray[Any]) -> Array:
    """Return cumulative sums, added in order, unlike NumPy's sum, so that they do not depend on the batches."""
    return np.asarray(operation.accumulate(np.vstack([start, rows]), axis=0)[1:])


class Quartiles:
    """Median and interquartile range of each column, from a bounded sample of the rows; missing values are ignored.

    The sample is every row at first, then every second, every fourth, ...: the same rows whatever the batches.

    >>> quartiles = Quartiles()
    >>> quartiles.update(np.array([[1.0], [2.0], [3.0], [4.0], [1000.0]]))
    >>> quartiles.scaling("robust")
    Scaling(shift=array([3.]), scale=array([2.]))
    """

    def __init__(self, state: Mapping[str, NDArray[Any]] | None = None, n_columns: int | None = None) -> None:
        if state:
            self._check(state, {} if n_columns is None else {"d": n_columns})
        self._rows: Array = np.empty((0, 0)) if not state else state["rows"]
        self._stride, self._seen, self._due = (1, 0, 1) if not state else (int(n) for n in state["counts"])
        self._present = None if not state else Scaling(state["shift"], state["scale"])
        """The running estimate, updated when ``_due`` rows have been seen."""

    @staticmethod
    def _check(state: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
        """Raise a ValueError unless these are the arrays of a state. A state without a running estimate has an empty
        one.
        """
        shape = ("d",) if len(state.get("shift", ())) else (0,)
        rows = ("n", "d") if len(state.get("rows", ())) else (0, -1)
        number = ArrayOf(np.float64, rows, least=-LARGEST_NUMBER, most=LARGEST_NUMBER)
        estimate = ArrayOf(np.float64, shape, finite=True)
        kinds = {"rows": number, "counts": ArrayOf(np.int64, (3,), least=0), "shift": estimate, "scale": estimate}
        check_arrays(state, kinds, "quartiles", **sizes)
        stride, seen, _ = (int(n) for n in state["counts"])
        if stride < 1 or -(-seen // stride) != len(state["rows"]) or not (state["scale"] > 0).all():
            raise ValueError("its quartiles contradict themselves")

    def state(self) -> State:
        """Return the sample, and the running estimate."""
        present = self._present or Scaling(np.empty(0), np.empty(0))
        counts = np.array([self._stride, self._seen, self._due])
        return {"rows": self._rows, "counts": counts, "shift": present.shift, "scale": present.scale}

    def update(self, rows: Array) -> None:
        """Add further rows."""
        sampled = rows[-self._seen % self._stride :: self._stride]
        self._rows = np.vstack([self._rows.reshape(-1, rows.shape[1]), sampled])
        self._seen += len(rows)
        while len(self._rows) > MOST_SAMPLED:
            self._rows, self._stride = self._rows[::2].copy(), 2 * self._stride

    def running(self, rows: Array) -> dict[str, Array]:
        """Add further rows; return shift and scale after each of them."""
        shift, scale = np.empty_like(rows), np.empty_like(rows)
        first = 0
        while first < len(rows):
            if self._present is None or not self._present.shift.size or self._seen + 1 >= self._due:
                self.update(rows[first : first + 1])
                self._present = self.scaling("robust")
                self._due = int(np.ceil(self._seen * GROWTH)) + 1
                last = first + 1
            else:
                last = min(len(rows), first + self._due - 1 - self._seen)
                self.update(rows[first:last])
            shift[first:last], scale[first:last] = self._present
            first = last
        return {"shift": shift, "scale": scale}

    def scaling(self, kind: str, estimates: Mapping[str, Array] | None = None) -> Scaling:
        """Return the scaling to median 0 and interquartile range 1; a column whose middle half is constant is only
        shifted.

        It follows from the rows so far or, with ``estimates`` of :meth:`running`, from those up to each row.
        """
        if estimates is not None:
            return Scaling(estimates["shift"], estimates["scale"])
        known = np.where(np.isnan(self._rows).all(axis=0), 0.0, self._rows)  # a column without numbers is unchanged
        low, middle, high = np.nanpercentile(known, [25, 50, 75], axis=0)
        return Scaling(middle, np.where(high > low, high - low, 1.0))


Statistics = Moments | Quartiles


def statistics_for(
    kind: str, state: Mapping[str, NDArray[Any]] | None = None, n_columns: int | None = None
) -> Statistics:
    """Return the statistics that a kind of normalisation needs, empty or from a state."""
    return Quartiles(state, n_columns) if kind == "robust" else Moments(state, n_columns)


class RunningScale:
    """Normalises each row by all rows up to it; the first ``warm_up`` rows by all of these.

    The first rows have to come in one batch, unless the stream is shorter.

    >>> scale = RunningScale("minmax", warm_up=2)
    >>> scale(np.array([[0.0], [2.0], [1.0], [4.0], [2.0]]))[0].ravel()
    array([0. , 1. , 0.5, 1. , 0.5])
    """

    def _asdict(self) -> dict[str, Any]:
        return {"kind": self.kind, "warm_up": self.warm_up}

    def __init__(self, kind: str, warm_up: int = 100) -> None:
        self.kind, self.warm_up = validation.one_of(kind, "kind", NORMALIZATIONS), warm_up
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self._known, self._seen = statistics_for(self.kind), 0

    def __call__(self, rows: Array) -> tuple[Array, Ids]:
        """Return the rows, scaled, and the position of each."""
        first = rows[: max(0, self.warm_up - self._seen)]
        rest = rows[len(first) :]
        self._seen += len(rows)
        parts = []
        if len(first):
            self._known.update(first)
            parts.append(self._known.scaling(self.kind)(first))
        if len(rest):
            running = self._known.running(rest)
            parts.append(self._known.scaling(self.kind, running)(rest))
        return np.concatenate(parts), np.arange(len(rows))

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the names unchanged."""
        return list(names)

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """Return an empty list: every row is returned."""
        return []

    def state(self) -> State:
        """Return the statistics of the columns, and the number of rows."""
        return {**self._known.state(), "seen": np.array(self._seen)}

    def restore(self, state: Mapping[str, NDArray[Any]], n_columns: int | None = None) -> None:
        """Continue from a state; raise a ValueError if it is invalid or has another number of columns."""
        seen = {name: array for name, array in state.items() if name == "seen"}
        check_arrays(seen, {"seen": ArrayOf(np.int64, (), least=0)}, "scale")
        known = {name: array for name, array in state.items() if name != "seen"}
        self._seen, self._known = int(seen["seen"]), statistics_for(self.kind, known, n_columns)
