"""Landmark diffusion maps: the slowest modes in which a random walk on the points mixes.

The walk steps from point to point by a Gaussian kernel of their distance. Landmarks represent all points by their
masses, and any other point is placed by where a step from it leads (the Nystrom extension).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from driftmap.embedding.base import Configured, check_between, check_stored
from driftmap.embedding.kernels import KernelMap, PlacedByKernels
from driftmap.utils import Array, validation
from driftmap.utils.concurrency import one_thread

EIGENVALUE_ROUNDING = 1e-10
"""An eigenvalue below this is rounding noise and not a dimension; the largest is 1."""
BANDWIDTH = 1.25
"""The automatic bandwidth, in spacings of the landmarks."""


class LandmarkDiffusionMap(PlacedByKernels, Configured):
    """Diffusion map of the landmarks with their masses; other points by the Nystrom extension.

    Coordinate i is the i-th eigenfunction of the walk after the constant one, times its eigenvalue to the power of
    ``time``. Fewer eigenvalues above 0 than components: the missing coordinates are 0 and ``n_dimensions_`` says how
    many are real.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    alpha : float
        How much of the density of the points is taken out: 0 none, 1 all of it, so that only the shape counts.
    time : float
        Steps of the walk: the larger, the less quickly mixing directions count.
    bandwidth : float or None
        sigma of the kernel ``exp(-d^2 / 2 sigma^2)``; None: 1.25 times the median
        distance of a landmark to its nearest other one.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.linspace(0, 1, 30)
    >>> between = np.abs(line[:, None] - line)
    >>> embedding = LandmarkDiffusionMap(n_components=1, bandwidth=0.1).fit(between)
    >>> first = embedding.coordinates_[:, 0]  # a cosine over the line, or its mirror image
    >>> bool(np.corrcoef(np.cos(np.pi * line), first)[0, 1] ** 2 > 0.99)
    True
    """

    coordinates_: Array
    """Positions of the landmarks, (m, k)."""
    n_dimensions_: int
    """Number of real coordinates among the k; the others are 0."""
    eigenvalues_: Array
    """Eigenvalues of the walk, largest first, (m,); the first is 1."""
    bandwidth_: float
    """sigma"""

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 1.0,
        time: float = 0.0,
        bandwidth: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.time = time
        self.bandwidth = bandwidth

    def check(self, n_landmarks: int) -> None:
        """Raise an error for parameters that no stream could satisfy."""
        validation.positive_number(self.alpha, "alpha", or_zero=True)
        validation.positive_number(self.time, "time", or_zero=True)
        if self.bandwidth is not None:
            validation.positive_number(self.bandwidth, "bandwidth")

    def fit(self, distances: Array, masses: Array | None = None) -> Self:
        """Place landmarks given their (m, m) distances and the number of points that each one represents."""
        distances = check_between(distances)
        masses = validation.positive_masses(masses, len(distances))
        self.check(len(distances))
        self.bandwidth_ = self.bandwidth or BANDWIDTH * spacing(distances)
        with one_thread():
            self._take(landmark_walk(distances, masses / masses.sum(), self.bandwidth_, self.alpha), distances)
        return self

    def _take(self, walk: Walk, distances: Array) -> None:
        """Set the first eigenfunctions, and the quantities that extend them to other points."""
        self.eigenvalues_ = walk.eigenvalues
        k = self.n_dimensions_ = min(self.n_components, max(int(np.sum(walk.eigenvalues > EIGENVALUE_ROUNDING)) - 1, 0))
        numerators = np.zeros((len(distances), self.n_components))
        numerators[:, :k] = walk.numerators[:, 1 : k + 1] * walk.eigenvalues[1 : k + 1] ** (self.time - 1.0)
        self._extend(numerators, walk.denominators, distances)

    def _extend(self, numerators: Array, denominators: Array, distances: Array) -> None:
        """Place points at ``kernels @ numerators / kernels @ denominators``, landmarks among them."""
        m, k = numerators.shape
        rates, columns = np.full(m, 0.5 / self.bandwidth_**2), np.column_stack([numerators, denominators])
        self._map = KernelMap(rates, columns, np.zeros(k + 1), normalised=True)
        self.coordinates_ = self._map.place(distances)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        names = ("bandwidth_", "eigenvalues_", "n_dimensions_")
        return {"columns": self._map.columns} | {name: getattr(self, name) for name in names}

    def restore(self, distances: Array, masses: Array, state: dict[str, Any]) -> Self:
        """Restore a state, or raise an error that says why it is invalid."""
        distances = check_between(distances)
        columns, eigenvalues = state["columns"], state["eigenvalues_"]
        check_stored("columns", columns, (len(distances), self.n_components + 1))
        check_stored("eigenvalues", eigenvalues, (len(eigenvalues),))
        if not (columns[:, -1] > 0).all():
            raise ValueError("its denominators are not positive")
        self.eigenvalues_, self.bandwidth_ = eigenvalues, validation.positive_number(state["bandwidth_"], "bandwidth")
        n_dimensions = validation.integer_at_least(state["n_dimensions_"], "n_dimensions", 0)
        self.n_dimensions_ = min(n_dimensions, self.n_components)
        self._extend(columns[:, :-1], columns[:, -1], distances)
        return self


class Walk(NamedTuple):
    """Eigenfunctions of a random walk on points, given by their kernel with the landmarks.

    Eigenfunction i is ``kernel @ numerators[:, i] / kernel @ denominators``, divided by its eigenvalue. Its mean square
    over the walk's stationary distribution is 1.
    """

    eigenvalues: Array
    """Largest first, (m,)."""
    numerators: Array
    """(m, m)"""
    denominators: Array
    """(m,)"""


def spacing(distances: Array) -> float:
    """Return the median distance of a landmark to its nearest other one in another place; 1 if there is none.

    >>> import numpy as np
    >>> line = np.array([0.0, 1.0, 3.0, 7.0])
    >>> spacing(np.abs(line[:, None] - line))
    1.5
    """
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    nearest = nearest[nearest < np.inf]
    return float(np.median(nearest)) if len(nearest) else 1.0


def landmark_walk(distances: Array, shares: Array, bandwidth: float, alpha: float) -> Walk:
    """Return the walk on landmarks with these (m, m) distances and shares in the mass."""
    kernel = np.exp(-0.5 * (distances / bandwidth) ** 2)
    density = kernel @ shares
    rates = kernel / np.outer(density, density) ** alpha
    degrees = rates @ shares
    roots = np.sqrt(shares / degrees)
    values, vectors = np.linalg.eigh(roots[:, None] * rates * roots)
    values, vectors = values[::-1], _with_signs(vectors[:, ::-1])
    functions = vectors / np.sqrt(shares * degrees / (shares @ degrees))[:, None]
    weights = shares / density**alpha
    return Walk(values, functions * weights[:, None], weights)


def _with_signs(vectors: Array) -> Array:
    """Return eigenvectors whose entry of largest size is positive."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
