"""JSON lines, by orjson: objects with the same keys, or arrays of the same length."""

from __future__ import annotations

import contextlib
import json
import math
import operator
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.tables.blocks import Block
from driftmap.tables.cells import USUAL, Marks, kind_of, not_a_number, not_utf8, unusable
from driftmap.tables.columns import numbered, vector_names
from driftmap.utils import Array
from driftmap.utils.errors import InputError
from driftmap.utils.validation import LARGEST_NUMBER

EMPTY = re.compile(rb"^[ \t\r]*$", re.MULTILINE)


class Chosen(NamedTuple):
    """The selected columns, and functions that read them from a row."""

    keys: list[Any]
    """Keys of the features in an object, or positions in an array."""
    label: Any
    widths: list[int | None]
    """The length of the lists of each feature; None: it is a number."""
    absent: dict[str, Any]
    """The values of absent keys: NaN for features."""
    others: set[str]
    """The keys that are not features."""
    pick: Callable[[Any], Sequence[Any]]
    """Returns the features of a row."""
    pack: Callable[..., bytes]
    """Returns numbers as bytes."""


class JSONLines:
    """A parser of JSON lines; empty lines belong to the following row."""

    def __init__(self, *, missing: bool = False, marks: Marks = USUAL) -> None:
        import orjson

        self._missing, self._marks = missing, marks
        """Whether keys may be absent, and values null."""
        self._loads: Callable[[bytes], Any] = orjson.loads
        self.names: list[str] = []

    def ends(self, data: bytes, *, final: bool) -> NDArray[np.int64]:
        """Return the ends of the complete rows."""
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
        if not EMPTY.search(data, 0, int(ends[-1]) - 1 if len(ends) else 0):
            return ends
        starts = [0, *ends.tolist()]
        return np.array([b for a, b in zip(starts, ends.tolist(), strict=False) if data[a:b].strip()], dtype=np.int64)

    def read_header(self, first: Block, more: Callable[[], Block | None]) -> int:
        """Take the names from the first row."""
        value = self._loads(first.part(0, 1).data)
        if not isinstance(value, dict | list):
            raise ValueError
        self.names = list(value) if isinstance(value, dict) else numbered(len(value))
        self._kind: Any = type(value)
        cells = value.items() if isinstance(value, dict) else enumerate(value)
        self._vectors = {key: len(cell) for key, cell in cells if isinstance(cell, list) and cell}
        return 0

    def cells(self, rows: list[bytes], places: list[int]) -> list[list[Any]]:
        """Return the cells of these columns, None where they are null or absent; rows unlike the first are omitted."""
        values: list[Any] = []
        for row in rows:
            with contextlib.suppress(ValueError):
                value = self._loads(row)
                if type(value) is self._kind and self._is_like_the_first(value):
                    values.append(value)
        if self._kind is list:
            return [[value[place] for value in values] for place in places]
        return [[value.get(self.names[place]) for value in values] for place in places]

    def _is_like_the_first(self, value: Any) -> bool:
        if self._missing and isinstance(value, dict):
            return value.keys() <= set(self.names)
        return len(value) == len(self.names)

    def kind(self, place: int, cells: list[Any]) -> str:
        """Return what a column holds, judged by cells that are not missing; "" for numbers, and for lists of them."""
        key = place if self._kind is list else self.names[place]
        if key not in self._vectors and cells and isinstance(cells[0], list) and cells[0]:
            self._vectors[key] = len(cells[0])  # the cell of the first row is null
        numbers = any(type(cell) in (int, float) or self._is_vector(key, cell) for cell in cells)
        return kind_of(numbers, [cell if isinstance(cell, str) else "" for cell in cells])

    def _is_vector(self, key: Any, cell: Any) -> bool:
        """Return True if a cell is a list of numbers of the same length as in the first row."""
        if not isinstance(cell, list) or len(cell) != self._vectors.get(key):
            return False
        return all(type(entry) in (int, float) or (entry is None and self._missing) for entry in cell)

    def choose(self, places: list[int], label: int | None) -> list[str]:
        """Select columns; return the names of the features."""
        is_list = self._kind is list
        keys: list[Any] = [place if is_list else self.names[place] for place in places]
        widths = [self._vectors.get(key) for key in keys]
        names = [name for key, width in zip(keys, widths, strict=True) for name in vector_names(self._name(key), width)]
        self._chosen = Chosen(
            keys,
            label=None if label is None else label if is_list else self.names[label],
            widths=widths,
            absent={name: math.nan if name in keys else None for name in self.names},
            others=set() if is_list else set(self.names) - set(keys),
            pick=operator.itemgetter(*keys) if len(keys) > 1 else lambda value: (value[keys[0]],),
            pack=struct.Struct(f"{len(names)}d").pack,
        )
        return names

    def parse(self, block: Block) -> tuple[Array, list[str] | None]:
        """Return the features and labels of all rows."""
        lines, load, kind, width = self._lines(block), self._loads, self._kind, len(self.names)
        chosen = self._chosen
        values: list[Any] = [load(line) for line in lines]
        if any(type(value) is not kind for value in values):
            raise ValueError
        if self._missing:
            features = set(chosen.keys)
            values = [self._filled(value, features) for value in values]
        if any(len(value) != width for value in values):
            raise ValueError
        try:
            rows: list[Sequence[Any]] = [chosen.pick(value) for value in values]
            if any(chosen.widths):
                rows = [self._flat(row) for row in rows]
            packed = bytearray().join([chosen.pack(*row) for row in rows])
        except (KeyError, struct.error, OverflowError) as error:
            raise ValueError from error
        for key in chosen.others:
            if any(key not in value for value in values):
                raise ValueError
        # struct packs booleans, too, although they are not numbers.
        if (b"true" in block.data or b"false" in block.data) and any(type(c) is bool for row in rows for c in row):
            raise ValueError
        table = np.frombuffer(packed).reshape(len(rows), -1)
        if chosen.label is None:
            return table, None
        return table, [self._as_label(value[chosen.label], line) for value, line in zip(values, lines, strict=True)]

    def _flat(self, row: Sequence[Any]) -> list[Any]:
        """Return the cells of a row, with the entries of lists one by one."""
        flat: list[Any] = []
        for key, width, cell in zip(self._chosen.keys, self._chosen.widths, row, strict=True):
            if width is None:
                flat.append(cell)
            elif self._is_vector(key, cell):
                flat += [math.nan if entry is None else entry for entry in cell]
            elif self._missing and cell != cell:
                flat += [math.nan] * width
            else:
                raise ValueError
        return flat

    def _filled(self, value: Any, features: set[Any]) -> Any:
        """Return the same record with NaN for missing numbers."""
        if self._kind is list:
            return [math.nan if cell is None and i in features else cell for i, cell in enumerate(value)]
        known = {key: math.nan if cell is None and key in features else cell for key, cell in value.items()}
        return self._chosen.absent | known

    def _record(self, row: bytes) -> bytes:
        """Return the JSON text of a row."""
        return row

    def _lines(self, block: Block) -> list[bytes]:
        lines = block.data.split(b"\n")
        if len(lines) == len(block) + 1:
            return lines[:-1]
        return block.rows(0, len(block))

    def _as_label(self, cell: Any, line: bytes) -> str:
        if isinstance(cell, str):
            return cell
        if isinstance(cell, float) and abs(cell) >= 2**63:  # an integer of more than 64 bits, read as a float
            cell = json.loads(self._record(line))[self._chosen.label]
        return "" if cell is None else json.dumps(cell)

    def error(self, row: bytes) -> InputError:
        """Return the error that describes what is wrong with a row."""
        try:
            value: Any = self._loads(row)
        except ValueError as error:
            try:
                row.decode()
            except UnicodeDecodeError as mistake:
                return not_utf8(row[mistake.start])
            return InputError(f"is not JSON: {error}")
        if not isinstance(value, dict | list):
            return InputError("is neither an object nor an array")
        if type(value) is not self._kind:
            return InputError(": objects and arrays are mixed")
        if isinstance(value, dict):
            missing = next((name for name in self.names if name not in value), None)
            if missing is not None and not self._missing:
                return InputError(f"has no {missing!r}, which the first line has")
            if not set(value) <= set(self.names):
                unknown = next(key for key in value if key not in self.names)
                return InputError(f"has {unknown!r}, which the first line does not have")
        elif len(value) != len(self.names):
            number = "1 cell" if len(value) == 1 else f"{len(value)} cells"
            return InputError(f"has {number}, but the first line has {len(self.names)}")
        found: Any = value  # an object or an array, as the keys are
        for key in self._chosen.keys:
            cell: Any = found.get(key) if isinstance(found, dict) else found[key]
            if cell is None and self._missing:
                continue
            if self._vectors.get(key) is not None:
                if not self._is_vector(key, cell):
                    problem = f"is not a list of {self._vectors[key]} numbers, as in the first line"
                    return InputError(problem, column=self._name(key))
                cell = max(cell, key=lambda entry: abs(entry or 0)) or 0
            if type(cell) not in (int, float):
                return not_a_number(self._as_label(cell, row), self._name(key))
            if cell in self._marks.numbers:
                return InputError(f"is {cell}", column=self._name(key), advice="missing")
            if not abs(cell) <= LARGEST_NUMBER:
                return unusable(cell, column=self._name(key))
        return InputError("cannot be read")

    def _name(self, key: Any) -> str:
        return self.names[key] if self._kind is list else key
