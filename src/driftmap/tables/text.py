"""Tables of text: blocks of whole rows go to one parser; a block that it refuses is bisected until the row is found.

Blocks come in the same way from a file, a pipe or a followed file.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.sources import Source
from driftmap.sources.follow import LONGEST_ROW, RestartedError
from driftmap.sources.row_source import RowSource
from driftmap.tables.table import Chunk, Position, Table, Wanted, candidates, select
from driftmap.utils import Array
from driftmap.utils.errors import Advice, InputError
from driftmap.utils.validation import usable

BOM = b"\xef\xbb\xbf"
READ_BYTES = 2**22
"""Bytes read at a time."""
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""How a compressed file begins."""
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
"""What stands for a missing number, in lower case."""
LOOK_ROWS, LOOK_CELLS = 100, 2**14
"""Rows and cells that decide which columns hold numbers, at most."""
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
        _, lines, offset, _, ahead = self.after(first)
        part = Block(self.data[bounds[0] : bounds[-1]], bounds - bounds[0], lines, offset)
        if self.ahead is None:
            return part
        return replace(part, ahead=ahead, end=self.end if last == len(self) else None)

    def after(self, rows: int) -> Position:
        """The place after so many rows of the block."""
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
    """One format of text."""

    names: list[str]

    def ends(self, data: bytes, *, final: bool) -> NDArray[np.int64]:
        """Where the complete rows end; ``final``: there are no more bytes than these."""

    def read_header(self, first: Block, more: Callable[[], Block | None]) -> int:
        """Find the names of the columns, and return how many rows they take; ``more`` reads a second block."""

    def cells(self, rows: list[bytes], places: list[int]) -> list[list[Any]]:
        """The cells of these columns, None where they are missing; rows that are none of this table are left out."""

    def kind(self, place: int, cells: list[Any]) -> str:
        """What a column holds, by cells that are not missing; "" for numbers."""

    def choose(self, places: list[int], label: int | None) -> list[str]:
        """The columns that are wanted; returns the names of the features."""

    def parse(self, block: Block) -> tuple[Array, list[Any] | None]:
        """The features and labels of all rows, or any ValueError."""

    def error(self, row: bytes) -> InputError:
        """The error for a row that was refused; it names the column if it is in one cell, and no other place."""


def read_pieces(source: Source, offset: int) -> Generator[bytes, None, None]:
    """The decompressed bytes from a place on (a stream: from where it is), as they come."""
    with contextlib.ExitStack() as stack:
        file = source.stream
        if file is None:
            assert source.path is not None
            file = stack.enter_context(source.path.open("rb"))
        read: Any = file.read1  # type: ignore[attr-defined]
        try:
            head = file.peek(4)[:4]  # type: ignore[attr-defined]
            codec = next((codec for magic, codec in COMPRESSED.items() if head.startswith(magic)), None)
            if codec is not None:
                import pyarrow

                read = partial(_decompress, pyarrow.CompressedInputStream(file, codec), bytearray(READ_BYTES))
                skipped = 0
                while source.stream is None and skipped < offset:
                    skipped += len(read(min(READ_BYTES, offset - skipped))) or offset
            elif source.stream is None:
                file.seek(offset)
            while piece := read(READ_BYTES):
                source.consumed = file.tell() if source.stream is None else 0
                yield piece
        except OSError as error:
            raise InputError(f"is damaged: {error}", source=source.name) from error


def _decompress(stream: Any, buffer: bytearray, most: int) -> bytes:
    """The next bytes of a compressed stream, by a buffer of ours: pyarrow leaks its own where a file is damaged."""
    return bytes(buffer[: stream.readinto(memoryview(buffer)[:most])])


