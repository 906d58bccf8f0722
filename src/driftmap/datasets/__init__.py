"""Example streams: the paper's three (an S-curve, hospital contacts, stock prices) and generated sample files."""

from driftmap.datasets.generated import s_curve_stream
from driftmap.datasets.recorded import Hospital, Stocks, load_hospital, load_stocks
from driftmap.datasets.samples import SAMPLES, Sample

__all__ = ["SAMPLES", "Hospital", "Sample", "Stocks", "load_hospital", "load_stocks", "s_curve_stream"]
