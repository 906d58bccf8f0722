"""The command ``driftmap``. Each subcommand is one module: DESCRIPTION, Options and ``run(options, argv)``."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from driftmap import __version__
from driftmap.cli.arguments import Parser, without_credentials
from driftmap.cli.errors import UserError, one_line, report, warn
from driftmap.cli.files import abandon_stdout
from driftmap.cli.signals import Stopped
from driftmap.cli.typed import add_options, parsed
from driftmap.storage.checkpoint import CheckpointError
from driftmap.utils.errors import InputError, MissingDependencyError

COMMANDS = {
    "demo": "map the S-curve in three ways",
    "embed": "map the rows of a file",
    "follow": "map the rows of a stream as they arrive",
    "watch": "show a stream in the browser",
    "contacts": "map a list of contacts",
    "compare": "compare two tables: what changed, and where on the map",
    "cluster": "map Parquet files on a Dask cluster",
    "info": "show what a checkpoint holds",
    "sample": "write a small file to try things on",
}
"""The subcommands, each in the module of its name, with their lines in ``--help``."""

MOVED = {
    ("embed", "--follow"): "driftmap follow SOURCE",
    ("embed", "--contacts"): "driftmap contacts FILE",
    ("embed", "--dask"): "driftmap cluster FILE --scheduler ADDRESS",
    ("watch", "--contacts"): "driftmap contacts FILE --follow",
}
"""Former options that are commands now."""
DESCRIPTION = "A true, steady, low-dimensional map of a data stream, from a few landmarks that follow it."
BRIEF = f"""\
{DESCRIPTION}

  driftmap embed table.csv -o map.csv --plot map.png   map the rows of a file
  driftmap watch --demo                                see how it works, in the browser

commands: {", ".join(COMMANDS)}
`driftmap --help` says what each does, `driftmap embed --help` lists its options."""
"""The text printed without a command."""
SIGNALLED = 128
"""Shells expect this plus the number of the signal that ended a program."""
INTERRUPTED = SIGNALLED + 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for a user's mistake, 130 for Ctrl-C."""
    return exit_code(lambda: _run(without_credentials(sys.argv[1:] if argv is None else argv)))


def exit_code(command: Callable[[], int]) -> int:
    """Run a command and return its exit code; warnings and errors are printed as one line each."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                code = command()
            except SystemExit as end:  # --help and --version
                code = end.code if isinstance(end.code, int) else 0
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        abandon_stdout()
        return 0
    except KeyboardInterrupt:
        return _report("interrupted", INTERRUPTED)
    except Stopped as stopped:  # the second request, before the first one was answered
        return _report("interrupted", stopped.code)
    except MemoryError as error:
        return _report(f"not enough memory: {one_line(error)}", 2)
    except (UserError, InputError, MissingDependencyError, CheckpointError, OSError) as error:
        return _report(one_line(error), 2)


def _run(words: Sequence[str]) -> int:
    if not words:
        print(BRIEF)
        return 0
    check_spelling(words)
    arguments = _parser(words).parse_args(with_novelty(words))
    module = import_module(f"driftmap.cli.{arguments.command}")
    code: int = module.run(parsed(module.Options, arguments), words)
    return code


def check_spelling(words: Sequence[str]) -> None:
    """Raise an error that names the new command for an old spelling."""
    if words[:1] == ["reproduce"]:
        import shlex

        moved = shlex.join(["python", "-m", "reproduction", *words[1:]])
        raise UserError(f"`driftmap reproduce` has moved: run `{moved}` in a checkout of the repository")
    for word in words[1:]:
        option = word.partition("=")[0]
        if (command := MOVED.get((words[0], option))) is not None:
            raise UserError(f"{option} of `driftmap {words[0]}` is a command now: {command}")


def with_novelty(words: Sequence[str]) -> list[str]:
    """Return the words for the parser, where a file after ``--novelty`` is not its value.

    >>> with_novelty(["embed", "--novelty", "t.csv"]), with_novelty(["embed", "--novelty", "isolation"])
    (['embed', '--novelty=reach', 't.csv'], ['embed', '--novelty', 'isolation'])
    """
    pairs = zip(words, [*words[1:], ""], strict=True)
    return ["--novelty=reach" if word == "--novelty" and after != "isolation" else word for word, after in pairs]


def _parser(words: Sequence[str]) -> Parser:
    # The modules of other commands take long to import, and matter only after a mistake.
    named = [word for word in words[:1] if word in COMMANDS]
    is_general = words[0] in ("-h", "--help", "--version")
    parser = Parser(prog="driftmap", description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"driftmap {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    formatter = argparse.RawDescriptionHelpFormatter
    for name in named or COMMANDS:
        command = subparsers.add_parser(name, help=COMMANDS[name], formatter_class=formatter, allow_abbrev=False)
        command.set_defaults(command=name)
        if not is_general:
            module = import_module(f"driftmap.cli.{name}")
            command.description = module.DESCRIPTION
            add_options(command, module.Options)
    return parser


def _show_warning(message: Warning | str, *place: Any, **more: Any) -> None:
    """Print a warning on one line, without the place in our code where it was raised."""
    warn(str(message))


def _report(message: str, code: int) -> int:
    # Flush output before the message, so that the two do not mix on a terminal.
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        abandon_stdout()
    report(f"{'' if code > SIGNALLED else 'error: '}{message}")
    return code
