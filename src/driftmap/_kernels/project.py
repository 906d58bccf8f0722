"""Placing points by landmark MDS."""

from driftmap._kernels.compiler import jit


@jit
def project(distances, mean_squared, projection, out):
    """out = -1/2 projection (distances^2 - mean_squared), row by row, always in the same order of summation."""
    k, m = projection.shape
    for row in range(distances.shape[0]):
        for c in range(k):
            out[row, c] = 0.0
        for j in range(m):
            gap = -0.5 * (distances[row, j] * distances[row, j] - mean_squared[j])
            for c in range(k):
                out[row, c] += projection[c, j] * gap
