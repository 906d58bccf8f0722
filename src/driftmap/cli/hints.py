"""An observer that reports columns that may not be meant as features: constant, counting, coded or too wide ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.errors import note, warn
from driftmap.map import StreamMap
from driftmap.metrics.table import KnownMetric, known
from driftmap.pipeline.observer import Observer, Update
from driftmap.utils import Array
from driftmap.utils.columns import short, some

UNEQUAL = 100.0
"""A column that is this many times wider than another one dominates the map."""
LOOK_ROWS, LOOK_CELLS = 10_000, 2**20
"""Most rows and cells by which columns of integers and marks are judged."""
MOST_GROUPS, ROWS_PER_GROUP = 12, 5
"""Most integers that name groups, and fewest rows of each on average."""
FEWEST_COUNTED = 10
"""Fewest rows by which a column is recognised as counting."""
FREQUENT, FAR = 0.01, 2.0
"""A number may mark missing ones if this share of the rows has it, this many spreads from the other numbers."""
FEWEST_MARKED = 3
"""Fewest rows with such a number."""


@dataclass(eq=False)
class Hints(Observer):
    """Examines the rows of the first pass, and prints a line for each hint at the end."""

    columns: Sequence[str]
    metric: str
    scaled: bool
    """Whether the columns are normalised, so that their widths do not matter."""
    stage: str = ""
    """The first pass, whose rows are as in the table."""
    n_rows: int = 0
    low: Array | float = np.inf
    high: Array | float = -np.inf
    """The smallest and the largest number of each column so far."""

    def __post_init__(self) -> None:
        self._looked: list[Array] = []
        self._n_looked = 0

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Examine the rows of the first pass."""
        rows, self.stage = update.rows.features, self.stage or update.stage
        if update.stage != self.stage or not len(rows):
            return
        self.n_rows += len(rows)
        self.low = np.fmin(self.low, np.fmin.reduce(rows))
        self.high = np.fmax(self.high, np.fmax.reduce(rows))
        most = max(1, min(LOOK_ROWS, LOOK_CELLS // rows.shape[1]))
        if self._n_looked < most:
            self._looked.append(np.array(rows[: most - self._n_looked]))
            self._n_looked += len(self._looked[-1])

    def finish(self, mapper: StreamMap) -> None:
        """Print one line for each hint."""
        if self.n_rows < 2:
            return
        spread = np.subtract(self.high, self.low)
        rows, self._looked = np.concatenate(self._looked), []
        counting, coded = counting_columns(rows), coded_columns(rows)
        if counting.any():
            self._features(counting, "only counts rows", "only count rows")
        if coded.any() and 2 * coded.sum() <= len(coded):  # a table of small integers holds counts or pixels
            self._features(
                coded, "holds a few integers, as names of groups do,", "hold a few integers, as names of groups do,"
            )
        self._marks(rows)
        if not self.scaled:
            self._widths(spread, counting)

    def _features(self, chosen: NDArray[np.bool_], one: str, many: str) -> None:
        """Report columns that are features and may not be meant as such."""
        names = [self.columns[i] for i in np.flatnonzero(chosen).tolist()]
        shown, option = some([repr(short(name)) for name in names]), ",".join(names[:1])
        subject = (
            f"column {shown} {one} and is a feature" if len(names) == 1 else f"columns {shown} {many} and are features"
        )
        note(f"{subject}: --exclude {short(option)} leaves it out, --label {short(option)} colours by it")

    def _marks(self, rows: Array) -> None:
        """Warn of an extreme number that may be a mark of missing ones."""
        marks: dict[float, list[str]] = {}
        for name, column in zip(self.columns, rows.T, strict=True):
            if (mark := frequent_extreme(column)) is not None:
                marks.setdefault(mark, []).append(repr(short(name)))
        for mark, names in marks.items():
            warn(
                f"{mark:.15g} is frequent and far from all other numbers in {some(names)}: if it stands for missing "
                f"ones, say --na {mark:.15g} --missing drop, mean or last"
            )

    def _widths(self, spread: Array, counting: NDArray[np.bool_]) -> None:
        metric = known(self.metric) or KnownMetric(self.metric)
        constant = [name for name, width in zip(self.columns, spread, strict=True) if width == 0]
        if constant:
            counts = metric.counts_constants
            effect = f"yet they count in {self.metric} distances: --exclude leaves them out" if counts else "no effect"
            note(f"constant columns: {some([repr(short(name)) for name in constant])} ({effect})")
        widths = np.where((spread > 0) & ~counting, spread, np.nan)
        if not np.isnan(widths).all() and not metric.scale_free:
            widest, narrowest = int(np.nanargmax(widths)), int(np.nanargmin(widths))
            if spread[widest] >= UNEQUAL * spread[narrowest]:
                note(
                    f"column {short(self.columns[widest])!r} spreads over {spread[widest]:.3g}, "
                    f"{short(self.columns[narrowest])!r} over {spread[narrowest]:.3g}: the widest columns decide "
                    "the map; --normalize zscore gives all the same weight"
                )


def counting_columns(rows: Array) -> NDArray[np.bool_]:
    """Return which columns are integers that grow or shrink by one with each row.

    >>> counting_columns(np.stack([np.arange(20.0), np.arange(20.0) / 2], axis=1))
    array([ True, False])
    """
    if len(rows) < FEWEST_COUNTED:
        return np.zeros(rows.shape[1], dtype=bool)
    steps = np.diff(rows, axis=0)
    whole = rows[0] == np.round(rows[0])
    return np.asarray(whole & ((steps == 1).all(axis=0) | (steps == -1).all(axis=0)))


def coded_columns(rows: Array) -> NDArray[np.bool_]:
    """Return which columns have a few different integers, at least two.

    >>> coded_columns(np.stack([np.arange(30.0) % 3, np.arange(30.0), np.ones(30)], axis=1))
    array([ True, False, False])
    """
    coded = (rows == np.round(rows)).all(axis=0)
    for i in np.flatnonzero(coded).tolist():
        n = len(np.unique(rows[:, i]))
        coded[i] = 2 <= n <= MOST_GROUPS and len(rows) >= ROWS_PER_GROUP * n
    return coded


def frequent_extreme(column: Array) -> float | None:
    """Return an integer at one end of a column that is frequent and far from all other numbers; None if there is none.

    >>> frequent_extreme(np.array([-200.0, 1.5, 2.0, -200.0, 1.0, 3.0, -200.0]))
    -200.0
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    if len(values) < 3:
        return None
    for mark, count, others in ((values[0], counts[0], values[1:]), (values[-1], counts[-1], values[:-1])):
        gap, spread = np.abs(others - mark).min(), np.ptp(others)
        if count >= max(FEWEST_MARKED, FREQUENT * len(column)) and gap > FAR * spread and mark == np.round(mark):
            return float(mark)
    return None
