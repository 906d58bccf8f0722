"""Tables of text, plain or gzipped, with the line of every mistake."""

from __future__ import annotations

import contextlib
import itertools
import operator
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from driftmap.cli import blocks, tables
from driftmap.cli.errors import UserError
from driftmap.cli.lines import FiniteLines, FollowedLines, Lines
from driftmap.cli.sources import Source
from driftmap.cli.tables import LARGEST, Array, Chunk, Position, Wanted, select, unusable

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
"""What stands for a missing number, in lower case."""


class Record(NamedTuple):
    """One row: the line it starts on and its cells."""

    line: int
    cells: Sequence[Any]


BlockParser = Callable[[bytes], tuple[Array, list[Any] | None] | None]
"""Gives the features and the cells of the label, or nothing where anything is out of the ordinary."""


class TextTable(ABC):
    """Rows from lines of text. The first reading starts when the table is opened, to learn the columns' names."""

    def __init__(self, source: Source, wanted: Wanted) -> None:
        self.name, self.label = source.name, wanted.label
        self._source, self._header, self._bad = source, wanted.header, wanted.bad
        self._stream: BinaryIO | None = None
        self._lines: Lines | None = None
        self._place: Position | None = None
        self._given, self._size = 0, 0
        self._first = Position(0, 0, 0)
        self._begun = False
        self._block: blocks.Given | None = None
        records = self._start()
        self._records: Generator[Record] | None = records
        names = next(records, Record(0, ())).cells
        if not names:
            raise UserError(f"{self.name} is empty")
        self._names = names
        self._places, self._label_place = select(names, wanted, self.name)
        self.columns = tuple(names[i] for i in self._places)

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a place where an earlier reading was, at most ``rows`` at a time."""
        self._place, self._given, self._block = start, 0 if start is None else start.rows, None
        self._size = self._source.size or 0  # asked for once: a file that is followed may be moved away
        place = start or self._first
        parse = self._block_parser() if self._is_large() and place.offset is not None else None
        if parse is None:
            while (chunk := self._careful_chunk(rows)) is not None:
                yield chunk
        else:
            yield from self._fast_chunks(rows, parse, place)
        self.close()

    def _is_large(self) -> bool:
        source = self._source
        return source.stream is None and not source.follow and self._size >= tables.SMALL

    def _careful_chunk(self, rows: int) -> Chunk | None:
        """The next rows, line by line; whatever is wrong with a line is told."""
        if self._records is None:
            self._records = self._start()
            next(self._records)
        while block := list(itertools.islice(self._records, rows)):
            features, block = self._usable(block)
            assert self._lines is not None
            self._bad.settle(self._lines.count)
            if not block:
                continue
            labels = None
            if self._label_place is not None:
                labels = [self._as_label(record.cells[self._label_place]) for record in block]
            self._given += len(block)
            return Chunk(features, labels, None if not self._size else self._bytes_read() / self._size)
        return None

    def _fast_chunks(self, rows: int, parse: BlockParser, place: Position) -> Iterator[Chunk]:
        """The rows from a place on, many lines at once, but line by line where these are out of the ordinary."""
        with self._source.open() as stream:
            source, behind = blocks.Blocks(stream), None
            while (block := source.at(place.offset or 0)) != b"":
                parsed = None if block is None else parse(block if place.offset else block.removeprefix(blocks.BOM))
                if block is None or parsed is None:
                    if place is not behind:  # going to where one is means unpacking all of a gzipped file again
                        self._go_to(place)
                    chunk = self._careful_chunk(rows)
                    if chunk is None:
                        return
                    yield chunk
                    place = behind = self.position()
                    assert place.offset is not None
                    continue
                features, cells = parsed
                self._block = blocks.Given(place, block)
                for first in range(0, len(features), rows):
                    some = features[first : first + rows]
                    labels = None if cells is None else [self._as_label(cell) for cell in cells[first : first + rows]]
                    self._given += len(some)
                    self._bad.settle(place.lines + first + len(some))
                    yield Chunk(some, labels, min(1.0, source.consumed() / max(1, self._size)))
                place = self._block.end(len(features))
                self._block = None

    def _go_to(self, place: Position) -> None:
        """Let the reading line by line go on from here."""
        self._place = place
        if self._records is not None and self._begun:
            assert self._lines is not None
            self._lines.go_to(place)

    def position(self) -> Position:
        """The place after the last chunk that was given out."""
        if self._block is not None:
            return self._block.after(self._given - self._block.place.rows)
        assert self._lines is not None
        return Position(self._given, self._lines.count, self._lines.tell())

    def close(self) -> None:
        """Let go of the file."""
        if self._records is not None:
            self._records.close()
            self._records = None

    def _bytes_read(self) -> int:
        assert self._stream is not None
        return self._source.size or 0 if self._stream.closed else self._stream.tell()

    def _start(self) -> Generator[Record]:
        """First the names of the columns, then the rows, from the place that ``chunks`` was given."""
        self._begun = False
        with self._source.open() as self._stream:
            if self._source.follow:
                self._lines = FollowedLines(self._stream, self._source.path, self.name, self._bad)
            else:
                shared = self._source.stream is not None
                self._lines = FiniteLines(self._stream, self.name, self._bad, shared=shared)
            with contextlib.closing(self._lines):
                yield from self._parse(self._lines)

    def _jump(self, lines: Lines) -> bool:
        """Go to where the reading is to start, if that is not here."""
        self._begun = True
        if self._place is None:
            return False
        lines.go_to(self._place)
        return True

    @abstractmethod
    def _parse(self, lines: Lines) -> Iterator[Record]:
        """First the names of the columns, then the rows; nothing if there is nothing."""

    @abstractmethod
    def _block_parser(self) -> BlockParser | None:
        """What parses many lines at once, if the library for it is installed."""

    @abstractmethod
    def _numbers(self, cells: Sequence[Any]) -> Iterable[float]:
        """Some cells as numbers, or a ValueError or OverflowError."""

    @staticmethod
    def _as_label(cell: Any) -> str:
        return "" if cell is None else str(cell)

    def _usable(self, block: list[Record]) -> tuple[Array, list[Record]]:
        """The features, and the rows they are from: all, unless bad ones are to be skipped."""
        try:
            return self._features(block), block
        except (ValueError, OverflowError):
            pass
        good = []
        for record in block:
            complaint = self._complaint(record)
            if complaint is None:
                good.append(record)
            else:
                self._bad.refuse(record.line, complaint)
        return self._features(good), good

    def _features(self, block: Sequence[Record]) -> Array:
        width, values = len(self._names), array("d")
        first = self._places[0]
        pick = operator.itemgetter(*self._places) if len(self._places) > 1 else lambda cells: (cells[first],)
        for _, cells in block:
            if len(cells) != width:
                raise ValueError
            values.extend(self._numbers(pick(cells)))
        features = np.frombuffer(values).reshape(len(block), len(self._places))
        if not (np.abs(features) <= LARGEST).all():  # in this form NaN fails too
            raise ValueError
        return features

    def _complaint(self, record: Record) -> UserError | None:
        """The first thing that is wrong with a row, if anything is."""
        line, cells = record
        where = f"{self.name}, line {line}"
        if len(cells) != len(self._names):
            cells_here = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            return UserError(f"{where} has {cells_here}, where the first line has {len(self._names)}")
        for place in self._places:
            wrong = self._wrong(cells[place], f"{where}, column {self._names[place]!r}")
            if wrong is not None:
                return UserError(wrong)
        return None

    def _wrong(self, cell: Any, where: str) -> str | None:
        try:
            (value,) = self._numbers((cell,))
        except OverflowError:
            value = np.inf
        except ValueError:
            text = self._as_label(cell).strip()
            if text.lower() in MISSING:
                return f"{where} is {repr(text) if text else 'empty'}; fill or drop such rows first"
            shown = text if len(text) <= 40 else f"{text[:37]}..."
            return f"{where} is {shown!r}, not a number; choose the columns with --columns or colour by it with --label"
        return None if abs(value) <= LARGEST else unusable(where, value)
