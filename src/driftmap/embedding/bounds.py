"""How far a map by landmark MDS can move when one landmark is replaced: the bounds of section 5 of the paper.

The landmarks x_1, ..., x_{m-1}, x_m become x_1, ..., x_{m-1}, y, where epsilon = d(x_m, y) is small, and a point z
moves from psi_1(z) to psi_2(z). The paper's superscripts (1) and (2) are ``before`` and ``after`` here. Inputs are
distances, of any metric. Bounds hold to first order in epsilon.

*Frames.* Eigenvectors are defined up to sign and, where eigenvalues are equal, up to a rotation. psi_1 and psi_2 can be
compared only after their frames are matched. K-tilde, the constant of Theorem 5.1, contains the gap between lambda_k
and lambda_{k+1} but none of the gaps among lambda_1, ..., lambda_k. The theorem holds with this constant if the frames
are matched by the best orthogonal matrix, which absorbs the mixing of near-equal eigenvalues among the first k. If only
signs are matched, it holds if every gap among the first k is at least lambda_k - lambda_{k+1}, and can fail otherwise:
compare ``smallest_gap`` with ``eigengap`` in the result.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftmap.embedding.lmds import EIGENVALUE_NOISE, ClassicalMDS, classical_mds, place
from driftmap.utils import Array
from driftmap.utils.errors import InputError


class DislocationBound(NamedTuple):
    """Theorem 5.5 for a set of points z: the bound and its terms."""

    bound: Array
    """Upper bound of the distance between psi_1(z) and psi_2(z), without its O(epsilon^2) term, (n,)."""
    epsilon: float
    """epsilon = d(x_m, y), from the dropped to the new landmark."""
    largest_squared_distance: float
    """K: the largest squared distance from x_m to another landmark."""
    sensitivity: float
    """K-tilde: how strongly L'_k responds to a change of the squared distances."""
    perturbation_norm: float
    """2 sqrt(2 K (m - 1)): bounds the Frobenius norm of Phi, the change of squared distances per epsilon."""
    projection_norm: float
    """Spectral norm of L'_k after the replacement."""
    distance_to_new: Array
    """d(z, y), (n,)."""
    delta_z_norm: Array
    """Euclidean norm of delta_z^(1), the squared distances of z to the landmarks before, (n,)."""
    delta_mu_norm: float
    """Euclidean norm of delta_mu^(1), the mean squared distances among the landmarks before."""
    eigenvalue: float
    """lambda_k before."""
    eigengap: float
    """lambda_k - lambda_{k+1} before."""
    smallest_gap: float
    """Smallest lambda_i - lambda_{i+1} before, over i = 1, ..., k."""


def projection_perturbation_bound(landmark_distances: ArrayLike, n_components: int, perturbation_norm: float) -> float:
    """Bound of the Frobenius norm of phi in L'_k -> L'_k + epsilon phi (Theorem 5.1).

    Parameters
    ----------
    landmark_distances : array-like of shape (m, m)
        Distances between the landmarks; their squares are the paper's Delta.
    n_components : int
        k. An InputError is raised unless lambda_k > 0 and lambda_k > lambda_{k+1}.
    perturbation_norm : float
        Frobenius norm of Phi in Delta -> Delta + epsilon Phi.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.array([0.0, 1.0, 3.0])
    >>> round(projection_perturbation_bound(np.abs(line[:, None] - line), 1, perturbation_norm=1.0), 4)
    0.0744
    """
    if not perturbation_norm >= 0:
        raise InputError(f"must not be negative, got {perturbation_norm}", parameter="perturbation_norm")
    mds = _frame(_square(landmark_distances, "landmark_distances"), n_components, "landmark_distances")
    return _sensitivity(mds, n_components) * float(perturbation_norm)


