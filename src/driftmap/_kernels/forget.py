"""The arrival loop for Euclidean points that are forgotten after a while."""

import numpy as np

from driftmap._kernels.cells import enter
from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.learn import compare, put
from driftmap._kernels.records import GENERATIONS
from driftmap._kernels.replace import admit_tight, by_arrival, leave, take_columns
from driftmap._kernels.witnesses import generation, join, store
from driftmap.state import BLOCK

SWEEP = 64
"""The most arrivals between two looks for points that have become too light."""
LIGHTEST = 1 / 128
"""A point with less weight is forgotten: one that nothing joined, after seven half-lives."""


@jit
def sweep_every(half_life):
    """Arrivals between two looks."""
    return max(int(min(half_life, SWEEP)), 1)


@jit
def take_out(records, chain, cells, slot, row):
    """Take the record of a stored point out of its cell; the last record takes its place."""
    cell = cells[slot]
    at, before = -1, np.int32(-1)
    block = cell.head
    while block >= 0:
        size = cell.filled if block == cell.tail else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            if records[i].row == row:
                at = i
        if block != cell.tail:
            before = block
        block = chain[block]
    last, hole = records[np.int64(cell.tail) * BLOCK + cell.filled - 1], records[at]
    attained = hole.nearest == cell.reach or hole.second == cell.cost or not cell.certain
    hole.row, hole.nearest, hole.second, hole.second_slot = last.row, last.nearest, last.second, last.second_slot
    cell.size -= 1
    cell.filled -= 1
    if cell.filled == 0:
        chain[cell.tail] = chain[-1]
        chain[-1] = cell.tail
        cell.tail = before
        if before < 0:
            cell.head = -1
        else:
            chain[before] = -1
            cell.filled = BLOCK
    if attained:
        cell.cost, cell.reach, cell.certain = 0.0, 0.0, 1
        block = cell.head
        while block >= 0:
            size = cell.filled if block == cell.tail else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                record = records[i]
                cell.cost = max(cell.cost, record.second)
                cell.reach = max(cell.reach, record.nearest)
                cell.certain &= record.second_slot >= 0
            block = chain[block]


@jit
def expired(witnesses, row, now, resolution, window, half_life):
    """Whether a stored point is or is to be forgotten. With a window, all points before such a one are, too."""
    witness = witnesses[row]
    if witness.weight == 0:
        return True
    if half_life < np.inf:
        return witness.weight * 2.0 ** ((witness.time - now) / half_life) < LIGHTEST
    until = witness.time
    if resolution >= 0:  # it may stand for any point of its part of the window
        until = (generation(witness.time, window) + 1) * (window / GENERATIONS)
    return until + window <= now


@jit
def farthest(records, chain, cells, limit):
    """The stored point farthest from its landmark, of equals the first, if it is beyond the limit; else -1."""
    best, reach = -1, limit
    for slot in range(len(cells)):
        cell = cells[slot]
        if not cell.reach > limit or cell.reach < reach:
            continue
        block = cell.head
        while block >= 0:
            size = cell.filled if block == cell.tail else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                record = records[i]
                if record.nearest > reach or (record.nearest == reach and reach > limit and record.row < best):
                    best, reach = record.row, record.nearest
            block = chain[block]
    return best


@jit_inner
def settle(X, records, chain, cells, n_landmarks, least, came, left, events, distances, column):
    """After points have been forgotten: landmarks without any leave, and the farthest points take the free slots.

    Returns the number of events.
    """
    m = 0
    for slot in range(len(cells)):
        if cells[slot].landmark >= 0 and cells[slot].size == 0:
            came[events, 1], left[events] = -1, leave(X, records, chain, cells, slot, distances)
            events += 1
        m += cells[slot].landmark >= 0
    while 0 < m < n_landmarks:
        point = farthest(records, chain, cells, least)
        if point < 0:
            break
        enter(X, records, chain, cells, point, distances, column)
        came[events, 1], left[events] = point, -1
        events += 1
        m += 1
    return events


@jit
def learn_forgetting(
    batch, times, i, stop, first, X, n, limit, radius, least, resolution, window, half_life, oldest, n_landmarks,
    records, chain, cells, witnesses, came, left, radii, slots, columns, distances, column,
):  # fmt: skip
    """Take in rows of a batch from i on by the tight rule, forgetting points as their time comes.

    Row i is arrival ``first + i``; ``times`` says when the rows arrive, all points before ``oldest`` are forgotten,
    ``least`` is the radius below which free slots stay free, ``limit`` the most points that are remembered. Stops at
    row ``stop`` and when there is no room for the events of a further row. Events go to ``came`` (numbers of the row
    and of the stored point that became a landmark), ``left`` (-1: nobody) and ``radii`` (before, after). Returns the
    rows that are done, the number of stored points, the radius, the number of events, ``oldest``, and whether it
    stopped because there is no room for a row that has arrived. What is forgotten when that row comes is forgotten
    already, so it must be taken in before anything else. The last four are to work in, as for
    :func:`driftmap._kernels.replace.admit_tight`; ``column`` has room for all points.
    """
    live = 0
    for slot in range(len(cells)):
        live += cells[slot].size
    m = by_arrival(cells, slots)
    take_columns(X, cells, slots, m, columns)
    events = 0
    sweep, blocked = sweep_every(half_life), False
    while i < stop and events + 2 * len(cells) + 1 < came.shape[0]:
        now = times[i]
        before = events
        begin, end = oldest, oldest
        if window < np.inf:
            while end < n and expired(witnesses, end, now, resolution, window, half_life):
                end += 1
            oldest = end
        elif (first + i) % sweep == 0:
            begin, end = 0, n
        gone = 0
        for row in range(begin, end):
            if witnesses[row].weight > 0 and expired(witnesses, row, now, resolution, window, half_life):
                _, near, _, _ = compare(X, row, columns, m, slots, distances)
                take_out(records, chain, cells, near, row)
                witnesses[row].weight, witnesses[row].spread = 0.0, 0.0
                gone += 1
        if gone > 0:
            live -= gone
            events = settle(X, records, chain, cells, n_landmarks, least, came, left, events, distances, column)
            shrunk = least
            for slot in range(len(cells)):
                shrunk = max(shrunk, cells[slot].reach)
            for event in range(before, events):
                came[event, 0], radii[event, 0], radii[event, 1] = first + i, radius, min(radius, shrunk)
            radius = min(radius, shrunk)
            if events > before:
                m = by_arrival(cells, slots)
                take_columns(X, cells, slots, m, columns)

        d1, near, d2, second_slot = compare(batch, i, columns, m, slots, distances)
        uncovered = d1 > radius
        if (
            resolution >= 0
            and not uncovered
            and join(X, records, chain, cells, near, batch, i, d1, d2, resolution, witnesses, now, window, half_life)
            >= 0
        ):
            i += 1
            continue
        blocked = n == X.shape[0] or live == limit
        if blocked:
            break
        store(batch, i, first, X, n, witnesses, now)
        put(n, m, d1, near, d2, second_slot, records, chain, cells)
        n += 1
        live += 1
        i += 1
        if uncovered:
            came[events, 0], radii[events, 0] = first + i - 1, radius
            came[events, 1], left[events], radius = admit_tight(
                X, n_landmarks, radius, records, chain, cells, n - 1, slots, columns, distances, column
            )
            radii[events, 1] = radius
            events += 1
            m = by_arrival(cells, slots)
            take_columns(X, cells, slots, m, columns)
    return i, n, radius, events, oldest, blocked
