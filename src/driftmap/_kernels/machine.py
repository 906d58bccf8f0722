"""Kernels as machine code in files of our own, which load without numba.

To import numba, and all it needs to load what it compiled before, takes longer than all else that many a command does.
So here a kernel is kept as machine code, together with its *door*: a function that takes Python's objects, looks
whether arrays are such as the kernel was compiled for, and hands on where their numbers are. llvmlite alone loads both.
Where there is no such file, numba compiles the kernel (:mod:`driftmap._kernels.assemble`) and the file is written; what
cannot be kept this way is left to numba.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numpy as np

HEAD = struct.Struct("<8sqq32s")
"""Of a file: what it is, the bytes of the kernel and of the door, and a digest of both."""
MAGIC = b"driftmap"
OTHER = -100
"""What a door returns if the arguments are not what it expects."""
DONE = (0, -2)
"""What numba's functions return if nothing went wrong: there is a result, or None."""
BASE = object.__basicsize__
FIELDS = {"data": 0, "nd": 8, "shape": 16, "strides": 24, "dtype": 40, "flags": 48}
"""Where an array holds what, from :data:`BASE` on; NumPy promises other compiled modules that this stays so."""
PLAIN = 0x101
"""The flags of an array that is contiguous and aligned."""
C_TYPES: dict[str, Any] = {"i": ctypes.c_longlong, "f": ctypes.c_double, "b": ctypes.c_ubyte}
FORMATS = {"i": "q", "f": "d", "b": "?7x"}
NOTHING = b"", b"", ""
"""Instead of code that cannot be kept."""
# What numba's code may refer to, though it has no array of its own to give back.
SUPPORT = "define void @NRT_MemInfo_call_dtor(i64 %nothing) { ret void }"


class UnsuitableError(Exception):
    """This cannot be done by machine code from a file."""


class Loaded(NamedTuple):
    """A door."""

    call: Any
    returns: struct.Struct | None
    single: bool


class Code(NamedTuple):
    """A door, and the types of arrays that it is for; their objects are kept, since doors know them by their places."""

    door: Loaded
    expected: Any
    dtypes: list[Any]

    def __call__(self, arguments: Sequence[Any]) -> tuple[bool, Any]:
        """Whether the arguments are what is expected; if so, they have been used, and this is the result."""
        returns = self.door.returns
        room = None if returns is None else ctypes.create_string_buffer(returns.size)
        try:
            status = self.door.call(self.expected, room, *arguments)
        except ctypes.ArgumentError:  # numbers of NumPy's, or others
            return False, None
        if status == OTHER:
            return False, None
        if status not in DONE:
            raise RuntimeError(f"a kernel ended with {status}")
        if returns is None:
            return True, None
        values = returns.unpack(room)  # type: ignore[arg-type]
        return True, values[0] if self.door.single else values


class Kernel:
    """A kernel that is loaded when it is called first, for the kinds of arguments it is called with."""

    def __init__(self, name: str, module: str) -> None:
        self.name, self.module = name, module
        self.doors: dict[tuple[str, ...], Loaded | None] = {}
        self.last: Code | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Do what numba's function does."""
        if self.last is not None:
            done, result = self.last(arguments)
            if done:
                return result
        arguments = tuple(map(_plain, arguments))
        door = self._door(arguments)
        if door is None:
            return self.dispatcher(*arguments)
        self.last = _expecting(door, arguments)
        done, result = self.last(arguments)
        if not done:
            raise TypeError(f"{self.name} is not for such arguments")
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.name, self.module)

    @property
    def dispatcher(self) -> Any:
        """Numba's function."""
        return getattr(import_module(self.module), self.name)

    def is_kept(self) -> bool:
        """Whether there is a file of it."""
        pattern = f"{self.name}.{sources()}.{machine()}.*"
        return any(True for folder in folders() for _ in folder.glob(pattern))

    def _door(self, arguments: Sequence[Any]) -> Loaded | None:
        try:
            kinds = tuple(map(kind_of, arguments))
        except UnsuitableError:
            return None
        if kinds not in self.doors:
            try:
                self.doors[kinds] = self._load(kinds, arguments)
            except UnsuitableError:
                self.doors[kinds] = None
        return self.doors[kinds]

    def _load(self, kinds: Sequence[str], arguments: Sequence[Any]) -> Loaded:
        name = f"{self.name}.{sources()}.{machine()}.{_digest(*kinds)}"
        for folder in folders():
            with contextlib.suppress(OSError, ValueError):
                return load(name, kinds, *read(folder / f"{name}.code"))
        from driftmap._kernels.assemble import assemble

        try:
            parts = assemble(self.dispatcher, name, kinds, arguments)
        except UnsuitableError:
            parts = NOTHING  # which is kept as well, so that nobody tries again
        keep(f"{name}.code", *parts)
        return load(name, kinds, *parts)


