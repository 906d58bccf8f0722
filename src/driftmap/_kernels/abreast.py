"""Stress placement in the plane, several points abreast: one in each lane of the machine's vectors.

The loss and the steps are those of :mod:`driftmap._kernels.placing`. Sums run over the fixed points in their order, in
each lane by itself, so a point goes to the same place whichever lane it is in and whatever the others hold. A lane
whose point has come to rest takes the next one.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from driftmap._kernels.compiler import WITHOUT_DOOR
from driftmap._kernels.lanes import LANES, total
from driftmap._kernels.placing import FLOOR, LAST, NONE, SUSPICION, TRIES

jit: Any = numba.njit(cache=True, nogil=True, error_model="numpy")
jit_inner: Any = numba.njit(cache=True, nogil=True, error_model="numpy", **WITHOUT_DOOR)

# Rows of the fixed points, as ``settle_rows`` has them in two dimensions.
START, ONES, WEIGHTS, TARGET, SQUARE = 2, 6, 7, 8, 9
# The sums: loss, weight - q, the gradient, and the second derivatives but for the sum of weight - q.
SUMS = 7
LOSS, SLACK, DOWN_X, DOWN_Y, XX, XY, YY = range(SUMS)
# What a search knows: the best place so far, its loss, the step and the gradient there, the part of the step that is
# tried, how many more are, how many steps there were, and whether all is as near a minimum.
KNOWN = 11
AT_X, AT_Y, LEAST, STEP_X, STEP_Y, SLOPE_X, SLOPE_Y, SCALE, LEFT, TAKEN, SURE = range(KNOWN)


def _survey(typing, rows, targets, places, sums):
    """The sums at the places, (2, lanes), given distances to the fixed points, (a, lanes).

    All are C-contiguous matrices of doubles.
    """
    signature = types.void(rows, targets, places, sums)

    def generate(context, builder, signature, arguments):
        pairs = zip(signature.args, arguments, strict=True)
        matrices = [context.make_array(kind)(context, builder, value) for kind, value in pairs]
        points, distances, at, out = (matrix.data for matrix in matrices)
        width = cgutils.unpack_tuple(builder, matrices[0].shape, 2)[1]
        vector, number = ir.VectorType(ir.DoubleType(), LANES), width.type
        zero, one = (ir.Constant(vector, [value] * LANES) for value in (0.0, 1.0))
        signature_of_root = ir.FunctionType(vector, [vector])
        root = cgutils.get_or_insert_function(builder.module, signature_of_root, f"llvm.sqrt.v{LANES}f64")
        add, subtract, multiply = builder.fadd, builder.fsub, builder.fmul

        def row(matrix, index):
            return builder.bitcast(builder.gep(matrix, [builder.mul(index, number(LANES))]), vector.as_pointer())

        def in_all_lanes(kind, index):
            entry = builder.gep(points, [builder.add(builder.mul(number(kind), width), index)])
            alone = builder.insert_element(ir.Constant(vector, ir.Undefined), builder.load(entry), ir.IntType(32)(0))
            return builder.shuffle_vector(alone, alone, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

        x, y = (builder.load(row(at, number(c)), align=8) for c in range(2))

        def measured(index):
            gap_x, gap_y = subtract(x, in_all_lanes(0, index)), subtract(y, in_all_lanes(1, index))
            length = builder.call(root, [add(multiply(gap_x, gap_x), multiply(gap_y, gap_y))])
            inverse = builder.select(builder.fcmp_ordered(">", length, zero), builder.fdiv(one, length), zero)
            return gap_x, gap_y, length, inverse

        # Roots and quotients take long: those for the next point are begun before those for this one are used.
        ready = [cgutils.alloca_once_value(builder, value) for value in measured(number(0))]
        parts = [cgutils.alloca_once_value(builder, zero) for _ in range(SUMS)]
        with cgutils.for_range(builder, width) as loop:
            gap_x, gap_y, length, inverse = (builder.load(place) for place in ready)
            after = builder.add(loop.index, number(1))
            after = builder.select(builder.icmp_unsigned("<", after, width), after, number(0))
            for value, place in zip(measured(after), ready, strict=True):
                builder.store(value, place)
            weight, distance = in_all_lanes(WEIGHTS, loop.index), builder.load(row(distances, loop.index), align=8)
            q, residual = multiply(multiply(weight, distance), inverse), subtract(distance, length)
            slack, u, v = subtract(weight, q), multiply(gap_x, inverse), multiply(gap_y, inverse)
            qu, qv = multiply(q, u), multiply(q, v)
            terms = {
                LOSS: multiply(multiply(weight, residual), residual), SLACK: slack,
                DOWN_X: multiply(slack, gap_x), DOWN_Y: multiply(slack, gap_y),
                XX: multiply(qu, u), XY: multiply(qu, v), YY: multiply(qv, v),
            }  # fmt: skip
            for kind, term in terms.items():
                builder.store(add(builder.load(parts[kind]), term), parts[kind])
        for kind, part in enumerate(parts):
            builder.store(builder.load(part), row(out, number(kind)), align=8)
        return context.get_dummy_value()

    return signature, generate


survey: Any = intrinsic(_survey)


@jit_inner
def begin(lane, squared, rows, start, targets, trial, search, none):
    """Give a lane a point, by its squared distances; the first place to try is where these tell."""
    for j in range(squared.shape[0]):
        square = squared[j] if squared[j] > none else 0.0
        rows[SQUARE, j] = square
        rows[TARGET, j] = np.sqrt(square)
    for j in range(squared.shape[0]):
        targets[j, lane] = rows[TARGET, j]
    for c in range(2):
        trial[c, lane] = start[c] + total(rows, START + c, SQUARE, ONES)
    search[lane, LEAST], search[lane, TAKEN], search[lane, SURE] = np.inf, 0.0, 1.0


@jit_inner
def step(lane, sums, search):
    """Newton's step from the best place; where that is no way down, one that is, or at least the gradient."""
    slack, g, h = sums[SLACK, lane], sums[DOWN_X, lane], sums[DOWN_Y, lane]
    found = False
    for attempt in range(2):
        xx, xy, yy = sums[XX, lane] + slack, sums[XY, lane], sums[YY, lane] + slack
        ratio = xy / xx
        rest = yy - ratio * xy
        found = xx > 0.0 and rest > 0.0
        if found:
            search[lane, SURE] = 1.0 - attempt
            search[lane, STEP_Y] = (h - ratio * g) / rest
            search[lane, STEP_X] = g / xx - ratio * search[lane, STEP_Y]
            break
        slack = max(slack, FLOOR)
    if not found:
        search[lane, SURE] = 0.0
    search[lane, SLOPE_X], search[lane, SLOPE_Y] = g, h
    search[lane, LEFT], search[lane, SCALE] = TRIES if found else 0.0, 1.0
    search[lane, TAKEN] += 1.0


