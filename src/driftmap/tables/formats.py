"""The table of file formats. Options, help, checks, errors, tests and `make torture` follow from it.

A format of text has a parser (:class:`~driftmap.tables.blocks.Parser`): it can be compressed, come through a pipe and
be followed. Any other format has a reader, which opens a :class:`~driftmap.tables.table.Table`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from driftmap.sources.files import COMPRESSIONS, Source
from driftmap.tables.blocks import Parser
from driftmap.tables.columns import Wanted
from driftmap.tables.table import Table
from driftmap.tables.writers import CSVWriter, JSONWriter, NumpyWriter, ParquetWriter, Writer
from driftmap.utils.errors import InputError


class NewParser(Protocol):
    """Creates a parser for a text whose first bytes are ``head``; ``single``: every row is one line."""

    def __call__(self, name: str, head: bytes, wanted: Wanted, *, single: bool) -> Parser:
        """Return the parser; ``name`` is for messages."""


class Reader(Protocol):
    """Opens a file. If it is read more than ``once``, all rows decide which columns have numbers."""

    def __call__(self, source: Source, wanted: Wanted, *, once: bool) -> Table:
        """Return the table."""


@dataclass(frozen=True)
class Format:
    """A format of files."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of input files."""
    parser: NewParser | None = None
    reader: Reader | None = None
    begins: re.Pattern[bytes] | None = None
    """First character of the text of an unnamed input, after white space; all other text is CSV."""
    has_delimiter: bool = False
    rows_are_lines: bool = True
    """Whether each row is a line, so that a growing file can be followed."""
    cached: Literal["disk", "memory", "never"] = "disk"
    """Whether the numbers of a file are cached for later passes: parsing text takes longer than writing numbers."""
    written: tuple[str, ...] = ()
    """Suffixes of output files."""
    writer: Callable[[BinaryIO, Sequence[str]], Writer] | None = None
    """Creates a writer to an open file, given the names of the columns; it appends to rows that are already in the
    file.
    """
    holds_text: bool = True
    """Whether a cell may hold text, such as a label."""
    continues: bool = True
    """Whether an output can be continued after an interruption."""

    @property
    def key(self) -> str:
        """The name of the format as the value of an option."""
        return self.suffixes[0].removeprefix(".")

    @property
    def is_followable(self) -> bool:
        """Whether rows can be read as they arrive."""
        return self.is_text and self.rows_are_lines

    @property
    def is_text(self) -> bool:
        """Whether rows are lines of text."""
        return self.parser is not None


def _csv(name: str, head: bytes, wanted: Wanted, *, single: bool, delimiter: str | None = None) -> Parser:
    from driftmap.tables.csv import CSV

    return CSV(name, head, wanted, delimiter=delimiter, single=single)


def _json_lines(name: str, head: bytes, wanted: Wanted, *, single: bool) -> Parser:
    from driftmap.tables.jsonl import JSONLines

    return JSONLines(missing=wanted.missing, marks=wanted.marks)


def _json(name: str, head: bytes, wanted: Wanted, *, single: bool) -> Parser:
    from driftmap.tables.json_array import ARRAY, JSONArray

    if ARRAY.match(head.lstrip()) is None:  # files of JSON lines are often named .json
        return _json_lines(name, head, wanted, single=single)
    return JSONArray(name, missing=wanted.missing, marks=wanted.marks)


def _parquet(source: Source, wanted: Wanted, *, once: bool) -> Table:
    from driftmap.tables.arrow import ParquetFile, open_arrow

    return open_arrow(source, wanted, ParquetFile, once=once)


def _arrow(source: Source, wanted: Wanted, *, once: bool) -> Table:
    from driftmap.tables.arrow import IPCFile, open_arrow

    return open_arrow(source, wanted, IPCFile, once=once)


def _numpy(source: Source, wanted: Wanted, *, once: bool) -> Table:
    from driftmap.tables.npy import open_numpy

    return open_numpy(source, wanted, once=once)


def _excel(source: Source, wanted: Wanted, *, once: bool) -> Table:
    from driftmap.tables.excel import open_excel

    return open_excel(source, wanted, once=once)


