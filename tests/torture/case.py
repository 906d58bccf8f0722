"""A case: its random numbers, its folder, and what it counts."""

import random
from collections import Counter
from pathlib import Path

import numpy as np


class Case:
    """Everything that a case draws comes from its name."""

    def __init__(self, name, folder):
        self.name, self.folder = name, Path(folder)
        self.rng = random.Random(name)
        self.counts = Counter(cases=1)

    def array_rng(self):
        return np.random.default_rng(self.rng.getrandbits(32))

    def chance(self, probability):
        return self.rng.random() < probability

    def count(self, **more):
        self.counts.update(more)
