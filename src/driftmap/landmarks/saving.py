"""A landmark selector as values that a checkpoint can hold, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftmap.checkpoint import CheckpointError
from driftmap.landmarks.detectors import RatioShift
from driftmap.landmarks.plan import seconds
from driftmap.metrics import ObjectSpace, PrecomputedSpace, Space, Table
from driftmap.packing import Arrays, flatten, rebuild
from driftmap.state import RECORD, WITNESS, Event, StreamState

if TYPE_CHECKING:
    from driftmap.landmarks.online import OnlineSelector

KNOWN = (RatioShift,)
OWN = ("metric", "embedding", "replace_on")
"""The parameters that may be functions or objects of the user's own."""
KINDS = ("added", "replaced", "widened", "forgotten")
EVENT = np.dtype(
    [("arrival", "i8"), ("kind", "i1"), ("came", "i8"), ("left", "i8"), ("radius_before", "f8"), ("radius_after", "f8")]
)
SCALARS = ("seen", "n", "radius", "resolution", "oldest", "now", "n_replacements")


def pack_params(params: dict[str, Any], name: str, arrays: Arrays) -> dict[str, Any]:
    """The parameters of an estimator; of functions and objects that cannot be stored, the name."""
    packed: dict[str, Any] = {}
    for key, value in params.items():
        if key in ("window", "half_life"):
            value = seconds(value)
        if key in OWN and not isinstance(value, (str, *KNOWN)):
            packed[key] = {"given": getattr(value, "__qualname__", type(value).__qualname__)}
        elif key == "random_state" and not isinstance(value, int | None):
            packed[key] = None
        else:
            packed[key] = flatten(value, f"{name}.{key}", arrays, KNOWN)
    return packed


