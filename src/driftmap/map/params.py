"""The parameters of a map: those of its landmarks and of its embedding."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from driftmap.embedding import Embedding
from driftmap.landmarks.params import LandmarkParams


@dataclass(eq=False)
class MapParams(LandmarkParams):
    """The parameters that :class:`driftmap.DriftMap` documents."""

    n_components: int = 2
    _: KW_ONLY
    embedding: str | Embedding = "stress"
    n_anchors: int | str | None = "auto"
    align: bool = True
    frame_tolerance: float | None = 0.02
    n_jobs: int | None = None
    random_state: Any = None
