"""Kernels as machine code in files of our own, which load without numba.

To import numba, and all it needs to load what it compiled before, takes longer than all else that many a command does.
So here a kernel is kept as machine code, together with its *door*: a function that takes Python's objects, looks
whether they are such as the kernel was compiled for, and hands on where the numbers of arrays are. llvmlite alone loads
both. Where there is no such file, numba compiles the kernel (:mod:`driftmap._kernels.assemble`) and the file is
written; what cannot be kept this way is left to numba.
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
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numpy as np

HEAD = struct.Struct("<8sq32s")
"""Of a file: what it is, the bytes of the kernel, after which comes the door, and a digest of both."""
MAGIC = b"driftmap"
BASE = object.__basicsize__
FIELDS = {"data": 0, "nd": 8, "shape": 16, "strides": 24, "dtype": 40, "flags": 48}
"""Where an array holds what, from :data:`BASE` on; NumPy promises other compiled modules that this stays so."""
PLAIN = 0x101
"""The flags of an array that is contiguous and aligned."""
REFUSED, FAILED = object(), object()
"""What a door returns if it is not for such arguments, and if the kernel ended with an error."""
KNOWN = (REFUSED, FAILED, None, True, bool, int, float, np.ndarray)
"""Objects that doors have to know."""
DOOR = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
NOTHING = b"", b""
"""Instead of code that cannot be kept."""
# What numba's code may refer to, though it has no array of its own to give back.
SUPPORT = "define void @NRT_MemInfo_call_dtor(i64 %nothing) { ret void }"

_loading = threading.RLock()
"""Held by the thread that compiles or loads something, so that nothing is loaded twice."""
_loaded: dict[str, Any] = {}


def _unlock() -> None:
    """In the copy of a process there is no thread that would let go of the lock."""
    global _loading
    _loading = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


class Unsuitable(Exception):  # noqa: N818 - no mistake of anybody's
    """This cannot be done by machine code from a file."""


class Kernel:
    """A kernel that is loaded when it is called first, for the kinds of arguments it is called with."""

    def __init__(self, name: str, module: str) -> None:
        self.name, self.module = name, module
        self.doors: dict[tuple[str, ...], Any] = {}
        """By kinds of arguments; None: it is left to numba."""
        # The last door, the table it needs and the types in it: a table holds the places of these objects, which must
        # stay there, so all three change at once.
        self._last: tuple[Callable[[tuple[Any, ...], Any], Any], Any, Any] = (_closed, None, None)

    def __call__(self, *arguments: Any) -> Any:
        """Do what numba's function does."""
        last = self._last
        result = last[0](arguments, last[1])
        if result is REFUSED:
            result = self._other(tuple(map(_plain, arguments)))
        if result is FAILED:
            raise RuntimeError(f"the kernel {self.name} ended with an error")
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)

    @property
    def dispatcher(self) -> Any:
        """Numba's function."""
        return getattr(import_module(self.module), self.name)

    def is_kept(self) -> bool:
        """Whether there is a file of it."""
        if not sources():
            return False
        pattern = f"{self.name}.{sources()}.{machine()}.*"
        return any(True for folder in folders() for _ in folder.glob(pattern))

    def _other(self, arguments: tuple[Any, ...]) -> Any:
        """Find the door for arguments that the last one was not for."""
        door = self._find(arguments)
        if door is None:
            dispatcher = self.dispatcher
            self._last = (lambda arguments, table: dispatcher(*arguments)), None, None  # from now on, for all
            return dispatcher(*arguments)
        dtypes = [getattr(argument, "dtype", None) for argument in arguments]
        places = [id(known) for known in (*KNOWN, *dtypes)]
        self._last = last = door, (ctypes.c_void_p * len(places))(*places), dtypes
        result = door(arguments, last[1])
        if result is REFUSED:
            raise TypeError(f"{self.name} is not for such arguments")
        return result

    def _find(self, arguments: Sequence[Any]) -> Any:
        try:
            kinds = tuple(map(kind_of, arguments))
        except Unsuitable:
            return None
        with _loading:
            if kinds not in self.doors:
                try:
                    self.doors[kinds] = self._load(kinds, arguments)
                except Unsuitable:
                    self.doors[kinds] = None
        return self.doors[kinds]

    def _load(self, kinds: Sequence[str], arguments: Sequence[Any]) -> Any:
        if not sources():
            raise Unsuitable
        name = f"{self.name}.{sources()}.{machine()}.{_digest(*kinds)}"
        for folder in folders():
            with contextlib.suppress(OSError, ValueError):
                return load(name, *read(folder / f"{name}.code"))
        from driftmap._kernels.assemble import assemble

        try:
            parts = assemble(self.dispatcher, name, kinds, arguments)
        except Unsuitable:
            parts = NOTHING  # which is kept as well, so that nobody tries again
        keep(f"{name}.code", *parts)
        return load(name, *parts)