def unpack_params(packed: dict[str, Any], arrays: Arrays, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters; what could not be stored must be among those that are ``given``."""
    params = {}
    for key, value in packed.items():
        if isinstance(value, dict) and "given" in value:
            if given.get(key) is None:
                raise CheckpointError(
                    f"it was made with {key}={value['given']}, which a checkpoint cannot hold: load it with {key}=..."
                )
            name = getattr(given[key], "__qualname__", type(given[key]).__qualname__)
            if name != value["given"]:
                raise CheckpointError(f"it was made with {key}={value['given']}, but {key}={name} is given")
            params[key] = given[key]
        elif given.get(key) is not None:
            raise CheckpointError(f"it holds its {key} already: do not give another")
        else:
            params[key] = rebuild(value, arrays, KNOWN)
    return params


def pack_selector(selector: OnlineSelector, arrays: Arrays) -> dict[str, Any]:
    """Everything a selector knows, but for its parameters."""
    state = selector._fitted_state()
    if selector._memory is not None:
        selector._memory.let_go()  # what is forgotten is not worth a place, and nobody will miss it
    learner: Any = selector._learner
    packed: dict[str, Any] = {
        "space": type(selector._space).__name__,
        "points": flatten(_points(selector._space), "points", arrays),
        "state": {name: flatten(getattr(state, name), name, arrays) for name in SCALARS},
        "cells": flatten(state.cells[["landmark", "cost", "reach", "size", "certain"]], "cells", arrays),
        "records": flatten(state.records[state.positions(np.arange(len(state.cells)))], "records", arrays),
        "witnesses": None,
        "boxes": flatten(state.boxes if state.resolution > 0 else state.boxes[:0], "boxes", arrays),
        "events": flatten(_table(state.events), "events", arrays),
        "timed": getattr(selector, "_timed", None),
    }
    if state.witnesses is not None:
        packed["witnesses"] = flatten(state.witnesses[: state.n], "witnesses", arrays)
    if hasattr(learner, "held"):
        stored = type(learner.detector) in KNOWN
        packed["held"] = learner.held
        packed["detector"] = flatten(learner.detector, "detector", arrays, KNOWN) if stored else None
    return packed


def _table(events: Iterable[Event]) -> NDArray[Any]:
    """Events as a table; nobody is -1."""
    rows = [
        (arrival, KINDS.index(kind), -1 if came is None else came, -1 if left is None else left, before, after)
        for arrival, kind, came, left, before, after in events
    ]
    return np.array(rows, EVENT)


def _events(table: NDArray[Any]) -> Iterator[Event]:
    for arrival, kind, came, left, before, after in table.tolist():
        yield Event(arrival, KINDS[kind], None if came < 0 else came, None if left < 0 else left, before, after)


def _points(space: Space) -> Any:
    if isinstance(space, Table):
        return space.rows[: space.n]
    if isinstance(space, ObjectSpace):
        return space.objects
    assert isinstance(space, PrecomputedSpace)
    return space.triangle_of_distances[: space.n * (space.n - 1) // 2]


def unpack_selector(selector: OnlineSelector, packed: dict[str, Any], arrays: Arrays) -> None:
    """Bring a selector that has seen nothing to where the packed one was."""
    points = rebuild(packed["points"], arrays)
    selector._start(points)
    space, state = selector._space, selector._state
    if type(space).__name__ != packed["space"]:
        raise ValueError(f"its points are of {packed['space']}, not of {type(space).__name__}")
    scalars = {name: rebuild(packed["state"][name], arrays) for name in SCALARS}
    if isinstance(space, PrecomputedSpace):
        space.n, space.triangle_of_distances = scalars["n"], points
    else:
        space.extend(points)
    if len(space) != scalars["n"]:
        raise ValueError(f"it holds {len(space)} points, not {scalars['n']}")
    state.reserve(scalars["n"])
    _fill(state, scalars, {name: rebuild(packed[name], arrays) for name in ("cells", "records", "witnesses")})
    boxes = rebuild(packed["boxes"], arrays)
    if len(boxes):
        if len(boxes) != len(state.boxes) or not _within(boxes, -1, scalars["n"]):
            raise ValueError("its boxes hold witnesses that are not there")
        state.boxes[:] = boxes
    state.events.extend(_events(rebuild(packed["events"], arrays)))
    if packed["timed"] is not None:
        selector._timed = packed["timed"]
    learner: Any = selector._learner
    if "held" in packed and hasattr(learner, "held"):
        learner.held = packed["held"]
        if packed["detector"] is not None:
            learner.detector = rebuild(packed["detector"], arrays, KNOWN)


def _fill(state: StreamState, scalars: dict[str, Any], tables: dict[str, NDArray[Any]]) -> None:
    """Set the state, after a look at whether it can be one: compiled code relies on it."""
    n, cells, records = scalars["n"], tables["cells"], tables["records"].astype(RECORD)
    slots = np.repeat(np.arange(len(cells)), cells["size"])
    fits = [
        (state.witnesses is None) == (tables["witnesses"] is None),
        all(
            isinstance(scalars[name], int) and scalars[name] >= 0 for name in ("seen", "n", "oldest", "n_replacements")
        ),
        all(isinstance(scalars[name], float) for name in ("radius", "resolution", "now")),
        len(cells) == len(state.cells) and len(slots) == len(records) <= n,
        _within(cells["landmark"], -1, n) and len(np.unique(cells["landmark"][slots])) == len(np.unique(slots)),
        (cells["landmark"][slots] >= 0).all(),
        _within(records["row"], 0, n) and len(np.unique(records["row"])) == len(records),
        _within(records["second_slot"], -1, len(cells)),
        (cells["landmark"][records["second_slot"][records["second_slot"] >= 0]] >= 0).all(),
    ]
    if not all(fits):
        raise ValueError("its numbers contradict each other")
    for name, value in scalars.items():
        setattr(state, name, value)
    if state.witnesses is not None:
        state.witnesses[:n] = tables["witnesses"].astype(WITNESS)
    state.cells["landmark"] = cells["landmark"]
    state.refill(slots, records)
    for name in ("cost", "reach", "certain"):
        state.cells[name] = cells[name]


def _within(numbers: NDArray[Any], low: int, beyond: int) -> bool:
    return bool(((numbers >= low) & (numbers < beyond)).all())
