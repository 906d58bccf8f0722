"""How many anchors are enough: few where data are a sheet, many where all distances are alike."""

import numpy as np
import pytest

from driftmap import DriftMap, FrozenMap, InputError, quality
from driftmap.datasets import s_curve_stream
from driftmap.map.anchor_count import ANCHOR_COUNTS, nearest_distance

RNG = np.random.default_rng(0)
SHEET = s_curve_stream()
NOISE = RNG.standard_normal((1500, 200))


def chosen(X, **params):
    return DriftMap(n_anchors="auto", **params).fit(X)


def test_a_sheet_needs_few_and_noise_needs_many():
    assert chosen(SHEET).n_anchors_ == 128
    noise = chosen(NOISE)
    assert noise.n_anchors_ == 1024
    few, many = DriftMap(n_anchors=128).fit(NOISE).transform(NOISE), noise.transform(NOISE)
    assert nearest_distance(many) > 1.5 * nearest_distance(few)  # islands round the gaps between anchors
    assert quality.stress(NOISE, many) < quality.stress(NOISE, few)


@pytest.mark.parametrize("k", [1, 3])
def test_few_anchors_are_enough_on_the_line_and_where_the_map_is_exact(k):
    assert chosen(SHEET, n_components=k).n_anchors_ == 128


@pytest.mark.parametrize("n", [2, 50, 300])
def test_all_of_few_points_are_anchors(n):
    assert chosen(SHEET[:n]).n_anchors_ == n


def test_more_landmarks_than_anchors():
    assert chosen(NOISE, n_landmarks=300, memory=None).n_anchors_ in ANCHOR_COUNTS[2:]
    assert chosen(SHEET, n_landmarks=300, n_components=2).n_anchors_ == 1000  # 1,024 would leave none to compare


def test_a_function_that_takes_long_is_not_asked_to_compare():
    calls = 0

    def slow(x, y):
        nonlocal calls
        calls += 1
        return float(np.abs(x - y).sum())

    mapper = chosen(SHEET[::3], n_landmarks=10, metric=slow)
    calls = 0
    assert mapper.n_anchors_ == 128
    assert calls <= 10 * 128 + 10 * 10


def test_the_choice_holds_until_much_has_changed():
    X = np.cumsum(RNG.standard_normal((3000, 4)), axis=0)
    mapper, choices = DriftMap(n_anchors="auto", n_landmarks=20), []
    for part in np.split(X, 60):
        mapper.partial_fit(part).transform(part)
        choices.append(mapper._engine.frames.choice.until)
    assert 3 < len(set(choices)) < 30


def test_the_choice_is_saved_frozen_and_restored(tmp_path):
    mapper = chosen(SHEET[:600])
    expected = mapper.transform(SHEET)
    mapper.save(tmp_path / "m")
    mapper.freeze().save(tmp_path / "f")
    loaded = DriftMap.load(tmp_path / "m")
    frozen = FrozenMap.load(tmp_path / "f")
    assert loaded.n_anchors_ == frozen.n_anchors_ == mapper.n_anchors_ == 128
    for one in (loaded, frozen):
        np.testing.assert_array_equal(one.transform(SHEET), expected)
    for one in (mapper, loaded):
        one.partial_fit(SHEET[600:])
    np.testing.assert_array_equal(loaded.transform(SHEET), mapper.transform(SHEET))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("many", "n_anchors must be one of 'auto'"),
        (0, "n_anchors must be at least 1"),
        (2.5, "n_anchors must be an integer"),
    ],
)
def test_bad_numbers(wrong, message):
    with pytest.raises(InputError, match=message):
        DriftMap(n_anchors=wrong).fit(SHEET)


def test_more_anchors_than_stored_points_are_all_of_them():
    mapper = DriftMap(n_anchors=5000).fit(SHEET)
    assert mapper.n_anchors_ == len(SHEET)
    few = DriftMap(n_anchors=5000, n_landmarks=10, memory=160).fit(SHEET)
    assert few.n_anchors_ == len(few.stored_indices_) <= 160
    assert DriftMap(n_anchors=5000, n_landmarks=10, window=200).fit(SHEET).n_anchors_ == 200


def test_anchors_of_precomputed_distances_are_measured():
    distances = np.linalg.norm(SHEET[:, None] - SHEET, axis=2)
    known, rows = chosen(distances, metric="precomputed"), chosen(SHEET)
    assert known.n_anchors_ == rows.n_anchors_ == 128
    assert known.fitted_embedding_.anchors_.measured
    np.testing.assert_allclose(known.transform(distances), rows.transform(SHEET), atol=1e-6)


def test_an_embedding_without_anchors_ignores_their_number():
    maps = [DriftMap(embedding="lmds", n_anchors=n).fit(SHEET) for n in (128, "auto", None)]
    assert {mapper.n_anchors_ for mapper in maps} == {100}
    assert len({mapper.transform(SHEET).tobytes() for mapper in maps}) == 1


def test_a_number_that_is_refused_changes_nothing():
    mapper = DriftMap(n_landmarks=20).fit(SHEET)
    before = mapper.transform(SHEET)
    with pytest.raises(InputError, match="n_anchors must be at least 1"):
        mapper.set_params(n_anchors=0).fit(SHEET[:50])
    np.testing.assert_array_equal(mapper.transform(SHEET), before)


def test_a_small_memory_needs_no_more_anchors():
    assert chosen(np.cumsum(RNG.standard_normal((3000, 4)), axis=0), n_landmarks=10, memory=160).n_anchors_ == 128
