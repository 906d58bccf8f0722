"""Files of every format in the table, written by the format's own writer or, where it has none, by pyarrow."""

import bz2
import gzip
import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather

from driftmap.sources.files import COMPRESSIONS
from driftmap.tables.formats import ARROW, CSV, EXCEL, FEATHER, FORMATS, JSON, TSV

NAMES = ["a", "b", "c"]
LABEL = "name"


def names_of(kind):
    """The names of all columns."""
    return [LABEL, *NAMES] if kind.holds_text else NAMES


def ours(kind, rows, labels):
    file = io.BytesIO()
    writer = kind.writer(file, names_of(kind))
    writer.write([*([labels] if kind.holds_text else []), *np.array(rows, dtype=np.float64).T])
    writer.close()
    return file.getvalue()


def arrow(rows, labels):
    table = pa.table({LABEL: labels, **dict(zip(NAMES, np.array(rows, dtype=np.float64).T, strict=True))})
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=30)
    return file.getvalue()


def feather(rows, labels):
    file = io.BytesIO()
    table = pa.table({LABEL: labels, **dict(zip(NAMES, np.array(rows, dtype=np.float64).T, strict=True))})
    pyarrow.feather.write_feather(table, file)
    return file.getvalue()


def records(rows, labels):
    names = [LABEL, *NAMES]
    return json.dumps(
        [dict(zip(names, [label, *map(float, row)], strict=True)) for label, row in zip(labels, rows, strict=True)],
        indent=1,
    ).encode()


WORKBOOK = {
    "[Content_Types].xml": (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<sheets><sheet name="rows" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>'
    ),
}
"""The parts of a workbook besides its sheet."""


def workbook(cells):
    """A workbook with these cells, by row; numbers have all their digits, which openpyxl would round."""
    rows = []
    for i, row in enumerate(cells):
        shown = [
            f'<c r="{chr(65 + j)}{i + 1}" t="inlineStr"><is><t>{cell}</t></is></c>'
            if isinstance(cell, str)
            else f'<c r="{chr(65 + j)}{i + 1}"><v>{cell!r}</v></c>'
            for j, cell in enumerate(row)
            if cell is not None
        ]
        rows.append(f'<row r="{i + 1}">{"".join(shown)}</row>' if shown else "")
    sheet = f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{"".join(rows)}'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (WORKBOOK | {"xl/worksheets/sheet1.xml": f"{sheet}</sheetData></worksheet>"}).items():
            archive.writestr(name, text)
    return file.getvalue()


OTHERS = {
    JSON.name: records,
    EXCEL.name: lambda rows, labels: workbook(
        [[LABEL, *NAMES], *([label, *map(float, row)] for label, row in zip(labels, rows, strict=True))]
    ),
    TSV.name: lambda rows, labels: ours(CSV, rows, labels).replace(b",", b"\t"),
    ARROW.name: arrow,
    FEATHER.name: feather,
}
"""Formats that are only read."""


def written(kind, rows, labels):
    """The bytes of a file."""
    return ours(kind, rows, labels) if kind.writer is not None else OTHERS[kind.name](rows, labels)


def zipped(data, *names):
    """An archive with a file of each name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, data)
    return file.getvalue()


COMPRESS = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
    "bz2": bz2.compress,
    "zip": lambda data: zipped(data, "t"),
}


def compressed(data, compression):
    """The same, compressed."""
    return COMPRESS[compression.codec](data)


def files(rows, labels):
    """The names of files, one for each format, suffix and compression, and what makes their bytes."""
    found = {}
    for kind in FORMATS:
        for suffix in kind.suffixes:
            found[f"t{suffix}"] = kind, lambda kind=kind: written(kind, rows, labels)
            for way in COMPRESSIONS if kind.is_text else ():
                found[f"t{suffix}{way.suffix}"] = (
                    kind,
                    lambda kind=kind, way=way: compressed(written(kind, rows, labels), way),
                )
    return found
