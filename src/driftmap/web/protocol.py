"""Messages to the browser: a JSON header and arrays. ``docs/protocol.md`` specifies them."""

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
"""The header and each array are padded to a multiple of this many bytes."""


class Quantized(NamedTuple):
    """Numbers stored as ``low + step * code``; the largest code is a missing value."""

    codes: NDArray[Any]
    low: float
    step: float


def missing_code(kind: str) -> int:
    """Return the code of a missing value."""
    return int(2 ** (8 * TYPES[kind].itemsize) - 1)


def quantize(values: Array, kind: str) -> Quantized:
    """Encode numbers in one byte ("u1") or two ("u2") each. Whole numbers stay exact if the codes suffice.

    >>> quantize(np.array([1.0, 2.5, np.nan]), "u1")
    Quantized(codes=array([  0, 254, 255], dtype=uint8), low=1.0, step=0.005905511811023622)
    >>> quantize(np.array([1.0, 2.0, np.nan]), "u1")
    Quantized(codes=array([  0,   1, 255], dtype=uint8), low=1.0, step=1.0)
    """
    known, missing = np.isfinite(values), missing_code(kind)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    is_exact = high - low < missing and bool((values[known] == np.floor(values[known])).all())
    step = 1.0 if is_exact else (high - low) / (missing - 1)
    codes = np.rint((np.where(known, values, low) - low) / step)
    return Quantized(np.where(known, codes, missing).astype(TYPES[kind]), low, step)


def encode(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Quantized]) -> bytes:
    """Return a message. Arrays keep single or double precision (integers become double) or are stored as codes.

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
    """Return the header and the arrays of a message; raise ValueError if it is not a message of this version."""
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
