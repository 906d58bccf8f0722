"""Files of contacts as people have them, plain or compressed, and files that describe the nodes."""

from __future__ import annotations

import codecs
import contextlib
import csv
import datetime
import io
import itertools
import math
import re
from array import array
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftmap.networks.contacts import EARLIEST, LATEST, Contacts, check_contact
from driftmap.sources import Source
from driftmap.tables.text import read_pieces
from driftmap.utils import PathLike
from driftmap.utils.columns import some, suggestion
from driftmap.utils.errors import InputError

TIMES = ("t", "time", "timestamp", "datetime", "date", "ts", "unixtime", "unixts", "epoch", "seconds", "when", "start")
ENDS = (
    "i j", "source target", "src dst", "src tgt", "from to", "u v", "a b", "sender receiver", "sender recipient",
    "ego alter", "who whom", *(f"{name}{a} {name}{b}" for name in ("node", "id", "user", "person", "p", "individual")
                               for a, b in ("12", "ab", "ij")),
    "sourceid targetid", "idsource idtarget", "i1 i2",
)  # fmt: skip
WEIGHTS = ("w", "weight", "weights", "count", "strength")
STATUSES = {"status": "s", "class": "c", "role": "", "group": "g", "department": "d", "type": "", "gender": ""}
"""Attributes of both ends of a contact, with the letter that SocioPatterns uses for some of them."""
NODES = ("id", "ids", "node", "nodeid", "i", "name", "person", "user", "label", "participant", "individual")
"""Names of the nodes' column in a file that describes them."""
EXAMPLE_HEADER = "time, source, target"
COMMENTS = ("#", "%")


class Fields(NamedTuple):
    """Where a line has what: positions of its fields."""

    time: int
    ends: tuple[int, int]
    weight: int | None = None
    attributes: tuple[tuple[str, int, int], ...] = ()
    """Name of an attribute, and its positions for both ends."""

    def places(self) -> set[int]:
        """All positions that are read."""
        weight = () if self.weight is None else (self.weight,)
        return {self.time, *self.ends, *weight, *(place for _, *pair in self.attributes for place in pair)}


def read_contacts(path: PathLike, columns: Sequence[str] | None = None) -> Contacts:
    """Read contacts from a file: SocioPatterns and its like, or CSV; plain, or compressed by gzip
    or zstd.

    Fields are separated by tabs, spaces, commas or semicolons. A line without a header before it is `t i j`, `t i j
    weight` or `t i j Si Sj` (with statuses), or `i j t` or `i j weight t` if t is a date or in seconds since 1970. A
    header may spell the columns in several ways, such as `time, source, target, weight`; `Ci`, `Cj` or `role1`, `role2`
    are attributes of the nodes. For other names, `columns` lists time, node, node, then a weight or two statuses, if
    there are any; without a header, their numbers from 1.

    Times are numbers, or dates in ISO 8601, which become seconds since 1970 (without a time zone, as in UTC). Node
    labels stay text, and contacts are sorted by time. Contacts of a node with itself are skipped and counted. An empty,
    truncated or malformed file raises a ValueError that names the file and the line.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "contacts.csv")
    ...     _ = file.write_text("Time;Source;Target\\n0;ann;bob\\n20;bob;cem\\n20;cem;cem\\n")
    ...     contacts = read_contacts(file)
    >>> list(contacts), contacts.n_self
    ([('ann', 'bob', 0.0), ('bob', 'cem', 20.0)], 1)
    """
    times, ends, weights, n_self = array("d"), array("q"), array("d"), 0
    index: dict[str, int] = {}
    with contextlib.closing(_rows(Path(path))) as rows:
        head = next(rows, None)
        if head is None:
            raise InputError("is empty", source=str(path))
        layout, is_header = _layout(head[1], columns, str(path), head[0])
        attributes: dict[str, dict[str, str]] = {name: {} for name, *_ in layout.attributes}
        for number, fields in rows if is_header else itertools.chain([head], rows):
            try:
                if len(fields) != len(head[1]):
                    raise InputError(f"has {len(fields)} fields, where the first line has {len(head[1])}")
                i, j = (fields[place] for place in layout.ends)
                if not (i and j):
                    raise InputError("lacks the label of a node")
                if i == j:
                    n_self += 1
                    continue
                weight = () if layout.weight is None else (fields[layout.weight],)
                i, j, t, w = check_contact((i, j, _time(fields[layout.time]), *weight))
                for name, *places in layout.attributes:
                    for node, place in zip((i, j), places, strict=True):
                        if attributes[name].setdefault(node, fields[place]) != fields[place]:
                            before = attributes[name][node]
                            raise InputError(f": {node!r} is {fields[place]!r}, but was {before!r} before")
            except InputError as error:
                error.source, error.line = str(path), number
                raise
            times.append(t)
            weights.append(w)
            ends.extend((index.setdefault(i, len(index)), index.setdefault(j, len(index))))
    if not times:
        itself = f" but {n_self} of a node with itself" if n_self else ""
        raise InputError(f"is followed by no contacts{itself}", source=str(path), line=head[0])
    order = np.argsort(np.array(times), kind="stable")
    return Contacts(
        np.array(times)[order],
        np.array(ends, dtype=np.int64).reshape(-1, 2)[order],
        tuple(index),
        None if layout.weight is None else np.array(weights)[order],
        {name: tuple(values[node] for node in index) for name, values in attributes.items()},
        n_self,
        tuple(name for k, name in enumerate(head[1]) if is_header and k not in layout.places()),
    )