CSV = Format(
    "CSV",
    (".csv", ".txt", ".dat", ".data", ".asc"),
    parser=_csv,
    has_delimiter=True,
    written=(".csv",),
    writer=CSVWriter,
)
TSV = Format("TSV", (".tsv", ".tab"), parser=partial(_csv, delimiter="\t"), has_delimiter=True)
JSON_LINES = Format(
    "JSON lines",
    (".jsonl", ".ndjson"),
    parser=_json_lines,
    begins=re.compile(rb"[\[{]"),
    written=(".jsonl", ".ndjson"),
    writer=JSONWriter,
)
JSON = Format("JSON", (".json",), parser=_json, begins=re.compile(rb"\[\s*\{"), rows_are_lines=False)
PARQUET = Format(
    "Parquet",
    (".parquet", ".pq"),
    reader=_parquet,
    cached="memory",
    written=(".parquet",),
    writer=ParquetWriter,
    continues=False,
)
ARROW = Format("Arrow IPC", (".arrow", ".arrows", ".ipc"), reader=_arrow, cached="memory")
FEATHER = Format("Feather", (".feather",), reader=_arrow, cached="memory")
NPY = Format("NPY", (".npy",), reader=_numpy, cached="never", written=(".npy",), writer=NumpyWriter, holds_text=False)

EXCEL = Format("Excel", (".xlsx",), reader=_excel, cached="never")

FORMATS = (CSV, TSV, JSON, JSON_LINES, PARQUET, ARROW, FEATHER, NPY, EXCEL)
KEYS = {kind.key: kind for kind in FORMATS}
"""The input formats, by the names that options use."""
OUTPUTS = {suffix: kind for kind in FORMATS for suffix in kind.written}
"""The output formats, by suffix."""
TABLE_SUFFIXES = tuple(OUTPUTS)
TEXT_SUFFIXES = tuple(suffix for suffix, kind in OUTPUTS.items() if kind.is_text)
"""The suffixes of all outputs, and of those that can be written row by row."""

DATABASE_SUFFIXES = {".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".duckdb": "duckdb"}
"""The schemes of databases whose files often have these suffixes."""


def listed(words: Sequence[str]) -> str:
    """Join words by commas, the last one by "or".

    >>> listed([".csv", ".jsonl", ".npy"])
    '.csv, .jsonl or .npy'
    """
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def readable() -> str:
    """Return the formats that are read, in words."""
    texts, others = [kind.name for kind in FORMATS if kind.is_text], [kind.name for kind in FORMATS if not kind.is_text]
    return listed([f"{', '.join(texts)} (each plain, {listed([c.suffix for c in COMPRESSIONS])})", *others])


def text_formats() -> str:
    """Return the formats of text, in words."""
    return listed([kind.name for kind in FORMATS if kind.is_text])


def followable_formats() -> str:
    """Return the formats whose rows can be read as they arrive, in words."""
    return listed([kind.name for kind in FORMATS if kind.is_followable])


def format_of(suffix: str, name: str) -> Format:
    """Return the format of an input file by its suffix; the error for an unknown suffix names the file."""
    for kind in FORMATS:
        if suffix in kind.suffixes:
            return kind
    if (scheme := DATABASE_SUFFIXES.get(suffix)) is not None:
        raise InputError(f"looks like a database: give it as {scheme}:///{name}", source=name, advice="query")
    texts, others = ([kind.suffixes[0] for kind in FORMATS if kind.is_text == is_text] for is_text in (True, False))
    compressed = listed([compression.suffix for compression in COMPRESSIONS])
    known = listed([f"{listed(texts)} (each also with {compressed})", *others])
    raise InputError(f"has no known suffix: {known}", source=name, advice="format")


def format_of_text(head: bytes) -> Format:
    """Return the format of an unnamed text by its first bytes."""
    begin = head.lstrip()
    return next((kind for kind in FORMATS if kind.begins is not None and kind.begins.match(begin)), CSV)


def is_followable(name: str) -> bool:
    """Return True if a file can be followed, judged by its suffix: this requires lines of plain text."""
    suffix = Path(name).suffix.lower()
    other = any(suffix in kind.suffixes for kind in FORMATS if not kind.is_followable)
    return not other and all(suffix != compression.suffix for compression in COMPRESSIONS)


def output_format(path: Path) -> Format:
    """Return the format of an output, whose suffix must be one of ``TABLE_SUFFIXES``."""
    return OUTPUTS[path.suffix.lower()]


def new_writer(path: Path, file: BinaryIO, names: Sequence[str]) -> Writer:
    """Return a writer for an output of this name to an open file."""
    writer = output_format(path).writer
    assert writer is not None
    return writer(file, names)
