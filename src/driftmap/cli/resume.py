"""The start of a run: a new one, or one resumed from a checkpoint with the same arguments and the same input."""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
from pathlib import Path
from typing import Any

from driftmap.cli.checkpointing import Job, spool_path
from driftmap.cli.errors import UserError, note, one_line
from driftmap.io import atomic, checkpoint
from driftmap.io.addresses import is_address
from driftmap.io.checkpoint import Checkpoint, CheckpointError
from driftmap.io.follow import digest
from driftmap.io.paths import OutputPath
from driftmap.io.serialization import unpack
from driftmap.io.tables import Table
from driftmap.map import StreamMap

SHAPING = (
    "columns", "exclude", "label", "header", "contacts", "decay", "metadata", "start", "color_by", "skip_bad",
    "missing", "decimal", "thousands", "delay", "every", "warm_up", "landmarks", "components", "rule",
    "embedding", "steadiness", "slack", "memory", "window", "half_life",
    "metric", "normalize", "online", "follow", "output", "format", "novelty", "plot", "shade", "landmarks_out",
    "alert", "alerts",
)  # fmt: skip
"""The arguments that a run and the one that goes on with it must have in common."""


def start_job(args: argparse.Namespace, job: Job) -> bool:
    """Take up the run that was interrupted, if there is one; false if there is nothing left to do."""
    about = {"input": _fingerprint(args.file), "arguments": _arguments(args)}
    job.about = about
    place: Path = args.checkpoint.true
    found = checkpoint.read(args.checkpoint) if place.exists() else None
    _check_folder(args.checkpoint)
    if found is not None and "job" not in found.header:
        raise UserError(f"{args.checkpoint} holds a {found.header.get('kind')}, no run of embed: name another file")
    if not args.resume:
        if found is not None and found.header["job"]["stage"] != "finished":
            raise UserError(
                f"{args.checkpoint} holds a run that was interrupted: go on with it by --resume, or delete it"
            )
        return True
    atomic.remove_leftovers(place.parent, place.name)
    if found is None:
        note(f"there is no {args.checkpoint} yet: this run starts from the beginning")
        return True
    try:
        return _go_on(args, job, found)
    except CheckpointError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{args.checkpoint} does not hold what a run needs to go on: {one_line(error)}") from error


def _check_folder(path: OutputPath) -> None:
    """Find out now, not after the first hours of work, whether there is a place for the checkpoint."""
    try:
        with tempfile.TemporaryFile(dir=path.true.parent):
            pass
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error


def _go_on(args: argparse.Namespace, job: Job, found: Checkpoint) -> bool:
    """Bring the job to where it was interrupted; false if there is nothing left to do."""
    state, about = found.header["job"], job.about
    _check_arguments(about["arguments"], state["arguments"], args.checkpoint)
    if state["stage"] == "closing":
        _close(args, found)
    if state["stage"] in ("closing", "finished"):
        _check_input(args, about["input"], state)
        _check_outputs(args, state)
        note(f"{args.checkpoint} says that this run is finished ({_result(state)}); delete it to start again")
        return False
    _check_input(args, about["input"], state)
    job.mapper, job.about = _mapper(found) or job.mapper, {key: state[key] for key in ("input", "arguments", "columns")}
    job.restore(state, {name[4:]: array for name, array in found.arrays.items() if name.startswith("job.")})
    return True


def check_columns(job: Job, table: Table) -> None:
    """The input must have the columns it had when the job was started."""
    columns = [table.label, *table.columns]
    if job.about.setdefault("columns", columns) != columns:
        raise UserError(f"{table.name} has other columns than when {job.path} was started; delete that to start again")


def how_to_go_on(args: argparse.Namespace) -> str:
    """The command that goes on with a run, as a shell takes it."""
    resume = [] if args.resume else ["--resume"]
    again = "" if args.file != "-" else ", with the same input from its start"
    return f"go on with: driftmap {shlex.join([*args.argv, *resume])}{again}"


def _mapper(found: Checkpoint) -> StreamMap | None:
    if found.header["kind"] == "job":  # no row was learnt yet
        return None
    header = {key: value for key, value in found.header.items() if key != "job"}
    arrays = {name: array for name, array in found.arrays.items() if not name.startswith("job.")}
    return unpack(Checkpoint(header, arrays), StreamMap)


