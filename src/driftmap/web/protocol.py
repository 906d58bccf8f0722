"""Messages to the browser: a JSON header and arrays. ``docs/protocol.md`` describes them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array

MESSAGE_MAGIC = b"DRM"
PROTOCOL_VERSION = 1
TYPES: dict[str, np.dtype[Any]] = {
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
    "u1": np.dtype("u1"),
    "u2": np.dtype("<u2"),
}
ALIGNMENT = 8
"""The header and each array take a multiple of so many bytes."""


class Quantized(NamedTuple):
    """Numbers as ``low + step * code``; the largest code is a missing value."""

    codes: NDArray[Any]
    low: float
    step: float


def missing_code(kind: str) -> int:
    """The code of a missing value."""
    return int(2 ** (8 * TYPES[kind].itemsize) - 1)


def quantize(values: Array, kind: str) -> Quantized:
    """Numbers by codes of one byte ("u1") or two ("u2").

    >>> quantize(np.array([1.0, 2.0, np.nan]), "u1")
    Quantized(codes=array([  0, 254, 255], dtype=uint8), low=1.0, step=0.003937007874015748)
    """
    known, missing = np.isfinite(values), missing_code(kind)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    step = (high - low) / (missing - 1) or 1.0
    codes = np.rint((np.where(known, values, low) - low) / step)
    return Quantized(np.where(known, codes, missing).astype(TYPES[kind]), low, step)


def encode(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Quantized]) -> bytes:
    """A message. Arrays have single or double precision, as they are given (integers double), or are their codes.

    >>> decode(encode({"kind": "delta"}, {"x": np.array([0.5, np.nan], np.float32), "first": np.array([2**40])}))
    ({'kind': 'delta'}, {'x': array([0.5, nan], dtype=float32), 'first': array([1.09951163e+12])})
    """
    described, parts = [], []
    for name, array in arrays.items():
        codes, scale = (
            (array.codes, {"low": array.low, "step": array.step}) if isinstance(array, Quantized) else (array, {})
        )
        kind = codes.dtype.str[1:] if scale or codes.dtype == np.float32 else "f8"
        data = np.ascontiguousarray(codes, dtype=TYPES[kind]).tobytes()
        described.append({"name": name, "type": kind, "size": codes.size, **scale})
        parts.append(data + bytes(-len(data) % ALIGNMENT))
    text = json.dumps({**header, "arrays": described}, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return b"".join([MESSAGE_MAGIC, bytes([PROTOCOL_VERSION]), struct.pack("<I", len(text)), text, *parts])


def decode(message: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a message, or a ValueError that says why it is none."""
    if message[:3] != MESSAGE_MAGIC:
        raise ValueError("this is not a message of Driftmap")
    if message[3] != PROTOCOL_VERSION:
        raise ValueError(f"the message has version {message[3]} of the protocol, this program reads {PROTOCOL_VERSION}")
    (length,) = struct.unpack_from("<I", message, 4)
    header = json.loads(message[8 : 8 + length])
    arrays, offset = {}, 8 + length
    for described in header.pop("arrays"):
        dtype, size = TYPES[described["type"]], described["size"]
        array: NDArray[Any] = np.frombuffer(message, dtype, size, offset)
        offset += array.nbytes + -array.nbytes % ALIGNMENT
        if "step" in described:
            numbers = described["low"] + described["step"] * array.astype(np.float64)
            array = np.where(array == missing_code(described["type"]), np.nan, numbers).astype(np.float32)
        arrays[described["name"]] = array
    return header, arrays
