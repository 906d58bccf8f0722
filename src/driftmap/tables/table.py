"""Tables in chunks: all formats give the same chunks of numbers, so a file may be larger than memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from numpy.typing import NDArray

from driftmap.storage.schema import Count
from driftmap.tables.cells import unusable
from driftmap.utils import Array
from driftmap.utils.columns import LeftOut
from driftmap.utils.validation import first_unusable, usable

Labels = list[str] | Array | None

CHUNK_ROWS = 2**14
CHUNK_CELLS = 2**19
"""Most rows and cells of a chunk."""


class Chunk(NamedTuple):
    """Some rows of a table."""

    features: Array
    labels: Labels = None
    fraction: float | None = None
    """The share of the table that has been read with this chunk; None if its size is unknown."""

    def part(self, first: int, last: int) -> Chunk:
        """Return the rows from ``first`` up to, but not including, ``last``."""
        labels = None if self.labels is None else self.labels[first:last]
        return Chunk(self.features[first:last], labels, self.fraction)


class Position(NamedTuple):
    """A position between two rows of a table, from which reading can continue."""

    rows: Count
    """Rows before it."""
    lines: Count = 0
    """Lines of text before it."""
    offset: Count | str | dict[str, Any] = 0
    """Bytes of (decompressed) text before it. If the table is followed, a position of its source at or before it."""
    ahead: Count = 0
    """Lines between the position of the source and this one."""


class Table(ABC):
    """Rows of numbers, read in chunks, any number of times (a stream: once)."""

    name: str
    columns: tuple[str, ...]
    """Names of the features."""
    label: str | None
    """Name of the label, if there is one."""
    left_out: tuple[LeftOut, ...]
    """The columns that cannot be features; empty if the user named the features."""
    about: Mapping[str, Any] = MappingProxyType({})
    """Further facts about the input, for a summary."""
    color: tuple[NDArray[Any], str] | None = None
    """Values that colour figures instead of the label, one for each row, and their name."""
    labels_are_times = False
    is_live = False
    """Whether rows arrive slowly, so that they should be processed one by one."""
    waits = False
    """Whether the source holds back rows until earlier ones are processed, so that an idle run has to save them."""

    @abstractmethod
    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """Yield all rows from the first, or from a position of an earlier pass, at most ``rows`` at a time.

        A chunk may be empty.
        """

    @abstractmethod
    def position(self) -> Position:
        """Return the position after the last chunk."""

    def done(self, position: Position) -> None:  # noqa: B027
        """Note that all rows up to a position are learnt and, if there is a checkpoint, saved."""

    def tail(self) -> tuple[int, int, str] | None:
        """Return begin, end and digest of the last bytes before the present position, if the table may grow."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


def chunk_rows(n_columns: int) -> int:
    """Return the number of rows of ``n_columns`` columns to read at a time."""
    return max(1, min(CHUNK_ROWS, CHUNK_CELLS // n_columns))


def check_usable(features: Array, columns: Sequence[str], source: str, first: int, *, missing: bool) -> None:
    """Raise an error that names the first unusable number; ``first`` rows precede these."""
    if not usable(features, missing=missing):
        row, column, _ = first_unusable(features, missing=missing)
        raise unusable(float(features[row, column]), source=source, row=first + row + 1, column=columns[column])
