"""Tables that are arrays: NPY files, read through a memory map, and matrices in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.io.errors import DataError
from driftmap.io.sources import Source
from driftmap.io.tables import Chunk, Position, Wanted, check_usable, numbered, select


class ArrayTable:
    """A matrix, perhaps on disk, with names for its columns."""

    def __init__(
        self, name: str, matrix: NDArray[Any], columns: Sequence[str], labels: NDArray[Any] | None, label: str | None
    ) -> None:
        self.name, self.columns, self.label = name, tuple(columns), label
        self._matrix, self._labels = matrix, labels
        self._places: list[int] | slice = slice(None)
        self._given = 0

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a position of an earlier pass, ``rows`` at a time."""
        n = len(self._matrix)
        for first in range(0 if start is None else start.rows, n, rows):
            block = self._matrix[first : first + rows][:, self._places]
            features = np.array(block, dtype=np.float64, order="C")
            check_usable(features, self.columns, self.name, first)
            labels = None if self._labels is None else self._labels[first : first + rows].astype(np.float64)
            self._given = first + len(features)
            yield Chunk(features, labels, self._given / n)

    def position(self) -> Position:
        """The place after the last chunk that was given out."""
        return Position(self._given)

    def close(self) -> None:
        """Arrays need no closing."""


class NumpyTable(ArrayTable):
    """An NPY file with a matrix, or a vector as one column; columns are named by their numbers from 1."""

    def __init__(self, source: Source, wanted: Wanted) -> None:
        matrix = _load(source)
        names = numbered(matrix.shape[1])
        places, label = select(names, wanted, source.name)
        labels = None if label is None else matrix[:, label]
        super().__init__(source.name, matrix, [names[i] for i in places], labels, wanted.label)
        if places != list(range(len(names))):
            self._places = places


def _load(source: Source) -> NDArray[Any]:
    assert source.path is not None
    try:
        loaded = np.load(source.path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        reason = "it is empty" if source.size == 0 else error
        raise DataError(source.name, f"cannot be read as NPY: {reason}") from error
    if not isinstance(loaded, np.ndarray):
        raise DataError(source.name, "holds several arrays (NPZ); save one array as NPY")
    if loaded.dtype.kind not in "biuf":
        raise DataError(source.name, f"holds {loaded.dtype}, not numbers")
    if loaded.ndim not in (1, 2):
        raise DataError(source.name, f"holds an array of shape {loaded.shape}; rows and columns are expected")
    return loaded.reshape(len(loaded), -1) if loaded.ndim == 1 else loaded
