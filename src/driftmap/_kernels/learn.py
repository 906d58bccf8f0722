"""The arrival loop for Euclidean points, up to the next uncovered one.

The same steps as :mod:`driftmap.landmarks.cover` takes for any metric, and held to the same oracle; here they take
fractions of a microsecond. ``witnesses`` is None where every point is kept.
"""

import numpy as np

from driftmap._kernels.boxes import rejoin_all, remember, steps_to_unit
from driftmap._kernels.cells import add_record
from driftmap._kernels.compiler import jit, jit_once
from driftmap._kernels.distances import distances_to_all
from driftmap._kernels.records import MOST_COMPARED
from driftmap._kernels.replace import by_arrival, take_columns
from driftmap._kernels.scan import two_nearest
from driftmap._kernels.witnesses import join, store


@jit_once
def compare(A, i, columns, m, slots, distances):
    """Distance and slot of the two landmarks nearest to row i of A; infinity and slots 0 and -1 if there is none."""
    distances_to_all(A, i, columns, m, distances)
    d1, p1, d2, p2 = two_nearest(distances, m)
    return d1, slots[p1] if p1 >= 0 else 0, d2, slots[p2] if p2 >= 0 else -1


@jit_once
def put(n, m, d1, slot, d2, second_slot, records, chain, cells):
    """Take the newly stored point n into its cell; the very first one is the landmark of its own."""
    if m == 0:
        cells[slot].landmark = n
        d1 = 0.0
    add_record(records, chain, cells, n, d1, slot, d2, second_slot)


@jit
def advance(
    batch, i, stop, first, X, n, limit, radius, resolution, calm, records, chain, cells, witnesses, boxes, found, known,
    guesses, guessed, until, slots, columns, distances,
):  # fmt: skip
    """Take in rows of a batch from i on, up to and with the first uncovered one.

    Row i is arrival ``first + i``; the nearest landmarks of ``known`` rows are in ``found``, and what rows from
    ``guessed`` to ``until`` find in their boxes is in ``guesses``. Ends before a row that would have to be stored where
    there is no room for it, at row ``stop``, and after ``calm`` rows that were compared with all landmarks, if most
    were. Returns the rows that are done, the number of stored points, whether the last row is uncovered, and how many
    rows joined a witness of their boxes.
    """
    m, steps = -1, steps_to_unit(resolution)
    start, begun, compared, hits = i, i, 0, 0
    while i < stop:
        if witnesses is not None and steps > 0:
            missed = rejoin_all(batch, i, stop, X, steps, boxes, resolution, witnesses, guesses, guessed, until)
            hits += missed - i
            i = missed
            if i == stop:
                break
        if i - start < known:
            one = found[i - start]
            d1, slot, d2, second_slot = one.nearest, one.nearest_slot, one.second, one.second_slot
        else:
            if compared == calm:
                if i - begun < MOST_COMPARED * compared:
                    break
                compared, begun = 0, i
            compared += 1
            if m < 0:
                m = by_arrival(cells, slots)
                take_columns(X, cells, slots, m, columns)
            d1, slot, d2, second_slot = compare(batch, i, columns, m, slots, distances)
        uncovered = d1 > radius  # also the very first point
        if witnesses is not None and resolution >= 0 and not uncovered:
            row = join(X, records, chain, cells, slot, batch, i, d1, d2, resolution, witnesses, 0.0, np.inf, np.inf)
            if row >= 0:
                if steps > 0:
                    remember(batch, i, steps, boxes, row)
                i += 1
                continue
        if n == limit:
            break
        store(batch, i, first, X, n, witnesses, 0.0)
        if witnesses is not None and steps > 0:
            remember(batch, i, steps, boxes, n)
        put(n, m, d1, slot, d2, second_slot, records, chain, cells)
        n += 1
        i += 1
        if uncovered:
            return i, n, True, hits
    return i, n, False, hits
