"""Tables of text: CSV, TSV and JSON lines, plain or gzipped, with the line of every mistake."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import operator
import zlib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, TextIO

import numpy as np

from driftmap.cli.errors import UserError
from driftmap.cli.sources import Source
from driftmap.cli.tables import LARGEST, Array, Chunk, Wanted, numbered, select, unusable

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
"""What stands for a missing number, in lower case."""


class Record(NamedTuple):
    """One row: the line it starts on and its cells."""

    line: int
    cells: Sequence[Any]


class TextTable(ABC):
    """Rows from lines of text. The first reading starts when the table is opened, to learn the columns' names."""

    def __init__(self, source: Source, wanted: Wanted) -> None:
        self.name, self.label = source.name, wanted.label
        self._source, self._header = source, wanted.header
        self._stream: BinaryIO | None = None
        records = self._start()
        self._records: Generator[Record] | None = records
        names = next(records, Record(0, ())).cells
        if not names:
            raise UserError(f"{self.name} is empty")
        self._names = names
        self._places, self._label_place = select(names, wanted, self.name)
        self.columns = tuple(names[i] for i in self._places)

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """All rows from the first, ``rows`` at a time."""
        size, records = self._source.size, self._records
        if records is None:
            self._records = records = self._start()
            next(records)
        while block := list(itertools.islice(records, rows)):
            features = self._features(block)
            labels = None
            if self._label_place is not None:
                labels = [self._as_label(record.cells[self._label_place]) for record in block]
            yield Chunk(features, labels, None if not size else self._bytes_read() / size)
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._records is not None:
            self._records.close()
            self._records = None

    def _bytes_read(self) -> int:
        assert self._stream is not None
        return self._source.size or 0 if self._stream.closed else self._stream.tell()

    def _start(self) -> Generator[Record]:
        """First the names of the columns, then the rows; whatever cannot be read is the user's mistake."""
        with self._source.open() as self._stream, contextlib.ExitStack() as stack:
            try:
                text = _decoded(self._stream)
                # Closing the text would close standard input with it.
                stack.callback(text.close if self._source.stream is None else text.detach)
                yield from self._parse(text)
            except UnicodeDecodeError as error:
                raise UserError(f"{self.name} is not UTF-8 text (byte {error.object[error.start]:#04x})") from error
            except EOFError as error:
                raise UserError(f"{self.name} is cut off: the gzip file ends too early") from error
            except (gzip.BadGzipFile, zlib.error) as error:
                raise UserError(f"{self.name} is damaged: {error}") from error

    @abstractmethod
    def _parse(self, text: TextIO) -> Iterator[Record]:
        """First the names of the columns, then the rows; nothing if there is nothing."""

    @abstractmethod
    def _numbers(self, cells: Sequence[Any]) -> Iterable[float]:
        """Some cells as numbers, or a ValueError or OverflowError."""

    @staticmethod
    def _as_label(cell: Any) -> str:
        return "" if cell is None else str(cell)

    def _features(self, block: Sequence[Record]) -> Array:
        width, values = len(self._names), array("d")
        first = self._places[0]
        pick = operator.itemgetter(*self._places) if len(self._places) > 1 else lambda cells: (cells[first],)
        try:
            for _, cells in block:
                if len(cells) != width:
                    raise self._complaint(block)
                values.extend(self._numbers(pick(cells)))
        except (ValueError, OverflowError):
            raise self._complaint(block) from None
        features = np.frombuffer(values).reshape(len(block), len(self._places))
        if not (np.abs(features) <= LARGEST).all():  # in this form NaN fails too
            raise self._complaint(block)
        return features

    def _complaint(self, block: Sequence[Record]) -> UserError:
        """The first thing that is wrong with some rows."""
        for line, cells in block:
            where = f"{self.name}, line {line}"
            if len(cells) != len(self._names):
                cells_here = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
                return UserError(f"{where} has {cells_here}, where the first line has {len(self._names)}")
            for place in self._places:
                wrong = self._wrong(cells[place], f"{where}, column {self._names[place]!r}")
                if wrong is not None:
                    return UserError(wrong)
        raise AssertionError("rows that cannot be read, but no cell that is wrong")

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


def _decoded(stream: BinaryIO) -> io.TextIOWrapper:
    """The text of a stream, unpacked if it is gzipped, whatever its name says."""
    if stream.peek(2)[:2] == b"\x1f\x8b":  # type: ignore[attr-defined]
        stream = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


