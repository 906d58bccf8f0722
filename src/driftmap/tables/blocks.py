"""Blocks of whole rows of text: what a parser gets, from a file, from a stream, or from rows that arrive."""

from __future__ import annotations

import bisect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.sources.files import Source, read_pieces
from driftmap.sources.follow import LONGEST_ROW, RestartedError
from driftmap.sources.row_source import RowSource
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Position
from driftmap.utils import Array
from driftmap.utils.errors import InputError

BOM = b"\xef\xbb\xbf"
FOLLOWED_ROWS = 2**10
"""Rows that are asked of a followed source at a time, at most."""


@dataclass(frozen=True)
class Block:
    """Whole rows of text."""

    data: bytes
    bounds: NDArray[np.int64]
    """0, and where each row ends in the data."""
    lines: int
    """Lines before the block."""
    offset: Any
    """Bytes before the block; of a followed source, its position before the rows that were read with these."""
    ahead: int | None = None
    """Lines between that position and the block; None: the source is not followed."""
    end: Any = None
    """The position after the last of these rows, where it is known."""

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def part(self, first: int, last: int) -> Block:
        """The rows from ``first`` up to, but not including, ``last``."""
        bounds = self.bounds[first : last + 1]
        _, lines, offset, ahead = self.after(first)
        part = Block(self.data[bounds[0] : bounds[-1]], bounds - bounds[0], lines, offset)
        if self.ahead is None:
            return part
        return replace(part, ahead=ahead, end=self.end if last == len(self) else None)

    def after(self, rows: int) -> Position:
        """The place after the first ``rows`` rows of the block."""
        start = int(self.bounds[rows])
        lines = self.data.count(b"\n", 0, start)
        if self.ahead is None:
            return Position(rows, self.lines + lines, self.offset + start)
        if rows == len(self) and self.end is not None:
            return Position(rows, self.lines + lines, self.end)
        return Position(rows, self.lines + lines, self.offset, ahead=self.ahead + lines)

    def rows(self, first: int, last: int) -> list[bytes]:
        """The bytes of the rows from ``first`` up to, but not including, ``last``."""
        return [self.data[a:b] for a, b in itertools.pairwise(self.bounds[first : last + 1].tolist())]

    def line(self) -> int:
        """The number of the line on which the first row begins; empty lines may be before it."""
        row = self.data[: self.bounds[1]]
        text = row.lstrip()
        return self.lines + 1 + (row[: len(row) - len(text)].count(b"\n") if text else 0)


class Parser(Protocol):
    """One format of text.

    A parser is made when the first bytes are there. It is asked in this order: ``ends`` and ``read_header`` for the
    names, ``cells`` and ``kind`` for what the columns hold, ``choose`` for those that are wanted, and then ``ends`` and
    ``parse`` for every block, with ``error`` for each row that ``parse`` refuses.
    """

    names: list[str]
    """The names of all columns, in the order of their cells. Set by ``read_header``."""

    def ends(self, data: bytes, *, final: bool) -> NDArray[np.int64]:
        """Return where each complete row ends: the number of bytes up to and with its line end.

        This alone decides what a row is. A row may have several lines, such as empty ones before it or line breaks
        within quotes. Bytes after the last end are kept and come again with those that follow, so a row that may go on
        must not end yet, unless ``final`` says that no bytes follow. The parser gets whole rows only.
        """

    def read_header(self, first: Block, more: Callable[[], Block | None]) -> int:
        """Find the names of the columns, and return how many rows the header takes.

        The header must lie in the first block, which has at least one row. ``more`` reads a second block, for a look at
        the rows after the header; None: the input has ended. Any other ValueError than an InputError refuses the first
        row: it is reported, and the parser is asked again without it.
        """

    def cells(self, rows: list[bytes], places: list[int]) -> list[list[Any]]:
        """Return the cells of these columns, None where they are missing; malformed rows are left out."""

    def kind(self, place: int, cells: list[Any]) -> str:
        """Return what a column holds, by cells that are not missing; "" for numbers."""

    def choose(self, places: list[int], label: int | None) -> list[str]:
        """Take the columns that are wanted; return the names of the features."""

    def parse(self, block: Block) -> tuple[Array, list[Any] | None]:
        """Return the features and labels of all rows, or raise any ValueError; then the block is bisected."""

    def error(self, row: bytes) -> InputError:
        """Return the error for a row that was refused; it names the column if it is in one cell.

        Its line, if any, is counted from the first line of the row, which is 0.
        """


class Text(ABC):
    """Where the blocks of a table come from. The first bytes choose the parser."""

    is_live = False
    """Whether rows may be worth waiting for one by one."""
    waits = False
    """Whether the source holds back rows until earlier ones are done."""
    resumes: Literal["position", "start", "here"] = "position"
    """See :attr:`driftmap.sources.row_source.RowSource.resumes`."""
    size: int | None = None
    """Number of bytes, if it is known."""
    consumed = 0
    """Bytes that are read."""
    header = b""
    """The line with the names, which comes again where a followed file starts again."""

    def __init__(self, name: str, choose_parser: Callable[[bytes], Parser]) -> None:
        self.name, self._choose_parser = name, choose_parser
        self._parser: Parser | None = None

    @property
    def parser(self) -> Parser:
        """The parser; only after the first block."""
        assert self._parser is not None
        return self._parser

    @abstractmethod
    def blocks(self, start: Position) -> Generator[Block]:
        """The rows from a place on, in blocks; those of a stream from where it is."""

    def resumed(self, blocks: Iterator[Block], start: Position) -> Iterator[Block]:
        """The rows from a place on, given the blocks of a stream that cannot be read from there."""
        if self.resumes == "here":
            for block in blocks:
                yield replace(block, lines=start.lines + block.lines)
            return
        seen = 0
        for block in blocks:
            seen = block.after(len(block)).lines
            if seen > start.lines:
                rows = bisect.bisect_left(range(len(block)), start.lines, key=lambda row: block.after(row).lines)
                yield from [block.part(rows, len(block))] if rows else [block]
        if seen < start.lines:
            problem = f"ended after {seen} lines, but {start.lines} were read before: give the same input again"
            raise InputError(problem, source=self.name)

    def _not_here(self, start: Position) -> InputError:
        """The error for a saved position that is none of this source."""
        return InputError(f": the saved position {start.offset!r} is none in it", source=self.name)

    def where(self, row: Block) -> str:
        """What to call the source in a message on a row."""
        return self.name

    def tail(self, position: Position) -> tuple[int, int, str] | None:
        """Where the last bytes before a position begin and end, and their digest; None: they are not known."""
        return None

    def done(self, position: Position) -> None:  # noqa: B027
        """All rows up to a position are learnt."""


