"""The protocol of embeddings: landmarks in, positions of them and of any other point out."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from driftmap.utils import Array, Ids
from driftmap.utils.validation import LARGEST_SQUARABLE

NEEDS = ("stored", "to_landmarks", "neighbours", "anchors", "start")
"""What an embedding may ask for beyond the distances and masses of the landmarks."""
FLAT = 1e-6
"""A start whose extent in some direction is below this share of its largest one says nothing about that direction."""


@runtime_checkable
class Embedding(Protocol):
    """Anything that places landmarks, and points by their distances to the landmarks.

    An object with these members can be given as ``DriftMap(embedding=...)``. It sees distances, never the points. A map
    fits a copy of the embedding that it fitted last, so an embedding may keep what it needs from one fit to the next.
    Maps are copied and pickled with their embedding, which therefore has to support both.

    Further members are optional:

    - ``needs``, a set of names, says what else ``fit`` is given. "stored": ``stored=``, the :class:`StoredPoints`;
      "to_landmarks" and "neighbours": these with the fields of these names, ``n_neighbors`` neighbours of each.
      "anchors": ``anchors=``, the :class:`Anchors`, whose positions are then in ``anchor_coordinates_``, (a, k). Where
      distances to anchors can be measured, ``fit`` and ``place`` are given these instead of those to the landmarks.
      A map has ``n_anchors`` of them, by mass; or as many as ``anchors_for(n_landmarks)`` of the embedding returns,
      with the landmarks and the last points, a quarter of them, and the others by mass.
      "start": ``start=``, where the last map has the anchors, or the landmarks if there are no anchors, (a, k) or
      (m, k); None on the first fit and where maps are not aligned.
    - ``check(n_landmarks)`` is called before the first point is learnt. It raises an error for parameters that no
      stream could satisfy.
    - ``for_rows(landmarks)`` returns a :class:`RowPlacer`, given the landmarks themselves, (m, d). It is called where
      distances are Euclidean, and places rows where ``place`` does, up to rounding, without their distances. A class
      that overrides ``place`` has to override it, too; otherwise it is not used.
    - ``state()`` returns all that was fitted as a dict of numbers and arrays, and ``restore(distances, masses, state)``
      goes back to it, so that a checkpoint holds the frame. Without them, a map that is loaded makes a new frame.
    - ``keeps_distances`` is true if distances on the map stand for true distances, so that stress can judge it;
      ``keeps_neighbours`` if trustworthiness says how many landmarks are enough.
    - ``point_losses(distances, positions, weights)`` returns the loss of each point of a sample, (n,), given the
      distances between these points, (n, n), their places on the map, (n, k), and their shares in the mass,
      which sum to 1. Their mean is the loss of the map and decides whether it has to move. Without this member, that
      is stress if ``keeps_distances``, else the share of nearest neighbours lost.
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


class Anchors(NamedTuple):
    """A sample of the stored points that stands for all of them by its masses."""

    ids: Ids
    """Arrival numbers, ascending, (a,)."""
    landmarks: Ids
    """Arrival numbers of the landmarks, ascending, (m,)."""
    masses: Array
    """How many points each one stands for, (a,)."""
    to_landmarks: Array | None
    """Distances to the landmarks, (a, m); None: the anchors are the landmarks."""
    measured: bool = False
    """Whether distances to the anchors are measured. Otherwise they follow from those to the landmarks."""


class Configured:
    """An embedding with parameters, which its repr shows and a checkpoint holds."""

    keeps_distances: ClassVar[bool] = False
    keeps_neighbours: ClassVar[bool] = False

    def _asdict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"


class RowPlacer(Protocol):
    """Places rows of numbers without their distances to the landmarks, where these are Euclidean."""

    def place(self, X: Array) -> Array:
        """Positions of rows, each by itself."""

    def moved(self, rotation: Array, translation: Array) -> RowPlacer:
        """The same on a map that is turned and shifted."""


def row_placer(embedding: Any, landmarks: Array) -> RowPlacer | None:
    """What places rows by their distances to these landmarks, (m, d); None: the embedding has nothing that does."""
    for kind in type(embedding).__mro__:
        if "for_rows" in vars(kind):
            placer: RowPlacer = embedding.for_rows(landmarks)
            return placer
        if "place" in vars(kind):  # in another way than the class that it is derived from
            break
    return None


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
