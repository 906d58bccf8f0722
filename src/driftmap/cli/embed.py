"""``driftmap embed``: the map of a table or of a list of contacts."""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from driftmap.cli import arguments as kinds
from driftmap.cli import cluster
from driftmap.cli.checkpointing import Job, spool_path
from driftmap.cli.contacts import open_contacts
from driftmap.cli.errors import note, tell, warn
from driftmap.cli.files import StandardOutput, new_file, new_table
from driftmap.cli.hints import Spreads
from driftmap.cli.options import DESCRIPTION, PAGE, add_options, check, files
from driftmap.cli.outputs import (
    Alerts,
    Animation,
    Coordinates,
    Landmarks,
    Page,
    Picture,
    coordinate_columns,
    landmark_columns,
)
from driftmap.cli.progress import Progress
from driftmap.cli.resume import check_columns, how_to_go_on, start_job
from driftmap.cli.signals import Stop, Stopped
from driftmap.cli.stages import find_scaling, learn, place, place_online
from driftmap.io.prepared import PreparedTable
from driftmap.io.readers import open_table
from driftmap.io.tables import RejectedLines, Table, Wanted, chunk_rows
from driftmap.io.writers import Writer
from driftmap.map import StreamMap
from driftmap.streams import DelayEmbedding, FillMissing, RunningScale, Step
from driftmap.streams.novelty import NoveltyDetector
from driftmap.utils.columns import describe
from driftmap.utils.concurrency import one_thread

ONLINE_ROWS = 64  # between two looks at the progress bar
N_PICTURES = 100
WARM_UP = 100  # rows by which a running normalisation begins
EVERY = 30.0  # seconds between checkpoints


