"""What an embedding is: landmarks in, positions for them and for any other point out."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

from driftmap.utils import Array


@runtime_checkable
class Embedding(Protocol):
    """Anything that places landmarks, and points by their distances to the landmarks.

    An object with these members can be given as ``DriftMap(embedding=...)``. It never sees the points themselves.
    """

    n_dimensions_: int
    """How many of the k coordinates are real; the others are 0."""

    @property
    def coordinates_(self) -> Array:
        """Positions of the landmarks, (m, k)."""

    def fit(self, distances: Array, masses: Array) -> Self:
        """Place landmarks given their (m, m) distances and how many points each one stands for."""

    def place(self, distances: Array) -> Array:
        """Place points given their (n, m) distances to the landmarks; each row by itself."""


class RowPlacer(Protocol):
    """Places rows of numbers without their distances to the landmarks, where these are Euclidean.

    The embeddings of this package make one with ``for_rows``: the distances to all landmarks are more than is needed.
    """

    def place(self, X: Array) -> Array:
        """Positions of rows, each by itself."""

    def moved(self, rotation: Array, translation: Array) -> RowPlacer:
        """The same on a map that is turned and shifted."""
