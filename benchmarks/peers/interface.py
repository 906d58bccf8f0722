"""What every peer can be asked."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

BATCH = 1_000
FEW = 300
Rehearsal = tuple[int, dict[str, Any]]


class Cannot(Exception):  # noqa: N818 - it is an answer, not an error
    """The method does not offer this."""


class Method:
    """What every peer can be asked; `fit` and `add` return the coordinates of all points so far."""

    label: ClassVar[str]
    package: ClassVar[str] = "driftmap"  # as pip knows it
    adds: ClassVar[str] = "partial_fit"
    has_scale: ClassVar[bool] = True  # distances on the map are meant to be the true ones
    needs_all: ClassVar[bool] = False  # it maps only the points that it is fitted to
    options: ClassVar[dict[str, Any]] = {}  # further settings of the model
    model: Any

    def rehearsals(self, n: int) -> list[Rehearsal]:
        """How many points, with which settings, take the same compiled code as n points will."""
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
        """Learn from further points, then map all."""
        self.learn(new)
        return self.place(everything)


class Refitted(Method):
    """Takes further points only by starting again with all of them."""

    adds = "refit"
    has_scale = False

    def learn(self, new: np.ndarray) -> None:
        """Not offered."""
        raise Cannot("cannot add data")

    def add(self, new: np.ndarray, everything: np.ndarray) -> np.ndarray:
        """Start again."""
        return self.fit(everything)