def register(subparsers: kinds.Subparsers) -> None:
    """Add the subcommand."""
    parser = kinds.add_command(subparsers, "embed", "map the rows of a file", DESCRIPTION, run)
    add_options(parser)
    cluster.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Carry out the command."""
    if args.dask is not None:
        return cluster.run(args)
    check(args)
    args.online, args.novelty = args.online or args.follow, args.novelty or args.follow
    rejected = RejectedLines(skip=args.skip_bad, report=note)
    args.checkpoint_every = EVERY if args.checkpoint_every is None else args.checkpoint_every
    mapper = StreamMap(
        args.components,
        n_landmarks=args.landmarks,
        rule=args.rule,
        embedding=args.embedding,
        metric=args.metric,
        slack=args.slack,
        memory=args.memory,
        window=args.window,
        half_life=args.half_life,
    )
    mapper.validate()  # before anything is read
    detector = None if args.alert is None else NoveltyDetector(args.alert)
    # Reading and mapping have threads of their own; those of BLAS gain little and never sleep.
    with one_thread():
        if args.checkpoint is None and not args.follow:
            _work(args, Job(mapper, rejected, detector))
            return 0
        with Stop() as stop:
            job = start_job(args, Job(mapper, rejected, detector, stop, args.checkpoint, args.checkpoint_every))
            try:
                if job is not None:
                    _work(args, job)
            except Stopped as stopped:
                _tell_stopped(args, job, stopped)
                return stopped.code
    return 0


def _work(args: argparse.Namespace, job: Job) -> None:
    """Read, map and write everything, or up to where the user stops it."""
    mapper = job.mapper
    with contextlib.ExitStack() as stack:
        with job.waiting():  # a pipe may be slow to say what its columns are
            table = _prepared(args, stack.enter_context(_open(args, job)), job)
        if job.path is not None:
            check_columns(job, table)
        if table.left_out:
            note(f"{table.name}: columns left out: {describe(table.left_out)}")
        _open_outputs(args, table, stack, job)
        if args.normalize == "none" and not args.contacts and not job.saved:  # from the first row on
            job.observers.append(Spreads(table.columns, args.metric))
        job.observers.append(stack.enter_context(Progress()))
        try:
            _map(args, table, job)
        except Stopped as stopped:
            if stopped.clean and job.stop is not None:
                job.stop.ignore()
                job.save()
            raise
        for observer in job.observers:
            observer.finish(mapper)
        if args.follow:
            job.save()
    if args.follow:
        note(_followed(job))
    else:
        job.next_stage("finished")
        if job.path is not None:
            spool_path(job.path).unlink(missing_ok=True)
        if job.detector is not None:
            note(_alerted(job.detector))
    if mapper.n_dimensions_ < mapper.n_components:
        warn(
            f"the landmarks span {mapper.n_dimensions_} of {mapper.n_components} dimensions; "
            "the missing coordinates are 0"
        )
    if args.json:  # last, so that its reader can rely on the files
        print(json.dumps(_summary(args, table, job), indent=2))


def _open(args: argparse.Namespace, job: Job) -> contextlib.AbstractContextManager[Table]:
    if args.contacts:
        return open_contacts(args.file, args.decay, args.columns)
    wanted = Wanted(
        args.columns,
        args.label,
        args.header,
        job.rejected,
        args.exclude or (),
        missing=(args.missing or "error") != "error" or args.metric == "nan_euclidean",
        decimal=args.decimal,
        thousands=args.thousands,
    )
    # A run that may be interrupted has to find its place in the file itself.
    spool = _folder(args) if args.checkpoint is None else None
    return open_table(args.file, wanted, once=args.online, following=args.follow, spool=spool)


def _prepared(args: argparse.Namespace, table: Table, job: Job) -> Table:
    """The table after the steps that the options ask for."""
    steps: list[Step] = []
    if args.missing not in (None, "error"):
        steps.append(FillMissing(args.missing))
    if args.delay is not None:
        steps.append(DelayEmbedding(args.delay, args.every or 1))
    warm_up = 1
    if args.online and args.normalize != "none":
        warm_up = args.warm_up or WARM_UP
        steps.append(RunningScale(args.normalize, warm_up))
    if not steps:
        return table
    prepared = PreparedTable(table, steps, warm_up)
    if job.steps:
        prepared.restore(job.steps)
    return prepared


def _folder(args: argparse.Namespace) -> Path:
    """Where temporary files go."""
    return Path(tempfile.gettempdir()) if args.output is None else args.output.resolve().parent


def _appending(file: BinaryIO) -> Callable[[str], None]:
    """Writes lines that others see at once."""

    def write(line: str) -> None:
        file.write(f"{line}\n".encode())
        file.flush()

    return write


def _open_outputs(args: argparse.Namespace, table: Table, stack: contextlib.ExitStack, job: Job) -> None:
    """Open everything that is to be written, so that a bad path fails before the work is done."""
    # An NPY file holds numbers only: times, but no labels.
    with_label = args.contacts or args.output is None or args.output.suffix.lower() != ".npy"
    chosen = {"with_label": with_label, "with_novelty": args.novelty}
    names = coordinate_columns(table, args.components, online=args.online, **chosen)
    more = [path for name, path in files(args).items() if name not in ("output", "alerts")]
    job.restarts = bool(more) or (args.output is not None and args.output.suffix.lower() == ".parquet")

    def opened(name: str, *, continued: bool = not job.restarts) -> Any:
        path = getattr(args, name)
        if args.follow:
            return job.open_growing(name, path)
        return new_file(path) if job.path is None else job.open_output(name, path, continued=continued)

    if not args.online and (args.novelty or args.shade is not None):
        stack.enter_context(job.open_spool(_folder(args)))
    if args.alerts is not None:  # before the coordinates: these are closed first, and with them the run
        job.observers.append(Alerts(_appending(stack.enter_context(opened("alerts", continued=True)))))
    elif args.alert is not None:
        job.observers.append(Alerts(tell))
    if args.output is not None:
        writer: Writer = stack.enter_context(new_table(args.output, names, opened("output")))
        flush = job.files["output"].flush if args.follow else None
        job.observers.append(Coordinates(writer, flush=flush, **chosen))
    elif not args.json:
        kind, at_once = args.format or "csv", _is_live(args)
        writer = StandardOutput(names, alone=not more, at_once=at_once, kind=kind, continued=job.done > 0)
        stack.callback(writer.close)
        job.observers.append(Coordinates(writer, **chosen))
    if args.landmarks_out is not None:
        with_label = args.contacts or args.landmarks_out.suffix.lower() != ".npy"
        names = landmark_columns(table, args.components, with_label=with_label)
        writer = stack.enter_context(new_table(args.landmarks_out, names, opened("landmarks_out")))
        job.observers.append(Landmarks(writer, with_label=with_label))
    if args.plot is not None:
        file = stack.enter_context(opened("plot"))
        chosen = {"online": args.online, "shade": args.shade}
        is_page = args.plot.suffix.lower() == PAGE
        job.observers.append(Page(file, table, **chosen) if is_page else Picture(file, args.plot, table, **chosen))
    if args.animate is not None:
        file, n_frames = stack.enter_context(new_file(args.animate)), args.animate_frames or N_PICTURES
        job.observers.append(Animation(file, args.animate, table, job.mapper, n_frames))
    if args.follow and not job.saved:  # else rows that are written before a kill would be nobody's
        job.save()


def _map(args: argparse.Namespace, table: Table, job: Job) -> None:
    with_novelty = args.novelty or args.shade is not None
    if args.online:
        rows = 1 if _is_live(args) else min(ONLINE_ROWS, chunk_rows(table))
        place_online(table, rows, job, with_novelty=with_novelty)
        return
    scaling = find_scaling(table, args.normalize, job)
    learn(table, scaling, job)
    place(table, scaling, job)


def _is_live(args: argparse.Namespace) -> bool:
    """Whether rows may be worth waiting for one by one."""
    return bool(args.follow or (args.online and (args.file == "-" or Path(args.file).is_fifo())))


def _tell_stopped(args: argparse.Namespace, job: Job | None, stopped: Stopped) -> None:
    """One line: what is done, and how to go on."""
    if job is None:
        return
    done = _followed(job) if args.follow else f"interrupted while {job.stage}, after {job.done:,} rows"
    if job.saved and stopped.clean:
        done += f"; state saved in {job.path}; {how_to_go_on(args)}"
    elif job.saved:
        done += f"; the last state saved is in {job.path}; {how_to_go_on(args)}"
    note(done)


def _followed(job: Job) -> str:
    """What was done while a source was followed."""
    mapper, bad = job.mapper, job.rejected.count
    lines = f"{bad:,} bad line{'' if bad == 1 else 's'}"
    if not mapper.fitted:
        return f"stopped before the first row, {lines}"
    alerts = "" if job.detector is None else f", {_alerted(job.detector)}"
    return (
        f"stopped after {mapper.n_samples_seen_:,} rows, {lines}, radius {mapper.radius_:.4g}, "
        f"{mapper.n_replacements_:,} replacements{alerts}"
    )


def _alerted(detector: NoveltyDetector) -> str:
    alerts, novel = detector.n_alerts, detector.n_novel
    return f"{alerts:,} alert{'' if alerts == 1 else 's'} ({novel:,} novel row{'' if novel == 1 else 's'})"


def _summary(args: argparse.Namespace, table: Table, job: Job) -> dict[str, Any]:
    from driftmap.quality import landmark_stress  # which takes long to import

    mapper = job.mapper
    return {
        "input": table.name,
        "rows": mapper.n_samples_seen_,
        "bad_lines": job.rejected.count,
        "columns": list(table.columns),
        "left_out": {column.name: column.reason for column in table.left_out},
        "components": mapper.n_components,
        "dimensions": mapper.n_dimensions_,
        "landmarks": len(mapper.landmark_indices_),
        "rule": mapper.rule,
        "embedding": mapper.embedding,
        "metric": mapper.metric,
        "normalize": args.normalize,
        "online": args.online,
        "radius": mapper.radius_,
        "covering_radius": mapper.covering_radius_,
        "resolution": mapper.resolution_,
        "coverage_bound": mapper.coverage_bound_ if mapper.obeys_triangle else None,
        "replacements": mapper.n_replacements_,
        "landmark_stress": landmark_stress(mapper),
        **({} if job.detector is None else {"n_alerts": job.detector.n_alerts, "n_novel": job.detector.n_novel}),
        **{name: str(path) for name, path in files(args).items()},
    }
