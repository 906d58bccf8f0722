"""``driftmap reproduce``: the paper's tables and figures, computed and compared with the printed ones."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from driftmap.cli.arguments import Parser
from driftmap.cli.errors import UserError

NAMES = ("s-curve", "spy", "hospital")
DESCRIPTION = """\
Reproduce the paper: Table 1 with the printed values, every figure as PNG and SVG, the final radii and what else the
text states, and report.html with all of it.

s-curve needs no data. The prices (spy) and the contacts (hospital) are read from --data or from the folder that the
environment variable DRIFTMAP_DATA names, else downloaded (extras "stocks" and "data")."""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("what", nargs="?", choices=(*NAMES, "all"), default="all", help="data set (default: all)")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path("reproduce-output"), help="default: reproduce-output"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions; every output says so")
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder of the recorded data")


def run(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from driftmap.cli.progress import Progress
    from driftmap.paper.experiment import MissingDataError, reproduce, summary
    from driftmap.paper.settings import FULL, QUICK

    folder: Path = arguments.output
    names = NAMES if arguments.what == "all" else (arguments.what,)
    settings = QUICK if arguments.quick else FULL
    try:
        with contextlib.closing(Progress(log=True)) as progress:
            result = reproduce(names, folder, settings=settings, data=arguments.data, progress=progress.update)
    except MissingDataError as error:
        raise UserError(str(error)) from error
    print("\n".join(summary(result)))
    print(f"\n{len(result.files)} files in {folder}, {result.seconds:.0f} s. Open {folder / 'report.html'}")
    return 0
