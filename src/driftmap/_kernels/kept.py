"""Files of machine code: where they are, what they are called, and that they are whole.

A file is for one processor, one Python and one numba, and for the sources of the kernels as they are, all of which its
name tells; so one that does not fit is not found.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HEAD = struct.Struct("<8sq32s")
"""Of a file: what it is, the bytes of JSON that tell all but the code, and a digest of all this and the code."""
MAGIC = b"driftmap"
WORD = struct.Struct("<Q")
"""An address in code."""
PROCESSOR = {b"vendor_id", b"cpu family", b"model", b"model name", b"stepping", b"flags"}
"""What is told of a processor that its code may depend on."""


class Image(NamedTuple):
    """Machine code that is ready but for the addresses in it, which are words."""

    code: bytes
    start: int
    """Where the function begins that others call."""
    own: list[int]
    """Where something is referred to by its place in the code."""
    others: dict[str, list[int]]
    """Where a function of the process is referred to, by its name."""


NOTHING = Image(b"", 0, [], {})
"""Instead of code that cannot be kept."""


def read(path: Path) -> Image:
    """The code in a file."""
    content = path.read_bytes()
    try:
        magic, length, expected = HEAD.unpack_from(content)
    except struct.error as error:
        raise ValueError(f"{path} is cut off") from error
    about, code = content[HEAD.size :][:length], content[HEAD.size + length :]
    if magic != MAGIC or _digest_of(about, code) != expected:
        raise ValueError(f"{path} is damaged")
    return Image(code, *json.loads(about))


def keep(name: str, image: Image) -> None:
    """Write a file, where that is possible; files of the same kernel as it was before are removed."""
    about = json.dumps(image[1:]).encode()
    head = HEAD.pack(MAGIC, len(about), _digest_of(about, image.code))
    for folder in folders():
        new = folder / f".{name}.{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                new.write_bytes(head + about + image.code)
                new.replace(folder / name)
            except OSError:
                new.unlink(missing_ok=True)
                raise
            kernel_name, source, host, _ = name.split(".", 3)
            for old in folder.glob(f"{kernel_name}.*.{host}.*"):
                if old.name.split(".")[1] != source:
                    old.unlink(missing_ok=True)
            return


def folders() -> Iterator[Path]:
    """Where files may be, as with numba's own: where the user says; beside the sources; among the user's caches."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(given) / "driftmap"
        return
    yield Path(__file__).parent / "__pycache__"
    with contextlib.suppress(RuntimeError):  # there may be no home
        home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
        yield Path(home) / "driftmap"


@functools.cache
def sources() -> str:
    """A digest of everything that kernels are made of; nothing where that cannot be read, as in an archive."""
    here = Path(__file__).parent
    with contextlib.suppress(OSError):
        return digest(*(path.read_bytes() for path in [*sorted(here.glob("*.py")), here.parent / "state.py"]))
    return ""


@functools.cache
def host() -> str:
    """A digest of what else their code depends on: the processor, Python, numba, and what is asked of it.

    Nothing where the processor is not known.
    """
    processor = _processor()
    asked = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    versions = map(_version, ("numba", "llvmlite"))
    return digest(*versions, processor, sys.version, str(object.__basicsize__), *asked) if processor else ""


def _version(package: str) -> bytes:
    """What a package says of its version; it takes long to import."""
    found = importlib.util.find_spec(package)
    with contextlib.suppress(OSError):
        return (Path((found and found.origin) or "").parent / "_version.py").read_bytes()
    return b""


def _processor() -> bytes:
    """What Linux tells of the first processor."""
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open("rb") as file:
        lines = file.read(2**13).partition(b"\n\n")[0].splitlines()
        told = [line for line in lines if line.partition(b":")[0].strip() in PROCESSOR]
        return b"\n".join(told) if len(told) == len(PROCESSOR) else b""
    return b""


def _digest_of(about: bytes, code: bytes) -> bytes:
    return hashlib.sha256(len(about).to_bytes(8, "little") + about + code).digest()


def digest(*parts: str | bytes) -> str:
    """A short name for something that has these parts."""
    whole = hashlib.sha256()
    for part in parts:
        part = part if isinstance(part, bytes) else part.encode()
        whole.update(len(part).to_bytes(8, "little") + part)
    return whole.hexdigest()[:16]
