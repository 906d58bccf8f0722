"""JSON: an array of records, each on one line or on several.

A row is a record and the bracket or comma before it. It is complete when a comma or bracket follows, so truncation is
detected wherever the file was cut.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.tables.blocks import Block
from driftmap.tables.cells import USUAL, Marks
from driftmap.tables.jsonl import JSONLines
from driftmap.utils.errors import InputError

ARRAY = re.compile(rb"\[\s*([\[{\]]|$)")
"""The beginning of an array of records, and an empty array."""
ESCAPE = re.compile(rb"\\.", re.DOTALL)
BLANK = np.isin(np.arange(256), list(b" \t\r\n"))
STEP = np.zeros(256, dtype=np.int8)
STEP[list(b"[{")], STEP[list(b"]}")] = 1, -1
"""By how much each character changes the depth."""


class JSONArray(JSONLines):
    """A parser of one array of objects with the same keys, or of arrays of the same length."""

    def __init__(self, source: str, *, missing: bool = False, marks: Marks = USUAL) -> None:
        super().__init__(missing=missing, marks=marks)
        self._source, self._load_text = source, self._loads
        self._loads = self._load_row

    def ends(self, data: bytes, *, final: bool) -> NDArray[np.int64]:
        """Return the ends of the complete rows; raise an error if the input ends within the array."""
        text = np.frombuffer(ESCAPE.sub(b"  ", data) if b"\\" in data else data, dtype=np.uint8)
        step = np.where(np.cumsum(text == ord('"')) % 2 == 0, STEP[text], 0)
        depth = np.cumsum(step, dtype=np.int64) + (not data.lstrip().startswith(b"["))
        closing = np.flatnonzero((step < 0) & (depth == 1))
        shown = np.flatnonzero(~BLANK[text])
        following = np.searchsorted(shown, closing, side="right")
        closing, following = closing[following < len(shown)], following[following < len(shown)]
        ends = closing[np.isin(text[shown[following]], list(b",]"))] + 1
        if not final:
            return ends
        rest = data[int(ends[-1]) if len(ends) else 0 :].strip()
        if rest == b"]" or (rest[:1] == b"[" and rest[1:].strip() == b"]"):
            return ends
        if rest[:1] == b"]" or rest[-1:] == b"]":
            return np.append(ends, len(data))  # not a record; the parser reports it
        raise InputError("ends within its array: it is cut off", source=self._source)

    def error(self, row: bytes) -> InputError:
        """Return the error of a row; its line counts from the comma before the record."""
        found = super().error(row)
        text = row.lstrip()[1:]
        found.line = text[: len(text) - len(text.lstrip())].count(b"\n")
        return found

    def _record(self, row: bytes) -> bytes:
        text = row.strip()
        if text[:1] not in (b"[", b","):
            raise ValueError("a comma is missing")
        return text[1:]

    def _load_row(self, row: bytes) -> Any:
        return self._load_text(self._record(row))

    def _lines(self, block: Block) -> list[bytes]:
        return block.rows(0, len(block))
