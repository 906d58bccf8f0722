"""DriftMap: the map of a stream as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from driftmap import checks
from driftmap.map import StreamMap

Array = NDArray[np.float64]


class DriftMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, StreamMap):
    """A low-dimensional map of a stream, from a few landmarks that follow it.

    ``partial_fit`` learns from points as they arrive; ``transform`` places any points by their distances to the present
    landmarks and never learns. A row is placed by itself: row i of a batch goes where row i alone would.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    n_landmarks : int
        The most landmarks to keep, at least ``n_components + 1``.
    rule : {"tight", "paper"}
        Which landmark leaves when a new one comes; see :class:`~driftmap.landmarks.OnlineLandmarks`.
    embedding : {"stress", "weighted-lmds", "lmds"} or Embedding
        How landmarks and points are placed: by stress, or by landmark MDS with or without the landmarks' masses; an
        object with the members of :class:`~driftmap.embedding.Embedding` is copied and used.
    n_anchors : int or None
        With "stress": fit the map to up to so many weighted stored points, whose distances follow from those to the
        landmarks; None: to the landmarks only.
    align : bool
        Lay each new frame on the one given out before, so that the map does not turn or flip when landmarks change.
    metric, metric_params
        The distance; see :class:`~driftmap.landmarks.OnlineLandmarks`.
    memory, window, half_life, replace_on
        How many points are remembered, how long, and when landmarks are replaced; see
        :class:`~driftmap.landmarks.OnlineLandmarks`.
    n_jobs : int or None
        Threads that learn and place the rows of large batches; None: one, -1: one per core. They change no result.
    random_state : int, RandomState or None
        For embeddings that need random numbers; those above do not.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap import DriftMap
    >>> rng = np.random.default_rng(0)
    >>> stream = np.cumsum(rng.standard_normal((500, 5)), axis=0)
    >>> mapper = DriftMap(n_landmarks=20)
    >>> for batch in np.split(stream, 5):
    ...     mapper = mapper.partial_fit(batch)
    >>> mapper.transform(stream).shape
    (500, 2)
    """

    def transform(self, X: Any) -> Array:
        """Place points in the frame of the present landmarks."""
        return super().transform(X)  # scikit-learn's set_output looks for a method of this class

    def learn_one(self, x: Mapping[str, float]) -> Self:
        """Learn from one point given as a dict of features, as river's users write it."""
        names = self._names_of(x)
        self.partial_fit(_as_row(x, names))
        self._dict_names = names
        return self

    def transform_one(self, x: Mapping[str, float]) -> dict[str, float]:
        """Place one point given as a dict of features."""
        self._check_fitted()
        self._dict_names = self._names_of(x)
        place = self._place(_as_row(x, self._dict_names))[0]
        return dict(zip(map(str, self.get_feature_names_out()), map(float, place), strict=True))

    def _names_of(self, x: Mapping[str, float]) -> tuple[str, ...]:
        """The features in the order in which they were learnt; the first dict names them if nothing else has."""
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, got {type(x).__name__}")
        known = (getattr(self, "feature_names_in_", ()), getattr(self, "_dict_names", ()))
        names = next((tuple(names) for names in known if len(names)), tuple(x))
        if self.__sklearn_is_fitted__() and set(names) != set(x):
            missing, new = sorted(set(names) - set(x)), sorted(set(x) - set(names))
            raise ValueError(f"x must have the features seen first; missing: {missing}, new: {new}")
        return names if self.__sklearn_is_fitted__() else tuple(x)

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Feature names and their number, as scikit-learn keeps them; objects and distances have none."""
        if self.metric == "precomputed" or (hasattr(X, "shape") and len(X.shape) != 2):
            return  # told to the user where the rows are checked
        if checks.is_plain(X) and not hasattr(self, "feature_names_in_"):
            # As nearly always; the way through scikit-learn takes longer than to learn a point.
            if reset:
                self.n_features_in_ = X.shape[1]
            if X.shape[1] == self.n_features_in_:
                return
        if hasattr(X, "shape"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset and not callable(self.metric):
            validate_data(self, np.asarray(X), reset=True, skip_check_array=True)

    @property
    def _n_features_out(self) -> int:
        return self._frames.n_components if self.__sklearn_is_fitted__() else self.n_components


def _as_row(x: Mapping[str, float], names: tuple[str, ...]) -> NDArray[Any]:
    values = [x[name] for name in names]
    try:
        return np.array([values], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([values], dtype=object)  # told to the user where the rows are checked
