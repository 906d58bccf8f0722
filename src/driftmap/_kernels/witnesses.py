"""Witnesses: stored points that stand for others near them, where memory is bounded."""

import numpy as np

from driftmap._kernels.boxes import AHEAD, GUESS, rejoin_all, remember, steps_to_unit
from driftmap._kernels.cells import add_record
from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import SLACK, TINY, squared_within
from driftmap.state import BLOCK

GENERATIONS = 8
"""Parts of a window; only points of the same one merge, so that a witness is forgotten at most one part too late."""


@jit
def generation(time, window):
    """The part of the window that a time belongs to; without a window (infinity) always the same."""
    return np.floor(time / (window / GENERATIONS))


@jit_inner
def join(X, records, chain, cells, slot, batch, i, d1, resolution, witnesses, now, window, half_life):
    """Let row i of a batch join the first witness of its cell within the resolution; returns its number, or -1.

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
        for k in range(block * BLOCK, block * BLOCK + size):
            record = records[k]
            if low <= record.nearest <= high:
                t = squared_within(X, record.row, batch, i, resolution)
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
    for k in range(batch.shape[1]):
        X[n, k] = batch[i, k]
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
    steps, guesses = steps_to_unit(resolution), np.empty(AHEAD, GUESS)
    i = 0
    while i < count:
        if witnesses is not None and steps > 0:
            missed = (
                rejoin_all(batch, start + i, start + count, X, steps, boxes, resolution, witnesses, guesses) - start
            )
            hits += missed - i
            i = missed
            if i == count:
                break
        if witnesses is not None and resolution >= 0:
            row = join(
                X, records, chain, cells, nearest_slot[i], batch, start + i, nearest[i], resolution, witnesses, 0.0,
                np.inf, np.inf,
            )  # fmt: skip
            if row >= 0:
                if steps > 0:
                    remember(batch, start + i, steps, boxes, row)
                i += 1
                continue
        if n == limit:
            return i, n, hits
        store(batch, start + i, first, X, n, witnesses, 0.0)
        if witnesses is not None and steps > 0:
            remember(batch, start + i, steps, boxes, n)
        add_record(records, chain, cells, n, nearest[i], nearest_slot[i], second[i], second_slot[i])
        n += 1
        i += 1
    return count, n, hits


@jit
def merge_costs(X, rows, groups, to_landmark, some, witnesses):
    """For some points of a cell, the least resolution at which they could merge into an earlier one of their group.

    Points are in order of ``to_landmark``, their distances to the landmark: by the triangle inequality, none is nearer
    to another than these differ.
    """
    out = np.empty(len(some))
    for k in range(len(some)):
        j = some[k]
        least, apart = np.inf, np.inf
        i = j - 1
        while i >= 0 and to_landmark[j] - to_landmark[i] <= apart:
            if groups[i] == groups[j]:
                t = squared_within(X, rows[j], X, rows[i], least)
                if t < least:
                    least, apart = t, max(np.sqrt(t) * SLACK, np.sqrt(TINY))
            i -= 1
        out[k] = np.sqrt(least) + witnesses[rows[j]].spread
    return out


@jit
def merge_cell(X, rows, groups, to_landmark, resolution, witnesses, gone):
    """Merge points of a cell, in order of their distances to the landmark.

    Each merges into the last that is left, near enough and of its group. The first, the landmark, stays.
    """
    kept = np.empty_like(rows)
    count = 0
    limit, apart = max(resolution * resolution * SLACK, TINY), max(resolution * SLACK, np.sqrt(TINY))
    for j in range(len(rows)):
        witness = witnesses[rows[j]]
        i = count - 1
        while i >= 0 and to_landmark[j] - to_landmark[kept[i]] <= apart:
            if groups[kept[i]] == groups[j]:
                into = rows[kept[i]]
                t = np.sqrt(squared_within(X, rows[j], X, into, limit))
                if t + witness.spread <= resolution:
                    witnesses[into].weight += witness.weight
                    witnesses[into].spread = max(witnesses[into].spread, t + witness.spread)
                    gone[rows[j]] = True
                    break
            i -= 1
        if not gone[rows[j]]:
            kept[count] = j
            count += 1


@jit
def weights_at(witnesses, n, now, half_life):
    """What the first n stored points weigh at a time. NumPy's powers depend on where in an array a number stands."""
    out = np.empty(n)
    for row in range(n):
        out[row] = witnesses[row].weight * 2.0 ** ((witnesses[row].time - now) / half_life)
    return out
