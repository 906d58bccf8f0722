"""Hints on the columns of a table, from the rows that were learnt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftmap.cli.errors import note
from driftmap.map import StreamMap
from driftmap.map.observer import Observer, Update
from driftmap.utils import Array
from driftmap.utils.columns import some

UNEQUAL = 100.0
"""How many times wider than another a column is when it decides the map alone."""
CONSTANT_COUNTS = frozenset({"cosine", "correlation", "braycurtis", "hamming", "jensenshannon"})
"""Metrics whose distances a constant column changes."""
SCALE_FREE = frozenset({"canberra", "hamming", "seuclidean", "mahalanobis"})
"""Metrics that measure each column by its own size."""


class Spreads(Observer):
    """Says which columns are constant, and whether one of them outweighs the others."""

    def __init__(self, columns: Sequence[str], metric: str) -> None:
        self._columns, self._metric = columns, metric
        self._low: Array = np.full(len(columns), np.inf)
        self._high: Array = -self._low

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Take in the rows that are learnt."""
        if update.is_learnt:
            self._low = np.fmin(self._low, np.fmin.reduce(update.rows.features))
            self._high = np.fmax(self._high, np.fmax.reduce(update.rows.features))

    def finish(self, mapper: StreamMap) -> None:
        """One line for each hint."""
        if mapper.n_samples_seen_ < 2:
            return
        spread = self._high - self._low
        constant = [name for name, width in zip(self._columns, spread, strict=True) if width == 0]
        if constant:
            counts = self._metric in CONSTANT_COUNTS
            effect = f"yet they count in {self._metric} distances: --exclude leaves them out" if counts else "no effect"
            note(f"constant columns: {some([*map(repr, constant)])} ({effect})")
        widths = np.where(spread > 0, spread, np.nan)
        if len(constant) < len(spread) and self._metric not in SCALE_FREE:
            widest, narrowest = int(np.nanargmax(widths)), int(np.nanargmin(widths))
            if spread[widest] >= UNEQUAL * spread[narrowest]:
                note(
                    f"column {self._columns[widest]!r} spreads over {spread[widest]:.3g}, "
                    f"{self._columns[narrowest]!r} over {spread[narrowest]:.3g}: the widest columns decide the map; "
                    "--normalize zscore gives all the same weight"
                )
