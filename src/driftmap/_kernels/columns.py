"""Columns of a table side by side, as the rows of a matrix."""

from typing import Any

from numba import types
from numba.extending import intrinsic

from driftmap._kernels.compiler import jit

ROWS = 64
"""Rows that are written for one column after the other, while they are still at hand."""


def _number_at(typing, address, i):
    """The double that is so many doubles after an address."""
    signature = types.float64(types.int64, types.intp)

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], context.get_value_type(types.float64).as_pointer())
        return builder.load(builder.gep(pointer, [arguments[1]]))

    return signature, generate


number_at: Any = intrinsic(_number_at)


@jit
def side_by_side(addresses, matrix):
    """Fill a matrix: for each of its columns, so many doubles from an address on."""
    n = len(matrix)
    for first in range(0, n, ROWS):
        last = min(first + ROWS, n)
        for j in range(len(addresses)):
            address = addresses[j]
            for i in range(first, last):
                matrix[i, j] = number_at(address, i)
