"""Cells: the stored points nearest to each landmark, while landmarks come and go."""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import (
    SLACK,
    TINY,
    distances_to_all,
    quick_distance,
    slack_of,
    squared_distance,
    squared_distances,
)
from driftmap._kernels.scan import two_nearest
from driftmap.state import BLOCK

LONG = 64
"""Coordinates from which on two square roots are worth the trouble if they may save a distance."""
SMALL = 2 * np.sqrt(TINY)


@jit_inner
def place(chain, cells, slot):
    """Position of a new record in a cell."""
    cell = cells[slot]
    if cell.head < 0 or cell.filled == BLOCK:
        block = chain[-1]
        if block < 0:
            raise RuntimeError("no free block: the state reserves too few")
        chain[-1] = chain[block]
        chain[block] = -1
        if cell.head < 0:
            cell.head = block
        else:
            chain[cell.tail] = block
        cell.tail = block
        cell.filled = 0
    cell.filled += 1
    cell.size += 1
    return np.int64(cell.tail) * BLOCK + cell.filled - 1


@jit_inner
def release(chain, block, end):
    """Give the blocks of a chain back, from ``block`` up to but without ``end`` (-1: all)."""
    while block != end:
        after = chain[block]
        chain[block] = chain[-1]
        chain[-1] = block
        block = after


@jit_inner
def add_record(records, chain, cells, row, nearest, slot, second, second_slot):
    """Take a stored point into the cell of its nearest landmark."""
    cell = cells[slot]
    record = records[place(chain, cells, slot)]
    record.row, record.nearest, record.second, record.second_slot = row, nearest, second, second_slot
    cell.cost = max(cell.cost, second)
    cell.reach = max(cell.reach, nearest)


@jit
def add_records(records, chain, cells, rows, found):
    """Take stored points into the cells of their nearest landmarks."""
    for i in range(len(rows)):
        one = found[i]
        add_record(records, chain, cells, rows[i], one.nearest, one.nearest_slot, one.second, one.second_slot)


@jit
def insert_into_cell(records, chain, cells, slot, newcomer, column):
    """Let the landmark in slot ``newcomer`` compete for the points of a cell; ``column`` holds its distances to them.

    Points it is nearest to move to its cell. Cost and reach of the cell are found anew on the way.
    """
    new, cell = cells[newcomer], cells[slot]
    older = new.landmark < cell.landmark
    cell.cost, cell.certain, cell.reach = 0.0, 1, 0.0
    kept = 0  # records are moved together on the way: this many are done, the next place is ``there``
    block = cell.head
    to_block, there = block, block * BLOCK
    k = 0
    while block >= 0:
        size = cell.filled if block == cell.tail else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            t = column[k]
            k += 1
            record = records[i]
            row, d1, d2, s2 = np.int64(record.row), record.nearest, record.second, np.int64(record.second_slot)
            if t < d1 or (t == d1 and older):
                add_record(records, chain, cells, row, t, newcomer, d1, slot)
                continue
            if t < d2 or (t == d2 and s2 >= 0 and new.landmark < cells[s2].landmark):
                d2, s2 = t, newcomer  # also where the second is unknown: it is no nearer than d2
            if kept > 0 and kept % BLOCK == 0:
                to_block = chain[to_block]
                there = to_block * BLOCK
            to = records[there]
            to.row, to.nearest, to.second, to.second_slot = row, d1, d2, s2
            there += 1
            kept += 1
            cell.cost = max(cell.cost, d2)
            cell.certain &= s2 >= 0
            cell.reach = max(cell.reach, d1)
        after = chain[block]
        if to_block != block:  # what lies between is free; given back at once, so that few blocks are ever needed
            release(chain, chain[to_block], block)
            chain[to_block] = block
        block = after
    if kept < cell.size:
        cell.size = kept
        if kept == 0:
            release(chain, cell.head, np.int32(-1))
            cell.head, cell.tail, cell.filled = -1, -1, 0
        else:
            release(chain, chain[to_block], np.int32(-1))
            chain[to_block] = -1
            cell.tail, cell.filled = to_block, kept - (kept - 1) // BLOCK * BLOCK


@jit_inner
def between_slots(X, cells, slot, out):
    """Squared distances of one landmark to the others, by slot; infinity for free slots."""
    n_slots = len(cells)
    y = cells[slot].landmark
    for a in range(0, n_slots, 2):
        b = min(a + 1, n_slots - 1)
        out[a], out[b] = squared_distances(X, y, X, max(cells[a].landmark, 0), max(cells[b].landmark, 0))
    for other in range(n_slots):
        if cells[other].landmark < 0:
            out[other] = np.inf


