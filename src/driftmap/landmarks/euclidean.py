"""Learning from Euclidean points: arrival by arrival where landmarks change, in blocks where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import (
    admit_paper,
    admit_tight,
    advance,
    centre_rows,
    is_kept,
    is_ready,
    scan_direct,
    scan_filtered,
)
from driftmap._kernels.records import FOUND, MOST_COMPARED
from driftmap.interrupts import uninterrupted
from driftmap.landmarks.beside import compiled_beside, is_busy
from driftmap.landmarks.cover import kind_of
from driftmap.landmarks.memory import Memory
from driftmap.landmarks.small import SmallLearner, budget, worthwhile
from driftmap.landmarks.threads import Threads
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
WHILE_WAITING = 2**14
"""The same as long as scanning is being compiled elsewhere: then it is asked again whether that is done."""
PRODUCT_FROM = 256
"""Multiplications per arrival from which on a matrix product pays off (measured)."""
BLOCKS = 16
"""Blocks between two moments at which Ctrl-C is heard."""
EVENTS = 256
MOST_UNCOMPILED = 20_000
"""Arrivals at once beyond which compiled code is worth waiting for."""


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
        jobs: int = 1,
    ) -> None:
        self.space, self.state, self.memory = space, state, memory
        self.threads = Threads(jobs)
        self.n_landmarks = n_landmarks
        self.admit = admit_tight if rule == "tight" else admit_paper
        self.small: SmallLearner | None = None
        if rule == "tight" and worthwhile(advance):
            self.small = SmallLearner(space, state, n_landmarks, budget(advance))
        self.found = np.empty(ROWS, FOUND)
        self.room: dict[str, Any] = {}
        self.scanner: Scanner | None = None
        self.scratch: tuple[NDArray[Any], ...] | None = None
        self.column = np.empty(0)
        self.waits = False
        """Whether scanning is being compiled elsewhere; arrivals are taken in one by one until it is there."""

    def learn(self, batch: Array, times: Array | None = None) -> None:
        """Take in further arrivals."""
        state, i = self.state, 0
        limit = state.n + len(batch) if self.memory is None else self.memory.limit
        if self.small is not None and len(batch) <= MOST_UNCOMPILED:
            i = self.small.learn(batch, limit)
            if i == len(batch):
                return
        self.small = None
        self.space.reserve(min(limit, state.n + len(batch)), batch)
        state.reserve(min(limit, state.n + len(batch)))
        # nothing compiled has run yet, and that is asked only once
        if self.scratch is None and self.admit is admit_tight and not (is_ready(advance) or is_kept(advance)):
            self._compile(batch, i, limit)
        with self.threads.at_work(batch):
            while i < len(batch):
                calm = self._calm(batch)
                with uninterrupted():
                    for _ in range(EVENTS):
                        i, uncovered = self._until_uncovered(batch, i, limit, calm)
                        if uncovered:
                            state.record([self._admit()])
                        if not uncovered or i == len(batch):
                            break
                if not uncovered and len(batch) - i >= calm and not self.waits:
                    i = self._scan_calm(batch, i, limit)

    def _compile(self, batch: Array, i: int, limit: int) -> None:
        """Compile what a long stream needs, the first time on a machine."""
        with compiled_beside(batch.dtype.name, self.n_landmarks, batch.shape[1]):
            self._advance(batch, i, i, limit, 0)
        self.waits = is_busy()

    def _calm(self, batch: Array) -> int:
        """After how many covered arrivals the next ones are scanned in blocks."""
        if self.waits:
            self.waits = is_busy()
            return WHILE_WAITING
        return min(max(CALM_WORK // (self.n_landmarks * batch.shape[1]), CALM[0]), CALM[1])

    def _until_uncovered(self, batch: Array, i: int, limit: int, calm: int) -> tuple[int, bool]:
        """Take in arrivals; returns how many of the batch are done, and whether the last of them is uncovered."""
        while True:
            stop = self.threads.look(batch, i, self.space.rows, self._resolution(), self.state.boxes)
            done, uncovered, hits = self._advance(batch, i, stop, limit, calm)
            self.threads.note(hits, done - i)
            if uncovered or i < done < stop or done == len(batch):
                return done, uncovered
            if done == i:
                assert self.memory is not None
                self.memory.make_room(self.threads.share)  # together with the arrival that needs it
                self.threads.forget()
            i = done

    def _resolution(self) -> float:
        return -1.0 if self.memory is None else self.memory.comparable()

    def _advance(self, batch: Array, i: int, stop: int, limit: int, calm: int, known: int = 0) -> tuple[int, bool, int]:
        """Take in arrivals up to the next uncovered one or one that has no room.

        Returns how many of the batch are done, whether the last of them is uncovered, and how many joined a witness of
        their boxes.
        """
        state, threads = self.state, self.threads
        done, n, uncovered, hits = advance(
            batch, i, stop, state.seen - i, self.space.rows, state.n, limit, state.radius, self._resolution(), calm,
            state.records, state.chain, state.cells, state.witnesses, state.boxes, self.found, known,
            threads.guesses, threads.guessed, threads.until, *self._scratch(batch.shape[1]),
        )  # fmt: skip
        state.seen, state.n, self.space.n = state.seen + done - i, n, n
        return done, uncovered, hits

    def _scratch(self, d: int) -> tuple[NDArray[Any], ...]:
        """Working memory: landmarks in order of arrival, as slots and as columns, and distances to them."""
        if self.scratch is None:
            m = len(self.state.cells)
            self.scratch = np.empty(m, np.int64), np.empty((d, m)), np.empty(m)
        return self.scratch

    def _column(self, size: int) -> Array:
        """Working memory: a number for each of so many points."""
        if size > len(self.column):
            self.column = np.empty(size + size // 2)
        return self.column

    def _admit(self) -> Event:
        """Let the last arrival, which is uncovered, change the landmarks."""
        state, before = self.state, self.state.radius
        newest, left = self._replace(state.n - 1)
        came, gone = (None if number < 0 else state.arrival(number) for number in (newest, left))
        return Event(state.seen - 1, kind_of(came, gone), came, gone, before, state.radius)

    def _replace(self, point: int) -> tuple[int, int]:
        state, self.scanner, rows = self.state, None, self.space.rows
        came, left, state.radius = self.admit(
            rows, self.n_landmarks, state.radius, state.records, state.chain, state.cells, point,
            *self._scratch(rows.shape[1]), self._column(int(state.cells["size"].max())),
        )  # fmt: skip
        return came, left

    def exchange(self, point: int) -> int:
        """Make a stored point a landmark and drop the one that is cheapest to lose; returns its number."""
        self.small = None  # which would not know of it
        return self._replace(point)[1]

    def restore(self) -> None:
        """What has been learnt stays."""
        self.space.truncate(self.state.n)

    def _scan_calm(self, batch: Array, i: int, limit: int) -> int:
        """Take in covered arrivals, up to the next uncovered one; returns how many of the batch are done."""
        state = self.state
        if self.scanner is None or self.scanner.radius != state.radius:
            self.scanner = Scanner(self.space, state, self.room)
        look, go_on = FIRST_LOOK, True  # what is computed beyond the next change is lost
        while i < len(batch) and go_on:
            with uninterrupted():
                for _ in range(BLOCKS):
                    last = min(i + look, len(batch))
                    covered = self.scanner.scan(batch, i, last, self.found)
                    done, _, hits = self._advance(batch, i, i + covered, limit, ROWS, covered)
                    few_compared = look == ROWS and MOST_COMPARED * (done - i - hits) < done - i
                    i = done
                    go_on = i == last and not few_compared
                    if i == len(batch) or not go_on:
                        break
                    look = min(4 * look, ROWS)
        return i


def compile_scan(batch: Array, n_landmarks: int) -> None:
    """Compile what compares such a batch with so many landmarks."""
    found, d = np.empty(1, FOUND), batch.shape[1]
    if n_landmarks * d >= PRODUCT_FROM:
        ProductFilter(np.eye(3, d), np.arange(3), 1e9, {}).scan(batch, 0, 0, 1e9, found)
    else:
        scan_direct(batch, 0, 0, np.empty((d, n_landmarks)), np.arange(n_landmarks), np.empty(n_landmarks), 1e9, found)


class Scanner:
    """Compares blocks of arrivals with landmarks that do not change meanwhile."""

    def __init__(self, space: EuclideanSpace, state: StreamState, room: dict[str, Any]) -> None:
        self.radius, self.slots = state.radius, state.slots()
        landmarks = space.take(state.cells["landmark"][self.slots])
        self.columns, self.distances = np.ascontiguousarray(landmarks.T), np.empty(len(landmarks))
        self.product: ProductFilter | None = None
        if landmarks.size >= PRODUCT_FROM and len(landmarks) >= 3:
            self.product = ProductFilter(landmarks, self.slots, self.radius, room)

    def scan(self, batch: Array, start: int, stop: int, found: NDArray[np.void]) -> int:
        """Find the two nearest landmarks of rows, up to the first uncovered one; returns how many are covered."""
        if self.product is not None and self.product.usable:
            return self.product.scan(batch, start, stop, self.radius, found)
        covered: int = scan_direct(batch, start, stop, self.columns, self.slots, self.distances, self.radius, found)
        return covered


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

    def scan(self, X: Array, start: int, stop: int, limit: float, found: NDArray[np.void]) -> int:
        """Find the two nearest landmarks of the rows, up to and with the first one beyond the limit."""
        rows, room = stop - start, self.room
        centre_rows(X, start, stop, self.centre, room["centred"], room["norms"])
        with np.errstate(all="ignore"):  # rows beyond norm_limit may overflow; their products are not used
            np.matmul(room["centred"][:rows], self.columns, out=room["products"][:rows])
        return scan_filtered(
            X, start, stop, self.landmarks, self.slots, room["products"], room["norms"], self.norms,
            room["approximate"], self.error, self.norm_limit, limit, found,
        )  # fmt: skip
