"""Squared distances of rows to many points by which they are placed: fused, which other kernels may not.

Four rows go abreast of eight points, so that these are read from memory once for four rows and sums stay in registers.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from driftmap._kernels.compiler import jit
from driftmap._kernels.lanes import LANES
from driftmap._kernels.vectors import Matrix, summed

ROWS = 4


def _measure(typing, X, columns, offsets, out, i, j):
    """Squared distances of rows i of X to the points from j on in ``columns``, a vector of them, and their offsets."""
    signature = types.void(X, columns, offsets, out, types.UniTuple(types.intp, ROWS), types.intp)

    def generate(context, builder, signature, arguments):
        kinds = zip(signature.args[:4], arguments[:4], strict=True)
        rows, points, more, squared = (Matrix(context, builder, kind, value, LANES) for kind, value in kinds)
        names, j = cgutils.unpack_tuple(builder, arguments[4], ROWS), arguments[5]

        def terms(c, sums):
            point = points[c, j]
            gaps = [point - rows.everywhere(row, c) for row in names]
            return [total.plus_product(gap, gap) for total, gap in zip(sums, gaps, strict=True)]

        for row, total in zip(names, summed(builder, [more[0, j]] * ROWS, rows.width, 1, terms), strict=True):
            squared[row, j] = total
        return context.get_dummy_value()

    return signature, generate


measure: Any = intrinsic(_measure)


@jit
def squared_to_places(X, columns, offsets, out):
    """Squared distances of all rows of X to the places in ``columns``, (d, a), with offsets; a is one of lanes."""
    n = X.shape[0]
    for first in range(0, n, ROWS):
        rows = (first, min(first + 1, n - 1), min(first + 2, n - 1), min(first + 3, n - 1))
        for j in range(0, columns.shape[1], LANES):
            measure(X, columns, offsets, out, rows, j)
