"""``driftmap info``: the content of a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftmap.cli.errors import escaped
from driftmap.cli.typed import argument, option
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map import StreamMap
from driftmap.map.frame import REGISTERED, FrameChange
from driftmap.map.frozen import FrozenMap
from driftmap.map.truth import in_words, sampled_stress
from driftmap.pipeline import state as run_state
from driftmap.pipeline.operator_state import OWN, OperatorState
from driftmap.pipeline.state import RunState
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import Checkpoint, CheckpointError
from driftmap.storage.serialization import unpack

DESCRIPTION = """\
Show what a checkpoint holds: who wrote it, the map, its arrays, and the progress of a run.

The file is checked as on loading, so this also shows whether it is intact.

examples:
  driftmap info map.ckpt
  driftmap info map.ckpt --json
"""

KINDS = (StreamMap.kind, LandmarkEngine.kind, FrozenMap.kind, OWN)
SHOWN_FRAMES = 10
"""Most frames shown, the last ones."""
SHOWN_CHARACTERS = 60
"""Characters shown of a value."""


@dataclass(frozen=True, kw_only=True)
class InfoOptions:
    """Options of ``info``."""

    file: Path = argument(type=Path, metavar="FILE", help="a checkpoint")
    json: bool = option("--json", default=False, help="the whole header as JSON")


Options = InfoOptions


def run(options: InfoOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    found = checkpoint.read(options.file)
    if options.json:
        print(json.dumps(found.header, indent=2))
    else:
        with checkpoint.reading(options.file):
            lines = _lines(options.file, found)
        for name, value in lines:
            print(f"{name}{escaped(value)}")
    return 0


def _lines(path: Path, found: Checkpoint) -> list[tuple[str, str]]:
    """Return names and values, in the order in which they are shown."""
    header = found.header
    saved = run_state.read(path) if run_state.KEY in header else None
    if header["kind"] not in KINDS:
        raise CheckpointError(f"{path} holds a {header['kind']}, which this version does not know")
    learnt = header["kind"] != OWN
    if learnt and "params" not in header:
        raise CheckpointError(f"{path} holds a {header['kind']}, which this version does not read")
    lines = [
        ("file", f"{path}, {path.stat().st_size:,} bytes, whole"),
        ("written by", f"driftmap {header['library']}, version {header['version']} of the format"),
        ("holds", header["kind"] if learnt else "a run that has learnt nothing yet"),
    ]
    if learnt:
        lines += _estimator(found)
    if saved is not None:
        lines += [("", ""), *_run(saved.state, saved.operator)]
    size = sum(array.nbytes for array in found.arrays.values())
    lines += [("", ""), ("arrays", f"{len(found.arrays)}, {size:,} bytes; --json lists them")]
    width = max(len(name) for name, _ in lines) + 2
    return [(name.ljust(width) if name else "", value) for name, value in lines]


def _estimator(found: Checkpoint) -> list[tuple[str, str]]:
    """Return names and values of a map or its landmarks."""
    params = {name: _param(value) for name, value in found.header["params"].items()}
    lines = [("parameters", ", ".join(f"{name}={value}" for name, value in params.items()))]
    if found.header["kind"] == FrozenMap.kind:
        return lines + _frozen(found)
    try:
        engine: Any = unpack(found, StreamMap, LandmarkEngine)
    except CheckpointError as error:  # it requires an object that a checkpoint cannot hold
        return [*lines, ("not shown", str(error))]
    landmarks: LandmarkEngine = engine._landmark_engine() if isinstance(engine, StreamMap) else engine
    lines += [
        ("points seen", f"{landmarks.n_samples_seen_:,}, {len(landmarks.stored_indices_):,} of them stored"),
        ("landmarks", f"{len(landmarks.landmark_indices_):,}, {landmarks.n_replacements_:,} replaced so far"),
        ("radius", f"{landmarks.radius_:.6g}"),
        ("resolution", f"{landmarks.resolution_:.6g}"),
    ]
    lines += _bounds(landmarks)
    if isinstance(engine, StreamMap):
        names = ", ".join(engine.feature_names)
        lines += [
            ("features", f"{landmarks.n_features or 0}" + (f": {_shown(names)}" if names else "")),
            ("frame", f"{engine.frames.count}"),
        ]
        changes = list(engine.frames.changes)[-SHOWN_FRAMES:]
        lines += [(f"frame {change.frame}", _frame(change)) for change in changes]
        if (stress := sampled_stress(engine)) is not None:
            lines.append(("map", in_words(stress)))
    return lines


def _frame(change: FrameChange) -> str:
    """Return when a frame was made, and why."""
    (median, worst), when = change.displacement, f"after arrival {change.arrival:,}"
    why = f"by {change.reason}: {change.stress:.4g} became {change.candidate_stress:.4g}"
    if change.reason == REGISTERED:
        why = "laid on another map"
    return f"{when}, {why}; moved {median:.2g} (median), {worst:.2g}"


def _frozen(found: Checkpoint) -> list[tuple[str, str]]:
    """Return names and values of a frozen map."""
    try:
        frozen = unpack(found, FrozenMap)
    except CheckpointError as error:
        return [("not shown", str(error))]
    how = "exact, by a pass over all points" if frozen.certified else "of the stored points"
    lines = [
        ("points seen", f"{frozen.n_samples_seen_:,}"),
        ("landmarks", f"{len(frozen.landmark_indices_):,}"),
        ("radius", f"{frozen.radius_:.6g}"),
        ("covering radius", f"{frozen.covering_radius_:.6g}, {how}"),
    ]
    if frozen.coverage_bound_ is not None:
        lines.append(("coverage bound", f"{frozen.coverage_bound_:.6g}"))
    return [*lines, ("frame", f"{frozen.frame_}")]


def _bounds(landmarks: LandmarkEngine) -> list[tuple[str, str]]:
    """Return the bounds on the landmarks; none if the metric is not known to obey the triangle inequality."""
    try:
        upper, lower = landmarks.coverage_bound_, landmarks.radius_lower_bound_
    except ValueError:
        return []
    bounds = [("coverage bound", f"{upper:.6g}"), ("least radius", f"{lower:.6g}, whatever the landmarks")]
    return bounds + ([("factor", f"at most {upper / lower:.4g} times the least radius")] if lower > 0 else [])


def _param(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("given") or value.get("object") or "...")
    return _shown(value)


def _run(state: RunState, operator: OperatorState) -> list[tuple[str, str]]:
    source, size = state.input.name, state.input.size
    rows = 0 if state.position is None else state.position.rows
    given = {name: value for name, value in state.arguments.items() if value not in (None, False)}
    lines = [
        ("input", ("standard input" if source == "-" else source) + ("" if size is None else f", {size:,} bytes")),
        ("stage", state.stage if state.stage == "finished" else f"{state.stage}, after {rows:,} rows"),
        *((f"{stage} done", f"{n:,} rows") for stage, n in state.rows.items()),
        ("bad lines", f"{state.rejected[0]:,}"),
        ("arguments", ", ".join(f"{name}={_shown(value)}" for name, value in given.items())),
    ]
    for name in ("alerts", "output"):
        if name in state.lengths:
            lines.insert(2, (name, f"{_shown(state.arguments.get(name))}, {state.lengths[name]:,} bytes so far"))
    detector, monitor = operator.detector, operator.monitor
    if detector is not None:
        lines.append(("alerts so far", f"{detector.n_alerts:,}, {detector.n_novel:,} novel rows"))
    if monitor is not None:
        lines.append(("drifts so far", f"{monitor.n_drifts:,} in {monitor.n_checks:,} checks"))
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_shown(item)}" for name, item in value.items())
    text = value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, list) and len(text) > SHOWN_CHARACTERS:
        return f"{len(value):,} entries"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."
