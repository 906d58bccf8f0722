"""Distances, always summed in the same order."""

from driftmap._kernels.compiler import jit, jit_inner


@jit_inner
def squared_distance(x, y):
    """Canonical squared Euclidean distance: coordinates in order."""
    total = 0.0
    for k in range(x.shape[0]):
        gap = x[k] - y[k]
        total += gap * gap
    return total


@jit_inner
def squared_within(x, y, limit):
    """As :func:`squared_distance` where that is at most the limit; else something larger than the limit, sooner."""
    total = 0.0
    k, d = 0, x.shape[0]
    while k < d and total <= limit:
        stop = min(k + 16, d)
        while k < stop:
            gap = x[k] - y[k]
            total += gap * gap
            k += 1
    return total


@jit_inner
def squared_distances(x, y, z):
    """Squared distances of x to y and to z: two sums side by side take the time of one."""
    to_y, to_z = 0.0, 0.0
    for k in range(x.shape[0]):
        gap = x[k] - y[k]
        to_y += gap * gap
        gap = x[k] - z[k]
        to_z += gap * gap
    return to_y, to_z


@jit_inner
def distances_to_all(x, columns, out):
    """Squared distances of x to the first points in ``columns`` (d, m or more); the loop over points is innermost."""
    m = out.shape[0]
    for j in range(m):
        out[j] = 0.0
    for k in range(x.shape[0]):
        coordinate = x[k]
        for j in range(m):
            gap = coordinate - columns[k, j]
            out[j] += gap * gap


@jit
def cross_squared(X, columns, out):
    """Squared distances of all rows of X to the points in ``columns`` (d, m)."""
    d, m = columns.shape
    whole = d - d % 4
    for row in range(X.shape[0]):
        for j in range(m):
            out[row, j] = 0.0
        for k in range(0, whole, 4):  # four at a time: the sums, still in order, are loaded and stored less often
            w, x, y, z = X[row, k], X[row, k + 1], X[row, k + 2], X[row, k + 3]
            for j in range(m):
                first, second = w - columns[k, j], x - columns[k + 1, j]
                third, fourth = y - columns[k + 2, j], z - columns[k + 3, j]
                out[row, j] = out[row, j] + first * first + second * second + third * third + fourth * fourth
        for k in range(whole, d):
            for j in range(m):
                gap = X[row, k] - columns[k, j]
                out[row, j] += gap * gap
