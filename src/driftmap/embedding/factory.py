"""The table of embeddings: the library, the command line, tests and torture take their names from it."""

from __future__ import annotations

from typing import Any

from driftmap.embedding.diffusion import LandmarkDiffusionMap
from driftmap.embedding.isomap import LandmarkIsomap
from driftmap.embedding.kernel_tsne import BiKernelTSNE, KernelTSNE
from driftmap.embedding.lmds import LandmarkMDS
from driftmap.embedding.stress import LandmarkStress
from driftmap.embedding.tsne import LandmarkTSNE

BY_NAME: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "stress": (LandmarkStress, {}),
    "weighted-lmds": (LandmarkMDS, {"weighted": True}),
    "lmds": (LandmarkMDS, {}),
    "isomap": (LandmarkIsomap, {}),
    "diffusion": (LandmarkDiffusionMap, {}),
    "tsne": (LandmarkTSNE, {}),
    "kernel-tsne": (KernelTSNE, {}),
    "bikernel-tsne": (BiKernelTSNE, {}),
}
"""For each name a class and its parameters; the first one is the default."""
EMBEDDINGS = tuple(BY_NAME)
KEEPING_DISTANCES = tuple(name for name, (kind, _) in BY_NAME.items() if kind.keeps_distances)
KEEPING_NEIGHBOURS = tuple(name for name, (kind, _) in BY_NAME.items() if kind.keeps_neighbours)
EMBEDDING_TYPES = tuple(dict.fromkeys(kind for kind, _ in BY_NAME.values()))
"""The classes, whose parameters a checkpoint can hold."""


def make_embedding(name: str, n_components: int) -> Any:
    """The embedding of this name, not fitted yet."""
    kind, params = BY_NAME[name]
    return kind(n_components, **params)
