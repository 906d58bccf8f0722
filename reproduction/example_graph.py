"""The graph of the paper's Figure 1: 12 nodes with the dominating set and the OnlyBy that its caption states.

``graph_distances`` numbers nodes from 0: the paper's v_1 is node 0.
"""

from __future__ import annotations

import numpy as np

from driftmap.utils import Array

EDGES = (
    (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5), (4, 5), (5, 6), (6, 7), (6, 8), (7, 8), (8, 9), (9, 10), (9, 12),
    (10, 11), (10, 12),
)  # fmt: skip
"""Pairs of the paper's node numbers. The caption leaves some edges open; this is one choice that agrees with it."""

DOMINATING = (3, 6, 10)
"""L, blue in the paper: a dominating set."""
NOT_DOMINATING = (4, 7, 11)
"""L_0, red in the paper: leaves v_1, v_9 and v_12 uncovered."""
ONLY_BY_3 = (1, 2, 3, 4)
"""OnlyBy(v_3) for L."""

POSITIONS = {
    1: (0.0, 2.0), 2: (0.3, 0.6), 3: (1.3, 1.7), 4: (1.6, 0.3), 5: (2.6, 1.2), 6: (3.7, 1.5), 7: (4.3, 2.5),
    8: (4.8, 0.9), 9: (5.9, 0.4), 10: (6.9, 1.4), 11: (7.2, 2.6), 12: (7.6, 0.3),
}  # fmt: skip
"""Where the figure draws the nodes."""


def graph_distances() -> Array:
    """The graph as distances: 1 along an edge, 2 between other nodes.

    >>> from driftmap.landmarks import private_points
    >>> private_points(graph_distances(), landmarks=[2, 5, 9], radius=1.0, metric="precomputed")[2] + 1
    array([1, 2, 3, 4])
    """
    distances = np.full((len(POSITIONS), len(POSITIONS)), 2.0)
    np.fill_diagonal(distances, 0.0)
    r, s = np.array(EDGES).T - 1
    distances[r, s] = distances[s, r] = 1.0
    return distances
