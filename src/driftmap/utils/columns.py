"""Names of columns in messages: suggestions for misspelt names, and lists of columns with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

LISTED_NAMES = 12
"""Most column names listed in a message."""


class LeftOut(NamedTuple):
    """A column that cannot be a feature, and the reason."""

    name: str
    reason: str


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the most similar known name; empty if no name is similar.

    >>> suggestion("euclidian", ["cosine", "euclidean"])
    " (did you mean 'euclidean'?)"
    >>> suggestion("PRICE", ["date", "price"])
    " (did you mean 'price'?)"
    """
    import difflib  # needed only after a mistake

    spelled = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""


def describe(columns: Sequence[LeftOut]) -> str:
    """List columns grouped by reason.

    >>> describe([LeftOut("day", "dates"), LeftOut("name", "text"), LeftOut("city", "text")])
    "'day' (dates), 'name', 'city' (text)"
    """
    names: dict[str, list[str]] = {}
    for name, reason in columns:
        names.setdefault(reason, []).append(name if name.startswith("column ") else repr(name))
    return ", ".join(f"{some(alike)} ({reason})" for reason, alike in names.items())


def some(names: Sequence[str]) -> str:
    """List the first names of a list that may be long."""
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return ", ".join(names[:LISTED_NAMES]) + more
