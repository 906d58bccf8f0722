"""Steps between a stream of rows and its map: missing values, delay embedding, running normalisation; and novelty.

A step takes rows in their order, a few at a time or many, with the same result, and its state is a few arrays.
"""

from driftmap.streams.base import Step
from driftmap.streams.delay import DelayEmbedding, delay_embedding
from driftmap.streams.missing import FillMissing
from driftmap.streams.scaling import Moments, RunningScale, Scaling

__all__ = ["DelayEmbedding", "FillMissing", "Moments", "RunningScale", "Scaling", "Step", "delay_embedding"]
