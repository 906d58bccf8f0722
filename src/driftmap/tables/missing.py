"""Missing values of a stream: rows with missing values are dropped, or filled from the rows before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from driftmap.storage.schema import ArrayOf, check_arrays
from driftmap.tables.steps import RowsLeftOut, State
from driftmap.utils import Array, Ids, validation
from driftmap.utils.validation import LARGEST_NUMBER

METHODS = ("drop", "mean", "last")


class FillMissing:
    """Fills NaN by the mean or the last of the earlier values in its column, or drops the row.

    A row is also dropped if a column has no earlier value.

    >>> fill = FillMissing("mean")
    >>> rows, kept = fill(np.array([[1.0, np.nan], [1.0, 4.0], [np.nan, 6.0], [5.0, np.nan]]))
    >>> rows, kept
    (array([[1., 4.], [1., 6.], [5., 5.]]), array([1, 2, 3]))
    >>> fill.n_dropped
    1
    """

    warm_up = 1
    _KINDS: ClassVar[Mapping[str, ArrayOf]] = {
        "dropped": ArrayOf(np.int64, (), least=0),
        "count": ArrayOf(np.float64, ("d",), least=0, finite=True),
        "total": ArrayOf(np.float64, ("d",), finite=True),
        "last": ArrayOf(np.float64, ("d",), least=-LARGEST_NUMBER, most=LARGEST_NUMBER),
        "lacking": ArrayOf(np.int64, ("d",), least=0),
    }
    """The arrays of a state. Those of values are empty before the first row, and if the method does not need them."""

    def _asdict(self) -> dict[str, Any]:
        return {"method": self.method}

    def __init__(self, method: str) -> None:
        self.method = validation.one_of(method, "method", METHODS)
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self.n_dropped = 0
        self._count: Array = np.empty(0)
        """Values so far in each column: their number, their sum, and the last one."""
        self._total: Array = np.empty(0)
        self._last: Array = np.empty(0)
        self._lacking: Ids = np.empty(0, dtype=np.int64)
        """For each column, the number of dropped rows in which it lacks a number."""

    def __call__(self, rows: Array) -> tuple[Array, Ids]:
        """Return the rows without missing values, and the position of each in the given rows."""
        missing = np.isnan(rows)
        if not len(self._lacking):
            self._lacking = np.zeros(rows.shape[1], dtype=np.int64)
        fill = None if self.method == "drop" else self._values(rows, missing)
        if not missing.any():
            return rows, np.arange(len(rows))
        filled = rows if fill is None else np.where(missing, fill, rows)
        lacking = np.isnan(filled)
        kept = np.flatnonzero(~lacking.any(axis=1))
        self._lacking = self._lacking + lacking.sum(axis=0)
        self.n_dropped += len(rows) - len(kept)
        return np.ascontiguousarray(filled[kept]), kept

    def _values(self, rows: Array, missing: NDArray[np.bool_]) -> Array | None:
        """Return what fills each missing value, NaN if the column has no earlier value; None if no value is missing."""
        d = rows.shape[1]
        if not len(self._count):
            self._count, self._total, self._last = np.zeros(d), np.zeros(d), np.full(d, np.nan)
        if self.method == "last":
            known = np.vstack([self._last, rows])
            place = np.where(np.isnan(known), 0, np.arange(len(known))[:, None])
            filled = np.take_along_axis(known, np.maximum.accumulate(place, axis=0), axis=0)
            self._last = filled[-1]
            return filled[1:]
        # Accumulated one by one, so that sums do not depend on the batches.
        counts = np.add.accumulate(np.vstack([self._count, ~missing]), axis=0)
        totals = np.add.accumulate(np.vstack([self._total, np.where(missing, 0.0, rows)]), axis=0)
        self._count, self._total = counts[-1], totals[-1]
        if not missing.any():
            return None
        with np.errstate(invalid="ignore"):
            return np.asarray(totals[:-1] / counts[:-1])

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the names unchanged."""
        return list(names)

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """Return the dropped rows, with the columns that lack most numbers first."""
        counts = dict(zip(names, self._lacking.tolist(), strict=False))
        lacking = {name: n for name, n in sorted(counts.items(), key=lambda item: -item[1]) if n}
        return [RowsLeftOut("missing", self.n_dropped, lacking)]

    def state(self) -> State:
        """Return the values so far, the number of dropped rows, and what they lacked."""
        return {
            "dropped": np.array(self.n_dropped),
            "count": self._count,
            "total": self._total,
            "last": self._last,
            "lacking": self._lacking,
        }

    def restore(self, state: Mapping[str, NDArray[Any]], n_columns: int | None = None) -> None:
        """Continue from a state; raise a ValueError if it is invalid or has another number of columns."""
        filled = {"dropped", "lacking"} if self.method == "drop" else {*self._KINDS}
        if not len(state.get("lacking", ())):  # before the first row
            filled = {"dropped"}
        kinds = {name: kind if name in filled else kind._replace(shape=(0,)) for name, kind in self._KINDS.items()}
        check_arrays(state, kinds, "fill", **({} if n_columns is None else {"d": n_columns}))
        self.n_dropped = int(state["dropped"])
        self._count, self._total, self._last = state["count"], state["total"], state["last"]
        self._lacking = state["lacking"]
