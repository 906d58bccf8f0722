"""Sums in eight parts: as fast as reordered ones, with the same bits on every machine and in every process.

A sum in its order waits for each addition before the next. Left free to reorder, a compiler uses as many parts as the
machine it finds can add at once, and may choose otherwise where it compiles the same code again. Here the number of
parts is fixed and they are spelled out as vectors, which numba's own loops do not allow.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
"""Rows must be this long, or a multiple of it."""


def _total(typing, rows, first, second, third):
    """The sum of ``rows[first, j] * rows[second, j] * rows[third, j]`` over j, every eighth j in one part.

    ``rows`` is a C-contiguous matrix of doubles.
    """
    signature = types.float64(rows, types.intp, types.intp, types.intp)

    def generate(context, builder, signature, arguments):
        matrix = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, matrix.shape, 2)[1]
        starts = [builder.gep(matrix.data, [builder.mul(row, width)]) for row in arguments[1:]]
        vector, lanes = ir.VectorType(ir.DoubleType(), LANES), width.type(LANES)
        parts = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        with cgutils.for_range(builder, builder.udiv(width, lanes)) as loop:
            at = [builder.gep(start, [builder.mul(loop.index, lanes)]) for start in starts]
            x, y, z = (builder.load(builder.bitcast(entry, vector.as_pointer()), align=8) for entry in at)
            product = builder.fmul(builder.fmul(x, y), z)
            builder.store(builder.fadd(builder.load(parts), product), parts)
        sums = [builder.extract_element(builder.load(parts), ir.IntType(32)(lane)) for lane in range(LANES)]
        while len(sums) > 1:
            sums = [builder.fadd(*pair) for pair in zip(sums[::2], sums[1::2], strict=True)]
        return sums[0]

    return signature, generate


total: Any = intrinsic(_total)
