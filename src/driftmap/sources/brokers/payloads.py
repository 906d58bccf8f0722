"""Messages as rows: JSON objects or arrays, lines of CSV, Arrow IPC streams of record batches, raw single precision."""

from __future__ import annotations

import numpy as np

PAYLOADS = ("json", "csv", "arrow", "float32")
IPC_STREAM_START = b"\xff\xff\xff\xff"
"""The first bytes of an IPC stream of Arrow."""


def rows_of(payload: bytes, kind: str | None = None) -> list[bytes]:
    """Return the rows of a message, each the bytes of one line of JSON or CSV with its line end.

    Without ``kind`` the bytes decide; single precision has to be named. Bytes that cannot be decoded become a line that
    the parser rejects, so that the row is reported or skipped like any other bad line.

    >>> rows_of(b'{"a": 1,\\n "b": 2}'), rows_of(b"1,2\\n3,4\\n")
    ([b'{"a": 1,  "b": 2}\\n'], [b'1,2\\n', b'3,4\\n'])
    >>> rows_of(np.array([0.5, 2.0], dtype="<f4").tobytes(), "float32")
    [b'[0.5,2.0]\\n']
    """
    if kind == "float32":
        return [_numbers(payload)]
    if kind == "arrow" or (kind is None and payload.startswith(IPC_STREAM_START)):
        return _record_batches(payload)
    if kind == "csv" or (kind is None and payload.lstrip()[:1] not in (b"{", b"[")):
        return [line + b"\n" for line in payload.splitlines() if line.strip()]
    return [payload.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"]  # white space between the tokens of JSON


def _numbers(payload: bytes) -> bytes:
    import orjson

    if len(payload) % 4:
        return b'"%d bytes are no numbers of single precision"\n' % len(payload)
    return orjson.dumps(np.frombuffer(payload, dtype="<f4").astype(np.float64).tolist()) + b"\n"


def _record_batches(payload: bytes) -> list[bytes]:
    import orjson
    import pyarrow

    try:
        table = pyarrow.ipc.open_stream(payload).read_all()
        return [orjson.dumps(row, default=str) + b"\n" for row in table.to_pylist()]
    except (pyarrow.ArrowException, OSError, ValueError, TypeError):
        return [b'"no Arrow IPC stream"\n']
