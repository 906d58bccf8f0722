"""Learning from few Euclidean points without compiled code.

To compile the arrival loop takes seconds, once on a machine; a short stream is done sooner without it. The steps and
all results are those of :mod:`driftmap._kernels.learn`, to the bit; only the order of the work differs. Here the
second-nearest landmark of every point is always known, and a replacement is one pass over all of them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import WITHOUT_NUMBA, is_kept, is_ready
from driftmap.landmarks.cover import kind_of
from driftmap.metrics import EuclideanSpace
from driftmap.state import RECORD, Event, StreamState

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

SECONDS = 1.0
"""How long a process does without compiled code, in all."""
SECONDS_KNOWN = 0.03
"""The same where it has been compiled already, and numba only has to load it; without numba that is done at once."""
LOOK = 64


def worthwhile(kernel: Any) -> bool:
    """Whether it is better to do without this kernel for a while."""
    return not is_ready(kernel) and SmallLearner.spent < budget(kernel)


def budget(kernel: Any) -> float:
    """The seconds to spend before a kernel is compiled, or before it is loaded where that has been done already."""
    if is_kept(kernel):
        return 0.0 if WITHOUT_NUMBA else SECONDS_KNOWN
    return SECONDS


class SmallLearner:
    """Takes arrivals into the state by the tight rule, as long as all of them are stored and there is little to do."""

    spent = 0.0
    """The seconds that all objects of this class have taken."""

    def __init__(self, space: EuclideanSpace, state: StreamState, n_landmarks: int, budget: float = SECONDS) -> None:
        self.space, self.state, self.m, self.budget = space, state, n_landmarks, budget
        self.n = self.moves = 0
        self.nearest, self.second = np.empty(0), np.empty(0)
        self.slot, self.second_slot = np.empty(0, np.int64), np.empty(0, np.int64)
        self.moved = np.empty(0, np.int64)
        """Which move brought each point to its cell: the order of the cell."""

    def learn(self, batch: Array, limit: int) -> int:
        """Take in further arrivals, while at most ``limit`` are stored; returns how many."""
        state, start, begun = self.state, self.n, time.perf_counter()
        if not (start == state.n == state.seen):  # somebody else has been here
            return 0
        most = min(limit, start + len(batch))
        before = vars(self).copy()
        cells, radius = state.cells.copy(), state.radius
        try:
            events = self._learn_all(batch, start, most, begun + self.budget - SmallLearner.spent)
        except BaseException:  # an interrupt from the keyboard
            vars(self).update(before)
            state.cells[:], state.radius = cells, radius
            raise
        self._finish(self.n)
        state.record(events)
        SmallLearner.spent += time.perf_counter() - begun
        return self.n - start

    def _learn_all(self, batch: Array, start: int, most: int, until: float) -> list[Event]:
        for name in ("nearest", "second", "slot", "second_slot", "moved"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array[:start], np.empty(most - start, array.dtype)]))
        events: list[Event] = []
        while self.n < most and time.perf_counter() < until:
            stop = min(self.n + LOOK, most)
            self.space.extend(batch[self.n - start : stop - start])
            events += self._learn(np.arange(self.n, stop))
        return events

    def _finish(self, n: int) -> None:
        """Bring the state up to date."""
        state = self.state
        state.reserve(n)
        if state.witnesses is not None:
            state.witnesses["arrival"][:n], state.witnesses["weight"][:n] = np.arange(n), 1.0
        records = np.empty(n, RECORD)
        records["row"], records["nearest"], records["second"] = np.arange(n), self.nearest[:n], self.second[:n]
        records["second_slot"] = self.second_slot[:n]
        state.refill(self.slot[:n], records, self.moved[:n])
        state.seen = state.n = n

    def _learn(self, rows: Ids) -> list[Event]:
        state, marks, events = self.state, self.state.cells["landmark"], []
        taken = state.slots()
        distances = np.full((len(rows), len(marks)), np.inf)
        distances[:, taken] = self._distances(rows, marks[taken])
        for row, to_slots in zip(rows.tolist(), distances, strict=True):
            two = _two_nearest(to_slots[None, taken], taken)
            self._place(np.array([row]), *two)
            self.n = row + 1
            if self.nearest[row] <= state.radius:
                continue
            before, left = state.radius, None
            new = int(np.argmin(marks))  # a free slot holds -1
            marks[new] = row
            distances[:, new] = self._distances(rows, np.array([row]))[:, 0]
            if not len(taken):
                self.nearest[row], self.slot[row] = 0.0, new
            else:
                self._compete(row, new)
            if len(taken) == self.m:
                left = self._drop_cheapest()
            taken = state.slots()
            events.append(Event(row, kind_of(row, left), row, left, before, state.radius))
        return events

    def _place(self, rows: Ids, nearest: Array, slot: Ids, second: Array, second_slot: Ids) -> None:
        """Put points, in this order, into the cells of their nearest landmarks."""
        self.nearest[rows], self.slot[rows], self.second[rows], self.second_slot[rows] = (
            nearest, slot, second, second_slot,
        )  # fmt: skip
        self._move(rows)

    def _move(self, rows: Ids) -> None:
        self.moved[rows] = np.arange(self.moves, self.moves + len(rows))
        self.moves += len(rows)

    def _compete(self, row: int, new: int) -> None:
        """Let a new landmark compete for all points."""
        n = self.n
        t = self._distances(np.arange(n), np.array([row]))[:, 0]
        nearest, second = self.nearest[:n], self.second[:n]
        nearer, between = t < nearest, (t >= nearest) & (t < second)
        self.second[:n][between], self.second_slot[:n][between] = t[between], new
        rows = np.flatnonzero(nearer)
        rows = rows[np.lexsort((self.moved[rows], self.slot[rows]))]
        self._place(rows, t[rows], np.full(len(rows), new), self.nearest[rows], self.slot[rows])

    def _drop_cheapest(self) -> int:
        """Take out the landmark that is cheapest to lose; the radius becomes the covering radius. Returns its point."""
        n, marks = self.n, self.state.cells["landmark"]
        costs = np.zeros(len(marks))
        np.maximum.at(costs, self.slot[:n], self.second[:n])
        slot = min(range(len(marks)), key=lambda s: (costs[s], marks[s]))
        left = int(marks[slot])
        marks[slot] = -1
        heirless = np.flatnonzero((self.slot[:n] == slot) | (self.second_slot[:n] == slot))
        taken = self.state.slots()
        nearest, first, second, other = _two_nearest(self._distances(heirless, marks[taken]), taken)
        moving = self.slot[heirless] == slot
        self.nearest[heirless], self.slot[heirless] = nearest, first
        self.second[heirless], self.second_slot[heirless] = second, other
        self._move(heirless[moving][np.argsort(self.moved[heirless[moving]])])
        self.state.radius = float(self.nearest[:n].max())
        return left

    def _distances(self, rows: Ids, columns: Ids) -> Array:
        """Squared distances between stored points, summed over coordinates in order as everywhere."""
        X, Y = self.space.take(rows).T, self.space.take(columns).T
        total = np.zeros((len(rows), len(columns)))
        for x, y in zip(X, Y, strict=True):
            total += (x[:, None] - y) ** 2
        return total


def _two_nearest(distances: Array, slots: Ids) -> tuple[Array, Ids, Array, Ids]:
    """The two nearest landmarks of each row: distance and slot of each; infinity and -1 where there is none."""
    n, m = distances.shape
    rows, nothing = np.arange(n), (np.full(n, np.inf), np.full(n, -1))
    if m == 0:
        return *nothing, *nothing
    first = distances.argmin(axis=1)
    nearest = distances[rows, first]
    if m == 1:
        return nearest, slots[first], *nothing
    distances = distances.copy()
    distances[rows, first] = np.inf
    second = distances.argmin(axis=1)
    return nearest, slots[first], distances[rows, second], slots[second]
