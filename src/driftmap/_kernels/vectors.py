"""Vectors in code that is being generated: kernels that work on several numbers at once, written as one would on paper.

numba's own loops become vectors where the compiler likes, as wide as it likes. Here both are said.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils

SINGLE, DOUBLE = ir.FloatType(), ir.DoubleType()
_NAMES = {SINGLE: "f32", DOUBLE: "f64"}


class Vector:
    """Numbers side by side; operators write down what is to be done with them."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.fadd(self.value, other.value))

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.fsub(self.value, other.value))

    def __mul__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.fmul(self.value, other.value))

    def __truediv__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.fdiv(self.value, other.value))

    def __gt__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.fcmp_ordered(">", self.value, other.value))

    def __le__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.fcmp_ordered("<=", self.value, other.value))

    def __and__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.and_(self.value, other.value))

    def __or__(self, other: Vector) -> Vector:
        return Vector(self.builder, self.builder.or_(self.value, other.value))

    def then(self, yes: Vector, no: Vector) -> Vector:
        """Where this is true the one, else the other."""
        return Vector(self.builder, self.builder.select(self.value, yes.value, no.value))

    def plus_product(self, x: Vector, y: Vector) -> Vector:
        """``self + x * y``, rounded once where the machine can."""
        return self._call("fmuladd", x, y, self)

    def root(self) -> Vector:
        """The square root."""
        return self._call("sqrt", self)

    def magnitude(self) -> Vector:
        """Without the sign."""
        return self._call("fabs", self)

    def at_least(self, other: Vector) -> Vector:
        """The larger of the two; the other where this is no number."""
        return (self > other).then(self, other)

    def count(self) -> Any:
        """In how many lanes this is true."""
        lanes = ir.IntType(self.value.type.count)
        ones = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(lanes, [lanes]), f"llvm.ctpop.i{lanes.width}"
        )
        return self.builder.zext(self.builder.call(ones, [self.builder.bitcast(self.value, lanes)]), ir.IntType(32))

    def single(self) -> Vector:
        """As single precision."""
        return Vector(self.builder, self.builder.fptrunc(self.value, ir.VectorType(SINGLE, self.value.type.count)))

    def double(self) -> Vector:
        """As double precision."""
        return Vector(self.builder, self.builder.fpext(self.value, ir.VectorType(DOUBLE, self.value.type.count)))

    def like(self, number: float) -> Vector:
        """The same number in all lanes."""
        return Vector(self.builder, ir.Constant(self.value.type, [number] * self.value.type.count))

    def total(self) -> Any:
        """The sum of all lanes, neighbours first."""
        sums = [self.builder.extract_element(self.value, ir.IntType(32)(i)) for i in range(self.value.type.count)]
        while len(sums) > 1:
            sums = [self.builder.fadd(*pair) for pair in zip(sums[::2], sums[1::2], strict=True)]
        return sums[0]

    def _call(self, name: str, *arguments: Vector) -> Vector:
        kind = self.value.type
        full = f"llvm.{name}.v{kind.count}{_NAMES[kind.element]}"
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind] * len(arguments)), full
        )
        return Vector(self.builder, self.builder.call(function, [argument.value for argument in arguments]))


class Matrix:
    """A C-contiguous matrix of one kind of number, or a row, read and written by vectors."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any, lanes: int) -> None:
        assert kind.layout == "C"
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.data, self.lanes = builder, array.data, lanes
        self.width = cgutils.unpack_tuple(builder, array.shape, kind.ndim)[-1]
        self.vector = ir.VectorType(array.data.type.pointee, lanes)

    def __getitem__(self, place: tuple[Any, Any]) -> Vector:
        return Vector(self.builder, self.builder.load(self._from(*place), align=self._align()))

    def __setitem__(self, place: tuple[Any, Any], vector: Vector) -> None:
        self.builder.store(vector.value, self._from(*place), align=self._align())

    def like(self, number: float) -> Vector:
        """A number in all lanes."""
        return Vector(self.builder, ir.Constant(self.vector, [number] * self.lanes))

    def everywhere(self, row: Any, column: Any) -> Vector:
        """One entry, in all lanes."""
        return spread(self.builder, self.builder.load(self._entry(row, column)), self.lanes)

    def _align(self) -> int:
        return 4 if self.vector.element == SINGLE else 8

    def _entry(self, row: Any, column: Any) -> Any:
        row, column = (self.width.type(i) if isinstance(i, int) else i for i in (row, column))
        return self.builder.gep(self.data, [self.builder.add(self.builder.mul(row, self.width), column)])

    def _from(self, row: Any, column: Any) -> Any:
        return self.builder.bitcast(self._entry(row, column), self.vector.as_pointer())


def spread(builder: Any, number: Any, lanes: int) -> Vector:
    """A number in all lanes."""
    alone = builder.insert_element(
        ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined), number, ir.IntType(32)(0)
    )
    first = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return Vector(builder, builder.shuffle_vector(alone, alone, first))


def summed(builder: Any, starts: list[Vector], n: Any, step: int, terms: Any) -> list[Vector]:
    """Sums over 0, step, 2 step ... below n: ``terms`` gets the index and the sums so far, and tells the next ones."""
    parts = [cgutils.alloca_once_value(builder, start.value) for start in starts]
    with cgutils.for_range(builder, builder.udiv(n, n.type(step))) as loop:
        index = builder.mul(loop.index, n.type(step))
        sums = terms(index, [Vector(builder, builder.load(part)) for part in parts])
        for part, vector in zip(parts, sums, strict=True):
            builder.store(vector.value, part)
    return [Vector(builder, builder.load(part)) for part in parts]


def transposed(rows: list[Vector]) -> list[Vector]:
    """Columns of a matrix from its rows: twice as many as there are lanes in each, a power of two.

    Rows of both halves go side by side; then, in each half by itself, blocks of 1, 2, 4 ... change places.
    """
    builder, n = rows[0].builder, len(rows) // 2

    def shuffled(one: Vector, other: Vector, places: list[int]) -> Vector:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
        return Vector(builder, builder.shuffle_vector(one.value, other.value, mask))

    both = [shuffled(rows[i], rows[n + i], list(range(2 * n))) for i in range(n)]
    size = 1
    while size < n:
        # of each pair, the first gets the even blocks of both, the second the odd ones
        even = [lane + (2 * n - size if lane & size else 0) for lane in range(2 * n)]
        odd = [place + size for place in even]
        for i in (i for i in range(n) if not i & size):
            pair = both[i], both[i + size]
            both[i], both[i + size] = shuffled(*pair, even), shuffled(*pair, odd)
        size *= 2
    return both