def _close(args: argparse.Namespace, found: Checkpoint) -> None:
    """Do what was left of a run that was interrupted at its very end."""
    state = found.header["job"]
    for name, size in state["bytes"].items():
        if name == "scores":
            continue
        output: OutputPath = args.files[name]
        target, unfinished = output.true, atomic.partial(output)
        if not unfinished.exists():  # it may have its final name, in a folder that was not synced
            unfinished = target
        if not (unfinished.exists() and unfinished.stat().st_size == size):
            raise UserError(f"{unfinished} was deleted or changed; delete {args.checkpoint} to start again")
        atomic.publish(unfinished, target)
    spool_path(args.checkpoint).unlink(missing_ok=True)
    state = {**state, "stage": "finished"}
    checkpoint.write(args.checkpoint, found.header | {"job": state}, found.arrays)


def _check_outputs(args: argparse.Namespace, state: dict[str, Any]) -> None:
    """The files of a finished run must be there as it left them."""
    for name, path in args.files.items():
        size = path.true.stat().st_size if path.true.exists() else None
        if size is None or state["bytes"].get(name, size) != size:
            raise UserError(f"{path} was deleted or changed; delete {args.checkpoint} to start again")


def _result(state: dict[str, Any]) -> str:
    rows, output = state["counts"].get("mapping"), state["arguments"]["output"]
    return f"{rows:,} rows" + ("" if output is None else f", in {output}")


def _fingerprint(file: str) -> dict[str, Any]:
    """What changes when a file is changed or replaced; of a stream nothing is known."""
    source = Path(file)
    if is_address(file):
        return {"name": file, "size": None}
    if file == "-" or not source.is_file():
        return {"name": file, "size": None}
    now = source.stat()
    return {"name": file, "size": now.st_size, "device": now.st_dev, "inode": now.st_ino, "changed": now.st_ctime_ns}


def _check_input(args: argparse.Namespace, now: dict[str, Any], state: dict[str, Any]) -> None:
    then, again = state["input"], f"; delete {args.checkpoint} to start again"
    if (now["size"] is None) != (then["size"] is None):
        raise UserError(f"{args.checkpoint} was started from {then['name']}, not from {now['name']}{again}")
    if is_address(now["name"]) and now["name"] != then["name"]:
        raise UserError(f"{args.checkpoint} was started from {then['name']}, not from {now['name']}{again}")
    if now["size"] is None:
        return
    if args.follow:
        _check_followed(args.file, state, again)
    elif now["size"] != then["size"]:
        raise UserError(
            f"{args.file} has {now['size']} bytes, but had {then['size']} when {args.checkpoint} was started{again}"
        )
    elif any(now[key] != then[key] for key in ("device", "inode", "changed")):
        raise UserError(f"{args.file} was changed or replaced after {args.checkpoint} was started{again}")


def _check_followed(file: str, state: dict[str, Any], again: str) -> None:
    """A followed file may have grown, but the bytes that were read last must still be there."""
    if state["position"] is None or state["tail"] is None:
        return
    start, stop, expected = state["tail"]
    with Path(file).open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        if size < stop:
            raise UserError(f"{file} has {size} bytes, but {stop} were read before: it was cut{again}")
        stream.seek(start)
        if digest(stream.read(stop - start)) != expected:
            raise UserError(f"{file} was changed or replaced: the last bytes before {stop} are others{again}")


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    values = {name: getattr(args, name) for name in SHAPING}
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _check_arguments(now: dict[str, Any], then: dict[str, Any], path: Path) -> None:
    for name in SHAPING:
        if now[name] != then.get(name):
            option = "-o" if name == "output" else f"--{name.replace('_', '-')}"
            raise UserError(
                f"{option} is {_shown(now[name])}, but was {_shown(then.get(name))} when {path} was started: "
                "give the same arguments, or delete it to start again"
            )


def _shown(value: Any) -> str:
    if value is None or value is False:
        return "not given"
    if value is True:
        return "given"
    return ",".join(value) if isinstance(value, list) else str(value)
