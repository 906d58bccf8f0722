"""Errors with their location as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from driftmap.utils.columns import short

Advice = Literal[
    "missing", "lacking", "cell", "line", "encoding", "header", "counted", "endless", "format", "delimiter", "address",
    "nodes", "query", "table",
    "decimal '.'", "decimal ','", "thousands ','", "decimal ',', thousands '.'",
]  # fmt: skip
"""Keys of the advice on an error; the texts differ between Python and the command line."""
ADVICE: Mapping[Advice, str] = {
    "missing": "fill such entries first, or leave out such rows or the column",
    "lacking": "leave out such columns, or fill them",
    "cell": "leave out the column, or such lines",
    "line": "leave out such lines",
    "encoding": "convert it to UTF-8, or leave out such lines",
    "header": 'say header="yes" or header="no"',
    "counted": 'header="no": as a row',
    "endless": "follow it",
    "format": "give its format",
    "delimiter": "give the delimiter",
    "address": "give another host or port",
    "nodes": "give a larger n_nodes",
    "query": "use driftmap.sources.sql",
    "table": "write to it by its driver",
    "decimal '.'": "read it with decimal '.' or leave out such lines",
    "decimal ','": "read it with decimal ',' or leave out such lines",
    "thousands ','": "read it with thousands ',' or leave out such lines",
    "decimal ',', thousands '.'": "read it with decimal ',', thousands '.' or leave out such lines",
}
"""Advice texts for library users."""


class InputError(ValueError, TypeError):
    """Raised for invalid input, with the problem and its location.

    The location is a ``parameter``, or the ``row`` (from 0) and ``column`` of an array, or the ``line`` or ``row``
    (from 1) and ``column`` of a file, the ``source``. The problem continues the location as a sentence ("is empty"); a
    problem that begins with ":", "=" or "[" follows without a space.

    >>> str(InputError("is 'x', not a number", source="t.csv", line=3, column="b"))
    "t.csv, line 3, column 'b' is 'x', not a number"
    >>> error = InputError("must be at least 1, got 0", parameter="n_landmarks")
    >>> str(error), error.parameter, error.in_words("--landmarks")
    ('n_landmarks must be at least 1, got 0', 'n_landmarks', '--landmarks must be at least 1, got 0')
    >>> error = InputError("is empty", line=3, advice="line")
    >>> str(error), error.in_words(None, {})
    ('line 3 is empty; leave out such lines', 'line 3 is empty')
    """

    def __init__(
        self,
        problem: str,
        *,
        parameter: str | None = None,
        source: str | None = None,
        line: int | None = None,
        row: int | None = None,
        column: int | str | None = None,
        column_name: str | None = None,
        advice: Advice | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.parameter, self.source, self.line, self.row = problem, parameter, source, line, row
        self.column, self.column_name, self.advice = column, column_name, advice

    def __str__(self) -> str:
        return self.in_words(self.parameter)

    def in_words(self, parameter: str | None, advice: Mapping[Advice, str] = ADVICE) -> str:
        """Return the message with the reader's name of the parameter (None to omit it) and the reader's advice."""
        place = [text for text in (parameter, self.source) if text is not None]
        place += [f"{name} {number}" for name, number in (("line", self.line), ("row", self.row)) if number is not None]
        if self.column is not None:
            name = "" if self.column_name is None else f" ({short(self.column_name)!r})"
            column = short(self.column) if isinstance(self.column, str) else self.column
            place.append(f"column {column!r}{name}")
        hint = None if self.advice is None else advice.get(self.advice)
        problem = self.problem if hint is None else f"{self.problem}; {hint}"
        if not place:
            return problem.removeprefix(": ")
        return f"{', '.join(place)}{'' if problem[0] in ':=[' else ' '}{problem}"


class MissingDependencyError(ImportError):
    """Raised when an optional dependency is missing; the message names the extra to install.

    >>> str(MissingDependencyError("figures need matplotlib", extra="plot"))
    'figures need matplotlib: pip install "driftmap[plot]"'
    """

    def __init__(self, problem: str, *, extra: str) -> None:
        super().__init__(f'{problem}: pip install "driftmap[{extra}]"')
        self.problem, self.extra = problem, extra
