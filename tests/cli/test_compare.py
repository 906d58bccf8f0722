"""``driftmap compare``, and ``driftmap.compare``: results, level of the test, exit status, bad input."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from driftmap import DriftMap, InputError, compare
from driftmap.cli import main
from driftmap.datasets import SAMPLES
from driftmap.map.drift import DriftMonitor
from driftmap.plot import map_figure
from driftmap.plot.changes import add_drifts, grown_and_shrunk

RNG = np.random.default_rng(0)
BEFORE, NOW = RNG.standard_normal((2, 300, 3))
NOW[:60, 1] += 5.0
FRAME = pd.DataFrame(BEFORE, columns=[*"abc"])
MAP = DriftMap(n_landmarks=5).partial_fit(BEFORE)


def flat(a, b):
    return float(np.hypot(a[0] - b[0], a[1] - b[1]))


def write(path, rows, names="a,b,c"):
    path.write_text(
        "\n".join([f"id,{names}", *(f"r{i},{','.join(map(repr, row))}" for i, row in enumerate(rows.tolist()))])
    )


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "before.csv", BEFORE)
    write(tmp_path / "now.csv", NOW)
    return tmp_path


# --- the result ---


def test_a_new_cluster_is_found_with_its_cells_and_feature():
    found = compare(BEFORE, NOW, n_landmarks=20)
    assert found.p_value == 1e-4
    assert found.features[0].feature == 1
    assert found.features[0].now == pytest.approx(NOW[:, 1].mean())
    assert sum(one.before for one in found.cells) == pytest.approx(1)
    assert sum(one.now for one in found.cells) == pytest.approx(1)
    grown = found.cells[0]
    assert grown.now > grown.before == 0
    assert grown.log_ratio > 1
    landmark = {"reference": BEFORE, "now": NOW}[grown.table][grown.row]
    assert landmark[1] > 3
    inside = found.found.cell == 0
    assert inside[300:].sum() == round(grown.now * 300)
    assert (np.concatenate([BEFORE, NOW])[inside, 1] > 2).all()
    assert str(found).startswith("reference: reference, 300 rows; now: now, 300 rows\np = 0.0001")


def test_the_shares_are_those_of_the_nearest_landmarks():
    found = compare(BEFORE, NOW, n_landmarks=12)
    rows = {"reference": BEFORE, "now": NOW}
    landmarks = np.array([rows[one.table][one.row] for one in found.cells])
    for part, name in ((BEFORE, "before"), (NOW, "now")):
        nearest = np.linalg.norm(part[:, None] - landmarks, axis=2).argmin(axis=1)
        shares = np.bincount(nearest, minlength=len(landmarks)) / len(part)
        assert [getattr(one, name) for one in found.cells] == pytest.approx(shares.tolist())


def test_the_p_value_is_uniform_where_nothing_differs():
    """Of heavy tails, for which asymptotic p-values are too small."""
    p_values = []
    for seed in range(120):
        rows = np.random.default_rng(seed).standard_t(1.5, (130, 4))
        p_values.append(compare(rows[:90], rows[90:], n_landmarks=10, embedding="lmds", seed=seed).p_value)
    for level in (0.05, 0.2, 0.5):
        assert stats.binom.sf(sum(p <= level for p in p_values) - 1, len(p_values), level) > 1e-3
    assert sum(p <= 0.5 for p in p_values) > 30  # and not merely large


def test_a_map_as_reference_stands_for_its_rows():
    rng = np.random.default_rng(5)
    mapper = DriftMap(n_landmarks=20).partial_fit(BEFORE)
    found = compare(mapper, NOW)
    assert found.p_value == 1e-4
    assert found.rows[0].points.tolist() == BEFORE.tolist()
    assert compare(mapper, rng.standard_normal((200, 3))).p_value > 0.01
    forgetful = DriftMap(n_landmarks=20, window=150).partial_fit(np.concatenate([NOW + 9, BEFORE]))
    assert compare(forgetful, BEFORE[:100]).rows[0].numbers.tolist() == list(range(450, 600))
    merged = DriftMap(n_landmarks=20, memory=320).partial_fit(rng.standard_normal((4000, 3)))
    assert merged.resolution_ > 0
    assert len(compare(merged, NOW).rows[0].numbers) == 1024  # its sample of rows, not the stored points
    assert compare(merged, rng.standard_normal((1000, 3))).p_value > 0.01
    fading = compare(DriftMap(n_landmarks=20, half_life=100).partial_fit(BEFORE), NOW)
    assert 100 < len(fading.rows[0].numbers) < 180


@pytest.mark.parametrize(
    ("before", "now", "params"),
    [
        (sparse.csr_array(np.abs(BEFORE)), sparse.csr_array(np.abs(NOW)), {"metric": "cosine"}),
        (
            [list(row) for row in BEFORE],
            [list(row) for row in NOW],
            {"metric": flat},
        ),
        (pd.DataFrame(BEFORE, columns=[*"abc"]), pd.DataFrame(NOW[:, [2, 1, 0]], columns=[*"cba"]), {}),
    ],
)
def test_other_kinds_of_rows(before, now, params):
    if params.get("metric") == "cosine":
        params = {"metric": "cosine", "embedding": "lmds"}
    found = compare(before, now, n_landmarks=10, **params)
    assert found.p_value < 0.05
    if isinstance(before, pd.DataFrame):
        assert found.features[0].feature == "b"


def test_large_tables_are_sampled():
    rows = RNG.standard_normal((12_000, 2))
    found = compare(rows[:9000], rows[9000:], n_landmarks=10, embedding="lmds")
    assert [len(part.numbers) for part in found.rows] == [5000, 3000]
    assert (rows[found.rows[0].numbers] == found.rows[0].points).all()
    assert "9,000 rows (5,000 of them compared)" in str(found)


def test_figures(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    found = compare(pd.DataFrame(BEFORE, columns=[*"abc"]), pd.DataFrame(NOW, columns=[*"abc"]), n_landmarks=10)
    for name in ("c.png", "c.html"):
        found.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    assert compare(BEFORE, NOW, n_landmarks=10, n_components=3).figure().axes
    assert compare(BEFORE, NOW, n_landmarks=10, n_components=1).html()


def test_the_figure_of_a_stream_has_a_strip_of_its_checks():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    mapper, rows = DriftMap(n_landmarks=20, embedding="lmds"), np.concatenate([RNG.standard_normal((600, 3)), NOW + 3])
    found = mapper.update(rows, monitor=DriftMonitor(80))
    figure = map_figure(found.coordinates, mapper.landmark_embedding_)
    n_axes = len(figure.axes)
    add_drifts(figure, found.checks, found.drifts, len(rows))
    assert len(figure.axes) == n_axes + 1
    last = found.drifts[-1].began
    assert figure.axes[-1].get_xlabel() == f"row; last change after row {last:,}, {len(rows) - last:,} rows ago"
    grown, shrunk = grown_and_shrunk(found.drifts[-1])
    assert len(grown) > 0
    assert len(shrunk) > 0


@pytest.mark.parametrize(
    ("before", "now", "params", "message"),
    [
        (BEFORE, NOW[:19], {}, "now has 19 rows; a comparison needs at least 20"),
        (BEFORE[:5], NOW, {}, "reference has 5 rows; a comparison needs at least 20"),
        (BEFORE, NOW[:, :2], {}, "2 features"),
        (BEFORE, np.where(NOW > 2, np.nan, NOW), {}, "now, row .* is NaN"),
        (
            pd.DataFrame(BEFORE, columns=[*"abc"]),
            pd.DataFrame(NOW, columns=[*"abd"]),
            {},
            "reference has columns .*'c'",
        ),
        (np.zeros((30, 30)), np.zeros((30, 30)), {"metric": "precomputed"}, "precomputed"),
        (BEFORE, NOW, {"n_landmarks": 1}, "n_landmarks must be at least"),
        (
            MAP,
            NOW,
            {"metric": "cosine"},
            "metric='cosine' is not that of the map",
        ),
        (DriftMap(n_landmarks=5, memory=100, window=190).partial_fit(BEFORE), NOW, {}, "reference has merged rows"),
    ],
)
def test_what_cannot_be_compared(before, now, params, message):
    with pytest.raises(InputError, match=message):
        compare(before, now, **params)


# --- the command ---


def test_the_command_prints_what_the_library_finds(tables, capfd):
    assert main(["compare", "before.csv", "now.csv", "--landmarks", "20", "--json"]) == 0
    out, err = capfd.readouterr()
    frames = [pd.read_csv(name).drop(columns="id") for name in ("before.csv", "now.csv")]
    expected = compare(*frames, names=("before.csv", "now.csv"), n_landmarks=20)
    assert json.loads(out) == json.loads(json.dumps(expected.as_json()))
    assert "columns left out: 'id' (text)" in err
    assert main(["compare", "before.csv", "now.csv", "--landmarks", "20"]) == 0
    report = capfd.readouterr().out
    assert [line.strip() for line in report.splitlines()] == [line.strip() for line in str(expected).splitlines()]


def test_the_status_says_drift_only_for_drift(tables, capfd):
    write(tables / "same.csv", np.random.default_rng(9).standard_normal((300, 3)))
    watched = ["--fail-on-drift", "0.001", "--landmarks", "20"]
    assert main(["compare", "before.csv", "now.csv", *watched]) == 3
    assert main(["compare", "before.csv", "same.csv", *watched]) == 0
    assert main(["compare", "before.csv", "nofile.csv", *watched]) == 2


def test_columns_in_another_order_and_standard_input(tables, capfd, monkeypatch):
    write(tables / "turned.csv", NOW[:, [2, 0, 1]], "c,a,b")
    assert main(["compare", "before.csv", "now.csv", "--json"]) == 0
    first = json.loads(capfd.readouterr().out)
    with (tables / "turned.csv").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["compare", "before.csv", "-", "--json"]) == 0
    second = json.loads(capfd.readouterr().out)
    assert second["now"].pop("name") == "standard input"
    del first["now"]["name"]
    assert second == first


def test_a_checkpoint_as_reference_has_its_own_normalisation(tables, capfd):
    command = ["embed", "before.csv", "-o", "o.csv", "--normalize", "zscore", "--landmarks", "20", "--quiet"]
    assert main([*command, "--checkpoint", "m.ckpt"]) == 0
    assert main(["compare", "m.ckpt", "now.csv", "--json", "--plot", "m.html"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["p_value"] == 1e-4
    assert found["reference"] == {"name": "m.ckpt", "rows": 300.0, "compared": 300}
    assert found["features"][0]["feature"] == "b"
    assert found["features"][0]["now"] == pytest.approx(NOW[:, 1].mean())
    DriftMap(n_landmarks=20).partial_fit(BEFORE).save("plain.ckpt")
    assert main(["compare", "plain.ckpt", "now.csv", "--fail-on-drift", "0.001"]) == 3


def test_normalised_tables_are_reported_in_their_units(tables, capfd):
    write(tables / "wide.csv", NOW * [1000, 1, 1])
    write(tables / "wider.csv", BEFORE * [1000, 1, 1])
    assert main(["compare", "wider.csv", "wide.csv", "--normalize", "zscore", "--json"]) == 0
    found = {one["feature"]: one for one in json.loads(capfd.readouterr().out)["features"]}
    assert found["a"]["now"] == pytest.approx(1000 * NOW[:, 0].mean())
    assert main(["compare", "wider.csv", "wide.csv"]) == 0
    assert "--normalize zscore gives all the same weight" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["before.csv", "other.csv"], "before.csv has columns that other.csv lacks: 'c'"),
        (["other.csv", "before.csv"], "other.csv has columns that before.csv lacks: 'd'"),
        (["before.csv", "short.csv"], "short.csv has 4 rows; a comparison needs at least 20"),
        (["m.ckpt", "now.csv", "--metric", "cosine"], "m.ckpt has the metric 'euclidean', not 'cosine'"),
        (["m.ckpt", "now.csv", "--landmarks", "7"], "--landmarks is for two tables: the map of m.ckpt says it"),
        (["m.ckpt", "now.csv", "--delay", "2"], "m.ckpt was made without --delay"),
        (["m.ckpt", "other.csv"], "m.ckpt has columns that other.csv lacks: 'c'"),
        (["merged.ckpt", "now.csv"], "merged.ckpt has merged rows within its resolution"),
        (["online.ckpt", "now.csv"], "online.ckpt was normalised row by row"),
        (["now.csv", "m.ckpt"], "m.ckpt has no known suffix"),
        (["before.csv", "holes.csv"], "holes.csv, line 3, column 'b' is empty"),
        (["before.csv", "now.csv", "--landmarks", "auto"], "--landmarks auto is for `driftmap embed`"),
        (["before.csv", "now.csv", "--fail-on-drift", "1e-9"], "--fail-on-drift must be at least 0.0001"),
        (["before.csv", "now.csv", "--plot", "now.gif"], "must end in .png"),
        (["before.csv", "now.csv", "--metric", "cosin"], "did you mean 'cosine'"),
        (["-", "-"], "only one of REFERENCE and NOW can be standard input"),
    ],
)
def test_mistakes_are_one_line(tables, capfd, words, message):
    write(tables / "other.csv", NOW, "a,b,d")
    write(tables / "short.csv", NOW[:4])
    (tables / "holes.csv").write_text("id,a,b,c\nr,1,2,3\ns,1,,3\n")
    for name, more in (
        ("m", []),
        ("merged", ["--memory", "150", "--window", "190"]),
        ("online", ["--online", "--normalize", "zscore"]),
    ):
        if words[0] == f"{name}.ckpt" or (name == "m" and "m.ckpt" in words):
            made = ["embed", "before.csv", "-o", f"{name}.csv", "--landmarks", "9", "--checkpoint", f"{name}.ckpt"]
            assert main([*made, *more]) == 0
    capfd.readouterr()
    assert main(["compare", *words]) == 2
    out, err = capfd.readouterr()
    assert not out
    errors = [line for line in err.splitlines() if "columns left out" not in line]
    assert len(errors) == 1
    assert message in errors[0]


def test_the_samples_of_sensors_differ_when_the_bearing_wears_out(tmp_path, monkeypatch, capfd):
    """The example of docs/how-to/compare.md."""
    monkeypatch.chdir(tmp_path)
    lines = SAMPLES["sensors"].make().decode().splitlines()
    (tmp_path / "monday.csv").write_text("\n".join(lines[:1441]))
    (tmp_path / "tuesday.csv").write_text("\n".join([lines[0], *lines[1441:]]))
    assert main(["compare", "monday.csv", "tuesday.csv", "--normalize", "zscore", "--fail-on-drift", "0.001"]) == 3
    assert "  vibration: 1.363 -> 1.917, +1.00" in capfd.readouterr().out
