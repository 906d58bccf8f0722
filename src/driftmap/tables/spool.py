"""A spool: numbers that one pass over a table writes row by row, and the next pass reads."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from driftmap.utils import Array


class Spool:
    """Rows of numbers in an open file; a file that has rows already is continued where it stands.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     spool = Spool(file, 2)
    ...     spool.append(np.array([[1.0, 2.0], [3.0, 4.0]]))
    ...     spool.read(1, 1)
    array([[3., 4.]])
    """

    def __init__(self, file: BinaryIO, width: int) -> None:
        self._file, self._width = file, width

    def append(self, rows: Array) -> None:
        """Write further rows; not after :meth:`read`."""
        try:
            self._file.write(rows.astype("<f8").tobytes())
        except OSError as error:  # the system's message alone would not say what failed
            raise OSError(error.errno, f"the scores of rows cannot be written: {error.strerror}") from error

    def read(self, first: int, n: int) -> Array:
        """The rows from ``first`` on, ``n`` of them."""
        self._file.seek(8 * self._width * first)
        numbers = np.frombuffer(self._file.read(8 * self._width * n), "<f8")
        if len(numbers) != n * self._width:
            raise OSError("the temporary file of scores was cut")
        return numbers.astype(np.float64).reshape(n, self._width)
