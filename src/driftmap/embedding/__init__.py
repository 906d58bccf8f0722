"""Where points go, given landmarks: each embedding takes landmarks, their masses and distances."""

from driftmap.embedding.base import Embedding
from driftmap.embedding.lmds import LandmarkMDS, classical_mds

__all__ = ["Embedding", "LandmarkMDS", "classical_mds"]
