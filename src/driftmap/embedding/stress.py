"""Stress placement: landmarks and points go where their distances on the map are as near to the true ones as possible.

Classical MDS fits inner products; this fits the distances themselves, the measure by which a map is judged
(:func:`driftmap.quality.stress`). The loss of the landmarks is that of weighted SMACOF, the sum of
``w_i w_j (d_ij - |y_i - y_j|)^2`` over pairs; that of a point is the sum of ``w_i (d_i - |y - y_i|)^2``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from driftmap import _core
from driftmap.embedding.anchors import Inference, infer_distances
from driftmap.embedding.base import (
    FLAT,
    Anchors,
    Configured,
    check_arrivals,
    check_between,
    check_stored,
    check_to_landmarks,
)
from driftmap.embedding.stress_fit import arrange, cold_fit, make_placer, trilateration
from driftmap.embedding.stress_placer import StressPlacer
from driftmap.metrics import euclidean
from driftmap.utils import Array, validation
from driftmap.utils.concurrency import one_thread

# A cold fit replaces a warm start whose stress is more than this many times as large.
MOST_WARM_STRESS = 1.01
# The shares of exchanged landmarks and of added mass after which a warm start is compared with a cold fit.
COLD_FIT_SHARE, COLD_FIT_GROWTH = 0.25, 0.05


class LandmarkStress(Configured):
    """Landmarks by weighted stress from their masses, points by stress from their distances to the landmarks.

    The landmarks start from mass-weighted classical MDS and move one at a time by Newton steps, until a sweep moves
    them less than ``tol`` times the map's size (root mean squares); the stress never goes up. It converges to
    the local minima of SMACOF, in less time. The best of several starts is used; these are views of classical MDS in
    one more dimension. A point starts from its place in landmark MDS and takes Newton steps that do not increase its
    loss beyond rounding, until one is shorter than that; outside the map, in polar coordinates around the map's centre.
    In one dimension, which has many local minima, each point goes to the global one, and each landmark to the global
    one given the others.

    Given ``anchors`` (a sample of the stored points, from :func:`~driftmap.embedding.choose_anchors`) the map is fitted
    to these and points are placed by their distances to them, which follow from their distances to the landmarks
    (:mod:`driftmap.embedding.anchors`): nothing more is measured, and the map comes close to SMACOF on all points.
    Points can also be placed by measured distances to any weighted set of points: give ``fit`` the distances and masses
    of that set, as if all of them were landmarks.

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
    steadiness : float
        Weight of the squared distance between a point's place and where landmark MDS puts it, added to its stress. That
        place is linear in squared distances, so single points jump less from frame to frame; stress becomes a little
        larger. Not on the line.
    max_warm_iter : int
        The most sweeps of a warm start (a fit with ``start``). Few of them make a map that changes gradually: where the
        stream bends the map into another shape, it gets there over several fits.

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

    needs: ClassVar[frozenset[str]] = frozenset({"anchors", "start"})
    keeps_distances: ClassVar[bool] = True
    n_dimensions_: int
    """Number of real coordinates among the k; the others are 0."""
    anchors_: Anchors
    """The points by which others are placed: those given to ``fit``, or the landmarks."""
    anchor_coordinates_: Array
    """Positions of the anchors, (a, k)."""
    stress_: float
    """Normalised stress of these positions: root of the weighted mean of ``(d - |y - y'|)^2`` over that of d^2."""
    cold_stress_: float
    """Stress of the last cold fit: this one, or one before it."""
    n_iter_: int
    """Number of sweeps."""
    _n_exchanged: int
    """Landmarks exchanged since the last cold fit."""
    _cold_mass: float
    """Mass of the anchors at the last cold fit."""
    _inference: Inference | None
    _anchor_squared: Array
    _coordinates: Array | None

    def __init__(
        self,
        n_components: int = 2,
        *,
        steadiness: float = 0.0,
        tol: float = 1e-5,
        max_iter: int = 500,
        max_warm_iter: int = 1,
    ) -> None:
        self.n_components = n_components
        self.steadiness = steadiness
        self.tol = tol
        self.max_iter = max_iter
        self.max_warm_iter = max_warm_iter

    def check(self, n_landmarks: int) -> None:
        """Raise an error for parameters that no stream could satisfy."""
        validation.positive_number(self.steadiness, "steadiness", or_zero=True)
        validation.positive_number(self.tol, "tol")
        validation.integer_at_least(self.max_iter, "max_iter", 1)
        validation.integer_at_least(self.max_warm_iter, "max_warm_iter", 1)

    def fit(
        self,
        distances: Array,
        masses: Array | None = None,
        *,
        anchors: Anchors | None = None,
        start: Array | None = None,
    ) -> Self:
        """Place landmarks given their (m, m) distances and how many points each one stands for.

        With a ``start``, the stress of the last cold fit, ``cold_stress_``, is trusted until a quarter of the landmarks
        have been exchanged or the mass has grown by 5 %: a warm fit with at most 1.01 times as much is taken as it is,
        without an eigendecomposition. Another one goes on until it rests, and is compared with a cold fit.

        Parameters
        ----------
        anchors : Anchors, optional
            The points to which the map is fitted; the landmarks if not given. If they are measured, ``distances`` and
            ``masses`` are those of the anchors, and points are placed by their distances to these.
        start : (a, k) with anchors, else (m, k)
            Where to start, for example the positions on the last map. Not used where it is flat in some direction that
            the points are not, or where it leads to more than 1.01 times the stress of a cold fit.
        """
        distances = check_between(distances)
        m = len(distances)
        self.check(m)
        masses = validation.positive_masses(masses, m)
        reference, n_exchanged = None, 0
        if anchors is not None and start is not None and hasattr(self, "anchors_"):
            n_exchanged = self._n_exchanged + len(np.setdiff1d(anchors.landmarks, self.anchors_.landmarks))
            has_grown = anchors.masses.sum() > (1 + COLD_FIT_GROWTH) * self._cold_mass
            is_trusted = n_exchanged < COLD_FIT_SHARE * len(anchors.landmarks) and not has_grown
            reference = self.cold_stress_ if is_trusted else None
        self._n_exchanged = n_exchanged
        self.anchors_ = anchors or Anchors(np.arange(m), np.arange(m), masses, None)
        # One thread: matrices this small gain nothing from more, and the bits do not depend on their number.
        with one_thread():
            targets = self._targets(distances, masses)
            positions, self.stress_, self.n_iter_ = self._arranged(targets, start, reference)
            self._take(positions, targets)
        return self

    @property
    def coordinates_(self) -> Array:
        """Return the positions of the landmarks, (m, k)."""
        to_landmarks = self.anchors_.to_landmarks
        if to_landmarks is None:
            return self.anchor_coordinates_
        if self._coordinates is None:  # computed on demand: a map is often made without it
            self._coordinates = self.place(to_landmarks.T if self.anchors_.measured else self._landmarks)
        return self._coordinates

    def _targets(self, distances: Array, masses: Array) -> Array:
        """Return distances between the anchors, (a, a), from those between landmarks and those from anchors to
        landmarks.
        """
        self._landmarks, self._landmark_weights = distances, masses / masses.sum()
        shares, to_landmarks = self.anchors_.masses, self.anchors_.to_landmarks
        self._weights = validation.positive_masses(shares, len(self.anchors_.ids)) / shares.sum()
        if to_landmarks is None or self.anchors_.measured:
            self._inference = None
            return distances
        squared = to_landmarks**2
        self._inference = infer_distances(distances, masses, to_landmarks)
        self._anchor_squared = squared @ self._landmark_weights
        targets = np.sqrt(np.maximum(squared @ self._inference.coefficients + self._inference.offsets, 0.0))
        targets = (targets + targets.T) / 2
        np.fill_diagonal(targets, 0.0)
        return targets

    def _arranged(self, targets: Array, start: Array | None, reference: float | None) -> tuple[Array, float, int]:
        """Return the positions of the anchors, their stress and the number of sweeps; from the start, if that is good
        enough.
        """
        weights, warm = self._weights, None
        if start is not None and self._is_usable(start := np.asarray(start, dtype=np.float64), targets**2):
            warm = arrange(targets, weights, start, self.tol, self.max_warm_iter)
        if warm is not None and reference is not None and warm[1] <= MOST_WARM_STRESS * reference:
            self.cold_stress_ = reference
            return warm
        cold = cold_fit(targets, self.anchors_.masses, self.n_components, self.tol, self.max_iter)
        if warm is not None:
            warm = arrange(targets, weights, warm[0], self.tol, self.max_iter)
            warm = warm if warm[1] <= MOST_WARM_STRESS * cold[1] else None
        self.cold_stress_, self._cold_mass, self._n_exchanged = cold[1], float(self.anchors_.masses.sum()), 0
        return warm or cold

    def _take(self, positions: Array, targets: Array) -> None:
        """Set the positions of the anchors, (a, real), and prepare to place other points by them."""
        placer = make_placer(positions, targets, self.anchors_.masses, self.tol, self.max_iter)
        matrix, offsets = self._inference or (None, None)
        self._placer = replace(
            placer, n_components=self.n_components, matrix=matrix, offsets=offsets, steadiness=self.steadiness
        )
        self.n_dimensions_, self._coordinates = positions.shape[1], None
        self.anchor_coordinates_ = np.pad(positions, ((0, 0), (0, self.n_components - self.n_dimensions_)))

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return self.anchors_._asdict() | {
            "positions": self._placer.positions,
            "stress": self.stress_,
            "cold_stress": self.cold_stress_,
            "n_iter": self.n_iter_,
            "n_exchanged": self._n_exchanged,
            "cold_mass": self._cold_mass,
        }

    def restore(self, distances: Array, masses: Array, state: dict[str, Any]) -> Self:
        """Restore a state, or raise an error that says why it is invalid."""
        distances = check_between(distances)
        anchors = Anchors(*(state[name] for name in Anchors._fields))
        a, m = len(anchors.ids), len(anchors.landmarks)
        check_arrivals("anchors", anchors.ids, a)
        check_arrivals("landmarks", anchors.landmarks, m)
        check_stored("masses", anchors.masses, (a,))
        if anchors.to_landmarks is not None:
            check_stored("distances", anchors.to_landmarks, (a, m))
        elif a != m:
            raise ValueError("it lacks the distances from its anchors to the landmarks")
        if len(distances) != (a if anchors.measured else m):
            raise ValueError("its distances are not those of its anchors or landmarks")
        positions = state["positions"]
        check_stored("positions", positions, (a, min(self.n_components, *np.shape(positions)[1:])))
        numbers = {name: state[name] for name in ("stress", "cold_stress")}
        self.stress_, self.cold_stress_ = (
            validation.positive_number(number, name, or_zero=True) for name, number in numbers.items()
        )
        self.n_iter_ = validation.integer_at_least(state["n_iter"], "n_iter", 0)
        self._n_exchanged = validation.integer_at_least(state["n_exchanged"], "n_exchanged", 0)
        self._cold_mass = validation.positive_number(state["cold_mass"], "cold_mass", or_zero=True)
        self.anchors_ = anchors
        with one_thread():
            self._take(positions, self._targets(distances, validation.positive_masses(masses, len(distances))))
        return self

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the landmarks; rows are independent of each other."""
        return self._placer.place(check_to_landmarks(distances, len(self._landmarks)))

    def residuals(self, distances: Array) -> Array:
        """Return, per row of landmark distances, the root of the weighted mean squared error of its distances on the
        map.
        """
        targets = np.sqrt(np.maximum(self._squared(distances), 0.0))
        gaps = targets - euclidean(self.place(distances), self.anchor_coordinates_)
        return np.sqrt((gaps**2 * self._weights).sum(axis=1))

    def _squared(self, distances: Array) -> Array:
        """Return squared distances to the fixed points, from those to the landmarks."""
        distances = check_to_landmarks(distances, len(self._landmarks))
        return distances**2 if self._inference is None else _core.affine(distances, *self._inference)

    def for_rows(self, landmarks: Array) -> StressPlacer:
        """Return an object that places rows of numbers as :meth:`place` places their distances to these landmarks, (m,
        d).

        The coefficients of an anchor sum to 1, so the squared distance to it that follows from those to the landmarks
        is the squared length of x plus a linear function of x.
        """
        centre = self._landmark_weights @ landmarks
        centred = landmarks - centre
        squared = (centred**2).sum(axis=1)
        if self._inference is None:
            matrix, offsets = centred.T, squared
        else:
            matrix = centred.T @ self._inference.coefficients
            offsets = self._anchor_squared - self._landmark_weights @ squared
        return replace(self._placer, matrix=-2.0 * matrix, offsets=offsets, centre=centre)

    def _is_usable(self, start: Array, squared: Array) -> bool:
        """Whether a start and the points themselves extend in every dimension; else no sweep would leave it.

        The points do if their places in landmark MDS by the start do.
        """
        if start.shape != (len(squared), self.n_components):
            raise ValueError(f"start must have shape {(len(squared), self.n_components)}, got {start.shape}")
        return all(
            is_full(positions, self._weights)
            for positions in (start, (squared @ self._weights - squared) @ trilateration(start, self._weights).T)
        )


def is_full(positions: Array, weights: Array) -> bool:
    """Return True if points extend in every dimension."""
    centred = (positions - weights @ positions) * np.sqrt(weights)[:, None]
    variances = np.linalg.eigvalsh(centred.T @ centred)
    return bool(variances[0] > FLAT**2 * variances[-1])
