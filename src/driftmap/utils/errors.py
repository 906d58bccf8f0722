"""Errors that carry their place as attributes. They are put into words here and nowhere else."""

from __future__ import annotations


class InputError(ValueError, TypeError):
    """Input that cannot be used: what is wrong with it, and where.

    The place is a ``parameter``, or the ``row`` (from 0) and ``column`` of an array, or the ``line`` or the ``row``
    (from 1) and the ``column`` of a file, the ``source``.

    >>> str(InputError("is 'x', not a number", source="t.csv", line=3, column="b"))
    "t.csv, line 3, column 'b' is 'x', not a number"
    >>> error = InputError("must be at least 1, got 0", parameter="n_landmarks")
    >>> str(error), error.parameter, error.in_words("--landmarks")
    ('n_landmarks must be at least 1, got 0', 'n_landmarks', '--landmarks must be at least 1, got 0')
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
    ) -> None:
        super().__init__(problem)
        self.problem, self.parameter, self.source, self.line, self.row = problem, parameter, source, line, row
        self.column, self.column_name = column, column_name

    def __str__(self) -> str:
        return self.in_words(self.parameter)

    def in_words(self, parameter: str | None) -> str:
        """The message; ``parameter``: how the parameter is called where the message is read."""
        place = [text for text in (parameter, self.source) if text is not None]
        place += [f"{name} {number}" for name, number in (("line", self.line), ("row", self.row)) if number is not None]
        if self.column is not None:
            name = "" if self.column_name is None else f" ({self.column_name!r})"
            place.append(f"column {self.column!r}{name}")
        if not place:
            return self.problem.removeprefix(": ")
        return f"{', '.join(place)}{'' if self.problem[0] in ':=[' else ' '}{self.problem}"


class MissingDependencyError(ImportError):
    """An optional dependency is not installed; the message names the extra to install.

    >>> str(MissingDependencyError("figures need matplotlib", extra="plot"))
    'figures need matplotlib: pip install "driftmap[plot]"'
    """

    def __init__(self, problem: str, *, extra: str) -> None:
        super().__init__(f'{problem}: pip install "driftmap[{extra}]"')
        self.problem, self.extra = problem, extra
