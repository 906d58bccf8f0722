"""Maps and their landmarks as a header and arrays, as a checkpoint holds them, and back; without scikit-learn."""

from __future__ import annotations

from typing import Any

from driftmap.checkpoint import Checkpoint, CheckpointError
from driftmap.landmarks.online import OnlineSelector
from driftmap.map import StreamMap
from driftmap.packing import Arrays
from driftmap.packing import unpack as unpack_as

KINDS = {kind._kind: kind for kind in (StreamMap, OnlineSelector)}


def pack(packed: StreamMap | OnlineSelector) -> tuple[dict[str, Any], Arrays]:
    """A header that JSON can hold, and arrays; together they are what was packed."""
    return packed._pack()


def unpack(checkpoint: Checkpoint, **given: Any) -> StreamMap | OnlineSelector:
    """What was packed; it goes on to the bit as the original would have."""
    kind = checkpoint.header.get("kind")
    if kind not in KINDS:
        raise CheckpointError(f"the checkpoint holds a {kind}, which is none of {', '.join(KINDS)}")
    return unpack_as(KINDS[kind], checkpoint, "the checkpoint", given)
