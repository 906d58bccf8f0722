"""A table whose rows go through some steps before they are learnt: filled, embedded by delays, normalised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.io.sources import RowSource
from driftmap.io.steps import RowsLeftOut, State, Step
from driftmap.io.tables import Chunk, Labels, Position, Table
from driftmap.utils import Ids
from driftmap.utils.errors import InputError

REASONS = {"missing": "missing numbers", "delay": "the delay"}
"""Why rows are left out, in words."""


class PreparedTable:
    """The rows of another table after some steps. What the steps know is part of a checkpoint.

    A chunk is empty if its rows were all left out. ``warm_up``: rows that are waited for at the start, since the last
    step cannot prepare one without the others.
    """

    def __init__(self, table: Table, steps: Sequence[Step], warm_up: int = 1) -> None:
        self.name, self.label, self.left_out = table.name, table.label, table.left_out
        self._table, self._steps, self._warm_up = table, steps, warm_up
        self.columns, self._names = table.columns, []
        for step in steps:
            self._names.append(self.columns)
            self.columns = tuple(step.columns(self.columns))
        self._given = 0

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a position of an earlier pass, about ``rows`` at a time."""
        if start is None:
            for step in self._steps:
                step.reset()
        self._given, read = (0, 0) if start is None else (start.rows, start.rows + start.dropped)
        source = self._table.chunks(rows, None if start is None else start._replace(rows=read, dropped=0))
        chunks: Iterator[Chunk] = (_through(chunk, self._steps[:-1]) for chunk in source)
        if start is None and self._warm_up > 1:
            chunks = _first_together(chunks, self._warm_up)
        for chunk in chunks:
            prepared = _through(chunk, self._steps[-1:])
            self._given += len(prepared.features)
            yield prepared
        if not self._given and self._table.position().rows:
            left_out = self.rows_left_out()
            problem = f": none of its {self._table.position().rows:,} rows can be used: left out {described(left_out)}"
            lacking = any(one.lacking for one in left_out)
            raise InputError(problem, source=self.name, advice="lacking" if lacking else None)

    def position(self) -> Position:
        """The place after the last chunk that was given out."""
        place = self._table.position()
        return place._replace(rows=self._given, dropped=place.rows - self._given)

    def rows_left_out(self) -> list[RowsLeftOut]:
        """The rows that the steps have left out so far."""
        pairs = zip(self._steps, self._names, strict=True)
        return [left for step, names in pairs for left in step.left_out(names)]

    @property
    def followed(self) -> RowSource | None:
        """As of the table that is read."""
        return getattr(self._table, "followed", None)

    def tail(self) -> tuple[int, int, str] | None:
        """As of the table that is read."""
        tail = getattr(self._table, "tail", None)
        return None if tail is None else tail()

    def close(self) -> None:
        """Close the file."""
        self._table.close()

    def state(self) -> State:
        """What the steps know after the last chunk that was given out."""
        return {f"{i}.{name}": array for i, step in enumerate(self._steps) for name, array in step.state().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""
        for i, step in enumerate(self._steps):
            start = f"{i}."
            step.restore({name.removeprefix(start): array for name, array in state.items() if name.startswith(start)})


def described(left_out: Sequence[RowsLeftOut]) -> str:
    """Rows that were left out, in words; of those that lack numbers, the column that lacks most of them.

    >>> described([RowsLeftOut("missing", 4887, {"ISK": 4800, "HRK": 96}), RowsLeftOut("delay", 9)])
    "4,887 for missing numbers (4,800 in column 'ISK'), 9 for the delay"
    """
    said = []
    for reason, n_rows, lacking in left_out:
        column = next(iter(lacking), None)
        where = "" if column is None else f" ({lacking[column]:,} in column {column!r})"
        said += [f"{n_rows:,} for {REASONS[reason]}{where}"] if n_rows else []
    return ", ".join(said)


def _through(chunk: Chunk, steps: Sequence[Step]) -> Chunk:
    features, labels = chunk.features, chunk.labels
    for step in steps:
        features, kept = step(features)
        labels = _some(labels, kept)
    return Chunk(features, labels, chunk.fraction)


def _some(labels: Labels, kept: Ids) -> Labels:
    if labels is None or len(kept) == len(labels):
        return labels
    return labels[kept] if isinstance(labels, np.ndarray) else [labels[i] for i in kept.tolist()]


def _first_together(chunks: Iterable[Chunk], rows: int) -> Iterator[Chunk]:
    """The same chunks, but the first ones joined to one of at least so many rows."""
    chunks, waiting, n = iter(chunks), [], 0
    for chunk in chunks:
        waiting.append(chunk)
        n += len(chunk.features)
        if n >= rows:
            break
    if waiting:
        yield waiting[0] if len(waiting) == 1 else _joined(waiting)
    yield from chunks


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    labels: Labels = None
    if isinstance(chunks[0].labels, np.ndarray):
        labels = np.concatenate([chunk.labels for chunk in chunks])
    elif chunks[0].labels is not None:
        labels = [label for chunk in chunks for label in chunk.labels or ()]
    return Chunk(np.concatenate([chunk.features for chunk in chunks]), labels, chunks[-1].fraction)
