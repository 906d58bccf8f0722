"""Numba compiles a kernel, and what it has made becomes machine code with a door.

A compiled function takes, after places for its result and for an exception, its arguments one by one: a number as
itself, an array as who owns it (nobody), its size, the bytes of an element, where its elements are, its shape and its
strides. The door writes this down, and it is compared with what numba has made.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir
from numba import types

from driftmap._kernels.compiler import WITHOUT_DOOR, without_collecting
from driftmap._kernels.kept import Image
from driftmap._kernels.link import linked
from driftmap._kernels.machine import BASE, FAILED, FIELDS, KNOWN, PLAIN, REFUSED, Unsuitable

BYTE, INT, LONG, DOUBLE = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
POINTER = BYTE.as_pointer()
NUMBERS = {"i": LONG, "f": DOUBLE, "b": BYTE}
KINDS = {types.int64: "i", types.float64: "f", types.boolean: "b"}
DOOR = "door"
UNUSED = "NRT_MemInfo_call_dtor"
"""What code refers to that would let go of arrays, though none has an owner; a function that does nothing stands in."""
AT_HAND = {UNUSED, "ceil", "exp", "fabs", "floor", "log", "memcpy", "memmove", "memset", "pow", "sqrt"}
"""Functions that code may call: that one, and those of the C library."""
DONE = (0, -2)
"""What numba's functions return if nothing went wrong: there is a result, or None."""
FIRST_ITEM = tuple.__basicsize__
"""Where the items of a tuple begin; their number stands before them."""


def assemble(dispatcher: Any, kinds: Sequence[str], arguments: Sequence[Any]) -> Image:
    """The code of a kernel for such arguments, and of its door, where it begins."""
    if _pointers_have_types():  # then those of functions cannot be compared, and all would be compiled in vain
        raise Unsuitable
    try:
        with without_collecting():
            return _assemble(dispatcher, kinds, arguments)
    except (AttributeError, KeyError, RuntimeError, ValueError) as error:  # another numba, in which this is different
        raise Unsuitable from error


@functools.cache
def _pointers_have_types() -> bool:
    """As up to llvmlite 0.44."""
    module = ir.Module()
    ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), "any")
    return "ptr" not in str(llvm.parse_assembly(str(module)))


def _assemble(dispatcher: Any, kinds: Sequence[str], arguments: Sequence[Any]) -> Image:
    bare = numba.jit(**{**dispatcher.targetoptions, **WITHOUT_DOOR})(dispatcher.py_func)
    signature = tuple(map(_type_of, arguments))
    bare.compile(signature)
    compiled = bare.overloads[signature]
    library, called = compiled.library, compiled.fndesc.llvm_func_name
    function = library.get_function(called)
    for other in function.module.functions:
        if other.is_declaration and not other.name.startswith("llvm.") and other.name not in AT_HAND:
            raise Unsuitable
    door = Door(called, kinds, arguments, _returned(compiled.signature.return_type))
    module = llvm.parse_assembly(str(door.module))
    if str(module.get_function(called).global_value_type) != str(function.global_value_type):
        raise Unsuitable
    return linked([library._get_compiled_object(), _target_machine().emit_object(module)], DOOR)


