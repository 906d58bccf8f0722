"""Files of every format in the table, written by the format's own writer or, where it has none, by pyarrow."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.feather

from driftmap.sources.files import COMPRESSIONS
from driftmap.tables.formats import ARROW, CSV, FEATHER, FORMATS, TSV

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


OTHERS = {
    TSV.name: lambda rows, labels: ours(CSV, rows, labels).replace(b",", b"\t"),
    ARROW.name: arrow,
    FEATHER.name: feather,
}
"""Formats that are only read."""


def written(kind, rows, labels):
    """The bytes of a file."""
    return ours(kind, rows, labels) if kind.writer is not None else OTHERS[kind.name](rows, labels)


def compressed(data, compression):
    """The same, compressed."""
    return gzip.compress(data, mtime=0) if compression.codec == "gzip" else pa.compress(data, "zstd", asbytes=True)


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
