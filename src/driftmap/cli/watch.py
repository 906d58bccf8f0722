"""``driftmap watch``: a stream in the browser, as it arrives."""

from __future__ import annotations

import argparse
import contextlib
import html
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from driftmap.cli import arguments as kinds
from driftmap.cli import embed, options
from driftmap.cli.checkpointing import Job
from driftmap.cli.errors import UserError, note, one_line, warn
from driftmap.cli.options import INTERRUPTING, MAPPING, READING, WRITING, Options
from driftmap.cli.signals import Stop, Stopped
from driftmap.io.generated import GENERATED
from driftmap.io.paths import OutputPath, open_stream
from driftmap.io.tables import Table
from driftmap.live.recording import Recorder, Replay
from driftmap.live.scene import CAPACITY, Scene
from driftmap.live.ticker import Ticker
from driftmap.map import StreamMap
from driftmap.map.observer import Observer, Update
from driftmap.map.watching import Watcher

if TYPE_CHECKING:
    from driftmap.live.server import Server

DESCRIPTION = """\
Show a stream in the browser while it arrives: each row appears on the map as it is learnt, landmarks are diamonds, and
when the map changes, points glide to their new places. Next to it are curves of radius, stress, novelty and rate, and
the last alerts. Point at a row to see it; select rows with shift and drag, and export them; go back with the slider.

SOURCE is what `driftmap embed --follow` takes: a growing file of CSV, TSV or JSON lines, a named pipe, "-" for standard
input, or the address of a message broker. It is learnt as there, with the same options, checkpoints and outputs. Rows
that come at once are mapped together, unless there is -o or --sink. Ctrl-C ends it.

The page is served on this machine only (127.0.0.1). With --host, others can open it, if they have the token that is
part of the printed address; DRIFTMAP_TOKEN sets it, otherwise it is random.

examples:
  driftmap watch --demo
  driftmap watch sensors.csv --label time
  tail -f log.jsonl | driftmap watch - --normalize zscore --record log.driftmap
  driftmap watch --replay log.driftmap --speed 10
  driftmap watch sensors.csv --checkpoint sensors.ckpt --resume -o map.csv
"""
REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<a href="{address}">The live map</a>
"""
REFRESH = 0.1
"""Seconds between two changes of everything but new rows."""
RECORDING_INTERVAL = 0.05
"""Seconds between two records."""

OF_CONTACTS = ("--contacts", "--decay", "--metadata", "--start", "--color-by")
LANDMARKS: Options = {
    "--landmarks": {**MAPPING["--landmarks"], "type": partial(kinds.integer, lowest=1), "help": "default: 100"}
}
SHOWING: Options = {
    "--demo": {"action": "store_true", "help": "watch generated data: a drift, a new cluster, outliers"},
    "--record": {"type": Path, "metavar": "FILE", "help": "keep what is shown in a new file"},
    "--replay": {"type": Path, "metavar": "FILE", "help": "show what was recorded"},
    "--speed": {"type": kinds.rate, "metavar": "X", "help": "of --replay: X times as fast (default: 1)"},
    "--points": {
        "type": partial(kinds.integer, lowest=10, highest=1_000_000),
        "default": CAPACITY,
        "metavar": "N",
        "help": "show the last N rows (default: 10000)",
    },
    "--host": {
        "metavar": "ADDRESS",
        "help": "let others watch, with a token; 0.0.0.0 is every address",
    },
    "--port": {
        "type": partial(kinds.integer, lowest=0, highest=65535),
        "metavar": "N",
        "help": "default: 8765, or any that is free",
    },
    "--no-open": {"action": "store_true", "help": "do not open a browser"},
}


def add_options(parser: kinds.Parser) -> None:
    """Add the options: those of embed that go with a stream, and how to show it."""
    groups: dict[str, Options] = {
        "": {"file": {"nargs": "?", "metavar": "SOURCE", "help": 'what to watch; "-" is standard input'}},
        "what to show": SHOWING,
        "what to read": {flag: settings for flag, settings in READING.items() if flag not in OF_CONTACTS},
        "how to map": {flag: MAPPING[flag] for flag in MAPPING if flag not in ("--online", "--follow")} | LANDMARKS,
        "what to write": {flag: WRITING[flag] for flag in ("-o --output", "--alert", "--alerts", "--sink")},
        "runs that may be interrupted": INTERRUPTING,
    }
    options.add_options(parser, groups)
    every = kinds.Parser()
    options.add_options(every)  # options of embed that watch does not have keep their defaults
    settings = vars(every.parse_args(["-"])) | {"file": None, "follow": True, "alert": 0.999, "view": _view}
    parser.set_defaults(**settings)


def run(args: argparse.Namespace) -> int:
    """Carry out the command."""
    if sum([args.file is not None, args.demo, args.replay is not None]) != 1:
        raise UserError("watch shows one thing: a SOURCE, --demo or --replay FILE")
    if args.speed is not None and (args.replay is None or args.speed == 0):
        raise UserError("--speed is for --replay, and not 0")
    import driftmap.live.server  # noqa: F401  # an extra that is missing is named before anything is done

    if args.replay is not None:
        return _replay(args)
    if args.demo:
        args.file, args.label = GENERATED, args.label or "kind"
    if args.components == 1:
        raise UserError("--components 1 is a line, which watch does not show: give 2 or more")
    return embed.run(args)


@contextlib.contextmanager
def _view(args: argparse.Namespace, table: Table, job: Job) -> Iterator[Observer]:
    """The observer that shows a stream, as long as it goes on, and then until the user ends it."""
    title = "Demo: four pumps" if args.demo else Path(table.name).name
    watcher = Watcher(title, table.columns, table.label, args.points)
    view = Unfailing(watcher)
    with contextlib.ExitStack() as stack:
        if args.record is not None:
            recorder = Recorder(watcher.scene, stack.enter_context(_new_recording(args.record)), warn)
            stack.callback(Ticker(recorder.write, RECORDING_INTERVAL).stop)
        stack.callback(Ticker(view.refresh, REFRESH).stop)
        stack.enter_context(_serving(args, watcher.scene))
        yield view
        note("the stream has ended; the map stays in the browser until Ctrl-C")
        with job.waiting():
            threading.Event().wait()


class Unfailing(Observer):
    """A watcher that never ends the run: its first error is reported, and from then on nothing more is shown."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher, self._lock, self._failed = watcher, threading.Lock(), False

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Show some rows."""
        self._try(partial(self._watcher.observe, update, mapper))

    def refresh(self) -> None:
        """Show what follows from the rows."""
        self._try(self._watcher.refresh)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            if not self._failed:
                work()
        except Exception as error:
            with self._lock:
                if not self._failed:
                    warn(f"the page shows no more of the stream: {one_line(error)}; the run goes on")
                self._failed = True


def _replay(args: argparse.Namespace) -> int:
    replay = Replay(args.replay)
    with Stop() as stop, _serving(args, replay.scene):
        try:
            with stop.waiting():
                replay.play(args.speed or 1.0)
                note("this was all; it stays in the browser until Ctrl-C")
                threading.Event().wait()
        except Stopped as stopped:
            return stopped.code
    return 0


@contextlib.contextmanager
def _serving(args: argparse.Namespace, scene: Scene) -> Iterator[Server]:
    from driftmap.live.server import serving

    token = os.environ.get("DRIFTMAP_TOKEN") if args.host is not None else None
    with (
        serving(scene, host=args.host, port=args.port, token=token, report=warn) as server,
        contextlib.ExitStack() as stack,
    ):
        note(f"live at {server.address}")
        # Without a display a browser would be one for the terminal, which is in use.
        if not args.no_open and (sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}):
            address = server.address if server.token is None else _redirect(server.address, stack)
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        yield server


def _redirect(address: str, stack: contextlib.ExitStack) -> str:
    """The URL of a page that leads to an address with a token.

    Other users can read the arguments of a browser, but not this file, which exists until the end of the run.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="driftmap-", ignore_cleanup_errors=True)))
    page = folder / "open.html"
    page.touch(0o600)
    page.write_text(REDIRECT.format(address=html.escape(address)))
    return page.as_uri()


@contextlib.contextmanager
def _new_recording(path: OutputPath) -> Iterator[BinaryIO]:
    try:
        file: Any = open_stream(path) if path.is_stream else path.true.open("xb")
    except FileExistsError:
        raise UserError(f"{path} exists: delete it, or record to another file") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):  # which the recorder has reported
            file.close()
