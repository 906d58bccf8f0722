"""Files of machine code: where they are, what they are called, and that they are whole.

A file is for one processor, one Python and one numba, and for the sources of the kernels as they are, all of which its
name tells; so one that does not fit is not found.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]

HEAD = struct.Struct("<8sq32s")
"""Of a file: what it is, the bytes of the kernel, after which comes the door, and a digest of both."""
MAGIC = b"driftmap"


def read(path: Path) -> tuple[bytes, bytes]:
    """The code of a kernel and of its door."""
    content = path.read_bytes()
    try:
        magic, first, expected = HEAD.unpack_from(content)
    except struct.error as error:
        raise ValueError(f"{path} is cut off") from error
    kernel, door = content[HEAD.size :][:first], content[HEAD.size :][first:]
    if magic != MAGIC or _digest_of(kernel, door) != expected:
        raise ValueError(f"{path} is damaged")
    return kernel, door


def keep(name: str, kernel: bytes, door: bytes) -> None:
    """Write a file, where that is possible; files of the same kernel as it was before are removed."""
    head = HEAD.pack(MAGIC, len(kernel), _digest_of(kernel, door))
    for folder in folders():
        new = folder / f".{name}.{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                new.write_bytes(head + kernel + door)
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
    """A digest of what else their code depends on: the processor, Python, numba, and what is asked of it."""
    numba, version = importlib.util.find_spec("numba"), b""
    with contextlib.suppress(OSError):
        version = (Path((numba and numba.origin) or "").parent / "_version.py").read_bytes()
    asked = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    features = llvm.get_host_cpu_features().flatten()
    return digest(
        version,
        llvmlite.__version__,
        llvm.get_host_cpu_name(),
        features,
        sys.version,
        str(object.__basicsize__),
        *asked,
    )


def _digest_of(kernel: bytes, door: bytes) -> bytes:
    return hashlib.sha256(len(kernel).to_bytes(8, "little") + kernel + door).digest()


def digest(*parts: str | bytes) -> str:
    """A short name for something that has these parts."""
    whole = hashlib.sha256()
    for part in parts:
        part = part if isinstance(part, bytes) else part.encode()
        whole.update(len(part).to_bytes(8, "little") + part)
    return whole.hexdigest()[:16]
