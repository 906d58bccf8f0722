"""The stream's state as one record: how every stored point lies to the landmarks.

Each stored point has a record of 24 bytes: its number, its distance to the nearest and to the second-nearest landmark,
and which the second is. The records of the points nearest to one landmark, its *cell*, lie together, so a change of
landmarks touches only the cells it concerns. The second-nearest landmark is looked up only when it is asked for: until
then its slot is -1 and a lower bound stands for its distance.

A cell is a chain of blocks of ``BLOCK`` records, all full but the last; blocks that are not used form a chain as well.
Landmarks live in numbered slots, so that a record can name one.

Stored points are numbered 0, 1, 2, ... in the order of their arrival. As long as every point is kept, these are the
arrival numbers. With bounded memory a stored point is a *witness*, which may stand for others near it
(:mod:`driftmap.landmarks.memory`); the witnesses' table then holds the arrival numbers.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap import room

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

BLOCK = 64
"""Records in a block."""
EVENTS_KEPT = 10_000
BOXES = 2**18

RECORD = np.dtype(
    [
        ("row", np.int32),  # number of the stored point
        ("second_slot", np.int32),  # slot of its second-nearest landmark; -1: not known
        ("nearest", np.float64),  # distance to the landmark of the cell, in the comparison scale of the space
        ("second", np.float64),  # distance to the second-nearest landmark, or a lower bound of it
    ]
)
CELL = np.dtype(
    [
        ("landmark", np.int64),  # number of the stored point that is the landmark; -1: the slot is free
        ("cost", np.float64),  # the radius that the loss of the landmark would need: the largest second distance
        ("reach", np.float64),  # the largest nearest distance
        ("size", np.int64),  # number of records
        ("head", np.int32),  # the first block; -1: there are no records
        ("tail", np.int32),  # the last block
        ("filled", np.int32),  # records in the last block
        ("certain", np.int32),  # whether the cost is exact, not only a lower bound
        ("order", np.int64),  # not of this slot: all slots, the landmarks by arrival when they were last sorted
    ]
)
FREE_CELL = (-1, 0.0, 0.0, 0, -1, -1, 0, 1, 0)
WITNESS = np.dtype(
    [
        ("arrival", np.int64),
        ("weight", np.float64),  # how many points it stands for; with a half-life, as of its time
        ("spread", np.float64),  # every point it stands for lies within this distance of it
        ("time", np.float64),  # when it arrived; with a half-life, when its weight was last changed
    ]
)


class Event(NamedTuple):
    """What an arrival did to the landmarks."""

    arrival: int
    """Number of the arrival, from 0."""
    kind: str
    """"added" (there was room), "replaced" (one came, one left), "widened" (the newcomer itself was the cheapest to
    lose: the landmarks stay as they are and the radius grows to cover it), or "forgotten" (a landmark left because
    nothing that is remembered is nearest to it)."""
    came: int | None
    """Arrival number of the point that became a landmark, if any."""
    left: int | None
    """Arrival number of the landmark that was dropped, if any."""
    radius_before: float
    radius_after: float


class StreamState:
    """All that is known about a stream besides its points."""

    def __init__(self, n_landmarks: int, radius: float, *, weighted: bool = False) -> None:
        self.seen = 0
        """Number of arrivals."""
        self.n = 0
        """Number of stored points."""
        self.radius = radius
        self.cells = np.full(n_landmarks + 1, np.array(FREE_CELL, CELL), CELL)  # one more, while nobody has left yet
        self.cells["order"] = np.arange(n_landmarks + 1)
        self.records = np.empty(0, RECORD)
        self.chain = np.full(1, -1, np.int32)
        """Per block, the next one of its chain; -1: none. The last entry is the first block that is not used."""
        self.witnesses = np.zeros(0, WITNESS) if weighted else None
        """Per stored point, what it stands for; None: every point is kept and stands for itself."""
        self.boxes = np.full(BOXES if weighted else 0, -1, np.int32)
        """Witnesses that points of a box joined last (:mod:`driftmap._kernels.witnesses`); -1: none."""
        self.resolution = -1.0
        """Points within this distance of a witness join it; negative: nothing has been merged yet."""
        self.renumbered = 0
        """How often stored points were numbered anew."""
        self.oldest = 0
        """All stored points before this one are forgotten; those that are landmarks are stored nevertheless."""
        self.now = -np.inf
        """When the last point arrived, where points are forgotten."""
        self.n_replacements = 0
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)

    def slots(self) -> NDArray[np.intp]:
        """Slots of the landmarks, in order of arrival."""
        numbers = self.cells["landmark"]
        order = np.argsort(numbers)
        return order[np.searchsorted(numbers[order], 0) :]

    def landmarks(self) -> Ids:
        """Numbers of the stored points that are landmarks, ascending."""
        return self.cells["landmark"][self.slots()]

    def arrivals(self, numbers: Ids) -> Ids:
        """Arrival numbers of stored points."""
        return numbers if self.witnesses is None else self.witnesses["arrival"][numbers]

    def arrival(self, number: int | np.integer[Any]) -> int:
        """Arrival number of a stored point."""
        return int(number if self.witnesses is None else self.witnesses["arrival"][number])

    def numbers(self, arrivals: Ids) -> Ids:
        """Numbers of stored points, given their arrival numbers."""
        if self.witnesses is None:
            return arrivals
        stored = self.witnesses["arrival"][: self.n]
        numbers = np.minimum(np.searchsorted(stored, arrivals), self.n - 1)
        if not np.array_equal(stored[numbers], arrivals):
            raise KeyError(f"arrival {arrivals[stored[numbers] != arrivals][0]} is not stored any more")
        return numbers

    def covering_radius(self) -> float:
        """The largest distance of a stored point to its nearest landmark."""
        return float(self.cells["reach"].max())

    def remembered(self) -> int:
        """Number of stored points that are not forgotten."""
        return int(self.cells["size"].sum())

    def positions(self, slots: NDArray[np.integer[Any]]) -> Ids:
        """Where the records of some cells are: one cell after the other, each in its order."""
        blocks = []
        for block in self.cells["head"][slots].tolist():
            while block >= 0:
                blocks.append(block)
                block = self.chain.item(block)
        filled = np.full(len(blocks), BLOCK)
        ends = np.cumsum(-(-self.cells["size"][slots] // BLOCK))
        used = self.cells["size"][slots] > 0
        filled[ends[used] - 1] = self.cells["filled"][slots][used]
        inside = np.arange(BLOCK)
        return (np.array(blocks, np.int64)[:, None] * BLOCK + inside)[inside < filled[:, None]]

    def record(self, events: list[Event]) -> None:
        """Take note of what happened to the landmarks."""
        self.events.extend(events)
        self.n_replacements += sum(event.kind == "replaced" for event in events)

    def blocks_for(self, n: int) -> int:
        """Enough blocks for n points: full ones, one for each slot that is not full, and two while records move."""
        return n // BLOCK + len(self.cells) + 2

    def reserve(self, n: int) -> None:
        """Make room for n stored points."""
        if self.witnesses is not None and n > len(self.witnesses):
            grown = np.zeros(max(n, len(self.witnesses) + len(self.witnesses) // 2), WITNESS)
            grown[: len(self.witnesses)] = self.witnesses
            self.witnesses = grown
        blocks, had = self.blocks_for(n), len(self.chain) - 1
        if blocks <= had:
            return
        blocks = max(blocks, had + had // 2)
        records = room.empty(blocks * BLOCK, RECORD)
        records[: had * BLOCK] = self.records
        chain = np.arange(1, blocks + 2, dtype=np.int32)  # the new blocks form a chain
        chain[:had], chain[blocks - 1], chain[blocks] = self.chain[:had], -1, self.chain[had]
        end = blocks  # of the chain of unused blocks
        while chain[end] >= 0:
            end = int(chain[end])
        chain[end] = had
        self.records, self.chain = records, chain

    def refill(self, slots: NDArray[np.integer[Any]], records: NDArray[Any], order: Ids | None = None) -> None:
        """Fill all cells anew: ``slots`` says to which each record belongs; they follow each other in this order."""
        by_slot = np.argsort(slots, kind="stable") if order is None else np.lexsort((order, slots))
        slots, records = slots[by_slot], records[by_slot]
        cells, blocks = self.cells, len(self.chain) - 1
        sizes = np.bincount(slots, minlength=len(cells))
        needed = -(-sizes // BLOCK)
        first = np.cumsum(needed) - needed
        rank = np.arange(len(slots)) - (np.cumsum(sizes) - sizes)[slots]
        self.records[first[slots] * BLOCK + rank] = records
        cells["size"], cells["head"] = sizes, np.where(sizes > 0, first, -1)
        cells["tail"], cells["filled"] = np.where(sizes > 0, first + needed - 1, -1), sizes - (needed - 1) * BLOCK
        cells["filled"][sizes == 0] = 0
        cells["cost"], cells["reach"], cells["certain"] = 0.0, 0.0, 1
        np.maximum.at(cells["cost"], slots, records["second"])
        np.maximum.at(cells["reach"], slots, records["nearest"])
        cells["certain"][slots[records["second_slot"] < 0]] = 0
        self.chain[:] = np.arange(1, blocks + 2)
        self.chain[cells["tail"][sizes > 0]] = -1
        used = int(needed.sum())
        self.chain[-1] = used if used < blocks else -1
        if used < blocks:
            self.chain[blocks - 1] = -1

    def copy(self) -> StreamState:
        """An independent copy."""
        other = object.__new__(StreamState)
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if hasattr(value, "copy") else value)
        return other


class Undo:
    """Takes a state back to where it was, so that a batch is learnt as a whole or not at all."""

    def __init__(self, state: StreamState) -> None:
        self.state = state
        self.scalars = (state.seen, state.n, state.radius)
        self.cells = state.cells.copy()
        self.records: tuple[NDArray[Any], NDArray[np.int32]] | None = None

    def remember(self) -> None:
        """Save the records, since the landmarks are about to change.

        Until then the batch has only appended to the cells, which their counts undo.
        """
        if self.records is None:
            used = self.state.blocks_for(self.scalars[1])
            self.records = self.state.records[: used * BLOCK].copy(), self.state.chain[:used].copy()

    def restore(self) -> None:
        """Put everything back."""
        state, cells, chain = self.state, self.state.cells, self.state.chain
        state.seen, state.n, state.radius = self.scalars
        cells[:] = self.cells
        if self.records is not None:
            records, links = self.records
            state.records[: len(records)], chain[: len(links)] = records, links
        used = np.zeros(len(chain) - 1, np.bool_)
        for first, last in zip(cells["head"], cells["tail"], strict=True):
            block = int(first)
            while block >= 0:
                used[block] = True
                if block == last:
                    chain[block] = -1
                block = int(chain[block])
        unused = np.append(np.flatnonzero(~used), -1)
        chain[-1] = unused[0]
        chain[unused[:-1]] = unused[1:]
