"""Excel workbooks, by openpyxl: the first sheet, as a table whose first row may hold names."""

from __future__ import annotations

import contextlib
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftmap.sources.files import Source
from driftmap.tables.cells import kind_of, not_a_number
from driftmap.tables.columns import Wanted, candidates, numbered, select
from driftmap.tables.npy import ArrayTable
from driftmap.tables.rejected import report_order
from driftmap.tables.sniffing import NumberForm, first_line
from driftmap.utils import Array
from driftmap.utils.columns import short
from driftmap.utils.errors import InputError, MissingDependencyError

LARGEST_WORKBOOK, MOST_CELLS = 2**28, 2**24
"""Most bytes of an unpacked workbook, and most cells of a sheet: both are read into memory."""


class ExcelTable(ArrayTable):
    """The first sheet of a workbook."""


def open_excel(source: Source, wanted: Wanted, *, once: bool) -> ExcelTable:
    """Read the first sheet, select the columns by all rows, and return the table."""
    rows, first = _rows(source, wanted)
    form = NumberForm(wanted.decimal, wanted.thousands, missing=True, marks=wanted.marks)
    names, header = _header(rows, wanted, form, source.name, first)
    body, first = rows[header:], first + header
    columns = list(zip(*body, strict=True)) or [()] * len(names)
    kinds = [""] * len(names)
    for i in candidates(names, wanted, source.name):
        kinds[i] = _kind(columns[i], form)
    for name, cells in zip(names, columns, strict=True):
        report_order(name, [_text(cell) for cell in cells if cell is not None], wanted.rejected, source.name)
    selection = select(names, wanted, source.name, kinds)
    features = np.empty((len(body), len(selection.places)))
    for j, i in enumerate(selection.places):
        features[:, j] = _numbers(columns[i], names[i], form, source.name, first)
    labels = (
        None if selection.label is None else np.array([_text(cell) for cell in columns[selection.label]], dtype="U")
    )
    table = ExcelTable(
        source.name,
        features,
        [names[i] for i in selection.places],
        labels,
        wanted.label,
        missing=wanted.missing,
        marks=wanted.marks,
    )
    table.left_out, table.above = selection.left_out, first
    return table


def _rows(source: Source, wanted: Wanted) -> tuple[list[tuple[Any, ...]], int]:
    """Return the rows of the first sheet, padded to one width, and the number of empty rows above them."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingDependencyError("Excel files need openpyxl", extra="excel") from error
    assert source.path is not None
    try:
        with warnings.catch_warnings(), contextlib.closing(zipfile.ZipFile(source.path)) as archive:
            warnings.simplefilter("ignore")  # about decoration that openpyxl does not support
            size = sum(entry.file_size for entry in archive.infolist())
            if size > LARGEST_WORKBOOK:
                raise _too_large(source, f"{size:,} bytes when it is unpacked", f"{LARGEST_WORKBOOK:,}")
            with contextlib.closing(openpyxl.load_workbook(source.path, read_only=True, data_only=True)) as book:
                sheets = book.worksheets
                sheets[0].reset_dimensions()  # some programs write wrong dimensions
                rows, above = _values(sheets[0], source)
                if len(sheets) > 1:
                    title = short(sheets[0].title)
                    wanted.rejected.report(f"{source.name}: of {len(sheets)} sheets, the first is read: {title!r}")
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise any exception
        reason = "it is empty" if source.size == 0 else error
        raise InputError(f"cannot be read as Excel: {reason}", source=source.name) from error
    if not rows:
        raise InputError("is empty", source=source.name)
    return rows, above


def _values(sheet: Any, source: Source) -> tuple[list[tuple[Any, ...]], int]:
    """Return the values from the first row that has any to the last."""
    rows: list[tuple[Any, ...]] = []
    above = blank = n_cells = 0
    for number, values in enumerate(sheet.iter_rows(values_only=True)):
        if all(value is None for value in values):
            blank += 1
            continue
        if rows and blank:
            raise InputError("is empty", source=source.name, row=number, advice="line")
        above, blank = above if rows else blank, 0
        rows.append(values)
        n_cells += len(values)
        if n_cells > MOST_CELLS:
            raise _too_large(source, f"more than {MOST_CELLS:,} cells", f"{MOST_CELLS:,}")
    width = max(map(len, rows), default=0)
    if width * len(rows) > MOST_CELLS:
        raise _too_large(source, f"{len(rows):,} rows of {width:,} cells", f"{MOST_CELLS:,} cells")
    return [row + (None,) * (width - len(row)) for row in rows], above


def _too_large(source: Source, found: str, most: str) -> InputError:
    return InputError(f"has {found}; at most {most} are read: save it as CSV", source=source.name)


def _header(
    rows: list[tuple[Any, ...]], wanted: Wanted, form: NumberForm, source: str, above: int
) -> tuple[list[str], int]:
    """Return the names of the columns, and the number of rows that they take."""
    cells = [_text(cell) for cell in rows[0]]
    found = {"yes": "names", "no": "data"}.get(wanted.header) or first_line(
        cells, wanted.asked, form, lambda: [_text(cell) for cell in rows[1]] if len(rows) > 1 else None
    )
    if found == "unclear":
        problem = "has text and numbers in the same columns as the next row, so it may be names or data"
        raise InputError(problem, source=source, row=above + 1, advice="header")
    return (numbered(len(cells)), 0) if found == "data" else (cells, 1)


def _kind(cells: Sequence[Any], form: NumberForm) -> str:
    """Return what a column holds; "" for numbers."""
    present = [text for text in map(_text, cells) if not form.marks.is_missing(text)]
    return kind_of(any(map(form.is_written, present)), present)


def _numbers(cells: Sequence[Any], name: str, form: NumberForm, source: str, above: int) -> Array:
    """Return a column of numbers, NaN where they are missing; ``above`` is the number of rows before the first cell."""
    numbers = np.empty(len(cells))
    for i, cell in enumerate(cells):
        if isinstance(cell, int | float):
            numbers[i] = cell
            continue
        try:
            numbers[i] = float(form.plain(_text(cell)) or "nan")
        except ValueError:
            text = _text(cell)
            raise not_a_number(text, name, form.form_of(text), source=source, row=above + i + 1) from None
    return numbers


def _text(cell: Any) -> str:
    """Return a cell as text; an integer has no fraction, and an empty cell no text."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return str(cell).strip()
