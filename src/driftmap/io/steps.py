"""The protocol of steps of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from driftmap.utils import Array, Ids

State = dict[str, NDArray[Any]]


class RowsLeftOut(NamedTuple):
    """Rows that a step has left out, for one reason."""

    reason: str
    n_rows: int
    lacking: Mapping[str, int] = {}
    """By column: in how many of these rows its number is missing."""


class Step(Protocol):
    """Turns the rows of a stream into others. The result does not depend on the batches in which rows come."""

    def __call__(self, rows: Array) -> tuple[Array, Ids]:
        """The rows that follow from further rows, and to which of these each belongs."""

    def columns(self, names: Sequence[str]) -> list[str]:
        """Names of the columns that come out, given those that go in."""

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """The rows that came in and that no row came out for, given the names of the columns that go in."""

    def state(self) -> State:
        """All that a step knows of the rows before."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""

    def reset(self) -> None:
        """Forget all rows."""
