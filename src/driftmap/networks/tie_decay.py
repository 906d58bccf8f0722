"""Tie-decay networks: contacts in, a weighted network at any time out.

A contact (i, j, t) raises the weight of the tie between i and j by one, a contact (i, j, t, weight) by its weight.
Between contacts every weight decays exponentially at the rate `decay`, the paper's alpha.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from driftmap.networks.contacts import Contact, Node, check_contact
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError


class Ties(NamedTuple):
    """Pairs of nodes that met."""

    ends: Ids
    """Positions of both nodes in the network's ``nodes``, (n_ties, 2)."""
    weights: Array
    """The weight of each tie right after its own latest contact."""
    times: Array
    """The time of that contact."""


class TieDecayNetwork:
    """The weighted network B(t) of a stream of undirected contacts.

    B(t_{r+1}) = exp(-decay (t_{r+1} - t_r)) B(t_r) + A_{r+1}, where A is 0/1 or has the weights of the contacts: a pair
    that is reported twice at the same time counts once, with its larger weight. A tie is decayed lazily, when it is
    used. So a contact costs the same in a network of any size, and memory holds one entry per pair that ever met,
    however long the stream is.

    `decay` is the rate per unit of time, >= 0. With `nodes`, the network has exactly these nodes, and a contact of any
    other node is an error; without, a node is added at its first contact. A contact that is older than the latest one,
    joins a node to itself or has no finite time raises a ValueError that names it, and changes nothing.

    >>> network = TieDecayNetwork(decay=np.log(2) / 20)
    >>> network.add("ann", "bob", 0)
    >>> network.add("ann", "bob", 20)
    >>> network.adjacency()[0, 1], network.adjacency(40)[0, 1]  # 1/2 + 1, then half of it
    (np.float64(1.5), np.float64(0.75))
    """

    def __init__(self, decay: float, nodes: Iterable[Node] | None = None) -> None:
        self.decay = validation.positive_number(decay, "decay", or_zero=True)
        self._fixed = nodes is not None
        self._index: dict[Node, int] = {}
        for node in () if nodes is None else nodes:
            self._index.setdefault(node, len(self._index))
        self._time: float | None = None
        # One entry per pair that ever met: its ends, its weight at its own latest contact, and the time of that.
        self._ties: dict[tuple[int, int], int] = {}
        self._ends = array("q")
        self._weights = array("d")
        self._last = array("d")
        self._added = array("d")  # by its last contact

    def __repr__(self) -> str:
        return f"TieDecayNetwork(decay={self.decay}, {len(self._index)} nodes, time={self._time})"

    def __contains__(self, node: object) -> bool:
        return node in self._index

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in the order of the rows of B: as given, or by first contact."""
        return tuple(self._index)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self._index)

    @property
    def time(self) -> float | None:
        """Time of the latest contact; None before the first."""
        return self._time

    def add(self, i: Node, j: Node, t: float, weight: float = 1.0) -> None:
        """Add one contact; `t` must not precede the time of the latest contact."""
        contact = (i, j, t) if weight == 1 else (i, j, t, weight)
        self._apply(*self._admissible(contact, self._time))

    def add_contacts(self, contacts: Iterable[Contact]) -> None:
        """Add many (i, j, t) or (i, j, t, weight) contacts in order of time: all of them or, if one is bad, none."""
        latest, admitted = self._time, []
        for contact in contacts:
            admitted.append(self._admissible(contact, latest))
            latest = admitted[-1][2]
        for contact in admitted:
            self._apply(*contact)

    def ties(self) -> Ties:
        """Return all pairs that ever met, in the order of their first contacts."""
        ends = np.array(self._ends, dtype=np.int64).reshape(-1, 2)
        return Ties(ends, np.array(self._weights), np.array(self._last))

    def adjacency(self, t: float | None = None) -> Array:
        """Return B(t) as a symmetric array, at any `t` from the latest contact on; by default at that contact."""
        rows, columns, weights = self._decayed(t)
        matrix = np.zeros((len(self._index), len(self._index)))
        matrix[rows, columns] = weights
        matrix[columns, rows] = weights
        return matrix

    def sparse_adjacency(self, t: float | None = None) -> Any:
        """Return B(t) as a SciPy CSR array, for networks too large for `adjacency`."""
        rows, columns, weights = self._decayed(t)
        shape = (len(self._index), len(self._index))
        half = scipy.sparse.coo_array((weights, (rows, columns)), shape=shape)
        return (half + half.T).tocsr()

    def snapshots(self, contacts: Iterable[Contact]) -> Iterator[tuple[float, Array]]:
        """Add contacts in order of time and yield (t_r, B(t_r)) after all contacts of t_r.

        Takes any iterable, even an endless one. A bad contact raises an error; the contacts before it stay added.

        >>> network = TieDecayNetwork(decay=0)
        >>> [(t, B.sum()) for t, B in network.snapshots([(0, 1, 5), (1, 2, 5), (0, 1, 9)])]
        [(5.0, np.float64(4.0)), (9.0, np.float64(6.0))]
        """
        for t in self.steps(contacts):
            yield t, self.adjacency()

    def steps(self, contacts: Iterable[Contact]) -> Iterator[float]:
        """Add contacts in order of time and yield t_r after all contacts of t_r."""
        step: float | None = None
        for contact in contacts:
            i, j, t, weight = self._admissible(contact, self._time)
            if step is not None and t > step:
                yield step
            self._apply(i, j, t, weight)
            step = t
        if step is not None:
            yield step

    def _admissible(self, contact: Contact, latest: float | None) -> tuple[Node, Node, float, float]:
        i, j, t, weight = check_contact(contact)
        if latest is not None and t < latest:
            raise InputError(f"contact {contact!r} is older than the latest contact, at t={latest}")
        if self._fixed and not (i in self._index and j in self._index):
            unknown = j if i in self._index else i
            raise InputError(f"contact {contact!r}: {unknown!r} is not one of the nodes given")
        return i, j, t, weight

    def _apply(self, i: Node, j: Node, t: float, weight: float) -> None:
        a = self._index.setdefault(i, len(self._index))
        b = self._index.setdefault(j, len(self._index))
        pair = (a, b) if a < b else (b, a)
        tie = self._ties.setdefault(pair, len(self._ties))
        if tie == len(self._weights):
            self._ends.extend(pair)
            self._weights.append(weight)
            self._last.append(t)
            self._added.append(weight)
        elif self._last[tie] != t:
            self._weights[tie] = self._weights[tie] * math.exp(-self.decay * (t - self._last[tie])) + weight
            self._last[tie], self._added[tie] = t, weight
        elif weight > self._added[tie]:
            self._weights[tie] += weight - self._added[tie]
            self._added[tie] = weight
        self._time = t

    def _decayed(self, t: float | None) -> tuple[Ids, Ids, Array]:
        """Return the ends of every tie and its weight at time `t`."""
        latest = -math.inf if self._time is None else self._time
        now = latest if t is None else float(t)
        if t is not None and not latest <= now < math.inf:  # this form also rejects NaN
            raise InputError(f"t={t} is not a finite time from the latest contact's, {self._time}, on")
        ends, weights, times = self.ties()
        return ends[:, 0], ends[:, 1], weights * np.exp(-self.decay * (now - times))
