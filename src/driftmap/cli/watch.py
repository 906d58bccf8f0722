"""``driftmap watch``: a stream in the browser, as it arrives."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from driftmap.cli import arguments as kinds
from driftmap.cli import typed
from driftmap.cli.databases import FollowedQuery
from driftmap.cli.endless import EndlessOptions, map_endless
from driftmap.cli.errors import UserError, note, warn
from driftmap.cli.follow import check_followed, check_query, followed
from driftmap.cli.groups import Alerting
from driftmap.cli.reading import ReadingOptions
from driftmap.cli.serving import Unfailing, new_recording, serving
from driftmap.cli.session import Session
from driftmap.cli.signals import Stop, Stopped
from driftmap.cli.typed import argument, group, option
from driftmap.live.recording import Recorder, Replay
from driftmap.live.scene import CAPACITY, MOST_CAPACITY
from driftmap.live.ticker import Ticker
from driftmap.live.watching import Watcher
from driftmap.pipeline.observer import Observer
from driftmap.sources.generated import GENERATED
from driftmap.storage.paths import OutputPath, output_path
from driftmap.tables.table import Table

DESCRIPTION = """\
Show a stream in the browser while it arrives: each row appears on the map as it is learnt, landmarks are diamonds, and
when the map changes, points glide to their new places. Next to it are curves of radius, stress, novelty and rate, and
the last alerts. Point at a row to see it; select rows with shift and drag, and export them; go back with the slider.

SOURCE is what `driftmap follow` takes: a growing file of CSV, TSV or JSON lines, a named pipe, "-" for standard
input, or the address of a message broker or a database. Its options, checkpoints and outputs are those of
`driftmap follow`. Rows that come together are mapped together, unless there is -o, --sink or --to-table. Rows with a
quantile of 0.999 or more are alerts, unless --alert gives another limit. Ctrl-C ends it.

The page is served on this machine only (127.0.0.1). With --host, others can open it if they have the token that is
part of the printed address; DRIFTMAP_TOKEN sets it, otherwise it is random.

examples:
  driftmap watch --demo
  driftmap watch sensors.csv --label time
  tail -f log.jsonl | driftmap watch - --normalize zscore --record log.driftmap
  driftmap watch --replay log.driftmap --speed 10
  driftmap watch sensors.csv --checkpoint sensors.ckpt --resume -o map.csv