def _target_machine() -> Any:
    """The machine that code is made for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, jit=True, codemodel="large")


def _type_of(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return numba.typeof(np.zeros((1,) * argument.ndim, argument.dtype))
    return numba.typeof(argument)


def _returned(kind: Any) -> tuple[str, bool]:
    """What a kernel returns: the kinds of numbers, and whether as a tuple."""
    if kind == types.none:
        return "", False
    is_tuple = isinstance(kind, types.BaseTuple)
    parts: Any = kind if is_tuple else (kind,)
    return "".join(KINDS[types.unliteral(part)] for part in parts), is_tuple


class Door:
    """A module with a function that takes a tuple of Python's objects, calls a kernel and returns Python's objects.

    Its second argument is a table: what :data:`driftmap._kernels.machine.KNOWN` lists, then the type of every array.
    """

    def __init__(self, called: str, kinds: Sequence[str], arguments: Sequence[Any], returned: tuple[str, bool]) -> None:
        self.module = ir.Module()
        self.module.triple = llvm.get_process_triple()
        unused = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [POINTER]), UNUSED)
        ir.IRBuilder(unused.append_basic_block()).ret_void()
        door = ir.Function(self.module, ir.FunctionType(POINTER, [POINTER, POINTER]), DOOR)
        self.builder = build = ir.IRBuilder(door.append_basic_block())
        given, self.table = door.args
        self._expect(self._at(given, BASE, LONG), LONG(len(kinds)))
        result = ir.LiteralStructType([NUMBERS[kind] for kind in returned[0]] or [POINTER])
        words: list[Any] = [build.alloca(result), build.alloca(POINTER)]
        for i, (kind, argument) in enumerate(zip(kinds, arguments, strict=True)):
            value = self._at(given, FIRST_ITEM + 8 * i, POINTER)
            words += self._number(kind, value) if kind in "nbif" else self._array(i, value, argument)
        self._expect(self._python("PyErr_Occurred", POINTER), ir.Constant(POINTER, None))
        kernel = ir.Function(self.module, ir.FunctionType(INT, [word.type for word in words]), called)
        others_may_run = self._python("PyEval_SaveThread", POINTER)
        status = build.call(kernel, words)
        self._python("PyEval_RestoreThread", ir.VoidType(), others_may_run)
        well = [build.icmp_signed("==", status, INT(code)) for code in DONE]
        with build.if_then(build.not_(build.or_(*well)), likely=False):
            self._give(self._known(FAILED))
        build.ret(self._result(build.load(words[0]), *returned))

    def _number(self, kind: str, value: Any) -> list[Any]:
        """A number, or None, as a kernel takes it."""
        if kind == "n":
            self._expect(value, self._known(None))
            return [ir.Constant(POINTER, None)]
        if kind == "b":
            self._expect(self._type(value), self._known(bool))
            return [self.builder.zext(self.builder.icmp_unsigned("==", value, self._known(True)), BYTE)]
        if kind == "i":
            self._expect(self._type(value), self._known(int))
            return [self._python("PyLong_AsLongLong", LONG, value)]
        self._expect(self._type(value), self._known(float))
        return [self._python("PyFloat_AsDouble", DOUBLE, value)]

    def _array(self, i: int, array: Any, like: Any) -> list[Any]:
        """An array as a kernel takes it, if it is what is expected."""
        build, ndim = self.builder, like.ndim
        self._expect(self._type(array), self._known(np.ndarray))
        flags, plain = self._field(array, "flags", INT), INT(PLAIN)
        self._expect(self._field(array, "dtype", POINTER), self._at(self.table, 8 * (len(KNOWN) + i), POINTER))
        self._expect(self._field(array, "nd", INT), INT(ndim))
        self._expect(build.and_(flags, plain), plain)
        shape, strides = (self._field(array, name, POINTER) for name in ("shape", "strides"))
        sizes = [self._at(shape, 8 * j, LONG) for j in range(ndim)]
        steps = [self._at(strides, 8 * j, LONG) for j in range(ndim)]
        size = sizes[0]
        for other in sizes[1:]:
            size = build.mul(size, other)
        nobody, data = ir.Constant(POINTER, None), self._field(array, "data", POINTER)
        return [nobody, nobody, size, LONG(like.itemsize), data, *sizes, *steps]

    def _result(self, result: Any, kinds: str, is_tuple: bool) -> Any:
        """What a kernel has returned, as Python's objects."""
        build, values = self.builder, []
        for i, kind in enumerate(kinds):
            value = build.extract_value(result, i)
            if kind == "b":
                values.append(self._python("PyBool_FromLong", POINTER, build.zext(value, LONG)))
            else:
                maker = "PyLong_FromLongLong" if kind == "i" else "PyFloat_FromDouble"
                values.append(self._python(maker, POINTER, value))
        if not kinds:
            self._python("Py_IncRef", ir.VoidType(), self._known(None))
            return self._known(None)
        if not is_tuple:
            return values[0]
        made = self._python("PyTuple_New", POINTER, LONG(len(values)))
        for i, value in enumerate(values):
            self._python("PyTuple_SetItem", INT, made, LONG(i), value)
        return made

    def _expect(self, value: Any, expected: Any) -> None:
        """Go out of the door with :data:`REFUSED` if it is not."""
        with self.builder.if_then(self.builder.icmp_unsigned("!=", value, expected), likely=False):
            self._give(self._known(REFUSED))

    def _give(self, known: Any) -> None:
        self._python("PyErr_Clear", ir.VoidType())
        self._python("Py_IncRef", ir.VoidType(), known)
        self.builder.ret(known)

    def _python(self, name: str, kind: Any, *arguments: Any) -> Any:
        """Call a function that Python has for modules in C."""
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(kind, [value.type for value in arguments]), name)
        return self.builder.call(function, arguments)

    def _known(self, what: Any) -> Any:
        place = next(i for i, known in enumerate(KNOWN) if known is what)
        return self._at(self.table, 8 * place, POINTER)

    def _type(self, value: Any) -> Any:
        return self._at(value, BASE - 8, POINTER)

    def _field(self, array: Any, name: str, kind: Any) -> Any:
        return self._at(array, BASE + FIELDS[name], kind)

    def _at(self, start: Any, offset: int, kind: Any) -> Any:
        """What lies so many bytes after a place."""
        build = self.builder
        there = build.gep(start, [LONG(offset)], source_etype=BYTE)
        return build.load(build.bitcast(there, kind.as_pointer()), typ=kind)
