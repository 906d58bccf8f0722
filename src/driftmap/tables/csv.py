"""CSV and TSV, by pyarrow: the parser, and what the first lines say of separator, header and forms of numbers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.tables.table import Wanted, kind_of, numbered, unusable
from driftmap.tables.text import BOM, MISSING, Block, not_a_number, not_utf8
from driftmap.utils import Array
from driftmap.utils.errors import Advice, InputError
from driftmap.utils.validation import LARGEST_NUMBER

NULLS = sorted({form for text in MISSING for form in (text, text.upper(), text.title())} | {"NaN"})
"""What Arrow takes for a missing number; with blanks around it, it is found later."""
LONGEST_QUOTED = 2**17
"""Bytes of a row that is longer than a line, at most: beyond, its quote was never meant to be open."""
FEWEST_COUNTED = 5
"""Columns that a first line of integers counts, at least, if the next line may hold integers, too."""


class CSV:
    """A parser of separated cells.

    The first line is a header if any of its cells is not a number, if the user names one of them, or if it counts
    columns (0, 1, 2, ... or 2020, 2021, ...) and the next line does not.

    ``single``: every row is one line, so that one line that opens a quote does not take all others with it.
    """

    def __init__(self, source: str, head: bytes, wanted: Wanted, *, tabs: bool, single: bool) -> None:
        from pyarrow import ArrowInvalid, csv, enable_signal_handlers, float64, string

        # Arrow's own handlers, set while it parses, lose a signal that comes just before they are taken away. A block
        # is parsed in milliseconds, so Python's are soon enough.
        enable_signal_handlers(False)
        self._arrow, self._refused, self._number, self._text = csv, ArrowInvalid, float64(), string()
        self._source, self._wanted, self._single, self._missing = source, wanted, single, wanted.missing
        self._decimal, self._thousands = wanted.decimal, wanted.thousands
        digits = r"[+-]?\d{1,3}(?:%s\d{3})+(?:%s\d*)?(?:[eE][+-]?\d+)?"
        self._grouped = re.compile(digits % (re.escape(self._thousands), re.escape(self._decimal)), re.ASCII)
        self._delimiter = "\t" if tabs else delimiter_of(head)
        self._parse = csv.ParseOptions(
            delimiter=self._delimiter, ignore_empty_lines=False, newlines_in_values=not single
        )
        cell = rb'(?:"(?:[^"]++|"")*+"[^D]*+|(?!")[^D]*+)D'
        self._open = re.compile((rb"(?:" + cell + rb')*+"(?:[^"]++|"")*+').replace(b"D", self._delimiter.encode()))
        """Matches a row that ends within quotes."""
        self.names: list[str] = []

    def ends(self, data: bytes, *, final: bool) -> NDArray[np.int64]:
        """Where the complete rows end. Empty lines count only if a row follows."""
        text = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(text == ord("\n")) + 1
        if b'"' in data and not self._single:
            odd = np.diff(np.searchsorted(np.flatnonzero(text == ord('"')), ends), prepend=0) % 2
            if odd.any():
                ends = np.array(self._row_ends(data, ends.tolist(), odd.tolist(), final=final), dtype=np.int64)
        stop = len(data.rstrip(b"\r\n"))
        return ends[: np.searchsorted(ends, stop, side="right") + 1] if stop else ends[:0]

    def _row_ends(self, data: bytes, ends: list[int], odd: list[int], *, final: bool) -> list[int]:
        """The ends of lines that are not within quotes."""
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
        """Find the names of the columns; whether the first line has them may need a look at the second one."""
        line = first.part(0, 1).data
        if b"\r" in line.rstrip(b"\r\n") and b'"' not in line:
            problem = ": carriage returns alone end no lines; convert them to line feeds"
            raise InputError(problem, source=self._source, line=first.line())
        cells = [cell.strip() for cell in self._cells(line)]
        header = self._wanted.header
        if header == "no" or (header == "auto" and not self._names_columns(cells, first, more)):
            self.names = numbered(len(cells))
            return 0
        self.names = cells
        return 1

    def _names_columns(self, cells: list[str], first: Block, more: Callable[[], Block | None]) -> bool:
        """Whether these cells of the first line are names."""
        if any(name in cells and name not in numbered(len(cells)) for name in self._wanted.asked):
            return True
        numeric = [self._is_number(cell) for cell in cells]
        if not any(numeric) or (all(numeric) and not counts_columns(cells)):
            return not any(numeric)
        second = first.part(1, 2) if len(first) > 1 else more()
        if second is None:
            return not all(numeric)
        row = second.part(0, 1).data
        if all(numeric):
            is_header = self._is_like(numeric, row) and are_counted(cells, self._cells(row))
            if is_header:
                problem = ": line 1 counts the columns and is taken as their names"
                self._wanted.rejected.report(InputError(problem, source=self._source, advice="counted"))
            return is_header
        if self._is_like(numeric, row):
            problem = "has text and numbers in the same columns as the next line, so it may be names or data"
            raise InputError(problem, source=self._source, line=first.line(), advice="header")
        return True

    def _is_like(self, numeric: list[bool], row: bytes) -> bool:
        with contextlib.suppress(ValueError):
            return [self._is_number(cell) for cell in self._cells(row)] == numeric
        return False

    def cells(self, rows: list[bytes], places: list[int]) -> list[list[Any]]:
        """The cells of these columns, None where they are missing; rows of another width are left to the parser."""
        data, width = b"".join(rows), len(self.names)
        if rows and places:
            with contextlib.suppress(ValueError):
                table = self._read(data, dict.fromkeys(map(str, places), self._text), width, nulls=True)
                is_open = b'"' in data and any(map(self._open.fullmatch, rows))
                if table.num_rows == len(rows) and not is_open:
                    return [[*map(_present, column.to_pylist())] for column in table.columns]
        if len(rows) < 2:
            return [[] for _ in places]
        half = len(rows) // 2
        first, second = self.cells(rows[:half], places), self.cells(rows[half:], places)
        return [a + b for a, b in zip(first, second, strict=True)]

    def kind(self, place: int, cells: list[Any]) -> str:
        """What a column holds, by cells that are not missing; "" for numbers."""
        kind = kind_of(any(map(self._is_number, cells)), cells)
        form = other_form(cells) if kind == "text" else None
        return kind if form is None else f"numbers of another form: {form}"

    def _is_number(self, cell: str) -> bool:
        """Whether a cell of the first line speaks for data; a missing number does, since names are rarely left out."""
        if cell.strip().lower() in MISSING:
            return True
        with contextlib.suppress(ValueError):
            float(self._plain(cell) or "nan")
            return "_" not in cell
        return False

    def choose(self, places: list[int], label: int | None) -> list[str]:
        """The columns that are wanted; returns the names of the features."""
        self._places, self._label = [str(place) for place in places], None if label is None else str(label)
        return [self.names[place] for place in places]

    def parse(self, block: Block) -> tuple[Array, list[str] | None]:
        """Features and labels of all rows. Texts that Arrow refuses may still be numbers in the forms of this file."""
        data, label, width = block.data, self._label, len(self.names)
        if not data.isascii():
            data.decode()
            # pyarrow would leave out a mark at the start of a block, but not one of another row.
            if data.startswith(BOM) or b"\n" + BOM in data:
                raise ValueError
        types = {} if label is None else {label: self._text}
        try:
            if self._thousands:
                raise self._refused
            table = self._read(data, types | dict.fromkeys(self._places, self._number), width)
            columns = [table.column(place).combine_chunks() for place in self._places]
        except self._refused:
            if not (self._thousands or self._missing):
                raise
            table = self._read(data, types | dict.fromkeys(self._places, self._text), width)
            columns = [self._cast(table.column(place).to_pylist()) for place in self._places]
        if table.num_rows != len(block):
            raise ValueError
        features = np.empty((table.num_rows, len(columns)))
        for i, column in enumerate(columns):
            column = column.fill_null(float("nan")) if column.null_count else column
            features[:, i] = np.from_dlpack(column)  # to_numpy imports pandas
        if label is None:
            return features, None
        if label in self._places:  # the label is a feature, too
            table = self._read(data, types, width)
        return features, table.column(label).to_pylist()

    def _cast(self, cells: list[str]) -> Any:
        """Texts as numbers, null where they are missing and may be; or a ValueError."""
        from pyarrow import array

        return array([self._plain(cell) for cell in cells], self._text).cast(self._number)

    def _plain(self, cell: str) -> str | None:
        """A number as Arrow reads it; None if it is missing and may be."""
        cell = cell.strip()
        if self._missing and cell.lower() in MISSING:
            return None
        if self._thousands and self._thousands in cell:
            if not self._grouped.fullmatch(cell):
                raise ValueError
            cell = cell.replace(self._thousands, "")
        if self._decimal == ".":
            return cell
        if "." in cell:
            raise ValueError
        return cell.replace(self._decimal, ".")

    def _read(self, data: bytes, types: dict[str, Any], width: int, *, nulls: bool = False) -> Any:
        """Some columns by their types; ``nulls``: texts may be missing, too."""
        options = self._arrow.ReadOptions(column_names=[str(i) for i in range(width)], block_size=len(data) + 1)
        convert = self._arrow.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=NULLS if self._missing or nulls else [],
            strings_can_be_null=nulls,
            decimal_point=self._decimal,
        )
        return self._arrow.read_csv(arrow_memory(data), options, self._parse, convert)

    def _cells(self, row: bytes) -> list[str]:
        """The cells of one row, however many there are."""
        if self._open.fullmatch(row):
            raise ValueError
        row.decode()
        options = self._arrow.ReadOptions(autogenerate_column_names=True, block_size=len(row) + 1)
        width = self._arrow.read_csv(arrow_memory(row), options, self._parse).num_columns
        table = self._read(row, dict.fromkeys(map(str, range(width)), self._text), width)
        return [column[0].as_py() for column in table.columns]

    def error(self, row: bytes) -> InputError:
        """What is wrong with a row."""
        if not row.strip(b"\r\n"):
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
        except ValueError:
            return InputError("holds a carriage return within a row")
        if len(cells) != len(self.names):
            number = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            return InputError(f"has {number}, where the first line has {len(self.names)}")
        for place in map(int, self._places):
            if (wrong := self._wrong(cells[place], self.names[place])) is not None:
                return wrong
        return InputError("holds a carriage return within a row")

    def _usual_form(self, cell: str) -> Advice | None:
        """What to do if a cell is a number with a decimal point, where a comma is one."""
        with contextlib.suppress(ValueError):
            float(cell)
            return "decimal '.'" if self._decimal != "." and cell.strip().lower() not in MISSING else None
        return None

    def _wrong(self, cell: str, column: str) -> InputError | None:
        """What is wrong with a cell, if anything is."""
        try:
            value = self._cast([cell])[0].as_py()
        except ValueError:
            return not_a_number(cell, column, other_form([cell]) or self._usual_form(cell))
        return None if value is None or abs(value) <= LARGEST_NUMBER else unusable(value, column=column)


def _present(cell: str | None) -> str | None:
    """A cell, or None if it is missing: Arrow has found those without blanks."""
    return None if cell is None or cell.strip().lower() in MISSING else cell


def arrow_memory(data: bytes) -> Any:
    """The bytes in Arrow's own memory, as a file.

    Arrow's threads may release what they read after the interpreter began to shut down. To release Python's bytes they
    would need its lock, which ends the process.
    """
    from pyarrow import BufferReader, FixedSizeBufferWriter, allocate_buffer

    buffer = allocate_buffer(len(data))
    FixedSizeBufferWriter(buffer).write(data)
    return BufferReader(buffer)


def delimiter_of(head: bytes) -> str:
    """What separates the cells of the first lines.

    Decimal commas make semicolons usual in some countries; a comma in the first line settles it. Names may have spaces,
    so these separate only where they separate numbers.

    >>> delimiter_of(b"a;b\\n1,5;2,5\\n"), delimiter_of(b"1e0 2e0\\n3e0 4e0\\n"), delimiter_of(b"a name\\n5\\n")
    (';', ' ', ',')
    """
    first, second = (head.split(b"\n", 2) + [b""])[:2]
    mark = next((mark for mark in ",;\t|" if mark.encode() in first), "")
    if mark:
        return mark
    cells = (second.strip() or first).strip().split(b" ")
    with contextlib.suppress(ValueError):
        if len([*map(float, cells)]) == len(first.strip().split(b" ")) > 1:
            return " "
    return ","


def counts_columns(cells: list[str]) -> bool:
    """Whether each cell is the integer after the one before."""
    if len(cells) < 2 or not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for cell in cells):
        return False
    return all(int(b) == int(a) + 1 for a, b in pairwise(cells))


def are_counted(names: list[str], row: list[str]) -> bool:
    """Whether a line that counts columns is followed by something else: fractions or, if it is long, no such line."""
    return not any(map(str.isdigit, map(str.strip, row))) or (len(names) >= FEWEST_COUNTED and not counts_columns(row))


def other_form(cells: list[str]) -> Advice | None:
    """Which other form texts need to be numbers: a comma as decimal point, or thousands separated; None: none helps.

    >>> other_form(["1.234,5", "7,25"]), other_form(["1,234", "12,345.5"]), other_form(["1,5", "x"])
    ("decimal ',', thousands '.'", "thousands ','", None)
    """
    for decimal, thousands in ((",", "."), (".", ",")):
        number = rf"[+-]?(?:\d+|\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+)(?:{re.escape(decimal)}\d+)?"
        if all(re.fullmatch(number, cell.strip(), re.ASCII) for cell in cells):
            if not any(thousands in cell for cell in cells):
                return "decimal ','" if decimal == "," else None
            return "decimal ',', thousands '.'" if decimal == "," else "thousands ','"
    return None
