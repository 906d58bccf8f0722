"""Bounded memory: stored points become witnesses, which stand for all points near them.

Up to ``limit`` points are stored as they are. Beyond, an arrival within the *resolution* of a witness joins it: one
that points of its box joined before (:mod:`driftmap._kernels.boxes`), or, if a landmark covers the arrival, the
first such witness in the cell of that landmark. Any other arrival is stored. When there is no room for one, the
resolution is raised and witnesses merge within their cells. A witness knows how many points it
stands for and its *spread*: all of them lie within it, by the triangle inequality, however often they were merged. A
landmark is a witness that never merges into another, so merging changes neither the landmarks nor the radius.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import merge_cells, merge_costs, remember_all, weights_at
from driftmap._kernels.records import GENERATIONS
from driftmap.metrics import EuclideanSpace, Space
from driftmap.state import StreamState

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

SAMPLE = 1024
"""Witnesses by which a new resolution is chosen, evenly spread over the cells."""

PARTS = 8
"""Parts into which making room is divided, for threads."""

RELAXED = 0.8
"""By this much the resolution becomes finer where forgetting has left half of the memory free."""


Share = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def one_by_one(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Do the work for all items, and return the results in their order."""
    return [work(item) for item in items]


class Memory:
    """Makes room among the stored points, and forgets them where that is wanted.

    Parameters
    ----------
    limit : the most points that are remembered, or None
    window : how long points are remembered; infinity: for ever
    half_life : the time in which the weight of a point is halved; infinity: never
    """

    def __init__(
        self, space: Space, state: StreamState, limit: int | None, window: float = np.inf, half_life: float = np.inf
    ) -> None:
        self.space, self.state = space, state
        self.limit = 2**62 if limit is None else min(limit, 2**62)
        self.window, self.half_life = window, half_life
        self._period = max(self.limit // 8, 1)
        self._known = -1.0, -1.0  # the resolution last asked for, and what it is in the comparison scale

    @property
    def forgets(self) -> bool:
        """Whether points are forgotten after a while."""
        return min(self.window, self.half_life) < np.inf

    def make_room(self, share: Share = one_by_one) -> None:
        """Merge witnesses until an eighth of the memory is free, or let go of what is forgotten, or grow.

        ``share`` may let several threads do the work for all cells.
        """
        state = self.state
        if state.remembered() >= self.limit:
            while (before := state.remembered()) > self.limit - self.limit // 8:
                self._age()
                cells = Cells(self)
                self._raise_resolution(cells, share)
                self._retain(self._merge(cells, share) | self._forgotten())
                if state.remembered() == before:  # distances so small that they have lost their digits
                    state.resolution *= 2
        elif np.count_nonzero(self._forgotten()) > state.n // 8:
            self.let_go()
        else:
            self.space.reserve(state.n + max(state.n // 2, 64))

    def let_go(self) -> None:
        """Store nothing any more that is forgotten, but for the landmarks."""
        if (forgotten := self._forgotten()).any():
            self._retain(forgotten)

    def until_relaxed(self) -> int:
        """Arrivals until the resolution is looked at again."""
        return self._period - self.state.seen % self._period

    def arrived(self, now: float) -> None:
        """Take note of the time of the last arrival, and relax the resolution where half of the memory is free."""
        state = self.state
        state.now = now
        if state.resolution > 0 and state.seen % self._period == 0 and state.remembered() < self.limit // 2:
            state.resolution *= RELAXED

    def masses(self) -> Array:
        """What each stored point weighs now; 0: it is forgotten."""
        witnesses = self.state.witnesses
        assert witnesses is not None
        if self.half_life == np.inf:
            return witnesses["weight"][: self.state.n].copy()
        masses = np.empty(self.state.n)
        weights_at(witnesses, self.state.now, self.half_life, masses)
        return masses

    def generations(self, rows: Ids) -> Ids:
        """The part of the window to which each stored point belongs; only points of the same part merge."""
        assert self.state.witnesses is not None
        return np.floor(self.state.witnesses["time"][rows] / (self.window / GENERATIONS)).astype(np.int64)

    def _age(self) -> None:
        """Bring all weights to the same time."""
        if self.half_life < np.inf:
            masses = self.masses()
            assert self.state.witnesses is not None
            known = self.state.witnesses["weight"][: self.state.n] > 0
            masses[known] = np.maximum(masses[known], np.finfo(float).tiny)  # 0 is what is forgotten already
            self.state.witnesses["weight"][: self.state.n] = masses
            self.state.witnesses["time"][: self.state.n] = self.state.now

    def _forgotten(self) -> NDArray[np.bool_]:
        """Which stored points nobody needs any more."""
        assert self.state.witnesses is not None
        forgotten = self.state.witnesses["weight"][: self.state.n] == 0
        forgotten[self.state.landmarks()] = False
        return forgotten

    def comparable(self) -> float:
        """The resolution in the comparison scale of the space; negative: nothing has been merged yet."""
        resolution = self.state.resolution
        if resolution != self._known[0]:
            self._known = resolution, self.space.comparable(resolution) if resolution >= 0 else -1.0
        return self._known[1]

    def records(self) -> tuple[Ids, NDArray[Any]]:
        """The slots and records of all stored points, cell by cell."""
        state = self.state
        slots = np.arange(len(state.cells))
        return np.repeat(slots, state.cells["size"]), state.records[state.positions(slots)]

    def _raise_resolution(self, cells: Cells, share: Share) -> None:
        """Raise it so far that about half of the witnesses could merge into an earlier one of their cell."""
        others = np.flatnonzero(cells.starts != np.arange(len(cells.rows)))  # all but the landmarks
        sample = others[:: -(-len(others) // SAMPLE)].copy()
        costs = np.concatenate(share(cells.merge_costs, np.array_split(sample, PARTS)))
        costs = np.sort(costs[costs < np.inf])
        self.state.resolution = max(self.state.resolution, float(costs[len(costs) // 2]))

    def _merge(self, cells: Cells, share: Share) -> NDArray[np.bool_]:
        """Merge witnesses within their cells; returns which of the stored points are gone."""
        gone = np.zeros(self.state.n, np.bool_)
        share(lambda part: cells.merge(part[0], part[1], self.state.resolution, gone), cells.parts())
        return gone

    def _retain(self, gone: NDArray[np.bool_]) -> None:
        """Forget the stored points that are gone, and number the others anew."""
        state = self.state
        assert state.witnesses is not None
        ids = np.flatnonzero(~gone)
        renumbered = np.cumsum(~gone) - 1
        slots, records = self.records()
        stay = ~gone[records["row"]]
        slots, records = slots[stay], records[stay]
        records["row"] = renumbered[records["row"]]
        marks = state.cells["landmark"]
        marks[marks >= 0] = renumbered[marks[marks >= 0]]
        state.witnesses[: len(ids)] = state.witnesses[ids]
        self.space.retain(ids)
        state.n, state.oldest, state.renumbered = len(ids), 0, state.renumbered + 1
        state.refill(slots, records)
        if isinstance(self.space, EuclideanSpace) and not self.forgets:
            remember_all(self.space.rows, state.n, self.comparable(), state.boxes)


class Cells:
    """The witnesses of all cells, one cell after the other; in each in order of their distances to its landmark.

    The landmark is the first. ``starts`` says where the cell of each witness begins.
    """

    def __init__(self, memory: Memory) -> None:
        space, state = memory.space, memory.state
        assert state.witnesses is not None
        self.space, self.witnesses = space, state.witnesses
        slots, records = memory.records()
        to_landmark = space.true_all(records["nearest"])
        order = np.lexsort((records["row"] != state.cells["landmark"][slots], to_landmark, slots))
        self.rows, self.to_landmark = records["row"][order].astype(np.int64), to_landmark[order]
        self.starts = np.searchsorted(slots, slots)
        self.groups = memory.generations(self.rows)

    def parts(self) -> list[tuple[int, int]]:
        """Where some parts of about the same size begin and end, whole cells each."""
        cuts = np.linspace(0, len(self.rows), PARTS + 1)[1:-1].astype(np.int64)
        ends = [0, *self.starts[cuts].tolist(), len(self.rows)]
        return list(pairwise(ends))

    def merge_costs(self, some: Ids) -> Array:
        """For some witnesses, the least resolution at which they could merge into an earlier one."""
        if isinstance(self.space, EuclideanSpace):
            out = np.empty(len(some))
            merge_costs(
                self.space.rows, self.rows, self.starts, self.groups, self.to_landmark, some, self.witnesses, out
            )
            return out
        least = [self._distances(j, self._of_group(j, range(self.starts[j], j))).min(initial=np.inf) for j in some]
        return np.array(least, float) + self.witnesses["spread"][self.rows[some]]

    def merge(self, first: int, last: int, resolution: float, gone: NDArray[np.bool_]) -> None:
        """Merge each witness of some cells into the last that is left and near enough; landmarks stay."""
        if isinstance(self.space, EuclideanSpace):
            merge_cells(
                self.space.rows, self.rows, self.starts, self.groups, self.to_landmark, first, last, resolution,
                self.witnesses, gone, np.empty(last - first, np.int64),
            )  # fmt: skip
            return
        kept: list[int] = []
        for j in range(first, last):
            kept = [] if self.starts[j] == j else kept
            there, row = self._of_group(j, kept), self.rows[j]
            distances = self._distances(j, there)
            spread = self.witnesses["spread"][row]
            near = np.flatnonzero(distances + spread <= resolution)
            if not len(near):
                kept.append(j)
                continue
            other = self.witnesses[self.rows[there[near[-1]]] :][:1]
            other["weight"] += self.witnesses["weight"][row]
            other["spread"] = max(other["spread"][0], distances[near[-1]] + spread)
            gone[row] = True

    def _of_group(self, j: int, others: Iterable[int]) -> list[int]:
        return [i for i in others if self.groups[i] == self.groups[j]]

    def _distances(self, j: int, others: list[int]) -> Array:
        return self.space.true_all(self.space.pairs(self.rows[j : j + 1], self.rows[others]))[0]
