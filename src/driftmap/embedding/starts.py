"""Where the search for a point's place begins: the nearer to its end, the fewer steps it takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.embedding.lmds import ClassicalMDS

Array = NDArray[np.float64]

# How much the spline may miss positions to be smooth, relative to the mean distance. Of 0.01 to 3, the least gave the
# fewest steps on two of three streams (a seasonal one, normal in 3 and 10 dimensions), nearly so on the third.
ROUGH = 0.01


class Start(NamedTuple):
    """A point starts from ``projection @ squared distances + shift + bend @ (distances, 1)``."""

    projection: Array
    """(k, a)"""
    shift: Array
    """(k,)"""
    bend: Array
    """(k, a + 1)"""

    def moved(self, rotation: Array, translation: Array) -> Start:
        """The same on a map that is turned and shifted."""
        return Start(rotation.T @ self.projection, self.shift @ rotation + translation, rotation.T @ self.bend)


def start_map(mds: ClassicalMDS, targets: Array, positions: Array, weights: Array) -> Start:
    """Where points start that are placed by their distances to fixed points, (a, k), whose own distances are targets.

    First their place in landmark MDS, by the affine map that best brings the fixed points from there to their
    positions: it takes up what stress has moved all of them. Then what is left, by a smooth spline.
    """
    real = positions.shape[1]
    places = np.column_stack([mds.coordinates[:, :real], np.ones(len(positions))]) * np.sqrt(weights)[:, None]
    affine = np.linalg.lstsq(places, positions * np.sqrt(weights)[:, None], rcond=None)[0]
    projection = -0.5 * affine[:real].T @ mds.projection[:real]
    shift = affine[real] - projection @ mds.mean_squared
    return Start(projection, shift, _spline(targets, positions - targets**2 @ projection.T - shift, weights))


def _spline(targets: Array, values: Array, weights: Array) -> Array:
    """The spline ``bend @ (distances, 1)`` that goes nearly through the values at the fixed points, (a, k).

    It is made of cones, one at each fixed point, as polyharmonic splines of first order are. Where it would not
    foretell the value of a fixed point from those of the others better than 0 does (distances may be of any kind), it
    is 0.
    """
    a, k = values.shape
    flat, scale = np.zeros((k, a + 1)), weights @ targets @ weights
    if not scale > 0:
        return flat
    system = np.ones((a + 1, a + 1))
    system[:a, :a] = np.diag(ROUGH / (a * weights)) - targets / scale
    system[a, a] = 0.0
    try:
        inverse = np.linalg.inv(system)
    except np.linalg.LinAlgError:
        return flat
    solution = inverse[:, :a] @ values
    foretold_wrong = solution[:a] / np.diag(inverse)[:a, None]
    if not weights @ (foretold_wrong**2).sum(axis=1) < weights @ (values**2).sum(axis=1):
        return flat
    solution[:a] /= -scale
    return solution.T
