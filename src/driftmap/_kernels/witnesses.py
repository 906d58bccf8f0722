"""Witnesses: stored points that stand for others near them, where memory is bounded."""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inlined, jit_inner, jit_once
from driftmap._kernels.distances import SLACK, TINY, squared_within
from driftmap._kernels.records import GENERATIONS
from driftmap.state import BLOCK


@jit
def generation(time, window):
    """The part of the window that a time belongs to; without a window (infinity) always the same."""
    return np.floor(time / (window / GENERATIONS))


@jit_inlined
def ring(distance, width):
    """Between which squares a distance lies that differs from a given one (squared) by no more than a width."""
    root = np.sqrt(distance)
    low = max(root - width, 0.0) ** 2 / SLACK
    return low if low >= TINY else 0.0, max(TINY, (root + width) ** 2 * SLACK)


@jit_once
def join(X, records, chain, cells, slot, batch, i, d1, d2, resolution, witnesses, now, window, half_life):
    """Let row i of a batch join the first witness of its cell within the resolution; returns its number, or -1.

    ``d1`` and ``d2`` are its distances to the nearest and the second-nearest landmark. By the triangle inequality those
    of such a witness differ from them by no more than the resolution, which leaves few of the cell in question.
    """
    low, high = ring(d1, np.sqrt(resolution) * SLACK)
    low2, high2 = ring(d2, np.sqrt(resolution) * SLACK) if d2 < np.inf else (0.0, np.inf)
    cell = cells[slot]
    block = cell.head
    while block >= 0:
        size = cell.filled if block == cell.tail else BLOCK
        for k in range(block * BLOCK, block * BLOCK + size):
            record = records[k]
            # where the second distance is only a lower bound, it says nothing of those that are too small
            if (
                low <= record.nearest <= high
                and record.second <= high2
                and (record.second >= low2 or record.second_slot < 0)
            ):
                t = squared_within(X, np.int64(record.row), batch, i, resolution)
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
def merge_costs(X, rows, starts, groups, to_landmark, some, witnesses, out):
    """For some points, the least resolution at which they could merge into an earlier one of their cell and group.

    Points come cell by cell; ``starts`` says where that of each begins. In a cell they are in order of ``to_landmark``,
    their distances to the landmark: by the triangle inequality, none is nearer to another than these differ.
    """
    for k in range(len(some)):
        j = some[k]
        least, apart = np.inf, np.inf
        i = j - 1
        while i >= starts[j] and to_landmark[j] - to_landmark[i] <= apart:
            if groups[i] == groups[j]:
                t = squared_within(X, rows[j], X, rows[i], least)
                if t < least:
                    least, apart = t, max(np.sqrt(t) * SLACK, np.sqrt(TINY))
            i -= 1
        out[k] = np.sqrt(least) + witnesses[rows[j]].spread


@jit
def merge_cells(X, rows, starts, groups, to_landmark, first, last, resolution, witnesses, gone, kept):
    """Merge points from ``first`` to ``last``, some whole cells, in order of their distances to the landmark.

    Each merges into the last that is left of its cell, near enough and of its group. The landmarks stay. ``kept`` has
    room for all of them.
    """
    count = 0
    limit, apart = max(resolution * resolution * SLACK, TINY), max(resolution * SLACK, np.sqrt(TINY))
    for j in range(first, last):
        if j == starts[j]:
            count = 0
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
def weights_at(witnesses, now, half_life, out):
    """What the stored points weigh at a time. NumPy's powers depend on where in an array a number stands."""
    for row in range(len(out)):
        out[row] = witnesses[row].weight * 2.0 ** ((witnesses[row].time - now) / half_life)
