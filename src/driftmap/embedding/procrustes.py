"""Procrustes alignment: how to turn, mirror and shift a new map so that it lies on the old one."""

from __future__ import annotations

import numpy as np

from driftmap.utils import Array

# Singular values below this share of the largest possible one are rounding noise: they fix no direction.
SINGULAR_NOISE = 1e-12


def procrustes(new: Array, old: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Weighted orthogonal Procrustes: rotation R (k, k) and translation t (k,) that bring ``new @ R + t`` to ``old``.

    Minimises the weighted sum of squared distances between corresponding rows over all rotations and reflections;
    nothing is scaled. Directions that the points do not fix (fewer points than dimensions, all in a line or in one
    place) are turned as little as possible. Deterministic.

    Examples
    --------
    >>> import numpy as np
    >>> old = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> new = old[:, ::-1] + 5.0  # mirrored and shifted
    >>> rotation, translation = procrustes(new, old)
    >>> np.abs(move(new, rotation, translation) - old).max() < 1e-12
    np.True_
    """
    new, old = np.asarray(new, dtype=np.float64), np.asarray(old, dtype=np.float64)
    if new.shape != old.shape or new.ndim != 2:
        raise ValueError(f"new and old must be matrices of the same shape, got {new.shape} and {old.shape}")
    n, k = new.shape
    shares = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (n,) or not np.all((shares >= 0) & (shares < np.inf)):
        raise ValueError(f"weights must be {n} finite numbers, none negative")
    if not shares.any():  # also no points at all: nothing says where to go
        return np.eye(k), np.zeros(k)
    shares = shares / shares.sum()
    centre, old_centre = shares @ new, shares @ old
    A, B = (new - centre) * np.sqrt(shares)[:, None], (old - old_centre) * np.sqrt(shares)[:, None]
    left, sizes, right = np.linalg.svd(A.T @ B)
    rank = int(np.sum(sizes > SINGULAR_NOISE * np.linalg.norm(A) * np.linalg.norm(B)))
    rotation = left[:, :rank] @ right[:rank]
    if rank < k:
        # any orthogonal completion fits as well: take the one nearest to the identity
        free, onto = left[:, rank:], right[rank:]
        turn, _, back = np.linalg.svd(free.T @ onto.T)
        rotation = rotation + free @ (turn @ back) @ onto
    return rotation, old_centre - centre @ rotation


def dilation(new: Array, old: Array, rotation: Array, weights: Array) -> float:
    """By how much rotated positions are to be scaled round their centre to lie as near to others as possible.

    >>> import numpy as np
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> dilation(square, 3 * square + 5, np.eye(2), np.ones(4))
    3.0
    """
    shares = weights / weights.sum()
    A, B = (positions - shares @ positions for positions in (new @ rotation, old))
    return float(shares @ (A * B).sum(axis=1) / (shares @ (A * A).sum(axis=1)))


def move(coordinates: Array, rotation: Array, translation: Array) -> Array:
    """``coordinates @ rotation + translation``, row by row: a row goes where it would go alone, to the bit.

    >>> import numpy as np
    >>> move(np.array([[1.0, 2.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([10.0, 20.0]))
    array([[12., 21.]])
    """
    # not a matrix product: its rounding would depend on the number of rows in the call
    out = np.tile(translation, (len(coordinates), 1))
    for column, axis in zip(coordinates.T, rotation, strict=True):
        out += column[:, None] * axis
    return out
