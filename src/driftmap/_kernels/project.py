"""Products of matrices whose rows come out as they would alone, to the bit: sums are always in the same order."""

from driftmap._kernels.compiler import jit


@jit
def project(distances, mean_squared, projection, out):
    """Landmark MDS: out = -1/2 projection (distances^2 - mean_squared), row by row."""
    k, m = projection.shape
    for row in range(distances.shape[0]):
        for c in range(k):
            out[row, c] = 0.0
        for j in range(m):
            gap = -0.5 * (distances[row, j] * distances[row, j] - mean_squared[j])
            for c in range(k):
                out[row, c] += projection[c, j] * gap


@jit
def project_rows(X, centre, axes, shift, out):
    """out = axes (x - centre) + shift for each row x."""
    k, d = axes.shape
    for row in range(X.shape[0]):
        for c in range(k):
            total = shift[c]
            for j in range(d):
                total += axes[c, j] * (X[row, j] - centre[j])
            out[row, c] = total


@jit
def infer_squared(distances, coefficients, offsets, out):
    """out = distances^2 coefficients + offsets, row by row."""
    m, a = coefficients.shape
    whole = m - m % 4
    for row in range(distances.shape[0]):
        for j in range(a):
            out[row, j] = offsets[j]
        for i in range(0, whole, 4):  # four at a time: the sums are loaded and stored less often
            w, x = distances[row, i] ** 2, distances[row, i + 1] ** 2
            y, z = distances[row, i + 2] ** 2, distances[row, i + 3] ** 2
            for j in range(a):
                first = coefficients[i, j] * w + coefficients[i + 1, j] * x
                out[row, j] += first + (coefficients[i + 2, j] * y + coefficients[i + 3, j] * z)
        for i in range(whole, m):
            x = distances[row, i] ** 2
            for j in range(a):
                out[row, j] += coefficients[i, j] * x