def _named(name: str) -> Any:
    """A kernel as this process has it."""
    return getattr(import_module("driftmap._kernels.doors"), name)


def _closed(arguments: tuple[Any, ...], table: Any) -> Any:
    """A door for nothing."""
    return REFUSED


def _plain(argument: Any) -> Any:
    """Numbers as Python's, arrays as NumPy's own."""
    if isinstance(argument, np.generic):
        return argument.item()
    return np.asarray(argument) if isinstance(argument, np.ndarray) else argument


def kind_of(argument: Any) -> str:
    """What a kernel has to know of an argument beforehand."""
    if isinstance(argument, np.ndarray):
        if not (argument.flags.c_contiguous and argument.flags.aligned):
            raise Unsuitable
        return f"{argument.ndim} {argument.dtype.descr}"
    for kind, exact in {"n": type(None), "b": bool, "i": int, "f": float}.items():
        if type(argument) is exact:
            return kind
    raise Unsuitable


# --- files ---


def read(path: Path) -> tuple[bytes, bytes]:
    """The code of a kernel and of its door."""
    content = path.read_bytes()
    try:
        magic, first, digest = HEAD.unpack_from(content)
    except struct.error as error:
        raise ValueError(f"{path} is cut off") from error
    kernel, door = content[HEAD.size :][:first], content[HEAD.size :][first:]
    if magic != MAGIC or _digest_of(kernel, door) != digest:
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
        return _digest(*(path.read_bytes() for path in [*sorted(here.glob("*.py")), here.parent / "state.py"]))
    return ""


@functools.cache
def machine() -> str:
    """A digest of what else their code depends on: the processor, Python, numba, and what is asked of it."""
    numba, version = importlib.util.find_spec("numba"), b""
    with contextlib.suppress(OSError):
        version = (Path((numba and numba.origin) or "").parent / "_version.py").read_bytes()
    asked = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    features = llvm.get_host_cpu_features().flatten()
    return _digest(version, llvmlite.__version__, llvm.get_host_cpu_name(), features, sys.version, str(BASE), *asked)


def _digest_of(kernel: bytes, door: bytes) -> bytes:
    return hashlib.sha256(len(kernel).to_bytes(8, "little") + kernel + door).digest()


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        part = part if isinstance(part, bytes) else part.encode()
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:16]


# --- code ---


def load(name: str, kernel: bytes, door: bytes) -> Any:
    """Make code ready to be called."""
    if not (kernel and _layout_holds()):
        raise Unsuitable
    if name not in _loaded:
        engine = _engine()
        for part in (kernel, door):
            engine.add_object_file(llvm.ObjectFileRef.from_data(part))
        engine.finalize_object()
        _loaded[name] = DOOR(engine.get_function_address(symbol(name)))
    return _loaded[name]


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
    """Whether arrays and tuples hold what they hold where we think they do."""
    array = np.zeros((3, 5), np.float32)
    pair = (array, None)

    def at(thing: Any, offset: int, kind: Any) -> Any:
        return kind.from_address(id(thing) + offset)

    def field(name: str, kind: Any) -> Any:
        return at(array, BASE + FIELDS[name], kind)

    shape, strides = (field(name, ctypes.POINTER(ctypes.c_ssize_t)) for name in ("shape", "strides"))
    return bool(
        at(array, BASE - 8, ctypes.c_void_p).value == id(np.ndarray)
        and at(pair, BASE, ctypes.c_ssize_t).value == len(pair)
        and at(pair, tuple.__basicsize__, ctypes.c_void_p).value == id(array)
        and field("data", ctypes.c_void_p).value == array.ctypes.data
        and field("nd", ctypes.c_int).value == array.ndim
        and (shape[0], shape[1], strides[0], strides[1]) == array.shape + array.strides
        and field("dtype", ctypes.c_void_p).value == id(array.dtype)
        and field("flags", ctypes.c_int).value == array.flags.num
    )
