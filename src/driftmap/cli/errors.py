"""Messages of the command line: errors, warnings and notes, each on one line of standard error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping

from driftmap.utils.errors import Advice, InputError

OPTIONS = {
    "n_landmarks": "--landmarks",
    "n_anchors": "--anchors",
    "frame_tolerance": "--frame-tolerance",
    "reference": "--register-to",
    "n_components": "--components",
    "half_life": "--half-life",
    "threshold": "--alert",
    "n_eigenvalues": "--eigenvalues",
    "alert_webhook": "--alert-webhook",
    **{
        name: f"--{name}"
        for name in (
            "rule",
            "slack",
            "embedding",
            "metric",
            "memory",
            "window",
            "columns",
            "exclude",
            "decay",
            "delimiter",
        )
    },
}
"""The options that set parameters of the library."""
OPTION_ADVICE: Mapping[Advice, str] = {
    "missing": "choose --missing drop, mean or last, or leave out the column with --exclude",
    "lacking": "--exclude leaves out a column, --missing mean or last fills it from the rows before",
    "cell": "leave out the column with --exclude, or such lines with --skip-bad",
    "line": "leave out such lines with --skip-bad",
    "encoding": "convert it to UTF-8, or leave out such lines with --skip-bad",
    "header": "say --header yes or --header no",
    "counted": "--header no: as a row",
    "endless": "use `driftmap follow`",
    "format": "say --input-format, such as csv",
    "delimiter": "if something else separates cells, give it by --delimiter",
    "address": "give another --host or --port",
    "nodes": "give a larger --nodes",
    "query": 'add --query "SELECT ..."',
    "table": "--to-table appends results to the database that is read",
    "decimal '.'": "leave out --decimal, or such lines with --skip-bad",
    "decimal ','": "read it with --decimal , or leave out such lines with --skip-bad",
    "thousands ','": "read it with --thousands , or leave out such lines with --skip-bad",
    "decimal ',', thousands '.'": "read it with --decimal , --thousands . or leave out such lines with --skip-bad",
}
"""The options that follow the advice in errors of the library."""


class UserError(Exception):
    """A mistake in the command line or in the data; ``main`` prints it as one line and exits with code 2."""


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line, with the file of a system error and the option of a parameter."""
    if isinstance(error, InputError):
        text = error.in_words(OPTIONS.get(error.parameter or "", error.parameter), OPTION_ADVICE)
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    else:
        text = str(error) or type(error).__name__
    return escaped(text)


def escaped(text: str) -> str:
    """Return text on one line with escaped control characters, which file contents must not send to a terminal.

    >>> escaped("a\\x1b[2J\\n  b")
    'a\\\\x1b[2J b'
    """
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def counted(n: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def note(message: str | InputError) -> None:
    """Print a note on one line of standard error."""
    print_line(f"driftmap: {escaped(message) if isinstance(message, str) else one_line(message)}")


def warn(message: str) -> None:
    """Print a warning on one line of standard error."""
    print_line(f"driftmap: warning: {escaped(message)}")


def report(message: str) -> None:
    """Print the error that ended the command."""
    print_line(f"driftmap: {message}")


def print_line(line: str) -> None:
    """Print a line to standard error. If that is closed, print nothing; standard output is not a substitute."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            clear = "\r\x1b[2K" if sys.stderr.isatty() else ""  # there may be a progress bar
            print(f"{clear}{line}", file=sys.stderr, flush=True)
