"""Mapping a whole table, for ``embed`` and ``contacts``: in passes over all its rows, or online in one pass."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from driftmap.cli import outputs, reports, run_files, session, webhooks
from driftmap.cli.databases import Target
from driftmap.cli.errors import UserError, note
from driftmap.cli.groups import ISOLATION, NOVELTY, Alerting, Coordinates, Figures, Normalizing, Recovering
from driftmap.cli.groups import Mapping as MapOptions
from driftmap.cli.hints import Hints
from driftmap.cli.mapping import new_map, two_passes
from driftmap.cli.registering import OlderMap
from driftmap.cli.session import FinishedError, Session
from driftmap.cli.signals import Stopped
from driftmap.cli.typed import flag_of, group, option
from driftmap.cli.writing import Layout
from driftmap.pipeline.map_operator import MapOperator
from driftmap.pipeline.operator import Operator
from driftmap.pipeline.state import RunState
from driftmap.storage.paths import OutputPath
from driftmap.tables.formats import OUTPUTS, TABLE_SUFFIXES, listed, output_format
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.steps import Step, Steps
from driftmap.tables.table import Table, chunk_rows
from driftmap.utils.columns import describe

ONLINE_ROWS = 64
"""Rows between two updates of the progress bar."""
OpenTable = Callable[[Session, Path, RejectedLines], AbstractContextManager[Table]]
"""Opens the table of a session, given a folder for temporary files."""


@dataclass(frozen=True, kw_only=True)
class WholeOptions:
    """Options of commands that map a whole table."""

    mapping: MapOptions = group(MapOptions, "how to map")
    normalizing: Normalizing = group(Normalizing, "how to normalise")
    online: bool = option("--online", default=False, help="map each row as it arrives, in one pass")
    coordinates: Coordinates = group(Coordinates, "what to write (a file appears when it is complete)")
    novelty: str | None = option(
        "--novelty",
        nargs="?",
        const=NOVELTY[0],
        choices=(NOVELTY[0], ISOLATION),
        metavar="isolation",
        help="three more columns, reach, quantile and residual: see above; --novelty isolation: and a fourth one",
    )
    alerting: Alerting = group(Alerting, "alerts")
    figures: Figures = group(Figures, "figures and landmarks")
    sink: str | None = option(
        "--sink",
        shapes=False,
        metavar="URL",
        help="with --online: also send coordinates, novelty and alerts to this stream of messages",
    )
    recovering: Recovering = group(Recovering, "runs that may be interrupted")

    def __post_init__(self) -> None:
        self._check_writing()
        if self.online:
            self._check_online()
        elif self.normalizing.warm_up is not None:
            raise UserError("--warm-up is for a running --normalize: add --online")
        elif self.alerting.drift is not None:
            raise UserError("--drift compares rows as they arrive: add --online, or use `driftmap follow`")
        elif self.sink is not None:
            raise UserError("--sink sends rows as they arrive: add --online, or use `driftmap follow`")
        if self.mapping.landmarks == "auto" and (self.online or self.recovering.checkpoint is not None):
            other = "--online" if self.online else "--checkpoint"
            problem = f"--landmarks auto needs another pass, which does not go with {other}"
            raise UserError(f"{problem}: run it without, then give the number that it prints")
        if self.recovering.checkpoint is not None:
            self._check_recovering()

    def _check_writing(self) -> None:
        output, json_only = self.coordinates.output, self.coordinates.json and self.coordinates.output is None
        if output is not None and outputs.suffix(output) not in TABLE_SUFFIXES:
            raise UserError(f"-o {str(output)!r} must end in {listed(TABLE_SUFFIXES)}")
        if sys.stdout is None and (output is None or self.coordinates.json):
            raise UserError("standard output is closed: add -o, and leave out --json")
        if self.novelty and json_only:
            raise UserError("--novelty adds columns to the coordinates, which --json writes only to -o")

    def _check_online(self) -> None:
        if self.figures.landmarks_out is not None and (self.mapping.window or self.mapping.half_life):
            raise UserError(
                "--landmarks-out needs the rows of all landmarks, which --online does not store where rows are "
                "forgotten; leave out one of them"
            )

    def _check_recovering(self) -> None:
        if self.figures.animate is not None:
            raise UserError("--animate cannot be interrupted: leave it out, or leave out --checkpoint")
        output = self.coordinates.output
        if output is None and not self.coordinates.json and not self.goes_to_table:
            raise UserError(
                "--checkpoint needs -o: standard output cannot be taken back to where it was when the state was saved"
            )
        if not self.online:
            return
        for name in ("plot", "landmarks_out"):
            if getattr(self.figures, name) is not None:
                raise UserError(
                    f"{flag_of(name)} with --online cannot be interrupted: leave it out, or leave out --checkpoint"
                )
        if output is not None and not output_format(output).continues:
            others = listed([suffix for suffix, kind in OUTPUTS.items() if kind.continues])
            raise UserError(
                f"a {output_format(output).name} file cannot be continued after an interruption: with --online and "
                f"--checkpoint, write {others}"
            )

    @property
    def goes_to_table(self) -> bool:
        """Whether results are appended to a table of a database."""
        return False

    @property
    def paths(self) -> Mapping[str, Path | None]:
        """The files to be written, in the order of the summary."""
        figures = self.figures
        return {
            "alerts": self.alerting.alerts,
            "output": self.coordinates.output,
            "plot": figures.plot,
            "landmarks_out": figures.landmarks_out,
            "animate": figures.animate,
        }

    @property
    def isolated(self) -> bool:
        """Return True if the isolation of each row is wanted."""
        return self.novelty == ISOLATION

    @property
    def scored(self) -> bool:
        """Return True if the novelty of each row is wanted."""
        return self.novelty is not None or self.figures.shade is not None


@dataclass(frozen=True)
class Input:
    """The input of a run: its name, other files that are read, how it is opened, and the steps of its rows."""

    file: str
    open: OpenTable
    steps: Callable[[], list[Step]]
    also_read: Mapping[str, Path | None]
    skip_bad: bool = False
    hints: bool = True
    """Whether to report constant columns and columns that outweigh others."""
    target: Target | None = None
    """The table of a database to which results are appended."""
    older: OlderMap | None = None
    """The map on which the new one is laid."""


def map_whole(options: WholeOptions, source: Input, argv: Sequence[str]) -> int:
    """Map a table; return the exit status."""
    options.figures.require()
    paths = run_files.resolved(**options.paths)
    checkpoint = options.recovering.resolved()
    inputs = {"the input": source.file} | {flag_of(name): path for name, path in source.also_read.items()}
    run_files.check_distinct(inputs, paths, checkpoint)
    rejected = RejectedLines(skip=source.skip_bad, report=note)
    start = RunState(session.input_file(source.file), session.shaping(options))
    try:
        with session.begin(options.recovering, checkpoint, start, paths, rejected, endless=False) as current:
            try:
                _Mapped(options, source, paths, rejected, current).run()
            except Stopped as stopped:
                rows = 0 if current.run is None else current.run.operator.n_rows
                done, resumes = f"interrupted while {current.stage}, after {rows:,} rows", options.recovering.resume
                note(session.interrupted(current, stopped, done, argv, source.file, resumes=resumes))
                return stopped.code
    except FinishedError as finished:
        note(str(finished))
    return 0


@dataclass(frozen=True)
class _Mapped:
    """One run of a command on a table."""

    options: WholeOptions
    source: Input
    paths: Mapping[str, OutputPath]
    rejected: RejectedLines
    current: Session

    def run(self) -> None:
        """Read, map and write all rows, until the end or an interruption."""
        options, current = self.options, self.current
        mapper, detector = new_map(options.mapping), options.alerting.detector()
        folder = run_files.folder_of(self.paths[name] for name in ("output",) if name in self.paths)
        folder = folder or Path(tempfile.gettempdir())
        with contextlib.ExitStack() as stack:
            with current.waiting():  # a pipe may be slow to provide its columns
                table = stack.enter_context(self.source.open(current, folder, self.rejected))
            current.check_columns(table)
            if table.left_out:
                note(f"{table.name}: columns left out: {describe(table.left_out)}")
            columns = Steps(self.source.steps()).columns(table.columns)
            if self.source.older is not None:
                self.source.older.check(table.columns, len(columns))
            scores = None
            if self.options.scored and not options.online:
                width = 3 if options.isolated else 2
                scores = stack.enter_context(run_files.open_scores(folder, current.saver, current.checkpoint, width))
            self._open_outputs(stack, table, columns, mapper)
            if self.source.hints and not current.resumed:
                scaled = options.normalizing.normalize != "none"
                current.observers.append(Hints(columns, options.mapping.metric, scaled))
            outputs.show_progress(current, stack)
            operator: Operator
            if options.online:
                steps = [*self.source.steps(), *options.normalizing.running()]
                monitor = options.alerting.monitor()
                operator = MapOperator(
                    mapper,
                    steps,
                    detector,
                    monitor=monitor,
                    each_row=True,
                    residuals=options.scored,
                    isolation=options.isolated,
                )
                if self.source.target is not None:
                    current.begin_growing(operator)
                most = chunk_rows(len(columns))
                current.passes(table, operator, 1 if table.is_live else min(ONLINE_ROWS, most))
            else:
                how = options.mapping, options.normalizing
                operator = two_passes(
                    current, table, mapper, how, self.source.steps, detector, scores, self.source.older
                )
            current.finish(operator)
        self._report(operator, table)

    def _open_outputs(self, stack: contextlib.ExitStack, table: Table, columns: Sequence[str], mapper: Any) -> None:
        """Open all outputs, so that a bad path fails before the work is done."""
        options, current, output = self.options, self.current, self.options.coordinates.output
        drawn = bool(self.paths.keys() - {"output", "alerts"})
        if current.saver is not None:
            current.saver.restarts = drawn or (output is not None and not output_format(output).continues)
        files = stack.enter_context(run_files.RunFiles(self.paths, current.saver).open())
        components = options.mapping.components
        full = Layout(table.label, components, frame=options.online, novelty=options.novelty is not None)
        full = replace(full, isolation=options.isolated)
        if options.alerting.alert is not None or options.alerting.drift is not None:
            outputs.write_alerts(current, files.get("alerts"))
        webhooks.notify(current, stack, options.alerting, table.name)
        if output is not None:
            labelled = table.labels_are_times or outputs.takes_text(output)
            layout = full if labelled else replace(full, label=None)
            outputs.write_coordinates(current, files["output"], output, layout, row_by_row=False)
        elif not options.coordinates.json and self.source.target is None:
            kind, immediately = options.coordinates.format, options.online and table.is_live
            outputs.print_coordinates(current, stack, full, kind, alone=not drawn, immediately=immediately)
        if options.sink is not None:
            outputs.send(current, stack, options.sink, full)
        if self.source.target is not None:
            self.source.target.open(current, full)
        if options.figures.landmarks_out is not None:
            path = options.figures.landmarks_out
            outputs.write_landmarks(current, files["landmarks_out"], path, full, table, columns)
        outputs.draw(current, files, options.figures, table, columns, mapper, online=options.online)

    def _report(self, operator: Operator, table: Table) -> None:
        options, mapper = self.options, operator.mapper
        left_out = operator.steps.left_out(table.columns)
        reports.report_left_out(left_out, self.rejected, table.name, mapper.n_samples_seen_)
        if alerts := reports.alerted(operator):
            note(alerts)
        axes = {}
        if options.figures.explain:
            from driftmap.cli.axes import explained_axes  # slow to import

            axes["axes"] = explained_axes(mapper, operator.columns)
        reports.report_missing_dimensions(mapper)
        written = [*map(str, filter(None, [*options.paths.values(), options.sink, self.source.target]))]
        done = None if options.coordinates.quiet else reports.done(operator, table, self.rejected, left_out, written)
        if options.coordinates.json:  # last, so that its reader can rely on the files
            how = {"normalize": options.normalizing.normalize, "online": options.online}
            files = {name: str(path) for name, path in options.paths.items() if path}
            found = reports.summary(operator, table, self.rejected, left_out, how, files)
            print(json.dumps(found | axes, indent=2))
        if done is not None:
            note(done)
