"""Squared distances of rows to many points by which they are placed: fused, which other kernels may not.

Four rows go abreast of eight points, so that these are read from memory once for four rows and sums stay in registers.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from driftmap._kernels.compiler import jit, jit_once
from driftmap._kernels.lanes import LANES
from driftmap._kernels.vectors import Matrix, summed

ROWS = 4


def _measure(typing, X, first, columns, offsets, out, i, j):
    """Squared distances of rows ``first + i`` of X to a vector of points, from j on in ``columns``, with offsets.

    They go to rows i of ``out``.
    """
    signature = types.void(X, types.intp, columns, offsets, out, types.UniTuple(types.intp, ROWS), types.intp)

    def generate(context, builder, signature, arguments):
        rows, points, more, squared = (
            Matrix(context, builder, signature.args[i], arguments[i], LANES) for i in (0, 2, 3, 4)
        )
        names, j = cgutils.unpack_tuple(builder, arguments[5], ROWS), arguments[6]
        sources = [builder.add(arguments[1], name) for name in names]

        def terms(c, sums):
            point = points[c, j]
            gaps = [point - rows.everywhere(row, c) for row in sources]
            return [total.plus_product(gap, gap) for total, gap in zip(sums, gaps, strict=True)]

        for row, total in zip(names, summed(builder, [more[0, j]] * ROWS, rows.width, 1, terms), strict=True):
            squared[row, j] = total
        return context.get_dummy_value()

    return signature, generate


measure: Any = intrinsic(_measure)


@jit_once
def squared_distances(X, first, count, columns, offsets, out):
    """Squared distances of so many rows of X to the places in ``columns``, (d, a), with offsets; a is one of lanes."""
    last = count - 1
    for i in range(0, count, ROWS):
        rows = (i, min(i + 1, last), min(i + 2, last), min(i + 3, last))
        for j in range(0, columns.shape[1], LANES):
            measure(X, first, columns, offsets, out, rows, j)


@jit
def squared_to_places(X, columns, offsets, out):
    """As :func:`squared_distances` for all rows."""
    squared_distances(X, 0, X.shape[0], columns, offsets, out)
