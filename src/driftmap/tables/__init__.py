"""Tables: readers of all formats in chunks of numbers, steps applied to rows, and writers."""

from typing import TYPE_CHECKING

from driftmap._lazy import lazily

if TYPE_CHECKING:
    from driftmap.tables.delay import DelayEmbedding, delay_embedding
    from driftmap.tables.missing import FillMissing
    from driftmap.tables.scaling import RunningScale

__all__ = ["DelayEmbedding", "FillMissing", "RunningScale", "delay_embedding"]

# Lazy, so that the command line starts without importing the steps.
__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("DelayEmbedding", "delay_embedding"), "driftmap.tables.delay"),
        "FillMissing": "driftmap.tables.missing",
        "RunningScale": "driftmap.tables.scaling",
    },
)
