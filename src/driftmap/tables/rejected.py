"""Bad lines of text: counted and reported, or raised as an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftmap.tables.cells import runs_backwards
from driftmap.utils.columns import short
from driftmap.utils.errors import InputError


@dataclass(eq=False)
class RejectedLines:
    """Lines of text that are not rows of numbers. The first is an error; with ``skip`` each is reported and counted.

    ``report`` receives one message; the ``settled`` lines up to line ``last`` are not counted again by a later pass.
    """

    skip: bool = False
    report: Callable[[str | InputError], Any] = lambda message: None
    settled: int = 0
    last: int = 0
    _recent: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        """Number of all bad lines so far."""
        return self.settled + len(self._recent)

    def reject(self, error: InputError) -> None:
        """Count and report a line, or raise the error."""
        if not self.skip:
            raise error
        line = error.line or 0
        if line > self.last and line not in self._recent:
            self._recent.add(line)
            self.report(f"skipped: {error.in_words(error.parameter, {})}")  # the advice is already part of it

    def settle(self, line: int) -> None:
        """Note that all lines up to this one have been read."""
        if line > self.last:
            self.settled, self.last = self.settled + len(self._recent), line
            self._recent.clear()

    def restart(self) -> None:
        """Count lines from 1 again, since the input was replaced."""
        self.settled, self.last = self.count, 0
        self._recent.clear()


def report_order(name: str, cells: Sequence[str], rejected: RejectedLines, source: str) -> None:
    """Report a column of dates that run backwards; rows keep the order of the file."""
    if runs_backwards(cells):
        rejected.report(
            f"warning: {source}: the dates in column {short(name)!r} run backwards, from {short(cells[0])} to "
            f"{short(cells[-1])}, and rows are taken in this order; reverse the file if the map is to follow time"
        )
