"""Tables of text: CSV, TSV and JSON lines, plain or gzipped, with the line of every mistake."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import operator
import zlib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from driftmap.cli.errors import UserError
from driftmap.cli.sources import Source
from driftmap.cli.tables import LARGEST, Array, Chunk, Table, Wanted, numbered, select, unusable

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
        self._source, self._wanted = source, wanted
        self._position = 0
        self._started: tuple[list[str], Iterator[Record]] | None = self._start()
        names = self._started[0]
        self._names = names
        self._places, self._label_place = select(names, wanted, source.name)
        self.columns = tuple(names[i] for i in self._places)

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """All rows from the first, ``rows`` at a time."""
        _, records = self._started or self._start()
        self._started = None
        size = self._source.size
        while block := list(itertools.islice(records, rows)):
            features = self._features(block)
            labels = None
            if self._label_place is not None:
                labels = [self._as_label(record.cells[self._label_place]) for record in block]
            yield Chunk(features, labels, None if not size else self._position / size)

    def close(self) -> None:
        """Let go of the file."""
        self._started = None

    def _start(self) -> tuple[list[str], Iterator[Record]]:
        """The names of the columns, and the rows after them."""
        return self._named(self._lines())

    @abstractmethod
    def _named(self, lines: Iterator[str]) -> tuple[list[str], Iterator[Record]]:
        """The names of the columns, and the rows after them."""

    @abstractmethod
    def _numbers(self, cells: Sequence[Any]) -> Iterable[float]:
        """Some cells as numbers, or a ValueError, TypeError or OverflowError."""

    @staticmethod
    def _as_label(cell: Any) -> str:
        return str(cell)

    def _features(self, block: Sequence[Record]) -> Array:
        width, values = len(self._names), array("d")
        pick = operator.itemgetter(*self._places) if len(self._places) > 1 else lambda cells: (cells[self._places[0]],)
        try:
            for record in block:
                if len(record.cells) != width:
                    raise ValueError
                values.extend(self._numbers(pick(record.cells)))
            features = np.frombuffer(values).reshape(len(block), len(self._places))
        except (ValueError, TypeError, OverflowError):
            raise self._complaint(block) from None
        if not (np.abs(features) <= LARGEST).all():  # in this form NaN fails too
            raise self._complaint(block)
        return features

    def _complaint(self, block: Sequence[Record]) -> UserError:
        """The first thing that is wrong with some rows."""
        for line, cells in block:
            where = f"{self.name}, line {line}"
            if len(cells) != len(self._names):
                return UserError(f"{where} has {len(cells)} cells, where the first line has {len(self._names)}")
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
        except (ValueError, TypeError):
            if cell is None or str(cell).strip() == "":
                return f"{where} is empty; fill or drop such rows first"
            if str(cell).strip().lower() in MISSING:
                return f"{where} is {str(cell)!r}; fill or drop such rows first"
            shown = str(cell) if len(str(cell)) <= 40 else f"{str(cell)[:37]}..."
            return f"{where} is {shown!r}, not a number: choose the columns with --columns or colour by it with --label"
        return None if abs(value) <= LARGEST else unusable(where, value)

    def _lines(self) -> Iterator[str]:
        """The lines of the source, whatever it takes to read them."""
        with self._source.open() as stream:
            try:
                with _as_text(stream) as text:
                    try:
                        for line in text:
                            yield line
                            self._position = stream.tell() if self._source.path is not None else 0
                    finally:
                        if self._source.path is None:
                            text.detach()  # closing the wrapper would close standard input
            except UnicodeDecodeError as error:
                raise UserError(f"{self.name} is not UTF-8 text (byte {error.object[error.start]:#04x})") from error
            except EOFError as error:
                raise UserError(f"{self.name} is cut off: the gzip file ends too early") from error
            except (gzip.BadGzipFile, zlib.error) as error:
                raise UserError(f"{self.name} is damaged: {error}") from error
