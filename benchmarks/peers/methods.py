"""The peers behind one interface: fit, place new points, add data. Each imports its library only when it is made.

Settings are each library's own defaults, apart from two dimensions, a seed of 0, one thread and what a docstring names.
"""

from __future__ import annotations

import copy
import importlib
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.peers.interface import FEW, Cannot, Method, Refitted, Rehearsal

LANDMARKS = 100  # DriftMap's default, for every method that has landmarks
WINDOW = 4_000


class Driftmap(Method):
    """DriftMap() as it comes."""

    label = "Driftmap"

    def rehearsals(self, n: int) -> list[Rehearsal]:
        """Beyond 10,000 points compiled code merges them, and looks for landmarks in blocks after a calm while."""
        merging = self.options | {"n_landmarks": 20, "memory": 320}
        return [*super().rehearsals(n), (3_000, merging)] if n > 10_000 else super().rehearsals(n)

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Landmarks, then the map."""
        from driftmap import DriftMap

        self.model = DriftMap(**self.options)
        return self.model.fit_transform(X)


class DriftmapLmds(Driftmap):
    """DriftMap(embedding="lmds")."""

    label = "Driftmap, lmds"
    options: ClassVar[dict[str, Any]] = {"embedding": "lmds"}


class DriftmapWindow(Driftmap):
    """DriftMap(window=4000): it forgets what is older than twice the 2,000 points by which it is judged under drift."""

    label = "Driftmap, window"
    options: ClassVar[dict[str, Any]] = {"window": WINDOW}

    def rehearsals(self, n: int) -> list[Rehearsal]:
        """With few points something must be forgotten, too."""
        return [(FEW, self.options), (FEW, {"window": 100})]


class Naive(Method):
    """Algorithm 2 done literally, by the oracle of the tests, which stores all pairs, and plain landmark MDS."""

    label = "Algorithm 2, literally"

    def __init__(self) -> None:
        sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
        self.naive = importlib.import_module("naive")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Arrival by arrival."""
        self.model = self.naive.Paper(LANDMARKS, self.naive.squared_euclidean, 1e-40)
        self.learn(X)
        return self.place(X)

    def learn(self, new: np.ndarray) -> None:
        """Arrival by arrival."""
        for x in new:
            self.model.add(x)

    def place(self, X: np.ndarray) -> np.ndarray:
        """Landmark MDS."""
        landmarks = np.array([self.model.points[r] for r in self.model.landmarks])
        within, to = (np.linalg.norm(A[:, None, :] - landmarks[None], axis=2) for A in (landmarks, X))
        return self.naive.lmds(within, to, 2)[1]


class IncrementalPCA(Method):
    """scikit-learn's."""

    label = "IncrementalPCA"
    package = "scikit-learn"

    def fit(self, X: np.ndarray) -> np.ndarray:
        """In its own batches."""
        from sklearn.decomposition import IncrementalPCA

        self.model = IncrementalPCA(n_components=2)
        return self.model.fit_transform(X)


class Isomap(Refitted):
    """scikit-learn's, 5 neighbours."""

    label = "Isomap"
    package = "scikit-learn"

    def fit(self, X: np.ndarray) -> np.ndarray:
        """All shortest paths."""
        from sklearn.manifold import Isomap

        self.model = Isomap(n_components=2)
        return self.model.fit_transform(X)