def dislocation_bound(
    landmarks_before: ArrayLike,
    landmarks_after: ArrayLike,
    points_before: ArrayLike,
    points_after: ArrayLike,
    epsilon: float,
    n_components: int,
    *,
    replaced: int = -1,
) -> DislocationBound:
    """How far points can move on the map when one landmark is replaced (Theorem 5.5).

    Parameters
    ----------
    landmarks_before, landmarks_after : array-like of shape (m, m)
        Distances among x_1, ..., x_m and among the same with y in the place of the dropped one.
    points_before, points_after : array-like of shape (n, m)
        Distances of the points z to the landmarks before and after.
    epsilon : float
        d(x_m, y). The bound leaves out terms of order epsilon^2.
    n_components : int
        k. An InputError is raised unless lambda_k > 0 (before and after) and lambda_k > lambda_{k+1} (before).
    replaced : int
        Position of the dropped landmark; the paper's is the last.

    Examples
    --------
    >>> import numpy as np
    >>> before, after, z = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 3.01]), np.array([2.0])
    >>> def distances(a, b):
    ...     return np.abs(a[:, None] - b)
    >>> landmarks = distances(before, before), distances(after, after)
    >>> points = distances(z, before), distances(z, after)
    >>> result = dislocation_bound(*landmarks, *points, epsilon=0.01, n_components=1)
    >>> bool(measured_dislocation(*landmarks, *points, n_components=1)[0] < result.bound[0])
    True
    """
    sets = _Replacement.checked(landmarks_before, landmarks_after, points_before, points_after)
    m = len(sets.landmarks_before)
    if not -m <= replaced < m:
        raise InputError(f"must name one of the {m} landmarks, got {replaced}", parameter="replaced")
    if not epsilon >= 0:
        raise InputError(f"must not be negative, got {epsilon}", parameter="epsilon")
    sets.check_single(replaced % m)
    before, after = sets.frames(n_components)

    K = float(np.max(np.delete(sets.landmarks_before[replaced], replaced) ** 2))
    K_tilde = _sensitivity(before, n_components)
    spread = float(np.sqrt(2 * K * (m - 1)))
    projection_norm = float(np.linalg.norm(after.projection, 2))
    distance_to_new = sets.points_after[:, replaced]
    delta_z_norm = np.linalg.norm(sets.points_before**2, axis=1)
    delta_mu_norm = float(np.linalg.norm(before.mean_squared))
    gaps = -np.diff(before.eigenvalues[: n_components + 1])
    return DislocationBound(
        bound=epsilon
        * (
            projection_norm * (distance_to_new + 2 * np.sqrt(K) * (m - 1) / m)
            + K_tilde * spread * (delta_z_norm + delta_mu_norm)
        ),
        epsilon=float(epsilon),
        largest_squared_distance=K,
        sensitivity=K_tilde,
        perturbation_norm=2 * spread,
        projection_norm=projection_norm,
        distance_to_new=distance_to_new,
        delta_z_norm=delta_z_norm,
        delta_mu_norm=delta_mu_norm,
        eigenvalue=float(before.eigenvalues[n_components - 1]),
        eigengap=float(gaps[-1]),
        smallest_gap=float(gaps.min()),
    )


def measured_dislocation(
    landmarks_before: ArrayLike,
    landmarks_after: ArrayLike,
    points_before: ArrayLike,
    points_after: ArrayLike,
    n_components: int,
    *,
    match: Literal["signs", "rotation"] = "signs",
) -> Array:
    """How far points moved on the map: the distance between psi_1(z) and psi_2(z), (n,).

    Parameters are those of :func:`dislocation_bound`. ``match`` chooses how the two frames are aligned: ``"signs"``
    gives each eigenvector the sign that agrees with the frame before; ``"rotation"`` applies the orthogonal matrix that
    brings L'_k after closest to L'_k before. Where two of lambda_1, ..., lambda_k are nearly equal, a tiny replacement
    can rotate their eigenvectors by any angle. ``"signs"`` then measures that rotation instead of the movement of the
    points, and only ``"rotation"`` obeys the bound.
    """
    sets = _Replacement.checked(landmarks_before, landmarks_after, points_before, points_after)
    before, after = sets.frames(n_components)
    agreement = before.projection @ after.projection.T
    if match == "signs":
        turn = np.diag(np.where(np.diag(agreement) < 0, -1.0, 1.0))
    elif match == "rotation":
        left, _, right = np.linalg.svd(agreement)
        turn = left @ right
    else:
        raise InputError(f"must be 'signs' or 'rotation', got {match!r}", parameter="match")
    psi_1, psi_2 = place(sets.points_before**2, before), place(sets.points_after**2, after)
    moved: Array = np.linalg.norm(psi_1 - psi_2 @ turn.T, axis=1)
    return moved


