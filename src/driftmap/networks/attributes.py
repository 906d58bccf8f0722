"""Attributes of nodes, followed over time through the ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftmap.networks.contacts import Contacts
from driftmap.utils import Array, validation


class Strengths(NamedTuple):
    """The strength of the ties of each group of nodes over time."""

    groups: tuple[str, ...]
    """Values of the attribute, sorted; nodes without one are in no group."""
    values: Array
    """The sum of the weights of all ties of a group's nodes at each event time, (n_times, n_groups)."""

    def strongest(self) -> tuple[str, ...]:
        """Return the group with the strongest ties at each event time; empty where all strengths are zero."""
        best = self.values.argmax(axis=1) if self.groups else np.zeros(len(self.values), np.int64)
        some = self.values.sum(axis=1) > 0
        return tuple(self.groups[k] if any_ else "" for k, any_ in zip(best.tolist(), some.tolist(), strict=True))


def group_strengths(contacts: Contacts, attribute: str, decay: float) -> Strengths:
    """Return the strength of each group's ties in the tie-decay network, at each event time.

    >>> met = Contacts.from_events([("ann", "bob", 0), ("cem", "dan", 20)])
    >>> met = Contacts(met.times, met.pairs, met.nodes, attributes={"role": ("nurse", "patient", "nurse", "nurse")})
    >>> group_strengths(met, "role", decay=0.0)
    Strengths(groups=('nurse', 'patient'), values=array([[1., 1.], [3., 1.]]))
    """
    validation.one_of(attribute, "attribute", tuple(contacts.attributes))
    labels = np.array(contacts.attributes[attribute])
    groups = sorted(set(labels.tolist()) - {""})
    number = {group: k for k, group in enumerate(groups)}
    of_node = np.array([number.get(label, len(groups)) for label in labels.tolist()], dtype=np.int64)
    times, event = np.unique(contacts.times, return_inverse=True)
    pairs, weights = np.sort(contacts.pairs, axis=1), contacts.weights
    weights = np.ones(len(pairs)) if weights is None else weights
    # A pair that appears twice at the same time counts once, with its larger weight.
    order = np.lexsort((-weights, pairs[:, 1], pairs[:, 0], event))
    keys = np.column_stack([event, pairs])[order]
    once = order[np.r_[True, (np.diff(keys, axis=0) != 0).any(axis=1)]]
    added = np.zeros((len(times), len(groups) + 1))
    for end in (0, 1):
        np.add.at(added, (event[once], of_node[pairs[once, end]]), weights[once])
    strengths = np.empty_like(added)
    strengths[:1] = added[:1]
    factors = np.exp(-decay * np.diff(times))
    for r, factor in enumerate(factors.tolist(), 1):
        strengths[r] = factor * strengths[r - 1] + added[r]
    return Strengths(tuple(groups), strengths[:, :-1])
