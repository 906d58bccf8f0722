"""Names of columns in messages: suggestions for misspelt names, and lists of columns with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

LISTED_NAMES = 12
"""Most column names listed in a message."""
SHOWN_LETTERS = 40
"""Most letters of a name or a cell in a message: a name may be a whole row that was taken for one."""


SIMILAR = {"umap": "tsne", "t-sne": "tsne", "pca": "lmds", "mds": "stress", "smacof": "stress"}
"""What users of other tools look for, and what comes nearest to it here."""


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
    >>> suggestion("umap", ["tsne", "isomap"])
    " (instead: 'tsne')"
    """
    import difflib  # needed only after a mistake

    spelled = {other.lower(): other for other in known}
    if (similar := SIMILAR.get(name.lower())) in spelled:
        return f" (instead: {similar!r})"
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return f" (did you mean {short(spelled[close[0]])!r}?)" if close else ""


def short(text: str) -> str:
    """Return the beginning of a text that may be long.

    >>> short("price"), short("1.25 " * 100)
    ('price', '1.25 1.25 1.25 1.25 1.25 1.25 1.25 1....')
    """
    return text if len(text) <= SHOWN_LETTERS else f"{text[: SHOWN_LETTERS - 3]}..."


def describe(columns: Sequence[LeftOut]) -> str:
    """List columns grouped by reason.

    >>> describe([LeftOut("day", "dates"), LeftOut("name", "text"), LeftOut("city", "text")])
    "'day' (dates), 'name', 'city' (text)"
    """
    names: dict[str, list[str]] = {}
    for name, reason in columns:
        names.setdefault(reason, []).append(name if name.startswith("column ") else repr(short(name)))
    return ", ".join(f"{some(alike)} ({reason})" for reason, alike in names.items())


def some(names: Sequence[str]) -> str:
    """List the first names of a list that may be long."""
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return ", ".join(map(short, names[:LISTED_NAMES])) + more
