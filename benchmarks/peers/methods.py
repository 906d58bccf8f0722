"""The peers behind one interface: fit, place new points, add data. Each imports its library when it is created.

Settings are the defaults of each library, except for two dimensions, seed 0, one thread and those in a docstring.
"""

from __future__ import annotations

import copy
import importlib
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.peers.interface import FEW, Cannot, Method, Refitted, Rehearsal

LANDMARKS = 100  # DriftMap's default, used for all methods with landmarks
WINDOW = 4_000


class Driftmap(Method):
    """DriftMap() with default settings."""

    label = "Driftmap"

    def rehearsals(self, n: int) -> list[Rehearsal]:
        """Also exercise the merging of points, which starts beyond 10,000 points."""
        merging = self.options | {"n_landmarks": 20, "memory": 320}
        return [*super().rehearsals(n), (3_000, merging)] if n > 10_000 else super().rehearsals(n)

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit a new map."""
        from driftmap import DriftMap

        self.model = DriftMap(**self.options)
        return self.model.fit_transform(X)


class DriftmapLmds(Driftmap):
    """DriftMap(embedding="lmds")."""

    label = "Driftmap, lmds"
    options: ClassVar[dict[str, Any]] = {"embedding": "lmds"}


class DriftmapWindow(Driftmap):
    """DriftMap(window=4000): twice the 2,000 points by which it is judged under drift."""

    label = "Driftmap, window"
    options: ClassVar[dict[str, Any]] = {"window": WINDOW}

    def rehearsals(self, n: int) -> list[Rehearsal]:
        """Also exercise forgetting, which needs a shorter window with few points."""
        return [(FEW, self.options), (FEW, {"window": 100})]


class Naive(Method):
    """A literal Algorithm 2 with landmark MDS, by the oracle of the tests, which stores all pairs."""

    label = "Algorithm 2, literally"

    def __init__(self) -> None:
        sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
        self.naive = importlib.import_module("naive")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit a new map, arrival by arrival."""
        self.model = self.naive.Paper(LANDMARKS, self.naive.squared_euclidean, 1e-40)
        self.learn(X)
        return self.place(X)

    def learn(self, new: np.ndarray) -> None:
        """Learn arrival by arrival."""
        for x in new:
            self.model.add(x)

    def place(self, X: np.ndarray) -> np.ndarray:
        """Place points by landmark MDS."""
        landmarks = np.array([self.model.points[r] for r in self.model.landmarks])
        within, to = (np.linalg.norm(A[:, None, :] - landmarks[None], axis=2) for A in (landmarks, X))
        return self.naive.lmds(within, to, 2)[1]


class IncrementalPCA(Method):
    """scikit-learn's incremental PCA."""

    label = "IncrementalPCA"
    package = "scikit-learn"

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit in the library's default batches."""
        from sklearn.decomposition import IncrementalPCA

        self.model = IncrementalPCA(n_components=2)
        return self.model.fit_transform(X)


class Isomap(Refitted):
    """scikit-learn's Isomap with 5 neighbours."""

    label = "Isomap"
    package = "scikit-learn"

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit a new map."""
        from sklearn.manifold import Isomap

        self.model = Isomap(n_components=2)
        return self.model.fit_transform(X)


class Nystroem(Refitted):
    """scikit-learn's Nystroem with 100 landmarks and a Gaussian kernel with the median distance as width, then PCA."""

    label = "Nystroem + PCA"
    package = "scikit-learn"

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit kernel features, then PCA."""
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
        """Also exercise the approximate neighbour search, which it uses from 4,096 points on."""
        return [(FEW, {}), (FEW, {"force_approximation_algorithm": True})] if n >= 4096 else [(FEW, {})]

    def fit(self, X: np.ndarray) -> np.ndarray:
        """A new map."""
        self.model = self.umap.UMAP(random_state=0, n_jobs=1, **self.options)
        return self.model.fit_transform(X)


class UmapUpdate(Umap):
    """umap-learn: more data by `update`.

    It divides by zero if a new point has no old point among its neighbours. So it receives all new points together and,
    if that fails, in batches of a tenth, a hundredth ... of them; failed attempts count as time.
    """

    label = "UMAP, update"
    adds = "update"

    def add(self, new: np.ndarray, everything: np.ndarray) -> np.ndarray:
        """Update the map; the result is `embedding_`."""
        size = len(new)
        while True:
            model = copy.deepcopy(self.model)
            try:
                for a in range(0, len(new), size):
                    model.update(new[a : a + size])
            except ZeroDivisionError:
                if size == 1:
                    raise Cannot("update divides by zero: a new point has no old point as neighbour") from None
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
        """Place points independently of each other."""
        return np.asarray(self.model.transform(X))


class Pacmap(Refitted):
    """pacmap: fit, transform (which needs the saved index); more data by a new fit."""

    label = "PaCMAP"
    package = "pacmap"

    def __init__(self) -> None:
        self.pacmap = importlib.import_module("pacmap")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """A new map."""
        self.model = self.pacmap.PaCMAP(n_components=2, random_state=0, save_tree=True)
        return self.model.fit_transform(X)


class Tapkee(Refitted):
    """tapkee's landmark MDS with 100 random landmarks; it has no seed, and cannot place further points."""

    label = "tapkee l-mds"
    package = "tapkee"
    has_scale = True

    def __init__(self) -> None:
        self.tapkee = importlib.import_module("tapkee")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit a new map; tapkee expects points as columns."""
        ratio = min(LANDMARKS / len(X), 1.0)
        return self.tapkee.embed(np.asfortranarray(X.T), method="l-mds", target_dimension=2, landmark_ratio=ratio)

    def place(self, X: np.ndarray) -> np.ndarray:
        """Raise, since it is not supported."""
        raise Cannot("cannot map new points")


class RiverProjection(Method):
    """river's Gaussian random projection, which takes dicts and does not learn."""

    label = "river projection"
    package = "river"
    adds = "none needed"

    def __init__(self) -> None:
        self.preprocessing = importlib.import_module("river.preprocessing")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Draw a new random matrix."""
        self.model = self.preprocessing.GaussianRandomProjector(n_components=2, seed=0)
        return self.place(X)

    def learn(self, new: np.ndarray) -> None:
        """Do nothing: a random projection does not learn."""

    def place(self, X: np.ndarray) -> np.ndarray:
        """Place points one by one."""
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
