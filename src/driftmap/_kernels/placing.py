"""Stress placement: fixed points arranged among themselves, and other points placed by their distances to them.

The loss of a position y is the sum over fixed points p of ``weight * (distance - |y - p|)^2``. Fixed points come as
columns, (k, a), so that the innermost loops run over them without a branch. Sums are taken in their order: reordered
for speed (twice as fast) they came out differently in the process that compiled the code and in those that loaded it.
"""

from typing import Any

import numba
import numpy as np

from driftmap._kernels.compiler import WITHOUT_DOOR

# error_model: a check for division by zero would keep the loops from being vectorised
_HOW: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"nsz"}}
jit = numba.njit(**_HOW)
jit_inner = numba.njit(**_HOW, **WITHOUT_DOOR)

# A curvature that is not positive is replaced by a positive one with at least this share of the majoriser's.
FLOOR = 1e-3
HALVINGS = 2
# A step that is not Newton's own ends the search only if it is shorter than this share of the tolerance.
SUSPICION = 1e-3


@jit_inner
def targets_of(distances, coefficients, offsets, squared, out):
    """Distances of one row to the fixed points: given, or root of ``coefficients' distances^2 + offsets``."""
    m, a = coefficients.shape
    if m == 0:
        for j in range(a):
            out[j] = distances[j]
        return
    for i in range(m):
        squared[i] = distances[i] * distances[i]
    for j in range(a):
        out[j] = offsets[j]
    whole = m - m % 4
    for i in range(0, whole, 4):  # four at a time: the sums are loaded and stored less often
        w, x, y, z = squared[i], squared[i + 1], squared[i + 2], squared[i + 3]
        for j in range(a):
            first = coefficients[i, j] * w + coefficients[i + 1, j] * x
            out[j] += first + (coefficients[i + 2, j] * y + coefficients[i + 3, j] * z)
    for i in range(whole, m):
        x = squared[i]
        for j in range(a):
            out[j] += coefficients[i, j] * x
    for j in range(a):
        out[j] = np.sqrt(max(out[j], 0.0))


# --- two and more dimensions: Newton's method ------------------------------------------------------------------------


@jit_inner
def loss_at(y, points, distances, weights, lengths):
    """The loss at y; the lengths |y - p| are left in ``lengths``."""
    k, a = points.shape
    for j in range(a):
        lengths[j] = 0.0
    for c in range(k):
        at = y[c]
        for j in range(a):
            gap = at - points[c, j]
            lengths[j] += gap * gap
    total = 0.0
    for j in range(a):
        length = np.sqrt(lengths[j])
        lengths[j] = length
        residual = distances[j] - length
        total += weights[j] * residual * residual
    return total


@jit_inner
def derivatives(y, points, distances, weights, lengths, pull, gradient, curvature):
    """Half the gradient and half the second derivatives of the loss at y, without their part s I; returns s.

    With q = weight * distance / length the gradient is the sum of (weight - q) (y - p), and the second derivatives are
    s I plus the sum of q u u', where u is the direction of y - p and s the sum of weight - q. A point at y itself has
    no direction and pulls nowhere, as in SMACOF.
    """
    k, a = points.shape
    slack = 0.0
    for j in range(a):
        length = lengths[j]
        inverse = 1.0 / length if length > 0.0 else 0.0
        q = weights[j] * distances[j] * inverse
        slack += weights[j] - q
        pull[j] = q
        lengths[j] = q * inverse * inverse
    for c in range(k):
        at = y[c]
        total = 0.0
        for j in range(a):
            total += (weights[j] - pull[j]) * (at - points[c, j])
        gradient[c] = total
        for b in range(c + 1):
            across = y[b]
            total = 0.0
            for j in range(a):
                total += lengths[j] * (at - points[c, j]) * (across - points[b, j])
            curvature[c, b] = total
    return slack


