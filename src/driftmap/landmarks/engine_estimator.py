"""Delegation: an estimator has scikit-learn's interface, and an engine that does the work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar, overload

from driftmap.landmarks.events import Event
from driftmap.landmarks.merging import CoreSet, check_settings
from driftmap.landmarks.online import LandmarkEngine
from driftmap.storage import checkpoint, serialization
from driftmap.utils import Array, Ids, PathLike, validation
from driftmap.utils.data_frames import materialized

T = TypeVar("T")

SHOWN_ATTRIBUTES = ("landmark_indices_", "landmark_mass_", "n_replacements_", "n_samples_seen_", "radius_")
"""Attributes that notebooks show: they are cheap and make no new frame."""


def is_lazy(X: Any) -> bool:
    """Whether X is a dask collection, which is not to be loaded as a whole; xarray's objects may be or not."""
    graph = getattr(X, "__dask_graph__", None)
    return graph is not None and graph() is not None


class Delegated(Generic[T]):
    """A read-only attribute that is the engine's, docstring included; ``path`` names the method that finds it."""

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
    """What is known of the landmarks and the stored points of a stream."""

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
        """True distances between the landmarks, (m, m)."""
        engine = self._landmark_engine()
        with engine.lock:
            return engine.landmark_distances()


class EngineEstimator(HasLandmarks):
    """An estimator that has an engine, from its parameters when the first points come."""

    _engine: Any
    _engine_type: type[Any]

    def fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Forget everything, then learn from X; a dask collection is learnt where it lies (:mod:`driftmap.dask`)."""
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
        """Learn from further points, in their order; a batch gives the same result as its rows one by one.

        ``times`` says when they arrived (numbers or dates, never going back), if ``window`` or ``half_life`` is a
        duration; else these count arrivals. Bad input raises an error and changes nothing. The partitions of a dask
        collection are computed one at a time; what came before a bad one stays learnt.
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
        """The engine that learns from X."""
        engine = self.__dict__.get("_engine")
        if engine is not None and engine.fitted:
            yield engine
            return
        params = self._engine_params()
        # several threads may come with the first points: they share one engine, and the others find it fitted
        engine = self.__dict__.setdefault("_engine", self._engine_type(**params))
        with engine.lock:
            if not engine.fitted:
                vars(engine).update(params)
                self._prepare(engine, X)
            yield engine

    def coreset(self) -> CoreSet:
        """The stored points with their weights and spreads: a weighted sample of all points, with a bound on its error.

        It is all that :meth:`merge` needs of a later stream, and takes 8 bytes per number and 24 per point.
        """
        raise NotImplementedError

    def merge(self, *later: Self | CoreSet) -> Self:
        """The estimator of several streams that follow each other, each learnt by its own; the parts stay as they are.

        Of the later ones their :meth:`coreset` is enough. While all stored points fit into memory, this is the single
        pass over all streams, to the bit. Beyond, at most ``memory`` points are stored, masses sum to all points, and
        ``coverage_bound_`` holds for every point of every part. Arrivals are numbered through all streams. ``events_``
        and ``n_replacements_`` are those of the first stream, followed by those of taking in the others' stored points.
        ``n_jobs`` may differ between the parts.
        """
        engine = self._fitted_engine()
        self.check_mergeable()
        merged = type(self)(**self._engine_params())
        merged._engine = self._merged(engine, [part if isinstance(part, CoreSet) else part.coreset() for part in later])
        return merged

    def _merged(self, engine: Any, later: list[CoreSet]) -> Any:
        raise NotImplementedError

    def check_mergeable(self) -> None:
        """Raise an error that names the first parameter that cannot be used, or with which nothing could be merged."""
        self._engine_type(**self._engine_params()).validate()
        check_settings(self)

    def _check_features(self, X: Any) -> None:
        """Raise an error unless further points have the features of the first ones."""

    def _choose(self, engine: Any, X: Any) -> None:
        """Set parameters that all points together decide, before `fit` learns them."""

    def _prepare(self, engine: Any, X: Any) -> None:
        """Prepare an engine for its first points."""

    def _engine_params(self) -> dict[str, Any]:
        return self._engine_type.params_of(self)

    def save(self, path: PathLike) -> None:
        """Write everything to a checkpoint file, from which :meth:`load` goes on as if nothing had happened.

        The same points then give the same results to the bit. The file is replaced as a whole or not at all. Its size
        is that of the stored points and 72 bytes more for each (40 with ``memory=None`` and neither ``window`` nor
        ``half_life``), 40 bytes for each of ``events_``, and, of a map, the present frame: mostly 8 bytes for each pair
        of a landmark and an anchor or another landmark.
        """
        checkpoint.write(path, *self._fitted_engine().pack())

    @classmethod
    def load(cls, path: PathLike, *, metric: Any = None, replace_on: Any = None, embedding: Any = None) -> Self:
        """Read a checkpoint; any damage is an error that says so.

        A metric, detector (``replace_on``) or embedding of your own cannot be stored: give it again. Such a detector
        begins from the beginning, and such an embedding is fitted again.
        """
        given = {"metric": metric, "replace_on": replace_on, "embedding": embedding}
        engine = serialization.load(path, cls._engine_type, **given)
        estimator = cls(**engine.params())
        estimator._engine = engine
        return estimator

    def __dir__(self) -> list[str]:
        """scikit-learn would evaluate every attribute to list it, and some take long or are an error."""
        return list(object.__dir__(self))

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """What scikit-learn's diagram shows, which would be every attribute."""
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
