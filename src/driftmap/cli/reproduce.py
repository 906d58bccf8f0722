"""``driftmap reproduce``: the paper's tables and figures beside ours."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TextIO

from driftmap.cli.arguments import Subparsers, add_command
from driftmap.cli.errors import UserError

NAMES = ("s-curve", "spy", "hospital")
DESCRIPTION = """\
Reproduce the paper: Table 1 beside the printed values, every figure as PNG and SVG, the final radii and what else the
text states, and report.html with all of it.

s-curve needs no data. The prices (spy) and the contacts (hospital) are read from --data or from the folder that the
environment variable DRIFTMAP_DATA names, else downloaded (extras "stocks" and "data")."""


def register(subparsers: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(subparsers, "reproduce", "check the library against the paper's numbers", DESCRIPTION, run)
    parser.add_argument("what", nargs="?", choices=(*NAMES, "all"), default="all", help="data set (default: all)")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path("reproduce-output"), help="default: reproduce-output"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions; every output says so")
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder of the recorded data")


def run(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from driftmap.paper.experiment import MissingDataError, reproduce, summary
    from driftmap.paper.settings import FULL, QUICK

    names = NAMES if arguments.what == "all" else (arguments.what,)
    settings = QUICK if arguments.quick else FULL
    try:
        with Steps(sys.stderr) as steps:
            result = reproduce(names, arguments.output, settings=settings, data=arguments.data, progress=steps)
    except (MissingDataError, ImportError) as error:
        raise UserError(str(error)) from error
    print("\n".join(summary(result)))
    print(
        f"\n{len(result.files)} files in {arguments.output}, {result.seconds:.0f} s. Open {_report(arguments.output)}"
    )
    return 0


def _report(folder: Path) -> str:
    return str(folder / "report.html")


class Steps:
    """Progress: a line for each step with the time so far; on a terminal also how much of the step is done."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        self.redraws = stream is not None and stream.isatty()
        self.start = time.monotonic()
        self.step = ""
        self.next_draw = 0.0

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *error: object) -> None:
        if self.redraws and self.step:
            print(file=self.stream, flush=True)

    def __call__(self, step: str, fraction: float) -> None:
        """Show where the work stands."""
        now = time.monotonic()
        is_new = step != self.step
        if self.stream is None or (not is_new and not (self.redraws and now >= self.next_draw)):
            return
        self.next_draw = now + 0.2
        text = f"[{now - self.start:4.0f} s] {step}"
        if not self.redraws:
            print(text, file=self.stream, flush=True)
        else:
            end = f" {fraction:.0%}" if fraction else ""
            print(
                f"{chr(10) if is_new and self.step else chr(13)}\x1b[2K{text}{end}",
                end="",
                file=self.stream,
                flush=True,
            )
        self.step = step
