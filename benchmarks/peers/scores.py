"""How true a map is."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from driftmap import quality

NEIGHBOURS = 5  # of trustworthiness


def sigma(distances: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """Normalised stress of a map as it is, and enlarged by the factor that makes it least; one distance per pair."""
    on_map = pdist(Y)
    square = float(on_map @ on_map)
    scale = float(distances @ on_map) / square if square else 1.0
    below = float(distances @ distances)
    gaps = {"as_is": distances - on_map, "scaled": distances - scale * on_map}
    return {kind: float(np.sqrt(gap @ gap / below)) for kind, gap in gaps.items()}


def novelty(X: np.ndarray, Y: np.ndarray) -> float:
    """Trustworthiness: are neighbours on the map neighbours in the data?"""
    return float(quality.trustworthiness(X, Y, n_neighbors=min(NEIGHBOURS, (len(X) - 1) // 2)))


def moved(before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    """How far old points moved relative to the old map's diameter, as they are: no alignment first."""
    return quality.displacement(before, after)._asdict()
