"""Boxes: a guess which witness a point will join, before it is compared with any landmark.

Points are sorted into boxes by a few signed sums of their coordinates, and a box remembers which witnesses its points
have joined. The guess costs next to nothing, and whether such a witness is near enough is always measured.
"""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inlined, jit_inner, jit_once
from driftmap._kernels.distances import TINY, quick_distance, slack_of, squared_distance
from driftmap._kernels.records import AHEAD, WAYS

SUMS = 4
"""Signed sums of coordinates by which points are sorted into boxes."""
FINER = 1.4
"""Steps of a small box to one of a large box."""
SIGNS = np.array([1.0 if (j * 2654435761 >> 7) & 1 else -1.0 for j in range(1024)])
"""As good as at random; they come again after that many coordinates."""


@jit_inlined
def sums_of(A, i, grid):
    """Four signed sums of the coordinates of a row, each over every fourth one; the signs are those of a grid."""
    d = A.shape[1]
    a, b, c, e = 0.0, 0.0, 0.0, 0.0  # side by side they take the time of one
    whole = d - d % SUMS
    for j in range(0, whole, SUMS):
        k = (j + 512 * grid) & 1023
        a += SIGNS[k] * A[i, j]
        b += SIGNS[k + 1] * A[i, j + 1]
        c += SIGNS[k + 2] * A[i, j + 2]
        e += SIGNS[k + 3] * A[i, j + 3]
    k = (whole + 512 * grid) & 1023
    if whole < d:
        a += SIGNS[k] * A[i, whole]
    if whole + 1 < d:
        b += SIGNS[k + 1] * A[i, whole + 1]
    if whole + 2 < d:
        c += SIGNS[k + 2] * A[i, whole + 2]
    return a, b, c, e


@jit_inlined
def steps_to_unit(resolution):
    """How many steps of a sum there are to the unit, a step being the resolution (here squared); 0: no boxes."""
    return 1.0 / np.sqrt(resolution) if resolution > TINY else 0.0


@jit_inlined
def step_of(total, steps, shift):
    """In which of the steps a sum lies; those without number are one."""
    step = np.floor(total * steps + shift)
    return np.uint64(np.int64(step)) if abs(step) < 1e15 else np.uint64(0)


@jit_inlined
def number_of(sums, steps, shift):
    """A number for points whose sums lie in the same steps, as good as at random."""
    number = step_of(sums[0], steps, shift) * np.uint64(11400714819323198485)
    number += step_of(sums[1], steps, shift) * np.uint64(14029467366897019727)
    number += step_of(sums[2], steps, shift) * np.uint64(9650029242287828579)
    number += step_of(sums[3], steps, shift) * np.uint64(2870177450012600261)
    number ^= number >> np.uint64(32)
    return (number * np.uint64(11400714819323198485)) >> np.uint64(32)


