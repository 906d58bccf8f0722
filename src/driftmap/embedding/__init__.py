"""Where points go, given landmarks: each embedding takes landmarks, their masses and distances."""

from driftmap.embedding.anchors import choose_anchors
from driftmap.embedding.base import Embedding, RowPlacer
from driftmap.embedding.lmds import LandmarkMDS, classical_mds
from driftmap.embedding.procrustes import move, procrustes
from driftmap.embedding.stress import LandmarkStress

__all__ = [
    "Embedding",
    "LandmarkMDS",
    "LandmarkStress",
    "RowPlacer",
    "choose_anchors",
    "classical_mds",
    "move",
    "procrustes",
]
