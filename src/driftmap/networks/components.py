"""Connected components of a tie-decay network: changes in one do not affect the eigenvalues of the others.

In a large network that decays, most ties are too old to count, and the others join few nodes each. Until its next
contact, a component only decays, and its eigenvalues decay with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from driftmap.networks.tie_decay import TieDecayNetwork
from driftmap.utils import Array, Ids


class Component(NamedTuple):
    """Nodes that are joined by ties, as of their latest contact."""

    key: bytes
    """Equal for equal ties, whose eigenvalues can be reused."""
    ends: Ids
    """For each tie, the positions of its two nodes within the component, (n_ties, 2)."""
    weights: Array
    n_nodes: int
    decayed: float
    """The share of the weights that is left since that contact; eigenvalues have the same factor."""

    def adjacency(self) -> Array:
        """Return the weights as a symmetric array."""
        matrix = np.zeros((self.n_nodes, self.n_nodes))
        matrix[self.ends[:, 0], self.ends[:, 1]] = self.weights
        matrix[self.ends[:, 1], self.ends[:, 0]] = self.weights
        return matrix

    def sparse_adjacency(self) -> scipy.sparse.csr_array:
        """Return the weights as a SciPy CSR array."""
        shape = self.n_nodes, self.n_nodes
        half = scipy.sparse.coo_array((self.weights, (self.ends[:, 0], self.ends[:, 1])), shape=shape)
        return scipy.sparse.csr_array(half + half.T)


def components(network: TieDecayNetwork, n_nodes: int) -> list[Component]:
    """Return the components of a network of ``n_nodes`` at its latest contact, without nodes that have no ties.

    A tie counts if it is heavier than eps / 4n of the heaviest: all lighter ones together change each eigenvalue by at
    most eps / 4 of the largest, which is less than its rounding error. The result depends only on the network.
    """
    ends, weights, times = network.ties()
    if not len(weights):
        return []
    now = weights * np.exp(-network.decay * (times.max() - times))
    counted = np.flatnonzero(now > np.finfo(np.float64).eps / (4 * n_nodes) * now.max())
    if not len(counted):  # all weights are 0
        return []
    ends, weights, times = ends[counted], weights[counted], times[counted]
    graph = scipy.sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    of_node = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    of_tie = of_node[ends[:, 0]]
    order = np.argsort(of_tie, kind="stable")
    bounds = np.flatnonzero(np.diff(of_tie[order])) + 1
    latest = -np.inf if network.time is None else network.time
    found = []
    for ties in np.split(order, bounds):
        last = times[ties].max()
        own = weights[ties] * np.exp(-network.decay * (last - times[ties]))
        nodes, local = np.unique(ends[ties], return_inverse=True)
        key = counted[ties].tobytes() + own.tobytes()
        factor = float(np.exp(-network.decay * (latest - last)))
        found.append(Component(key, local.reshape(-1, 2), own, len(nodes), factor))
    return found
