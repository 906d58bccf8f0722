"""How the landmarks cover the stored points, kept up to date while landmarks come and go.

``learn`` takes arrivals in; a covered one costs its distances to the landmarks and nothing else. An uncovered one joins
the landmarks, and if there are too many then, a rule chooses which of them leaves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftmap import _kernels
from driftmap.landmarks.search import ROWS, MatrixSearch
from driftmap.state import Event, StreamState, Undo


class Cover:
    """A state with the search that keeps it up to date, and a way back to where the present batch began."""

    def __init__(self, state: StreamState, search: MatrixSearch) -> None:
        self.state, self.search = state, search
        self.undo = Undo(state)

    def ready(self) -> MatrixSearch:
        """The search, with the present landmarks laid out."""
        if not self.search.current:
            self.search.lay_out(self.state)
        return self.search

    def restore(self) -> None:
        """Go back to where the batch began."""
        self.undo.restore()
        self.search.landmarks_changed()

    def add(self, start: int, stop: int) -> None:
        """Take arrivals that have just been scanned into the cells of their nearest landmarks."""
        _kernels.add_rows(self.state.cells, self.state.marks, start, stop - start, *self.search.found.arrays())
        self.state.n = stop

    def insert(self, arrival: int) -> None:
        """Make a stored point a landmark."""
        self.undo.remember()
        marks = self.state.marks
        newcomer = int(np.argmin(marks.arrival))  # a free slot holds -1
        marks.arrival[newcomer] = arrival
        self.search.insert(self.state, newcomer)
        self.search.landmarks_changed()

    def begin(self) -> None:
        """Make the very first arrival a landmark: there is no cell yet to take it from."""
        self.state.marks.arrival[0] = 0
        found = self.search.found
        found.nearest[0], found.nearest_slot[0], found.second[0], found.second_slot[0] = 0.0, 0, np.inf, -1
        self.add(0, 1)
        self.search.landmarks_changed()

    def cost(self, slot: int) -> float:
        """The exact cost of losing a landmark: the largest distance of its points to the other landmarks."""
        if not self.state.marks.certain[slot]:
            self.ready().set_seconds(self.state, slot)
        return float(self.state.marks.cost[slot])

    def drop(self, slot: int) -> int:
        """Take a landmark whose cost is exact out; its points go to those nearest now. Returns its arrival number."""
        state = self.state
        arrival = int(state.marks.arrival[slot])
        _kernels.drop_landmark(state.cells, state.marks, slot, self.search.between_landmarks(state, slot))
        self.search.landmarks_changed()
        return arrival


Rule = Callable[[Cover, int], tuple[int, int]]
"""Given a cover and an uncovered arrival: bring a landmark in, take one out, set the radius; (came, left)."""


def learn(cover: Cover, stop: int, n_landmarks: int, rule: Rule) -> list[Event]:
    """Take in the stored arrivals up to ``stop``; returns what happened to the landmarks."""
    state = cover.state
    events: list[Event] = []
    if state.n == 0 < stop:
        cover.begin()
        events.append(Event(0, "added", 0, None, state.radius, state.radius))
    look = cover.search.first_look
    while state.n < stop:
        search = cover.ready()
        start = state.n
        wanted = min(look, stop - start)
        covered = search.scan(start, start + wanted, state.radius)
        cover.add(start, start + min(covered + 1, wanted))
        if covered == wanted:
            look = min(4 * look, ROWS)
            continue
        look = search.first_look
        arrival, before = state.n - 1, state.radius
        if len(search.arrivals) < n_landmarks:
            cover.insert(arrival)
            events.append(Event(arrival, "added", arrival, None, before, before))
        else:
            came, left = rule(cover, arrival)
            kind = "widened" if came == left else "replaced"
            events.append(Event(arrival, kind, came, left, before, state.radius))
    return events
