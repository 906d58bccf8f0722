"""Lines of text that cannot be used."""

from __future__ import annotations

import sys

from driftmap.cli.errors import UserError


class BadLines:
    """The first bad line is an error; with ``skip``, each is told on standard error, left out and counted."""

    def __init__(self, *, skip: bool = False) -> None:
        self.skip = skip
        self.settled, self.last = 0, 0
        """Bad lines up to the line ``last``, which another reading of the input does not count again."""
        self._recent: set[int] = set()

    @property
    def count(self) -> int:
        """All of them so far."""
        return self.settled + len(self._recent)

    def refuse(self, line: int, error: UserError) -> None:
        """Take note of a bad line, or raise the error."""
        if not self.skip:
            raise error
        if line > self.last and line not in self._recent:
            self._recent.add(line)
            clear = "\r\x1b[2K" if sys.stderr.isatty() else ""  # there may be a progress bar
            print(f"{clear}driftmap: skipped: {error}", file=sys.stderr, flush=True)

    def settle(self, line: int) -> None:
        """All lines up to this one have been looked at."""
        if line > self.last:
            self.settled, self.last = self.count, line
            self._recent.clear()

    def restart(self) -> None:
        """Lines are numbered from 1 again, since the input was replaced."""
        self.settled, self.last = self.count, 0
        self._recent.clear()
