"""Every processor level gives the same bits."""

import functools
import os
import subprocess
import sys

import pytest

LEVELS = """
import hashlib, warnings
import numpy as np
from driftmap import DriftMap, _core
from driftmap.landmarks import OnlineLandmarks, RatioShift
from driftmap.embedding import EMBEDDINGS

warnings.simplefilter("ignore")
rng, digest = np.random.default_rng(0), hashlib.sha256()
modes = [{}, {"rule": "paper"}, {"slack": 0.1}, {"memory": 80}, {"window": 100, "memory": 80}]
modes += [{"half_life": 30}, {"replace_on": RatioShift(warm_up=5)}]

def add(*values):
    for value in values:
        digest.update(np.ascontiguousarray(value).tobytes())

for d in (3, 16, 17, 37):
    for X in (rng.standard_normal((200, d)), np.cumsum(rng.standard_normal((200, d)), axis=0) + 50):
        for how in modes + [{"metric": name} for name in _core.METRICS]:
            points = np.abs(X).astype(np.float32) if d == 17 else np.abs(X)
            found = OnlineLandmarks(5, **how).fit(points)
            add(found.landmark_indices_, found.landmark_mass_, found.radius_, found.covering_radius_)
            add(found.resolution_, found.stored_indices_, found.distances(points[:20]))
            if found.resolution_ > 0:
                add(found.coverage_bound_)
    far = X * rng.choice([1, 1, 30, 1000], (len(X), 1))
    for name in EMBEDDINGS:
        for k in (1, 2, 3, 4):
            add(DriftMap(k, n_landmarks=8, embedding=name).fit(X).transform(far))
            add(DriftMap(k, n_landmarks=8, embedding=name, metric="cityblock").fit(X).transform(far))
print(_core.level, digest.hexdigest())
"""


@functools.cache
def run_at(level):
    environment = {key: value for key, value in os.environ.items() if key != "DRIFTMAP_LEVEL"}
    forced = {"DRIFTMAP_LEVEL": level} if level else {}
    return subprocess.run([sys.executable, "-c", LEVELS], env=environment | forced, capture_output=True, text=True)


@pytest.mark.parametrize("level", ["v2", "v3", "v4", "generic"])
def test_every_processor_level_gives_the_same_bits(level):
    best, expected = run_at(None).stdout.split()
    if level == best:
        pytest.skip(f"{level} is the level with which the others are compared")
    forced = run_at(level)
    if forced.returncode != 0:
        assert "DRIFTMAP_LEVEL can be" in forced.stderr
        pytest.skip(f"this processor or this build has no level {level}")
    assert forced.stdout.split() == [level, expected]
