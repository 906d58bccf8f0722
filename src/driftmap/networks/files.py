"""Files of contacts in common formats, plain or compressed, and files that describe the nodes."""

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
from typing import NamedTuple, TypeAlias

import numpy as np

from driftmap.networks.contacts import EARLIEST, LATEST, Contacts, check_contact
from driftmap.sources.files import Source, read_pieces
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
"""Names of the node column in a file that describes nodes."""
EXAMPLE_HEADER = "time, source, target"
COMMENTS = ("#", "%")
Contact: TypeAlias = tuple[str, str, float, float]
"""Node, node, time and weight."""


class Fields(NamedTuple):
    """The positions of the fields of a line."""

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
    """Read contacts from a file: SocioPatterns and similar formats, or CSV; plain, or compressed by gzip or zstd.

    Fields are separated by tabs, spaces, commas or semicolons. Without a header, a line is `t i j`, `t i j weight` or
    `t i j Si Sj` (with statuses), or `i j t` or `i j weight t` if t is a date or in seconds since 1970. A header may
    use several names for the columns, such as `time, source, target, weight`; `Ci`, `Cj` or `role1`, `role2` are
    attributes of the nodes. For other names, `columns` lists time, node, node, then a weight or two statuses, if any;
    without a header, their numbers from 1.

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
    times, ends, weights = array("d"), array("q"), array("d")
    index: dict[str, int] = {}
    with contextlib.closing(_rows(Path(path))) as rows:
        head = next(rows, None)
        if head is None:
            raise InputError("is empty", source=str(path))
        lines = ContactLines(head[1], columns, str(path), head[0])
        for number, fields in rows if lines.has_header else itertools.chain([head], rows):
            try:
                contact = lines.contact(fields)
            except InputError as error:
                error.source, error.line = str(path), number
                raise
            if contact is not None:
                i, j, t, weight = contact
                times.append(t)
                weights.append(weight)
                ends.extend((index.setdefault(i, len(index)), index.setdefault(j, len(index))))
    if not times:
        itself = f" but {lines.n_self} of a node with itself" if lines.n_self else ""
        raise InputError(f"is followed by no contacts{itself}", source=str(path), line=head[0])
    order = np.argsort(np.array(times), kind="stable")
    return Contacts(
        np.array(times)[order],
        np.array(ends, dtype=np.int64).reshape(-1, 2)[order],
        tuple(index),
        None if lines.layout.weight is None else np.array(weights)[order],
        {name: tuple(values[node] for node in index) for name, values in lines.attributes.items()},
        lines.n_self,
        lines.left_out,
    )


class ContactLines:
    """Contacts from the fields of lines, given those of the first line.

    Attributes: `layout`, the positions of the fields; `has_header`, whether the first line is one; `attributes`, by
    name one text per node; `n_self`, the number of contacts of a node with itself, which are skipped; `left_out`,
    unused columns.
    """

    def __init__(self, first: list[str], columns: Sequence[str] | None, source: str, line: int) -> None:
        self.layout, self.has_header = _layout(first, columns, source, line)
        self.attributes: dict[str, dict[str, str]] = {name: {} for name, *_ in self.layout.attributes}
        self.n_self, self._n_fields = 0, len(first)
        names = first if self.has_header else []
        self.left_out = tuple(name for k, name in enumerate(names) if k not in self.layout.places())

    def contact(self, fields: list[str]) -> Contact | None:
        """Return node, node, time and weight; None for a node with itself. An error changes nothing."""
        if len(fields) != self._n_fields:
            raise InputError(f"has {len(fields)} fields, but the first line has {self._n_fields}")
        i, j = (fields[place] for place in self.layout.ends)
        if not (i and j):
            raise InputError("lacks the label of a node")
        if i == j:
            self.n_self += 1
            return None
        weight = () if self.layout.weight is None else (fields[self.layout.weight],)
        contact: Contact = check_contact((i, j, _time(fields[self.layout.time]), *weight))
        for name, *places in self.layout.attributes:
            for node, place in zip((i, j), places, strict=True):
                if (before := self.attributes[name].get(node, fields[place])) != fields[place]:
                    raise InputError(f": {node!r} is {fields[place]!r}, but was {before!r} before")
        for name, *places in self.layout.attributes:
            self.attributes[name].update((node, fields[place]) for node, place in zip((i, j), places, strict=True))
        return contact


class ContactText:
    """Contacts from lines of text as they arrive, in the formats of :func:`read_contacts`."""

    def __init__(self, source: str, columns: Sequence[str] | None = None) -> None:
        self.source, self.columns = source, columns
        self.lines: ContactLines | None = None
        """The format of the lines, from the first one."""
        self._separator: str | None = None

    def contact(self, text: str, number: int) -> Contact | None:
        """Return the contact in a line; None if it has none. An error changes nothing."""
        lines = self.lines
        if not (begins(text) if lines is None else text.strip()):
            return None
        text = uncommented(text) if lines is None else text
        mark = separator(text) if lines is None else self._separator
        try:
            fields = next(iter(split(mark, [text])), [])
        except csv.Error as error:
            raise InputError(f"cannot be split into fields ({error})") from None
        if not any(fields):
            return None
        lines = lines or ContactLines(fields, self.columns, self.source, number)
        contact = None if self.lines is None and lines.has_header else lines.contact(fields)
        self.lines, self._separator = lines, mark
        return contact


def read_metadata(path: PathLike, contacts: Contacts) -> Contacts:
    """Return the contacts with further attributes of their nodes from a file: a line per node, its label first.

    A header names the attributes; without one, as in SocioPatterns' files, they are called `class`, `attribute2` and so
    on. Nodes that the file lacks have empty attributes; a file that describes none of the nodes raises an error.
    """
    nodes = {str(node) for node in contacts.nodes}
    names, found = _node_lines(path, nodes)
    if not nodes & set(found):
        examples = f"{some(sorted(found)[:3])}, but the contacts have {some(sorted(nodes)[:3])}"
        raise InputError(f"does not describe any of the nodes: it has {examples}", source=str(path))
    described = {
        name: tuple(found[str(node)][k] if str(node) in found else "" for node in contacts.nodes)
        for k, name in enumerate(names)
    }
    return replace(contacts, attributes={**contacts.attributes, **described})


def read_nodes(path: PathLike) -> frozenset[str]:
    """Return the labels of all nodes in a file that :func:`read_metadata` can read."""
    return frozenset(_node_lines(path)[1])


def _node_lines(path: PathLike, nodes: Iterable[str] | None = None) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of attributes, and their values by node; `nodes` are known labels, by default those after line
    1.
    """
    with contextlib.closing(_rows(Path(path))) as rows:
        lines = list(rows)
    if not lines:
        raise InputError("is empty", source=str(path))
    first = lines[0][1]
    if len(first) < 2:
        raise InputError("has one field: a node's label and its attributes are expected", source=str(path), line=1)
    known = [fields[0] for _, fields in lines[1:]] if nodes is None else nodes
    numbered = all(node.lstrip("-").isdigit() for node in known)
    is_header = _plain(first[0]) in NODES or (numbered and not first[0].lstrip("-").isdigit())
    names = first[1:] if is_header else ["class", *(f"attribute{k}" for k in range(2, len(first)))]
    found: dict[str, list[str]] = {}
    for number, fields in lines[1:] if is_header else lines:
        if len(fields) != len(first):
            problem = f"has {len(fields)} fields, but the first line has {len(first)}"
            raise InputError(problem, source=str(path), line=number)
        if found.setdefault(fields[0], fields[1:]) != fields[1:]:
            raise InputError(f": {fields[0]!r} has other attributes before", source=str(path), line=number)
    return names, found


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
    """Yield the non-blank lines of a text file, numbered and split; of comments at its start, only a header."""
    number = 0
    try:
        with contextlib.closing(_lines(path)) as text:
            skipped: list[str] = []
            first = ""
            for first in text:
                if begins(first):
                    break
                skipped.append(first)
                first = ""
            number = len(skipped)
            first = uncommented(first)
            for number, fields in enumerate(split(separator(first), itertools.chain([first], text)), len(skipped) + 1):
                if any(fields):
                    yield number, fields
    except InputError as error:
        raise InputError(f"is cut off or damaged after line {number}", source=str(path)) from error
    except (UnicodeDecodeError, csv.Error) as error:
        problem = f"is not a text file of contacts after line {number} ({error})"
        raise InputError(problem, source=str(path)) from error