class SeparatedTable(TextTable):
    """CSV or TSV. The first line is a header if any of its cells is not a number."""

    def _parse(self, text: TextIO) -> Iterator[Record]:
        rows = self._rows(text)
        first = next(rows, None)
        if first is None:
            return
        numeric = [_is_number(cell) for cell in first.cells]
        # Only where the first line does not settle it is the second one waited for.
        mixed = self._header == "auto" and any(numeric) and not all(numeric)
        second = list(itertools.islice(rows, 1)) if mixed else []
        if second and [_is_number(cell) for cell in second[0].cells] == numeric:
            raise UserError(
                f"{self.name}, line {first.line} has text and numbers in the same columns as the next line, so it may "
                "be names or data: say --header yes or --header no"
            )
        if self._header == "no" or (self._header == "auto" and all(numeric)):
            yield Record(0, numbered(len(numeric)))
            yield first
        else:
            yield Record(first.line, [cell.strip() for cell in first.cells])
        yield from itertools.chain(second, rows)

    def _rows(self, text: TextIO) -> Iterator[Record]:
        """Non-empty rows with their first lines; only at the end may there be empty lines."""
        head = text.readline()
        tabs = self._source.kind.startswith((".tsv", ".tab"))
        # Decimal commas make semicolons usual in some countries; a comma in the first line settles it.
        delimiter = "\t" if tabs else next((mark for mark in ",;\t" if mark in head), ",")
        reader = csv.reader(itertools.chain([head], text), delimiter=delimiter, strict=True)
        line, empty = 1, 0
        try:
            for cells in reader:
                if not cells:
                    empty = empty or line
                elif empty:
                    raise UserError(f"{self.name}, line {empty} is empty; fill or drop such rows first")
                else:
                    yield Record(line, cells)
                line = reader.line_num + 1
        except csv.Error as error:
            raise UserError(f"{self.name}, line {line}: {error}") from error

    def _numbers(self, cells: Sequence[str]) -> Iterable[float]:
        if "_" in "".join(cells):  # float takes 2013_01 for 201301
            raise ValueError
        return map(float, cells)


def _is_number(cell: str) -> bool:
    """Whether a cell of the first line speaks for data; a missing number does, since names are rarely left out."""
    if cell.strip().lower() in MISSING:
        return True
    with contextlib.suppress(ValueError):
        float(cell)
        return "_" not in cell
    return False


class JSONTable(TextTable):
    """JSON lines: objects with the same keys, or arrays of the same length."""

    def _parse(self, text: TextIO) -> Iterator[Record]:
        names: list[str] | None = None
        for line, string in enumerate(text, start=1):
            if not string.strip():
                continue
            try:
                value = json.loads(string)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{self.name}, line {line} is not JSON: {error}") from error
            if not isinstance(value, dict | list):
                raise UserError(f"{self.name}, line {line} is neither an object nor an array")
            if names is None:
                names = list(value) if isinstance(value, dict) else numbered(len(value))
                kind = type(value)
                yield Record(0, names)
            if type(value) is not kind:
                raise UserError(f"{self.name}, line {line}: objects and arrays are mixed")
            yield Record(line, self._ordered(value, names, line) if isinstance(value, dict) else value)

    def _ordered(self, value: dict[str, Any], names: Sequence[str], line: int) -> list[Any]:
        try:
            cells = [value[name] for name in names]
        except KeyError as error:
            raise UserError(f"{self.name}, line {line} has no {error.args[0]!r}, which the first line has") from None
        if len(value) > len(cells):
            new = next(name for name in value if name not in names)
            raise UserError(f"{self.name}, line {line} has {new!r}, which the first line has not")
        return cells

    def _numbers(self, cells: Sequence[Any]) -> Iterable[float]:
        if any(type(cell) is not float and type(cell) is not int for cell in cells):
            raise ValueError
        return map(float, cells)

    @staticmethod
    def _as_label(cell: Any) -> str:
        return cell if isinstance(cell, str) else "" if cell is None else json.dumps(cell)


def detected_table(source: Source, wanted: Wanted) -> TextTable:
    """CSV, TSV or JSON lines, by the first character that is not blank."""
    # A stream can be looked at only as far as its buffer reaches; leading blank lines beyond it are nobody's data.
    with source.open() as stream:
        head = stream.peek(4096)[:4096]  # type: ignore[attr-defined]
        if head[:2] == b"\x1f\x8b":
            with contextlib.suppress(EOFError, OSError, zlib.error):
                head = zlib.decompressobj(wbits=31).decompress(head)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return (JSONTable if start.startswith((b"{", b"[")) else SeparatedTable)(source, wanted)
