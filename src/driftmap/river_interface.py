"""The interface of river's transformers, for a map: points are dicts of features, one by one."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator, clone

from driftmap.landmarks.engine_estimator import EngineEstimator
from driftmap.map import StreamMap
from driftmap.utils.data_frames import as_row
from driftmap.utils.errors import InputError


class RiverInterface(EngineEstimator, BaseEstimator):
    """Methods by which river's pipelines learn and place a point."""

    _engine: StreamMap

    def learn_one(self, x: Mapping[str, float]) -> Self:
        """Learn from one point given as a dict of features (river's interface)."""
        names = self._names_of(x)
        row = as_row(x, names)
        with self._learning_engine(row) as mapper:
            mapper.partial_fit(row)
            mapper.dict_names = names
        return self

    def transform_one(self, x: Mapping[str, float]) -> dict[str, float]:
        """Place one point given as a dict of features (river's interface); at 0 before the first point is learnt.

        If the learnt points had no feature names, the first dict placed or learnt defines the names and their order.
        """
        if not self.__sklearn_is_fitted__():
            return dict.fromkeys(map(str, self.get_feature_names_out()), 0.0)
        mapper = self._fitted_engine()
        names = self._names_of(x)
        place = mapper.transform(as_row(x, names))[0]
        mapper.dict_names = names
        return dict(zip(map(str, self.get_feature_names_out()), map(float, place), strict=True))

    _supervised = False
    """Tells river's pipelines that ``learn_one`` takes no target."""

    def clone(self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return a copy with these parameters (river's interface); ``include_attributes`` keeps the learnt state."""
        other = copy.deepcopy(self) if include_attributes else clone(self)
        return other.set_params(**(new_params or {}))

    @property
    def _last_step(self) -> Any:
        """Register the class as one of river's transformers, and raise AttributeError.

        river looks up the last step of a pipeline here when it checks the type of an object. At that moment river is
        imported, so the class can be registered without importing it.
        """
        river = sys.modules.get("river.base")
        if river is not None:
            river.Transformer.register(type(self))
        raise AttributeError("a map is not a pipeline")

    def _names_of(self, x: Mapping[str, float]) -> tuple[str, ...]:
        """Return the feature names in the order learnt; the first dict defines them if the points had no names."""
        if not isinstance(x, Mapping):
            raise InputError(f"must be a dict of features, got {type(x).__name__}", parameter="x")
        if not self.__sklearn_is_fitted__():
            return tuple(x)
        names = self._engine.feature_names or self._engine.dict_names or tuple(x)
        if set(names) != set(x):
            missing, new = sorted(set(names) - set(x)), sorted(set(x) - set(names))
            problem = f"must have the features seen first; missing: {missing}, new: {new}"
            raise InputError(problem, parameter="x")
        return names