@jit_inner
def solve(matrix, shift, vector, lower, out):
    """Solve (matrix + shift I) out = vector by Cholesky; False if that matrix is not positive definite."""
    k = len(vector)
    for c in range(k):
        for b in range(c + 1):
            total = matrix[c, b]
            if b == c:
                total += shift
            for i in range(b):
                total -= lower[c, i] * lower[b, i]
            if b < c:
                lower[c, b] = total / lower[b, b]
            elif total > 0.0:
                lower[c, c] = np.sqrt(total)
            else:
                return False
    for c in range(k):
        total = vector[c]
        for i in range(c):
            total -= lower[c, i] * out[i]
        out[c] = total / lower[c, c]
    for c in range(k - 1, -1, -1):
        total = out[c]
        for i in range(c + 1, k):
            total -= lower[i, c] * out[i]
        out[c] = total / lower[c, c]
    return True


@jit_inner
def settle(y, points, distances, weights, weight, tolerance, max_iter, rows, small):
    """Move y downhill until a step is shorter than the tolerance; returns its loss.

    Newton's step, shortened where it does not go down; then SMACOF's (the gradient over the total weight), which never
    goes up but for rounding. ``rows`` (2, a) and ``small`` (2 k + 3, k) are for intermediate results.
    """
    k = len(y)
    lengths, pull = rows[0], rows[1]
    gradient, step, there, curvature, lower = small[0], small[1], small[2], small[3 : 3 + k], small[3 + k :]
    loss = loss_at(y, points, distances, weights, lengths)
    for _ in range(max_iter):
        slack = derivatives(y, points, distances, weights, lengths, pull, gradient, curvature)
        sure = found = solve(curvature, slack, gradient, lower, step)
        if not found:
            found = solve(curvature, max(slack, FLOOR * weight), gradient, lower, step)
        new = np.inf
        if found:
            for _ in range(1 + HALVINGS):
                for c in range(k):
                    there[c] = y[c] - step[c]
                new = loss_at(there, points, distances, weights, lengths)
                if new <= loss:
                    break
                sure = False
                for c in range(k):
                    step[c] *= 0.5
        if not new <= loss:
            for c in range(k):
                there[c] = y[c] - gradient[c] / weight
            new = loss_at(there, points, distances, weights, lengths)
            if not new <= loss:
                break
        moved = 0.0
        for c in range(k):
            moved += (there[c] - y[c]) ** 2
            y[c] = there[c]
        loss = new
        # Newton's own steps shrink to their square, so the last one says what is left; others may be short anywhere.
        if moved <= (tolerance if sure else SUSPICION * tolerance) ** 2:
            break
    return loss


@jit
def place_rows(distances, coefficients, offsets, points, weights, coordinates, losses, tolerance, max_iter):
    """Settle each row of ``coordinates``, given its distances to the fixed points, or to landmarks that tell them."""
    k, a = points.shape
    rows, small, target = np.empty((2, a)), np.empty((2 * k + 3, k)), np.empty(a)
    squared = np.empty(distances.shape[1])
    weight = 0.0
    for j in range(weights.shape[0]):
        weight += weights[j]
    for i in range(distances.shape[0]):
        targets_of(distances[i], coefficients, offsets, squared, target)
        losses[i] = settle(coordinates[i], points, target, weights, weight, tolerance, max_iter, rows, small)


@jit
def arrange(distances, weights, points, tolerance, max_iter):
    """Settle the points against each other, one at a time, until a sweep moves them less than the tolerance.

    The loss is that of weighted SMACOF, with weights w_i w_j, and never goes up. Returns the number of sweeps.
    """
    k, a = points.shape
    rows, small, y = np.empty((2, a)), np.empty((2 * k + 3, k)), np.empty(k)
    others, weight = weights.copy(), weights.sum()
    for sweep in range(max_iter):
        moved = 0.0
        for i in range(a):
            others[i] = 0.0
            for c in range(k):
                y[c] = points[c, i]
            settle(y, points, distances[i], others, weight - weights[i], 0.0, 1, rows, small)
            for c in range(k):
                moved += weights[i] * (y[c] - points[c, i]) ** 2
                points[c, i] = y[c]
            others[i] = weights[i]
        if moved <= tolerance * tolerance * weight:
            return sweep + 1
    return max_iter