class _Replacement(NamedTuple):
    """Distances before and after one landmark is replaced."""

    landmarks_before: Array
    landmarks_after: Array
    points_before: Array
    points_after: Array

    @classmethod
    def checked(
        cls,
        landmarks_before: ArrayLike,
        landmarks_after: ArrayLike,
        points_before: ArrayLike,
        points_after: ArrayLike,
    ) -> _Replacement:
        before = _square(landmarks_before, "landmarks_before")
        after = _square(landmarks_after, "landmarks_after")
        if before.shape != after.shape:
            raise InputError(f"has {len(after)} landmarks, landmarks_before {len(before)}", parameter="landmarks_after")
        points = [np.asarray(p, dtype=np.float64) for p in (points_before, points_after)]
        for name, p in zip(("points_before", "points_after"), points, strict=True):
            if p.ndim != 2 or p.shape[1] != len(before):
                raise InputError(f"must have shape (n, {len(before)}), got {p.shape}", parameter=name)
        if points[0].shape != points[1].shape:
            raise InputError(f"has {len(points[1])} rows, points_before {len(points[0])}", parameter="points_after")
        return cls(before, after, *points)

    def check_single(self, replaced: int) -> None:
        """Raise an error unless the two sets share all landmarks but one."""
        same = np.arange(len(self.landmarks_before)) != replaced
        shared = (
            (self.landmarks_before[same][:, same], self.landmarks_after[same][:, same]),
            (self.points_before[:, same], self.points_after[:, same]),
        )
        if not all(np.allclose(a, b) for a, b in shared):
            raise InputError(f"before and after differ in more than landmark {replaced}: only one may be replaced")

    def frames(self, n_components: int) -> tuple[ClassicalMDS, ClassicalMDS]:
        return (
            _frame(self.landmarks_before, n_components, "landmarks_before"),
            _frame(self.landmarks_after, n_components, "landmarks_after"),
        )


def _square(distances: ArrayLike, name: str) -> Array:
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"must be a square matrix of distances, got shape {matrix.shape}", parameter=name)
    return matrix


def _frame(distances: Array, n_components: int, name: str) -> ClassicalMDS:
    """Classical MDS with k positive eigenvalues, as section 5 requires."""
    m = len(distances)
    if not 1 <= n_components < m:
        raise InputError(
            f"must be between 1 and {m - 1} for {m} landmarks, got {n_components}", parameter="n_components"
        )
    mds = classical_mds(distances, n_components)
    if (n_positive := mds.n_dimensions) < n_components:
        raise InputError(f"lambda_k > 0 fails: k = {n_components}, {name} has {n_positive} positive eigenvalues")
    return mds


def _sensitivity(mds: ClassicalMDS, k: int) -> float:
    """K-tilde = 1 / (4 lambda_k^(3/2)) + 1 / (2 lambda_k^(1/2) (lambda_k - lambda_{k+1}))."""
    smallest, following = float(mds.eigenvalues[k - 1]), float(mds.eigenvalues[k])
    gap = smallest - following
    if gap <= EIGENVALUE_NOISE * float(mds.eigenvalues[0]):
        raise InputError(f"lambda_k > lambda_(k+1) fails for k = {k}: the eigenvalues are {smallest} and {following}")
    return float(1 / (4 * smallest**1.5) + 1 / (2 * smallest**0.5 * gap))
