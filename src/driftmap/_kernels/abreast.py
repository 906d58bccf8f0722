"""Stress placement in the plane, several points abreast: one in each lane of the machine's vectors.

The loss and the steps are those of :mod:`driftmap._kernels.placing`. Roots and quotients of single precision take a
third of the time, so the search is done in it, on a map of size 1 round 0. When it has come near, double precision
takes the last steps. What does not come to rest that way (a point that is too far away for single precision, a loss
that bends too much) is left to ``settle_rows``.

Sums run over the fixed points in an order of their own, in each lane by itself, so a point goes to the same place
whichever lane it is in and whatever the others hold. A lane whose point has come near takes the next one.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from driftmap._kernels.compiler import jit_dividing, jit_inner_dividing
from driftmap._kernels.lanes import LANES, total
from driftmap._kernels.placing import FLOOR, NONE
from driftmap._kernels.records import ABREAST, LAST_STEPS, PLACES, SEARCH
from driftmap._kernels.vectors import Matrix, spread, summed

# Rows of the fixed points, as ``settle_rows`` has them in two dimensions.
START, ONES, WEIGHTS = 2, 6, 7
# What a search knows: the place to try, the best one so far, its loss, the gradient there and the second derivatives
# taken apart, the part of the step that is tried, how many places were, and how it stands.
X, Y, AT_X, AT_Y, LEAST, SLOPE_X, SLOPE_Y, BEND, RATIO, REST, PART, TRIED, STANDS = range(SEARCH)
SEARCHING, NEAR, LOST = 0.0, 1.0, 2.0
# A search has come near if Newton's own step is at most so many tolerances long; this share of the map's size single
# precision can always tell.
CLOSE, TOLD = 10.0, 1e-5
# It is lost after many places, or if neither a step nor its half nor its quarter nor the gradient leads down. In
# single precision a loss may be off by so much, relative to itself.
GRADIENT, ROUNDING = 0.125, 1e-6


def _start(typing, squared, row, rows, none, scale, targets, lane):
    """Give a lane a point by its distances; returns the sums by which their squares tell where to start."""
    signature = types.UniTuple(types.float64, 2)(squared, types.intp, rows, none, scale, targets, types.intp)

    def generate(context, builder, signature, arguments):
        squares, fixed, out = (Matrix(context, builder, signature.args[i], arguments[i], LANES) for i in (0, 2, 5))
        row, lane, least, factor = arguments[1], arguments[6], *(spread(builder, arguments[i], LANES) for i in (3, 4))
        zero = least.like(0.0)

        def terms(j, sums):
            square = squares[row, j]
            square = (square > least).then(square, zero)
            out.scatter(j, lane, (square * factor).single().root())
            return [sums[c].plus_product(fixed[START + c, j], square) for c in range(2)]

        sums = summed(builder, [zero] * 2, squares.width, LANES, terms)
        return context.make_tuple(builder, signature.return_type, [vector.total() for vector in sums])

    return signature, generate


def _advance(typing, points, targets, search, close):
    """Judge the places that are tried, and say which ones are next; all are matrices of single precision.

    ``points`` has positions and weights of the fixed points, ``targets`` the distances to them, (a, lanes).
    """
    signature = types.void(points, targets, search, close)

    def generate(context, builder, signature, arguments):
        fixed, distances, known = (Matrix(context, builder, signature.args[i], arguments[i], ABREAST) for i in range(3))
        x, y, at_x, at_y, least, slope_x, slope_y, bend, ratio, rest, part, tried, _ = (
            known[kind, 0] for kind in range(SEARCH)
        )
        zero, one = x.like(0.0), x.like(1.0)

        def terms(j, sums):
            loss, pulls, down_x, down_y, xx, xy = sums
            weight, distance = fixed.everywhere(2, j), distances[j, 0]
            gap_x, gap_y = x - fixed.everywhere(0, j), y - fixed.everywhere(1, j)
            length = (gap_x * gap_x).plus_product(gap_y, gap_y).root()
            inverse = (length > zero).then(one / length, zero)
            q, residual = weight * distance * inverse, distance - length
            pull_x, pull_y, along = q * gap_x, q * gap_y, inverse * inverse * gap_x
            return [
                loss.plus_product(weight * residual, residual), pulls + q, down_x + pull_x, down_y + pull_y,
                xx.plus_product(pull_x, along), xy.plus_product(pull_y, along),
            ]  # fmt: skip

        # weights add up to 1 and positions to 0, so the gradient is the place less the sum of q (y - p)
        loss, pulls, down_x, down_y, xx, xy = summed(builder, [zero] * 6, fixed.width, 1, terms)
        better = loss <= least * one.like(1.0 + ROUNDING)
        at_x, at_y, least = better.then(x, at_x), better.then(y, at_y), better.then(loss, least)
        slope_x, slope_y = better.then(x - down_x, slope_x), better.then(y - down_y, slope_y)

        # Newton's step; where that is no way down, one that is
        slack, yy = one - pulls, pulls - xx
        sure = (xx + slack > zero) & ((xx + slack) * (yy + slack) > xy * xy)
        slack = sure.then(slack, (slack > one.like(FLOOR)).then(slack, one.like(FLOOR)))
        bend = better.then(xx + slack, bend)
        ratio = better.then(xy / bend, ratio)
        rest = better.then(yy + slack - ratio * xy, rest)
        step_y = (slope_y - ratio * slope_x) / rest
        step_x = slope_x / bend - ratio * step_y
        close = spread(builder, arguments[3], ABREAST)
        ends = better & sure & (step_x * step_x + step_y * step_y <= close * close)

        part = better.then(one, part * part.like(0.5))
        whole = part > part.like(GRADIENT)
        x, y = at_x - whole.then(part * step_x, slope_x), at_y - whole.then(part * step_y, slope_y)
        tried = tried + one
        goes_on = (part > part.like(0.5 * GRADIENT)) & (tried.like(PLACES) > tried)
        stands = ends.then(one.like(NEAR), goes_on.then(one.like(SEARCHING), one.like(LOST)))
        new = (x, y, at_x, at_y, least, slope_x, slope_y, bend, ratio, rest, part, tried, stands)
        for kind, vector in enumerate(new):
            known[kind, 0] = vector
        return context.get_dummy_value()

    return signature, generate


def _slope(typing, squared, row, points, x, y, none, scale):
    """The gradient but for the place itself: sums of q (y - p), in double precision."""
    signature = types.UniTuple(types.float64, 2)(squared, types.intp, points, x, y, none, scale)

    def generate(context, builder, signature, arguments):
        squares, fixed = (Matrix(context, builder, signature.args[i], arguments[i], LANES) for i in (0, 2))
        row, x, y, least, factor = arguments[1], *(spread(builder, argument, LANES) for argument in arguments[3:])
        zero, half, one = x.like(0.0), x.like(0.5), x.like(1.0)

        def terms(j, sums):
            square, gap_x, gap_y = squares[row, j], x - fixed[0, j], y - fixed[1, j]
            square = (square > least).then(square * factor, zero)
            # q is weight * square / root(square * length^2); a quotient from single precision and one step of Newton's
            product = square * (gap_x * gap_x).plus_product(gap_y, gap_y)
            guess = product.single()
            guess = (guess > guess.like(0.0)).then(guess.like(1.0) / guess.root(), guess.like(0.0)).double()
            inverse = guess.plus_product(half * guess, one - product * guess * guess)
            q = fixed[2, j] * square * inverse
            return [sums[0].plus_product(q, gap_x), sums[1].plus_product(q, gap_y)]

        sums = summed(builder, [zero] * 2, squares.width, LANES, terms)
        return context.make_tuple(builder, signature.return_type, [vector.total() for vector in sums])

    return signature, generate


start: Any = intrinsic(_start)
advance: Any = intrinsic(_advance)
slope: Any = intrinsic(_slope)


@jit_inner_dividing
def finish(squared, row, points, search, lane, within, none, scale):
    """The last steps of a point, in double precision: whether they bring it to rest, and where."""
    x, y = np.float64(search[X, lane]), np.float64(search[Y, lane])
    for _ in range(LAST_STEPS):
        g, h = slope(squared, row, points, x, y, none, scale)
        g, h = x - g, y - h
        step_y = (h - search[RATIO, lane] * g) / search[REST, lane]
        step_x = g / search[BEND, lane] - search[RATIO, lane] * step_y
        x, y = x - step_x, y - step_y
        if step_x * step_x + step_y * step_y <= within * within:
            return True, x, y
    return False, x, y


@jit_dividing
def settle_near(squared, rows, coordinates, left, tolerance, points, single, targets, search, holds):
    """Place the rows that come to rest this way; those that do not are named in ``left`` and counted.

    To work in: ``points``, (3, a), ``single``, the same in single precision, as are ``targets``, (a, lanes), and
    ``search``, (numbers of a search, lanes); and ``holds``, (lanes,).
    """
    n, a = squared.shape
    centre_x, centre_y, size = total(rows, WEIGHTS, ONES, 0), total(rows, WEIGHTS, ONES, 1), 0.0
    for j in range(a):
        size += rows[WEIGHTS, j] * ((rows[0, j] - centre_x) ** 2 + (rows[1, j] - centre_y) ** 2)
    size = np.sqrt(size)
    for j in range(a):
        points[0, j], points[1, j] = (rows[0, j] - centre_x) / size, (rows[1, j] - centre_y) / size
        points[2, j] = rows[WEIGHTS, j]
        single[0, j], single[1, j], single[2, j] = points[0, j], points[1, j], points[2, j]
    for lane in range(ABREAST):
        holds[lane] = -1
    targets[:], search[:] = 0.0, 0.0  # what stood in the memory before may be numbers that machines are slow with
    within, none, scale = tolerance / size, (NONE * tolerance) ** 2, 1.0 / (size * size)
    given, busy, n_left = 0, 0, 0
    while given < n or busy > 0:
        for lane in range(ABREAST):
            row = holds[lane]
            if row >= 0 and search[STANDS, lane] != SEARCHING:
                rests, x, y = False, 0.0, 0.0
                if search[STANDS, lane] == NEAR:
                    rests, x, y = finish(squared, row, points, search, lane, within, none, scale)
                if rests:
                    coordinates[row, 0], coordinates[row, 1] = centre_x + size * x, centre_y + size * y
                else:
                    left[n_left] = row
                    n_left += 1
                row = -1
                busy -= 1
            if row < 0 and given < n:
                row = given
                x, y = start(squared, row, rows, none, scale, targets, lane)
                search[X, lane] = (coordinates[row, 0] + x - centre_x) / size
                search[Y, lane] = (coordinates[row, 1] + y - centre_y) / size
                search[LEAST, lane], search[TRIED, lane] = np.inf, 0.0
                given += 1
                busy += 1
            holds[lane] = row
        advance(single, targets, search, np.float32(max(CLOSE * within, TOLD)))
    return n_left
