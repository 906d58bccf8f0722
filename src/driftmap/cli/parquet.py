"""Parquet files, in batches."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.errors import UserError, one_line
from driftmap.cli.sources import Source
from driftmap.cli.tables import Array, Chunk, Position, Wanted, check_finite, select
from driftmap.parallel import n_cores

GROUP = 2**16
"""Rows that are written as one group."""
AT_ONCE = 4
"""Chunks that are read at a time."""
CORES = 2
"""What reading and learning need: where there are more, several threads decode."""
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def require_pyarrow() -> Any:
    """The module pyarrow with pyarrow.parquet, or an error that says what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UserError('Parquet files need pyarrow: pip install "driftmap[parquet]"') from error
    return pyarrow


class ParquetTable:
    """The numeric columns of a Parquet file; an index that pandas wrote is not taken for data."""

    def __init__(self, source: Source, wanted: Wanted) -> None:
        self._pa = require_pyarrow()
        self.name, self.label = source.name, wanted.label
        self._given = 0
        try:
            # What is buffered beforehand is the whole file, however large it is.
            self._file = self._pa.parquet.ParquetFile(source.path, pre_buffer=False)
        except (self._pa.ArrowException, OSError) as error:
            reason = "it is empty" if source.size == 0 else one_line(error)
            raise UserError(f"{self.name} cannot be read as Parquet: {reason}") from error
        schema = self._file.schema_arrow
        names = [name for name in schema.names if not PANDAS_INDEX.fullmatch(name)]
        places, _ = select(names, wanted, self.name)
        self.columns = tuple(names[i] for i in places)
        for name in self.columns:
            if names.count(name) > 1:
                raise UserError(f"{self.name} has {names.count(name)} columns named {name!r}")
            self._check_type(name, schema.field(name).type)

    def _check_type(self, name: str, kind: Any) -> None:
        types = self._pa.types
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)):
            raise UserError(
                f"{self.name}, column {name!r} holds {kind}, not numbers; "
                "choose the columns with --columns or colour by it with --label"
            )

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a place where an earlier reading was, ``rows`` at a time."""
        asked = list(dict.fromkeys([*self.columns, *([self.label] if self.label is not None else [])]))
        sizes = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        group = 0 if start is None else sum(end <= start.rows for end in itertools.accumulate(sizes))
        total, first = sum(sizes), sum(sizes[:group])
        # Many rows at once: each call of pyarrow may have to wait for a thread that imports modules meanwhile.
        batches = self._file.iter_batches(
            AT_ONCE * rows,
            row_groups=range(group, len(sizes)),
            columns=asked,
            use_threads=n_cores() > CORES,
        )
        while True:
            try:
                batch = next(batches, None)
            except (self._pa.ArrowException, OSError) as error:
                raise UserError(f"{self.name} is damaged: {one_line(error)}") from error
            if batch is None:
                return
            if start is not None and first + batch.num_rows <= start.rows:
                first += batch.num_rows
                continue
            features = np.column_stack([self._numbers(batch.column(name), name, first) for name in self.columns])
            check_finite(features, self.columns, lambda row, first=first: f"{self.name}, row {first + row + 1}")  # type: ignore[misc]
            labels = self._labels(batch)
            skipped = 0 if start is None else max(0, start.rows - first)
            for a in range(skipped, len(features), rows):
                some = slice(a, a + rows)
                self._given = first + min(a + rows, len(features))
                yield Chunk(features[some], None if labels is None else labels[some], self._given / total)
            first += len(features)

    def position(self) -> Position:
        """The place after the last chunk that was given out."""
        return Position(self._given)

    def _numbers(self, column: Any, name: str, first: int) -> Array:
        if column.null_count:
            row = first + column.is_null().index(True).as_py() + 1
            raise UserError(f"{self.name}, row {row}, column {name!r} is empty; fill or drop such rows first")
        if self._pa.types.is_boolean(column.type):
            column = column.cast(self._pa.uint8())
        return self._doubles(column)

    def _doubles(self, column: Any) -> Array:
        if not self._pa.types.is_float64(column.type):
            column = column.cast(self._pa.float64(), safe=False)
        return np.asarray(np.from_dlpack(column), np.float64)  # to_numpy imports pandas first

    def _labels(self, batch: Any) -> list[str] | Array | None:
        if self.label is None:
            return None
        column = batch.column(self.label)
        types = self._pa.types
        if (types.is_integer(column.type) or types.is_floating(column.type)) and not column.null_count:
            return self._doubles(column)
        if types.is_timestamp(column.type):  # finer than Python's datetime, which a label does not need
            column = column.cast(self._pa.timestamp("us", tz=column.type.tz), safe=False)
        return ["" if value is None else str(value) for value in column.to_pylist()]

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class ParquetWriter:
    """Columns to a Parquet file, in row groups whose size does not depend on the blocks in which rows come."""

    def __init__(self, stream: BinaryIO, names: Sequence[str]) -> None:
        self._pa = require_pyarrow()
        self._stream, self._names = stream, list(names)
        self._writer: Any = None
        self._waiting: list[Any] = []
        self._count = 0

    def write(self, columns: Sequence[list[str] | NDArray[Any]]) -> None:
        """Append rows, given column by column."""
        table = self._pa.table([self._array(column) for column in columns], names=self._names)
        self._waiting.append(table)
        self._count += len(table)
        if self._count >= GROUP:
            rows = self._pa.concat_tables(self._waiting)
            full = self._count - self._count % GROUP
            self._write(rows.slice(0, full))
            self._waiting, self._count = [rows.slice(full)], self._count - full

    def _array(self, column: list[str] | NDArray[Any]) -> Any:
        if isinstance(column, list):
            return self._pa.array(column)
        # Not by pa.array, which first imports pandas to find out whether the column is from there.
        numbers = np.array(column)
        kind = self._pa.from_numpy_dtype(numbers.dtype)
        return self._pa.Array.from_buffers(kind, len(numbers), [None, self._pa.py_buffer(numbers)])

    def _write(self, table: Any) -> None:
        if self._writer is None:
            # A dictionary is for values that come again; to look for such among coordinates takes longer than the rest.
            texts = [field.name for field in table.schema if self._pa.types.is_string(field.type)]
            self._writer = self._pa.parquet.ParquetWriter(self._stream, table.schema, use_dictionary=texts)
        self._writer.write_table(table.combine_chunks(), row_group_size=GROUP)

    def close(self) -> None:
        """Write the rows that still wait, and the end of the file."""
        if self._count:
            self._write(self._pa.concat_tables(self._waiting))
        if self._writer is not None:
            self._writer.close()
