"""The schema of recorded messages: each is checked as a whole before a scene changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from driftmap.live.curves import CURVES, MOST_SAMPLES
from driftmap.live.scene import MOST_CAPACITY, MOST_CELLS
from driftmap.storage.checkpoint import UNREADABLE
from driftmap.storage.schema import LARGEST, Count, from_json
from driftmap.web.protocol import decode

Arrays = dict[str, NDArray[Any]]
CHANGE = ["change_x", "change_y", "change"]


@dataclass(frozen=True)
class RecordedColumn:
    """A column of a scene."""

    name: str
    kind: Literal["number", "date", "category"]
    base: float
    names: list[str]


@dataclass(frozen=True)
class RecordedFeature:
    """A feature of an alert."""

    name: str | int
    value: float
    landmark: float


@dataclass(frozen=True)
class RecordedAlert:
    """An alert; what is infinite or unknown is None."""

    row: Count
    time: str | float | None
    reach: float | None
    quantile: float
    nearest: Count | None
    features: list[RecordedFeature]


@dataclass(frozen=True)
class RecordedShift:
    """A feature of a drift."""

    name: str | int
    difference: float
    before: float
    now: float


@dataclass(frozen=True)
class RecordedDrift:
    """A drift; ``at`` is when it was noticed, in seconds since 1970."""

    kind: Literal["drift"]
    row: Count
    time: str | float | None
    began: Count
    p_value: float
    features: list[RecordedShift]
    at: float
    size: float
    text: str


@dataclass(frozen=True)
class RecordedMove:
    """When and why the map moved last."""

    frame: Count
    row: Count
    reason: str
    median: float | None


@dataclass(frozen=True)
class Delta:
    """The header of a message about what has changed."""

    kind: Literal["whole", "delta"]
    oldest: Count
    first: Count
    alerts: list[RecordedAlert | RecordedDrift]
    names: list[list[str]] | None
    change: RecordedDrift | None
    moved: RecordedMove | None


@dataclass(frozen=True)
class Whole(Delta):
    """The header of the first message."""

    title: str
    capacity: Count
    color: str | None
    columns: list[RecordedColumn]


def read_message(data: bytes, *, n_columns: int | None) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a message, or raise a ValueError that says what is wrong with it.

    ``n_columns``: of the scene; None: this is the first message, which describes the scene.
    """
    try:
        header, arrays = decode(data)
        if "time" in arrays:  # recordings before version 0.3 have no p-values
            arrays.setdefault("drift", np.full(len(arrays["time"]), np.nan))
        kind = Whole if n_columns is None else Delta
        found: Delta = from_json(kind, {"names": None, "change": None, "moved": None} | header, "header")
        json.dumps(header, allow_nan=False)  # as it will be sent to a browser
        if isinstance(found, Whole):
            n_columns = len(found.columns)
            _check_size(found.capacity, n_columns)
        _check_rows(found, arrays, n_columns or 0)
    except UNREADABLE as error:
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from error
    return header, arrays


def _check_size(capacity: int, n_columns: int) -> None:
    if not 0 < capacity <= MOST_CAPACITY:
        raise ValueError(f"its header.capacity is {capacity}, not from 1 to {MOST_CAPACITY}")
    if capacity * n_columns > MOST_CELLS:
        raise ValueError(f"its header asks for {capacity} rows of {n_columns} columns: more than {MOST_CELLS} numbers")


def _check_rows(header: Delta, arrays: Arrays, n_columns: int) -> None:
    """Raise a ValueError unless the arrays belong together, and to the header."""
    rows = ["x", "y", *(f"v{j}" for j in range(n_columns)), "nearest"]
    groups = (rows, ["moved_x", "moved_y"], ["landmark", "landmark_x", "landmark_y", "mass"], CHANGE, list(CURVES))
    for group in groups:
        present = [name for name in group if name in arrays]
        sizes = {len(arrays[name]) for name in present}
        if present and (present != group or len(sizes) != 1):
            raise ValueError(f"its arrays {', '.join(group)} are not all there, or not of one size")
    strange = arrays.keys() - {name for group in groups for name in group}
    if (
        strange
        or (header.kind == "whole" and "x" not in arrays)
        or (isinstance(header, Whole) != (header.kind == "whole"))
    ):
        raise ValueError(f"its arrays are {', '.join(arrays)}, which does not suit a message of kind {header.kind}")
    if (header.change is None) != ("change" not in arrays):
        raise ValueError("its header.change and the array change are not both there")
    if header.names is not None and len(header.names) != n_columns:
        raise ValueError(f"its header.names are of {len(header.names)} columns, not of {n_columns}")
    if header.oldest > header.first or header.first + len(arrays.get("x", ())) >= LARGEST:
        raise ValueError(f"its rows from {header.first} on are before the oldest one, {header.oldest}, or too many")
    if len(arrays.get("time", ())) > MOST_SAMPLES:
        raise ValueError(f"its curves have {len(arrays['time'])} points, more than {MOST_SAMPLES}")
    for name in ("x", "y", "moved_x", "moved_y", "landmark_x", "landmark_y", *CHANGE):
        if name in arrays and not (arrays[name].dtype == np.float32 and np.isfinite(arrays[name]).all()):
            raise ValueError(f"its {name} are not all finite numbers of single precision")
    for name in ("nearest", "landmark"):
        numbers = arrays.get(name, np.empty(0))
        if not ((numbers >= -1) & (numbers < LARGEST)).all():
            raise ValueError(f"its {name} are not arrival numbers")