"""
REFRESH = 0.1
"""Seconds between two updates of everything except new rows."""
OF_REPLAY = ("--replay", "--speed", "--host", "--port", "--no-open")
"""The options that may accompany ``--replay``."""
RECORDING_INTERVAL = 0.05
"""Seconds between two records."""


@dataclass(frozen=True)
class Showing:
    """Options of the view."""

    demo: bool = option(
        "--demo", default=False, shapes=False, help="watch generated data: a drift, a new cluster, outliers"
    )
    record: Path | None = option(
        "--record", shapes=False, type=Path, metavar="FILE", help="keep what is shown in a new file"
    )
    replay: Path | None = option("--replay", shapes=False, type=Path, metavar="FILE", help="show what was recorded")
    speed: float | None = option(
        "--speed", shapes=False, type=kinds.rate, metavar="X", help="of --replay: X times as fast (default: 1)"
    )
    points: int = option(
        "--points",
        default=CAPACITY,
        shapes=False,
        type=partial(kinds.integer, lowest=10, highest=MOST_CAPACITY),
        metavar="N",
        help="show the last N rows (default: 10000)",
    )
    host: str | None = option(
        "--host", shapes=False, metavar="ADDRESS", help="let others watch, with a token; 0.0.0.0 is every address"
    )
    port: int | None = option(
        "--port",
        shapes=False,
        type=partial(kinds.integer, lowest=0, highest=65535),
        metavar="N",
        help="default: 8765, or any that is free",
    )
    no_open: bool = option("--no-open", default=False, shapes=False, help="do not open a browser")

    def __post_init__(self) -> None:
        if self.speed is not None and (self.replay is None or self.speed == 0):
            raise UserError("--speed is for --replay, and not 0")


@dataclass(frozen=True, kw_only=True)
class WatchOptions(EndlessOptions):
    """Options of ``watch``."""

    file: str | None = argument(nargs="?", metavar="SOURCE", help='what to watch; "-" is standard input')
    showing: Showing = group(Showing, "what to show")
    querying: FollowedQuery = group(FollowedQuery, "databases")
    reading: ReadingOptions = group(ReadingOptions, "what to read")
    alerting: Alerting = field(default_factory=partial(Alerting, alert=0.999), metadata={"group": "alerts"})

    @property
    def metrics_host(self) -> str | None:
        """The address at which metrics are served; None: this machine only."""
        return self.showing.host

    def __post_init__(self) -> None:
        super().__post_init__()
        showing = self.showing
        if sum([self.file is not None, showing.demo, showing.replay is not None]) != 1:
            raise UserError("watch shows one thing: a SOURCE, --demo or --replay FILE")
        if showing.replay is not None:
            self._check_replayed()
        if self.novelty is not None and self.coordinates.output is None and self.sink is None:
            raise UserError("--novelty isolation adds a column to the coordinates: add -o or --sink")
        if self.mapping.components == 1:
            raise UserError("--components 1 is a line, which watch does not show: give 2 or more")
        if self.file is not None:
            check_followed(self.file, self.reading.input_format)
            check_query(self.file, self.querying, self.reading, self)

    def _check_standard_output(self) -> None:
        if self.coordinates.format is not None:
            raise UserError("--format is for coordinates on standard output, where watch writes none: add -o FILE")
        if self.coordinates.json and sys.stdout is None:
            raise UserError("standard output is closed: leave out --json")

    def _check_replayed(self) -> None:
        """Raise an error for an option that has no effect on a recording."""
        blank = WatchOptions(file=GENERATED)
        given = {typed.flag(one): value for one, value in typed.flat(self)}
        for one, default in typed.flat(blank):
            flag = typed.flag(one)
            if flag not in ("file", *OF_REPLAY) and given[flag] != default:
                raise UserError(f"--replay shows what was recorded: leave out {flag}")


Options = WatchOptions


def run(options: WatchOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    import driftmap.live.server  # noqa: F401  # an extra that is missing is named before anything is done

    showing, reading = options.showing, options.reading
    if showing.replay is not None:
        return _replay(showing, showing.replay)
    if showing.demo:
        reading = replace(reading, label=reading.label or "kind")
    record = None if showing.record is None else output_path(showing.record)
    source = followed(options.file or GENERATED, reading, options.mapping.metric, options.querying)
    return map_endless(options, source, _without_recording(argv), partial(_view, showing, record), record)


def _without_recording(argv: Sequence[str]) -> list[str]:
    """Return the words of the command without ``--record FILE``: a resumed run cannot write that file again."""
    places = [i for i, word in enumerate(argv) if word == "--record"]
    left_out = {*places, *(i + 1 for i in places)}
    return [word for i, word in enumerate(argv) if i not in left_out and not word.startswith("--record=")]


@contextlib.contextmanager
def _view(
    showing: Showing, record: OutputPath | None, current: Session, table: Table, columns: Sequence[str]
) -> Iterator[Observer]:
    """Show a stream while it is read, and then until the user ends it."""
    title = "Demo: four pumps" if showing.demo else Path(table.name).name
    watcher = Watcher(title, columns, table.label, showing.points)
    view = Unfailing(watcher)
    with contextlib.ExitStack() as stack:
        if record is not None:
            recorder = Recorder(watcher.scene, stack.enter_context(new_recording(record)), warn)
            stack.callback(Ticker(recorder.write, RECORDING_INTERVAL).stop)
        stack.callback(Ticker(view.refresh, REFRESH).stop)
        stack.enter_context(serving(showing.host, showing.port, watcher.scene, opens=not showing.no_open))
        yield view
        note("the stream has ended; the map stays in the browser until Ctrl-C")
        with current.waiting():
            threading.Event().wait()


def _replay(showing: Showing, file: Path) -> int:
    replay = Replay(file)
    with Stop() as stop, serving(showing.host, showing.port, replay.scene, opens=not showing.no_open):
        try:
            with stop.waiting():
                replay.play(showing.speed or 1.0)
                note("this was all; it stays in the browser until Ctrl-C")
                threading.Event().wait()
        except Stopped as stopped:
            return stopped.code
    return 0
