"""Tables: readers of every format in chunks of numbers, steps that rows go through, writers."""

from driftmap.tables.delay import DelayEmbedding, delay_embedding
from driftmap.tables.missing import FillMissing
from driftmap.tables.scaling import RunningScale

__all__ = ["DelayEmbedding", "FillMissing", "RunningScale", "delay_embedding"]
