"""The protocol of observers of learning, such as monitors of drift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from driftmap.metrics import Store
from driftmap.utils import Ids


class Follower(Protocol):
    """Observes rows while they are learnt, and the landmarks after the rows that it chooses.

    It observes the same rows between the same landmarks, whatever the batches. The mark of a stream is the radius and
    number of replacements of its landmarks.
    """

    def begin(self, store: Store, seen: int, mark: tuple[float, int]) -> None:
        """Raise an error if it cannot observe further rows of this stream."""

    def rows_to_stop(self, n_landmarks: int) -> int:
        """Return how many rows may be learnt before the next call of :meth:`follow`."""

    def measure(self, store: Store, rows: Any) -> Any:
        """Measure rows before they are learnt, without a change of its state."""

    def follow(
        self,
        store: Store,
        rows: Any,
        measured: Any,
        mark: tuple[float, int],
        n_landmarks: int,
        landmarks: Callable[[], tuple[Ids, Any]],
    ) -> None:
        """Process rows that have been learnt."""

    def mark(self) -> Any:
        """Return its state."""

    def back_to(self, mark: Any) -> None:
        """Restore its state."""
