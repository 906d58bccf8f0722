"""Stress placement: landmarks and points go where their distances on the map are as near to the true ones as possible.

Classical MDS fits inner products; this fits the distances themselves, the measure by which a map is judged
(:func:`driftmap.quality.stress`). The loss of the landmarks is that of weighted SMACOF, the sum of
``w_i w_j (d_ij - |y_i - y_j|)^2`` over pairs; that of a point is the sum of ``w_i (d_i - |y - y_i|)^2``.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from driftmap import checks
from driftmap.embedding.anchors import Inference, infer_distances
from driftmap.embedding.lmds import ClassicalMDS, check_masses, classical_mds

Array = NDArray[np.float64]

# A start whose extent in some direction is below this share of its largest one says nothing about that direction.
FLAT = 1e-6


class LandmarkStress:
    """Landmarks by weighted stress from their masses, points by stress from their distances to the landmarks.

    The landmarks start from mass-weighted classical MDS, or from ``start``, and are moved one at a time by Newton steps
    until a sweep moves them less than ``tol`` times the map's size (root mean square); the stress never goes up. The
    minimum is SMACOF's, in a tenth of the time. A point starts from its landmark-MDS position and takes Newton steps
    until one is shorter than that; its loss never goes up either. In one dimension, where there are many minima, a
    point goes to the best of all, and each landmark to the best given the others.

    Given ``anchors`` (a sample of the stored points, from :func:`~driftmap.embedding.choose_anchors`) the map is fitted
    to these and points are placed by their distances to them, which follow from their distances to the landmarks
    (:mod:`driftmap.embedding.anchors`): nothing more is measured, and the map comes close to SMACOF on all points.
    Points can also be placed by measured distances to any weighted set of points: give ``fit`` the distances
    and masses of that set, as if all of them were landmarks.

    Fewer dimensions than components (one landmark, a line): the missing coordinates are 0 and ``n_dimensions_`` says
    how many are real.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    tol : float
        When to stop, relative to the map's size.
    max_iter : int
        The most sweeps of a fit, and the most steps of a point.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> between = np.linalg.norm(corners[:, None] - corners, axis=2)
    >>> embedding = LandmarkStress(n_components=2).fit(between, np.array([1.0, 1.0, 2.0]))
    >>> middle = embedding.place(np.array([[2.5, 2.5, 2.5]]))  # as far from each corner
    >>> np.linalg.norm(embedding.coordinates_ - middle, axis=1).round(6)
    array([2.5, 2.5, 2.5])
    >>> bool(embedding.residuals(np.array([[2.5, 2.5, 9.0]]))[0] > 1)  # there is no such point in the plane
    True
    """

    coordinates_: Array
    """Positions of the landmarks, (m, k)."""
    n_dimensions_: int
    """How many of the k coordinates are real; the others are 0."""
    anchor_coordinates_: Array
    """Positions of the points that others are placed by, (a, k): the anchors, or the landmarks if there are none."""
    stress_: float
    """Normalised stress of these positions: root of the weighted mean of (d - |y - y'|)^2 over that of d^2."""
    n_iter_: int
    """Number of sweeps."""

    def __init__(self, n_components: int = 2, *, tol: float = 1e-5, max_iter: int = 500) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        distances: Array,
        masses: Array | None = None,
        *,
        anchors: Array | None = None,
        anchor_masses: Array | None = None,
        start: Array | None = None,
    ) -> Self:
        """Place landmarks given their (m, m) distances and how many points each one stands for.

        Parameters
        ----------
        anchors, anchor_masses : (a, m) and (a,)
            Distances of the anchors to the landmarks, and how many points each anchor stands for.
        start : (m, k), or (a, k) with anchors
            Where to start, for example the positions on the last map. Not used where it is flat in some direction that
            the points are not.
        """
        from driftmap.embedding._placing import arrange, arrange_on_line

        checks.positive_number(self.tol, "tol")
        landmarks = np.ascontiguousarray(distances, dtype=np.float64)
        weights = check_masses(masses, len(landmarks))
        targets, self._inference = landmarks, Inference(np.empty((0, len(landmarks))), np.empty(0))
        if anchors is not None:
            anchors = np.asarray(anchors, dtype=np.float64)
            self._inference = infer_distances(landmarks, weights, anchors)
            weights = check_masses(anchor_masses, len(anchors))
            targets = self._inference.between_anchors(anchors)
        self._weights = weights / weights.sum()

        mds = classical_mds(targets, self.n_components, weights)
        real = self.n_dimensions_ = mds.n_dimensions
        first = self._usable(start, real, len(targets))
        positions = mds.coordinates[:, :real] if first is None else first
        size = float(np.sqrt(self._weights @ (mds.coordinates**2).sum(axis=1)))
        columns = np.ascontiguousarray(positions.T)
        if real == 1:
            self._order = np.argsort(columns[0], kind="stable")
            what = (targets, self._weights, columns, self._order)
            self.n_iter_ = arrange_on_line(*what, self.tol * size, self.max_iter)
        else:
            self.n_iter_ = arrange(targets, self._weights, columns, self.tol * size, self.max_iter) if real else 0
        self._columns = columns - (columns @ self._weights)[:, None]
        self._tolerance = self.tol * size
        self.anchor_coordinates_ = self._padded(self._columns.T)
        self.stress_ = weighted_stress(targets, self.anchor_coordinates_, self._weights)
        self._projection, self._shift = start_map(mds, self._columns.T, self._weights, self._inference)
        self.coordinates_ = self.anchor_coordinates_ if anchors is None else self.place(landmarks)
        return self

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the landmarks; each row by itself."""
        return self._settle(distances)[0]

    def residuals(self, distances: Array) -> Array:
        """Per row of landmark distances, the root of the weighted mean squared error of its distances on the map."""
        return np.sqrt(self._settle(distances)[1])

    def _settle(self, distances: Array) -> tuple[Array, Array]:
        """Positions of points and their losses."""
        from driftmap.embedding._placing import place_rows, place_rows_on_line

        distances = np.ascontiguousarray(distances, dtype=np.float64)
        losses = np.empty(len(distances))
        coordinates = self._starts(distances)
        how = (distances, *self._inference, self._columns, self._weights)
        if self.n_dimensions_ == 1:
            place_rows_on_line(*how, self._order, coordinates, losses)
        else:
            place_rows(*how, self._tolerance, self.max_iter, coordinates, losses)
        return self._padded(coordinates), losses

    def _starts(self, distances: Array) -> Array:
        """Where points start, (n, n_dimensions_)."""
        from driftmap._kernels.project import project

        out = np.empty((len(distances), self.n_dimensions_))
        project(distances, np.zeros(distances.shape[1]), self._projection, out)
        return out + self._shift

    def _padded(self, coordinates: Array) -> Array:
        return np.pad(coordinates, ((0, 0), (0, self.n_components - coordinates.shape[1])))

    def _usable(self, start: Array | None, real: int, n: int) -> Array | None:
        """The start if it has a coordinate for every dimension; else from classical MDS, which knows them all."""
        if start is None:
            return None
        start = np.asarray(start, dtype=np.float64)
        if start.shape != (n, self.n_components):
            raise ValueError(f"start must have shape {(n, self.n_components)}, got {start.shape}")
        extents = np.linalg.svd((start - self._weights @ start) * np.sqrt(self._weights)[:, None], compute_uv=False)
        return start if real == self.n_components and extents[-1] > FLAT * extents[0] else None


def weighted_stress(distances: Array, coordinates: Array, weights: Array) -> float:
    """Normalised stress of points with weights: root of sum w w' (d - |y - y'|)^2 / sum w w' d^2 over all pairs.

    >>> import numpy as np
    >>> weighted_stress(np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[0.0], [1.0]]), np.array([1.0, 5.0]))
    0.5
    """
    lengths = np.linalg.norm(coordinates[:, None] - coordinates, axis=2)
    below = weights @ distances**2 @ weights
    return float(np.sqrt(weights @ (distances - lengths) ** 2 @ weights / below)) if below > 0 else 0.0


def start_map(mds: ClassicalMDS, positions: Array, weights: Array, inference: Inference) -> tuple[Array, Array]:
    """Where a point starts, ``-1/2 projection squared + shift``: its place in landmark MDS, carried over to this map.

    The carrying is the affine map that best brings the fixed points from their places in classical MDS to their
    positions: it takes up what stress has moved all of them, so few Newton steps are left.
    """
    real = positions.shape[1]
    places = np.column_stack([mds.coordinates[:, :real], np.ones(len(positions))]) * np.sqrt(weights)[:, None]
    affine = np.linalg.lstsq(places, positions * np.sqrt(weights)[:, None], rcond=None)[0]
    projection = affine[:real].T @ mds.projection[:real]
    shift = affine[real] + 0.5 * projection @ mds.mean_squared
    if len(inference.offsets):
        return np.ascontiguousarray(projection @ inference.coefficients.T), shift - 0.5 * projection @ inference.offsets
    return np.ascontiguousarray(projection), shift
