"""A sample of the rows of a stream, for when memory is full and covered arrivals are no longer stored.

It has the arrivals whose numbers have the smallest hashes. So it is a function of the stream alone, whatever the
batches; each row is in it with the same probability, and half of it comes from the second half of the stream.
"""

from __future__ import annotations

import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array, Ids
from driftmap.utils.hashing import GOLDEN
from driftmap.utils.validation import LARGEST_NUMBER

SIZE = 1024
"""Rows of a sample: as many as a map has anchors at most."""
SPARE = 256
"""Rows beyond, so that it is not cut at every arrival."""


class RowSample:
    """The rows with the smallest hashes.

    >>> sample = RowSample()
    >>> sample.learn(0, np.arange(5000.0)[:, None])
    >>> ids = sample.smallest(128)
    >>> len(ids), float(np.mean(ids >= 2500)), bool((sample.rows(ids)[:, 0] == ids).all())
    (128, 0.5, True)
    """

    def __init__(self) -> None:
        self._rows: dict[int, Array] = {}
        self._bound = 2**64 - 1  # later arrivals with a larger hash are not among the smallest

    def copy(self) -> Self:
        """An independent copy; rows do not change."""
        other = copy.copy(self)
        other._rows = self._rows.copy()
        return other

    def learn(self, first: int, rows: Array) -> None:
        """Take further rows; ``first``: arrival number of the first one."""
        if len(rows) == 1 and (first + 1) * int(GOLDEN) % 2**64 > self._bound:
            return
        ids = np.arange(first, first + len(rows))
        ids = ids[_hashes(ids) <= np.uint64(self._bound)]
        for arrival in _with_smallest(ids, SIZE).tolist():
            self._rows[arrival] = np.array(rows[arrival - first], dtype=np.float64)
        if len(self._rows) > SIZE + SPARE:
            kept = _with_smallest(np.array([*self._rows]), SIZE)
            self._rows = {arrival: self._rows[arrival] for arrival in kept.tolist()}
            self._bound = int(_hashes(kept).max())

    def smallest(self, n: int = SIZE) -> Ids:
        """Return the arrival numbers, ascending, of the n rows with the smallest hashes."""
        return _with_smallest(np.array([*self._rows], dtype=np.int64), min(n, SIZE))

    def has(self, arrivals: Ids) -> bool:
        """Whether these arrivals are in the sample, all of them; False for none."""
        return len(arrivals) > 0 and all(arrival in self._rows for arrival in arrivals.tolist())

    def rows(self, arrivals: Ids) -> Array:
        """Return rows of the sample by arrival number."""
        return np.array([self._rows[arrival] for arrival in arrivals.tolist()])

    def dump(self) -> dict[str, Array | Ids]:
        """Return what :meth:`restored` needs."""
        ids = self.smallest()
        return {"ids": ids, "rows": self.rows(ids)}

    @classmethod
    def restored(cls, ids: Ids, rows: Array, n_seen: int, n_features: int | None) -> Self:
        """Return the sample of a stream of n_seen rows, or raise an error that says why it cannot be one."""
        is_sample = ids.dtype == np.int64 and len(ids) == min(n_seen, SIZE) and (np.diff(ids, prepend=-1) > 0).all()
        if not is_sample or ids[-1] >= n_seen or rows.dtype != np.float64 or rows.shape != (len(ids), n_features):
            raise ValueError("its sample of rows is not that of its stream")
        if not (np.abs(rows) <= LARGEST_NUMBER).all():
            raise ValueError("its sample of rows has numbers that are not finite")
        sample = cls()
        sample._rows = dict(zip(ids.tolist(), rows, strict=True))
        if len(ids) == SIZE:
            sample._bound = int(_hashes(ids).max())
        return sample


def _with_smallest(ids: Ids, n: int) -> Ids:
    """Of arrivals, the n with the smallest hashes, ascending."""
    if len(ids) > n:
        ids = ids[np.argpartition(_hashes(ids), n - 1)[:n]]
    return np.sort(ids)


def _hashes(ids: Ids) -> NDArray[np.uint64]:
    return (ids + 1).astype(np.uint64) * GOLDEN