def _plain(argument: Any) -> Any:
    """Numbers as Python's."""
    return argument.item() if isinstance(argument, np.generic) else argument


def kind_of(argument: Any) -> str:
    """What a kernel has to know of an argument beforehand."""
    if isinstance(argument, np.ndarray):
        if not (argument.flags.c_contiguous and argument.flags.aligned):
            raise UnsuitableError
        return f"{argument.ndim} {argument.dtype.descr}"
    for kind, types in {"n": type(None), "b": bool, "i": int, "f": float}.items():
        if isinstance(argument, types):
            return kind
    raise UnsuitableError


def _expecting(door: Loaded, arguments: Sequence[Any]) -> Code:
    dtypes = [getattr(argument, "dtype", None) for argument in arguments]
    places = [0 if dtype is None else id(dtype) for dtype in dtypes]
    return Code(door, (ctypes.c_void_p * len(places))(*places), dtypes)


# --- files ---


def read(path: Path) -> tuple[bytes, bytes, str]:
    """The kernel, its door and what it returns."""
    content = path.read_bytes()
    try:
        magic, first, second, digest = HEAD.unpack_from(content)
    except struct.error as error:
        raise ValueError(f"{path} is cut off") from error
    body = content[HEAD.size :]
    if magic != MAGIC or hashlib.sha256(body).digest() != digest:
        raise ValueError(f"{path} is damaged")
    return body[:first], body[first : first + second], body[first + second :].decode()


def keep(name: str, kernel: bytes, door: bytes, returns: str) -> None:
    """Write a file, where that is possible; files of the same kernel as it was before are removed."""
    body = kernel + door + returns.encode()
    head = HEAD.pack(MAGIC, len(kernel), len(door), hashlib.sha256(body).digest())
    for folder in folders():
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            new = folder / f".{name}.{os.getpid()}"
            new.write_bytes(head + body)
            new.replace(folder / name)
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
    """A digest of everything that kernels are made of."""
    here = Path(__file__).parent
    files = [*sorted(here.glob("*.py")), here.parent / "state.py"]
    return _digest(*(path.read_bytes() for path in files))


@functools.cache
def machine() -> str:
    """A digest of what else their code depends on: the processor, numba, and what is asked of it."""
    numba = importlib.util.find_spec("numba")
    version = b"" if numba is None or numba.origin is None else (Path(numba.origin).parent / "_version.py").read_bytes()
    asked = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    features = llvm.get_host_cpu_features().flatten()
    return _digest(version, llvmlite.__version__, llvm.get_host_cpu_name(), features, sys.platform, str(BASE), *asked)


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        part = part if isinstance(part, bytes) else part.encode()
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:16]


# --- code ---


def load(name: str, kinds: Sequence[str], kernel: bytes, door: bytes, returns: str) -> Loaded:
    """Make code ready to be called."""
    if not (kernel and _layout_holds()):
        raise UnsuitableError
    engine = _engine()
    for part in (kernel, door):
        engine.add_object_file(llvm.ObjectFileRef.from_data(part))
    engine.finalize_object()
    types = [C_TYPES.get(kind, ctypes.py_object) for kind in kinds if kind != "n"]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *types)
    result = struct.Struct("<" + "".join(FORMATS[kind] for kind in returns)) if returns else None
    return Loaded(kind(engine.get_function_address(symbol(name))), result, len(returns) == 1)


def symbol(name: str) -> str:
    """The name of a door in its code."""
    return f"door_{name.replace('.', '_')}"


@functools.cache
def _engine() -> Any:
    """What loads code and keeps it in memory. Functions of one name, which several kernels may have, are the same."""
    return llvm.create_mcjit_compiler(llvm.parse_assembly(SUPPORT), target_machine())


def target_machine() -> Any:
    """The machine that code is made for and loaded on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, jit=True)


@functools.cache
def _layout_holds() -> bool:
    """Whether arrays hold what they hold where we think they do."""
    array = np.zeros((3, 5), np.float32)
    read: Callable[[str, Any], Any] = lambda name, kind: kind.from_address(id(array) + BASE + FIELDS[name])  # noqa: E731
    shape, strides = (read(name, ctypes.POINTER(ctypes.c_ssize_t)) for name in ("shape", "strides"))
    return bool(
        read("data", ctypes.c_void_p).value == array.ctypes.data
        and read("nd", ctypes.c_int).value == array.ndim
        and (shape[0], shape[1], strides[0], strides[1]) == array.shape + array.strides
        and read("dtype", ctypes.c_void_p).value == id(array.dtype)
        and read("flags", ctypes.c_int).value == array.flags.num
    )
