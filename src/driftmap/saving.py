"""Estimators as arrays and a header, as a checkpoint holds them, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.checkpoint import Checkpoint, CheckpointError
from driftmap.embedding import LandmarkStress
from driftmap.embedding.anchors import Inference
from driftmap.frames import Frame, FrameChange, Frames
from driftmap.landmarks import OnlineLandmarks
from driftmap.map import DriftMap
from driftmap.quality import Displacement
from driftmap.state import Cells, Event, Landmarks


def pack(estimator: DriftMap | OnlineLandmarks) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A header that JSON can hold, and arrays; together they are the estimator."""
    if not isinstance(estimator, DriftMap) or estimator.metric != "euclidean" or estimator.embedding != "stress":
        raise CheckpointError("only a Euclidean DriftMap with the embedding 'stress' can be saved so far")
    selector, frames = estimator._selector, estimator._frames
    state, space = selector._state, selector._fitted_space()
    frame = frames.current
    header = {
        "kind": "DriftMap",
        "params": estimator.get_params(),
        "n_samples_seen": state.n,
        "radius": state.radius,
        "n_replacements": state.n_replacements,
        "n_features_in": estimator.n_features_in_,
        "frame_count": frames.count,
        "warned": frames.warned,
        "events": [list(event) for event in state.events],
        "changes": [[c.frame, c.rotation.tolist(), *c.displacement] for c in frames.changes],
        "frame": None if frame is None else _plain(frame.embedding),
    }
    arrays: dict[str, NDArray[Any]] = {"rows": space.rows[: state.n]}  # type: ignore[attr-defined]
    arrays |= {f"marks.{name}": array for name, array in state.marks._asdict().items()}
    arrays |= {f"cells.{name}": array for name, array in state.cells._asdict().items()}
    if frame is not None:
        arrays |= {f"frame.{name}": getattr(frame, name) for name in ("landmarks", "rotation", "translation")}
        arrays |= {f"embedding.{name}": a for name, a in vars(frame.embedding).items() if isinstance(a, np.ndarray)}
        inference = frame.embedding._inference  # type: ignore[attr-defined]
        arrays |= {f"inference.{i}": part for i, part in enumerate(inference)}
    return header, arrays


def _plain(embedding: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(embedding).items() if isinstance(value, int | float)}


def unpack(checkpoint: Checkpoint, *, metric: Any = None) -> DriftMap | OnlineLandmarks:
    """The estimator that was packed; it goes on to the bit as the original would have."""
    header, arrays = checkpoint
    if header.get("kind") != "DriftMap":
        raise CheckpointError(f"the checkpoint holds {header.get('kind')!r}, not a DriftMap")
    mapper = DriftMap(**header["params"])
    selector = mapper._new_selector()
    rows = arrays["rows"]
    selector._start(rows)
    selector._space.extend(rows)
    state = selector._state
    state.n, state.radius, state.n_replacements = header["n_samples_seen"], header["radius"], header["n_replacements"]
    state.marks = Landmarks(**_part(arrays, "marks."))
    state.cells = Cells(**_part(arrays, "cells."))
    state.events.extend(Event(*event) for event in header["events"])
    mapper._selector, mapper._dict_names, mapper.n_features_in_ = selector, (), header["n_features_in"]
    frames = mapper._frames = Frames(mapper.embedding, mapper.n_components, mapper.n_anchors, mapper.align)
    frames.count, frames.warned = header["frame_count"], header["warned"]
    frames.changes.extend(
        FrameChange(number, np.array(rotation), Displacement(*moved)) for number, rotation, *moved in header["changes"]
    )
    if header["frame"] is not None:
        embedding = LandmarkStress(mapper.n_components)
        vars(embedding).update(header["frame"])
        vars(embedding).update(_part(arrays, "embedding."))
        embedding._inference = Inference(*_part(arrays, "inference.").values())
        frames.current = Frame(embedding, **_part(arrays, "frame."))
    return mapper


def _part(arrays: dict[str, NDArray[Any]], start: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
