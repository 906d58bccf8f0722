"""Learning from Euclidean points: arrival by arrival where landmarks change, in blocks where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels import cells, scan
from driftmap._kernels.learn import learn_paper, learn_tight
from driftmap.landmarks.cover import Found
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
EVENTS = 256


class EuclideanLearner:
    """Takes stored arrivals into the state.

    The points have been checked, so nothing can go wrong halfway. An interrupt from the keyboard leaves the arrivals up
    to ``state.n`` learnt and the others not.
    """

    def __init__(self, space: EuclideanSpace, state: StreamState, n_landmarks: int, rule: str) -> None:
        self.space, self.state = space, state
        self.n_landmarks = n_landmarks
        self.compiled = learn_tight if rule == "tight" else learn_paper
        self.came, self.left = np.empty((EVENTS, 2), np.int64), np.empty(EVENTS, np.int64)
        self.radii = np.empty((EVENTS, 2))
        self.found = Found(ROWS)
        self.room: dict[str, Any] = {}

    def learn(self) -> None:
        """Take in all arrivals that are stored but not known yet."""
        X, state, stop = self.space.rows, self.state, len(self.space)
        calm = int(np.clip(CALM_WORK // (self.n_landmarks * X.shape[1]), *CALM))
        while state.n < stop:
            state.n, state.radius, events = self.compiled(
                X, state.n, stop, state.radius, self.n_landmarks, calm, state.cells, state.marks,
                self.came, self.left, self.radii,
            )  # fmt: skip
            state.record([self._event(i) for i in range(events)])
            if events < EVENTS and stop - state.n >= calm:
                self._scan_calm(X, stop)

    def restore(self) -> None:
        """What has been learnt stays."""

    def _event(self, i: int) -> Event:
        (arrival, came), left = self.came[i].tolist(), int(self.left[i])
        kind = "added" if left < 0 else "widened" if left == came else "replaced"
        before, after = self.radii[i].tolist()
        return Event(arrival, kind, came, None if left < 0 else left, before, after)

    def _scan_calm(self, X: Array, stop: int) -> None:
        """Take in covered arrivals, up to the next uncovered one."""
        state = self.state
        slots = state.slots()
        landmarks = X[state.marks.arrival[slots]]
        product = None
        if landmarks.size >= PRODUCT_FROM and len(slots) >= 3:
            product = ProductFilter(landmarks, slots, state.radius, self.room)
        columns = np.ascontiguousarray(landmarks.T)
        look = FIRST_LOOK  # what is computed beyond the next change is lost
        while state.n < stop:
            start, last = state.n, min(state.n + look, stop)
            look = min(4 * look, ROWS)
            if product is not None and product.usable:
                covered = product.scan(X, start, last, state.radius, self.found)
            else:
                covered = scan.scan_direct(X, start, last, columns, slots, state.radius, *self.found)
            cells.add_rows(state.cells, state.marks, start, covered, *self.found)
            state.n += covered
            if state.n < last:
                return


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
