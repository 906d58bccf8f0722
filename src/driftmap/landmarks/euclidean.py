"""Learning from Euclidean points: arrival by arrival where landmarks change, in blocks where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels import scan
from driftmap._kernels.learn import MOST, exchange, learn_paper, learn_tight
from driftmap._kernels.witnesses import take_rows
from driftmap.interrupts import uninterrupted
from driftmap.landmarks.cover import Found, kind_of
from driftmap.landmarks.memory import Memory
from driftmap.landmarks.small import SmallLearner, budget, worthwhile
from driftmap.metrics import EuclideanSpace
from driftmap.state import Event, StreamState

Array = NDArray[np.float64]

ROWS = 1024
"""Arrivals whose products with the landmarks are computed at a time."""
FIRST_LOOK = 128
CALM = (16, 64)
"""After so many covered arrivals (fewer, the larger they are) the next change of landmarks is probably far away: from
there on they are scanned in blocks, which costs some preparation."""
CALM_WORK = 100_000
PRODUCT_FROM = 256
"""Multiplications per arrival from which on a matrix product pays off (measured)."""
BLOCKS = 16
"""Blocks between two moments at which Ctrl-C is heard."""
EVENTS = 256
PART = 8192
"""Rows of single precision that are converted at a time."""


class EuclideanLearner:
    """Takes checked arrivals into the state.

    Nothing can go wrong halfway. An interrupt from the keyboard leaves the arrivals up to ``state.seen`` learnt and the
    others not.
    """

    def __init__(
        self,
        space: EuclideanSpace,
        state: StreamState,
        n_landmarks: int,
        rule: str,
        memory: Memory | None,
        events: int = EVENTS,
    ) -> None:
        self.space, self.state, self.memory = space, state, memory
        self.n_landmarks = n_landmarks
        self.compiled = learn_tight if rule == "tight" else learn_paper
        self.came, self.left = np.empty((events, 2), np.int64), np.empty(events, np.int64)
        self.radii = np.empty((events, 2))
        self.small: SmallLearner | None = None
        if rule == "tight" and worthwhile(learn_tight):
            self.small = SmallLearner(space, state, n_landmarks, budget(learn_tight))
        self.found = Found(ROWS)
        self.room: dict[str, Any] = {}

    def learn(self, batch: Array, times: Array | None = None) -> None:
        """Take in further arrivals; those of single precision are converted part by part, never as a whole."""
        if batch.dtype == np.float64:
            self._learn(batch, times)
            return
        for a in range(0, len(batch), PART):
            part = slice(a, a + PART)
            self._learn(batch[part].astype(np.float64), None if times is None else times[part])

    def _learn(self, batch: Array, times: Array | None) -> None:
        state, i = self.state, 0
        calm = min(max(CALM_WORK // (self.n_landmarks * batch.shape[1]), CALM[0]), CALM[1])
        limit = state.n + len(batch) if self.memory is None else self.memory.limit
        if self.small is not None:
            i = self.small.learn(batch, limit)
            if i == len(batch):
                return
            self.small = None
        self.space.reserve(min(limit, state.n + len(batch)), batch.shape[1])
        state.reserve(min(limit, state.n + len(batch)))
        resolution = -1.0 if self.memory is None else self.memory.comparable()
        while i < len(batch):
            with uninterrupted():  # room is made together with the arrival that needs it
                done = i
                while done == i:
                    done, n, radius, events = self.compiled(
                        batch, i, len(batch), state.seen - i, self.space.rows, state.n, limit, state.radius, resolution,
                        self.n_landmarks, calm, state.records, state.chain, state.cells, state.witnesses, state.boxes,
                        self.came, self.left, self.radii,
                    )  # fmt: skip
                    if done == i and self.memory is not None:  # the next arrival must be stored, and there is no room
                        self.memory.make_room()
                        resolution = self.memory.comparable()
                i = self._done(i, done, n, radius)
                state.record([self._event(k) for k in range(events)])
            if events < EVENTS and len(batch) - i >= calm:
                i = self._scan_calm(batch, i, limit, resolution)

    def exchange(self, point: int) -> int:
        """Make a stored point a landmark and drop the one that is cheapest to lose; returns its number."""
        state, self.small = self.state, None  # which would not know of it
        left, state.radius = exchange(self.space.rows, self.n_landmarks, state.records, state.chain, state.cells, point)
        return int(left)

    def restore(self) -> None:
        """What has been learnt stays."""
        self.space.truncate(self.state.n)

    def _done(self, i: int, done: int, n: int, radius: float) -> int:
        self.state.seen, self.state.n, self.state.radius = self.state.seen + done - i, n, radius
        self.space.n = n
        return done

    def _event(self, k: int) -> Event:
        arrival, numbers = int(self.came[k, 0]), np.array([self.came[k, 1], self.left[k]])
        came, left = (None if number < 0 else self.state.arrival(number) for number in numbers)
        return Event(arrival, kind_of(came, left), came, left, *self.radii[k].tolist())

    def _scan_calm(self, batch: Array, i: int, limit: int, resolution: float) -> int:
        """Take in covered arrivals, up to the next uncovered one; returns how many of the batch are done."""
        state = self.state
        slots = state.slots()
        landmarks = self.space.rows[state.cells["landmark"][slots]]
        product = None
        if landmarks.size >= PRODUCT_FROM and len(slots) >= 3:
            product = ProductFilter(landmarks, slots, state.radius, self.room)
        columns = np.ascontiguousarray(landmarks.T)
        look, go_on = FIRST_LOOK, True  # what is computed beyond the next change is lost
        while i < len(batch) and go_on:
            with uninterrupted():
                for _ in range(BLOCKS):
                    last = min(i + look, len(batch))
                    if product is not None and product.usable:
                        covered = product.scan(batch, i, last, state.radius, self.found)
                    else:
                        covered = scan.scan_direct(batch, i, last, columns, slots, state.radius, *self.found)
                    taken, hits = self._take(batch, i, covered, limit, resolution)
                    i += taken
                    few_compared = look == ROWS and MOST * (taken - hits) < taken
                    go_on = i == last and not few_compared
                    if i == len(batch) or not go_on:
                        break
                    look = min(4 * look, ROWS)
        return i

    def _take(self, batch: Array, i: int, covered: int, limit: int, resolution: float) -> tuple[int, int]:
        """Take in arrivals that have been scanned; returns how many, and how many of them joined one of their box."""
        state = self.state
        taken, n, hits = take_rows(
            batch, i, covered, state.seen - i, self.space.rows, state.n, limit, resolution,
            state.records, state.chain, state.cells, state.witnesses, state.boxes, *self.found,
        )  # fmt: skip
        self._done(i, i + taken, n, state.radius)
        return taken, hits


class ProductFilter:
    """Inner products of centred rows and landmarks: which landmarks cannot be among the two nearest.

    Single precision where its error is small against the squared radius, else double: the result is the same, since
    the landmarks that remain are computed exactly.
    """

    def __init__(self, landmarks: Array, slots: NDArray[np.intp], squared_radius: float, room: dict[str, Any]) -> None:
        m, d = landmarks.shape
        self.landmarks, self.slots = landmarks, slots
        self.centre = landmarks.mean(axis=0)
        centred = landmarks - self.centre
        norms = (centred**2).sum(axis=1)
        largest = norms.max()
        # Twice the usual bound on the error of a sum of d products, for the rounding of the inputs.
        dtype: type[np.floating[Any]] = np.float32
        self.error, self.norm_limit = (d + 16) * 2.0**-23, 1e30
        if not (2 * self.error * largest < 0.1 * squared_radius and 1e-20 < largest < 1e30):
            dtype = np.float64
            self.error, self.norm_limit = (d + 16) * 2.0**-52, 1e300
        self.usable = 1e-200 < largest < 1e300
        self.columns = np.ascontiguousarray(centred.T.astype(dtype))
        self.norms = norms.astype(dtype)
        if room.get("shape") != (d, m, dtype):
            room |= {"shape": (d, m, dtype), "norms": np.empty(ROWS), "approximate": np.empty(m, dtype)}
            room |= {"centred": np.empty((ROWS, d), dtype), "products": np.empty((ROWS, m), dtype)}
        self.room = room  # working memory, kept from one set of landmarks to the next

    def scan(self, X: Array, start: int, stop: int, limit: float, found: Found) -> int:
        """Find the two nearest landmarks of the rows, up to and with the first one beyond the limit."""
        rows, room = stop - start, self.room
        scan.centre_rows(X, start, stop, self.centre, room["centred"], room["norms"])
        with np.errstate(all="ignore"):  # rows beyond norm_limit may overflow; their products are not used
            np.matmul(room["centred"][:rows], self.columns, out=room["products"][:rows])
        return scan.scan_filtered(
            X, start, stop, self.landmarks, self.slots, room["products"], room["norms"], self.norms,
            room["approximate"], self.error, self.norm_limit, limit, *found,
        )  # fmt: skip
