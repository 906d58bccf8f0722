"""Landmark multidimensional scaling: classical MDS of the landmarks; any other point is placed by its distances to
them.

The paper's section 4. In its symbols: ``coordinates`` is the transpose of L_k, ``projection`` is L'_k, ``mean_squared``
is delta_mu, and a point x with squared landmark distances delta_x goes to ``-1/2 L'_k (delta_x - delta_mu)``.

With masses the landmarks stand for all points nearest to them: the mean is the weighted one, and the axes are those of
W^(1/2) B W^(1/2), where B holds the inner products of the landmarks and W their masses.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftmap import _core
from driftmap.embedding.base import Configured, check_between, check_to_landmarks
from driftmap.utils import Array, validation
from driftmap.utils.concurrency import one_thread

# An eigenvalue below this fraction of the largest is rounding noise, not a dimension of the data.
EIGENVALUE_NOISE = 1e-12


class ClassicalMDS(NamedTuple):
    """Classical MDS of a set of points, and the quantities that place further points."""

    coordinates: Array
    """Position of each point, (m, k); missing dimensions are columns of zeros."""
    projection: Array
    """L'_k, (k, m); missing dimensions are rows of zeros."""
    mean_squared: Array
    """delta_mu, (m,): the (weighted) mean of the squared-distance matrix's columns."""
    eigenvalues: Array
    """All m eigenvalues, largest first."""
    n_dimensions: int
    """Number of real coordinates among the k: the number of positive eigenvalues, at most k."""


def classical_mds(distances: Array, n_components: int, masses: Array | None = None) -> ClassicalMDS:
    """Classical MDS (section 4.1 of the paper) of points given by their (m, m) distances, weighted if masses are given.

    The sign of each eigenvector is fixed so that its entry of largest size is positive.

    >>> import numpy as np
    >>> line = np.array([0.0, 1.0, 3.0])
    >>> mds = classical_mds(np.abs(line[:, None] - line), n_components=1)
    >>> np.abs(np.diff(mds.coordinates[:, 0])).round(6)
    array([1., 2.])
    """
    squared = distances**2
    m = len(squared)
    if masses is None:
        roots = np.ones(m)
        mean_squared = squared.mean(axis=1)
        mean = float(mean_squared.mean())
    else:
        shares = masses / masses.sum()
        roots = np.sqrt(m * shares)  # 1 for equal masses, so that eigenvalues mean the same with and without
        mean_squared = squared @ shares
        mean = float(mean_squared @ shares)
    gram = -0.5 * (squared - mean_squared[:, None] - mean_squared[None, :] + mean)
    gram = roots[:, None] * ((gram + gram.T) / 2) * roots
    eigenvalues, eigenvectors = np.linalg.eigh(gram)
    eigenvalues, eigenvectors = eigenvalues[::-1], eigenvectors[:, ::-1]
    largest = np.argmax(np.abs(eigenvectors), axis=0)
    eigenvectors = eigenvectors * np.where(eigenvectors[largest, np.arange(m)] < 0, -1.0, 1.0)

    real = int(np.sum(eigenvalues[:n_components] > EIGENVALUE_NOISE * max(eigenvalues[0], 0.0)))
    if m == 0 or eigenvalues[0] <= 0:
        real = 0
    scale = np.sqrt(eigenvalues[:real])
    coordinates = np.zeros((m, n_components))
    projection = np.zeros((n_components, m))
    coordinates[:, :real] = eigenvectors[:, :real] * scale / roots[:, None]
    projection[:real] = (eigenvectors[:, :real] / scale * roots[:, None]).T
    return ClassicalMDS(coordinates, projection, mean_squared, eigenvalues, real)


def place(squared_distances: Array, mds: ClassicalMDS) -> Array:
    """Place points from their (n, m) squared distances to the landmarks: -1/2 L'_k (delta_x - delta_mu)."""
    return -0.5 * (squared_distances - mds.mean_squared) @ mds.projection.T


class LandmarkMDS(Configured):
    """Landmark MDS (de Silva and Tenenbaum; the paper's section 4).

    With ``weighted=True`` each landmark counts as the points it stands for, so that the axes are those of the whole
    data set instead of those of the landmarks.

    Fewer positive eigenvalues than components (a constant or collinear stream so far, a distance that is not
    Euclidean): the missing coordinates are 0 and ``n_dimensions_`` says how many are real.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> between = np.linalg.norm(corners[:, None] - corners, axis=2)
    >>> mds = LandmarkMDS(n_components=2).fit(between)
    >>> middle = mds.place(np.array([[2.5, 2.5, 2.5]]))  # as far from each corner
    >>> np.linalg.norm(mds.coordinates_ - middle, axis=1).round(6)
    array([2.5, 2.5, 2.5])
    >>> weighted = LandmarkMDS(n_components=2, weighted=True).fit(between, np.array([1.0, 1.0, 2.0]))
    >>> np.average(weighted.coordinates_, axis=0, weights=[1.0, 1.0, 2.0]).round(6) + 0.0
    array([0., 0.])
    """

    keeps_distances: ClassVar[bool] = True
    coordinates_: Array
    n_dimensions_: int

    def __init__(self, n_components: int = 2, *, weighted: bool = False) -> None:
        self.n_components = n_components
        self.weighted = weighted

    def fit(self, distances: Array, masses: Array | None = None) -> Self:
        """Place landmarks by classical MDS of their (m, m) distances; masses are ignored unless ``weighted``."""
        distances = check_between(distances)
        checked = validation.positive_masses(masses, len(distances))
        weights = checked if self.weighted and masses is not None else None
        with one_thread():
            mds = classical_mds(distances, self.n_components, weights)
        self.coordinates_, self.n_dimensions_ = mds.coordinates, mds.n_dimensions
        self.projection_, self.mean_squared_, self.eigenvalues_ = (
            mds.projection,
            mds.mean_squared,
            mds.eigenvalues,
        )
        return self

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the landmarks: -1/2 L'_k (delta_x - delta_mu)."""
        distances, matrix = check_to_landmarks(distances, len(self.coordinates_)), -0.5 * self.projection_.T
        # not a matrix product: its rounding would depend on the number of rows in the call
        return _core.affine(distances, matrix, -(self.mean_squared_ @ matrix))

    def for_rows(self, landmarks: Array) -> LinearRows:
        """Return an object that places rows of numbers as :meth:`place` places their distances to these landmarks, (m,
        d).

        The rows of the projection sum to 0, so the squares of x in squared distances cancel, and the rest is linear.
        """
        centre = landmarks.mean(axis=0)
        centred = landmarks - centre
        shift = -0.5 * self.projection_ @ ((centred**2).sum(axis=1) - self.mean_squared_)
        return LinearRows(centre, centred.T @ self.projection_.T, shift)

    def state(self) -> dict[str, Any]:
        """Return an empty state: distances and masses determine the map."""
        return {}

    def restore(self, distances: Array, masses: Array, state: dict[str, Any]) -> Self:
        """Restore a state."""
        return self.fit(distances, masses)


class LinearRows(NamedTuple):
    """Places rows of numbers x at ``(x - centre) @ axes + shift``."""

    centre: Array
    """(d,)"""
    axes: Array
    """(d, k)"""
    shift: Array
    """(k,)"""

    def moved(self, rotation: Array, translation: Array) -> LinearRows:
        """Return the same function on a map that is rotated and shifted."""
        return LinearRows(self.centre, self.axes @ rotation, self.shift @ rotation + translation)

    def place(self, X: Array) -> Array:
        """Return the positions of rows, each independent of the others."""
        return _core.affine(X, self.axes, self.shift, self.centre)
