"""Stress placement in two and more dimensions: each point goes where its distances to fixed points fit best.

The loss of a position y is the sum over fixed points p of ``weight * (distance - |y - p|)^2``. All that is known of the
fixed points and all that is worked out about them lies in the rows of one matrix, a multiple of eight wide (what is
left over has no weight), so that loops run over fixed points without a branch and sums are those of
:mod:`driftmap._kernels.lanes`.

There is one kernel and in it one place where a position is judged, since compiling takes its time for each.
"""

import numpy as np

from driftmap._kernels.compiler import jit_dividing
from driftmap._kernels.lanes import total

# A curvature that is not positive is replaced by a positive one of at least this; SMACOF's is 1.
FLOOR = 1e-3
TRIES = 3
"""A step is tried, its half and its quarter."""
# Outside the map, the longest step, relative to how far out a place is.
LONGEST = 0.5
# A step that is not Newton's own ends the search only if it is shorter than this share of the tolerance.
SUSPICION = 1e-3
# Newton's own steps shrink to their square: what is left after one that is at most so many tolerances long, and such a
# share of the map's size, is far below the tolerance, and nobody needs to look.
LAST, SHORT = 30.0, 3e-4
# Distances below this share of the tolerance count as none. Those that follow from others are roots of differences, so
# what is left of a distance of 0 is the root of a rounding error.
NONE = 0.1


