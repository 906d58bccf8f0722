"""A checkpoint: named arrays of numbers and a JSON header in one file, which is whole or refused.

The file is an uncompressed ZIP archive of NPY members, as ``numpy.load`` reads them, after one member of JSON that says
what each of them must be. Its last 64 bytes are the SHA-256 of all bytes before them, so no change goes unnoticed.
Nothing in it is ever executed. All numbers are little-endian. The same content gives the same bytes; the size is that
of the arrays, plus the header, plus about 400 bytes per array.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.storage.atomic import replacing
from driftmap.utils import PathLike

FORMAT = "driftmap checkpoint"
FORMAT_VERSION = 3
"""The version of the format that this library writes."""
READ_VERSIONS = (2, 3)
"""Versions that it reads. Version 2, of driftmap 0.2, also states a CRC-32 of each array, which is ignored."""
HEADER = "driftmap.json"
LARGEST_HEADER = 2**26
"""More bytes of JSON than this are not a header."""
DTYPES = frozenset({"|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)), "<f4", "<f8"})
"""What an array may hold: plain numbers and truth values."""
DIGEST = 64
COMMENT = b"sha256:" + b"0" * DIGEST
COPY_BYTES = 2**20

# What the readers of ZIP, NPY and JSON raise, given arbitrary bytes.
UNREADABLE = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, EOFError, MemoryError,
    NotImplementedError, RuntimeError, struct.error, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile, SyntaxError,
)  # fmt: skip


class CheckpointError(ValueError):
    """A checkpoint that cannot be written or read; the message names the file and takes one line."""


class Checkpoint(NamedTuple):
    """What a checkpoint holds."""

    header: dict[str, Any]
    """What was given to :func:`write`, and ``format``, ``version``, ``library`` and ``members``."""
    arrays: dict[str, NDArray[Any]]


def write(path: PathLike, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a checkpoint; ``path`` holds the old one or the new one at any moment, whatever happens.

    ``header`` may hold whatever JSON can.
    """
    text, stored = _prepared(path, header, arrays)
    try:
        with replacing(path) as file:
            _fill(file, text, stored)
    except OSError as error:
        intact = "; the checkpoint written before is intact" if Path(path).is_file() else ""
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}{intact}") from error


