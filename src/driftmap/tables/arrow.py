"""Parquet, Arrow IPC and Feather files, in batches, by pyarrow."""

from __future__ import annotations

import contextlib
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from driftmap.sources.files import Source
from driftmap.tables.columns import Wanted, candidates, select, vector_names, without_numbers
from driftmap.tables.table import Chunk, Labels, Position, Table, check_usable
from driftmap.tables.vectors import doubles, is_list, rows_of_lists
from driftmap.utils import Array
from driftmap.utils.columns import LeftOut
from driftmap.utils.concurrency import n_threads
from driftmap.utils.errors import InputError

FIRST_ROWS = 2**10
"""Rows in which most columns have a number."""
AT_ONCE = 4
"""Chunks decoded per read."""
FEWEST_CORES = 2
"""Cores that reading and learning occupy; on a machine with more, several threads decode."""
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class BatchFile(ABC):
    """A file of record batches."""

    format: str
    schema: Any

    @abstractmethod
    def __init__(self, source: Source) -> None:
        """Open the file and read its schema."""

    @abstractmethod
    def batches(self, columns: list[str], rows: int, start: int) -> Iterator[tuple[int, int, Any]]:
        """Yield columns in batches from that of row ``start`` on.

        Each comes with the number of rows before it and that of all rows, 0 if unknown.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


class IPCFile(BatchFile):
    """An Arrow IPC file or stream, or a Feather file."""

    format = "Arrow"

    def __init__(self, source: Source) -> None:
        self._file = pa.OSFile(str(source.path))  # a memory map crashes if another program truncates the file
        self._reader: Any = None
        with contextlib.suppress(pa.ArrowInvalid):
            self._reader = pa.ipc.open_file(self._file)
            self.schema = self._reader.schema
            return
        self._file.seek(0)
        self.schema = pa.ipc.open_stream(self._file).schema

    def batches(self, columns: list[str], rows: int, start: int) -> Iterator[tuple[int, int, Any]]:
        """Yield columns in batches; the number of all rows is unknown (0)."""
        first = 0
        if self._reader is None:
            self._file.seek(0)
            batches: Iterator[Any] = iter(pa.ipc.open_stream(self._file))
        else:
            batches = map(self._reader.get_batch, range(self._reader.num_record_batches))
        for batch in batches:
            if first + batch.num_rows > start:
                asked = batch.select(columns)
                asked.validate(full=True)  # offsets of a damaged file could point anywhere
                yield first, 0, asked
            first += batch.num_rows

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ParquetFile(BatchFile):
    """A Parquet file."""

    format = "Parquet"

    def __init__(self, source: Source) -> None:
        from pyarrow import parquet

        # Without this, pyarrow buffers the whole file, however large it is.
        self._file = parquet.ParquetFile(source.path, pre_buffer=False)
        self.schema = self._file.schema_arrow

    def batches(self, columns: list[str], rows: int, start: int) -> Iterator[tuple[int, int, Any]]:
        """Yield columns in batches, each with the number of all rows."""
        sizes = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        group = sum(end <= start for end in itertools.accumulate(sizes))
        first = sum(sizes[:group])
        # Many rows per call: in each call, pyarrow may wait for a thread that is importing modules.
        for batch in self._file.iter_batches(
            AT_ONCE * rows,
            row_groups=range(group, len(sizes)),
            columns=columns,
            use_threads=n_threads(-1) > FEWEST_CORES,
        ):
            if first + batch.num_rows > start:
                yield first, sum(sizes), batch
            first += batch.num_rows

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ArrowTable(Table):
    """Columns of numbers, or of lists of numbers, in a file of record batches; ``widths``: lengths of the lists."""

    def __init__(
        self,
        source: Source,
        file: BatchFile,
        wanted: Wanted,
        features: list[str],
        widths: Mapping[str, int | None],
        left_out: tuple[LeftOut, ...],
    ) -> None:
        self.name, self.label, self.left_out = source.name, wanted.label, left_out
        self.columns = tuple(column for name in features for column in vector_names(name, widths[name]))
        self._file, self._missing, self._given = file, wanted.missing, 0
        self._marks = wanted.marks
        self._features, self._widths = features, widths
        self._asked = list(dict.fromkeys([*features, *([self.label] if self.label is not None else [])]))

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """Yield all rows from the first, or from a position of an earlier pass, at most ``rows`` at a time."""
        begin = 0 if start is None else start.rows
        batches = self._file.batches(self._asked, rows, begin)
        while True:
            try:
                first, total, batch = next(batches, (0, 0, None))
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"is damaged: {error}", source=self.name) from error
            if batch is None:
                return
            for a in range(max(0, begin - first), batch.num_rows, AT_ONCE * rows):
                part = batch.slice(a, AT_ONCE * rows)
                parts = [self._numbers(part.column(name), name, first + a) for name in self._features]
                features = np.column_stack(parts)
                self._marks.clear(features)
                check_usable(features, self.columns, self.name, first + a, missing=self._missing)
                labels = self._labels(part)
                for b in range(0, len(features), rows):
                    some = slice(b, b + rows)
                    self._given = first + a + min(b + rows, len(features))
                    fraction = self._given / total if total else None
                    yield Chunk(features[some], None if labels is None else labels[some], fraction)

    def position(self) -> Position:
        """Return the position after the last chunk."""
        return Position(self._given)

    def _numbers(self, column: Any, name: str, first: int) -> Array:
        if column.null_count and not self._missing:
            row = first + column.is_null().index(True).as_py() + 1
            raise InputError("is empty", source=self.name, row=row, column=name, advice="missing")
        width = self._widths[name]
        return doubles(column) if width is None else self._lists(column, width, name, first)

    def _lists(self, column: Any, width: int, name: str, first: int) -> Array:
        try:
            return rows_of_lists(column, width, missing=self._missing)
        except InputError as error:
            error.source, error.row, error.column = self.name, first + (error.row or 0) + 1, name
            raise

    def _labels(self, batch: Any) -> Labels:
        if self.label is None:
            return None
        column, types = batch.column(self.label), pa.types
        if (types.is_integer(column.type) or types.is_floating(column.type)) and not column.null_count:
            return doubles(column)
        if types.is_timestamp(column.type):  # finer than Python's datetime; a label does not need it
            column = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False)
        try:
            return ["" if value is None else str(value) for value in column.to_pylist()]
        except UnicodeDecodeError as error:
            raise InputError("is not UTF-8 text", source=self.name, column=self.label) from error
        except (pa.ArrowException, OverflowError, ValueError, LookupError) as error:  # times: see _unprintable
            problem = _unprintable(column)
            raise InputError(f"{problem}; cast it to text", source=self.name, column=self.label) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_arrow(source: Source, wanted: Wanted, kind: type[BatchFile], *, once: bool) -> ArrowTable:
    """Read the schema of a file, and all rows if they decide which columns have numbers; return the table.

    The index that pandas writes is not a feature.
    """
    try:
        file = kind(source)
        names = [name for name in file.schema.names if not PANDAS_INDEX.fullmatch(name)]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = "it is empty" if source.size == 0 else error
        raise InputError(f"cannot be read as {kind.format}: {reason}", source=source.name) from error
    with contextlib.ExitStack() as stack:  # the caller cannot close a table that failed to open
        stack.callback(file.close)
        types = [None if names.count(name) > 1 else file.schema.field(name).type for name in names]
        kinds = ["several of that name" if kind is None else _kind(kind) for kind in types]
        try:
            asked = wanted.columns or [names[i] for i in candidates(names, wanted, source.name)]
            widths = {
                name: _width(file, kind, name)
                for name, kind, holds in zip(names, types, kinds, strict=True)
                if name in asked and not holds
            }
            empty = [name for name, width in widths.items() if width == 0]
            if not once and wanted.columns is None:
                numbers = [i for i, name in enumerate(names) if widths.get(name, 0) is None]
                empty += [names[i] for i in without_numbers(numbers, partial(_numbers_of, file, names))]
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"is damaged: {error}", source=source.name) from error
        kinds = ["empty" if name in empty else holds for name, holds in zip(names, kinds, strict=True)]
        places, _, left_out = select(names, wanted, source.name, kinds)
        table = ArrowTable(source, file, wanted, [names[i] for i in places], widths, left_out)
        stack.pop_all()
    return table


def _width(file: BatchFile, kind: Any, name: str) -> int | None:
    """Return the number of entries of each cell in a column of lists; None for a column of numbers."""
    if not is_list(kind):
        return None
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    for _, _, batch in file.batches([name], 1, 0):
        lengths = [len(cell) for cell in batch.column(name).to_pylist() if cell is not None]
        if any(lengths):
            return next(filter(None, lengths))
    return 0


def _numbers_of(file: BatchFile, names: Sequence[str], places: Sequence[int]) -> Iterator[Array]:
    """Yield the numbers of columns, block by block."""
    asked = [names[i] for i in places]
    for _, _, batch in file.batches(asked, FIRST_ROWS, 0):
        yield np.column_stack([doubles(batch.column(name)) for name in asked])


def _kind(kind: Any) -> str:
    """Return what a column of this type holds; "" for numbers, and for lists of numbers."""
    types = pa.types
    if is_list(kind):
        return "" if _kind(kind.value_type) == "" and not is_list(kind.value_type) else str(kind)
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return ""
    if types.is_null(kind):
        return ""  # null: numbers, all of them missing
    if types.is_temporal(kind):
        return "" if types.is_duration(kind) else "dates"
    return "text" if types.is_string(kind) or types.is_large_string(kind) else str(kind)


def _unprintable(column: Any) -> str:
    """Return why times cannot be written as text: Python supports years 1 to 9999 and the time zones of the system."""
    zone = getattr(column.type, "tz", None)
    if zone is not None:
        try:
            pa.scalar(0, column.type).as_py()
        except (pa.ArrowException, OverflowError, ValueError, LookupError):
            return f"holds times of the zone {zone!r}, which this system does not know"
    return f"holds a {column.type} beyond the range of Python's dates and durations"
