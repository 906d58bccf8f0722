"""Landmarks that follow the stream: the paper's online replacement, and a tighter rule."""

from __future__ import annotations

import copy
import os
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from driftmap import checkpoint, checks
from driftmap.choices import RULES
from driftmap.landmarks.base import Selector
from driftmap.landmarks.detectors import Detector
from driftmap.landmarks.plan import MemoryPlan, plan_for, times_of
from driftmap.landmarks.saving import pack_params, pack_selector, unpack_params, unpack_selector
from driftmap.metrics import EuclideanSpace, Metric
from driftmap.packing import Arrays, unpacked
from driftmap.parallel import n_threads
from driftmap.params import params_of
from driftmap.state import Event, StreamState

Array = NDArray[np.float64]
Ids = NDArray[np.int64]


class Learner(Protocol):
    """Takes checked arrivals into the state."""

    def learn(self, prepared: Any, times: Array | None = None) -> None:
        """Take in further arrivals."""

    def restore(self) -> None:
        """After an exception: put back what has to be put back."""


class OnlineSelector(Selector):
    """What :class:`~driftmap.landmarks.OnlineLandmarks` does, without scikit-learn, which takes long to import."""

    _kind = "OnlineLandmarks"
    """What a checkpoint says that it holds."""

    _state: StreamState

    def __init__(
        self,
        n_landmarks: int,
        *,
        rule: str = "tight",
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        initial_radius: float = 1e-20,
        memory: int | str | None = "auto",
        window: float | None = None,
        half_life: float | None = None,
        replace_on: str | Detector = "uncovered",
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.rule = rule
        self.metric = metric
        self.metric_params = metric_params
        self.initial_radius = initial_radius
        self.memory = memory
        self.window = window
        self.half_life = half_life
        self.replace_on = replace_on
        self.n_jobs = n_jobs

    def _start(self, X: Any) -> None:
        super()._start(X)
        checks.one_of(self.rule, "rule", RULES)
        radius = checks.positive_number(self.initial_radius, "initial_radius")
        comparable = self._space.comparable(radius)
        if not comparable < np.inf:
            raise ValueError(f"initial_radius={radius:g} is too large: its square overflows")
        memory = plan_for(self, self._space)
        self._state = StreamState(self.n_landmarks, comparable, weighted=memory is not None)
        self._make_learner(memory)

    def _make_learner(self, memory: MemoryPlan | None) -> None:
        # each is imported where it is needed: compiled code is loaded with the first point
        space, state, m = self._space, self._state, self.n_landmarks
        self._memory = None
        if memory is not None:
            from driftmap.landmarks.memory import Memory

            self._memory = Memory(space, state, *memory)
        self._learner: Learner
        if isinstance(space, EuclideanSpace) and self._memory is not None and self._memory.forgets:
            from driftmap.landmarks.forgetting import ForgettingLearner

            self._learner = ForgettingLearner(space, state, m, self._memory)
        elif isinstance(space, EuclideanSpace):
            from driftmap.landmarks.euclidean import EuclideanLearner

            self._learner = EuclideanLearner(space, state, m, self.rule, self._memory, n_threads(self.n_jobs))
        else:
            from driftmap.landmarks import rules
            from driftmap.landmarks.bounded import BoundedCover
            from driftmap.landmarks.cover import Cover

            rule = getattr(rules, self.rule)
            if self._memory is None:
                self._learner = Cover(space, state, m, rule)
            else:
                self._learner = BoundedCover(space, state, m, rule, self._memory)
        if not isinstance(self.replace_on, str):
            from driftmap.landmarks.detection import DetectingLearner

            self._learner = DetectingLearner(self._learner, copy.deepcopy(self.replace_on))

    def partial_fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Learn from further points, in their order; a batch gives the same result as its rows one by one.

        ``times`` says when they arrived (numbers or dates, never going back), if ``window`` or ``half_life`` is a
        duration; else these count arrivals. Bad input raises an error and changes nothing.
        """
        return self._take_in_all(X, times)

    def _learn(self, prepared: Any, *how: Any) -> None:
        (times,) = how
        moments, memory, kind = None, self._memory, None
        if memory is not None and memory.forgets:
            known = getattr(self, "_timed", None)
            moments, kind = times_of(times, len(prepared), self._state.seen, self._state.now, known)
        elif times is not None:
            raise ValueError("times are used to forget points: give a window or a half_life, or leave them out")
        try:
            self._learner.learn(prepared, moments)
        except BaseException:
            self._learner.restore()
            raise
        self._timed = kind

    # --- checkpoints ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a checkpoint file, from which :meth:`load` goes on as if nothing had happened.

        The file is replaced as a whole or not at all. Its size is that of the stored points, 24 bytes for each (56 with
        bounded memory), and up to 700 kB: 41 bytes for each of ``events_``, 262 kB once points have been merged.
        """
        checkpoint.write(path, *self._pack())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, metric: Any = None, replace_on: Any = None) -> Self:
        """Read a checkpoint; any damage is an error that says so.

        A metric or detector of your own cannot be stored: give it again. Such a detector begins from the beginning.
        """
        return unpacked(cls, path, metric=metric, replace_on=replace_on)

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        arrays: Arrays = {}
        self._fitted_space()
        params = pack_params(params_of(self), "params", arrays)
        return {"kind": self._kind, "params": params, "selector": pack_selector(self, arrays)}, arrays

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: Arrays, given: dict[str, Any]) -> Self:
        selector = cls(**unpack_params(header["params"], arrays, given))
        unpack_selector(selector, header["selector"], arrays)
        return selector

    def _numbers(self, arrivals: Ids) -> Ids:
        return self._state.numbers(arrivals)

    def _fitted_state(self) -> StreamState:
        self._fitted_space()
        return self._state

    @property
    def n_samples_seen_(self) -> int:
        """Number of points seen."""
        return self._fitted_state().seen

    @property
    def stored_indices_(self) -> Ids:
        """Arrival numbers of the points that are stored and not forgotten, ascending."""
        state = self._fitted_state()
        if state.witnesses is None:
            return np.arange(state.n)
        return state.witnesses["arrival"][: state.n][state.witnesses["weight"][: state.n] > 0]

    @property
    def resolution_(self) -> float:
        """Every point seen lies within this distance of a stored one; 0 as long as all are stored."""
        state = self._fitted_state()
        return 0.0 if state.witnesses is None else float(state.witnesses["spread"][: state.n].max())

    @property
    def coverage_bound_(self) -> float:
        """Every point ever seen (and not forgotten) lies within this distance of its nearest landmark.

        The radius plus the resolution; points that are held back by ``replace_on`` are accounted for.
        """
        return max(self.radius_, self.covering_radius_) + self.resolution_

    @property
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        state = self._fitted_state()
        return state.arrivals(state.landmarks())

    @property
    def landmark_mass_(self) -> Ids | Array:  # type: ignore[override]
        """For each landmark, the number of points seen that are nearest to it (with a half-life, their weight)."""
        state = self._fitted_state()
        if self._memory is None:
            return state.cells["size"][state.slots()]
        masses = np.array([weights.sum() for weights in self.cells()[1]])
        return masses if self._memory.half_life < np.inf else masses.astype(np.int64)

    def cells(self) -> tuple[list[Ids], list[Array]]:
        """For each landmark, the arrival numbers of the stored points nearest to it, ascending; and their masses."""
        state = self._fitted_state()
        masses = np.ones(state.n) if self._memory is None else self._memory.masses()
        slots = state.slots()
        rows = state.records["row"][state.positions(slots)].astype(np.int64)
        cells = [np.sort(cell) for cell in np.split(rows, np.cumsum(state.cells["size"][slots])[:-1])]
        return [state.arrivals(cell) for cell in cells], [masses[cell] for cell in cells]

    @property
    def radius_(self) -> float:
        """The radius (the paper's rho) at which the landmarks dominate all points seen."""
        return self._fitted_space().true(self._state.radius)

    @property
    def covering_radius_(self) -> float:
        """The largest distance of a stored point to its nearest landmark; ``coverage_bound_`` holds for all points."""
        return self._fitted_space().true(self._state.covering_radius())

    @property
    def n_replacements_(self) -> int:
        """How often a landmark was exchanged for another."""
        return self._fitted_state().n_replacements

    @property
    def events_(self) -> list[Event]:
        """What happened to the landmarks, arrival by arrival; the last 10,000 events."""
        true = self._fitted_space().true
        return [
            event._replace(radius_before=true(event.radius_before), radius_after=true(event.radius_after))
            for event in self._state.events
        ]
