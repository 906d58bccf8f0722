"""The stream's state as one record: how every stored point lies to the landmarks.

Each stored point has a record of 24 bytes: its number, its distance to the nearest and to the second-nearest landmark,
and which the second is. The records of the points nearest to one landmark, its *cell*, lie together, so a change of
landmarks touches only the cells it concerns. The second-nearest landmark is looked up only when it is asked for: until
then its slot is -1 and a lower bound stands for its distance.

A cell is a chain of blocks of ``BLOCK`` records, all full but the last; blocks that are not used form a chain as well.
Landmarks live in numbered slots, so that a record can name one.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

BLOCK = 64
"""Records in a block."""
EVENTS_KEPT = 10_000


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


class Cells(NamedTuple):
    """Records of the stored points, by landmark. The first four arrays have one entry per record."""

    row: NDArray[np.int32]
    """Arrival number."""
    nearest: Array
    """Distance to the landmark of the cell."""
    second: Array
    """Distance to the second-nearest landmark, or a lower bound of it."""
    second_slot: NDArray[np.int32]
    """Slot of the second-nearest landmark; -1: not known."""
    following: NDArray[np.int32]
    """Per block: the next one of its chain; -1: none."""
    head: NDArray[np.int32]
    """Per slot: the first block of the cell; -1: the cell is empty."""
    tail: NDArray[np.int32]
    """Per slot: the last block."""
    tail_count: NDArray[np.int64]
    """Per slot: the records in the last block."""
    mass: Ids
    """Per slot: the records in the cell."""
    free: NDArray[np.int32]
    """The first block that is not used."""


class Landmarks(NamedTuple):
    """The landmarks, one entry per slot; distances are in the comparison scale of the space."""

    arrival: Ids
    """Arrival number; -1: the slot is free."""
    cost: Array
    """The radius that the loss of the landmark would need: the largest second distance in its cell."""
    certain: NDArray[np.bool_]
    """Whether the cost is exact, not only a lower bound."""
    reach: Array
    """The largest nearest distance in the cell."""


class StreamState:
    """All that is known about a stream besides its points."""

    def __init__(self, n_landmarks: int, radius: float) -> None:
        self.n = 0
        self.radius = radius
        slots = n_landmarks + 1  # for a moment the newcomer is there and nobody has left yet
        self.marks = Landmarks(np.full(slots, -1, np.int64), np.zeros(slots), np.ones(slots, np.bool_), np.zeros(slots))
        self.cells = Cells(
            np.empty(0, np.int32), np.empty(0), np.empty(0), np.empty(0, np.int32), np.empty(0, np.int32),
            np.full(slots, -1, np.int32), np.full(slots, -1, np.int32), np.zeros(slots, np.int64),
            np.zeros(slots, np.int64), np.full(1, -1, np.int32),
        )  # fmt: skip
        self.n_replacements = 0
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)

    def slots(self) -> NDArray[np.intp]:
        """Slots of the landmarks, in order of arrival."""
        order = np.argsort(self.marks.arrival)
        return order[np.searchsorted(self.marks.arrival[order], 0) :]

    def landmarks(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        return self.marks.arrival[self.slots()]

    def masses(self) -> Ids:
        """For each landmark, in order of arrival, the number of stored points nearest to it."""
        return self.cells.mass[self.slots()]

    def covering_radius(self) -> float:
        """The largest distance of a stored point to its nearest landmark."""
        return float(self.marks.reach.max())

    def record(self, events: list[Event]) -> None:
        """Take note of what happened to the landmarks."""
        self.events.extend(events)
        self.n_replacements += sum(event.kind == "replaced" for event in events)

    def blocks_for(self, n: int) -> int:
        """Enough blocks for n points: full ones, one for each slot that is not full, and two while records move."""
        return n // BLOCK + len(self.marks.arrival) + 2

    def reserve(self, n: int) -> None:
        """Make room for n stored points."""
        old = self.cells
        blocks, had = self.blocks_for(n), len(old.following)
        if blocks <= had:
            return
        blocks = max(blocks, had + had // 2)
        per_record = [np.empty(blocks * BLOCK, array.dtype) for array in old[:4]]
        for grown, array in zip(per_record, old[:4], strict=True):
            grown[: had * BLOCK] = array
        following = np.arange(1, blocks + 1, dtype=np.int32)  # the new blocks form a chain
        following[:had], following[-1] = old.following, -1
        end = -1  # of the chain of unused blocks
        block = int(old.free[0])
        while block >= 0:
            end, block = block, int(old.following[block])
        (old.free if end < 0 else following)[max(end, 0)] = had
        self.cells = Cells._make([*per_record, following, *old[5:]])


class Undo:
    """Takes a state back to where it was, so that a batch is learnt as a whole or not at all."""

    def __init__(self, state: StreamState) -> None:
        self.state = state
        self.n, self.radius = state.n, state.radius
        self.small = [array.copy() for array in (*state.marks, *state.cells[5:])]
        self.records: list[NDArray[np.generic]] = []

    def remember(self) -> None:
        """Save the records, since the landmarks are about to change.

        Until then the batch has only appended to the cells, which their counts undo.
        """
        if not self.records:
            used = self.state.blocks_for(self.n)
            self.records = [array[: used * BLOCK].copy() for array in self.state.cells[:4]]
            self.records.append(self.state.cells.following[:used].copy())

    def restore(self) -> None:
        """Put everything back."""
        state, cells = self.state, self.state.cells
        state.n, state.radius = self.n, self.radius
        targets: list[Any] = [*state.marks, *cells[5:]]
        for array, copy in zip(targets, self.small, strict=True):
            array[:] = copy
        records: list[Any] = list(cells[:5])
        for array, saved in zip(records, self.records, strict=False):  # none, if no landmark changed
            array[: len(saved)] = saved
        used = np.zeros(len(cells.following), np.bool_)
        for first, last in zip(cells.head, cells.tail, strict=True):
            block = int(first)
            while block >= 0:
                used[block] = True
                if block == last:
                    cells.following[block] = -1
                block = int(cells.following[block])
        unused = np.append(np.flatnonzero(~used), -1)
        cells.free[0] = unused[0]
        cells.following[unused[:-1]] = unused[1:]
