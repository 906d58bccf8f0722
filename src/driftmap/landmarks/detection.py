"""Replacement only when a change is signalled (the paper's last proposal).

A detector watches the distance of each arrival to its nearest landmark, divided by the radius. An uncovered arrival
that comes without a signal is held: it is stored, it counts in the mass of its landmark and in ``coverage_bound_``, but
it does not become a landmark. With the next signal, or when ``BUFFER`` of them are held, the one farthest out does, and
the radius becomes the covering radius, so that every point is covered again. An isolated point that is no change
therefore costs no replacement, and yet nothing breaks.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import farthest
from driftmap.interrupts import uninterrupted
from driftmap.landmarks.bounded import Saved
from driftmap.landmarks.cover import Cover, kind_of
from driftmap.landmarks.detectors import Detector
from driftmap.landmarks.euclidean import EuclideanLearner
from driftmap.state import Event

Array = NDArray[np.float64]

BUFFER = 32
"""The most arrivals that are held."""
LOOK = 1024
LARGEST = 10.0
"""A larger ratio is given to the detector as this one: before the first replacement there is no radius to speak of."""


class DetectingLearner:
    """Lets another learner take in the arrivals, and replaces landmarks when the detector says so."""

    def __init__(self, learner: EuclideanLearner | Cover, detector: Detector) -> None:
        self.learner, self.detector = learner, detector
        self.space, self.state = learner.space, learner.state
        self.held = 0
        self.saved: tuple[Saved, Detector, int] | None = None

    def learn(self, prepared: Any, times: Array | None = None) -> None:
        """Take in further arrivals."""
        self.saved = None
        if isinstance(self.learner, Cover):  # its metric may fail
            self.saved = Saved.of(self.space, self.state), copy.deepcopy(self.detector), self.held
        i = 0
        while i < len(prepared):
            room = self.learner.n_landmarks - len(self.state.slots())
            if room > 0:
                part = prepared[i : i + room]
                self.learner.learn(part)
            else:
                with uninterrupted():
                    part = self._learn_some(prepared[i : i + LOOK])
            i += len(part)
        self.saved = None

    def _learn_some(self, part: Any) -> Any:
        """Take arrivals in, up to the next change of landmarks; returns them."""
        before = copy.deepcopy(self.detector), self.held
        try:
            part = part[: self._until_change(part)]
        except BaseException:  # the detector failed
            self.detector, self.held = before
            raise
        self._take_in(part)
        if self.held >= BUFFER or (self.held and self.detector.drift_detected):
            self._replace()
        return part

    def restore(self) -> None:
        """Go back to where the batch began; Euclidean points that have been learnt stay."""
        self.learner.restore()
        if self.saved is not None:
            saved, self.detector, self.held = self.saved
            saved.restore(self.space, self.state)

    def _until_change(self, part: Any) -> int:
        """Show arrivals to the detector, up to and with the one at which landmarks are to be replaced."""
        distances = self.space.to_stored(part, self.state.landmarks()).min(axis=1)
        radius = max(self.space.true(self.state.radius), sys.float_info.min)
        for i, distance in enumerate(distances.tolist()):
            self.held += distance > radius
            self.detector.update(min(distance / radius, LARGEST))
            if self.held >= BUFFER or (self.held and self.detector.drift_detected):
                return i + 1
        return len(distances)

    def _take_in(self, part: Any) -> None:
        """Take arrivals in as if all of them were covered."""
        radius, self.state.radius = self.state.radius, np.inf
        try:
            self.learner.learn(part)
        finally:
            self.state.radius = radius

    def _replace(self) -> None:
        """Make the point that is farthest from all landmarks one of them, if it is uncovered."""
        state, before = self.state, self.state.radius
        point = int(farthest(state.records, state.chain, state.cells, before))
        self.held = 0
        if point >= 0:
            came, left = (state.arrival(number) for number in (point, self.learner.exchange(point)))
            state.record([Event(state.seen - 1, kind_of(came, left), came, left, before, state.radius)])
