"""Blocks of whole rows of text, the input of a parser: from a file, from a stream, or from rows as they arrive."""

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
"""Most rows requested from a followed source at a time."""


@dataclass(frozen=True)
class Block:
    """Whole rows of text."""

    data: bytes
    bounds: NDArray[np.int64]
    """0, followed by the end of each row in the data."""
    lines: int
    """Lines before the block."""
    offset: Any
    """Bytes before the block. For a followed source, the position at which these rows were requested."""
    ahead: int | None = None
    """Lines between that position and the block. None: the source is not followed."""
    end: Any = None
    """The position after the last of these rows, if it is known."""

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def part(self, first: int, last: int) -> Block:
        """Return the rows from ``first`` up to, but not including, ``last``."""
        bounds = self.bounds[first : last + 1]
        _, lines, offset, ahead = self.after(first)
        part = Block(self.data[bounds[0] : bounds[-1]], bounds - bounds[0], lines, offset)
        if self.ahead is None:
            return part
        return replace(part, ahead=ahead, end=self.end if last == len(self) else None)

    def after(self, rows: int) -> Position:
        """Return the position after the first ``rows`` rows of the block."""
        start = int(self.bounds[rows])
        lines = self.data.count(b"\n", 0, start)
        if self.ahead is None:
            return Position(rows, self.lines + lines, self.offset + start)
        if rows == len(self) and self.end is not None:
            return Position(rows, self.lines + lines, self.end)
        return Position(rows, self.lines + lines, self.offset, ahead=self.ahead + lines)

    def rows(self, first: int, last: int) -> list[bytes]:
        """Return the bytes of the rows from ``first`` up to, but not including, ``last``."""
        return [self.data[a:b] for a, b in itertools.pairwise(self.bounds[first : last + 1].tolist())]

    def line(self) -> int:
        """Return the number of the line on which the first row begins, after any empty lines."""
        row = self.data[: self.bounds[1]]
        text = row.lstrip()
        return self.lines + 1 + (row[: len(row) - len(text)].count(b"\n") if text else 0)


class Parser(Protocol):
    """One format of text.

    A parser is created when the first bytes have been read. Its methods are called in this order: ``ends`` and
    ``read_header`` for the names, ``cells`` and ``kind`` for what the columns hold, ``choose`` for the selected ones,
    and then ``ends`` and ``parse`` for every block, with ``error`` for each row that ``parse`` refuses.
    """

    names: list[str]
    """The names of all columns, in the order of their cells. Set by ``read_header``."""

    def ends(self, data: bytes, *, final: bool) -> NDArray[np.int64]:
        """Return where each complete row ends: the number of bytes up to and including its line end.

        This alone decides what a row is. A row may have several lines, such as empty ones before it or line breaks
        within quotes. Bytes after the last end are kept and prepended to the following ones, so a row that may continue
        must not end yet, unless ``final`` says that no bytes follow. All other methods receive whole rows only.
        """

    def read_header(self, first: Block, more: Callable[[], Block | None]) -> int:
        """Find the names of the columns, and return the number of rows of the header.

        The header must lie in the first block, which has at least one row. ``more`` reads a second block, to look at
        the rows after the header; it returns None at the end of the input. A ValueError other than an InputError
        rejects the first row: it is reported, and the method is called again without it.
        """

    def cells(self, rows: list[bytes], places: list[int]) -> list[list[Any]]:
        """Return the cells of these columns, None where they are missing; malformed rows are omitted."""

    def kind(self, place: int, cells: list[Any]) -> str:
        """Return what a column holds, judged by cells that are not missing; "" for numbers."""

    def choose(self, places: list[int], label: int | None) -> list[str]:
        """Select columns; return the names of the features."""

    def parse(self, block: Block) -> tuple[Array, list[Any] | None]:
        """Return the features and labels of all rows, or raise any ValueError, after which the block is bisected."""

    def error(self, row: bytes) -> InputError:
        """Return the error for a row that was refused; it names the column if one cell is the cause.

        Its line, if any, is counted from the first line of the row, which is 0.
        """


