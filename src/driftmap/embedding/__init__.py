"""Embeddings: positions of landmarks from their distances and masses, and of any point from its landmark distances."""

from driftmap.embedding.anchors import choose_anchors, choose_with
from driftmap.embedding.base import Anchors, Embedding, RowPlacer, StoredPoints
from driftmap.embedding.bounds import (
    DislocationBound,
    dislocation_bound,
    measured_dislocation,
    projection_perturbation_bound,
)
from driftmap.embedding.diffusion import LandmarkDiffusionMap
from driftmap.embedding.factory import EMBEDDINGS
from driftmap.embedding.isomap import LandmarkIsomap
from driftmap.embedding.kernel_tsne import BiKernelTSNE, KernelTSNE
from driftmap.embedding.lmds import LandmarkMDS, classical_mds
from driftmap.embedding.neighbours import NeighbourLists, nearest_neighbours
from driftmap.embedding.procrustes import move, procrustes
from driftmap.embedding.stress import LandmarkStress
from driftmap.embedding.tsne import LandmarkTSNE

__all__ = [
    "EMBEDDINGS",
    "Anchors",
    "BiKernelTSNE",
    "DislocationBound",
    "Embedding",
    "KernelTSNE",
    "LandmarkDiffusionMap",
    "LandmarkIsomap",
    "LandmarkMDS",
    "LandmarkStress",
    "LandmarkTSNE",
    "NeighbourLists",
    "RowPlacer",
    "StoredPoints",
    "choose_anchors",
    "choose_with",
    "classical_mds",
    "dislocation_bound",
    "measured_dislocation",
    "move",
    "nearest_neighbours",
    "procrustes",
    "projection_perturbation_bound",
]
