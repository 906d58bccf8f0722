"""The beginning of ``driftmap embed``: the input is opened, and a thread reads it while the library is imported."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

from driftmap.cli import arguments as kinds
from driftmap.cli.badlines import BadLines
from driftmap.cli.options import DESCRIPTION, add_options, check
from driftmap.cli.tables import Table, Wanted, open_table


def register(subparsers: kinds.Subparsers) -> None:
    """Add the subcommand."""
    add_options(kinds.add_command(subparsers, "embed", "map the rows of a file", DESCRIPTION, run))


def run(args: argparse.Namespace) -> int:
    """Carry out the command."""
    check(args)
    args.online, args.novelty = args.online or args.follow, args.novelty or args.follow
    bad = BadLines(skip=args.skip_bad)
    with contextlib.ExitStack() as stack:
        # A run that may be interrupted, or waits for rows, opens its input when it is ready.
        waits = args.online or args.contacts or args.checkpoint is not None
        table = None if waits else stack.enter_context(open_input(args, bad))
        from driftmap.cli import embed  # the rest of the library

        return embed.run(args, bad, table)


def open_input(args: argparse.Namespace, bad: BadLines) -> contextlib.AbstractContextManager[Table]:
    """The table that the arguments name."""
    wanted = Wanted(args.columns, args.label, args.header, bad)
    # A run that may be interrupted has to find its place in the file itself.
    folder = Path(tempfile.gettempdir()) if args.output is None else args.output.resolve().parent
    spool = folder if args.checkpoint is None else None
    return open_table(args.file, wanted, once=args.online, follow=args.follow, spool=spool)
