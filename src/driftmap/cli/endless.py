"""Mapping rows as they arrive, for ``follow``, ``watch`` and ``contacts --follow``."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from driftmap.cli import outputs, reports, run_files, session, webhooks
from driftmap.cli.errors import UserError, note
from driftmap.cli.groups import ISOLATION, Alerting, Coordinates, Normalizing, Recovering
from driftmap.cli.groups import Mapping as MapOptions
from driftmap.cli.hints import Hints
from driftmap.cli.mapping import new_map
from driftmap.cli.monitoring import Metrics, Monitoring, serving_metrics
from driftmap.cli.session import FinishedError, Session
from driftmap.cli.signals import Stopped
from driftmap.cli.typed import flag_of, group, option
from driftmap.cli.whole import Input
from driftmap.cli.writing import Layout
from driftmap.pipeline.map_operator import MapOperator
from driftmap.pipeline.observer import Observer
from driftmap.pipeline.state import RunState
from driftmap.storage.paths import OutputPath
from driftmap.tables.formats import TEXT_SUFFIXES, listed
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.steps import Steps
from driftmap.tables.table import Table, chunk_rows
from driftmap.utils.columns import describe

View = Callable[[Session, Table, Sequence[str]], AbstractContextManager[Observer]]
"""Shows a stream while it is read, given the names of its columns."""


@dataclass(frozen=True, kw_only=True)
class EndlessOptions:
    """Options of commands that map rows as they arrive."""

    mapping: MapOptions = group(MapOptions, "how to map")
    normalizing: Normalizing = group(Normalizing, "how to normalise")
    coordinates: Coordinates = group(Coordinates, "what to write")
    alerting: Alerting = group(Alerting, "alerts")
    sink: str | None = option(
        "--sink",
        shapes=False,
        metavar="URL",
        help="also send coordinates, novelty and alerts to this stream of messages",
    )
    novelty: str | None = option(
        "--novelty", choices=(ISOLATION,), metavar=ISOLATION, help="one more column, isolation: see `driftmap embed`"
    )
    monitoring: Monitoring = group(Monitoring, "what to watch it by")
    recovering: Recovering = group(Recovering, "runs that may be interrupted")

    def __post_init__(self) -> None:
        output = self.coordinates.output
        if output is not None and outputs.suffix(output) not in TEXT_SUFFIXES:
            raise UserError(f"-o {output} cannot be written row by row: write {listed(TEXT_SUFFIXES)}")
        self._check_standard_output()
        if self.mapping.landmarks == "auto":
            problem = "--landmarks auto needs a pass over all rows, and a stream has no end"
            raise UserError(f"{problem}: find the number by `driftmap embed` on some of the rows, and give it")

    def _check_standard_output(self) -> None:
        output = self.coordinates.output
        if self.coordinates.json and output is None:
            raise UserError("--json would leave no place for the coordinates: add -o")
        if sys.stdout is None and (output is None or self.coordinates.json):
            raise UserError("standard output is closed: add -o, and leave out --json")

    @property
    def metrics_host(self) -> str | None:
        """The address at which metrics are served; None: this machine only."""
        return None

    @property
    def paths(self) -> Mapping[str, Path | None]:
        """The files to be written, in the order of the summary."""
        return {"alerts": self.alerting.alerts, "output": self.coordinates.output}


def map_endless(
    options: EndlessOptions,
    source: Input,
    argv: Sequence[str],
    view: View | None = None,
    record: OutputPath | None = None,
) -> int:
    """Map the rows of a stream until it ends or the user stops it; returns the exit status."""
    paths = run_files.resolved(**options.paths)
    checkpoint = options.recovering.resolved()
    written = paths if record is None else paths | {"record": record}
    inputs = {"the input": source.file} | {flag_of(name): path for name, path in source.also_read.items()}
    run_files.check_distinct(inputs, written, checkpoint)
    rejected = RejectedLines(skip=source.skip_bad, report=note)
    start = RunState(session.input_file(source.file), session.shaping(options))
    try:
        with session.begin(options.recovering, checkpoint, start, paths, rejected, endless=True) as current:
            stream = _Stream(options, source, paths, rejected, current, view)
            try:
                stream.run()
            except Stopped as stopped:
                resumes = options.recovering.resume
                note(session.interrupted(current, stopped, stream.report(), argv, source.file, resumes=resumes))
                stream.print_summary()
                return stopped.code
    except FinishedError as finished:
        note(str(finished))
    return 0


class _Stream:
    """One run of a command on a stream."""

    def __init__(
        self,
        options: EndlessOptions,
        source: Input,
        paths: Mapping[str, OutputPath],
        rejected: RejectedLines,
        current: Session,
        view: View | None,
    ) -> None:
        self.options, self.source, self.paths, self.rejected = options, source, paths, rejected
        self.current, self.view = current, view
        goes_elsewhere = options.sink is not None or source.target is not None
        self.writes = view is None or options.coordinates.output is not None or goes_elsewhere
        """Whether rows are written, one by one. A view alone receives rows in the batches in which they arrive."""
        steps = [*source.steps(), *options.normalizing.running()]
        self.operator = MapOperator(
            new_map(options.mapping),
            steps,
            options.alerting.detector(),
            monitor=options.alerting.monitor(),
            each_row=self.writes,
            residuals=self.writes,
            isolation=options.novelty is not None,
        )
        self.table: Table | None = None

    def run(self) -> None:
        """Read, map and write rows as they arrive."""
        options, current = self.options, self.current
        with contextlib.ExitStack() as stack:
            with current.waiting():  # a pipe may be slow to provide its columns
                table = self.table = stack.enter_context(self.source.open(current, Path(), self.rejected))
            current.check_columns(table)
            if table.left_out:
                note(f"{table.name}: columns left out: {describe(table.left_out)}")
            columns = Steps(self.source.steps()).columns(table.columns)
            self._open_outputs(stack, table, columns)
            if self.source.hints and not current.resumed:
                scaled = options.normalizing.normalize != "none"
                current.observers.append(Hints(columns, options.mapping.metric, scaled))
            outputs.show_progress(current, stack)
            current.passes(table, self.operator, 1 if self.writes else chunk_rows(len(columns)))
            current.end_growing(self.operator)
        done = self.report()  # it may print a warning
        if not options.coordinates.quiet:
            note(done)
        reports.report_missing_dimensions(self.operator.mapper)
        self.print_summary()

    def _open_outputs(self, stack: contextlib.ExitStack, table: Table, columns: Sequence[str]) -> None:
        options, current, output = self.options, self.current, self.options.coordinates.output
        files = stack.enter_context(run_files.RunFiles(self.paths, current.saver, grows=True).open())
        current.begin_growing(self.operator)
        if (port := options.monitoring.metrics) is not None:
            metrics = Metrics(self.operator, current.saver, self.rejected)
            stack.enter_context(serving_metrics(metrics, port, options.metrics_host))
            current.observers.append(metrics)
        layout = Layout(table.label, options.mapping.components, frame=True, novelty=True)
        layout = replace(layout, isolation=options.novelty is not None)
        if self.view is not None:
            current.observers.append(stack.enter_context(self.view(current, table, columns)))
        alerting, file = options.alerting, files.get("alerts")
        is_wanted = alerting.alert is not None or alerting.drift is not None
        if file is not None or (is_wanted and self.view is None):  # a view shows them itself
            outputs.write_alerts(current, file)
        webhooks.notify(current, stack, alerting, table.name)
        if output is not None:
            outputs.write_coordinates(current, files["output"], output, layout, row_by_row=True)
        elif self.view is None and self.source.target is None:
            kind = options.coordinates.format
            outputs.print_coordinates(current, stack, layout, kind, alone=True, immediately=True)
        if options.sink is not None:
            outputs.send(current, stack, options.sink, layout)
        if self.source.target is not None:
            self.source.target.open(current, layout)

    def print_summary(self) -> None:
        """Print the summary of ``--json``, also when the user ends the stream. Without a row, print nothing."""
        options, operator, table = self.options, self.operator, self.table
        if not options.coordinates.json or table is None or not operator.mapper.fitted:
            return
        how = {"normalize": options.normalizing.normalize, "online": True}
        left_out = operator.steps.left_out(table.columns)
        files = {name: str(path) for name, path in options.paths.items() if path}
        print(json.dumps(reports.summary(operator, table, self.rejected, left_out, how, files), indent=2))

    def report(self) -> str:
        """Return one line on what was done."""
        operator, table = self.operator, self.table
        left_out = [] if table is None else operator.steps.left_out(table.columns)
        used = operator.mapper.n_samples_seen_ if operator.mapper.fitted else 0
        name = self.source.file if table is None else table.name
        reports.report_left_out(left_out, self.rejected, name, used, only_most=True)
        return reports.followed(self.rejected, left_out, operator)
