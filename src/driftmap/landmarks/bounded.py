"""Learning with any metric and bounded memory: most arrivals join a witness and are not stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import expired, farthest, generation, scan_matrix, sweep_every, take_out
from driftmap.landmarks.cover import FIRST_LOOK, LONGEST_LOOK, Cover, Rule, kind_of
from driftmap.landmarks.memory import Memory
from driftmap.metrics import Space
from driftmap.state import Event, StreamState

Array = NDArray[np.float64]
Ids = NDArray[np.int64]


class BoundedCover(Cover):
    """As :class:`~driftmap.landmarks.cover.Cover`, with a memory."""

    def __init__(self, space: Space, state: StreamState, n_landmarks: int, rule: Rule, memory: Memory) -> None:
        super().__init__(space, state, n_landmarks, rule)
        self.memory = memory
        self.least, self.now = state.radius, 0.0
        self.saved: Saved | None = None

    def learn(self, prepared: Any, times: Array | None = None) -> None:
        """Take in further arrivals."""
        self.saved = None
        self.state.record(list(self._events_of(prepared, times)))
        self.saved = None

    def restore(self) -> None:
        """Go back to where the batch began."""
        self.space.truncate(self.state.n)
        if self.saved is not None:
            self.saved.restore(self.space, self.state)

    def _remember(self) -> None:
        if self.saved is None:
            self.saved = Saved.of(self.space, self.state)

    def insert(self, arrival: int) -> None:
        """Make a stored point a landmark."""
        self._remember()
        super().insert(arrival)

    def _events_of(self, prepared: Any, times: Array | None) -> Iterator[Event]:
        state, i, look = self.state, 0, FIRST_LOOK
        while i < len(prepared):
            if times is not None:
                look, self.now = 1, float(times[i])
                yield from self._forget()
            slots = state.slots()
            piece = prepared[i : i + look]
            state.reserve(state.n + len(piece))
            self.space.truncate(state.n)
            self.space.extend(piece)
            rows = np.arange(state.n, state.n + len(piece))
            distances = self.space.pairs(rows, state.cells["landmark"][slots])
            covered = scan_matrix(distances, slots, state.radius, self.found)
            into = self._witnesses_of(rows[:covered])
            stored = np.append(np.flatnonzero(into < 0), [covered] * (covered < len(piece)))
            room = self.memory.limit - state.remembered()
            done = len(piece) if len(stored) <= room else int(stored[room])
            done = min(done, covered + 1)
            if i + done < len(prepared) or done == covered + 1:
                self._remember()
            self._take(rows, into, done)
            i += done
            look = min(4 * look, LONGEST_LOOK) if done == len(piece) else FIRST_LOOK
            if done == covered + 1:
                look = FIRST_LOOK
                yield self._uncovered(len(slots))
            elif done < len(piece):
                self._remember()
                self.space.truncate(state.n)
                self.memory.make_room()
                continue
            if times is not None:
                self.memory.arrived(self.now)
                if state.n > 2 * state.remembered() + 64:
                    self.memory.let_go()

    def _forget(self) -> Iterator[Event]:
        """Forget points whose time has come; landmarks that have no others leave, and others take their place."""
        state, memory = self.state, self.memory
        witnesses = state.witnesses
        assert witnesses is not None
        if memory.window == np.inf and state.seen % sweep_every(memory.half_life):
            return
        what = (self.now, memory.comparable(), memory.window, memory.half_life)
        rows = [row for row in np.flatnonzero(witnesses["weight"][: state.n]) if expired(witnesses, row, *what)]
        if not rows:
            return
        self._remember()
        for row in rows:
            slots = state.slots()
            distances = self.space.pairs(np.array([row]), state.cells["landmark"][slots])[0]
            take_out(*self._where(), slots[np.argmin(distances)], row)
            witnesses["weight"][row] = witnesses["spread"][row] = 0.0
        before, changes = state.radius, list(self._settle())
        state.radius = min(state.radius, max(self.least, state.covering_radius()))
        for came, left in changes:
            yield Event(state.seen, kind_of(came, left), came, left, before, state.radius)

    def _settle(self) -> Iterator[tuple[int | None, int | None]]:
        """Landmarks without points leave, and the farthest points take the free slots; (came, left) each."""
        state = self.state
        for slot in np.flatnonzero((state.cells["landmark"] >= 0) & (state.cells["size"] == 0)):
            yield None, state.arrival(self.drop(slot))
        while 0 < len(state.slots()) < self.n_landmarks and (point := farthest(*self._where(), self.least)) >= 0:
            self.insert(point)
            yield state.arrival(point), None

    def _uncovered(self, m: int) -> Event:
        """Make the newest arrival, which is uncovered, a landmark."""
        state = self.state
        newest, before = state.n - 1, state.radius
        left = None
        if m == self.n_landmarks:
            _, left = self.rule(self, newest)
        elif m > 0:
            self.insert(newest)
        came = state.arrival(newest)
        gone = None if left is None else state.arrival(left)
        return Event(state.seen - 1, kind_of(came, gone), came, gone, before, state.radius)

    def _witnesses_of(self, rows: Ids) -> Ids:
        """For covered arrivals, the stored point that each would join; -1: it has to be stored.

        An arrival may also join one that is stored on the way, which then counts by its present number.
        """
        into = np.full(len(rows), -1)
        resolution = self.memory.comparable()
        if resolution < 0:
            return into
        slots = self.found["nearest_slot"][: len(rows)]
        for slot in np.unique(slots):
            here = np.flatnonzero(slots == slot)
            known = self.records(slot)["row"].astype(np.int64)
            known = known[self.memory.generations(known) == generation(self.now, self.memory.window)]
            near = self._distances(rows[here], known) <= resolution
            found = near.any(axis=1)
            if found.any():
                into[here[found]] = known[near[found].argmax(axis=1)]
            new: list[int] = []
            for j in here[~found]:
                hits = np.flatnonzero(self._distances(rows[j : j + 1], rows[new])[0] <= resolution)
                if len(hits):
                    into[j] = rows[new[hits[0]]]
                else:
                    new.append(j)
        return into

    def _take(self, rows: Ids, into: Ids, count: int) -> None:
        """Take in the first arrivals of a piece: those that join nobody are stored, the others are not."""
        state, first = self.state, self.state.n
        joins = np.flatnonzero(into[:count] >= 0)
        stays = np.setdiff1d(np.arange(count), joins)
        gaps = [self.space.true_all(self.space.pairs(rows[j : j + 1], into[j : j + 1]))[0, 0] for j in joins]
        numbers = np.append(np.arange(first), np.full(len(rows), -1))  # where the points are afterwards
        numbers[rows[stays]] = first + np.arange(len(stays))
        for j in stays:
            self._witness(int(numbers[rows[j]]), state.seen + int(j))
        assert state.witnesses is not None
        for j, gap in zip(joins, gaps, strict=True):
            witness = state.witnesses[numbers[into[j]] :][:1]
            if self.memory.half_life < np.inf:
                witness["weight"] *= 2.0 ** ((witness["time"] - self.now) / self.memory.half_life)
                witness["time"] = self.now
            witness["weight"] += 1
            witness["spread"] = max(witness["spread"][0], gap)
        self.found[: len(stays)] = self.found[stays]
        self.space.retain(np.append(np.arange(first), rows[stays]))
        if not len(state.slots()):
            state.cells["landmark"][0] = first
            self.found[0] = 0.0, 0, np.inf, -1
        self._add(len(stays))
        state.seen += len(joins)

    def _witness(self, number: int, arrival: int) -> None:
        assert self.state.witnesses is not None
        self.state.witnesses[number] = (arrival, 1.0, 0.0, self.now)


class Saved(NamedTuple):
    """A state and its points, to go back to."""

    points: Any
    state: StreamState

    @classmethod
    def of(cls, space: Space, state: StreamState) -> Saved:
        """What is there now."""
        return cls(space.take(np.arange(state.n)), state.copy())

    def restore(self, space: Space, state: StreamState) -> None:
        """Put everything back."""
        vars(state).update(vars(self.state))
        space.truncate(0)
        if self.state.n:
            space.extend(self.points)