# --- one dimension: the least loss of all ----------------------------------------------------------------------------


@jit_inner
def best_on_line(points, distances, weights):
    """The position on the line with the least loss; the fixed points ascend.

    Between two neighbours all signs of y - p are fixed and the loss is a parabola, W y^2 - 2 b y + c: the least of all
    is the least of a + 1 parabolas, and each b and c follow from the ones before.
    """
    a = len(points)
    weight, b, c = 0.0, 0.0, 0.0
    for j in range(a):
        gap = points[j] - distances[j]
        weight += weights[j]
        b += weights[j] * gap
        c += weights[j] * gap * gap
    best, least, low = 0.0, np.inf, -np.inf
    for j in range(a + 1):
        high = points[j] if j < a else np.inf
        y = min(max(b / weight, low), high)
        loss = (weight * y - 2.0 * b) * y + c
        if loss < least:
            best, least = y, loss
        if j < a:
            b += 2.0 * weights[j] * distances[j]
            c += 4.0 * weights[j] * distances[j] * points[j]
        low = high
    return best


@jit_inner
def loss_on_line(y, points, distances, weights):
    """The loss at y."""
    total = 0.0
    for j in range(len(points)):
        residual = distances[j] - abs(y - points[j])
        total += weights[j] * residual * residual
    return total


@jit
def place_rows_on_line(distances, coefficients, offsets, points, weights, coordinates, losses, order):
    """Place each row where its loss is least; as :func:`place_rows`, for one dimension and points in this order."""
    a = len(order)
    target, ascending, weighing, there = np.empty(a), points[0][order], weights[order], np.empty(a)
    squared = np.empty(distances.shape[1])
    for i in range(distances.shape[0]):
        targets_of(distances[i], coefficients, offsets, squared, target)
        for j in range(a):
            there[j] = target[order[j]]
        coordinates[i, 0] = best_on_line(ascending, there, weighing)
        losses[i] = loss_on_line(coordinates[i, 0], ascending, there, weighing)


@jit
def arrange_on_line(distances, weights, points, tolerance, max_iter, order):
    """Put one point after the other where its loss is least, until a sweep moves none farther than the tolerance.

    As :func:`arrange`, for one dimension. Since points jump over each other, this finds its way out of the many orders
    in which SMACOF, and any other descent, comes to rest. ``order`` sorts the points, before and after.
    """
    a = len(order)
    ascending, target, weighing = np.empty(a - 1), np.empty(a - 1), np.empty(a - 1)
    for sweep in range(max_iter):
        farthest = 0.0
        for i in range(a):
            at = 0  # its rank
            while order[at] != i:
                at += 1
            for j in range(a - 1):
                other = order[j] if j < at else order[j + 1]
                ascending[j], target[j], weighing[j] = points[0, other], distances[i, other], weights[other]
            y = best_on_line(ascending, target, weighing)
            # by the sum of squares, which cancels nothing: no move on the word of rounding errors
            before = loss_on_line(points[0, i], ascending, target, weighing)
            if not loss_on_line(y, ascending, target, weighing) < before:
                continue
            farthest = max(farthest, abs(y - points[0, i]))
            points[0, i] = y
            while at > 0 and points[0, order[at - 1]] > y:
                order[at] = order[at - 1]
                at -= 1
            while at < a - 1 and points[0, order[at + 1]] < y:
                order[at] = order[at + 1]
                at += 1
            order[at] = i
        if farthest <= tolerance:
            return sweep + 1
    return max_iter
