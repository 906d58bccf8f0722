"""What the user did wrong, in one line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


class UserError(Exception):
    """A mistake in the command line or in the data; ``main`` prints it as one line and exits with code 2."""


@contextlib.contextmanager
def refused_by_library() -> Iterator[None]:
    """Around calls that check what the user gave: the library's complaints are the user's mistakes."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, ImportError) as error:
        raise UserError(_in_flags(str(error))) from error


FLAGS = (
    ("; or, if your function does obey it, set its attribute obeys_triangle = True", ""),
    ("memory=None", "--memory all"),
    ("leave memory out", "leave it out"),
    ('choose rule="tight"', "choose --rule tight"),
    ('rule="paper"', "--rule paper"),
    ("memory=", "--memory "),
    ("n_landmarks=", "--landmarks "),
    ("n_components=", "--components "),
    ("metric=", "--metric "),
    ("window and half_life", "--window and --half-life"),
)


def _in_flags(message: str) -> str:
    """What the library says of its parameters, in the words of the command line."""
    for words, flags in FLAGS:
        message = message.replace(words, flags)
    return message


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Around writing to an open file: the system's message alone would not say what failed."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"the output cannot be written: {error.strerror or error}") from error


def one_line(error: BaseException) -> str:
    """The message of an error on one line; a system error names its file."""
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


def note(message: str) -> None:
    """Tell the user what is done, on one line of standard error."""
    _tell(f"driftmap: {' '.join(message.split())}")


def warn(message: str) -> None:
    """Tell the user something on one line of standard error."""
    _tell(f"driftmap: warning: {' '.join(message.split())}")


def _tell(line: str) -> None:
    """Standard error may be closed; then there is nobody to tell, and the work goes on."""
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
