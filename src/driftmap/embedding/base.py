"""The protocol of embeddings: landmarks in, positions of them and of any other point out."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from driftmap.utils import Array, Ids
from driftmap.utils.validation import LARGEST_SQUARABLE

NEEDS = ("stored", "to_landmarks", "neighbours", "start")
"""What an embedding may ask for beyond the distances and masses of the landmarks."""
FLAT = 1e-6
"""A start whose extent in some direction is below this share of its largest one says nothing about that direction."""


@runtime_checkable
class Embedding(Protocol):
    """Anything that places landmarks, and points by their distances to the landmarks.

    An object with these members can be given as ``DriftMap(embedding=...)``. It never sees the points themselves.

    Further members are optional:

    - ``needs``, a set of names. With "stored", ``fit`` is given ``stored=``, the :class:`StoredPoints`; with
      "to_landmarks" and "neighbours" also these fields of them, ``n_neighbors`` neighbours of each. With "start" it is
      given ``start=``, where the landmarks lie on the last map, (m, k), or None. What is fitted is a copy of the
      embedding that was fitted last: it may keep what it needs from one fit to the next.
    - ``check(n_landmarks)``, called before the first point is learnt, to refuse what no stream could satisfy.
    - ``state()``, all that it keeps as a dict of numbers and arrays, and ``restore(distances, masses, state)``, for
      checkpoints.
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


class StoredPoints(NamedTuple):
    """The points that a map has stored, the landmarks among them. What an embedding does not ask for is None."""

    ids: Ids
    """Arrival numbers, ascending, (w,)."""
    landmarks: Ids
    """Which of them are the landmarks: positions in ``ids``, (m,)."""
    masses: Array
    """How many points each one stands for, (w,); 0: a landmark that is forgotten, but not replaced yet."""
    to_landmarks: Array | None = None
    """Distances to the landmarks, (w, m)."""
    neighbours: Ids | None = None
    """Nearest others that are not at distance 0, as positions in ``ids``, (w, k); -1: there are no more."""
    lengths: Array | None = None
    """How far these are, ascending, (w, k); infinity: there are no more."""


class Configured:
    """An embedding with parameters, which its repr shows and a checkpoint holds."""

    def _asdict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"


class RowPlacer(Protocol):
    """Places rows of numbers without their distances to the landmarks, where these are Euclidean.

    The embeddings of this package make one with ``for_rows``: the distances to all landmarks are more than is needed.
    """

    def place(self, X: Array) -> Array:
        """Positions of rows, each by itself."""

    def moved(self, rotation: Array, translation: Array) -> RowPlacer:
        """The same on a map that is turned and shifted."""


def check_between(distances: Any) -> Array:
    """Distances between landmarks as a square matrix."""
    array = np.ascontiguousarray(distances, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not len(array):
        raise ValueError(f"distances between landmarks must have shape (m, m), m at least 1, got {array.shape}")
    return array


def check_to_landmarks(distances: Any, m: int) -> Array:
    """Distances of points to m landmarks as a matrix."""
    array = np.ascontiguousarray(distances, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != m:
        raise ValueError(f"distances must have shape (n, {m}), got {array.shape}")
    return array


def check_stored(
    name: str, array: Any, shape: tuple[int, ...], dtype: Any = np.float64, *, finite: bool = True
) -> None:
    """Refuse what a checkpoint holds if it is no array of this shape, or has numbers whose squares overflow."""
    if not (isinstance(array, np.ndarray) and array.shape == shape and array.dtype == dtype):
        raise ValueError(f"its {name} have the wrong shape or type")
    if not np.all((np.abs(array) < LARGEST_SQUARABLE) | ((array == np.inf) & (not finite))):
        raise ValueError(f"its {name} are not finite")


def check_arrivals(name: str, ids: Any, n: int) -> None:
    """Refuse what a checkpoint holds if it is not n arrival numbers, ascending."""
    check_stored(name, ids, (n,), np.int64)
    if (ids < 0).any() or not (ids[1:] > ids[:-1]).all():
        raise ValueError(f"its {name} are not in the order of their arrival")
