"""CSV and TSV, by pyarrow."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from driftmap.tables.blocks import BOM, Block
from driftmap.tables.cells import Marks, kind_of, not_a_number, not_utf8, unusable
from driftmap.tables.columns import Wanted, check_columns, numbered
from driftmap.tables.sniffing import BLANK, NumberForm, delimiter_of, first_line, other_form
from driftmap.utils import Array
from driftmap.utils.errors import Advice, InputError
from driftmap.utils.validation import LARGEST_NUMBER

MOST_CELLS_OF_ROW = 100_000
"""Most cells in a row of text: Arrow takes some 20 kB for each."""
LONGEST_QUOTED = 2**17
"""Bytes of the longest row of several lines; past this, an open quote is taken for a stray character."""

TEXT, NUMBER = pa.string(), pa.float64()
BLANKS = re.compile(rb'("(?:[^"]++|"")*+")|[ \t]++')
"""Quoted text, or a run of blanks that separates aligned columns."""


class CSV:
    """A parser of separated cells. If blanks separate them, any run of blanks is one separator.

    The first line is a header if any of its cells is not a number, if the user names one of them, or if it counts
    columns (0, 1, 2, ... or 2020, 2021, ...) and the next line does not.

    ``single``: every row is one line, so that a line with an unclosed quote does not absorb the following ones.
    """

    def __init__(self, source: str, head: bytes, wanted: Wanted, *, delimiter: str | None, single: bool) -> None:
        # Arrow's own signal handlers, active while it parses, lose a signal that comes just before they are removed. A
        # block is parsed in milliseconds, so Python's handlers are fast enough.
        pa.enable_signal_handlers(False)
        self._source, self._wanted = source, wanted
        self._form = NumberForm(wanted.decimal, wanted.thousands, wanted.missing, wanted.marks)
        self._nulls = _spellings(wanted.marks)
        self._delimiter = wanted.delimiter or delimiter or delimiter_of(head, self._form)
        self._parse = csv.ParseOptions(
            delimiter=self._delimiter, ignore_empty_lines=False, newlines_in_values=not single
        )
        cell = rb'(?:"(?:[^"]++|"")*+"[^D]*+|(?!")[^D]*+)D'
        self._open = re.compile(
            (rb"(?:" + cell + rb')*+"(?:[^"]++|"")*+').replace(b"D", re.escape(self._delimiter.encode()))
        )
        """Matches a row that ends within quotes."""
        self.names: list[str] = []

    def ends(self, data: bytes, *, final: bool) -> NDArray[np.int64]:
        """Return the ends of the complete rows. Empty lines count only if a row follows."""
        text = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(text == ord("\n")) + 1
        if b'"' in data and self._parse.newlines_in_values:
            odd = np.diff(np.searchsorted(np.flatnonzero(text == ord('"')), ends), prepend=0) % 2
            if odd.any():
                ends = np.array(self._row_ends(data, ends.tolist(), odd.tolist(), final=final), dtype=np.int64)
        stop = len(data.rstrip(b"\r\n \t" if self._delimiter == BLANK else b"\r\n"))
        return ends[: np.searchsorted(ends, stop, side="right") + 1] if stop else ends[:0]

    def _row_ends(self, data: bytes, ends: list[int], odd: list[int], *, final: bool) -> list[int]:
        """Return the ends of lines outside quotes."""
        found, start, i = [], 0, 0
        while i < len(ends):
            if odd[i] and self._open.fullmatch(data, start, ends[i]):
                close = i + 1
                while close < len(ends) and not (odd[close] and not self._open.fullmatch(data, start, ends[close])):
                    close += 1
                    if close < len(ends) and ends[close] - start > LONGEST_QUOTED:
                        break
                if close == len(ends) and not final and len(data) - start <= LONGEST_QUOTED:
                    break
                if close < len(ends) and ends[close] - start <= LONGEST_QUOTED:
                    i = close
            found.append(ends[i])
            start, i = ends[i], i + 1
        return found

    def read_header(self, first: Block, more: Callable[[], Block | None]) -> int:
        """Find the names of the columns; to decide whether they are in the first line may require the second one."""
        line = first.part(0, 1).data
        if b"\r" in line.rstrip(b"\r\n") and b'"' not in line:
            problem = ": carriage returns alone do not end lines; convert them to line feeds"
            raise InputError(problem, source=self._source, line=first.line())
        cells = [cell.strip() for cell in self._cells(line)]
        header = self._wanted.header
        if header == "no" or (header == "auto" and not self._names_columns(cells, first, more)):
            self.names = numbered(len(cells))
            return 0
        self.names = cells
        return 1

    def _names_columns(self, cells: list[str], first: Block, more: Callable[[], Block | None]) -> bool:
        """Return True if the cells of the first line are names."""

        def next_row() -> list[str] | None:
            second = first.part(1, 2) if len(first) > 1 else more()
            if second is None:
                return None
            with contextlib.suppress(ValueError):
                return self._cells(second.part(0, 1).data)
            return []

        found = first_line(cells, self._wanted.asked, self._form, next_row)
        if found == "counts":
            problem = ": line 1 counts the columns and is taken as their names"
            self._wanted.rejected.report(InputError(problem, source=self._source, advice="counted"))
        if found == "unclear":
            problem = "has text and numbers in the same columns as the next line, so it may be names or data"
            raise InputError(problem, source=self._source, line=first.line(), advice="header")
        return found != "data"

    def cells(self, rows: list[bytes], places: list[int]) -> list[list[Any]]:
        """Return the cells of these columns, None where they are missing; rows of another width are omitted."""
        data, width = b"".join(rows), len(self.names)
        if rows and places:
            with contextlib.suppress(ValueError):
                table = self._read(data, dict.fromkeys(map(str, places), TEXT), width, nulls=True)
                is_open = b'"' in data and any(map(self._open.fullmatch, rows))
                if table.num_rows == len(rows) and not is_open:
                    return [[*map(self._present, column.to_pylist())] for column in table.columns]
        if len(rows) < 2:
            return [[] for _ in places]
        half = len(rows) // 2
        first, second = self.cells(rows[:half], places), self.cells(rows[half:], places)
        return [a + b for a, b in zip(first, second, strict=True)]

    def kind(self, place: int, cells: list[Any]) -> str:
        """Return what a column holds, judged by cells that are not missing; "" for numbers."""
        kind = kind_of(any(map(self._form.is_number, cells)), cells)
        form = other_form(cells) if kind == "text" else None
        return kind if form is None else f"numbers of another form: {form}"

    def choose(self, places: list[int], label: int | None) -> list[str]:
        """Select columns; return the names of the features."""
        self._places, self._label = [str(place) for place in places], None if label is None else str(label)
        return [self.names[place] for place in places]

    def parse(self, block: Block) -> tuple[Array, list[str] | None]:
        """Return the features and labels of all rows.

        Texts that Arrow refuses may still be numbers in the form that was asked for.
        """
        data, label, width = block.data, self._label, len(self.names)
        if not data.isascii():
            data.decode()
            # pyarrow would skip a byte order mark at the start of a block, but not at other rows
            if data.startswith(BOM) or b"\n" + BOM in data:
                raise ValueError
        types = {} if label is None else {label: TEXT}
        try:
            if self._form.thousands:
                raise pa.ArrowInvalid
            table = self._read(data, types | dict.fromkeys(self._places, NUMBER), width)
            columns = [table.column(place).combine_chunks() for place in self._places]
        except pa.ArrowInvalid:
            if not (self._form.thousands or self._wanted.missing):
                raise
            table = self._read(data, types | dict.fromkeys(self._places, TEXT), width)
            columns = [self._cast(table.column(place).to_pylist()) for place in self._places]
        if table.num_rows != len(block):
            raise ValueError
        features = np.empty((table.num_rows, len(columns)))
        for i, column in enumerate(columns):
            column = column.fill_null(float("nan")) if column.null_count else column
            features[:, i] = np.from_dlpack(column)  # to_numpy would import pandas
        if label is None:
            return features, None
        if label in self._places:  # the label is also a feature
            table = self._read(data, types, width)
        return features, table.column(label).to_pylist()

    def _cast(self, cells: list[str]) -> Any:
        """Return texts as numbers, null where they are missing; raise a ValueError if one is not a number."""
        return pa.array([self._form.plain(cell) for cell in cells], TEXT).cast(NUMBER)

    def _read(self, data: bytes, types: dict[str, Any], width: int, *, nulls: bool = False) -> Any:
        """Return columns by their types; ``nulls``: texts may be missing, too."""
        options = csv.ReadOptions(column_names=[str(i) for i in range(width)], block_size=len(data) + 1)
        convert = csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=self._nulls if self._wanted.missing or nulls else [],
            strings_can_be_null=nulls,
            decimal_point=self._form.decimal,
        )
        return csv.read_csv(arrow_memory(self._separated(data)), options, self._parse, convert)

    def _separated(self, data: bytes) -> bytes:
        """Return the same lines with one delimiter between cells: aligned columns have several blanks."""
        if self._delimiter != BLANK:
            return data
        if b'"' in data:
            data = BLANKS.sub(lambda found: found[1] or b" ", data)
        else:
            data = data.replace(b"\t", b" ")
            while b"  " in data:
                data = data.replace(b"  ", b" ")
        return data.replace(b"\n ", b"\n").replace(b" \n", b"\n").replace(b" \r\n", b"\r\n").lstrip(b" ")

    def _present(self, cell: str | None) -> str | None:
        """Return a cell, or None if it is missing; Arrow has found those without surrounding blanks."""
        return None if cell is None or self._form.marks.is_missing(cell) else cell

    def _check_width(self, row: bytes) -> None:
        """Raise an error if a row has too many cells, before memory is allocated for it."""
        row = self._separated(row)
        check_columns(row.count(self._delimiter.encode()) + 1, self._source, MOST_CELLS_OF_ROW)

    def _cells(self, row: bytes) -> list[str]:
        """Return the cells of one row, whatever their number."""
        self._check_width(row)
        if self._open.fullmatch(row):
            raise ValueError
        row.decode()
        options = csv.ReadOptions(autogenerate_column_names=True, block_size=len(row) + 1)
        width = csv.read_csv(arrow_memory(self._separated(row)), options, self._parse).num_columns
        table = self._read(row, dict.fromkeys(map(str, range(width)), TEXT), width)
        return [column[0].as_py() for column in table.columns]

    def error(self, row: bytes) -> InputError:
        """Return the error that describes what is wrong with a row."""
        if not self._separated(row).strip(b"\r\n"):
            return InputError("is empty", advice="line")
        try:
            row.decode()
        except UnicodeDecodeError as error:
            return not_utf8(row[error.start])
        if row.startswith(BOM):
            return InputError("begins with a byte order mark, which is for the first line only")
        if self._open.fullmatch(row):
            return InputError(": a quote is opened and not closed")
        try:
            cells = self._cells(row)
        except InputError as error:  # too many cells; the caller adds the name of the file
            return InputError(error.problem)
        except ValueError:
            return InputError("holds a carriage return within a row")
        if len(cells) != len(self.names):
            number = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            advice: Advice | None = "delimiter" if len(self.names) == 1 else None
            return InputError(f"has {number}, but the first line has {len(self.names)}", advice=advice)
        for place in map(int, self._places):
            if (wrong := self._wrong(cells[place], self.names[place])) is not None:
                return wrong
        return InputError("holds a carriage return within a row")

    def _wrong(self, cell: str, column: str) -> InputError | None:
        """Return the error that describes what is wrong with a cell; None if it is valid."""
        try:
            value = self._cast([cell])[0].as_py()
        except ValueError:
            return not_a_number(cell, column, self._form.form_of(cell), self._form.marks)
        if value in self._form.marks.numbers and not self._wanted.missing:
            return not_a_number(cell, column, None, Marks(frozenset({cell.strip().lower()})))
        return None if value is None or abs(value) <= LARGEST_NUMBER else unusable(value, column=column)


def _spellings(marks: Marks) -> list[str]:
    """Return the spellings of missing numbers that Arrow recognises; others are found later."""
    return sorted({form for text in marks.texts for form in (text, text.upper(), text.title())} | {"NaN", "<NA>"})


def arrow_memory(data: bytes) -> Any:
    """Return the bytes as a file in Arrow's own memory.

    Arrow's threads may release their input after the interpreter began to shut down. To release Python's bytes they
    would need its lock, and waiting for it ends the process.
    """
    buffer = pa.allocate_buffer(len(data))
    pa.FixedSizeBufferWriter(buffer).write(data)
    return pa.BufferReader(buffer)