class FileText(Text):
    """Text from a file, or from a stream that is read once, compressed or not."""

    def __init__(self, source: Source, choose_parser: Callable[[bytes], Parser]) -> None:
        super().__init__(source.name, choose_parser)
        self._source, self.size = source, source.size
        if source.stream is not None:
            self.is_live, self.resumes = True, "start"

    def blocks(self, start: Position) -> Generator[Block]:
        """The rows from a place on, in blocks."""
        if not isinstance(start.offset, int):
            raise self._not_here(start)
        lines, rest = start.lines, b""
        offset: int = start.offset
        for piece in read_pieces(self._source, offset):
            self.consumed = self._source.consumed
            data = rest + piece
            if offset == 0 and data.startswith(BOM):
                data, offset = data[len(BOM) :], len(BOM)
            if self._parser is None:
                if not self._shows_form(data):
                    rest = data
                    self._check_length(rest, lines)
                    continue
                self._parser = self._choose_parser(data)
            ends = self._parser.ends(data, final=False)
            stop = int(ends[-1]) if len(ends) else 0
            rest = data[stop:]
            self._check_length(rest, lines + data.count(b"\n", 0, stop))
            if stop:
                block = Block(data[:stop], np.append(0, ends), lines, offset)
                lines, offset = block.after(len(ends)).lines, offset + stop
                yield block
        if rest.strip():
            self._parser = self._parser or self._choose_parser(rest)
            data = rest if rest.endswith(b"\n") else rest + b"\n"
            ends = self.parser.ends(data, final=True)
            if len(ends):
                yield Block(data, np.append(0, ends), lines, offset)

    def _shows_form(self, data: bytes) -> bool:
        """Whether the first bytes are enough to choose a parser: two whole lines; of a stream, which may pause, one."""
        text = data.lstrip()
        return text.count(b"\n") >= (1 if self.is_live else 2) or len(text) > LONGEST_ROW

    def _check_length(self, rest: bytes, lines: int) -> None:
        """Raise an error if what is no row yet is longer than a row may be; this many lines come before it."""
        if len(rest) <= LONGEST_ROW:
            return
        if rest.strip():
            raise InputError(f"is longer than {LONGEST_ROW:,} bytes", source=self.name, line=lines + 1)
        problem = f"begins more than {LONGEST_ROW:,} bytes of blank lines: remove them"
        raise InputError(problem, source=self.name, line=lines + 1)


class FollowedText(Text):
    """Text from rows that are read as they arrive."""

    is_live = True

    def __init__(self, rows: RowSource, rejected: RejectedLines, choose_parser: Callable[[bytes], Parser]) -> None:
        super().__init__(rows.name, choose_parser)
        self._rows, self._rejected = rows, rejected
        self.waits, self.resumes = rows.waits, rows.resumes

    def blocks(self, start: Position) -> Generator[Block]:
        """The rows from a place on, in blocks."""
        if isinstance(start.offset, str):
            raise self._not_here(start)
        position, lines, ahead, header = start.offset, start.lines, start.ahead, b""
        while True:
            try:
                rows, end = self._rows.read(position, FOLLOWED_ROWS)
            except RestartedError as restart:
                self._rejected.report(f"{restart} after line {lines}: it is read from its start")
                if restart.cut_off:
                    problem = "had no end when the file was replaced"
                    self._rejected.reject(InputError(problem, source=self.name, line=lines + 1))
                self._rejected.restart()
                position, lines, ahead, header = 0, 0, 0, self.header
                continue
            if not rows:
                return
            ahead = 0 if self._rows.forgot else ahead
            data = b"".join(rows[ahead:]).removeprefix(BOM if lines == 0 else b"")
            self._parser = self._parser or self._choose_parser(data)
            bounds = np.append(0, self._parser.ends(data, final=True))
            block = Block(data, bounds, lines, position, ahead, end)
            lines, position, ahead = lines + max(0, len(rows) - ahead), end, max(0, ahead - len(rows))
            block = block.part(1, len(block)) if header and data.startswith(header) else block
            header = b""
            if len(block):
                yield block

    def where(self, row: Block) -> str:
        """What to call the source in a message on a row."""
        return self._rows.where(row.offset, row.ahead or 0)

    def tail(self, position: Position) -> tuple[int, int, str] | None:
        """Where the last bytes before a position begin and end, and their digest, if a file is followed."""
        return self._rows.tail(position.offset, position.ahead)

    def done(self, position: Position) -> None:
        """All rows up to a position are learnt."""
        self._rows.done(position.offset)
