"""Quality measures of a map."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from driftmap import quality

NEIGHBOURS = 5  # for trustworthiness


def sigma(distances: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """Return the normalised stress of a map, as it is and after the best scaling; ``distances`` has one per pair."""
    on_map = pdist(Y)
    square = float(on_map @ on_map)
    scale = float(distances @ on_map) / square if square else 1.0
    below = float(distances @ distances)
    gaps = {"as_is": distances - on_map, "scaled": distances - scale * on_map}
    return {kind: float(np.sqrt(gap @ gap / below)) for kind, gap in gaps.items()}


def trust(X: np.ndarray, Y: np.ndarray) -> float:
    """Return the trustworthiness: whether neighbours on the map are neighbours in the data."""
    return float(quality.trustworthiness(X, Y, n_neighbors=min(NEIGHBOURS, (len(X) - 1) // 2)))


def moved(before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    """Return how far points moved, without alignment, relative to the diameter of the old map."""
    return quality.displacement(before, after)._asdict()