class Nystroem(Refitted):
    """scikit-learn's with 100 landmarks and a Gaussian kernel as wide as the median distance, then PCA."""

    label = "Nystroem + PCA"
    package = "scikit-learn"

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Kernel features, then PCA."""
        from scipy.spatial.distance import pdist
        from sklearn.decomposition import PCA
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        few = X[np.random.default_rng(0).choice(len(X), min(len(X), 500), replace=False)]
        gamma = 1 / np.median(pdist(few, "sqeuclidean"))
        kernel = Nystroem(gamma=gamma, n_components=min(LANDMARKS, len(X)), random_state=0)
        self.model = make_pipeline(kernel, PCA(2, random_state=0))
        return self.model.fit_transform(X)


class Umap(Refitted):
    """umap-learn: fit, transform; more data by a new fit."""

    label = "UMAP"
    package = "umap-learn"

    def __init__(self) -> None:
        self.umap = importlib.import_module("umap")

    def rehearsals(self, n: int) -> list[Rehearsal]:
        """From 4,096 points on it searches neighbours in another way."""
        return [(FEW, {}), (FEW, {"force_approximation_algorithm": True})] if n >= 4096 else [(FEW, {})]

    def fit(self, X: np.ndarray) -> np.ndarray:
        """A new map."""
        self.model = self.umap.UMAP(random_state=0, n_jobs=1, **self.options)
        return self.model.fit_transform(X)


class UmapUpdate(Umap):
    """umap-learn: more data by `update`.

    It divides by zero when a new point has no old one among its neighbours. So it is given the new points all at once
    and, if that fails, in batches of a tenth, a hundredth ... of them; the attempts that failed count as time.
    """

    label = "UMAP, update"
    adds = "update"

    def add(self, new: np.ndarray, everything: np.ndarray) -> np.ndarray:
        """The map is `embedding_` afterwards."""
        size = len(new)
        while True:
            model = copy.deepcopy(self.model)
            try:
                for a in range(0, len(new), size):
                    model.update(new[a : a + size])
            except ZeroDivisionError:
                if size == 1:
                    raise Cannot("update divides by zero: a new point has no old one among its neighbours") from None
                size = max(1, size // 10)
            else:
                self.model = model
                return model.embedding_


class OpenTsne(Refitted):
    """openTSNE: fit, transform; more data by a new fit."""

    label = "openTSNE"
    package = "openTSNE"

    def __init__(self) -> None:
        self.tsne = importlib.import_module("openTSNE")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """A new map."""
        self.model = self.tsne.TSNE(n_components=2, random_state=0, n_jobs=1).fit(X)
        return np.asarray(self.model)

    def place(self, X: np.ndarray) -> np.ndarray:
        """Each point by itself."""
        return np.asarray(self.model.transform(X))


class Pacmap(Refitted):
    """pacmap: fit, transform (its index is kept for that); more data by a new fit."""

    label = "PaCMAP"
    package = "pacmap"

    def __init__(self) -> None:
        self.pacmap = importlib.import_module("pacmap")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """A new map."""
        self.model = self.pacmap.PaCMAP(n_components=2, random_state=0, save_tree=True)
        return self.model.fit_transform(X)


class Tapkee(Refitted):
    """tapkee's landmark MDS with 100 random landmarks; it has no seed, and no way to place further points."""

    label = "tapkee l-mds"
    package = "tapkee"
    has_scale = True

    def __init__(self) -> None:
        self.tapkee = importlib.import_module("tapkee")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Columns are points there."""
        ratio = min(LANDMARKS / len(X), 1.0)
        return self.tapkee.embed(np.asfortranarray(X.T), method="l-mds", target_dimension=2, landmark_ratio=ratio)

    def place(self, X: np.ndarray) -> np.ndarray:
        """Not offered."""
        raise Cannot("cannot map new points")


class RiverProjection(Method):
    """river's Gaussian random projection, which takes dicts and learns nothing."""

    label = "river projection"
    package = "river"
    adds = "none needed"

    def __init__(self) -> None:
        self.preprocessing = importlib.import_module("river.preprocessing")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """A new random matrix."""
        self.model = self.preprocessing.GaussianRandomProjector(n_components=2, seed=0)
        return self.place(X)

    def learn(self, new: np.ndarray) -> None:
        """There is nothing to learn."""

    def place(self, X: np.ndarray) -> np.ndarray:
        """One by one."""
        placed = (self.model.transform_one(dict(enumerate(row))) for row in X.tolist())
        return np.array([[y[0], y[1]] for y in placed])


METHODS: dict[str, type[Method]] = {
    "driftmap": Driftmap,
    "driftmap-lmds": DriftmapLmds,
    "driftmap-window": DriftmapWindow,
    "naive": Naive,
    "ipca": IncrementalPCA,
    "isomap": Isomap,
    "nystroem": Nystroem,
    "umap": Umap,
    "umap-update": UmapUpdate,
    "opentsne": OpenTsne,
    "pacmap": Pacmap,
    "tapkee": Tapkee,
    "river": RiverProjection,
}
FOLLOWED = (
    *("driftmap", "driftmap-lmds", "driftmap-window"),
    *("ipca", "river", "isomap", "nystroem", "umap", "opentsne", "pacmap"),
)
