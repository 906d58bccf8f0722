"""Contacts (who met whom, and when), from events in memory and from files."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import math
import os
import zlib
from array import array
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

Node: TypeAlias = Hashable
Contact: TypeAlias = tuple[Node, Node, float]


@dataclass(frozen=True, eq=False)
class Contacts:
    """A list of contacts in order of time; iterating over it gives (i, j, t) with the nodes' labels.

    Attributes: `times` of the contacts; `pairs`, (n_contacts, 2) positions in `nodes`; `nodes`, the labels in
    order of first appearance; `statuses`, one per node, where the source has them.

    >>> contacts = Contacts.from_events([("ann", "bob", 0), ("bob", "cem", 20), ("ann", "bob", 20)])
    >>> contacts.nodes, contacts.event_times.tolist()
    (('ann', 'bob', 'cem'), [0.0, 20.0])
    """

    times: Array
    pairs: Ids
    nodes: tuple[Node, ...]
    statuses: tuple[str, ...] | None = None

    @classmethod
    def from_events(cls, events: Iterable[Contact]) -> Contacts:
        """Collect (i, j, t) events in the order given."""
        index: dict[Node, int] = {}
        times, ends = array("d"), array("q")
        for event in events:
            i, j, t = check_contact(event)
            times.append(t)
            ends.extend((index.setdefault(i, len(index)), index.setdefault(j, len(index))))
        return cls(np.array(times), np.array(ends, dtype=np.int64).reshape(-1, 2), tuple(index))

    @property
    def event_times(self) -> Array:
        """The times with at least one contact, ascending: the paper's t_1, ..., t_n."""
        return np.unique(self.times)

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Contact]:
        nodes = self.nodes
        for (i, j), t in zip(self.pairs.tolist(), self.times.tolist(), strict=True):
            yield nodes[i], nodes[j], t


def read_contacts(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Contacts:
    """Read contacts from a SocioPatterns file or a CSV file with named columns, plain or gzipped.

    A SocioPatterns file has no header: each line is `t i j` or `t i j Si Sj` (with statuses), separated by tabs or
    spaces. Otherwise the first line names the columns. If these are not called t, i, j (Si, Sj), `columns` names them
    in this order; further columns are ignored. Node labels stay text, and contacts are sorted by time. An empty,
    truncated or malformed file raises a ValueError that names the file and the line.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "contacts.csv")
    ...     _ = file.write_text("when,who,whom\\n0,ann,bob\\n20,bob,cem\\n")
    ...     list(read_contacts(file, columns=("when", "who", "whom")))
    [('ann', 'bob', 0.0), ('bob', 'cem', 20.0)]
    """
    times, ends = array("d"), array("q")
    index: dict[str, int] = {}
    statuses: dict[str, str] = {}
    with contextlib.closing(_rows(Path(path))) as rows:
        head = next(rows, None)
        if head is None:
            raise InputError("is empty", source=str(path))
        where, is_header = _layout(head[1], columns, str(path), head[0])
        for number, fields in rows if is_header else itertools.chain([head], rows):
            try:
                if len(fields) != len(head[1]):
                    raise InputError(f"has {len(fields)} fields, where the first line has {len(head[1])}")
                i, j, t = check_contact((fields[where[1]], fields[where[2]], fields[where[0]]))
                if not (i and j):
                    raise InputError("lacks the label of a node")
                for node, position in zip((i, j), where[3:], strict=False):
                    if statuses.setdefault(node, fields[position]) != fields[position]:
                        raise InputError(f": {node!r} is {fields[position]!r}, but was {statuses[node]!r} before")
            except InputError as error:
                error.source, error.line = str(path), number
                raise
            times.append(t)
            ends.extend((index.setdefault(i, len(index)), index.setdefault(j, len(index))))
    if not times:
        raise InputError("is followed by no contacts", source=str(path), line=head[0])
    order = np.argsort(np.array(times), kind="stable")
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)[order]
    status = tuple(statuses[node] for node in index) if statuses else None
    return Contacts(np.array(times)[order], pairs, tuple(index), status)


def check_contact(contact: Any) -> Any:
    """The contact as (i, j, t) with a float t, or a ValueError that names it."""
    try:
        i, j, t = contact
        hash((i, j))
        t = float(t)
    except (TypeError, ValueError):
        raise InputError(f": contact {contact!r} is not (node, node, time)") from None
    if not math.isfinite(t):
        raise InputError(f": contact {contact!r} has no finite time")
    if i == j:
        raise InputError(f": contact {contact!r} joins a node to itself")
    return i, j, t


def _rows(path: Path) -> Generator[tuple[int, list[str]], None, None]:
    """The lines of a text file that are not blank, numbered, split at commas or else at white space."""
    number = 0
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"  # the magic number is more reliable than the suffix
            stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
                first = next(text, "")
                lines = itertools.chain([first], text)
                split = csv.reader(lines, skipinitialspace=True) if "," in first else map(str.split, lines)
                for number, fields in enumerate(split, 1):
                    if fields:
                        yield number, fields
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"is cut off or damaged after line {number}", source=str(path)) from error
    except (UnicodeDecodeError, csv.Error) as error:
        problem = f"is not a text file of contacts after line {number} ({error})"
        raise InputError(problem, source=str(path)) from error


def _layout(first: list[str], columns: Sequence[str] | None, source: str, line: int) -> tuple[list[int], bool]:
    """Positions of t, i, j (and the two statuses), and whether the first line is a header."""
    named = tuple(columns or ("t", "i", "j"))
    if len(named) not in (3, 5):
        raise InputError(f"must name t, i, j or t, i, j and two statuses, got {named}", parameter="columns")
    if set(named) <= set(first):
        statuses = ("Si", "Sj") if not columns and {"Si", "Sj"} <= set(first) else ()
        return [first.index(name) for name in (*named, *statuses)], True
    with contextlib.suppress(ValueError):
        if not columns and len(first) in (3, 5) and not math.isnan(float(first[0])):
            return list(range(len(first))), False
    missing = ", ".join(name for name in named if name not in first)
    problem = f"is neither `t i j` or `t i j Si Sj` nor a header with the columns {missing}"
    raise InputError(problem, source=source, line=line)
