"""Cells: the stored points nearest to each landmark, while landmarks come and go."""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import distances_to_all, squared_distance, squared_distances
from driftmap._kernels.scan import two_nearest
from driftmap.state import BLOCK

# Relative slack of the triangle-inequality tests, far above the rounding error of a distance (d * 1e-16).
SLACK = 1.0 + 1e-9
# Below this, squares have lost digits to underflow, and nothing is skipped on their word.
TINY = 1e-280


@jit_inner
def place(following, head, tail, tail_count, mass, free, slot):
    """Position of a new record in a cell."""
    if head[slot] < 0 or tail_count[slot] == BLOCK:
        block = free[0]
        if block < 0:
            raise RuntimeError("no free block: the state reserves too few")
        free[0] = following[block]
        following[block] = -1
        if head[slot] < 0:
            head[slot] = block
        else:
            following[tail[slot]] = block
        tail[slot] = block
        tail_count[slot] = 0
    tail_count[slot] += 1
    mass[slot] += 1
    return tail[slot] * BLOCK + tail_count[slot] - 1


@jit_inner
def release(following, free, block, end):
    """Give the blocks of a chain back, from ``block`` up to but without ``end`` (-1: all)."""
    while block != end:
        after = following[block]
        following[block] = free[0]
        free[0] = block
        block = after


@jit
def add_rows(cells, landmarks, start, count, nearest, nearest_slot, second, second_slot):
    """Take newly scanned rows into the cells of their nearest landmarks."""
    rows, nearests, seconds, second_slots = cells.row, cells.nearest, cells.second, cells.second_slot
    following, head, tail, tail_count = cells.following, cells.head, cells.tail, cells.tail_count
    mass, free = cells.mass, cells.free
    cost, reach = landmarks.cost, landmarks.reach
    for i in range(count):
        slot = nearest_slot[i]
        if head[slot] >= 0 and tail_count[slot] < BLOCK:
            # as in ``place``: this runs for every arrival, and handing over six arrays costs more than the work
            k = tail[slot] * BLOCK + tail_count[slot]
            tail_count[slot] += 1
            mass[slot] += 1
        else:
            k = place(following, head, tail, tail_count, mass, free, slot)
        rows[k] = start + i
        nearests[k] = nearest[i]
        seconds[k] = second[i]
        second_slots[k] = second_slot[i]
        cost[slot] = max(cost[slot], second[i])
        reach[slot] = max(reach[slot], nearest[i])


@jit
def cell_rows(cells, slot, only_unknown):
    """The stored points of a cell, all or those whose second-nearest landmark is unknown, in the cell's order."""
    rows, second_slots, following, head = cells.row, cells.second_slot, cells.following, cells.head
    tail, tail_count, mass = cells.tail, cells.tail_count, cells.mass
    out = np.empty(mass[slot], np.int64)
    k = 0
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            out[k] = rows[i]
            k += not only_unknown or second_slots[i] < 0
        block = following[block]
    return out[:k]


