"""Witnesses: stored points that stand for others near them, where memory is bounded."""

import numpy as np

from driftmap._kernels.cells import SLACK, TINY, add_record
from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import squared_distance, squared_within
from driftmap.state import BLOCK

GENERATIONS = 8
"""Parts of a window; only points of the same one merge, so that a witness is forgotten at most one part too late."""


@jit
def generation(time, window):
    """The part of the window that a time belongs to; without a window (infinity) always the same."""
    return np.floor(time / (window / GENERATIONS))


AXES = 4
"""Numbers by which points are sorted into boxes."""
WAYS = 2
"""Witnesses that are remembered for a box."""
WIDE = 12
"""Coordinates from which on four sums side by side are worth the trouble."""


@jit_inner
def sign(j):
    """1 or -1, as good as at random."""
    return 1.0 if (j * 2654435761 >> 7) & 1 else -1.0


@jit_inner
def box_of(x, side, boxes):
    """Where the witnesses of x's box are remembered: points with the same few signed sums of coordinates, in steps.

    A guess that costs next to nothing: whether such a witness is near is always measured.
    """
    d = x.shape[0]
    axes = min(AXES, d)
    a, b, c, e = 0.0, 0.0, 0.0, 0.0  # side by side they take the time of one
    whole = d - d % AXES
    for j in range(0, whole, AXES):
        a += sign(j) * x[j]
        b += sign(j + 1) * x[j + 1]
        c += sign(j + 2) * x[j + 2]
        e += sign(j + 3) * x[j + 3]
    if whole < d:
        a += sign(whole) * x[whole]
    if whole + 1 < d:
        b += sign(whole + 1) * x[whole + 1]
    if whole + 2 < d:
        c += sign(whole + 2) * x[whole + 2]
    number = np.uint64(14695981039346656037)
    for axis in range(axes):
        step = np.floor((a if axis == 0 else b if axis == 1 else c if axis == 2 else e) / side)
        if not abs(step) < 1e15:
            step = 0.0
        number = (number ^ np.uint64(np.int64(step))) * np.uint64(1099511628211)
        number ^= number >> np.uint64(29)
    return np.int64(number % np.uint64(boxes.shape[0] // WAYS)) * WAYS


@jit_inner
def rejoin(X, x, box, boxes, resolution, witnesses):
    """Let a point join a witness that another point of its box joined before; returns whether one is near enough."""
    for way in range(WAYS):
        row = boxes[box + way]
        if row < 0:
            return False
        y = X[row]
        if x.shape[0] < WIDE:
            t = squared_distance(x, y)
            if t > resolution:
                continue
            witnesses[row].weight += 1.0
            witnesses[row].spread = max(witnesses[row].spread, np.sqrt(t))
            return True
        a, b, c, e = 0.0, 0.0, 0.0, 0.0
        whole = x.shape[0] - x.shape[0] % 4
        for k in range(0, whole, 4):
            a += (x[k] - y[k]) ** 2
            b += (x[k + 1] - y[k + 1]) ** 2
            c += (x[k + 2] - y[k + 2]) ** 2
            e += (x[k + 3] - y[k + 3]) ** 2
        for k in range(whole, x.shape[0]):
            a += (x[k] - y[k]) ** 2
        t = (a + b) + (c + e)
        if t > resolution * SLACK:
            continue
        # Summed in another order it may be off in the last digits: where these count, it is summed in the usual one.
        witness = witnesses[row]
        if t * SLACK > min(resolution, witness.spread * witness.spread):
            t = squared_distance(x, y)
            if t > resolution:
                continue
            witness.spread = max(witness.spread, np.sqrt(t))
        witness.weight += 1.0
        return True
    return False


@jit_inner
def remember(box, boxes, row):
    """Note the witness that a point of a box has joined."""
    for way in range(WAYS - 1, 0, -1):
        boxes[box + way] = boxes[box + way - 1]
    boxes[box] = row


@jit_inner
def join(X, records, chain, cells, slot, x, d1, resolution, witnesses, now, window, half_life):
    """Let a point join the first witness of its cell within the resolution; returns its number, or -1.

    ``d1`` is its distance to the landmark. By the triangle inequality the distances of such a witness and of the point
    to the landmark differ by no more than the resolution, which leaves few of the cell in question.
    """
    root, reach = np.sqrt(d1), np.sqrt(resolution) * SLACK
    low = max(root - reach, 0.0) ** 2 / SLACK
    if low < TINY:
        low = 0.0
    high = max(TINY, (root + reach) ** 2 * SLACK)
    cell = cells[slot]
    block = cell.head
    while block >= 0:
        size = cell.filled if block == cell.tail else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            record = records[i]
            if low <= record.nearest <= high:
                t = squared_within(X[record.row], x, resolution)
                if t <= resolution:
                    witness = witnesses[record.row]
                    if generation(witness.time, window) != generation(now, window):
                        continue
                    if half_life < np.inf:
                        witness.weight *= 2.0 ** ((witness.time - now) / half_life)
                        witness.time = now
                    witness.weight += 1.0
                    witness.spread = max(witness.spread, np.sqrt(t))
                    return np.int64(record.row)
        block = chain[block]
    return np.int64(-1)


@jit_inner
def store(batch, i, first, X, n, witnesses, now):
    """Make row i of a batch the stored point n."""
    x = batch[i]
    for k in range(x.shape[0]):
        X[n, k] = x[k]
    if witnesses is not None:
        new = witnesses[n]
        new.arrival, new.weight, new.spread, new.time = first + i, 1.0, 0.0, now


@jit
def take_rows(
    batch, start, count, first, X, n, limit, resolution, records, chain, cells, witnesses, boxes,
    nearest, nearest_slot, second, second_slot,
):  # fmt: skip
    """Take in covered rows of a batch whose nearest landmarks are known, until there is no room to store one.

    Returns how many are done, the number of stored points, and how many rows joined a witness of their box.
    """
    hits = 0
    box, side = np.int64(0), np.sqrt(max(resolution, 0.0))
    for i in range(count):
        x = batch[start + i]
        if witnesses is not None and resolution >= 0:
            if side > 0:
                box = box_of(x, side, boxes)
                if rejoin(X, x, box, boxes, resolution, witnesses):
                    hits += 1
                    continue
            row = join(
                X, records, chain, cells, nearest_slot[i], x, nearest[i], resolution, witnesses, 0.0, np.inf, np.inf
            )  # fmt: skip
            if row >= 0:
                if side > 0:
                    remember(box, boxes, row)
                continue
        if n == limit:
            return i, n, hits
        store(batch, start + i, first, X, n, witnesses, 0.0)
        if witnesses is not None and side > 0:
            remember(box, boxes, n)
        add_record(records, chain, cells, n, nearest[i], nearest_slot[i], second[i], second_slot[i])
        n += 1
    return count, n, hits


@jit
def merge_cost(X, rows, groups, j, spread):
    """The least resolution at which the j-th point of a cell could merge into an earlier one of its group."""
    least = np.inf
    for i in range(j):
        if groups[i] == groups[j]:
            least = min(least, squared_within(X[rows[j]], X[rows[i]], least))
    return np.sqrt(least) + spread


@jit
def merge_cell(X, rows, groups, to_landmark, resolution, witnesses, gone):
    """Merge points of a cell, in their order: each into the first that is left, near enough and of its group.

    ``to_landmark`` holds their distances to the landmark. The first point stays.
    """
    kept = np.empty(len(rows), np.int64)
    count = 0
    limit, apart = max(resolution * resolution * SLACK, TINY), max(resolution * SLACK, np.sqrt(TINY))
    for j in range(len(rows)):
        witness = witnesses[rows[j]]
        merged = False
        for i in range(count):
            k = kept[i]
            if groups[k] != groups[j] or abs(to_landmark[k] - to_landmark[j]) > apart:
                continue
            t = np.sqrt(squared_within(X[rows[j]], X[rows[k]], limit))
            if t + witness.spread <= resolution:
                other = witnesses[rows[k]]
                other.weight += witness.weight
                other.spread = max(other.spread, t + witness.spread)
                gone[rows[j]] = merged = True
                break
        if not merged:
            kept[count] = j
            count += 1


@jit
def weights_at(witnesses, n, now, half_life):
    """What the first n stored points weigh at a time. NumPy's powers depend on where in an array a number stands."""
    out = np.empty(n)
    for row in range(n):
        out[row] = witnesses[row].weight * 2.0 ** ((witnesses[row].time - now) / half_life)
    return out
