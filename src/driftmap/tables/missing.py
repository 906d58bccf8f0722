"""Missing values of a stream: rows that have some are dropped, or the values filled from the rows before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.tables.steps import RowsLeftOut, State
from driftmap.utils import Array, Ids, validation

METHODS = ("drop", "mean", "last")


class FillMissing:
    """Fills NaN by the mean or the last of the values that came before it in its column, or drops the row.

    Where no value came before, the row is dropped, too.

    >>> fill = FillMissing("mean")
    >>> rows, kept = fill(np.array([[1.0, np.nan], [1.0, 4.0], [np.nan, 6.0], [5.0, np.nan]]))
    >>> rows, kept
    (array([[1., 4.], [1., 6.], [5., 5.]]), array([1, 2, 3]))
    >>> fill.n_filled, fill.n_dropped
    (2, 1)
    """

    warm_up = 1

    def _asdict(self) -> dict[str, Any]:
        return {"method": self.method}

    def __init__(self, method: str) -> None:
        self.method = validation.one_of(method, "method", METHODS)
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self.n_filled = self.n_dropped = 0
        self._count: Array = np.empty(0)
        """Values seen so far in each column: their number, their sum, and the last one."""
        self._total: Array = np.empty(0)
        self._last: Array = np.empty(0)
        self._lacking: Ids = np.empty(0, dtype=np.int64)
        """In how many of the dropped rows each column lacks a number."""

    def __call__(self, rows: Array) -> tuple[Array, Ids]:
        """The rows without missing values, and which of the given ones they are."""
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
        self.n_filled += int(missing[kept].sum())
        return np.ascontiguousarray(filled[kept]), kept

    def _values(self, rows: Array, missing: NDArray[np.bool_]) -> Array | None:
        """What each missing value is filled with, NaN if nothing is known; None if nothing is missing."""
        d = rows.shape[1]
        if not len(self._count):
            self._count, self._total, self._last = np.zeros(d), np.zeros(d), np.full(d, np.nan)
        if self.method == "last":
            known = np.vstack([self._last, rows])
            place = np.where(np.isnan(known), 0, np.arange(len(known))[:, None])
            filled = np.take_along_axis(known, np.maximum.accumulate(place, axis=0), axis=0)
            self._last = filled[-1]
            return filled[1:]
        # Accumulated one by one, so that sums do not depend on where a batch ends.
        counts = np.add.accumulate(np.vstack([self._count, ~missing]), axis=0)
        totals = np.add.accumulate(np.vstack([self._total, np.where(missing, 0.0, rows)]), axis=0)
        self._count, self._total = counts[-1], totals[-1]
        if not missing.any():
            return None
        with np.errstate(invalid="ignore"):
            return np.asarray(totals[:-1] / counts[:-1])

    def columns(self, names: Sequence[str]) -> list[str]:
        """The same columns."""
        return list(names)

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """The dropped rows, with the columns that lack a number in most of them first."""
        counts = dict(zip(names, self._lacking.tolist(), strict=False))
        lacking = {name: n for name, n in sorted(counts.items(), key=lambda item: -item[1]) if n}
        return [RowsLeftOut("missing", self.n_dropped, lacking)]

    def state(self) -> State:
        """Values so far, how many were filled and dropped, and what was missing in the dropped rows."""
        counts = np.array([self.n_filled, self.n_dropped])
        return {
            "counts": counts,
            "count": self._count,
            "total": self._total,
            "last": self._last,
            "lacking": self._lacking,
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""
        self.n_filled, self.n_dropped = (int(n) for n in state["counts"])
        self._count, self._total, self._last = state["count"], state["total"], state["last"]
        self._lacking = state["lacking"]
