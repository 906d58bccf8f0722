"""Kernels as machine code in files of our own, which load without numba.

To import numba, and all it needs to load what it compiled before, takes longer than all else that many a command does.
So here a kernel is kept as machine code, together with its *door*: a function that takes Python's objects, looks
whether they are such as the kernel was compiled for, and hands on where the numbers of arrays are. Where there is no
such file, numba compiles the kernel (:mod:`driftmap._kernels.assemble`) and the file is written; what cannot be kept
this way is left to numba.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from driftmap._kernels import kept
from driftmap._kernels.kept import NOTHING, WORD, Image

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
        if not (kept.sources() and kept.host()):
            return False
        pattern = f"{self.name}.{kept.sources()}.{kept.host()}.*"
        return any(True for folder in kept.folders() for _ in folder.glob(pattern))

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
        if not (kept.sources() and kept.host()):
            raise Unsuitable
        name = f"{self.name}.{kept.sources()}.{kept.host()}.{kept.digest(*kinds)}"
        for folder in kept.folders():
            with contextlib.suppress(OSError, ValueError):
                return load(name, kept.read(folder / f"{name}.code"))
        from driftmap._kernels.assemble import assemble

        try:
            image = assemble(self.dispatcher, kinds, arguments)
        except Unsuitable:
            image = NOTHING  # which is kept as well, so that nobody tries again
        kept.keep(f"{name}.code", image)
        return load(name, image)


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


def load(name: str, image: Image) -> Any:
    """Make code ready to be called."""
    if not (image.code and _layout_holds()):
        raise Unsuitable
    if name not in _loaded:
        _loaded[name] = DOOR(_put(image) + image.start)
    return _loaded[name]


def _put(image: Image) -> int:
    """Put code into memory from which it can be run, and return where."""
    try:
        memory = mmap.mmap(-1, len(image.code), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise Unsuitable from error
    memory[:] = image.code
    here = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for place in image.own:
        WORD.pack_into(memory, place, WORD.unpack_from(memory, place)[0] + here)
    process = ctypes.CDLL(None)
    for name, places in image.others.items():
        try:
            there = ctypes.cast(process[name], ctypes.c_void_p).value
        except AttributeError as error:
            raise Unsuitable from error
        for place in places:
            WORD.pack_into(memory, place, there)
    if process.mprotect(ctypes.c_void_p(here), ctypes.c_size_t(len(memory)), mmap.PROT_READ | mmap.PROT_EXEC):
        raise Unsuitable  # where no process may run what it has written
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))  # it stays to the very end: other threads may be running it
    return here


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
