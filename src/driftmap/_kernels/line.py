"""Stress placement on the line, where a loss has many minima: the least of all is found.

The loss of a position y is the sum over fixed points p of ``weight * (distance - |y - p|)^2``.
"""

import numpy as np

from driftmap._kernels.compiler import jit_dividing, jit_inner_dividing


@jit_inner_dividing
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


@jit_inner_dividing
def loss_on_line(y, points, distances, weights):
    """The loss at y."""
    total = 0.0
    for j in range(len(points)):
        residual = distances[j] - abs(y - points[j])
        total += weights[j] * residual * residual
    return total


@jit_dividing
def place_rows_on_line(squared, points, weights, order, coordinates, target):
    """Place points where their losses are least, given squared distances to the fixed points.

    These ascend; ``order`` says where their squared distances are. ``target`` has room for as many.
    """
    for i in range(squared.shape[0]):
        for j in range(len(order)):
            target[j] = np.sqrt(max(squared[i, order[j]], 0.0))
        coordinates[i, 0] = best_on_line(points, target, weights)


@jit_dividing
def arrange_on_line(distances, weights, points, tolerance, max_iter, order, ascending, target, weighing):
    """Put one point after the other where its loss is least, until a sweep moves none farther than the tolerance.

    Since points jump over each other, this finds its way out of the many orders in which SMACOF, and any other descent,
    comes to rest. ``order`` sorts the points, before and after; the last three, to work in, have room for all but one.
    Returns the number of sweeps.
    """
    a = len(order)
    for sweep in range(max_iter):
        farthest = 0.0
        for i in range(a):
            at = 0  # its rank
            while order[at] != i:
                at += 1
            for j in range(a - 1):
                other = order[j] if j < at else order[j + 1]
                ascending[j], target[j], weighing[j] = points[other], distances[i, other], weights[other]
            y = best_on_line(ascending, target, weighing)
            # by the sum of squares, which cancels nothing: no move on the word of rounding errors
            before = loss_on_line(points[i], ascending, target, weighing)
            if not loss_on_line(y, ascending, target, weighing) < before:
                continue
            farthest = max(farthest, abs(y - points[i]))
            points[i] = y
            while at > 0 and points[order[at - 1]] > y:
                order[at] = order[at - 1]
                at -= 1
            while at < a - 1 and points[order[at + 1]] < y:
                order[at] = order[at + 1]
                at += 1
            order[at] = i
        if farthest <= tolerance:
            return sweep + 1
    return max_iter
