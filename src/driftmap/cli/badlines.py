"""Lines of text that cannot be used."""

from __future__ import annotations

import sys

from driftmap.cli.errors import UserError


class BadLines:
    """The first bad line is an error; with ``skip``, each is told on standard error, left out and counted."""

    def __init__(self, *, skip: bool = False) -> None:
        self.skip = skip
        self.count = 0
        self.last = 0
        """The last one that was counted, so that a second reading of the input does not count again."""

    def refuse(self, line: int, error: UserError) -> None:
        """Take note of a bad line, or raise the error."""
        if not self.skip:
            raise error
        if line > self.last:
            self.count, self.last = self.count + 1, line
            clear = "\r\x1b[2K" if sys.stderr.isatty() else ""  # there may be a progress bar
            print(f"{clear}driftmap: skipped: {error}", file=sys.stderr, flush=True)
