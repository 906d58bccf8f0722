"""Learning with any metric: how the landmarks cover the stored points, kept up to date while landmarks come and go.

A covered arrival costs its distances to the landmarks and nothing else. An uncovered one joins the landmarks, and if
there are too many then, a rule chooses which of them leaves. Distances come as matrices, and nothing is assumed about
them but symmetry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import add_records, drop_landmark, insert_into_cell, scan_matrix, set_seconds
from driftmap._kernels.records import FOUND
from driftmap.metrics import Space
from driftmap.state import Event, StreamState, Undo

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

# Arrivals to look at in one go; few right after a change of landmarks, since what lies beyond the next one is lost.
FIRST_LOOK, LONGEST_LOOK = 8, 1024


class Cover:
    """Takes stored arrivals into the state, a batch as a whole or not at all."""

    def __init__(self, space: Space, state: StreamState, n_landmarks: int, rule: Rule) -> None:
        self.space, self.state = space, state
        self.n_landmarks, self.rule = n_landmarks, rule
        self.found = np.empty(LONGEST_LOOK, FOUND)  # of the arrivals scanned last
        self.undo: Undo | None = None

    def learn(self, prepared: Any, times: Array | None = None) -> None:
        """Take in further arrivals."""
        self.undo = Undo(self.state)
        self.state.reserve(self.state.n + len(prepared))
        self.space.extend(prepared)
        self.state.record(list(self._events()))
        self.undo = None

    def restore(self) -> None:
        """Go back to where the batch began."""
        if self.undo is not None:
            self.undo.restore()
        self.space.truncate(self.state.n)

    def _events(self) -> Iterator[Event]:
        state, stop = self.state, len(self.space)
        if state.n == 0:
            self._begin()
            yield Event(0, "added", 0, None, state.radius, state.radius)
        look = FIRST_LOOK
        while state.n < stop:
            slots = state.slots()
            wanted = min(look, stop - state.n)
            distances = self.space.pairs(np.arange(state.n, state.n + wanted), state.cells["landmark"][slots])
            covered = scan_matrix(distances, slots, state.radius, self.found)
            self._add(min(covered + 1, wanted))
            if covered == wanted:
                look = min(4 * look, LONGEST_LOOK)
                continue
            look = FIRST_LOOK
            arrival, before = state.n - 1, state.radius
            if len(slots) < self.n_landmarks:
                self.insert(arrival)
                yield Event(arrival, "added", arrival, None, before, before)
            else:
                came, left = self.rule(self, arrival)
                yield Event(arrival, kind_of(came, left), came, left, before, state.radius)

    def _begin(self) -> None:
        """Make the very first arrival a landmark: there is no cell yet to take it from."""
        self.state.cells["landmark"][0] = 0
        self.found[0] = 0.0, 0, np.inf, -1
        self._add(1)

    def _add(self, count: int) -> None:
        """Take arrivals that have just been scanned into the cells of their nearest landmarks."""
        state = self.state
        rows = np.arange(state.n, state.n + count)
        add_records(*self._where(), rows, self.found)
        state.n += count
        state.seen += count

    def exchange(self, point: int) -> int:
        """Make a stored point a landmark and drop another by the rule; returns its number."""
        return self.rule(self, point)[1]

    def insert(self, arrival: int) -> None:
        """Make a stored point a landmark."""
        if self.undo is not None:
            self.undo.remember()
        state, there = self.state, np.array([arrival])
        newcomer = int(np.argmin(state.cells["landmark"]))  # a free slot holds -1
        others = np.flatnonzero(state.cells["landmark"] >= 0)
        state.cells["landmark"][newcomer] = arrival
        for slot in others:
            column = self._distances(self.records(slot)["row"], there)[:, 0]
            insert_into_cell(*self._where(), slot, newcomer, column)

    def cost(self, slot: int) -> float:
        """The exact cost of losing a landmark: the largest distance of its points to the other landmarks."""
        state = self.state
        if not state.cells["certain"][slot]:
            slots = state.slots()
            records = self.records(slot)
            rows = records["row"][records["second_slot"] < 0]
            distances = self._distances(rows, state.cells["landmark"][slots])
            set_seconds(*self._where(), slot, distances, slots)
        return float(state.cells["cost"][slot])

    def drop(self, slot: int | np.integer[Any]) -> int:
        """Take a landmark whose cost is exact out; its points go to those nearest now. Returns its number."""
        point = int(self.state.cells["landmark"][slot])
        nothing_known = np.zeros(len(self.state.cells))
        drop_landmark(*self._where(), slot, nothing_known)
        return point

    def column(self, arrival: int) -> Array:
        """Distances of all stored points that are known to one of them."""
        return self._distances(np.arange(self.state.n), np.array([arrival]))[:, 0]

    def records(self, slot: int | np.integer[Any]) -> NDArray[Any]:
        """The records of a cell, in its order."""
        state = self.state
        return state.records[state.positions(np.array([slot]))]

    def _where(self) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]:
        """What kernels need to know about the cells."""
        return self.state.records, self.state.chain, self.state.cells

    def _distances(self, rows: Ids, columns: Ids) -> Array:
        """Asked for in parts, which keeps the intermediate results of some metrics small."""
        out = np.empty((len(rows), len(columns)))
        for first in range(0, len(rows), LONGEST_LOOK):
            part = slice(first, first + LONGEST_LOOK)
            out[part] = self.space.pairs(rows[part], columns)
        return out


def kind_of(came: int | None, left: int | None) -> str:
    """What happened, given who came and who left."""
    if left is None:
        return "added"
    if came is None:
        return "forgotten"
    return "widened" if came == left else "replaced"


Rule = Callable[[Cover, int], tuple[int, int]]
"""Given a cover and an uncovered arrival: bring a landmark in, take one out, set the radius; (came, left)."""
