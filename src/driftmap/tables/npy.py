"""Tables that are arrays: NPY files, and matrices in memory."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.sources.files import Source
from driftmap.storage.schema import LARGEST
from driftmap.tables.cells import USUAL, Marks
from driftmap.tables.columns import MOST_COLUMNS, Selection, Wanted, candidates, numbered, select, without_numbers
from driftmap.tables.table import CHUNK_CELLS, Chunk, Labels, Position, Table, check_usable
from driftmap.utils import Array
from driftmap.utils.columns import LeftOut
from driftmap.utils.errors import InputError


class Matrix(Protocol):
    """A matrix that is read some rows at a time."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


class ArrayTable(Table):
    """A matrix, perhaps on disk, with names for its columns; labels are an array, or the position of a column."""

    above = 0
    """Rows of the file before the first row, for messages."""

    def __init__(
        self,
        name: str,
        matrix: Matrix,
        columns: Sequence[str],
        labels: NDArray[Any] | int | None,
        label: str | None,
        *,
        missing: bool = False,
        marks: Marks = USUAL,
    ) -> None:
        self._marks = marks
        self.name, self.columns, self.label, self._missing = name, tuple(columns), label, missing
        self._matrix, self._labels = matrix, labels
        self._places: list[int] | slice = slice(None)
        self.left_out: tuple[LeftOut, ...] = ()
        self._given = 0

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """Yield all rows from the first, or from a position of an earlier pass, at most ``rows`` at a time."""
        n = len(self._matrix)
        for first in range(0 if start is None else start.rows, n, rows):
            block, labels = self._matrix[first : first + rows], self._labels
            features = np.array(block[:, self._places], dtype=np.float64, order="C")
            self._marks.clear(features)
            check_usable(features, self.columns, self.name, self.above + first, missing=self._missing)
            if labels is not None:
                labels = block[:, labels] if isinstance(labels, int) else labels[first : first + rows]
            self._given = first + len(features)
            yield Chunk(features, _as_labels(labels), self._given / n)

    def position(self) -> Position:
        """Return the position after the last chunk."""
        return Position(self._given)

    def close(self) -> None:
        """Do nothing: arrays need not be closed."""


def _as_labels(labels: NDArray[Any] | None) -> Labels:
    if labels is None:
        return None
    return labels.tolist() if labels.dtype.kind == "U" else labels.astype(np.float64)


class NumpyTable(ArrayTable):
    """An NPY file with a matrix, or a vector as one column; columns are named by their numbers from 1."""

    def __init__(self, file: NumpyFile, wanted: Wanted, selection: Selection) -> None:
        names = numbered(file.width)
        columns = [names[i] for i in selection.places]
        super().__init__(
            file.name, file, columns, selection.label, wanted.label, missing=wanted.missing, marks=wanted.marks
        )
        self._file, self.left_out = file, selection.left_out
        if selection.places != list(range(file.width)):
            self._places = selection.places

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_numpy(source: Source, wanted: Wanted, *, once: bool) -> NumpyTable:
    """Read the header of an NPY file, and all rows if they decide which columns have numbers; return the table."""
    with contextlib.ExitStack() as stack:  # the caller cannot close a table that failed to open
        file = stack.enter_context(contextlib.closing(NumpyFile(source)))
        names = numbered(file.width)
        kinds = [""] * len(names)
        for i in [] if once else without_numbers(candidates(names, wanted, source.name), file.blocks):
            kinds[i] = "empty"
        table = NumpyTable(file, wanted, select(names, wanted, source.name, kinds))
        stack.pop_all()
    return table


class NumpyFile:
    """The matrix in an NPY file.

    Its rows are read, not memory-mapped: if another program truncates the file, the result is an error, not a crash.
    """

    def __init__(self, source: Source) -> None:
        assert source.path is not None
        self.name = source.name
        with contextlib.ExitStack() as stack:
            self._file = stack.enter_context(source.path.open("rb"))
            self._shape, self._fortran, self._dtype = _read_header(self._file, source)
            stack.pop_all()
        self._start, self.width = self._file.tell(), self._shape[1]

    def __len__(self) -> int:
        return self._shape[0]

    def blocks(self, columns: list[int]) -> Iterator[Array]:
        """Yield all rows of some columns, block by block."""
        rows = max(1, CHUNK_CELLS // self.width)
        for first in range(0, len(self), rows):
            yield self[first : first + rows][:, columns].astype(np.float64)

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        n, width = self._shape
        first, last, _ = rows.indices(n)
        if not self._fortran:
            return self._read(first * width, (last - first) * width).reshape(last - first, width)
        return np.stack([self._read(column * n + first, last - first) for column in range(width)], axis=1)

    def _read(self, first: int, count: int) -> NDArray[Any]:
        """Return numbers that are adjacent in the file."""
        numbers = np.empty(count, self._dtype)
        self._file.seek(self._start + first * self._dtype.itemsize)
        if self._file.readinto(numbers.view(np.uint8).data) != numbers.nbytes:
            raise InputError("was cut while it was read", source=self.name)
        return numbers

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _read_header(file: BinaryIO, source: Source) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Read shape, order and type of the numbers that follow."""
    if file.peek(2)[:2] == b"PK":  # type: ignore[attr-defined]
        raise InputError("holds several arrays (NPZ); save one array as NPY", source=source.name)
    formats = np.lib.format
    try:
        version = formats.read_magic(file)
        read = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
        shape, fortran, dtype = read(file)
        present = (source.size or 0) - file.tell()
        if any(type(n) is not int or not 0 <= n < LARGEST for n in shape):
            raise ValueError(f"its shape is {shape}")
        if dtype.kind in "biuf" and math.prod(shape) * dtype.itemsize > present:
            raise ValueError(f"it has {present} bytes of numbers, too few for its shape {shape}")
    except Exception as error:  # numpy evaluates the header as Python, so a damaged one may raise any exception
        reason = "it is empty" if source.size == 0 else error
        raise InputError(f"cannot be read as NPY: {reason}", source=source.name) from error
    if dtype.kind not in "biuf":
        raise InputError(f"holds {dtype}, not numbers", source=source.name)
    if len(shape) not in (1, 2):
        raise InputError(f"holds an array of shape {shape}; rows and columns are expected", source=source.name)
    if shape[1:] > (MOST_COLUMNS,):
        problem = f"holds an array of shape {shape}; at most {MOST_COLUMNS:,} columns can be read"
        raise InputError(problem, source=source.name)
    if 0 in shape:
        raise InputError(f"is empty: an array of shape {shape}", source=source.name)
    return (shape[0], shape[1] if len(shape) == 2 else 1), fortran, dtype
