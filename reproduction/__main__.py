"""``python -m reproduction``: compute the paper's tables and figures, and compare them with the printed ones."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from driftmap.cli import exit_code
from driftmap.cli.arguments import Parser
from driftmap.cli.progress import Progress
from reproduction.experiment import reproduce, summary
from reproduction.scenarios import DATA_SETS
from reproduction.settings import FULL, QUICK

DESCRIPTION = """\
Reproduce the paper: Table 1 next to the printed values, every figure as PNG and SVG, the final radii and the other
statements of the text, and report.html with all of it.

s-curve needs no data. The prices (spy) and the contacts (hospital) are read from --data or from the folder that the
environment variable DRIFTMAP_DATA names, else downloaded (extras "stocks" and "data")."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 2 for a user's mistake, 130 for Ctrl-C."""
    return exit_code(lambda: run(parser().parse_args(argv)))


def parser() -> Parser:
    """Return the parser of the command's arguments."""
    result = Parser(
        prog="python -m reproduction",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    result.add_argument("what", nargs="?", choices=(*DATA_SETS, "all"), default="all", help="data set (default: all)")
    result.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path("reproduce-output"), help="default: reproduce-output"
    )
    result.add_argument("--quick", action="store_true", help="fewer repetitions; every output says so")
    result.add_argument("--data", metavar="DIR", type=Path, help="folder of the recorded data")
    return result


def run(arguments: argparse.Namespace) -> int:
    """Reproduce the chosen data sets and print a summary."""
    folder: Path = arguments.output
    names = list(DATA_SETS) if arguments.what == "all" else [arguments.what]
    settings = QUICK if arguments.quick else FULL
    with contextlib.closing(Progress(log=True)) as progress:
        result = reproduce(names, folder, settings=settings, data=arguments.data, progress=progress.update)
    print("\n".join(summary(result)))
    print(f"\n{len(result.files)} files in {folder}, {result.seconds:.0f} s. Open {folder / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
