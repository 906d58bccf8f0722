"""The middle of every run: rows in, places, novelty and alerts out, with a state that can be saved."""

from driftmap.pipeline.map_operator import MapOperator
from driftmap.pipeline.observer import Observer, Update
from driftmap.pipeline.run import Run

__all__ = ["MapOperator", "Observer", "Run", "Update"]