@jit_inlined
def small_box(sums, steps, boxes):
    """Where the witnesses of a small box are remembered: they are the first half of the boxes."""
    return np.int64(number_of(sums, FINER * steps, 0.0) % np.uint64(boxes.shape[0] // 2 // WAYS)) * WAYS


@jit_inlined
def large_box(sums, steps, grid, boxes):
    """Where the witnesses of a large box are remembered: two grids of them are the other half.

    The second has other sums, shifted by half a step: what an edge divides in one is mostly together in the other.
    """
    quarter = boxes.shape[0] // 4
    return (2 + grid) * quarter + np.int64(number_of(sums, steps, 0.5 * grid) % np.uint64(quarter // WAYS)) * WAYS


@jit_inlined
def near_enough(A, i, X, row, gap, resolution, witnesses):
    """Let row i of A join a witness if that is within the resolution; returns whether it is."""
    slack = slack_of(A)
    if gap * slack > resolution:
        if gap > resolution * slack:
            return False
        gap = squared_distance(A, i, X, row)  # here the last digits count
        if gap > resolution:
            return False
    witness = witnesses[row]
    if gap * slack > witness.spread * witness.spread:
        witness.spread = max(witness.spread, np.sqrt(squared_distance(A, i, X, row)))
    witness.weight += 1.0
    return True


@jit_inlined
def put_first(boxes, box, row):
    """Note a witness in a box; the last one there is forgotten."""
    for way in range(box + WAYS - 1, box, -1):
        boxes[way] = boxes[way - 1]
    boxes[box] = row


@jit_inlined
def guess(batch, i, count, X, steps, boxes, resolution, guesses, at):
    """For rows from i on: what is in their small boxes. Nothing in it waits for anything."""
    for k in range(count):
        guesses[at + k].box = small_box(sums_of(batch, i + k, np.int64(0)), steps, boxes)
    for k in range(count):
        one = guesses[at + k]
        for way in range(WAYS):
            one.there[way] = boxes[one.box + way]
        one.row = boxes[one.box]
        one.gap = quick_distance(batch, i + k, X, one.row if one.row >= 0 else 0)
    for k in range(count):
        one = guesses[at + k]
        way = 1
        while one.gap > resolution * slack_of(batch) and way < WAYS and one.there[way] >= 0:
            one.row = one.there[way]
            one.gap = quick_distance(batch, i + k, X, one.row)
            way += 1


@jit
def look_ahead(batch, i, stop, X, resolution, boxes, guesses, at):
    """Guess for many rows, while other threads do so for others; the first guess goes to position ``at``."""
    steps = steps_to_unit(resolution)
    while i < stop:
        count = min(AHEAD, stop - i)
        guess(batch, i, count, X, steps, boxes, resolution, guesses, at)
        i, at = i + count, at + count


@jit_once
def rejoin(batch, i, X, box, tried, steps, boxes, resolution, witnesses):
    """Let a row join a witness that another point of its boxes joined before; returns whether one is near enough.

    ``box`` is its small box, of which some witnesses may have been tried in vain.
    """
    for way in range(box + tried, box + WAYS):
        row = np.int64(boxes[way])
        if row >= 0 and near_enough(batch, i, X, row, quick_distance(batch, i, X, row), resolution, witnesses):
            return True
    for grid in range(2):
        large = large_box(sums_of(batch, i, grid), steps, grid, boxes)
        for way in range(large, large + WAYS):
            row = np.int64(boxes[way])
            if row < 0:
                break
            if near_enough(batch, i, X, row, quick_distance(batch, i, X, row), resolution, witnesses):
                put_first(boxes, box, row)
                return True
    return False


@jit_once
def rejoin_all(batch, i, stop, X, steps, boxes, resolution, witnesses, guesses, guessed, until):
    """Let points from row i on join witnesses of their boxes; returns the first row that cannot.

    For rows from ``guessed`` to ``until`` the guesses are there already.
    """
    ahead = 1
    while i < stop:
        if i < until:
            count, at = min(until, stop) - i, i - guessed
        else:
            count, at = min(ahead, stop - i), 0
            guess(batch, i, count, X, steps, boxes, resolution, guesses, at)
            ahead = min(4 * ahead, AHEAD)
        for k in range(count):
            one = guesses[at + k]
            known = one.row >= 0
            for way in range(WAYS):  # unless one of the points in between has changed the box
                known &= boxes[one.box + way] == one.there[way]
            if known and near_enough(batch, i + k, X, one.row, one.gap, resolution, witnesses):
                continue
            tried = WAYS if known and one.gap > resolution * slack_of(batch) else 0
            if not rejoin(batch, i + k, X, one.box, tried, steps, boxes, resolution, witnesses):
                return i + k
        i += count
    return i


@jit_inner
def remember(batch, i, steps, boxes, row):
    """Note the witness that a row has joined, in its boxes."""
    put_first(boxes, small_box(sums_of(batch, i, np.int64(0)), steps, boxes), row)
    for grid in range(2):
        put_first(boxes, large_box(sums_of(batch, i, grid), steps, grid, boxes), row)


@jit
def remember_all(X, n, resolution, boxes):
    """Begin anew: every stored point is noted in its own boxes."""
    boxes[:] = -1
    steps = steps_to_unit(resolution)
    if steps > 0:
        for row in range(n):
            remember(X, row, steps, boxes, row)
