"""Driftmap: a true, steady, low-dimensional map of a data stream."""

__version__ = "0.1.0"