@jit_inner
def enter(X, records, chain, cells, point, from_y, column):
    """Make a stored point a landmark: it competes for all points that the triangle inequality leaves in question.

    There must be room for a number per slot in ``from_y``, and for one per point of the largest cell in ``column``.
    """
    newcomer = 0
    while cells[newcomer].landmark >= 0:
        newcomer += 1
    cells[newcomer].landmark = point
    between_slots(X, cells, newcomer, from_y)
    for slot in range(len(cells)):
        cell = cells[slot]
        # |y - z| > 2 b for a landmark z within b of a point: the point is farther than b from y
        apart = from_y[slot]
        if slot == newcomer or cell.landmark < 0 or apart > max(TINY, 4 * SLACK * cell.cost):
            continue
        gap = np.sqrt(apart) / SLACK
        k, contested = 0, False
        block = cell.head
        while block >= 0:
            size = cell.filled if block == cell.tail else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                record = records[i]
                second, t = record.second, np.inf
                bound = max(TINY, 4 * SLACK * second)
                if (
                    apart <= bound
                    and (record.second_slot < 0 or from_y[record.second_slot] <= bound)
                    and (X.shape[1] < LONG or gap <= max(SMALL, np.sqrt(record.nearest) + np.sqrt(second)))
                ):
                    row = np.int64(record.row)
                    if quick_distance(X, row, X, point) <= max(TINY, slack_of(X) * second):
                        t = squared_distance(X, row, X, point)
                        contested |= t <= second
                column[k] = t
                k += 1
            block = chain[block]
        if contested:
            insert_into_cell(records, chain, cells, slot, newcomer, column)


@jit
def cheapest(cells):
    """Slot of the landmark with the smallest cost, of equals the one that arrived first, and the next smallest cost."""
    best, runner_up = -1, np.inf
    for slot in range(len(cells)):
        cell = cells[slot]
        if cell.landmark < 0:
            continue
        if (
            best < 0
            or cell.cost < cells[best].cost
            or (cell.cost == cells[best].cost and cell.landmark < cells[best].landmark)
        ):
            if best >= 0:
                runner_up = cells[best].cost
            best = slot
        else:
            runner_up = min(runner_up, cell.cost)
    return best, runner_up


@jit
def set_seconds(records, chain, cells, slot, distances, slots):
    """Look up the unknown second-nearest landmarks of a cell, given the distances of those points to all landmarks."""
    cell = cells[slot]
    k = 0
    block = cell.head
    while block >= 0:
        size = cell.filled if block == cell.tail else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            record = records[i]
            if record.second_slot < 0:
                _, _, d2, p2 = two_nearest(distances[k], distances.shape[1])
                k += 1
                record.second, record.second_slot = d2, slots[p2]
                cell.cost = max(cell.cost, d2)
        block = chain[block]
    cell.certain = 1


@jit_inner
def set_seconds_euclidean(X, records, chain, cells, slot, columns, m, slots, distances, enough):
    """As :func:`set_seconds`, from the m landmarks in ``columns``, until the cost exceeds ``enough``."""
    cell = cells[slot]
    block = cell.head
    while block >= 0:
        size = cell.filled if block == cell.tail else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            record = records[i]
            if record.second_slot < 0:
                if cell.cost > enough:
                    return
                distances_to_all(X, np.int64(record.row), columns, m, distances)
                _, _, d2, p2 = two_nearest(distances, m)
                record.second, record.second_slot = d2, slots[p2]
                cell.cost = max(cell.cost, d2)
        block = chain[block]
    cell.certain = 1


@jit
def drop_landmark(records, chain, cells, slot, from_slot):
    """Take a landmark out; its points go to their second-nearest, which must be known.

    What the second-nearest landmark of the points concerned is now, nobody asks yet: it is unknown (slot -1) and no
    nearer than the former one, so distances and costs stay as lower bounds. ``from_slot`` holds the distances of the
    landmark to the others, or zeros where nothing may be concluded from them.
    """
    cell = cells[slot]
    block = cell.head
    while block >= 0:
        size = cell.filled if block == cell.tail else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            record = records[i]
            heir = np.int64(record.second_slot)
            add_record(records, chain, cells, np.int64(record.row), record.second, heir, record.second, np.int64(-1))
            cells[heir].certain = 0
        after = chain[block]
        release(chain, block, after)
        block = after
    cell.head, cell.tail, cell.filled, cell.size = -1, -1, 0, 0
    cell.landmark, cell.cost, cell.certain, cell.reach = -1, 0.0, 1, 0.0
    for other in range(len(cells)):
        cell = cells[other]
        if cell.landmark < 0 or from_slot[other] > max(TINY, 4 * SLACK * cell.cost):
            continue
        block = cell.head
        while block >= 0:
            size = cell.filled if block == cell.tail else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                if records[i].second_slot == slot:
                    records[i].second_slot = -1
                    cell.certain = 0
            block = chain[block]


@jit
def close_pairs_at_least(records, chain, cells, limit):
    """A lower bound on the pairs of neighbours: points within half the radius of one landmark are pairwise neighbours.

    Holds where the triangle inequality does; ``limit`` is half the radius.
    """
    total = 0
    for slot in range(len(cells)):
        cell = cells[slot]
        count = 0
        block = cell.head
        while block >= 0:
            size = cell.filled if block == cell.tail else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                count += records[i].nearest <= limit
            block = chain[block]
        total += count * (count - 1) // 2
    return total
