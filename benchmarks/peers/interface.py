"""The interface of all peers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

BATCH = 1_000
FEW = 300
Rehearsal = tuple[int, dict[str, Any]]


class Cannot(Exception):  # noqa: N818 - a result, not an error
    """Raised if a method does not support an operation."""


class Method:
    """The operations of a peer; `fit` and `add` return the coordinates of all points so far."""

    label: ClassVar[str]
    package: ClassVar[str] = "driftmap"  # its name for pip
    adds: ClassVar[str] = "partial_fit"
    has_scale: ClassVar[bool] = True  # distances on the map approximate the true ones
    needs_all: ClassVar[bool] = False  # it maps only the points that it is fitted to
    options: ClassVar[dict[str, Any]] = {}  # further settings of the model
    model: Any

    def rehearsals(self, n: int) -> list[Rehearsal]:
        """Return numbers of points and settings that exercise the same compiled code as n points."""
        return [(FEW, self.options)]

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Forget everything, map X."""
        raise NotImplementedError

    def place(self, X: np.ndarray) -> np.ndarray:
        """Place points without learning from them."""
        return self.model.transform(X)

    def learn(self, new: np.ndarray) -> None:
        """Learn from further points, in their order."""
        for a in range(0, len(new), BATCH):
            self.model.partial_fit(new[a : a + BATCH])

    def add(self, new: np.ndarray, everything: np.ndarray) -> np.ndarray:
        """Learn from further points, then map all points."""
        self.learn(new)
        return self.place(everything)


class Refitted(Method):
    """A method that adds points by a new fit to all of them."""

    adds = "refit"
    has_scale = False

    def learn(self, new: np.ndarray) -> None:
        """Raise, since it is not supported."""
        raise Cannot("cannot add data")

    def add(self, new: np.ndarray, everything: np.ndarray) -> np.ndarray:
        """Fit all points again."""
        return self.fit(everything)