@jit_dividing
def settle_rows(squared, rows, frame, small, coordinates, tolerance, max_iter, among):
    """Place points by their squared distances to the fixed points, (n, a); one row after the other.

    A step is Newton's, shortened where it does not go down; then SMACOF's (the gradient), which never goes up but for
    rounding. With q = weight * distance / length the gradient is the sum of (weight - q) (y - p), and the second
    derivatives are s I plus the sum of q u u', where u is the direction of y - p and s the sum of weight - q, all of
    them halved. A point at y itself has no direction and pulls nowhere, as in SMACOF.

    Outside the map a step changes the length and the direction of a place rather than its coordinates, since the loss
    of a point that is far away lies in a ring (a shell). With n the direction of y from the map's centre, r its length
    and g the gradient, the second derivatives are then those above plus (n g' + g n' - n'g (I + n n')) / r.

    Parameters
    ----------
    rows : (3 k + 6, a)
        k rows of positions, k rows by which squared distances tell where to start, k rows to work in, a row of ones,
        the weights, whose sum is 1, and four more rows to work in.
    frame : (k + 1,)
        Centre of the map, and its size; what is farther away is outside.
    small : (2 k + 6, k + 1)
        To work in.
    coordinates : (n, k or more)
        Where to start but for what the squared distances tell; then the positions. k is at least 2.
    max_iter : the most steps
    among : whether row i is fixed point i itself, which then moves
    """
    k = small.shape[1] - 1
    start, gaps, ones = k, 2 * k, 3 * k
    weights, target, residual, slack, pull = ones + 1, ones + 2, ones + 3, ones + 4, ones + 5
    step, sums, gradient, factor, along = 2, 3, 3 + k, 4 + k, 5 + 2 * k
    own, none, size = 0.0, (NONE * tolerance) ** 2, frame[k] * frame[k]
    for i in range(squared.shape[0]):
        for j in range(squared.shape[1]):
            square = squared[i, j] if squared[i, j] > none else 0.0
            rows[residual, j] = square
            rows[target, j] = np.sqrt(square)
        y, there = 0, 1
        for c in range(k):
            small[there, c] = coordinates[i, c] + total(rows, start + c, residual, ones)
            small[y, c] = small[there, c]
        if among:
            own = rows[weights, i]
            rows[weights, i] = 0.0
        loss, taken, left, sure, near, moved, scale, way = np.inf, 0, 0, True, False, 0.0, 1.0, step
        out, outside = 0.0, False
        while True:
            # --- the position `there` ---
            first, second = small[there, 0], small[there, 1]
            for j in range(squared.shape[1]):
                gap, other = first - rows[0, j], second - rows[1, j]
                rows[gaps, j], rows[gaps + 1, j] = gap, other
                rows[residual, j] = gap * gap + other * other
            for c in range(2, k):
                at = small[there, c]
                for j in range(squared.shape[1]):
                    gap = at - rows[c, j]
                    rows[gaps + c, j] = gap
                    rows[residual, j] += gap * gap
            for j in range(squared.shape[1]):
                length = np.sqrt(rows[residual, j])
                inverse = 1.0 / length if length > 0.0 else 0.0
                q = rows[weights, j] * rows[target, j] * inverse
                rows[slack, j] = rows[weights, j] - q
                rows[pull, j] = q * inverse * inverse
                rows[residual, j] = rows[target, j] - length
            new = total(rows, weights, residual, residual)
            if new <= loss:
                y, there, loss = there, y, new
                if taken == max_iter or not (sure or moved > (SUSPICION * tolerance) ** 2):
                    break
                # --- derivatives; the last row is the gradient, with s at its end ---
                for c in range(k + 1):
                    for b in range(c + 1):
                        small[sums + c, b] = total(rows, slack if c == k else pull, gaps + c, gaps + b)
                # --- outside the map ---
                out = 0.0
                for c in range(k):
                    out += (small[y, c] - frame[c]) ** 2
                outside = out > size
                if outside:
                    out, outwards = np.sqrt(out), 0.0
                    for c in range(k):
                        small[along, c] = (small[y, c] - frame[c]) / out
                        outwards += small[along, c] * small[gradient, c]
                    for c in range(k):
                        small[sums + c, c] -= outwards / out
                        for b in range(c + 1):
                            both = small[along, c] * small[gradient, b] + small[along, b] * small[gradient, c]
                            small[sums + c, b] += (both - outwards * small[along, c] * small[along, b]) / out
                # --- L D L' of the second derivatives, and of the gradient as if it were one more row of them ---
                shift, found = small[gradient, k], False
                for attempt in range(2):
                    sure, found = attempt == 0, True
                    for c in range(k + 1):
                        for b in range(c + 1):
                            rest = small[sums + c, b]
                            if b == c:
                                rest += shift
                            for x in range(b):
                                rest -= small[factor + c, x] * small[factor + b, x] * small[factor + x, x]
                            if b < c:
                                rest /= small[factor + b, b]
                            elif c < k and not rest > 0.0:
                                found = False
                            small[factor + c, b] = rest
                    if found:
                        break
                    shift = max(shift, FLOOR * size / (out * out) if outside else FLOOR)
                # --- Newton's step ---
                length = 0.0
                for c in range(k - 1, -1, -1):
                    rest = small[factor + k, c]
                    for x in range(c + 1, k):
                        rest -= small[factor + x, c] * small[step, x]
                    small[step, c] = rest
                    length += rest * rest
                near = found and sure and length <= min((LAST * tolerance) ** 2, SHORT * SHORT * size)
                if outside and length > (LONGEST * out) ** 2:
                    for c in range(k):
                        small[step, c] *= LONGEST * out / np.sqrt(length)
                taken, left, scale, way = taken + 1, TRIES if found else 0, 1.0, step
            else:
                sure, left, scale = False, left - 1, 0.5 * scale
            if left < 0:
                break
            if left == 0:
                scale, way = 1.0, gradient
            # only Newton's step goes round: the gradient's would no longer be sure to go down
            moved, longer, turn, goes_round = 0.0, 0.0, 1.0, outside and left > 0
            for c in range(k):
                small[there, c] = small[y, c] - scale * small[way, c]
                longer -= scale * small[way, c] * small[along, c] if goes_round else 0.0
            if goes_round:
                for c in range(k):
                    small[there, c] = small[along, c] - (scale * small[way, c] + longer * small[along, c]) / out
                    turn += (small[there, c] - small[along, c]) ** 2
                for c in range(k):
                    small[there, c] = frame[c] + (out + longer) * small[there, c] / np.sqrt(turn)
            for c in range(k):
                # far away a short step is lost to rounding, and there is nowhere left to go
                moved += (small[there, c] - small[y, c]) ** 2
            if near:
                y = there
                break
        for c in range(k):
            coordinates[i, c] = small[y, c]
            if among:
                rows[c, i] = small[y, c]
        if among:
            rows[weights, i] = own
