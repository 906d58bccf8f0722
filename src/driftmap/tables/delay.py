"""Delay embedding: each row of a time series with the rows before it, so that a map shows its dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftmap.tables.steps import RowsLeftOut, State
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError


def delay_embedding(X: ArrayLike, delay: int, every: int = 1) -> Array:
    """Each row of a series joined with earlier ones: every ``every``-th of the last ``delay`` rows, the oldest first.

    The first rows, which have too few before them, are left out: row i of the result belongs to row
    ``len(X) - len(result) + i`` of X.

    >>> delay_embedding([0, 1, 2, 3, 4], delay=3)
    array([[0., 1., 2.], [1., 2., 3.], [2., 3., 4.]])
    >>> delay_embedding(np.arange(10), delay=8, every=3)   # 6, 3 and 0 steps ago
    array([[0., 3., 6.], [1., 4., 7.], [2., 5., 8.], [3., 6., 9.]])
    """
    series = np.asarray(X, dtype=np.float64)
    if series.ndim not in (1, 2):
        raise InputError(f"must have one row per moment: shape (n,) or (n, d), got {series.shape}", parameter="X")
    return DelayEmbedding(delay, every)(series.reshape(len(series), -1))[0]


class DelayEmbedding:
    """The same for a stream: rows come in any batches.

    >>> step = DelayEmbedding(delay=2)
    >>> step(np.array([[1.0]]))[0].shape
    (0, 2)
    >>> step(np.array([[2.0], [3.0]]))
    (array([[1., 2.], [2., 3.]]), array([0, 1]))
    """

    warm_up = 1

    def _asdict(self) -> dict[str, Any]:
        return {"delay": self.delay, "every": self.every}

    def __init__(self, delay: int, every: int = 1) -> None:
        self.delay, self.every = delay, every
        validation.integer_at_least(delay, "delay", 1)
        validation.integer_at_least(every, "every", 1)
        self.lags = list(range(0, delay, every))[::-1]
        self.reset()

    @property
    def span(self) -> int:
        """Rows before the first one that comes out."""
        return self.lags[0]

    def reset(self) -> None:
        """Forget all rows."""
        self._before: Array = np.empty((0, 0))

    def __call__(self, rows: Array) -> tuple[Array, Ids]:
        """The embedded rows, and to which of the given ones they belong."""
        series = np.vstack([self._before.reshape(-1, rows.shape[1]), rows])
        n = max(0, len(series) - self.span)
        self._before = series[len(series) - min(self.span, len(series)) :].copy()
        starts = [self.span - lag for lag in self.lags]
        embedded = [series[start : start + n] for start in starts]
        return np.concatenate(embedded, axis=1), np.arange(len(rows) - n, len(rows))

    def columns(self, names: Sequence[str]) -> list[str]:
        """Names that say how long ago: ``a(t-4)``, ``a(t)``."""
        return [f"{name}(t-{lag})" if lag else f"{name}(t)" for lag in self.lags for name in names]

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """The first rows, which have too few before them."""
        return [RowsLeftOut("delay", len(self._before))]

    def state(self) -> State:
        """The last rows."""
        return {"before": self._before}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""
        self._before = state["before"]
