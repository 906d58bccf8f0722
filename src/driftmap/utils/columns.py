"""Names of columns in messages: what was probably meant, and what cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

LISTED_NAMES = 12
"""Names of columns that a message lists."""


class LeftOut(NamedTuple):
    """A column that cannot be a feature, and why."""

    name: str
    reason: str


def suggestion(name: str, known: Iterable[str]) -> str:
    """Words that name what was probably meant; empty if nothing is like it.

    >>> suggestion("euclidian", ["cosine", "euclidean"])
    " (did you mean 'euclidean'?)"
    >>> suggestion("PRICE", ["date", "price"])
    " (did you mean 'price'?)"
    """
    import difflib  # for those who made a mistake

    spelled = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""


def describe(columns: Sequence[LeftOut]) -> str:
    """Columns by what they hold.

    >>> describe([LeftOut("day", "dates"), LeftOut("name", "text"), LeftOut("city", "text")])
    "'day' (dates), 'name', 'city' (text)"
    """
    names: dict[str, list[str]] = {}
    for name, reason in columns:
        names.setdefault(reason, []).append(name if name.startswith("column ") else repr(name))
    return ", ".join(f"{some(alike)} ({reason})" for reason, alike in names.items())


def some(names: Sequence[str]) -> str:
    """The first names of a list that may be long."""
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return ", ".join(names[:LISTED_NAMES]) + more