@jit
def insert_into_cell(cells, landmarks, slot, newcomer, column):
    """Let the landmark in slot ``newcomer`` compete for the points of a cell; ``column`` holds its distances to them.

    Points it is nearest to move to its cell. Cost and reach of the cell are found anew on the way.
    """
    rows, nearests, seconds, second_slots = cells.row, cells.nearest, cells.second, cells.second_slot
    following, head, tail, tail_count = cells.following, cells.head, cells.tail, cells.tail_count
    mass, free = cells.mass, cells.free
    slot_arrival, cost, certain, reach = landmarks.arrival, landmarks.cost, landmarks.certain, landmarks.reach
    arrival = slot_arrival[newcomer]
    older = arrival < slot_arrival[slot]
    cost[slot], certain[slot], reach[slot] = 0.0, True, 0.0
    kept = 0  # records are moved together on the way: this many are done, the next place is ``there``
    block = head[slot]
    to_block, there = block, block * BLOCK
    k = 0
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            t = column[k]
            k += 1
            d1, d2, s2 = nearests[i], seconds[i], second_slots[i]
            if t < d1 or (t == d1 and older):
                to = place(following, head, tail, tail_count, mass, free, newcomer)
                rows[to], nearests[to], seconds[to], second_slots[to] = rows[i], t, d1, slot
                cost[newcomer] = max(cost[newcomer], d1)
                reach[newcomer] = max(reach[newcomer], t)
                continue
            if t < d2 or (t == d2 and s2 >= 0 and arrival < slot_arrival[s2]):
                d2, s2 = t, newcomer  # also where the second is unknown: it is no nearer than d2
            if kept > 0 and kept % BLOCK == 0:
                to_block = following[to_block]
                there = to_block * BLOCK
            rows[there], nearests[there], seconds[there], second_slots[there] = rows[i], d1, d2, s2
            there += 1
            kept += 1
            cost[slot] = max(cost[slot], d2)
            certain[slot] &= s2 >= 0
            reach[slot] = max(reach[slot], d1)
        after = following[block]
        if to_block != block:  # what lies between is free; given back at once, so that few blocks are ever needed
            release(following, free, following[to_block], block)
            following[to_block] = block
        block = after
    if kept < mass[slot]:
        mass[slot] = kept
        if kept == 0:
            release(following, free, head[slot], -1)
            head[slot], tail[slot], tail_count[slot] = -1, -1, 0
        else:
            release(following, free, following[to_block], -1)
            following[to_block] = -1
            tail[slot], tail_count[slot] = to_block, kept - (kept - 1) // BLOCK * BLOCK


@jit_inner
def between_slots(X, slot_arrival, slot):
    """Squared distances of one landmark to the others, by slot; infinity for free slots."""
    n_slots = slot_arrival.shape[0]
    out = np.empty(n_slots)
    y = X[slot_arrival[slot]]
    for a in range(0, n_slots, 2):
        b = min(a + 1, n_slots - 1)
        out[a], out[b] = squared_distances(y, X[max(slot_arrival[a], 0)], X[max(slot_arrival[b], 0)])
    for other in range(n_slots):
        if slot_arrival[other] < 0:
            out[other] = np.inf
    return out


@jit_inner
def insert_euclidean(X, cells, landmarks, newcomer):
    """Let a new landmark compete for all points that the triangle inequality leaves in question."""
    rows, seconds, second_slots, following = cells.row, cells.second, cells.second_slot, cells.following
    head, tail, tail_count, mass = cells.head, cells.tail, cells.tail_count, cells.mass
    slot_arrival, cost = landmarks.arrival, landmarks.cost
    n_slots = slot_arrival.shape[0]
    y = X[slot_arrival[newcomer]]
    from_y = between_slots(X, slot_arrival, newcomer)
    largest = 0
    for slot in range(n_slots):
        largest = max(largest, mass[slot])
    column = np.empty(largest)
    for slot in range(n_slots):
        # |y - z| > 2 b for a landmark z within b of a point: the point is farther than b from y
        if slot == newcomer or slot_arrival[slot] < 0 or from_y[slot] > max(TINY, 4 * SLACK * cost[slot]):
            continue
        k = 0
        contested = False
        block = head[slot]
        while block >= 0:
            size = tail_count[slot] if block == tail[slot] else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                bound = max(TINY, 4 * SLACK * seconds[i])
                s2 = second_slots[i]
                column[k] = np.inf
                if from_y[slot] <= bound and (s2 < 0 or from_y[s2] <= bound):
                    column[k] = squared_distance(X[rows[i]], y)
                    contested |= column[k] <= seconds[i]
                k += 1
            block = following[block]
        if contested:
            insert_into_cell(cells, landmarks, slot, newcomer, column)


@jit
def cheapest(slot_arrival, cost):
    """Slot of the landmark with the smallest cost; of equals, the one that arrived first."""
    best = -1
    for slot in range(slot_arrival.shape[0]):
        if slot_arrival[slot] >= 0 and (
            best < 0
            or cost[slot] < cost[best]
            or (cost[slot] == cost[best] and slot_arrival[slot] < slot_arrival[best])
        ):
            best = slot
    return best


