"""What must not change a result: batch splits, checkpoints, precision, memory layouts and processor levels."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftmap import DriftMap
from driftmap.landmarks import OnlineLandmarks, RatioShift
from streams import EXAMPLES, KINDS, WIDTHS, at_most, facts, few, make

MODES = {
    "all": {"memory": None},
    "paper": {"rule": "paper"},
    "slack": {"slack": 0.1},
    "bounded": {"memory": 64},
    "window": {"window": 90, "memory": 64},
    "exact window": {"window": 50, "memory": None},
    "half-life": {"half_life": 20, "memory": 64},
    "detector": {"memory": 64, "replace_on": RatioShift(warm_up=5)},
}
SEEDS = st.integers(0, 2**32 - 1)
CUTS = st.lists(st.integers(1, 199), max_size=4)


def taxi(x, y):
    return float(np.abs(x - y).sum())


taxi.obeys_triangle = True


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", taxi])
@given(kind=st.sampled_from(KINDS), seed=SEEDS, cuts=CUTS, saves=st.booleans())
@at_most(EXAMPLES // 15)
def test_batches_and_checkpoints_change_nothing(metric, mode, kind, seed, cuts, saves, tmp_path_factory):
    X = make(kind, 200, 3, seed)
    at_once = OnlineLandmarks(4, metric=metric, **MODES[mode]).fit(X)
    path = tmp_path_factory.mktemp("saved") / "landmarks.ckpt"
    in_parts = OnlineLandmarks(4, metric=metric, **MODES[mode])
    for part in np.split(X, sorted(set(cuts))):
        in_parts.partial_fit(part)
        if saves:
            in_parts.save(path)
            in_parts = OnlineLandmarks.load(path, **({"metric": taxi} if metric is taxi else {}))
    assert facts(in_parts) == facts(at_once)


@pytest.mark.parametrize("mode", MODES)
@given(
    kind=st.sampled_from(KINDS),
    seed=SEEDS,
    d=st.sampled_from(WIDTHS),
    scale=st.sampled_from([1.0, 1e-22, 1e17]),  # squares are beyond what single precision can hold
    cuts=CUTS,
)
@few
def test_single_precision_is_learnt_as_its_values(mode, kind, seed, d, scale, cuts):
    X = (make(kind, 200, d, seed) * scale).astype(np.float32)
    double = OnlineLandmarks(4, **MODES[mode]).fit(X.astype(np.float64))
    single = OnlineLandmarks(4, **MODES[mode])
    for k, part in enumerate(np.split(X, sorted(set(cuts)))):
        single.partial_fit(part.astype(np.float64) if k % 3 == 1 else part)
    assert facts(single) == facts(double)
    np.testing.assert_array_equal(single.landmarks_, double.landmarks_, strict=True)
    np.testing.assert_array_equal(single.distances(X[:9]), double.distances(X[:9].astype(np.float64)), strict=True)


def with_gaps(X):
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


def as_frame(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({f"column {j}": X[:, j] for j in range(X.shape[1])})


LAYOUTS = {
    "columns first": np.asfortranarray,
    "with gaps": with_gaps,
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "foreign byte order": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "unaligned": lambda X: np.frombuffer(b"?" + X.tobytes(), X.dtype, offset=1).reshape(X.shape),
    "lists": lambda X: X.tolist(),
    "pandas": as_frame,
    "polars": lambda X: pytest.importorskip("polars").from_numpy(X, schema=[f"{j}" for j in range(X.shape[1])]),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("d", [3, 20])
def test_layouts_in_memory_change_nothing(layout, d, dtype):
    X = make("walk", 200, d, 0).astype(dtype)
    laid_out = LAYOUTS[layout](X)
    expected, found = (OnlineLandmarks(8, memory=128).fit(points) for points in (X, laid_out))
    assert facts(found) == facts(expected)
    np.testing.assert_array_equal(found.distances(laid_out), expected.distances(X), strict=True)
    expected, found = (DriftMap(n_landmarks=8, memory=128).fit(points).transform(points) for points in (X, laid_out))
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)


def test_whole_numbers_are_learnt_as_their_values():
    X = np.random.default_rng(0).integers(-50, 50, (200, 3))
    expected = facts(OnlineLandmarks(5).fit(X.astype(float)))
    for dtype in (np.int8, np.int64, np.float32):
        assert facts(OnlineLandmarks(5).fit(X.astype(dtype))) == expected
    assert facts(OnlineLandmarks(5).fit(X > 0)) == facts(OnlineLandmarks(5).fit((X > 0).astype(float)))


# --- processor levels -------------------------------------------------------------------------------------------------

LEVELS = """
import hashlib, sys
import numpy as np
from driftmap import DriftMap, _core
from driftmap.landmarks import OnlineLandmarks, RatioShift

rng, digest = np.random.default_rng(0), hashlib.sha256()
modes = [{}, {"rule": "paper"}, {"slack": 0.1}, {"memory": 80}, {"window": 100, "memory": 80}]
modes += [{"half_life": 30}, {"replace_on": RatioShift(warm_up=5)}]

def tell(*values):
    for value in values:
        digest.update(np.ascontiguousarray(value).tobytes())

for d in (3, 16, 17, 37):
    for X in (rng.standard_normal((200, d)), np.cumsum(rng.standard_normal((200, d)), axis=0) + 50):
        for how in modes + [{"metric": name} for name in _core.METRICS]:
            points = np.abs(X).astype(np.float32) if d == 17 else np.abs(X)
            found = OnlineLandmarks(5, **how).fit(points)
            tell(found.landmark_indices_, found.landmark_mass_, found.radius_, found.covering_radius_)
            tell(found.resolution_, found.stored_indices_, found.distances(points[:20]))
            if found.resolution_ > 0:
                tell(found.coverage_bound_)
    tell(DriftMap(n_landmarks=8, n_components=2).fit(X).transform(X[:50]))
print(_core.level, digest.hexdigest())
"""


@functools.cache
def run_at(level):
    environment = {key: value for key, value in os.environ.items() if key != "DRIFTMAP_LEVEL"}
    forced = {"DRIFTMAP_LEVEL": level} if level else {}
    return subprocess.run([sys.executable, "-c", LEVELS], env=environment | forced, capture_output=True, text=True)


@pytest.mark.parametrize("level", ["v2", "v3", "v4", "generic"])
def test_every_processor_level_gives_the_same_bits(level):
    forced = run_at(level)
    if forced.returncode != 0:
        assert "DRIFTMAP_LEVEL can be" in forced.stderr
        pytest.skip(f"this processor or this build has no level {level}")
    found, bits = forced.stdout.split()
    _, expected = run_at(None).stdout.split()
    assert (found, bits) == (level, expected)