@jit_inner
def follow(lane, sums, trial, search, tolerance, max_iter):
    """Judge the place that was tried, and say which one is next; true if that is the last."""
    near = False
    if sums[LOSS, lane] <= search[lane, LEAST]:
        moved = (trial[0, lane] - search[lane, AT_X]) ** 2 + (trial[1, lane] - search[lane, AT_Y]) ** 2
        rests = not (search[lane, SURE] > 0.0 or moved > (SUSPICION * tolerance) ** 2)
        if rests or search[lane, TAKEN] == max_iter:
            return True
        search[lane, AT_X], search[lane, AT_Y], search[lane, LEAST] = trial[0, lane], trial[1, lane], sums[LOSS, lane]
        step(lane, sums, search)
        length = search[lane, STEP_X] ** 2 + search[lane, STEP_Y] ** 2
        near = search[lane, SURE] > 0.0 and length <= (LAST * tolerance) ** 2
    else:
        search[lane, SURE] = 0.0
        search[lane, LEFT] -= 1.0
        search[lane, SCALE] *= 0.5
    left, scale = search[lane, LEFT], search[lane, SCALE]
    x, y = search[lane, STEP_X], search[lane, STEP_Y]
    if left == 0.0:
        scale, x, y = 1.0, search[lane, SLOPE_X], search[lane, SLOPE_Y]
    elif left < 0.0:
        scale = 0.0
    trial[0, lane], trial[1, lane] = search[lane, AT_X] - scale * x, search[lane, AT_Y] - scale * y
    return near or left < 0.0


@jit
def settle_abreast(squared, rows, coordinates, tolerance, max_iter):
    """As :func:`driftmap._kernels.placing.settle_rows` in two dimensions, where no row is a fixed point itself."""
    n, a = squared.shape
    targets, trial, sums = np.zeros((a, LANES)), np.zeros((2, LANES)), np.zeros((SUMS, LANES))
    search, holds = np.zeros((LANES, KNOWN)), np.full(LANES, -1)
    none, given, busy = (NONE * tolerance) ** 2, 0, 0
    while given < n or busy > 0:
        for lane in range(LANES):
            row = holds[lane]
            if row >= 0 and follow(lane, sums, trial, search, tolerance, max_iter):
                coordinates[row, 0], coordinates[row, 1] = trial[0, lane], trial[1, lane]
                row = -1
                busy -= 1
            if row < 0 and given < n:
                row = given
                begin(lane, squared[row], rows, coordinates[row], targets, trial, search, none)
                given += 1
                busy += 1
            holds[lane] = row
        survey(rows, targets, trial, sums)