def to_bytes(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes that :func:`write` writes."""
    file = io.BytesIO()
    _fill(file, *_prepared("the checkpoint", header, arrays))
    return file.getvalue()


def _prepared(
    name: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """The header as text, and the arrays as they are stored."""
    stored = {name: _portable(name, array) for name, array in arrays.items()}
    members = {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in stored.items()}
    own = {"format": FORMAT, "version": FORMAT_VERSION, "library": _library(), "members": members}
    text = json.dumps({**own, **header, **own}, indent=1).encode()
    if len(text) > LARGEST_HEADER:
        raise CheckpointError(f"{name} cannot be written: its header would be larger than {LARGEST_HEADER} bytes")
    return text, stored


def _fill(file: BinaryIO, text: bytes, arrays: Mapping[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = COMMENT
        with archive.open(_member(HEADER), "w") as member:
            member.write(text)
        for name, array in arrays.items():
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    file.flush()
    digest = _digest(file)
    file.seek(-DIGEST, os.SEEK_END)
    file.write(digest)


def read(path: PathLike) -> Checkpoint:
    """Read a checkpoint, or raise a :class:`CheckpointError` that says what is wrong with the file."""
    try:
        if Path(path).exists() and not Path(path).is_file():  # a pipe would be waited for
            raise CheckpointError(f"{path} is not a file")
        with open(path, "rb") as file, reading(path):
            return _read(file, str(path))
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error


def from_bytes(blob: bytes, name: str = "the checkpoint") -> Checkpoint:
    """Return what bytes hold, or raise a :class:`CheckpointError` that says what is wrong with them."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise CheckpointError(f"{name} must be bytes, got {type(blob).__name__}")
    with reading(name):
        return _read(io.BytesIO(blob), name)


@contextlib.contextmanager
def reading(name: str | os.PathLike[str]) -> Iterator[None]:
    """Around what interprets a checkpoint: whatever arbitrary bytes raise becomes one error that names it."""
    try:
        yield
    except CheckpointError:
        raise
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CheckpointError(f"{name} is damaged: {reason}") from error


def _read(file: BinaryIO, name: str) -> Checkpoint:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(30 + len(HEADER))
    if not (start.startswith(b"PK\x03\x04") and start.endswith(HEADER.encode())):
        raise CheckpointError(f"{name} is empty" if size == 0 else f"{name} is not a Driftmap checkpoint")
    file.seek(max(0, size - len(COMMENT)))
    comment = file.read()
    if not comment.startswith(COMMENT[:-DIGEST]):
        raise CheckpointError(f"{name} is damaged: its end is missing or overwritten")
    if _digest(file) != comment[-DIGEST:]:
        raise CheckpointError(f"{name} is damaged: its bytes do not give its checksum")
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        # What members state is bounded by what is there, before any memory is asked for.
        if sum(info.file_size for info in infos) > size or any(info.compress_type for info in infos):
            raise ValueError("its members do not fit into it")
        if infos[0].filename != HEADER or infos[0].file_size > LARGEST_HEADER:
            raise ValueError("its header is too large or out of place")
        header = json.loads(archive.read(infos[0]))
        members = _check_header(header, name)
        if [info.filename for info in infos[1:]] != [f"{member}.npy" for member in members]:
            raise ValueError("it does not hold the arrays that its header lists")
        arrays = {
            member: _array(archive, info, stated)
            for info, (member, stated) in zip(infos[1:], members.items(), strict=True)
        }
    return Checkpoint(header, arrays)


def _check_header(header: Any, name: str) -> dict[str, dict[str, Any]]:
    """What the header says of the members, if it is one that this library understands."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CheckpointError(f"{name} is not a Driftmap checkpoint")
    version = header["version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"its version is {version!r}")
    if version not in READ_VERSIONS:
        advice = (
            "upgrade with pip install --upgrade driftmap" if version > FORMAT_VERSION else "start again from the data"
        )
        raise CheckpointError(
            f"{name} was written by driftmap {header.get('library')} in version {version} of the format; this is "
            f"driftmap {_library()}, which reads versions {READ_VERSIONS[0]} to {READ_VERSIONS[-1]}: {advice}"
        )
    members: dict[str, dict[str, Any]] = header["members"]
    for member, stated in members.items():
        if stated["dtype"] not in DTYPES or any(type(n) is not int or n < 0 for n in stated["shape"]):
            raise ValueError(f"its array {member!r} is stated to be {stated['dtype']!r} of shape {stated['shape']!r}")
    return members


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, stated: Mapping[str, Any]) -> NDArray[Any]:
    dtype, shape = np.dtype(stated["dtype"]), tuple(stated["shape"])
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(f"{info.filename} is of another version of NPY")
        if np.lib.format.read_array_header_1_0(member) != (shape, False, dtype):
            raise ValueError(f"{info.filename} is not what the header says")
        if member.tell() + math.prod(shape) * dtype.itemsize != info.file_size:
            raise ValueError(f"{info.filename} has not the size that its shape needs")
        array = np.empty(shape, dtype)
        rest = _bytes_of(array)
        while rest.nbytes:
            piece = member.read(min(COPY_BYTES, rest.nbytes))
            rest[: len(piece)] = piece
            rest = rest[len(piece) :]
            if not piece:
                raise EOFError(f"{info.filename} is cut off")
        if member.read(1):
            raise ValueError(f"{info.filename} is too long")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _portable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    stored = np.asarray(array, order="C")
    stored = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
    if stored.dtype.str not in DTYPES:
        raise TypeError(f"array {name!r} holds {array.dtype}; a checkpoint holds plain numbers only")
    return stored


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # a fixed time: the same content gives the same bytes
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


def _digest(file: BinaryIO) -> bytes:
    """The hexadecimal SHA-256 of all bytes but those that hold it."""
    left, digest = file.seek(0, os.SEEK_END) - DIGEST, hashlib.sha256()
    file.seek(0)
    while left > 0:
        piece = file.read(min(COPY_BYTES, left))
        if not piece:
            raise EOFError("it was cut while it was read")
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest().encode()


def _library() -> str:
    from importlib import metadata  # which takes a while to import

    try:
        return metadata.version("driftmap")
    except metadata.PackageNotFoundError:
        return "(not installed)"
