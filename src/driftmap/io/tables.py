"""Tables in chunks: every format gives the same chunks of numbers, so a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from driftmap.utils import Array
from driftmap.utils.errors import InputError
from driftmap.utils.validation import first_unusable, usable

Labels = list[str] | Array | None

CHUNK_ROWS = 2**14
CHUNK_CELLS = 2**19
"""Rows and cells of a chunk, at most."""
NOT_A_NUMBER = "choose the columns with --columns or colour by it with --label"


class Chunk(NamedTuple):
    """Some rows of a table."""

    features: Array
    labels: Labels = None
    fraction: float | None = None
    """How much of the table is read with this chunk; None where its size is not known."""

    def part(self, first: int, last: int) -> Chunk:
        """The rows from ``first`` up to, but not including, ``last``."""
        labels = None if self.labels is None else self.labels[first:last]
        return Chunk(self.features[first:last], labels, self.fraction)


class Position(NamedTuple):
    """A place in a table between two rows, from which reading can go on."""

    rows: int
    """Rows before it."""
    lines: int = 0
    """Lines of text before it."""
    offset: int = 0
    """Bytes of (decompressed) text before it."""


class RejectedLines:
    """Lines of text that are no rows of numbers. The first is an error; with ``skip`` each is reported and counted.

    ``report`` takes one message; ``settled`` lines up to the line ``last`` are not counted again by another pass.
    """

    def __init__(self, *, skip: bool = False, report: Callable[[str], Any] = lambda message: None) -> None:
        self.skip, self.report = skip, report
        self.settled, self.last = 0, 0
        self._recent: set[int] = set()

    @property
    def count(self) -> int:
        """All of them so far."""
        return self.settled + len(self._recent)

    def reject(self, error: InputError) -> None:
        """Count and report a line, or raise the error."""
        if not self.skip:
            raise error
        line = error.line or 0
        if line > self.last and line not in self._recent:
            self._recent.add(line)
            self.report(f"skipped: {error}")

    def settle(self, line: int) -> None:
        """All lines up to this one have been read."""
        if line > self.last:
            self.settled, self.last = self.count, line
            self._recent.clear()

    def restart(self) -> None:
        """Lines are numbered from 1 again, since the input was replaced."""
        self.settled, self.last = self.count, 0
        self._recent.clear()


class Wanted(NamedTuple):
    """The columns the user asked for (None: all but the label), and what happens to bad lines of text."""

    columns: list[str] | None = None
    label: str | None = None
    header: str = "auto"
    rejected: RejectedLines = RejectedLines()


class Table(Protocol):
    """Rows of numbers, read in chunks as often as needed (a stream: once)."""

    name: str
    columns: tuple[str, ...]
    """Names of the features."""
    label: str | None
    """Name of the label, if there is one."""

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a position of an earlier pass, ``rows`` at a time."""

    def position(self) -> Position:
        """The place after the last chunk that was given out."""

    def close(self) -> None:
        """Close the file."""


def chunk_rows(table: Table) -> int:
    """How many rows of a table to read at a time."""
    return max(1, min(CHUNK_ROWS, CHUNK_CELLS // len(table.columns)))


def select(names: Sequence[str], wanted: Wanted, source: str) -> tuple[list[int], int | None]:
    """Positions of the features and of the label, or an error that names the unknown column."""
    label = None if wanted.label is None else _position(wanted.label, names, source)
    if wanted.columns is None:
        chosen = [i for i in range(len(names)) if i != label]
        unnamed = next((i for i in chosen if not names[i]), None)
        if unnamed is not None:
            problem = f"column {unnamed + 1} has no name and may hold row numbers; choose the columns with --columns"
            raise InputError(f": {problem}", source=source)
    else:
        chosen = [_position(name, names, source) for name in wanted.columns]
        twice = next((names[i] for i in chosen if chosen.count(i) > 1), None)
        if twice is not None:
            raise InputError(f"lists {twice!r} twice", parameter="columns")
    if not chosen:
        raise InputError(": no column is left for the features", source=source)
    return chosen, label


def _position(name: str, names: Sequence[str], source: str) -> int:
    found = [i for i, other in enumerate(names) if other == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"has {len(found)} columns named {name!r}", source=source)
    import difflib  # for those who made a mistake

    close = difflib.get_close_matches(name, names, n=1)
    listed = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    hint = f"did you mean {close[0]!r}?" if close else f"it has: {listed}"
    raise InputError(f"has no column {name!r}; {hint}", source=source)


def numbered(n: int) -> list[str]:
    """Names of columns that have none: their numbers from 1."""
    return [str(i) for i in range(1, n + 1)]


def check_usable(features: Array, columns: Sequence[str], source: str, first: int) -> None:
    """Raise an error that names the first cell that is no usable number; ``first`` rows are before these."""
    if not usable(features):
        row, column, problem = first_unusable(features)
        raise InputError(problem, source=source, row=first + row + 1, column=columns[column])