def _lines(path: Path) -> Generator[str, None, None]:
    """Yield the lines of a file, with their ends."""
    last = ""
    with contextlib.closing(read_pieces(Source(str(path), path), 0)) as pieces:
        for text in codecs.iterdecode(pieces, "utf-8-sig"):
            *lines, last = io.StringIO(last + text, newline="")  # the last line may continue in the next piece
            yield from lines
    if last:
        yield last


def begins(line: str) -> bool:
    """Return True if a line is the first one of contacts: not blank, and not a comment unless it is a header."""
    return bool(line.strip()) and (not line.startswith(COMMENTS) or _is_header(_fields(uncommented(line))))


def uncommented(line: str) -> str:
    """Return a line without the mark of a comment."""
    return line.lstrip("#% ") if line.startswith(COMMENTS) else line


def separator(line: str) -> str | None:
    """Return the separator of the fields of a line; None for spaces."""
    for mark in ("\t", ";", ","):
        parts = [part.strip() for part in line.split(mark)]
        if len(parts) > 1 and (mark != "\t" or all(parts)):
            return mark
    return None


def split(mark: str | None, lines: Iterable[str]) -> Iterable[list[str]]:
    """Return the fields of every line, separated by a character or by spaces."""
    if mark is None:
        return map(str.split, lines)
    rows = csv.reader(lines, delimiter=mark, skipinitialspace=mark != "\t")
    return ([field.strip() for field in fields] for fields in rows)


def _fields(line: str) -> list[str]:
    return next(iter(split(separator(line), [line])), [])


def _is_header(fields: Sequence[str]) -> bool:
    return _named(fields) is not None


def _named(fields: Sequence[str]) -> Fields | None:
    """Return the layout that the names in a header define; None if they do not."""
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
    """Return the layout of the lines, and whether the first line is a header."""
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
    """Return the layout for given names of columns or, without a header, for their numbers from 1."""
    if not 3 <= len(columns) <= 5:
        problem = f"must name time, node, node, then a weight or two statuses, if any; got {tuple(columns)}"
        raise InputError(problem, parameter="columns")
    is_header = set(columns) <= set(first)
    numbers = {str(k): k - 1 for k in range(1, len(first) + 1)}
    if not is_header and not set(columns) <= set(numbers):
        missing = ", ".join(f"{name!r}{suggestion(name, first)}" for name in columns if name not in first)
        problem = f"is not a header with the columns {missing}; it has {some([*map(repr, first)])}"
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
