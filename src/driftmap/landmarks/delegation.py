"""How estimators delegate to an engine: scikit-learn's face on top, the work below."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, Generic, Self, TypeVar, overload

from driftmap.io import checkpoint, serialization
from driftmap.landmarks.events import Event
from driftmap.landmarks.online import LandmarkEngine
from driftmap.utils import Array, Ids, validation

T = TypeVar("T")


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
        """Forget everything, then learn from X."""
        engine = self._engine_type(**self._engine_params())
        self._learn_first(engine, X, times)
        self._engine = engine
        return self

    def partial_fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Learn from further points, in their order; a batch gives the same result as its rows one by one.

        ``times`` says when they arrived (numbers or dates, never going back), if ``window`` or ``half_life`` is a
        duration; else these count arrivals. Bad input raises an error and changes nothing.
        """
        engine = self.__dict__.get("_engine")
        if engine is not None and engine.fitted:
            engine.partial_fit(X, times)
            return self
        params = self._engine_params()
        # several threads may come with the first points: they share one engine, and the others find it fitted
        engine = self.__dict__.setdefault("_engine", self._engine_type(**params))
        with engine.lock:
            if engine.fitted:
                engine.partial_fit(X, times)
            else:
                vars(engine).update(params)
                self._learn_first(engine, X, times)
        return self

    def _learn_first(self, engine: Any, X: Any, times: Any) -> None:
        engine.partial_fit(X, times)

    def _engine_params(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self._engine_type)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a checkpoint file, from which :meth:`load` goes on as if nothing had happened.

        The same points then give the same results to the bit. The file is replaced as a whole or not at all. Its size
        is that of the stored points and 72 bytes more for each (40 where all are stored), 40 bytes for each of
        ``events_``, and, of a map, the present frame: mostly 8 bytes for each pair of a landmark and an anchor or
        another landmark.
        """
        checkpoint.write(path, *self._fitted_engine().pack())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, metric: Any = None, replace_on: Any = None, embedding: Any = None
    ) -> Self:
        """Read a checkpoint; any damage is an error that says so.

        A metric, detector (``replace_on``) or embedding of your own cannot be stored: give it again. Such a detector
        begins from the beginning, and such an embedding is fitted again.
        """
        given = {"metric": metric, "replace_on": replace_on, "embedding": embedding}
        engine = serialization.load(path, cls._engine_type, **given)
        estimator = cls(**engine.params())
        estimator._engine = engine
        return estimator

    def __sklearn_is_fitted__(self) -> bool:
        engine = self.__dict__.get("_engine")
        return engine is not None and bool(engine.fitted)

    def _fitted_engine(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise validation.not_fitted(type(self).__name__)
        return self._engine