@jit
def set_seconds(cells, landmarks, slot, distances, slots):
    """Look up the unknown second-nearest landmarks of a cell, given the distances of those points to all landmarks."""
    seconds, second_slots, following, head = cells.second, cells.second_slot, cells.following, cells.head
    tail, tail_count = cells.tail, cells.tail_count
    cost, certain = landmarks.cost, landmarks.certain
    k = 0
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            if second_slots[i] < 0:
                _, _, d2, p2 = two_nearest(distances[k], distances.shape[1])
                k += 1
                seconds[i], second_slots[i] = d2, slots[p2]
                cost[slot] = max(cost[slot], d2)
        block = following[block]
    certain[slot] = True


@jit_inner
def set_seconds_euclidean(X, cells, landmarks, slot, columns, m, slots, beyond):
    """As :func:`set_seconds`, from the first m landmarks in ``columns``; all others are ``beyond`` away or more.

    Points for which that does not suffice stay as they are; returns their number.
    """
    rows, seconds, second_slots, following = cells.row, cells.second, cells.second_slot, cells.following
    head, tail, tail_count = cells.head, cells.tail, cells.tail_count
    cost, certain = landmarks.cost, landmarks.certain
    distances = np.empty(m)
    left = 0
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            if second_slots[i] < 0:
                distances_to_all(X[rows[i]], columns, distances)
                d1, _, d2, p2 = two_nearest(distances, m)
                if (np.sqrt(d1) + np.sqrt(d2)) * SLACK < np.sqrt(beyond):
                    seconds[i], second_slots[i] = d2, slots[p2]
                    cost[slot] = max(cost[slot], d2)
                else:
                    left += 1
        block = following[block]
    certain[slot] = left == 0
    return left


@jit
def drop_landmark(cells, landmarks, slot, from_slot):
    """Take a landmark out; its points go to their second-nearest, which must be known.

    What the second-nearest landmark of the points concerned is now, nobody asks yet: it is unknown (slot -1) and no
    nearer than the former one, so distances and costs stay as lower bounds. ``from_slot`` holds the distances of the
    landmark to the others, or zeros where nothing may be concluded from them.
    """
    rows, nearests, seconds, second_slots = cells.row, cells.nearest, cells.second, cells.second_slot
    following, head, tail, tail_count = cells.following, cells.head, cells.tail, cells.tail_count
    mass, free = cells.mass, cells.free
    slot_arrival, cost, certain, reach = landmarks.arrival, landmarks.cost, landmarks.certain, landmarks.reach
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            heir, t = second_slots[i], seconds[i]
            to = place(following, head, tail, tail_count, mass, free, heir)
            rows[to], nearests[to], seconds[to], second_slots[to] = rows[i], t, t, -1
            cost[heir] = max(cost[heir], t)
            certain[heir] = False
            reach[heir] = max(reach[heir], t)
        after = following[block]
        release(following, free, block, after)
        block = after
    head[slot], tail[slot], tail_count[slot], mass[slot] = -1, -1, 0, 0
    slot_arrival[slot], cost[slot], certain[slot], reach[slot] = -1, 0.0, True, 0.0
    for other in range(slot_arrival.shape[0]):
        if slot_arrival[other] < 0 or from_slot[other] > max(TINY, 4 * SLACK * cost[other]):
            continue
        block = head[other]
        while block >= 0:
            size = tail_count[other] if block == tail[other] else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                if second_slots[i] == slot:
                    second_slots[i] = -1
                    certain[other] = False
            block = following[block]


@jit
def close_pairs_at_least(cells, landmarks, limit):
    """A lower bound on the pairs of neighbours: points within half the radius of one landmark are pairwise neighbours.

    Holds where the triangle inequality does; ``limit`` is half the radius.
    """
    total = 0
    for slot in range(landmarks.arrival.shape[0]):
        count = 0
        block = cells.head[slot]
        while block >= 0:
            size = cells.tail_count[slot] if block == cells.tail[slot] else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                count += cells.nearest[i] <= limit
            block = cells.following[block]
        total += count * (count - 1) // 2
    return total