def read_metadata(path: PathLike, contacts: Contacts) -> Contacts:
    """The contacts with further attributes of their nodes from a file: a line per node, its label first.

    A header names the attributes; without one, as in SocioPatterns' files, they are called `class`, `attribute2` and so
    on. Nodes that the file lacks have empty attributes; a file that describes none of the nodes is an error.
    """
    with contextlib.closing(_rows(Path(path))) as rows:
        lines = list(rows)
    if not lines:
        raise InputError("is empty", source=str(path))
    nodes, (_, first) = {str(node) for node in contacts.nodes}, lines[0]
    if len(first) < 2:
        raise InputError("has one field: a node's label and its attributes are expected", source=str(path), line=1)
    numbered = all(node.lstrip("-").isdigit() for node in nodes)
    is_header = _plain(first[0]) in NODES or (numbered and not first[0].lstrip("-").isdigit())
    names = first[1:] if is_header else ["class", *(f"attribute{k}" for k in range(2, len(first)))]
    found: dict[str, list[str]] = {}
    for number, fields in lines[1:] if is_header else lines:
        if len(fields) != len(first):
            problem = f"has {len(fields)} fields, where the first line has {len(first)}"
            raise InputError(problem, source=str(path), line=number)
        if found.setdefault(fields[0], fields[1:]) != fields[1:]:
            raise InputError(f": {fields[0]!r} has other attributes before", source=str(path), line=number)
    if not nodes & set(found):
        examples = f"{some(sorted(found)[:3])}, where the contacts have {some(sorted(nodes)[:3])}"
        raise InputError(f"describes none of the nodes: it has {examples}", source=str(path))
    described = {
        name: tuple(found[str(node)][k] if str(node) in found else "" for node in contacts.nodes)
        for k, name in enumerate(names)
    }
    return replace(contacts, attributes={**contacts.attributes, **described})


