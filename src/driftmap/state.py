"""The stream's state as one record: how every stored point lies to the landmarks.

Each stored point has two numbers, its distance to the nearest and to the second-nearest landmark, and which they are:
24 bytes. Maxima per chunk of consecutive arrivals and per landmark cell let a change of landmarks touch only the points
it concerns.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

CHUNK = 256
"""Stored points are handled in chunks of this many consecutive arrivals."""
EVENTS_KEPT = 10_000
PER_ROW = ("nearest", "second", "nearest_slot", "second_slot")
PER_CHUNK = ("chunk_nearest", "chunk_second", "chunk_spread")


class Event(NamedTuple):
    """What an uncovered arrival did to the landmarks."""

    arrival: int
    """Number of the arrival, from 0."""
    kind: str
    """"added" (there was room), "replaced" (one came, one left), or "widened" (the newcomer itself was the cheapest to
    lose: the landmarks stay as they are and the radius grows to cover it)."""
    came: int
    """Arrival number of the point that became a landmark."""
    left: int | None
    """Arrival number of the landmark that was dropped, if any."""
    radius_before: float
    radius_after: float


class StreamState:
    """All that is known about a stream besides its points; distances are in the comparison scale of the space."""

    def __init__(self, n_landmarks: int, radius: float) -> None:
        self.n = 0
        self.radius = radius
        # One slot more than landmarks: for a moment the newcomer is there and nobody has left yet.
        self.slot_arrival: Ids = np.full(n_landmarks + 1, -1, dtype=np.int64)
        self.cost: Array = np.zeros(n_landmarks + 1)
        """Per landmark: how far its points would be from the others, i.e. the radius its loss would need (rho*)."""
        self.stale = np.zeros(n_landmarks + 1, dtype=np.bool_)
        self.nearest: Array = np.empty(0)
        self.second: Array = np.empty(0)
        self.nearest_slot: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.second_slot: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.chunk_nearest: Array = np.empty(0)
        self.chunk_second: Array = np.empty(0)
        self.chunk_spread: Array = np.empty(0)
        self.n_replacements = 0
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)

    @property
    def n_chunks(self) -> int:
        """Number of chunks in use, the last one possibly not full."""
        return -(-self.n // CHUNK)

    def slots(self) -> NDArray[np.intp]:
        """Slots of the landmarks, in order of arrival."""
        order = np.argsort(self.slot_arrival)
        return order[np.searchsorted(self.slot_arrival[order], 0) :]

    def landmarks(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        return self.slot_arrival[self.slots()]

    def masses(self) -> Ids:
        """For each landmark, in order of arrival, the number of stored points nearest to it."""
        counts = np.bincount(self.nearest_slot[: self.n], minlength=len(self.slot_arrival))
        return counts[self.slots()].astype(np.int64)

    def covering_radius(self) -> float:
        """The largest distance of a stored point to its nearest landmark."""
        return float(self.chunk_nearest[: self.n_chunks].max(initial=0.0))

    def reserve(self, n: int) -> None:
        """Make room for n stored points."""
        if n <= len(self.nearest):
            return
        size = -(-max(n, 2 * len(self.nearest)) // CHUNK) * CHUNK
        for names, length in ((PER_ROW, size), (PER_CHUNK, size // CHUNK)):
            for name in names:
                old = getattr(self, name)
                grown = np.empty(length, dtype=old.dtype)
                grown[: len(old)] = old
                setattr(self, name, grown)


class Undo:
    """Takes a state back to where it was, so that a batch is learnt as a whole or not at all.

    Only chunks about to be changed are copied, each once: the price is in proportion to the work.
    """

    def __init__(self, state: StreamState) -> None:
        self.state = state
        self.n, self.radius = state.n, state.radius
        self.slot_arrival, self.cost = state.slot_arrival.copy(), state.cost.copy()
        self.saved: list[tuple[Ids, list[NDArray[np.generic]]]] = []
        self.seen = np.zeros(state.n_chunks, dtype=np.bool_)
        if state.n % CHUNK:  # new arrivals go into the last chunk
            self.remember(np.array([state.n_chunks - 1]))

    def remember(self, chunks: Ids) -> None:
        """Keep a copy of these chunks, where they are older than the batch."""
        chunks = chunks[: np.searchsorted(chunks, len(self.seen))]
        chunks = chunks[~self.seen[chunks]]
        if not len(chunks):
            return
        self.seen[chunks] = True
        rows = [getattr(self.state, name).reshape(-1, CHUNK)[chunks] for name in PER_ROW]
        self.saved.append((chunks, rows + [getattr(self.state, name)[chunks] for name in PER_CHUNK]))

    def restore(self) -> None:
        """Put everything back."""
        state = self.state
        for chunks, copies in self.saved:
            for name, copy in zip(PER_ROW + PER_CHUNK, copies, strict=True):
                array = getattr(state, name)
                (array.reshape(-1, CHUNK) if name in PER_ROW else array)[chunks] = copy
        state.n, state.radius = self.n, self.radius
        state.slot_arrival, state.cost = self.slot_arrival, self.cost
        state.stale[:] = False
