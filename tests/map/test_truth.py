"""A picture says how true it is: the stress of a map from a sample, in figures, HTML files and ``driftmap info``."""

import base64
import re
import zlib

import numpy as np
import pytest

from driftmap import DriftMap, quality
from driftmap.cli import main
from driftmap.map import StreamMap
from driftmap.map.truth import SLOW_SAMPLE, evenly, in_words, sampled_stress
from driftmap.web.protocol import decode
from streams import make

NOISE = np.random.default_rng(0).standard_normal((400, 30))
COARSE = "distances are a coarse summary; --embedding tsne shows neighbours"


def test_the_stress_of_few_points_is_exact():
    mapper = StreamMap(n_landmarks=20).partial_fit(NOISE)
    assert sampled_stress(mapper) == pytest.approx(quality.stress(NOISE, mapper.transform(NOISE)), rel=1e-9)


def test_a_sample_follows_mass_and_stands_for_all_points():
    X = np.vstack([make("walk", 3000, 6, seed=0), np.repeat([[50.0] * 6], 3000, axis=0)])
    mapper = StreamMap(n_landmarks=20, memory=640).partial_fit(X)
    assert sampled_stress(mapper) == pytest.approx(quality.stress(X, mapper.transform(X)), rel=0.1)
    ids, weights = evenly(np.arange(100), np.array([901.0] + [1.0] * 99), 50)
    assert weights[0] == 45  # of 50 steps
    assert weights[1:].tolist() == [1] * 5
    assert np.diff(ids[1:]).tolist() == [20] * 4


def test_a_look_changes_nothing():
    looked, plain = StreamMap(n_landmarks=10), StreamMap(n_landmarks=10)
    for part in np.split(make("walk", 300, 4, seed=1), 10):
        for mapper in (looked, plain):
            mapper.partial_fit(part)
        sampled_stress(looked)
        assert looked.frames.count == 0
    np.testing.assert_array_equal(looked.transform(np.eye(4)), plain.transform(np.eye(4)))


def test_maps_that_do_not_keep_distances_have_none():
    assert sampled_stress(StreamMap(n_landmarks=20, embedding="tsne").partial_fit(NOISE)) is None
    assert sampled_stress(StreamMap(n_landmarks=20, embedding="lmds").partial_fit(NOISE)) > 0.3
    assert sampled_stress(StreamMap().partial_fit(np.ones((5, 2)))) == 0.0


def test_a_slow_metric_is_asked_little():
    calls = 0

    def slow(x, y):
        nonlocal calls
        calls += 1
        return float(np.abs(x - y).sum())

    mapper = StreamMap(n_landmarks=10, metric=slow).partial_fit(NOISE)
    mapper.frame_  # noqa: B018
    calls = 0
    assert sampled_stress(mapper) > 0
    assert calls <= SLOW_SAMPLE * (SLOW_SAMPLE + 10)


def notes_of(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_corner_of_a_figure():
    mapper = DriftMap(n_landmarks=20).fit(NOISE)
    words = in_words(sampled_stress(StreamMap(n_landmarks=20).partial_fit(NOISE)), 'embedding="tsne"')
    assert words.endswith('distances are a coarse summary; embedding="tsne" shows neighbours')
    assert notes_of(mapper.plot()) == notes_of(mapper.plot(NOISE)) == [words]
    assert notes_of(mapper.plot(note="mine")) == ["mine"]
    assert notes_of(DriftMap(n_landmarks=20, embedding="tsne").fit(NOISE).plot()) == []


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_map_that_keeps_all_distances(k):
    mapper = DriftMap(k, n_landmarks=10).fit(np.random.default_rng(0).random((100, k)))
    assert notes_of(mapper.plot()) == ["stress 0.00"]


def test_the_command_line_says_it_in_each_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("noise.csv", NOISE, delimiter=",", header=",".join(f"f{j}" for j in range(30)), comments="")
    main(["embed", "noise.csv", "--landmarks", "20", "-o", "m.csv", "--plot", "m.svg", "--checkpoint", "m.ckpt"])
    main(["embed", "noise.csv", "--landmarks", "20", "-o", "n.csv", "--plot", "m.html"])
    main(["info", "m.ckpt"])
    shown = re.search("map +(stress .*)", capsys.readouterr().out)[1]
    assert shown.endswith(COARSE)
    data = re.search('id="data">(.*)</script>', (tmp_path / "m.html").read_text())[1]
    assert decode(zlib.decompress(base64.b64decode(data)))[0]["note"] == shown
    assert "distances are a coarse summary" in (tmp_path / "m.svg").read_text()  # a comment beside its outlines
