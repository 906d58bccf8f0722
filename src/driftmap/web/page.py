"""Bundles the ES modules of ``static`` into one module, and writes maps as single HTML files."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array
from driftmap.web.columns import Column
from driftmap.web.protocol import TYPES, Quantized, encode, missing_code, quantize

WEB = Path(__file__).parent / "static"
IMPORT = re.compile(r'^import [^;]*? from "\./([a-z_]+\.js)";\n', re.MULTILINE)
COMMENT = re.compile(r"^ */\*\*.*?\*/\n|^ *//[^\n]*\n", re.MULTILINE | re.DOTALL)
"""Comments that begin a line."""
EXPORT = re.compile(r"^export (?=(async )?(function|class|const)\b)", re.MULTILINE)
BUDGET = 1_750_000
"""Target size of the numbers in a file, in bytes before compression; larger maps are stored with lower precision."""
PRECISIONS = (("f4", "f4"), ("f4", "u2"), ("u2", "u2"), ("u2", "u1"))
"""Types of positions and of columns, finest first."""


class Changes(NamedTuple):
    """What has changed: a report, and the cells that grew or shrank."""

    report: dict[str, Any]
    positions: Array
    log_ratios: Array


PAGE_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="driftmap"></div>
<noscript>This map is drawn by a script; allow scripts for this file.</noscript>
<script type="text/plain" id="data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


@cache
def joined(entry: str) -> str:
    """Bundle a module with its imports into one module without comments: each module follows its dependencies."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in done:
            text = (WEB / name).read_text("utf-8")
            for needed in IMPORT.findall(text):
                add(needed)
            done[name] = COMMENT.sub("", EXPORT.sub("", IMPORT.sub("", text)))

    add(entry)
    return "\n".join(done.values())


@cache
def style() -> str:
    """Return the style sheet of the map."""
    return (WEB / "style.css").read_text("utf-8")


@cache
def page_style() -> str:
    """Return the style sheet of a page that consists of the map."""
    return style() + (WEB / "page.css").read_text("utf-8")


def standalone(
    coordinates: Array,
    columns: Sequence[Column],
    landmarks: tuple[NDArray[Any], Array, Array] | None,
    title: str,
    color: str | None,
    note: str,
    limits: str,
    axes: Sequence[str | None],
    changes: Changes | None = None,
) -> str:
    """Return a map as an HTML file; ``landmarks`` are arrival numbers, coordinates and masses."""
    message = _message(coordinates, columns, landmarks, title, color, note, limits, axes, changes)
    sheet, script = page_style(), joined("file.js")
    return PAGE_TEMPLATE.format(
        title=html.escape(title),
        style=sheet,
        script=script,
        data=base64.b64encode(zlib.compress(message, 9)).decode(),
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(sheet)}'",
    )


def _message(
    coordinates: Array,
    columns: Sequence[Column],
    landmarks: tuple[NDArray[Any], Array, Array] | None,
    title: str,
    color: str | None,
    note: str,
    limits: str,
    axes: Sequence[str | None],
    changes: Changes | None,
) -> bytes:
    n = len(coordinates)
    numbers = sum(column.kind != "category" for column in columns)
    categories = sum(n * TYPES[_code_type(column)].itemsize for column in columns if column.kind == "category")
    sizes = [n * (2 * TYPES[place].itemsize + numbers * TYPES[value].itemsize) for place, value in PRECISIONS]
    fits = next((i for i, size in enumerate(sizes) if size + categories <= BUDGET), len(PRECISIONS) - 1)
    place, value = PRECISIONS[fits]
    arrays: dict[str, NDArray[Any] | Quantized] = {
        "x": _as_kind(coordinates[:, 0], place),
        "y": _as_kind(coordinates[:, 1], place),
    }
    described = [column.described() for column in columns]
    for j, column in enumerate(columns):
        codes = column.kind == "category" and _code_type(column) != "f4"
        array = (
            _codes(column)
            if codes
            else _as_kind(column.values, "u2" if (column.kind, value) == ("date", "u1") else value)
        )
        if isinstance(array, Quantized) and not codes and array.step != 1.0:
            described[j]["step"] = array.step
        arrays[f"v{j}"] = array
    if landmarks is not None:
        arrivals, positions, masses = landmarks
        x, y = positions.T.astype(np.float32)
        arrays |= {"landmark": arrivals, "landmark_x": x, "landmark_y": y, "mass": masses}
    header: dict[str, Any] = {
        "kind": "whole",
        "title": title,
        "color": color,
        "note": note,
        "limits": limits,
        "axes": axes,
        "columns": described,
        "capacity": max(1, n),
        "oldest": 0,
        "first": 0,
        "alerts": [],
    }
    if changes is not None:
        header["change"] = changes.report
        x, y = changes.positions.T.astype(np.float32)
        arrays |= {"change_x": x, "change_y": y, "change": changes.log_ratios}
    return encode(header, arrays)


def _as_kind(values: Array, kind: str) -> NDArray[Any] | Quantized:
    return values.astype(np.float32) if kind == "f4" else quantize(values, kind)


def _code_type(column: Column) -> str:
    return "u1" if len(column.names) < 2**8 else "u2" if len(column.names) < 2**16 else "f4"


def _codes(column: Column) -> Quantized:
    kind = _code_type(column)
    return Quantized(np.nan_to_num(column.values, nan=missing_code(kind)).astype(TYPES[kind]), 0.0, 1.0)


def _hash(text: str) -> str:
    """Return the source expression by which a Content-Security-Policy allows an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
