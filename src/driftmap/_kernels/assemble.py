"""Numba compiles a kernel, and what it has made becomes machine code with a door.

A compiled function takes, after places for its result and for an exception, its arguments one by one: a number as
itself, an array as who owns it (nobody), its size, the bytes of an element, where its elements are, its shape and its
strides. The door writes this down, and it is compared with what numba has made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir
from numba import types

from driftmap._kernels.compiler import WITHOUT_DOOR
from driftmap._kernels.machine import BASE, FIELDS, OTHER, PLAIN, UnsuitableError, symbol, target_machine

BYTE, INT, LONG, DOUBLE = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
POINTER = BYTE.as_pointer()
NUMBERS = {"i": LONG, "f": DOUBLE, "b": BYTE}
KINDS = {types.int64: "i", types.float64: "f", types.boolean: "b"}
AT_HAND = {"NRT_MemInfo_call_dtor", "ceil", "exp", "fabs", "floor", "log", "memcpy", "memmove", "memset", "pow", "sqrt"}
"""Functions that code may call: those of the C library, and what :mod:`driftmap._kernels.machine` has."""


def assemble(dispatcher: Any, name: str, kinds: Sequence[str], arguments: Sequence[Any]) -> tuple[bytes, bytes, str]:
    """The code of a kernel for such arguments, the code of its door, and what it returns."""
    try:
        return _assemble(dispatcher, name, kinds, arguments)
    except (AttributeError, KeyError, RuntimeError) as error:  # another numba, in which all this is different
        raise UnsuitableError from error


def _assemble(dispatcher: Any, name: str, kinds: Sequence[str], arguments: Sequence[Any]) -> tuple[bytes, bytes, str]:
    bare = numba.jit(**{**dispatcher.targetoptions, **WITHOUT_DOOR})(dispatcher.py_func)
    signature = tuple(map(_type_of, arguments))
    bare.compile(signature)
    compiled = bare.overloads[signature]
    library, called = compiled.library, compiled.fndesc.llvm_func_name
    function = library.get_function(called)
    if any(f.is_declaration and not f.name.startswith("llvm.") and f.name not in AT_HAND for f in _functions(function)):
        raise UnsuitableError
    returned = _returned(compiled.signature.return_type)
    module = llvm.parse_assembly(str(Door(name, called, kinds, arguments, returned).module))
    if str(module.get_function(called).global_value_type) != str(function.global_value_type):
        raise UnsuitableError
    return library._get_compiled_object(), target_machine().emit_object(module), returned


def _functions(function: Any) -> Any:
    return function.module.functions


def _type_of(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return numba.typeof(np.zeros((1,) * argument.ndim, argument.dtype))
    return numba.typeof(argument)


def _returned(kind: Any) -> str:
    if kind == types.none:
        return ""
    parts: Any = kind if isinstance(kind, types.BaseTuple) else (kind,)
    return "".join(KINDS[part] for part in parts)


class Door:
    """A module with a function that takes Python's objects and calls a kernel."""

    def __init__(self, name: str, called: str, kinds: Sequence[str], arguments: Sequence[Any], returned: str) -> None:
        self.module = ir.Module()
        self.module.triple = llvm.get_process_triple()
        given = [NUMBERS.get(kind, POINTER) for kind in kinds if kind != "n"]
        door = ir.Function(self.module, ir.FunctionType(INT, [POINTER, POINTER, *given]), symbol(name))
        self.builder = ir.IRBuilder(door.append_basic_block())
        self.expected, room, *values = door.args
        result = ir.LiteralStructType([NUMBERS[kind] for kind in returned] or [POINTER])
        words: list[Any] = [self.builder.alloca(result), self.builder.alloca(POINTER)]
        left = iter(values)
        for i, (kind, argument) in enumerate(zip(kinds, arguments, strict=True)):
            if kind == "n":
                words.append(ir.Constant(POINTER, None))
            elif kind in NUMBERS:
                words.append(next(left))
            else:
                words += self._array(i, next(left), argument)
        kernel = ir.Function(self.module, ir.FunctionType(INT, [word.type for word in words]), called)
        status = self.builder.call(kernel, words)
        for i, kind in enumerate(returned):
            self._give(room, i, self.builder.extract_value(self.builder.load(words[0]), i), kind)
        self.builder.ret(status)

    def _array(self, i: int, array: Any, like: Any) -> list[Any]:
        """An array as a kernel takes it, if it is what is expected."""
        build, ndim = self.builder, like.ndim
        flags, plain = self._field(array, "flags", INT), ir.Constant(INT, PLAIN)
        self._must_equal(self._field(array, "dtype", POINTER), self._at(self.expected, 8 * i, POINTER))
        self._must_equal(self._field(array, "nd", INT), ir.Constant(INT, ndim))
        self._must_equal(build.and_(flags, plain), plain)
        shape, strides = (self._field(array, name, POINTER) for name in ("shape", "strides"))
        sizes = [self._at(shape, 8 * j, LONG) for j in range(ndim)]
        steps = [self._at(strides, 8 * j, LONG) for j in range(ndim)]
        size = sizes[0]
        for other in sizes[1:]:
            size = build.mul(size, other)
        nobody, data = ir.Constant(POINTER, None), self._field(array, "data", POINTER)
        return [nobody, nobody, size, ir.Constant(LONG, like.itemsize), data, *sizes, *steps]

    def _must_equal(self, value: Any, expected: Any) -> None:
        """Go out of the door if it is not."""
        with self.builder.if_then(self.builder.icmp_unsigned("!=", value, expected), likely=False):
            self.builder.ret(ir.Constant(INT, OTHER))

    def _field(self, array: Any, name: str, kind: Any) -> Any:
        return self._at(array, BASE + FIELDS[name], kind)

    def _at(self, start: Any, offset: int, kind: Any) -> Any:
        """What lies so many bytes after a place."""
        build = self.builder
        there = build.gep(start, [ir.Constant(LONG, offset)], source_etype=BYTE)
        return build.load(build.bitcast(there, kind.as_pointer()), typ=kind)

    def _give(self, room: Any, i: int, value: Any, kind: str) -> None:
        build = self.builder
        value = build.zext(value, LONG) if kind == "b" else value
        there = build.gep(room, [ir.Constant(LONG, 8 * i)], source_etype=BYTE)
        build.store(value, build.bitcast(there, value.type.as_pointer()))
