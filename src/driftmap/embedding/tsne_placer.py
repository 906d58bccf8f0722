"""Places points on a map by t-SNE's loss of a further row, given points that stay where they are (the fixed points).

``src/core/tsne_placement.h`` says how.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap import _core
from driftmap.embedding.procrustes import move
from driftmap.utils import Array

CALL_ROWS = 4096
"""Rows placed in one call of the core, so that an interrupt (Ctrl-C) does not wait for all of them."""
PERPLEXITY = 10.0
"""Of a row's affinities to the fixed points. Fewer neighbours pile rows up; more blur them."""


@dataclass(eq=False, repr=False)
class TsnePlacer:
    """Places points where t-SNE's loss of their row is least, each by itself. Immutable.

    Squared distances to the fixed points follow from what is given of a point as in
    :class:`~driftmap.embedding.stress_placer.StressPlacer`.

    Parameters
    ----------
    positions : (a, k)
        The fixed points.
    repels : bool
        Whether fixed points keep others away, as on a map that t-SNE has made.
    matrix, offsets, centre : (d, a), (a,) and (d,), or None
    rotation, translation : (k, k) and (k,), or None
        How the map is turned and shifted.
    """

    positions: Array
    repels: bool
    matrix: Array | None = None
    offsets: Array | None = None
    centre: Array | None = None
    rotation: Array | None = None
    translation: Array | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def _native(self) -> _core.TsnePlacement:
        matrix = None if self.matrix is None else np.ascontiguousarray(self.matrix)
        perplexity = perplexity_of(PERPLEXITY, len(self.positions))
        return _core.TsnePlacement(self.positions, perplexity, self.repels, matrix, self.offsets, self.centre)

    def moved(self, rotation: Array, translation: Array) -> TsnePlacer:
        """The same on a map that is turned and shifted."""
        if self.rotation is not None and self.translation is not None:
            rotation, translation = self.rotation @ rotation, self.translation @ rotation + translation
        return replace(self, rotation=rotation, translation=translation)

    def place(self, X: NDArray[Any]) -> Array:
        """Positions of points, each by itself; rows of float64 or float32."""
        parts = [self._native.place(X[i : i + CALL_ROWS]) for i in range(0, max(len(X), 1), CALL_ROWS)]
        places = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if self.rotation is None or self.translation is None:
            return places
        return move(places, self.rotation, self.translation)

    def of_rows(self, points: Array) -> TsnePlacer:
        """The same for rows of numbers, given the points to which distances were given until now, (m, d)."""
        centre = points.mean(axis=0)
        centred = points - centre
        matrix, offsets = -2.0 * centred.T, (centred**2).sum(axis=1)
        if self.matrix is not None and self.offsets is not None:  # the coefficients of each fixed point sum to 1
            matrix, offsets = matrix @ self.matrix, offsets @ self.matrix + self.offsets
        return replace(self, matrix=matrix, offsets=offsets, centre=centre)


def perplexity_of(wanted: float, n: int) -> float:
    """A perplexity that n others can have."""
    return min(wanted, 1.0 + (n - 1) / 3)
