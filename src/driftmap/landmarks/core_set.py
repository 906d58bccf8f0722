"""Core-sets: the stored points of a stream with weights and spreads, as they travel and as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftmap.storage import checkpoint, serialization
from driftmap.storage.schema import ArrayOf, check_arrays
from driftmap.storage.serialization import Arrays, flatten, pack_params, rebuild, unpack_params
from driftmap.utils import Array, Ids, PathLike, validation

KIND = "CoreSet"
"""The name of the type in a checkpoint."""
COLUMNS = {
    "arrivals": ArrayOf(np.int64, ("n",), least=0),
    "weights": ArrayOf(np.float64, ("n",), least=0, finite=True),
    "spreads": ArrayOf(np.float64, ("n",), least=0, finite=True),
    "recent": ArrayOf(np.float64, (-1,), least=0),
}
"""What a core-set has besides its points."""


class Origin(NamedTuple):
    """The type and parameters of the estimator that learnt a stream; parts to merge must agree on it."""

    kind: str
    params: Mapping[str, Any]
    names: tuple[str, ...] = ()
    """Names of the features, if any."""


class CoreSet(NamedTuple):
    """The stored points of a stream with the points they represent, as a merge needs them of a later stream.

    >>> from driftmap import OnlineLandmarks
    >>> first, later = (OnlineLandmarks(5).fit(np.random.default_rng(i).random((200, 3))) for i in (0, 1))
    >>> sent = later.coreset().to_bytes()
    >>> first.merge(CoreSet.from_bytes(sent)).n_samples_seen_
    400
    """

    points: Any
    """Rows of an array, or a list of objects."""
    arrivals: Ids
    """Their arrival numbers, ascending."""
    weights: Array
    """How many points each represents."""
    spreads: Array
    """Largest distance of each stored point to the points it represents."""
    n_samples_seen: int
    origin: Origin | None = None
    """None: known to equal that of the first part."""
    recent: Array = np.empty(0)
    """Reaches of the last arrivals, if they were scored (:class:`driftmap.map.novelty.RecentReaches`)."""

    def save(self, path: PathLike) -> None:
        """Write the core-set to a file atomically."""
        checkpoint.write(path, *self.pack())

    def to_bytes(self) -> bytes:
        """Return the bytes that :meth:`save` writes."""
        return checkpoint.to_bytes(*self.pack())

    @classmethod
    def load(cls, path: PathLike, *, metric: Any = None, replace_on: Any = None, embedding: Any = None) -> CoreSet:
        """Read a saved core-set; raise an error if it is damaged.

        Pass a user-defined metric again, and an embedding that is an object: those of the estimator to merge with.
        """
        given = {"metric": metric, "replace_on": replace_on, "embedding": embedding}
        return serialization.load(path, _Packed, **given).content

    @classmethod
    def from_bytes(cls, blob: bytes, *, metric: Any = None, replace_on: Any = None, embedding: Any = None) -> CoreSet:
        """Return the core-set in these bytes; see :meth:`load`."""
        given = {"metric": metric, "replace_on": replace_on, "embedding": embedding}
        return serialization.from_bytes(blob, _Packed, **given).content

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return a JSON header and arrays."""
        arrays: Arrays = {name: np.asarray(getattr(self, name)) for name in COLUMNS}
        origin = self.origin
        return {
            "kind": KIND,
            "points": flatten(self.points, "points", arrays),
            "n_samples_seen": self.n_samples_seen,
            "params": {} if origin is None else pack_params(origin.params, arrays),
            "origin": None if origin is None else {"kind": origin.kind, "names": [*origin.names]},
        }, arrays


@dataclass(frozen=True)
class _Packed:
    """A core-set as :func:`driftmap.storage.serialization.unpack` makes it; a named tuple has no room for a kind."""

    kind: ClassVar[str] = KIND

    content: CoreSet

    @classmethod
    def unpack(cls, header: dict[str, Any], arrays: Arrays, given: Mapping[str, Any]) -> Self:
        """Return the core-set, or raise an error that says what is wrong with it."""
        params, origin = unpack_params(header["params"], arrays, (), given), header["origin"]
        points = rebuild(header["points"], arrays)
        n = points.shape[0] if hasattr(points, "shape") else len(points)
        columns = {name: arrays[name] for name in COLUMNS}
        check_arrays(columns, COLUMNS, "core-set", n=n)
        seen = validation.integer_at_least(header["n_samples_seen"], "n_samples_seen", 1)
        arrivals = columns["arrivals"]
        if n == 0 or (np.diff(arrivals) <= 0).any() or arrivals[-1] >= seen:
            raise ValueError("its arrivals are not in order")
        names = () if origin is None else tuple(map(str, origin["names"]))
        known = None if origin is None else Origin(str(origin["kind"]), params, names)
        return cls(CoreSet(points, **columns, n_samples_seen=seen, origin=known))
