"""Delegation: an estimator has scikit-learn's interface and delegates the work to an engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar, overload

from driftmap.landmarks.core_set import CoreSet
from driftmap.landmarks.events import Event
from driftmap.landmarks.merging import check_settings
from driftmap.landmarks.online import LandmarkEngine
from driftmap.storage import checkpoint, serialization
from driftmap.utils import Array, Ids, PathLike, validation
from driftmap.utils.data_frames import materialized

T = TypeVar("T")

SHOWN_ATTRIBUTES = ("landmark_indices_", "landmark_mass_", "n_replacements_", "n_samples_seen_", "radius_")
"""Attributes that notebooks show: cheap ones that do not trigger a new frame."""


def is_lazy(X: Any) -> bool:
    """Return True if X is a dask collection, or an xarray object backed by one."""
    graph = getattr(X, "__dask_graph__", None)
    return graph is not None and graph() is not None


class Delegated(Generic[T]):
    """A read-only attribute of the engine, with its docstring; ``path`` names the method that returns the engine."""

    def __init__(self, engine: type = LandmarkEngine, path: str = "_landmark_engine") -> None:
        self.engine, self.path = engine, path

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.__doc__ = name, getattr(self.engine, name).__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: object | None, kind: type) -> Self | T:
        if owner is None:
            return self
        engine = getattr(owner, self.path)()
        with engine.lock:
            value: T = getattr(engine, self.name)
            return value


class HasLandmarks:
    """Attributes of the landmarks and the stored points of a stream."""

    landmark_indices_ = Delegated[Ids]()
    landmarks_ = Delegated[Any]()
    landmark_mass_ = Delegated[Ids | Array]()
    radius_ = Delegated[float]()
    covering_radius_ = Delegated[float]()
    resolution_ = Delegated[float]()
    coverage_bound_ = Delegated[float]()
    radius_lower_bound_ = Delegated[float]()
    n_samples_seen_ = Delegated[int]()
    n_replacements_ = Delegated[int]()
    events_ = Delegated[list[Event]]()
    stored_indices_ = Delegated[Ids]()
    obeys_triangle = Delegated[bool]()

    def _landmark_engine(self) -> LandmarkEngine:
        raise NotImplementedError

    def landmark_distances(self) -> Array:
        """Return true distances between the landmarks, (m, m)."""
        engine = self._landmark_engine()
        with engine.lock:
            return engine.landmark_distances()


class EngineEstimator(HasLandmarks):
    """An estimator that creates its engine from its parameters when the first points arrive."""

    _engine: Any
    _engine_type: type[Any]

    def fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Forget everything, then learn from X; the workers learn a dask collection (:mod:`driftmap.dask`)."""
        if is_lazy(X):
            from driftmap import dask

            if times is not None:
                raise ValueError("times cannot be given with a dask collection")
            self._engine = dask.fit(self, X)._engine
            return self
        engine, X = self._engine_type(**self._engine_params()), materialized(X)
        self._choose(engine, X)
        self._prepare(engine, X)
        engine.partial_fit(X, times)
        self._engine = engine
        return self

    def partial_fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Learn from further points in order; a batch gives the same result as its rows one by one.

        ``times`` are the times of arrival (numbers or dates, never decreasing), for a ``window`` or ``half_life`` that
        is a duration; without times, these count arrivals. Bad input raises an error and changes nothing. The
        partitions of a dask collection are computed one at a time; those before a bad one stay learnt.
        """
        if is_lazy(X):
            from driftmap import dask

            dask.learn_here(self, X)
            return self
        X = X if validation.is_plain(X) else materialized(X)
        self._check_features(X)
        with self._learning_engine(X) as engine:
            engine.partial_fit(X, times)
        return self

    @contextlib.contextmanager
    def _learning_engine(self, X: Any) -> Iterator[Any]:
        """Yield the engine that learns from X."""
        engine = self.__dict__.get("_engine")
        if engine is not None and engine.fitted:
            yield engine
            return
        params = self._engine_params()
        # Threads that arrive together with the first points share one engine; the later ones find it fitted.
        engine = self.__dict__.setdefault("_engine", self._engine_type(**params))
        with engine.lock:
            if not engine.fitted:
                vars(engine).update(params)
                self._prepare(engine, X)
            yield engine

    def coreset(self) -> CoreSet:
        """Return the stored points with their weights and spreads: a weighted sample of all points, with error bounds.

        :meth:`merge` needs only this of a later stream. It takes 8 bytes per number and 24 per point.
        """
        raise NotImplementedError

    def merge(self, *later: Self | CoreSet) -> Self:
        """Return an estimator of several consecutive streams, each learnt separately; the parts do not change.

        A :meth:`coreset` suffices for the later streams. While all stored points fit into memory, the result equals a
        single pass over all streams to the bit. Otherwise, at most ``memory`` points are stored, masses sum to the
        number of all points, and ``coverage_bound_`` holds for every point of every part. Arrivals are numbered through
        all streams. ``events_`` and ``n_replacements_`` are those of the first stream, followed by those of learning
        the others' stored points. ``n_jobs`` may differ between the parts.
        """
        engine = self._fitted_engine()
        self.check_mergeable()
        merged = type(self)(**self._engine_params())
        merged._engine = self._merged(engine, [part if isinstance(part, CoreSet) else part.coreset() for part in later])
        return merged

    def _merged(self, engine: Any, later: list[CoreSet]) -> Any:
        raise NotImplementedError

    def check_mergeable(self) -> None:
        """Raise an error that names the first parameter that is invalid or does not allow merging."""
        self._engine_type(**self._engine_params()).validate()
        check_settings(self)

    def _check_features(self, X: Any) -> None:
        """Raise an error unless X has the features of the first points."""

    def _choose(self, engine: Any, X: Any) -> None:
        """Set parameters that depend on all points, before `fit` learns them."""

    def _prepare(self, engine: Any, X: Any) -> None:
        """Prepare an engine for its first points."""

    def _engine_params(self) -> dict[str, Any]:
        return self._engine_type.params_of(self)

    def save(self, path: PathLike) -> None:
        """Write the complete state to a checkpoint file atomically; :meth:`load` continues from it to the bit.

        Its size is that of the stored points, plus 72 bytes for each (40 with ``memory=None`` and neither ``window``
        nor ``half_life``), 40 bytes for each of ``events_`` and, for a map, the current frame: mostly 8 bytes for each
        pair of a landmark and an anchor or another landmark.
        """
        checkpoint.write(path, *self._fitted_engine().pack())

    def to_bytes(self) -> bytes:
        """Return the bytes that :meth:`save` writes, for a database, a log or a message."""
        return checkpoint.to_bytes(*self._fitted_engine().pack())

    @classmethod
    def load(cls, path: PathLike, *, metric: Any = None, replace_on: Any = None, embedding: Any = None) -> Self:
        """Read a checkpoint; raise an error if it is damaged.

        User-defined metrics, detectors (``replace_on``) and embeddings are not stored: pass them again. Such a detector
        starts from its initial state, and such an embedding is fitted again.
        """
        given = {"metric": metric, "replace_on": replace_on, "embedding": embedding}
        return cls._of_engine(serialization.load(path, cls._engine_type, **given))

    @classmethod
    def from_bytes(cls, blob: bytes, *, metric: Any = None, replace_on: Any = None, embedding: Any = None) -> Self:
        """Return the estimator in the bytes of :meth:`to_bytes` or of a checkpoint file; see :meth:`load`."""
        given = {"metric": metric, "replace_on": replace_on, "embedding": embedding}
        return cls._of_engine(serialization.from_bytes(blob, cls._engine_type, **given))

    @classmethod
    def _of_engine(cls, engine: Any) -> Self:
        estimator = cls(**engine.params())
        estimator._engine = engine
        return estimator

    def __dir__(self) -> list[str]:
        """List attributes without evaluating them, as scikit-learn would: some are slow or raise."""
        return list(object.__dir__(self))

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return the attributes for scikit-learn's diagram: the cheap ones instead of all."""
        from sklearn.base import BaseEstimator

        shown = BaseEstimator()
        vars(shown).update({name: getattr(self, name) for name in SHOWN_ATTRIBUTES})
        return shown._get_fitted_attr_html(doc_link)

    def __sklearn_is_fitted__(self) -> bool:
        engine = self.__dict__.get("_engine")
        return engine is not None and bool(engine.fitted)

    def _fitted_engine(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise validation.not_fitted(type(self).__name__)
        return self._engine
