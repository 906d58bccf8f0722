"""Contacts: who met whom, when, and how strongly."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

Node: TypeAlias = Hashable
Contact: TypeAlias = tuple[Node, Node, float] | tuple[Node, Node, float, float]
EARLIEST, LATEST = 5e8, 4.2e9
"""Times in this range (1985 to 2103) are taken for seconds since 1970."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """A list of contacts in order of time; iterating over it gives (i, j, t) or (i, j, t, weight), with labels.

    Attributes: `times` of the contacts; `pairs`, (n_contacts, 2) positions in `nodes`; `nodes`, the labels in order of
    first appearance; `weights` of the contacts, if the source has them; `attributes`, by name one text per node;
    `n_self`, the number of contacts of a node with itself, which are skipped; `left_out`, unused columns.

    >>> contacts = Contacts.from_events([("ann", "bob", 0), ("bob", "cem", 20), ("ann", "bob", 20)])
    >>> contacts.nodes, contacts.event_times.tolist()
    (('ann', 'bob', 'cem'), [0.0, 20.0])
    """

    times: Array
    pairs: Ids
    nodes: tuple[Node, ...]
    weights: Array | None = None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_self: int = 0
    left_out: tuple[str, ...] = ()

    @classmethod
    def from_events(cls, events: Iterable[Contact]) -> Contacts:
        """Collect (i, j, t) or (i, j, t, weight) events in the order given."""
        index: dict[Node, int] = {}
        times, ends, weights, is_weighted = array("d"), array("q"), array("d"), False
        for event in events:
            i, j, t, weight = check_contact(event)
            times.append(t)
            ends.extend((index.setdefault(i, len(index)), index.setdefault(j, len(index))))
            weights.append(weight)
            is_weighted |= len(event) == 4
        pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
        return cls(np.array(times), pairs, tuple(index), np.array(weights) if is_weighted else None)

    @property
    def statuses(self) -> tuple[str, ...] | None:
        """The attribute "status", if there is one."""
        return self.attributes.get("status")

    @property
    def event_times(self) -> Array:
        """The times with at least one contact, ascending: the paper's t_1, ..., t_n."""
        return np.unique(self.times)

    def dates(self, start: Any = None) -> NDArray[np.datetime64] | None:
        """Return the event times as dates; `start` is the date of t = 0, by default 1970 if that makes the times
        plausible.

        Return None if the times are not seconds since 1970 and `start` is not given.

        >>> Contacts.from_events([("ann", "bob", 1385982020)]).dates()
        array(['2013-12-02T11:00:20.000000'], dtype='datetime64[us]')
        >>> Contacts.from_events([("ann", "bob", 140)]).dates("2010-12-06T12:57:40")
        array(['2010-12-06T13:00:00.000000'], dtype='datetime64[us]')
        """
        times = self.event_times
        if start is None and not (len(times) and times[0] >= EARLIEST and times[-1] <= LATEST):
            return None
        return dates_of(times, start)

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Contact]:
        nodes = self.nodes
        events = ((nodes[i], nodes[j], t) for (i, j), t in zip(self.pairs.tolist(), self.times.tolist(), strict=True))
        if self.weights is None:
            yield from events
        else:
            yield from ((*event, weight) for event, weight in zip(events, self.weights.tolist(), strict=True))


def dates_of(times: Array, start: Any = None) -> NDArray[np.datetime64]:
    """Return times in seconds as dates; `start` is the date of t = 0, by default 1970."""
    origin = np.datetime64(0 if start is None else start, "us")
    return np.asarray(origin + np.round(1e6 * times).astype("timedelta64[us]"))


def check_contact(contact: Any) -> Any:
    """Return the contact as (i, j, t, weight) with floats, or raise a ValueError that names it; the default weight is
    1.
    """
    try:
        i, j, t, *rest = contact
        hash((i, j))
        t = float(t)
        (weight,) = map(float, rest) if rest else (1.0,)
    except (TypeError, ValueError):
        raise InputError(f": contact {contact!r} is not (node, node, time) or (node, node, time, weight)") from None
    if not math.isfinite(t):
        raise InputError(f": contact {contact!r} has no finite time")
    if not 0 <= weight < math.inf:
        raise InputError(f": contact {contact!r} has no finite weight >= 0")
    if i == j:
        raise InputError(f": contact {contact!r} joins a node to itself")
    return i, j, t, weight


def half_life(contacts: Contacts) -> float:
    """Return a half-life of ties that suits the contacts: the geometric mean of the times between contacts of a pair.

    Such times spread over orders of magnitude (seconds within a conversation, a day between shifts), so the longest
    would dominate their arithmetic mean. If no pair meets twice, the times between events are used.

    >>> half_life(Contacts.from_events([("a", "b", 0), ("a", "b", 10), ("b", "c", 15), ("a", "b", 1010)])).__round__()
    100
    """
    pairs = np.sort(contacts.pairs, axis=1)
    order = np.lexsort((contacts.times, pairs[:, 1], pairs[:, 0]))
    same = (np.diff(pairs[order], axis=0) == 0).all(axis=1)
    gaps = np.diff(contacts.times[order])[same]
    gaps = gaps[gaps > 0]
    if not len(gaps):
        gaps = np.diff(contacts.event_times)
    if not len(gaps):
        raise InputError("all contacts have the same time, so a half-life cannot be estimated: give a rate")
    return float(np.exp(np.log(gaps).mean()))
