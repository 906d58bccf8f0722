"""A run: a pass of an operator over a table. It can be saved between two chunks, and go on from there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager

from driftmap.pipeline.observer import Observer, Update, pieces
from driftmap.pipeline.operator import Operator
from driftmap.pipeline.saver import Saver
from driftmap.tables.steps import described
from driftmap.tables.table import Chunk, Position, Table
from driftmap.utils.concurrency import in_parallel
from driftmap.utils.errors import Advice, InputError


class Run:
    """A pass of an operator over a table: ``run()`` goes on from where it is, and returns the number of rows.

    Parameters
    ----------
    table : Table
        Where the rows come from.
    operator : Operator
        What happens to them.
    observers : sequence of Observer
        What sees the results: outputs, progress, films, views.
    saver : Saver, optional
        Saves the state between two chunks.
    waiting : callable
        Gives a context for waiting on the next rows, which may be interrupted.
    """

    def __init__(
        self,
        table: Table,
        operator: Operator,
        observers: Sequence[Observer] = (),
        saver: Saver | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self.table, self.operator, self.observers, self.saver, self.waiting = table, operator, observers, saver, waiting
        operator.name_columns(table.columns)
        self.position = None if saver is None else saver.begin(operator)

    def __call__(self, chunk_rows: int, threads: int = 1) -> int:
        """Pass over all rows, a chunk at a time; ``threads`` may share the work of an operator that keeps no state."""
        work = self._pieces(chunk_rows)
        updates = map(self._apply, work) if threads == 1 else in_parallel(self._apply, work, threads)
        with contextlib.closing(work):
            for update in updates:
                for observer in self.observers:
                    observer.observe(update, self.operator.mapper)
        if self.operator.n_rows == 0:
            raise self._without_rows()
        self.operator.complete()
        if self.saver is not None:
            self.saver.complete(self.operator)
        return self.operator.n_rows

    def _pieces(self, chunk_rows: int) -> Generator[tuple[int, Chunk]]:
        """Prepared rows, numbered. Asking for the next piece marks the one before as done."""
        chunks = self.table.chunks(chunk_rows, self.position)
        while True:
            with self.waiting():
                chunk = next(chunks, None)
            if chunk is None:
                break
            yield from self._split(self.operator.prepare(chunk))
            self._done(self.table.position())
        if (rest := self.operator.steps.finish()) is not None:
            yield from self._split(rest)

    def _split(self, rows: Chunk) -> Iterator[tuple[int, Chunk]]:
        for piece in pieces(rows, self.operator.n_rows, self.observers):
            yield self.operator.n_rows, piece
            self.operator.n_rows += len(piece.features)

    def _apply(self, piece: tuple[int, Chunk]) -> Update:
        first, rows = piece
        try:
            return self.operator.apply(first, rows)
        except InputError as error:
            if error.row is not None:  # name the place in the table
                error.source, error.row = self.table.name, first + error.row + 1
                if isinstance(error.column, int):
                    error.column = self.operator.columns[error.column]
            raise

    def _done(self, position: Position) -> None:
        self.position = position
        if self.saver is None:
            self.table.done(position)
        elif self.saver.is_due(position):
            self.save()

    def save(self) -> None:
        """Save the state as of the last complete chunk."""
        if self.saver is not None:
            self.saver.save(self.operator, self.table)

    def idle(self) -> None:
        """Save before waiting, where the source waits for that."""
        if self.saver is not None and self.table.waits and self.saver.is_due_when_idle():
            self.save()

    def _without_rows(self) -> InputError:
        if self.position is None or self.position.rows == 0:
            return InputError(" has no rows", source=self.table.name)
        left_out = self.operator.steps.left_out(self.table.columns)
        problem = f": none of its {self.position.rows:,} rows can be used: left out {described(left_out)}"
        advice: Advice | None = "lacking" if any(one.lacking for one in left_out) else None
        return InputError(problem, source=self.table.name, advice=advice)
