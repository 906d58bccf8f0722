"""Numbers whose squares or powers underflow: measured exactly, or refused; bounds hold in any case."""

import numpy as np
import pytest

import naive
from driftmap import DriftMap
from driftmap.cli import main
from driftmap.landmarks import (
    FarthestFirstLandmarks,
    OnlineLandmarks,
    RandomLandmarks,
    greedy_dominating_set,
    radius_for_budget,
)
from driftmap.utils.errors import InputError

SHAPES = np.random.default_rng(3).standard_normal((40, 3))
LEAST = {"euclidean": 1e-150, "minkowski": 1e-100}
ON_TINY_ROWS = {
    "a map": lambda rows, metric: DriftMap(1, n_landmarks=4, **metric).fit(rows).transform(rows),
    "farthest-first": lambda rows, metric: FarthestFirstLandmarks(4, **metric).fit(rows).radius_,
    "a sample": lambda rows, metric: RandomLandmarks(4, random_state=0, **metric).fit(rows).radius_,
    "a dominating set": lambda rows, metric: greedy_dominating_set(rows, 1.0, **metric),
    "a radius": lambda rows, metric: radius_for_budget(rows, 4, **metric),
}


@pytest.mark.parametrize(("p", "size"), [(2, 1e-170), (2, 1e-152), (3, 1e-110), (32, 1e-12)])
def test_the_bound_holds_where_powers_underflow(p, size):
    rows = np.arange(6.0)[:, None] * size
    metric = {"metric": "minkowski", "metric_params": {"p": p}}
    found = OnlineLandmarks(2, initial_radius=max(size, 1e-9), **metric).partial_fit(rows)
    assert found.coverage_bound_ >= 5 * size
    assert found.radius_lower_bound_ <= 2 * size


@pytest.mark.filterwarnings("ignore:the landmarks so far span 0")
@pytest.mark.parametrize("metric", LEAST)
@pytest.mark.parametrize("what", ON_TINY_ROWS)
def test_rows_that_differ_too_little_to_be_measured_are_refused(what, metric):
    """What is not refused is measured as exactly as the same rows a power of two larger."""
    params = {"metric": metric} | ({"metric_params": {"p": 3}} if metric == "minkowski" else {})
    measure = ON_TINY_ROWS[what]
    for size in (1e-3, 1e-8, 1e-40):
        with pytest.raises(InputError, match=r"cannot be measured|cannot be distinguished"):
            measure(SHAPES * LEAST[metric] * size, params)
    measure(np.ones((40, 3)), params)  # equal rows are not too close to be measured
    if what not in ("a map", "a dominating set"):
        factor = 2.0 ** round(np.log2(LEAST[metric]) + 4)
        assert measure(SHAPES * factor, params) == pytest.approx(measure(SHAPES, params) * factor, rel=1e-12)


def test_tiny_differences_beside_others_are_not_refused():
    rows = np.vstack([SHAPES, SHAPES * 1e-170])
    found = FarthestFirstLandmarks(6).fit(rows)
    exact = max(min(naive.exact_square(row, mark) for mark in found.landmarks_) for row in rows)
    assert found.radius_ == pytest.approx(float(exact) ** 0.5, rel=1e-14)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_rows_without_a_direction_that_can_be_measured_are_refused(metric):
    rows = SHAPES.copy()
    rows[7] *= 1e-160
    with pytest.raises(InputError, match=r"^row 7 differs from .* by less than 1e-150"):
        OnlineLandmarks(4, metric=metric).fit(rows)
    rows[7] = SHAPES[7] * 2.0**-480
    tiny, usual = (OnlineLandmarks(4, metric=metric).fit(some).radius_ for some in (rows, SHAPES))
    assert tiny == pytest.approx(usual, rel=1e-12)


@pytest.mark.parametrize("size", [1e-155, 1e-170, 1e-310])
def test_a_column_whose_deviation_underflows_is_refused(tmp_path, capsys, size):
    rows = SHAPES * [1.0, 1.0, size]
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
    words = ["embed", str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv"), "--normalize"]
    assert main([*words, "zscore"]) == 2
    assert "column 'c' holds numbers that differ by less than 1e-150" in capsys.readouterr().err
    assert main([*words, "minmax"]) == 0
