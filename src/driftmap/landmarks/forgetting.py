"""Learning from Euclidean points that are forgotten after a while."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import learn_forgetting
from driftmap.interrupts import uninterrupted
from driftmap.landmarks.cover import kind_of
from driftmap.landmarks.euclidean import EuclideanLearner
from driftmap.landmarks.memory import Memory
from driftmap.metrics import EuclideanSpace
from driftmap.state import Event, StreamState

Array = NDArray[np.float64]

EVENTS = 256


class ForgettingLearner(EuclideanLearner):
    """As :class:`~driftmap.landmarks.euclidean.EuclideanLearner`, arrival by arrival, with a window or a half-life."""

    memory: Memory

    def __init__(self, space: EuclideanSpace, state: StreamState, n_landmarks: int, memory: Memory) -> None:
        super().__init__(space, state, n_landmarks, "tight", memory)
        events = EVENTS + 4 * n_landmarks  # one arrival may change all landmarks
        self.came, self.left = np.empty((events, 2), np.int64), np.empty(events, np.int64)
        self.radii = np.empty((events, 2))
        self.least = state.radius  # the initial radius

    def learn(self, batch: Array, times: Array | None = None) -> None:
        """Take in further arrivals."""
        assert times is not None
        state, memory, i = self.state, self.memory, 0
        self.space.reserve(64, batch)
        while i < len(batch):
            with uninterrupted():  # room is made together with the arrival that needs it
                blocked = True
                while blocked:
                    state.reserve(len(self.space.rows))
                    stop = min(i + memory.until_relaxed(), len(batch))
                    done, n, radius, events, oldest, blocked = learn_forgetting(
                        batch, times, i, stop, state.seen - i, self.space.rows, state.n, memory.limit, state.radius,
                        self.least, memory.comparable(), memory.window, memory.half_life, state.oldest,
                        self.n_landmarks, state.records, state.chain, state.cells, state.witnesses,
                        self.came, self.left, self.radii, *self._scratch(batch.shape[1]),
                        self._column(len(state.records)),
                    )  # fmt: skip
                    advanced, state.oldest = done > i, oldest
                    state.seen, state.n, state.radius, self.space.n = state.seen + done - i, n, radius, n
                    i = done
                    state.record([self._event(k) for k in range(events)])
                    if advanced:
                        memory.arrived(float(times[i - 1]))
                    if blocked:
                        memory.make_room()

    def _event(self, k: int) -> Event:
        arrival, numbers = int(self.came[k, 0]), np.array([self.came[k, 1], self.left[k]])
        came, left = (None if number < 0 else self.state.arrival(number) for number in numbers)
        return Event(arrival, kind_of(came, left), came, left, *self.radii[k].tolist())