def _time(text: str) -> float:
    with contextlib.suppress(ValueError):
        return float(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        problem = f": time {text!r} is neither a number nor a date such as 2024-03-31T12:00:20"
        raise InputError(problem) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _rows(path: Path) -> Generator[tuple[int, list[str]], None, None]:
    """The lines of a text file that are not blank, numbered and split; of comments at its start, only a header."""
    number = 0
    try:
        with contextlib.closing(_lines(path)) as text:
            skipped: list[str] = []
            first = ""
            for first in text:
                is_comment = first.startswith(COMMENTS) and not _is_header(_split_comment(first))
                if first.strip() and not is_comment:
                    break
                skipped.append(first)
                first = ""
            number = len(skipped)
            if first.startswith(COMMENTS):
                first = first.lstrip("#% ")
            for number, fields in enumerate(_split(first, itertools.chain([first], text)), len(skipped) + 1):
                if any(fields):
                    yield number, fields
    except InputError as error:
        raise InputError(f"is cut off or damaged after line {number}", source=str(path)) from error
    except (UnicodeDecodeError, csv.Error) as error:
        problem = f"is not a text file of contacts after line {number} ({error})"
        raise InputError(problem, source=str(path)) from error


def _lines(path: Path) -> Generator[str, None, None]:
    """The lines of a file, with their ends."""
    last = ""
    with contextlib.closing(read_pieces(Source(str(path), path), 0)) as pieces:
        for text in codecs.iterdecode(pieces, "utf-8-sig"):
            *lines, last = io.StringIO(last + text, newline="")  # the last one may go on in the next piece
            yield from lines
    if last:
        yield last


def _split(first: str, lines: Iterable[str]) -> Iterable[list[str]]:
    """The fields of every line, separated as in the first one."""
    for separator in ("\t", ";", ","):
        parts = [part.strip() for part in first.split(separator)]
        if len(parts) > 1 and (separator != "\t" or all(parts)):
            return (
                [field.strip() for field in fields]
                for fields in csv.reader(lines, delimiter=separator, skipinitialspace=separator != "\t")
            )
    return map(str.split, lines)


def _split_comment(line: str) -> list[str]:
    line = line.lstrip("#% ")
    return next(iter(_split(line, [line])), [])


def _is_header(fields: Sequence[str]) -> bool:
    return _named(fields) is not None


def _named(fields: Sequence[str]) -> Fields | None:
    """The layout that a header's names say; None if they do not."""
    plain = [_plain(name) for name in fields]

    def pair(a: str, b: str) -> tuple[int, int] | None:
        return (plain.index(a), plain.index(b)) if a in plain and b in plain else None

    time = next((plain.index(name) for name in TIMES if name in plain), None)
    ends = next((found for names in ENDS if (found := pair(*names.split()))), None)
    if time is None or ends is None:
        return None
    attributes = []
    for name, letter in STATUSES.items():
        spellings = [(f"{name}{a}", f"{name}{b}") for a, b in ("ij", "12", "ab")]
        spellings += [(f"{a}{name}", f"{b}{name}") for a, b in (("source", "target"), ("src", "dst"), ("from", "to"))]
        spellings += [(f"{letter}i", f"{letter}j")] if letter else []
        found = next((places for names in spellings if (places := pair(*names))), None)
        if found is not None:
            attributes.append((name, *found))
    return Fields(time, ends, next((plain.index(w) for w in WEIGHTS if w in plain), None), tuple(attributes))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _layout(first: list[str], columns: Sequence[str] | None, source: str, line: int) -> tuple[Fields, bool]:
    """Where a line has what, and whether the first line is a header."""
    if columns is not None:
        return _given(first, columns, source, line)
    named = _named(first)
    if named is not None:
        return named, True
    if 3 <= len(first) <= 4 and _is_dated(first[-1]) and not _is_dated(first[0]):
        return Fields(len(first) - 1, (0, 1), 2 if len(first) == 4 else None), False
    if 3 <= len(first) <= 5 and _is_time(first[0]) and (len(first) != 4 or _is_number(first[3])):
        return Fields(0, (1, 2), 3 if len(first) == 4 else None, (("status", 3, 4),) if len(first) == 5 else ()), False
    problem = (
        f"is neither `t i j`, `t i j weight` or `t i j Si Sj` nor a header such as `{EXAMPLE_HEADER}`: {some(first)}; "
        "say which columns are time, node and node"
    )
    raise InputError(problem, source=source, line=line)


def _given(first: list[str], columns: Sequence[str], source: str, line: int) -> tuple[Fields, bool]:
    """The layout by names of columns or, without a header, by their numbers from 1."""
    if not 3 <= len(columns) <= 5:
        problem = f"must name time, node, node, then a weight or two statuses, if there are any; got {tuple(columns)}"
        raise InputError(problem, parameter="columns")
    is_header = set(columns) <= set(first)
    numbers = {str(k): k - 1 for k in range(1, len(first) + 1)}
    if not is_header and not set(columns) <= set(numbers):
        missing = ", ".join(f"{name!r}{suggestion(name, first)}" for name in columns if name not in first)
        problem = f"is no header with the columns {missing}; it has {some([*map(repr, first)])}"
        raise InputError(problem, source=source, line=line)
    time, i, j, *rest = (first.index(name) if is_header else numbers[name] for name in columns)
    statuses = (("status", rest[0], rest[1]),) if len(rest) == 2 else ()
    return Fields(time, (i, j), rest[0] if len(rest) == 1 else None, statuses), is_header


def _is_time(text: str) -> bool:
    try:
        return not math.isnan(_time(text))
    except InputError:
        return False


def _is_dated(text: str) -> bool:
    return _is_time(text) and EARLIEST <= _time(text) <= LATEST


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
