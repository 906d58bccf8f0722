"""Embeddings by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from driftmap.embedding.diffusion import LandmarkDiffusionMap
from driftmap.embedding.isomap import LandmarkIsomap
from driftmap.embedding.kernel_tsne import BiKernelTSNE, KernelTSNE
from driftmap.embedding.lmds import LandmarkMDS
from driftmap.embedding.stress import LandmarkStress
from driftmap.embedding.tsne import LandmarkTSNE

BY_NAME: dict[str, Callable[[int], Any]] = {
    "stress": LandmarkStress,
    "weighted-lmds": lambda n_components: LandmarkMDS(n_components, weighted=True),
    "lmds": LandmarkMDS,
    "isomap": LandmarkIsomap,
    "diffusion": LandmarkDiffusionMap,
    "tsne": LandmarkTSNE,
    "kernel-tsne": KernelTSNE,
    "bikernel-tsne": BiKernelTSNE,
}
EMBEDDING_TYPES = (
    LandmarkStress, LandmarkMDS, LandmarkIsomap, LandmarkDiffusionMap, LandmarkTSNE, KernelTSNE, BiKernelTSNE,
)  # fmt: skip
"""Embeddings that a checkpoint can hold."""