class TextTable(Table):
    """Rows from text. The first pass starts when the table is opened, to read the names of the columns."""

    def __init__(
        self, source: Source, wanted: Wanted, choose_parser: Callable[[bytes], Parser], *, once: bool = True
    ) -> None:
        self.name, self.label = source.name, wanted.label
        self._source, self._rejected, self._choose_parser = source, wanted.rejected, choose_parser
        self._missing = wanted.missing
        self._rows = source.rows
        self.is_live = source.rows is not None or source.stream is not None
        self.waits = source.rows is not None and source.rows.waits
        self._parser: Parser | None = None
        self._header = b""
        """The line with the names, which is left out where a followed file starts again."""
        blocks = self._blocks(Position(0))
        with contextlib.ExitStack() as stack:
            stack.callback(blocks.close)
            first, skipped = self._read_header(blocks)
            assert self._parser is not None
            kinds = self._kinds(first, skipped, blocks, candidates(self._parser.names, wanted, self.name), once=once)
            places, label, self.left_out = select(self._parser.names, wanted, self.name, kinds)
            stack.pop_all()
        self._first: Position = first[0].after(skipped)._replace(rows=0)
        self._place: Position = self._first
        self._header = first[0].data[: first[0].bounds[skipped]]
        rest = [first[0].part(skipped, len(first[0]))] if len(first[0]) > skipped else []
        self._pending: list[Block] | None = [*rest, *first[1:]]
        self._reading: Generator[Block] = blocks
        self.columns = tuple(self._parser.choose(places, label))

    def _read_header(self, blocks: Iterator[Block]) -> tuple[list[Block], int]:
        """Let the parser find the names of the columns; the blocks read for that, and the rows that are no data."""
        for block in blocks:
            assert self._parser is not None
            read, skipped = [block], 0

            def more(read: list[Block] = read) -> Block | None:
                read.extend(itertools.islice(blocks, 1))
                return read[1] if len(read) > 1 else None

            while skipped < len(block):
                rows = block.part(skipped, len(block))
                try:
                    return read, skipped + self._parser.read_header(rows, more)
                except InputError:
                    raise
                except ValueError:
                    self._reject(rows.part(0, 1), self.name)
                    skipped += 1
        raise InputError("is empty", source=self.name)

    def _kinds(
        self, read: list[Block], skipped: int, blocks: Iterator[Block], places: list[int], *, once: bool
    ) -> list[str]:
        """What the columns hold. The first rows decide, and for a column that is empty there all rows, if possible.

        A table that is read ``once`` has no rows but the first to decide by: a column that is empty there is one of
        numbers. Of a stream only the first row is waited for. Blocks that had to be read for the first rows are
        appended to those that are read.
        """
        assert self._parser is not None
        if not places:  # the user lists the features: there is nothing to wait for
            return []
        live = self.is_live
        wanted = 1 if live else max(1, min(LOOK_ROWS, LOOK_CELLS // max(1, len(self._parser.names))))
        rows = [*read[0].rows(skipped, skipped + wanted)]
        while len(rows) < wanted and (block := next(blocks, None)) is not None:
            read.append(block)
            rows += block.rows(0, wanted - len(rows))
        kinds = [""] * len(self._parser.names)
        columns = self._parser.cells(rows, places)
        empty = []
        for place, column in zip(places, columns, strict=True):
            present = [cell for cell in column if cell is not None]
            kinds[place] = self._parser.kind(place, present) if present else ""
            empty += [] if present else [place]
        if empty and not (once or live):
            for place, kind in self._late_kinds(empty, first=read[0].after(skipped)).items():
                kinds[place] = kind
        return kinds

    def _late_kinds(self, places: list[int], first: Position) -> dict[int, str]:
        """What columns hold that are empty in the first rows, by all rows: the first cells in them decide."""
        assert self._parser is not None
        consumed, usable = self._source.consumed, 0
        found: dict[int, list[Any]] = {place: [] for place in places}
        kinds: dict[int, str] = {}
        with contextlib.closing(self._blocks(first)) as blocks:
            for block in blocks:
                waiting = [place for place in places if place not in kinds]
                if not waiting:
                    break
                columns = self._parser.cells(block.rows(0, len(block)), waiting)
                usable += len(columns[0])
                for place, column in zip(waiting, columns, strict=True):
                    cells = found[place]
                    cells += [cell for cell in column if cell is not None][: LOOK_ROWS - len(cells)]
                    kind = self._parser.kind(place, cells)
                    if kind == "" or len(cells) == LOOK_ROWS:
                        kinds[place] = kind
        self._source.consumed = consumed
        if not usable:  # the parser will say what is wrong with the rows
            return {}
        return {place: kinds.get(place, self._parser.kind(place, found[place])) for place in places}

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a position of an earlier pass, at most ``rows`` at a time."""
        place = start or self._first
        pending, self._pending = self._pending, None
        if pending is not None and (start is None or self._source.stream is not None):
            blocks: Iterator[Block] = itertools.chain(pending, self._reading)
            blocks = blocks if start is None else self._skip(blocks, start)
        else:
            self._reading.close()
            blocks = self._reading = self._blocks(place)
        size = self._source.size
        given = place.rows
        for block in blocks:
            for part, features, labels in self._parsed(block):
                for first in range(0, len(part), rows):
                    last = min(first + rows, len(part))
                    given += last - first
                    self._place = part.after(last)._replace(rows=given)
                    self._rejected.settle(self._place.lines)
                    fraction = min(1.0, self._source.consumed / size) if size else None
                    yield Chunk(features[first:last], None if labels is None else labels[first:last], fraction)

    def position(self) -> Position:
        """The place after the last chunk that was given out."""
        return self._place

    def close(self) -> None:
        """Close the file."""
        self._reading.close()

    def tail(self) -> tuple[int, int, str] | None:
        """Where the last bytes before the present position begin and end, and their digest, if a file is followed."""
        return None if self._rows is None else self._rows.tail(self._place.offset, self._place.ahead)

    def done(self, position: Position) -> None:
        """All rows up to a position are learnt."""
        if self._rows is not None:
            self._rows.done(position.offset)

    def _blocks(self, start: Position) -> Generator[Block]:
        """The rows from a place on, in blocks."""
        if self._rows is not None:
            yield from self._followed(self._rows, start)
            return
        lines, offset, rest = start.lines, start.offset, b""
        for piece in read_pieces(self._source, offset):
            data = rest + piece
            if offset == 0 and data.startswith(BOM):
                data, offset = data[len(BOM) :], len(BOM)
            if self._parser is None:
                if not data.strip():
                    rest = data
                    continue
                self._parser = self._choose_parser(data)
            ends = self._parser.ends(data, final=False)
            stop = int(ends[-1]) if len(ends) else 0
            rest = data[stop:]
            if len(rest) > LONGEST_ROW:
                raise InputError(
                    f"is longer than {LONGEST_ROW:,} bytes", source=self.name, line=lines + data.count(b"\n") + 1
                )
            if stop:
                block = Block(data[:stop], np.append(0, ends), lines, offset)
                _, lines, offset, *_ = block.after(len(ends))
                yield block
        if rest.strip():
            assert self._parser is not None
            data = rest if rest.endswith(b"\n") else rest + b"\n"
            yield Block(data, np.append(0, self._parser.ends(data, final=True)), lines, offset)

    def _followed(self, source: RowSource, start: Position) -> Generator[Block]:
        """The rows of a followed source from a place on, in blocks."""
        position, lines, ahead, header = start.offset, start.lines, start.ahead, b""
        while True:
            try:
                rows, end = source.read(position, FOLLOWED_ROWS)
            except RestartedError as restart:
                self._rejected.report(f"{restart} after line {lines}: it is read from its start")
                if restart.cut_off:
                    problem = "had no end when the file was replaced"
                    self._rejected.reject(InputError(problem, source=self.name, line=lines + 1))
                self._rejected.restart()
                position, lines, ahead, header = 0, 0, 0, self._header
                continue
            if not rows:
                return
            data = b"".join(rows[ahead:]).removeprefix(BOM if lines == 0 else b"")
            self._parser = self._parser or self._choose_parser(data)
            bounds = np.append(0, self._parser.ends(data, final=True))
            block = Block(data, bounds, lines, position, ahead, end)
            lines, position, ahead = lines + max(0, len(rows) - ahead), end, max(0, ahead - len(rows))
            block = block.part(1, len(block)) if header and data.startswith(header) else block
            header = b""
            if len(block):
                yield block

    def _skip(self, blocks: Iterator[Block], start: Position) -> Iterator[Block]:
        """The rows of a stream from a place on."""
        if self._source.path is not None:  # a named pipe: what was read from it before does not come again
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

    def _parsed(self, block: Block) -> Iterator[tuple[Block, Array, list[Any] | None]]:
        """The rows that can be used, in stretches, with their features and labels; the others are rejected."""
        assert self._parser is not None
        try:
            features, labels = self._parser.parse(block)
            if not usable(features, missing=self._missing):
                raise ValueError
        except ValueError:
            if len(block) > 1:
                half = len(block) // 2
                yield from self._parsed(block.part(0, half))
                yield from self._parsed(block.part(half, len(block)))
            else:
                name = self.name if self._rows is None else self._rows.where(block.offset, block.ahead or 0)
                self._reject(block, name)
            return
        yield block, features, labels

    def _reject(self, row: Block, source: str) -> None:
        """Reject a row that the parser refused."""
        assert self._parser is not None
        error = self._parser.error(row.data)
        error.source, error.line = source, row.line()
        self._rejected.reject(error)


def not_utf8(byte: int) -> InputError:
    """The error for a line that is no UTF-8 text, given its first byte that is none."""
    return InputError(f"is not UTF-8 text (byte {byte:#04x})", advice="encoding")


def not_a_number(text: str, column: str, form: Advice | None = None) -> InputError:
    """The error for a cell that is no number, but may be one in another ``form``."""
    text = text.strip()
    if text.lower() in MISSING:
        return InputError(f"is {repr(text) if text else 'empty'}", column=column, advice="missing")
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return InputError(f"is {shown!r}, not a number", column=column, advice=form or "cell")
