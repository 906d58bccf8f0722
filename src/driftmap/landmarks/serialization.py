"""Serialisation of the landmark engine to JSON and arrays, and to values for pickle."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from driftmap._core import Stream
from driftmap.landmarks.drift import Detector, RatioShift
from driftmap.landmarks.memory import TIME_KINDS, Memory
from driftmap.landmarks.params import LandmarkParams
from driftmap.landmarks.row_sample import RowSample
from driftmap.metrics import Store, make_store
from driftmap.metrics.callables import check_function
from driftmap.storage.serialization import Arrays, flatten, pack_params, rebuild, unpack_params
from driftmap.utils import validation
from driftmap.utils.concurrency import Lock, new_lock

KNOWN = (RatioShift,)
"""Detectors that a checkpoint can store."""
COMPARED = 32
"""Stored distances that are measured again to verify that a metric function passed to ``load`` is the original one."""
MANY = 1_000_000
"""A checkpoint with more landmarks than this and fewer points is rejected before memory is allocated for them."""


class Saved(LandmarkParams):
    """Serialisation of :class:`~driftmap.landmarks.online.LandmarkEngine`.

    The core validates every index and ordering that it relies on when it restores a state.
    """

    kind: ClassVar[str] = "OnlineLandmarks"

    lock: Lock
    stream: Stream | None
    """The landmarks and stored points; None before the first point."""
    store: Store
    row_sample: RowSample | None
    detector: Detector | None
    _memory: Memory
    _time_kind: str | None
    _now: float

    def fitted_stream(self) -> Stream:
        """Return the stream; raise an error before the first point."""
        raise NotImplementedError

    def _parameters(self) -> dict[str, Any]:
        """Check all parameters and return those of the core."""
        raise NotImplementedError

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return a JSON header and arrays from which :meth:`unpack` restores the engine."""
        arrays: Arrays = {}
        with self.lock:
            landmarks = self.pack_state(arrays)
            params = pack_params(self.params(), arrays, KNOWN)
            return {"kind": self.kind, "params": params, "landmarks": landmarks}, arrays

    def pack_state(self, arrays: Arrays) -> dict[str, Any]:
        """Return the state without the parameters."""
        stored = type(self.detector) in KNOWN
        return {
            "stream": flatten(self.fitted_stream().state(), "stream", arrays),
            "points": flatten(self.store.dump(), "points", arrays),
            "detector": flatten(self.detector, "detector", arrays, KNOWN) if stored else None,
            "time_kind": self._time_kind,
            "sample": flatten(None if self.row_sample is None else self.row_sample.dump(), "sample", arrays),
        }

    @classmethod
    def unpack(cls, header: dict[str, Any], arrays: Arrays, given: Mapping[str, Any]) -> Self:
        """Restore an engine from the result of :meth:`pack`."""
        engine = cls(**unpack_params(header["params"], arrays, KNOWN, given))
        engine.unpack_state(header["landmarks"], arrays)
        return engine

    def unpack_state(self, packed: dict[str, Any], arrays: Arrays) -> None:
        """Restore the packed state into an empty engine."""
        state, points = rebuild(packed["stream"], arrays), rebuild(packed["points"], arrays)
        held = state["points"] if points is None else points
        n_points = held.shape[0] if hasattr(held, "shape") else len(held)
        if isinstance(self.n_landmarks, int) and self.n_landmarks > max(MANY, n_points):
            raise ValueError(f"n_landmarks={self.n_landmarks} is out of proportion to its {n_points} points")
        self.store = make_store(self.metric, self.metric_params, points)
        self.store.load(points, state)
        stream = self._restored(state)
        if callable(self.metric):
            landmarks = state["landmarks"][state["cells"]]
            some = np.flatnonzero(state["order"] != landmarks)[:COMPARED]
            rows, landmarks = state["order"][some], landmarks[some]
            later, earlier = (self.store.take(end(rows, landmarks)) for end in (np.maximum, np.minimum))
            check_function(self.store.metric, later, earlier, state["distances"][some])
        if not isinstance(self.replace_on, str):
            stored = packed["detector"] is not None
            self.detector = rebuild(packed["detector"], arrays, KNOWN) if stored else copy.deepcopy(self.replace_on)
            if type(self.detector) is not type(self.replace_on):
                raise ValueError("its detector differs from replace_on")
        if self._memory.expires:
            self._time_kind = validation.one_of(packed["time_kind"], "time_kind", TIME_KINDS)
            self._now = float(state["now"])
        if (sample := rebuild(packed.get("sample"), arrays)) is not None:
            self.row_sample = RowSample.restored(**sample, n_seen=stream.seen, n_features=self.store.n_features)
        self.stream = stream

    def _restored(self, state: dict[str, Any]) -> Stream:
        stream = self.store.new_stream(**self._parameters())
        stream.restore(state)
        return stream

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            values = {name: value for name, value in vars(self).items() if name != "lock"}
            if self.stream is not None:
                values["stream"] = self.fitted_stream().state()
                values["store"], values["detector"] = self.store.copy(), copy.deepcopy(self.detector)
                values["row_sample"] = None if self.row_sample is None else self.row_sample.copy()
            return values

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy; no other thread learns until it is complete."""
        with self.lock:
            twin = type(self).__new__(type(self))
            twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
            return twin

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values, stream=None, lock=new_lock())
        if values["stream"] is not None:
            self.stream = self._restored(values["stream"])
