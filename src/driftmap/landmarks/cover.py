"""How the landmarks cover the stored points, kept up to date while landmarks come and go.

``learn`` takes arrivals in; a covered one costs its distances to the landmarks and nothing else. An uncovered one joins
the landmarks, and if there are too many then, a rule chooses which of them leaves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftmap import _kernels
from driftmap.landmarks.search import MatrixSearch
from driftmap.state import Event, StreamState, Undo

Ids = NDArray[np.int64]

# Rows looked at in one go; after a change of landmarks it starts small again, since the next change may be near.
FIRST_LOOK, LONGEST_LOOK = 8, 1 << 16
CHUNKS_AT_A_TIME = 1024


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

    def insert(self, arrival: int) -> int:
        """Make a stored point a landmark; returns its slot."""
        state = self.state
        slot = int(np.flatnonzero(state.slot_arrival < 0)[0])
        state.slot_arrival[slot] = arrival
        state.cost[slot] = 0.0
        chunks = self.search.chunks_near(state, arrival, state.chunk_second)
        self.undo.remember(chunks)
        for part in np.split(chunks, range(CHUNKS_AT_A_TIME, len(chunks), CHUNKS_AT_A_TIME)):
            _kernels.insert_landmark(
                part, state.n, self.search.column(state, part, arrival), slot, state.slot_arrival,
                state.nearest, state.nearest_slot, state.second, state.second_slot,
                state.cost, state.stale, state.chunk_nearest, state.chunk_second,
            )  # fmt: skip
        self._renew_stale_costs()
        self.search.landmarks_changed()
        return slot

    def _renew_stale_costs(self) -> None:
        state = self.state
        stale = state.slot_arrival[state.stale]
        if len(stale):
            near = [self.search.chunks_near(state, int(z), state.chunk_nearest) for z in stale]
            chunks = np.unique(np.concatenate(near))
            _kernels.refresh_costs(chunks, state.n, state.nearest_slot, state.second, state.stale, state.cost)

    def drop(self, slot: int) -> int:
        """Take a landmark out; its points go to the landmarks that are nearest now. Returns its arrival number."""
        state = self.state
        arrival = int(state.slot_arrival[slot])
        chunks = self.search.chunks_near(state, arrival, state.chunk_second)
        self.undo.remember(chunks)
        rows = _kernels.orphans(chunks, state.n, slot, state.nearest_slot, state.second_slot)
        state.slot_arrival[slot] = -1
        self.search.landmarks_changed()
        self.ready().rank(state, rows)
        _kernels.adopt(
            rows, chunks, state.n, state.nearest, state.nearest_slot, state.second,
            state.cost, state.chunk_nearest, state.chunk_second,
        )  # fmt: skip
        return arrival


Rule = Callable[[Cover, int], tuple[int, int]]
"""Given a cover and an uncovered arrival: bring a landmark in, take one out, set the radius; (came, left)."""


def learn(cover: Cover, stop: int, n_landmarks: int, rule: Rule) -> list[Event]:
    """Take in the stored arrivals up to ``stop``; returns what happened to the landmarks."""
    state = cover.state
    events: list[Event] = []
    look = FIRST_LOOK
    while state.n < stop:
        start = state.n
        wanted = min(look, stop - start)
        search = cover.ready()
        covered = search.scan(state, start, start + wanted)
        done = min(covered + 1, wanted)
        search.extend(state, start, start + done)
        _kernels.extend_chunks(
            start, start + done, state.radius, state.nearest, state.nearest_slot, state.second,
            state.cost, state.chunk_nearest, state.chunk_second,
        )  # fmt: skip
        state.n += done
        if covered == wanted:
            look = min(4 * look, LONGEST_LOOK)
            continue
        look = FIRST_LOOK
        arrival, before = state.n - 1, state.radius
        if len(search.arrivals) < n_landmarks:
            cover.insert(arrival)
            events.append(Event(arrival, "added", arrival, None, before, before))
        else:
            came, left = rule(cover, arrival)
            kind = "widened" if came == left else "replaced"
            events.append(Event(arrival, kind, came, left, before, state.radius))
    return events
