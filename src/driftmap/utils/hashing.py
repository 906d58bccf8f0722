"""Numbers that follow from arrivals and spread evenly, where others would draw random ones."""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: multiples of it, modulo 2^64, spread evenly however many there are."""
