"""``driftmap embed``: the map of a table or of a list of contacts."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from driftmap.cli import cluster
from driftmap.cli.checkpointing import Job, spool_path
from driftmap.cli.checks import check, resolve_files
from driftmap.cli.contacts import ContactTable, open_contacts
from driftmap.cli.errors import counted, note, warn
from driftmap.cli.files import StandardOutput, new_file
from driftmap.cli.left_out import report_rows, rows_left_out, summary_of_rows
from driftmap.cli.options import DESCRIPTION, NOVELTY, PAGE_SUFFIX, add_options
from driftmap.cli.outputs import (
    Alerts,
    Coordinates,
    Landmarks,
    Sent,
    Spreads,
    axis_names,
)
from driftmap.cli.progress import Progress
from driftmap.cli.resume import check_columns, how_to_go_on, start_job
from driftmap.cli.signals import Stop, Stopped
from driftmap.cli.stages import find_landmarks, find_scaling, learn, place, place_online
from driftmap.embedding import LandmarkStress
from driftmap.io.brokers import open_sink
from driftmap.io.delay import DelayEmbedding
from driftmap.io.missing import FillMissing
from driftmap.io.preprocessing import PreparedTable, described
from driftmap.io.readers import open_table
from driftmap.io.scaling import RunningScale
from driftmap.io.steps import Step
from driftmap.io.tables import RejectedLines, Table, Wanted, chunk_rows
from driftmap.io.writers import WRITERS, output_names
from driftmap.map import StreamMap
from driftmap.map.frames import LEAST_SIZE
from driftmap.map.landmark_count import LANDMARK_COUNTS, largest_map
from driftmap.map.novelty import NoveltyDetector
from driftmap.utils.columns import describe, some

__all__ = ["DESCRIPTION", "add_options", "run"]

OUTPUTS = ("alerts", "output", "plot", "landmarks_out", "animate")
"""The options that name files to be written, in the order of the summary."""
ONLINE_ROWS = 64  # between two looks at the progress bar
N_PICTURES = 100
WARM_UP = 100  # rows by which a running normalisation begins
CHECKPOINT_INTERVAL = 30.0  # seconds between checkpoints


def run(args: argparse.Namespace) -> int:
    """Carry out the command."""
    if args.dask is not None:
        return cluster.run(args)
    check(args)
    args.files = resolve_files(args, OUTPUTS)
    args.online, args.novelty = args.online or args.follow, args.novelty or args.follow
    on_disk = "output" in args.files and not args.files["output"].is_stream
    args.folder = args.files["output"].true.parent if on_disk else Path(tempfile.gettempdir())
    mapper = StreamMap(
        args.components,
        n_landmarks=LANDMARK_COUNTS[0] if args.landmarks == "auto" else args.landmarks,
        rule=args.rule,
        embedding=LandmarkStress(args.components, steadiness=args.steadiness) if args.steadiness else args.embedding,
        metric=args.metric,
        slack=args.slack,
        memory=args.memory,
        window=args.window,
        half_life=args.half_life,
    )
    (largest_map(mapper) if args.landmarks == "auto" else mapper).validate()  # before anything is read
    detector = None if args.alert is None else NoveltyDetector(args.alert)
    job = Job(mapper, RejectedLines(skip=args.skip_bad, report=note), args.checkpoint, detector)
    # The first rows of any stream span too few dimensions; the command says so only if all rows do.
    warnings.filterwarnings("ignore", "the landmarks so far span", UserWarning)
    # Reading and mapping have threads of their own; those of BLAS gain little and never sleep.
    with threadpool_limits(1, user_api="blas"):
        if args.checkpoint is None and not args.follow:
            _work(args, job)
            return 0
        with Stop() as job.stop:
            job.waiting = job.stop.waiting
            job.every = CHECKPOINT_INTERVAL if args.checkpoint_every is None else args.checkpoint_every
            try:
                if args.checkpoint is None or start_job(args, job):
                    _work(args, job)
            except Stopped as stopped:
                _report_stop(args, job, stopped)
                return stopped.code
    return 0


def _work(args: argparse.Namespace, job: Job) -> None:
    """Read, map and write everything, or up to where the user stops it."""
    mapper = job.mapper
    with contextlib.ExitStack() as stack:
        with job.waiting():  # a pipe may be slow to say what its columns are
            table = _open_table(args, job, stack)
        if job.path is not None:
            check_columns(job, table)
        if table.left_out:
            note(f"{table.name}: columns left out: {describe(table.left_out)}")
        _open_outputs(args, table, stack, job)
        if args.normalize == "none" and not args.contacts and not job.resumed:  # from the first row on
            job.observers.append(Spreads(table.columns, args.metric))
        if sys.stderr is not None and sys.stderr.isatty():
            job.observers.append(stack.enter_context(contextlib.closing(Progress())))
        try:
            if args.online:
                together = args.view is not None and args.output is None and args.sink is None
                rows = chunk_rows(table) if together else 1 if _is_live(args) else min(ONLINE_ROWS, chunk_rows(table))
                with_novelty = args.novelty or args.shade is not None
                place_online(table, rows, job, with_novelty=with_novelty, together=together)
            else:
                scaling = None if args.normalize == "none" else find_scaling(table, args.normalize, job)
                if args.landmarks == "auto":
                    note(str(find_landmarks(table, scaling, job)))
                learn(table, scaling, job)
                place(table, scaling, job)
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
        report_rows(job, in_final_line=True)
        note(_followed(job))
    else:
        report_rows(job)
        if job.path is not None:
            job.next_stage("finished")
            spool_path(job.path).unlink(missing_ok=True)
        if job.detector is not None:
            note(_alerted(job.detector))
    axes = {}
    if args.explain:
        from driftmap.cli.axes import explained_axes

        axes["axes"] = explained_axes(mapper, table)
    if mapper.n_dimensions_ < mapper.n_components:
        warn(
            f"the landmarks span {mapper.n_dimensions_} of {mapper.n_components} dimensions; "
            "the missing coordinates are 0"
        )
    if args.json:  # last, so that its reader can rely on the files
        print(json.dumps(_summary(args, table, job) | axes, indent=2))


def _open_table(args: argparse.Namespace, job: Job, stack: contextlib.ExitStack) -> Table:
    """The table, after the steps that the options ask for."""
    if args.contacts:
        return open_contacts(args)
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
    spool = args.folder if args.checkpoint is None else None
    how = {"once": args.online, "following": args.follow, "spool": spool, "waiting": job.idle}
    table = stack.enter_context(open_table(args.file, wanted, **how))
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


def _open_outputs(args: argparse.Namespace, table: Table, stack: contextlib.ExitStack, job: Job) -> None:
    """Open everything that is to be written, so that a bad path fails before the work is done."""
    more = bool(args.files.keys() - {"output", "alerts"})
    job.restarts = more or (args.output is not None and args.output.suffix.lower() == ".parquet")
    if not args.online and (args.novelty or args.shade is not None):
        stack.enter_context(job.open_spool(args.folder))
    opened = {}
    for name, path in args.files.items():
        if args.follow:
            opened[name] = stack.enter_context(job.open_growing(name, path))
        elif job.path is None:
            opened[name] = stack.enter_context(new_file(path))
        else:
            opened[name] = stack.enter_context(job.open_output(name, path))
    if args.follow and not job.saved:  # before the first byte: a run that is killed knows all its files
        job.save()
    # An NPY file holds numbers only: times, but no labels.
    with_label = args.contacts or args.output is None or args.output.suffix.lower() != ".npy"
    chosen = {"with_label": with_label, "with_novelty": args.novelty}
    label, axes = [] if table.label is None else [table.label], axis_names(args.components)
    numbers = ["frame"] * args.online + axes + list(NOVELTY) * args.novelty
    names = _columns_of("the output", numbers, label * with_label)
    if args.view is not None:
        job.observers.append(stack.enter_context(args.view(args, table, job)))
    if args.alerts is not None or (args.alert is not None and args.view is None):
        job.observers.append(Alerts(opened.get("alerts")))
    if args.output is not None:
        writer = WRITERS[args.output.suffix.lower()](opened["output"], names)
        after_rows = opened["output"].flush if args.follow else None
        job.observers.append(Coordinates(writer, **chosen, after_rows=after_rows))
    elif not args.json and args.view is None:
        kind, at_once = args.format or "csv", _is_live(args)
        output = StandardOutput(names, alone=not more, at_once=at_once, kind=kind, continued=job.position is not None)
        stack.callback(output.send)
        job.observers.append(Coordinates(output, **chosen))
    if args.sink is not None:
        sink = stack.enter_context(contextlib.closing(open_sink(args.sink)))
        sink.report = note
        if job.stop is not None:
            sink.waiting = partial(job.stop.waiting, clean=False)
        fixed = ["id", "alert"]
        sent = _columns_of("the records", fixed + numbers, label)
        job.observers.append(Sent(sink, [*sent[len(label) :][: len(fixed)], *label, *sent[len(label) + len(fixed) :]]))
    if args.landmarks_out is not None:
        with_label = args.contacts or args.landmarks_out.suffix.lower() != ".npy"
        with_label = with_label and table.label not in table.columns
        ours, theirs = ["arrival", "mass", *axes], [*label * with_label, *table.columns]
        named = _columns_of("the landmarks", ours, theirs)
        names = [*named[len(theirs) :], *named[: len(theirs)]]
        writer = WRITERS[args.landmarks_out.suffix.lower()](opened["landmarks_out"], names)
        job.observers.append(Landmarks(writer, with_label=with_label))
    if args.plot is not None or args.animate is not None:
        from driftmap.cli.pictures import Animation, Page, Picture  # not before: plotting is slow to import
    if args.plot is not None:
        file, how = opened["plot"], {"online": args.online, "shade": args.shade}
        is_page = args.plot.suffix.lower() == PAGE_SUFFIX
        job.observers.append(Page(file, table, **how) if is_page else Picture(file, args.plot, table, **how))
    if args.animate is not None:
        n_frames = args.animate_frames or N_PICTURES
        job.observers.append(Animation(opened["animate"], args.animate, table, job.mapper, n_frames))


def _columns_of(output: str, ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """The names of the columns of an output, those from the input first; a line for those that had to be changed."""
    named, kept = output_names(ours, theirs)
    changed = [f"{old!r} is {new!r}" for old, new in zip([*theirs, *ours], [*kept, *named], strict=True) if old != new]
    if changed:
        note(f"the input has columns of the same names, so in {output} {some(changed)}")
    return [*kept, *named]


def _is_live(args: argparse.Namespace) -> bool:
    """Whether rows may be worth waiting for one by one."""
    return bool(args.follow or (args.online and (args.file == "-" or Path(args.file).is_fifo())))


def _report_stop(args: argparse.Namespace, job: Job, stopped: Stopped) -> None:
    """One line: what is done, and how to go on."""
    rows = 0 if job.position is None else job.position.rows
    if args.follow:
        report_rows(job, in_final_line=True)
    done = _followed(job) if args.follow else f"interrupted while {job.stage}, after {rows:,} rows"
    if job.saved and stopped.clean:
        done += f"; state saved in {job.path}; {how_to_go_on(args)}"
    elif job.saved:
        done += f"; the last state saved is in {job.path}; {how_to_go_on(args)}"
    note(done)


def _followed(job: Job) -> str:
    """What was done while a source was followed."""
    mapper, lines = job.mapper, counted(job.rejected.count, "bad line")
    if left_out := described(rows_left_out(job)):
        lines = f"{left_out} left out, {lines}"
    if not mapper.fitted:
        return f"stopped before the first row, {lines}"
    alerts = "" if job.detector is None else f", {_alerted(job.detector)}"
    radius = f"radius {mapper.radius_:.4g}" if mapper.radius_ > LEAST_SIZE else "no radius yet"
    replacements = counted(mapper.n_replacements_, "replacement")
    return f"stopped after {counted(mapper.n_samples_seen_, 'row')}, {lines}, {radius}, {replacements}{alerts}"


def _alerted(detector: NoveltyDetector) -> str:
    return f"{counted(detector.n_alerts, 'alert')} ({counted(detector.n_novel, 'novel row')})"


def _summary(args: argparse.Namespace, table: Table, job: Job) -> dict[str, Any]:
    from driftmap.quality import landmark_stress  # which takes long to import

    mapper = job.mapper
    return {
        "input": table.name,
        "rows": mapper.n_samples_seen_,
        **summary_of_rows(job),
        "columns": list(table.columns),
        **(table.about if isinstance(table, ContactTable) else {}),
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
        "radius_lower_bound": mapper.radius_lower_bound_ if mapper.obeys_triangle else None,
        "replacements": mapper.n_replacements_,
        "landmark_stress": landmark_stress(mapper),
        **({} if job.detector is None else {"n_alerts": job.detector.n_alerts, "n_novel": job.detector.n_novel}),
        **{name: str(path) for name, path in args.files.items()},
    }
