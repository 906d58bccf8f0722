"""Driftmap's other embeddings, and their alternatives for neighbours and manifolds."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

import numpy as np

from benchmarks.peers.interface import Cannot, Method, Refitted
from benchmarks.peers.methods import Driftmap, OpenTsne, Umap

LANDMARKS = 100
NEIGHBOURS = 8
"""Neighbours in the graphs of Isomap."""


class DriftmapIsomap(Driftmap):
    """100 landmarks, 1,600 stored points."""

    label = "Driftmap, isomap"
    options: ClassVar[dict[str, Any]] = {"embedding": "isomap", "memory": 1600}


class DriftmapDiffusion(Driftmap):
    """100 landmarks."""

    label = "Driftmap, diffusion"
    options: ClassVar[dict[str, Any]] = {"embedding": "diffusion"}


class DriftmapTsne(Driftmap):
    """200 landmarks."""

    label = "Driftmap, tsne"
    options: ClassVar[dict[str, Any]] = {"embedding": "tsne", "n_landmarks": 200}


class DriftmapTsne400(Driftmap):
    """400 landmarks."""

    label = "Driftmap, tsne, 400 landmarks"
    options: ClassVar[dict[str, Any]] = {"embedding": "tsne", "n_landmarks": 400}


class DriftmapKernelTsne(Driftmap):
    """200 landmarks."""

    label = "Driftmap, kernel-tsne"
    options: ClassVar[dict[str, Any]] = {"embedding": "kernel-tsne", "n_landmarks": 200}


class Isomap(Refitted):
    """scikit-learn's Isomap of all points, with 8 neighbours."""

    label = "scikit-learn Isomap"
    package = "scikit-learn"

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit a new map."""
        from sklearn.manifold import Isomap

        self.model = Isomap(n_neighbors=NEIGHBOURS, n_components=2)
        return self.model.fit_transform(X)


class TapkeeIsomap(Refitted):
    """tapkee's landmark Isomap with 100 random landmarks and 8 neighbours.

    It has no seed, and cannot place further points, so it is fitted to all points.
    """

    label = "tapkee l-isomap"
    package = "tapkee"
    needs_all = True

    def __init__(self) -> None:
        self.tapkee = importlib.import_module("tapkee")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit a new map; tapkee expects points as columns."""
        return self.tapkee.embed(
            np.asfortranarray(X.T),
            method="l-isomap",
            num_neighbors=NEIGHBOURS,
            target_dimension=2,
            landmark_ratio=min(LANDMARKS / len(X), 1.0),
        )

    def place(self, X: np.ndarray) -> np.ndarray:
        """Raise, since it is not supported."""
        raise Cannot("cannot map new points: it was fitted to all points")


class Pydiffmap(Refitted):
    """pydiffmap with alpha = 1 as in Driftmap, automatic bandwidth, and Nystrom extension for new points."""

    label = "pydiffmap"
    package = "pydiffmap"

    def __init__(self) -> None:
        self.diffusion_map = importlib.import_module("pydiffmap.diffusion_map")

    def fit(self, X: np.ndarray) -> np.ndarray:
        """Fit a new map."""
        self.model = self.diffusion_map.DiffusionMap.from_sklearn(n_evecs=2, alpha=1.0, epsilon="bgh")
        return self.model.fit_transform(X)


MANIFOLD_METHODS: dict[str, type[Method]] = {
    "driftmap-isomap": DriftmapIsomap,
    "driftmap-diffusion": DriftmapDiffusion,
    "driftmap-tsne": DriftmapTsne,
    "driftmap-tsne-400": DriftmapTsne400,
    "driftmap-kernel-tsne": DriftmapKernelTsne,
    "sklearn-isomap": Isomap,
    "tapkee-isomap": TapkeeIsomap,
    "pydiffmap": Pydiffmap,
    "opentsne": OpenTsne,
    "umap": Umap,
}
