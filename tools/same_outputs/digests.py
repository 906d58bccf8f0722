"""Digests of the outputs of a case, without the parts that may differ between versions of the library."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
import zlib
from pathlib import Path

import numpy as np

DIGITS = 16
"""Hexadecimal digits of the SHA-256 that are kept: 64 bits distinguish a few hundred outputs."""
IGNORED = (".driftmap", ".lock")
"""Suffixes that are not compared: recordings of a live view depend on time."""
SCRIPT = re.compile(rb"(<script(?![^>]*\bid=\"data\")[^>]*>).*?(</script>)", re.DOTALL)
STYLE = re.compile(rb"(<style>).*?(</style>)", re.DOTALL)
POLICY = re.compile(rb'(Content-Security-Policy" content=")[^"]*')
DATA = re.compile(rb'(<script[^>]*\bid="data"[^>]*>)(.*?)(</script>)', re.DOTALL)


def digest(data: bytes) -> str:
    """Return the first digits of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def outputs(folder: Path, inputs: dict[str, bytes]) -> dict[str, str]:
    """Return the digests of all files in a folder, except unchanged inputs."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in IGNORED]
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {
        name: digest(comparable(path))
        for name, path in named.items()
        if not (name in inputs and path.read_bytes() == inputs[name])
    }


def comparable(path: Path) -> bytes:
    """Return the part of a file that must stay the same."""
    data = path.read_bytes()
    if path.suffix == ".ckpt":
        return arrays(data)
    if path.suffix == ".html":
        return page(data)
    return data


def arrays(data: bytes) -> bytes:
    """Describe the arrays in a checkpoint, sorted, without their names and the header."""
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(archive.read(name)))
                found.append(f"{array.dtype.str} {array.shape} {digest(array.tobytes())}")
    return "\n".join(sorted(found)).encode()


def page(data: bytes) -> bytes:
    """Return a page without scripts, style and their digests, with its data uncompressed."""
    data = DATA.sub(lambda found: found[1] + zlib.decompress(base64.b64decode(found[2])) + found[3], data)
    return POLICY.sub(rb"\1", STYLE.sub(rb"\1\2", SCRIPT.sub(rb"\1\2", data)))
