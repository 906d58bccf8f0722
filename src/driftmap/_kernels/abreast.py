"""Stress placement in the plane, several points abreast: one in each lane of the machine's vectors.

The loss is that of :mod:`driftmap._kernels.placing`. Roots and quotients of single precision take a third of the time,
so the search is done in it, on a map of size 1 round 0. Where the loss bends enough, single precision also tells the
place well enough; elsewhere double precision takes the last steps. Outside the map a step changes length and direction
of a place rather than its coordinates, since the loss of a point that is far away lies in a ring. What does not come to
rest that way (a point that is too far away for single precision) is left to ``settle_rows``.

Sums run over the fixed points in their order, in each lane by itself, so a point goes to the same place whichever lane
it is in and whatever the others hold. Points are taken in by so many as there are lanes. When most of them have come to
rest, the others move to lanes for slow ones, which are filled one by one.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from driftmap._kernels.compiler import jit_dividing, jit_once
from driftmap._kernels.lanes import LANES
from driftmap._kernels.measure import squared_distances
from driftmap._kernels.placing import FLOOR, LONGEST, NONE
from driftmap._kernels.records import ABREAST, LAST_STEPS, PLACES, SEARCH
from driftmap._kernels.vectors import Matrix, spread, summed, transposed

# Rows of the fixed points: positions, weights, and by what squared distances tell where to start.
WEIGHTS, START = 2, 3
# What a search knows: the place to try, the best one so far, its loss, Newton's step from there, the inverse of the
# second derivatives, how far a step may go, how many places were tried, and how it stands.
X, Y, AT_X, AT_Y, LEAST, STEP_X, STEP_Y, TO_XX, TO_XY, TO_YY, RADIUS, TRIED, STANDS = range(SEARCH)
SEARCHING, NEAR, DOUBTFUL, LOST = 0.0, 1.0, 2.0, 3.0
# In single precision a loss may be off by so much, relative to itself and to how far out the place is.
ROUNDING = 1e-6
# Where the loss bends down in some direction, the first steps leave out what bends it down, which leads to the better
# ones of its minima; later, for speed, it is taken to bend up as much there. It bends at least so much.
FIRST, FIRST_BEND, LEAST_BEND = 4.0, FLOOR, 0.02
# The first step is at most LONGEST long, relative to how far out the place is or to the map's size. One that goes down
# and would have liked to be longer makes the next so much longer at most; one that does not is tried again, so much
# shorter. A search is lost if a tiny step does not go down, and after many places.
LONGER, SHORTER = 2.0, 0.25
# Newton's steps shrink to their square: a step ends a search if it is short and, as far as the step before it tells,
# the next one would be shorter than this. A tiny one always does. All relative to how far out the place is.
SHORT, NEXT, TINY = 1e-4, 2e-8, 1e-6
# Single precision tells a place up to 1e-7 of the map's size or so where the least curvature is this many times the
# root of the sum of squared weights, by which rounding errors average out; that is enough for such a tolerance.
DOUBT, TOLD = 2.0, 1e-5
# A place nearer than this, in sizes of the map, is one to go on from, where single precision did not come to rest.
KNOWN = 1e3
# Points that may still search when the next ones are taken in, and when slow ones have made room for others.
FEW, SOME = 6, 8


def _start(typing, fixed, squares, first, last, none, scale, targets, search):
    """Give the lanes points, by their squared distances from row ``first`` to ``last``, and add to where they start.

    Lanes that are left over have the last point, too.
    """
    signature = types.void(fixed, squares, types.intp, types.intp, none, scale, targets, search)

    def generate(context, builder, signature, arguments):
        points, distances, known = (
            Matrix(context, builder, signature.args[i], arguments[i], ABREAST) for i in (0, 6, 7)
        )
        exact = Matrix(context, builder, signature.args[1], arguments[1], LANES)
        first, last, *limits = arguments[2:6]
        least, factor = (spread(builder, limit, LANES) for limit in limits)
        zero, one = known.like(0.0), known.like(1.0)
        rows = [builder.add(first, first.type(lane)) for lane in range(ABREAST)]
        rows = [builder.select(builder.icmp_signed("<", row, last), row, last) for row in rows]

        def terms(j, sums):
            squares = [exact[row, j] for row in rows]
            squares = [(square > least).then(square * factor, least.like(0.0)).single() for square in squares]
            for i, square in enumerate(transposed(squares)):
                place = builder.add(j, j.type(i))
                distances[place, 0] = square.root()
                sums = [sums[c].plus_product(points.everywhere(START + c, place), square) for c in range(2)]
            return sums

        x, y = summed(builder, [known[X, 0], known[Y, 0]], points.width, LANES, terms)
        out = one.at_least(x.magnitude()).at_least(y.magnitude())
        new = {X: x, Y: y, AT_X: x, AT_Y: y, LEAST: one.like(math.inf), RADIUS: one.like(LONGEST) * out}
        for kind in range(SEARCH):
            known[kind, 0] = new.get(kind, zero)
        return context.get_dummy_value()

    return signature, generate


def _advance(typing, fixed, targets, search, firm):
    """Judge the places that are tried and say which ones are next; returns how many points still search.

    All are matrices of single precision. ``firm`` is the least curvature where single precision tells the place.
    """
    signature = types.int32(fixed, targets, search, firm)

    def generate(context, builder, signature, arguments):
        points, distances, known = (
            Matrix(context, builder, signature.args[i], arguments[i], ABREAST) for i in range(3)
        )
        old = [known[kind, 0] for kind in range(SEARCH)]
        x, y, at_x, at_y, least, step_x, step_y, to_xx, to_xy, to_yy, radius, tried, stands = old
        zero, one, half = (x.like(number) for number in (0.0, 1.0, 0.5))
        before = (step_x * step_x).plus_product(step_y, step_y)

        def terms(j, sums):
            loss, slack, down_x, down_y, xx, xy = sums
            weight = points.everywhere(WEIGHTS, j)
            gap_x, gap_y = x - points.everywhere(0, j), y - points.everywhere(1, j)
            length = (gap_x * gap_x).plus_product(gap_y, gap_y).root()
            inverse = (length > zero).then(one / length, zero)
            residual = length - distances[j, 0]
            pull, u, v = weight * residual, gap_x * inverse, gap_y * inverse
            left = (length > zero).then(pull * inverse, weight)
            bent = (weight - left) * u
            return [
                loss.plus_product(pull, residual), slack + left, down_x.plus_product(pull, u),
                down_y.plus_product(pull, v), xx.plus_product(bent, u), xy.plus_product(bent, v),
            ]  # fmt: skip

        loss, slack, down_x, down_y, xx, xy = summed(builder, [zero] * 6, points.width, 1, terms)
        better = loss <= least.plus_product(least, one.like(ROUNDING) * one.at_least(x.magnitude() + y.magnitude()))
        at_x, at_y, least = better.then(x, at_x), better.then(y, at_y), better.then(loss, least)

        # second derivatives are (mean + apart, xy; xy, mean - apart), outside the map those of length and direction
        out = (at_x * at_x).plus_product(at_y, at_y)
        outside, out = out > one, one.at_least(out.root())
        per_out = outside.then(one / out, zero)
        along_x, along_y = at_x * per_out, at_y * per_out
        outwards, around = along_x * down_x + along_y * down_y, along_x * down_y - along_y * down_x
        outwards, around = half * outwards * per_out, around * per_out
        twice_x, twice_y = along_x * along_x - along_y * along_y, (along_x + along_x) * along_y
        mean = half * (one + slack) - outwards
        apart = half * (xx + xx + slack - one) + outwards * twice_x - around * twice_y
        xy = xy + outwards * twice_y + around * twice_x
        bend = (apart * apart).plus_product(xy, xy).root()
        low, high = mean - bend, mean + bend
        aside_x, aside_y = zero - xy, apart + bend
        aside = (aside_x * aside_x).plus_product(aside_y, aside_y).root()
        aside_x, aside_y = (aside > zero).then(aside_x / aside, one), (aside > zero).then(aside_y / aside, zero)

        # Newton's step; where the loss bends down, another one
        sure, leaves_out = low > zero, (one.like(FIRST) > tried) & (per_out <= zero)
        without = mean - slack + slack.at_least(one.like(FIRST_BEND))
        least_bend = one.like(LEAST_BEND) / (out * out)
        low_up, high_up = (part.magnitude().at_least(least_bend) for part in (low, high))
        share = (sure | leaves_out).then(one, (bend > zero).then(half * (high_up - low_up) / bend, zero))
        mean = sure.then(mean, leaves_out.then(without, half * (low_up + high_up)))
        apart, xy = share * apart, share * xy
        area = one / ((mean + apart) * (mean - apart) - xy * xy)
        to_xx, to_yy = better.then((mean - apart) * area, to_xx), better.then((mean + apart) * area, to_yy)
        to_xy = better.then(zero - xy * area, to_xy)
        new_x, new_y = to_xx * down_x + to_xy * down_y, to_xy * down_x + to_yy * down_y
        # from a place that is no minimum though next to nothing leads away from it, down the way that bends most
        still = sure.then(one, (new_x * new_x).plus_product(new_y, new_y)) <= out * out * one.like(SHORT**2)
        far = (zero <= down_x * aside_x + down_y * aside_y).then(radius, zero - radius)
        new_x, new_y = still.then(far * aside_x, new_x), still.then(far * aside_y, new_y)
        step_x, step_y = better.then(new_x, step_x), better.then(new_y, step_y)

        limited = before > radius * radius
        went = limited.then(radius, before.root())
        radius = better.then(limited.then(one.like(LONGER) * radius, radius), one.like(SHORTER) * went)
        length = (step_x * step_x).plus_product(step_y, step_y)
        part = (length > radius * radius).then(radius / length.root(), one)
        move_x, move_y = zero - part * step_x, zero - part * step_y
        turn = (along_x * move_y - along_y * move_x) * per_out
        reach = (out + along_x * move_x + along_y * move_y) / one.plus_product(turn, turn).root()
        x = outside.then(reach * (along_x - turn * along_y), at_x + move_x)
        y = outside.then(reach * (along_y + turn * along_x), at_y + move_y)
        tried = tried + one

        unit, tiny = out * out, out * out * one.like(TINY**2)
        next_one = length * length * length <= before * before * unit * one.like(NEXT**2)
        ends = (next_one & (length <= unit * one.like(SHORT**2))) | (length <= tiny)
        told = (low > spread(builder, arguments[3], ABREAST)).then(one.like(NEAR), one.like(DOUBTFUL))
        goes_on = (better | (went * went > tiny)) & (one.like(PLACES) > tried)
        searching = stands <= zero
        stands = (ends & better & sure).then(told, goes_on.then(zero, one.like(LOST)))
        new = (x, y, at_x, at_y, least, step_x, step_y, to_xx, to_xy, to_yy, radius, tried, stands)
        for kind, vector in enumerate(new):
            known[kind, 0] = searching.then(vector, old[kind])
        return (searching & (stands <= zero)).count()

    return signature, generate


def _slope(typing, squares, row, points, x, y, none, scale):
    """The gradient but for the place itself: sums of q (y - p), in double precision."""
    signature = types.UniTuple(types.float64, 2)(squares, types.intp, points, x, y, none, scale)

    def generate(context, builder, signature, arguments):
        distances, fixed = (Matrix(context, builder, signature.args[i], arguments[i], LANES) for i in (0, 2))
        row, x, y, least, factor = arguments[1], *(spread(builder, argument, LANES) for argument in arguments[3:])
        zero, half, one = x.like(0.0), x.like(0.5), x.like(1.0)

        def terms(j, sums):
            square, gap_x, gap_y = distances[row, j], x - fixed[0, j], y - fixed[1, j]
            square = (square > least).then(square * factor, zero)
            # q is weight * square / root(square * length^2); a quotient from single precision and one step of Newton's;
            # none where single precision has no such numbers, so that a point that far away does not come to rest
            product = square * (gap_x * gap_x).plus_product(gap_y, gap_y)
            guess = product.single()
            guess = (guess > guess.like(0.0)).then(guess.like(1.0) / guess.root(), guess.like(0.0)).double()
            inverse = guess.plus_product(half * guess, one - product * guess * guess)
            q = fixed[WEIGHTS, j] * square * inverse
            return [sums[0].plus_product(q, gap_x), sums[1].plus_product(q, gap_y)]

        sums = summed(builder, [zero] * 2, distances.width, LANES, terms)
        return context.make_tuple(builder, signature.return_type, [vector.total() for vector in sums])

    return signature, generate


start: Any = intrinsic(_start)
advance: Any = intrinsic(_advance)
slope: Any = intrinsic(_slope)


@jit_once
def go_on(fixed, targets, search, firm, few):
    """Let points search until no more than a few still do."""
    while advance(fixed, targets, search, firm) > few:
        pass


@jit_once
def finish(squares, row, exact, search, lane, within, none, scale):
    """Where a point ends that has come near, and whether it comes to rest there."""
    x = np.float64(search[AT_X, lane]) - np.float64(search[STEP_X, lane])
    y = np.float64(search[AT_Y, lane]) - np.float64(search[STEP_Y, lane])
    if search[STANDS, lane] == NEAR:
        return True, x, y
    for _ in range(LAST_STEPS):
        g, h = slope(squares, row, exact, x, y, none, scale)
        g, h = x - g, y - h
        step_x = search[TO_XX, lane] * g + search[TO_XY, lane] * h
        step_y = search[TO_XY, lane] * g + search[TO_YY, lane] * h
        x, y = x - step_x, y - step_y
        if step_x * step_x + step_y * step_y <= within * within:
            return True, x, y
    return False, x, y


@jit_once
def conclude(search, holds, squares, first, exact, within, none, scale, frame, coordinates, left, on, anew):
    """Let go of the points that search no more, and return how many points are left, to go on and to begin anew.

    The squared distances of the point in lane i are in row ``first + i``.
    """
    for lane in range(ABREAST):
        row, stands = holds[lane], search[STANDS, lane]
        if row < 0 or stands == SEARCHING:
            continue
        holds[lane] = -1
        rests, x, y = False, np.float64(search[AT_X, lane]), np.float64(search[AT_Y, lane])
        if stands != LOST:
            rests, x, y = finish(squares, first + lane, exact, search, lane, within, none, scale)
        if rests or abs(x) + abs(y) < KNOWN:
            coordinates[row, 0], coordinates[row, 1] = frame[0] + frame[2] * x, frame[1] + frame[2] * y
            if not rests:
                left[on] = row
                on += 1
        else:
            anew += 1
            left[len(left) - anew] = row
    return on, anew


@jit_dividing
def settle_near(
    rows, columns, offsets, frame, exact, fixed, tolerance, coordinates, left,
    squares, targets, search, holds, slow_squares, slow_targets, slow_search, slow_holds,
):  # fmt: skip
    """Place the points that come to rest this way; those that do not are named in ``left`` and counted.

    From the front, those that should go on from where they have come to; from the end, those that should begin anew.

    Parameters
    ----------
    rows, columns : (n, d) and (d, a)
        Points, and where the fixed points are in the same space; or squared distances, (n, a), and nothing, (0, a).
    offsets : (a,)
        What is added to squared distances of points.
    frame : centre of the map, and its size
    tolerance : as for ``settle_rows``
    exact, fixed : (5, a)
        Positions and weights of the fixed points on a map of size 1 round 0, and two rows by which squared distances
        tell where to start; in double and in single precision.
    coordinates : (n, 2 or more)
        Where to start but for what the squared distances tell; then the positions.
    squares, targets, ... : to work in
    """
    within, none, scale, weights = tolerance / frame[2], (NONE * tolerance) ** 2, 1.0 / (frame[2] * frame[2]), 0.0
    for j in range(exact.shape[1]):
        weights += exact[WEIGHTS, j] ** 2
    firm = np.float32(DOUBT * np.sqrt(weights) * (TOLD / within))
    for lane in range(ABREAST):
        slow_holds[lane] = -1
        # what stood in the memory before may be numbers that machines are slow with
        for kind in range(SEARCH):
            slow_search[kind, lane] = LOST if kind == STANDS else 0.0
        for j in range(exact.shape[1]):
            slow_targets[j, lane] = 0.0
    n, first, busy, on, anew, given = len(rows), 0, 0, 0, 0, len(columns) == 0
    while first < n or busy > 0:
        # the slow ones, where they must make room or nothing else is left to do, or else the next ones
        slow, at, count = first >= n or busy > ABREAST - FEW, 0, min(ABREAST, n - first)
        known = slow_squares if slow else rows if given else squares
        known_targets, known_search = (slow_targets, slow_search) if slow else (targets, search)
        known_holds = slow_holds if slow else holds
        if not slow:
            at = first if given else 0
            if not given:
                squared_distances(rows, first, count, columns, offsets, squares)
            for lane in range(ABREAST):
                row = first + min(lane, count - 1)
                holds[lane] = row if lane < count else -1
                search[X, lane] = (coordinates[row, 0] - frame[0]) / frame[2]
                search[Y, lane] = (coordinates[row, 1] - frame[1]) / frame[2]
            start(fixed, known, at, at + count - 1, none, scale, targets, search)
            for lane in range(count, ABREAST):
                search[STANDS, lane] = LOST
        go_on(fixed, known_targets, known_search, firm, FEW if not slow else SOME if first < n else 0)
        on, anew = conclude(
            known_search, known_holds, known, at, exact, within, none, scale, frame, coordinates, left, on, anew
        )
        busy, free = 0, 0
        for lane in range(ABREAST):
            busy += slow_holds[lane] >= 0
        if slow:
            continue
        first += ABREAST
        for lane in range(ABREAST):
            if holds[lane] < 0:
                continue
            while slow_holds[free] >= 0:
                free += 1
            slow_holds[free], busy = holds[lane], busy + 1
            for kind in range(SEARCH):
                slow_search[kind, free] = search[kind, lane]
            for j in range(exact.shape[1]):
                slow_squares[free, j] = known[at + lane, j]
                slow_targets[j, free] = targets[j, lane]
    return on, anew
