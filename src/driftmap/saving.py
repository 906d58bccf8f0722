"""Estimators as a header and arrays, as a checkpoint holds them, and back."""

from __future__ import annotations

from typing import Any

from driftmap.checkpoint import Checkpoint, CheckpointError
from driftmap.landmarks import OnlineLandmarks
from driftmap.map import DriftMap
from driftmap.packing import Arrays
from driftmap.packing import unpack as unpack_as

KINDS = {kind.__name__: kind for kind in (DriftMap, OnlineLandmarks)}


def pack(estimator: DriftMap | OnlineLandmarks) -> tuple[dict[str, Any], Arrays]:
    """A header that JSON can hold, and arrays; together they are the estimator."""
    return estimator._pack()


def unpack(checkpoint: Checkpoint, **given: Any) -> DriftMap | OnlineLandmarks:
    """The estimator that was packed; it goes on to the bit as the original would have."""
    kind = checkpoint.header.get("kind")
    if kind not in KINDS:
        raise CheckpointError(f"the checkpoint holds a {kind}, which is none of {', '.join(KINDS)}")
    return unpack_as(KINDS[kind], checkpoint, "the checkpoint", given)