class Text(ABC):
    """The source of the blocks of a table. The first bytes determine the parser."""

    is_live = False
    """Whether rows arrive slowly, so that they should be processed one by one."""
    waits = False
    """Whether the source holds back rows until earlier ones have been processed."""
    resumes: Literal["position", "start", "here"] = "position"
    """See :attr:`driftmap.sources.row_source.RowSource.resumes`."""
    size: int | None = None
    """Number of bytes, if known."""
    consumed = 0
    """Bytes read so far."""
    header = b""
    """The line with the names, which is repeated when a followed file starts again."""

    def __init__(self, name: str, choose_parser: Callable[[bytes], Parser]) -> None:
        self.name, self._choose_parser = name, choose_parser
        self._parser: Parser | None = None

    @property
    def parser(self) -> Parser:
        """The parser; available after the first block."""
        assert self._parser is not None
        return self._parser

    @abstractmethod
    def blocks(self, start: Position) -> Generator[Block]:
        """Yield the rows from a position on, in blocks; those of a stream from its present position."""

    def resumed(self, blocks: Iterator[Block], start: Position) -> Iterator[Block]:
        """Yield the rows from a position on, given the blocks of a stream that always starts at its beginning."""
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
        """Return the error for a saved position that does not belong to this source."""
        return InputError(f": the saved position {start.offset!r} does not belong to it", source=self.name)

    def where(self, row: Block) -> str:
        """Return the name of the source for a message about a row."""
        return self.name

    def exact(self, position: Position) -> Position:
        """The same place, as the source finds it again."""
        return position

    def tail(self, position: Position) -> tuple[int, int, str] | None:
        """Return begin, end and digest of the last bytes before a position; None if they are unknown."""
        return None

    def done(self, position: Position) -> None:  # noqa: B027
        """Note that all rows up to a position have been processed."""


class FileText(Text):
    """Text from a file, or from a stream that can be read once, compressed or not."""

    def __init__(self, source: Source, choose_parser: Callable[[bytes], Parser]) -> None:
        super().__init__(source.name, choose_parser)
        self._source, self.size = source, source.size
        if source.stream is not None:
            self.is_live, self.resumes = True, "start"

    def blocks(self, start: Position) -> Generator[Block]:
        """Yield the rows from a position on, in blocks."""
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
        """Return True if the bytes suffice to choose a parser: two whole lines, or one of a stream, which may pause."""
        text = data.lstrip()
        return text.count(b"\n") >= (1 if self.is_live else 2) or len(text) > LONGEST_ROW

    def _check_length(self, rest: bytes, lines: int) -> None:
        """Raise an error if an unfinished row exceeds the longest row; ``lines`` lines precede it."""
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
        """Yield the rows from a position on, in blocks."""
        if isinstance(start.offset, str):
            raise self._not_here(start)
        position, lines, ahead, header = start.offset, start.lines, start.ahead, b""
        while True:
            try:
                rows, end = self._rows.read(position, FOLLOWED_ROWS)
            except RestartedError as restart:
                self._rejected.report(f"{restart} after line {lines}: reading continues from its start")
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
        """Return the name of the source for a message about a row."""
        return self._rows.where(row.offset, row.ahead or 0)

    def exact(self, position: Position) -> Position:
        """The same place, as the source finds it again."""
        offset, ahead = self._rows.exact(position.offset, position.ahead)
        return position._replace(offset=offset, ahead=ahead)

    def tail(self, position: Position) -> tuple[int, int, str] | None:
        """Return begin, end and digest of the last bytes before a position, if a file is followed."""
        return self._rows.tail(position.offset, position.ahead)

    def done(self, position: Position) -> None:
        """Note that all rows up to a position have been processed."""
        self._rows.done(position.offset)
