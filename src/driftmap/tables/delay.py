"""Delay embedding: each row of a time series joined with the rows before it, so that a map shows its dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftmap.storage.schema import ArrayOf, check_arrays
from driftmap.tables.steps import RowsLeftOut, State
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError
from driftmap.utils.validation import LARGEST_NUMBER


def delay_embedding(X: ArrayLike, delay: int, every: int = 1) -> Array:
    """Join each row of a series with earlier ones: every ``every``-th of the last ``delay`` rows, the oldest first.

    The first rows have too few predecessors and are omitted: row i of the result belongs to row ``len(X) - len(result)
    + i`` of X.

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
    """Delay embedding of a stream whose rows come in any batches.

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
        """Number of rows before the first one that is returned."""
        return self.lags[0]

    def reset(self) -> None:
        """Forget all rows."""
        self._before: Array = np.empty((0, 0))

    def __call__(self, rows: Array) -> tuple[Array, Ids]:
        """Return the embedded rows, and the position of each in the given rows."""
        series = np.vstack([self._before.reshape(-1, rows.shape[1]), rows])
        n = max(0, len(series) - self.span)
        self._before = series[len(series) - min(self.span, len(series)) :].copy()
        starts = [self.span - lag for lag in self.lags]
        embedded = [series[start : start + n] for start in starts]
        return np.concatenate(embedded, axis=1), np.arange(len(rows) - n, len(rows))

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return names that state the delay: ``a(t-4)``, ``a(t)``."""
        return [f"{name}(t-{lag})" if lag else f"{name}(t)" for lag in self.lags for name in names]

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """Return the number of first rows, which have too few predecessors."""
        return [RowsLeftOut("delay", len(self._before))]

    def state(self) -> State:
        """Return the last rows."""
        return {"before": self._before}

    def restore(self, state: Mapping[str, NDArray[Any]], n_columns: int | None = None) -> None:
        """Continue from a state; raise a ValueError if it is invalid or has another number of columns."""
        wide = len(state.get("before", ())) > 0
        kind = ArrayOf(np.float64, (-1, "d" if wide else -1), least=-LARGEST_NUMBER, most=LARGEST_NUMBER)
        check_arrays(state, {"before": kind}, "delay", **({"d": n_columns} if wide and n_columns is not None else {}))
        if len(state["before"]) > self.span:
            raise ValueError(f"its delay.before has {len(state['before'])} rows, more than {self.span}")
        self._before = state["before"]
