"""The paper's numbers, and `python -m reproduction` end to end. A value that moves fails here."""

import csv
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import naive
from driftmap import cli
from driftmap.embedding import LandmarkMDS
from driftmap.landmarks import is_dominating, private_points
from driftmap.networks import TieDecayNetwork, laplacian_spectrum
from reproduction.__main__ import main
from reproduction.curves import stress_against_m, time_against_n
from reproduction.example_graph import DOMINATING, NOT_DOMINATING, ONLY_BY_3, graph_distances
from reproduction.experiment import MissingDataError, load_streams, write
from reproduction.fidelity import Fidelity
from reproduction.figures.base import PaperFigure, new_figure, panels, save, scale_alike
from reproduction.hospital import STEP, clock, hourly_means, trajectory
from reproduction.literal import literal_landmarks, newcomer
from reproduction.nested_stress import nested_stress
from reproduction.printed_values import HOSPITAL_P_VALUES, PRINTED, PrintedCell
from reproduction.report import to_html
from reproduction.scenarios import DECAY, SCENARIOS, aligned_maps, embed, load_stream, run_scenarios, select_landmarks
from reproduction.settings import FULL, QUICK
from reproduction.spy import fraction_by_year, landmark_years
from reproduction.statements import Comparison, Statement, compare, largest_jumps
from reproduction.table1 import CROSS, table_cells

ROOT = Path(__file__).resolve().parents[2]
N_RUNS = {"s-curve": 10, "spy": 10, "hospital": 5}
ALL = pytest.mark.parametrize("data", ["s-curve", "spy", "hospital"])


@cache
def measured(data):
    needs = {"spy": "spy10_adjclose.csv", "hospital": "hospital_lyon_contacts.dat.gz"}.get(data)
    folder = os.environ.get("DRIFTMAP_DATA")
    if needs and not (folder and Path(folder, needs).is_file()):
        pytest.skip(f"needs {needs} in the folder named by DRIFTMAP_DATA")
    return run_scenarios(load_stream(data), N_RUNS[data])


@cache
def comparison(data):
    return compare([measured(data)])


def statement(data, what):
    return next(row for row in comparison(data).statements if row.what.startswith(what))


# --- Table 1 ---


@ALL
@pytest.mark.parametrize("scenario", ["initial", "published"])
def test_printed_values_are_reproduced_to_the_digit(data, scenario):
    cells = [cell for cell in table_cells([measured(data)]) if cell.scenario == scenario]
    assert len(cells) == 6
    assert [(cell.measure, cell.k, cell.value, str(cell.printed)) for cell in cells if not cell.agrees] == []


@ALL
@pytest.mark.parametrize("scenario", ["random", "random_online"])
def test_means_of_random_scenarios_lie_within_two_printed_standard_deviations(data, scenario):
    cells = [cell for cell in table_cells([measured(data)]) if cell.scenario == scenario]
    assert len(cells) == 6
    assert [(cell.measure, cell.k, cell.value, str(cell.printed)) for cell in cells if cell.mark == CROSS] == []


def test_the_printed_table_is_copied_without_error():
    path = ROOT.parent / "shared" / "paper" / "table1.json"
    if not path.is_file():
        pytest.skip("needs the paper's table next to the repository")
    table = json.loads(path.read_text())
    for data, ours in PRINTED.items():
        theirs = table[data.replace("-", "_")]
        assert (ours.n, ours.m, ours.final_radius) == (theirs["n"], theirs["m"], theirs["final_radius"])
        for column in ("initial", "online", "random", "random_online"):
            for name, values in theirs[column].items():
                assert list(getattr(getattr(ours, column), name)) == values, (data, column, name)


@pytest.mark.parametrize(
    ("printed", "value", "agrees", "near", "text"),
    [
        (PrintedCell(0.29), 0.2949, True, None, "0.29"),
        (PrintedCell(0.29), 0.2951, False, None, "0.29"),
        (PrintedCell(None), 0.0099, True, None, "<0.01"),
        (PrintedCell(None), 0.01, False, None, "<0.01"),
        (PrintedCell(0.31, 0.002), 0.3141, True, False, "0.31 ± 0.002"),
        (PrintedCell(0.41, 0.16), 0.72, False, True, "0.41 ± 0.16"),
    ],
)
def test_what_counts_as_agreement(printed, value, agrees, near, text):
    assert (printed.agrees(value), printed.within_two_sd(value), str(printed)) == (agrees, near, text)


def test_stress_of_many_maps_equals_the_double_sum():
    X = np.random.default_rng(0).standard_normal((60, 4))
    maps = [X[:, :3], X @ np.random.default_rng(1).standard_normal((4, 3))]
    expected = [[naive.stress(cdist(X, X), Y[:, :k]) for k in (1, 2, 3)] for Y in maps]
    np.testing.assert_allclose(nested_stress(X, maps), expected, rtol=1e-12)


def test_stress_does_not_depend_on_tiles(monkeypatch):
    X = np.random.default_rng(2).standard_normal((70, 3))
    whole = nested_stress(X, [X[:, :2]])
    monkeypatch.setattr("reproduction.nested_stress.TILE_POINTS", 16)
    np.testing.assert_allclose(nested_stress(X, [X[:, :2]]), whole, rtol=1e-12)


def test_one_map_in_three_dimensions_holds_the_maps_in_fewer():
    X = load_stream("s-curve").points
    indices = np.arange(0, 1000, 50)
    for k in (1, 2):
        np.testing.assert_allclose(embed(X, indices, 3)[0][:, :k], embed(X, indices, k)[0], atol=1e-9)


# --- what the paper states elsewhere ---


@ALL
def test_final_radius(data):
    assert statement(data, "final").agrees
    assert round(measured(data).landmarks["published"][0].radius, 2) == PRINTED[data].final_radius


def test_hospital_radius_jumps():
    assert largest_jumps(measured("hospital").landmarks["published"][0]).tolist() == [47, 64, 1838]
    assert statement("hospital", "the three jumps").agrees


@pytest.mark.parametrize("what", ["the network", "contacts between", "final landmarks outside"])
def test_hospital_statements(what):
    assert statement("hospital", what).agrees


def test_hospital_stress_with_all_points_as_landmarks():
    assert statement("hospital", "\N{GREEK SMALL LETTER SIGMA} with all points").agrees


def test_hospital_p_values_are_ours_and_the_hours_are_stated():
    # The printed ones follow from no choice of hours that we tried; a change of ours should not go unnoticed.
    tests = {test.scenario: test for test in comparison("hospital").hour_tests if test.hours == (6, 20)}
    assert (tests["initial"].n_same, tests["initial"].n_different) == (88, 1508)
    ours = {key: tests[key].p_student for key in ("initial", "published", "all points")}
    assert ours == pytest.approx({"initial": 2.05e-6, "published": 7.51e-12, "all points": 3.59e-12}, rel=0.01)
    assert "6 AM to 8 PM" in statement("hospital", "t-test").note


def test_hospital_p_values_in_continuous_time_come_close_to_the_printed_ones():
    """The paper states neither the step nor the missing first hour; with both, its p-values follow within 1 %."""
    tests = {test.scenario: test for test in comparison("hospital").continuous_hour_tests}
    assert {(test.n_same, test.n_different) for test in tests.values()} == {(84, 1456)}
    ours = {key: tests[key].p_student for key in ("initial", "published", "all points")}
    assert {key: f"{p:.2e}" for key, p in ours.items()} == {
        "initial": "2.47e-09",
        "published": "8.10e-15",
        "all points": "3.65e-15",
    }
    assert ours == pytest.approx({key: HOSPITAL_P_VALUES[key] for key in ours}, rel=0.01)
    assert "neither the step nor the missing hour" in statement("hospital", "the same t-test in continuous").note


@pytest.mark.parametrize("seconds_later", [0, 5, 15])
def test_the_trajectory_is_the_map_of_the_decayed_network(seconds_later):
    stream = measured("hospital").stream
    landmarks = stream.points[::500]
    mds = LandmarkMDS(2).fit(cdist(landmarks, landmarks))
    positions, empty = (mds.place(cdist(X, landmarks)) for X in (stream.points, np.zeros((1, stream.points.shape[1]))))
    places, when = trajectory(stream, positions, empty[0])

    arrival, times, contacts = 700, stream.source.times, stream.source.contacts
    moment = times[arrival] + seconds_later
    assert moment < times[arrival + 1]
    network = TieDecayNetwork(DECAY, nodes=contacts.nodes)
    next(time for time, _ in network.snapshots(contacts) if time == times[arrival])
    spectrum = laplacian_spectrum(network.adjacency(moment))
    sample = round((moment - times[0]) / STEP)
    np.testing.assert_allclose(places[sample], mds.place(cdist(spectrum[None], landmarks))[0], rtol=1e-9)
    assert when.hour[sample] == pytest.approx(clock(stream).hour[arrival] + seconds_later / 3600)


def test_hourly_means_are_means():
    stream = measured("hospital").stream
    when = clock(stream)
    means = hourly_means(stream.points, when, (6, 20))
    which = (when.day == 1) & (when.full_hour == 10)
    row = np.flatnonzero((means.day == 1) & (means.hour == 10))
    np.testing.assert_allclose(means.positions[row[0]], stream.points[which].mean(axis=0))
    assert set(means.hour) == set(range(6, 20))


def test_spy_landmark_years():
    results = measured("spy")
    published = results.landmarks["published"][0]
    assert landmark_years(results.stream, published) == {2013: 3, 2018: 1, 2019: 1, 2020: 3, 2021: 1, 2022: 1}
    assert statement("spy", "years of the landmarks").agrees
    names, fractions = fraction_by_year(results.stream, published)
    np.testing.assert_allclose(fractions.sum(axis=1), 1.0)
    assert dict(zip(names.tolist(), (fractions[-1] * 10).round().astype(int).tolist(), strict=True))[2013] == 3


def test_spy_yearly_distances_lead_to_the_same_conclusion():
    rows = [statement("spy", what) for what in ("mean distance between", "mean distance of 2020")]
    assert [row.ours for row in rows] == ["0.464", "1.012"]
    assert [row.agrees for row in rows] == [False, False]  # the printed scale does not follow from the text


@pytest.mark.parametrize(("rule", "n"), [("published", 44), ("paper", 125), ("tight", 245)])
def test_every_replacement_on_the_s_curve_obeys_the_dislocation_bound(rule, n):
    rows = [row for row in comparison("s-curve").dislocations if row.rule == rule]
    assert len(rows) == n
    assert max(row.ratio for row in rows) < 1


@ALL
def test_the_tight_rule_covers_better(data):
    radii = {row.rule: row.covering_radius for row in comparison(data).radii}
    assert radii["tight"] < min(radii["paper"], radii["published"])


@ALL
def test_maps_are_mirrored_alike(data):
    results = measured(data)
    maps = aligned_maps(
        results.stream, {key: results.landmarks[key][0].indices for key in ("published", "paper", "tight")}
    )
    first = [np.corrcoef(maps["published"][:, 0], positions[:, 0])[0, 1] for positions in maps.values()]
    assert min(first) > 0


# --- the illustration ---


def test_the_illustration_has_what_its_caption_says():
    graph = graph_distances()
    chosen = [v - 1 for v in DOMINATING]
    other = [v - 1 for v in NOT_DOMINATING]
    assert is_dominating(graph, chosen, 1.0, metric="precomputed")
    assert not is_dominating(graph, other, 1.0, metric="precomputed")
    uncovered = np.flatnonzero((graph[:, other] > 1).all(axis=1)) + 1
    assert uncovered.tolist() == [1, 9, 12]

    only_by = private_points(graph, chosen, 1.0, metric="precomputed")
    assert (only_by[2] + 1).tolist() == list(ONLY_BY_3) == [1, 2, 3, 4]
    assert {v + 1 for v in np.flatnonzero(graph[4] == 1)} >= {3, 6}  # v_5 is dominated by both
    neighbours = naive.radius_graph(graph, 1.0)
    for z in chosen:
        assert set(only_by[z].tolist()) == naive.only_by(z, chosen, neighbours)


# --- the literal algorithm and the curves ---


@pytest.mark.parametrize("seed", range(20))
def test_the_literal_algorithm_finds_the_landmarks_of_rule_paper(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (60, 2)) if seed % 2 else np.cumsum(rng.standard_normal((80, 3)), axis=0)
    run, fast = literal_landmarks(X, 6), select_landmarks("paper", X.astype(float), 6)
    assert run.landmarks == fast.indices.tolist()
    assert run.radius == pytest.approx(fast.radius, rel=1e-12)


def graphs_with_a_hub():
    rng = np.random.default_rng(0)
    for n in range(2, 60):
        pairs = np.argwhere(np.triu(rng.random((n, n)) < rng.uniform(0, 0.3), 1))
        yield n, {*((0, i) for i in range(1, n)), *map(tuple, pairs.tolist())}


def test_a_node_of_high_degree_lets_a_neighbour_of_low_degree_join():
    n_high = 0
    for n, edges in graphs_with_a_hub():
        neighbours = [{b for edge in edges if a in edge for b in edge if b != a} for a in range(n)]
        for x in range(n):
            came, high = newcomer(x, neighbours, len(edges)), len(neighbours[x]) > 2 * np.sqrt(len(edges))
            n_high += high
            assert came in neighbours[x] if high else came == x
            assert not high or len(neighbours[came]) <= np.sqrt(len(edges))
    assert n_high > 10


def test_scenarios_are_repeatable_and_differ_by_seed():
    X = load_stream("s-curve").points
    for scenario in SCENARIOS:
        a, b, c = (select_landmarks(scenario.key, X, 20, seed).indices.tolist() for seed in (1, 1, 2))
        assert a == b
        assert (a != c) == scenario.is_random
    with pytest.raises(ValueError, match="unknown scenario"):
        select_landmarks("best", X, 20)


def test_curves_cover_what_they_promise():
    few = QUICK._replace(landmark_counts={"s-curve": (5, 20)}, n_lengths=2, literal_seconds=0.0)
    stream = load_stream("s-curve")
    assert [(p.rule, p.m) for p in stress_against_m(stream, few)] == [
        (rule, m) for rule in ("published", "tight") for m in (5, 20)
    ]
    timings = time_against_n(stream, few)
    assert {(t.rule, t.n) for t in timings} >= {(r, n) for r in ("published", "paper", "tight") for n in (110, 1000)}
    assert [t.n for t in timings if t.rule == "literal"] == [110]  # longer streams are out of its budget
    assert not FULL.is_quick
    assert QUICK.is_quick


# --- the command ---


@pytest.fixture
def command(capsys):
    def run(*arguments):
        code = main([*map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def test_reproduce_s_curve_quick_end_to_end(command, tmp_path, monkeypatch):
    monkeypatch.delenv("DRIFTMAP_DATA", raising=False)
    code, out, err = command("s-curve", "--quick", "-o", tmp_path / "new" / "folder")
    assert code == 0, err
    folder = tmp_path / "new" / "folder"
    tables = {"table1.json", "table1.md", "table1.csv", "statements.json", "statements.md"}
    tables |= {"computation_time.csv", "stress_against_m.csv", "dislocation.csv", "fidelity.md", "fidelity.csv"}
    names = {path.name for path in folder.iterdir()}
    assert names == tables | {"figures", "report.html"}
    figures = {"fig1-dominating-set", "fig2-s-curve", "fig3-s-curve-maps", "fig8-computation-time"}
    figures |= {"figS1-stress-against-m", "figS2-radius", "extra1-s-curve-rules", "extra4-dislocation"}
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"{name}.{suffix}" for name in figures for suffix in ("png", "svg")
    }
    for path in folder.rglob("*.*"):
        assert b"QUICK" in path.read_bytes(), f"{path.name} does not say that it is quick"

    cells = json.loads((folder / "table1.json").read_text())["cells"]
    rows = list(csv.DictReader((folder / "table1.csv").read_text().splitlines()))
    assert len(cells) == len(rows) == 36
    assert all(row["mode"].startswith("QUICK") for row in rows)
    assert [row["rounds_to_printed"] for row in rows if row["scenario"] == "published"] == ["True"] * 6
    assert "Initial: 6 of 6" in out
    assert "ratio" in out
    assert "S-curve: Table 1" in err

    fidelity = list(csv.DictReader((folder / "fidelity.csv").read_text().splitlines()))
    sigma = {(row["data"], row["k"], row["method"]): float(row["sigma"]) for row in fidelity}
    for k in "12":  # one pass, truer than classical MDS on all points, and close to the floor
        floor = sigma["s-curve", k, "floor"]
        assert floor - 1e-3 < sigma["s-curve", k, "anchors"] < 1.01 * floor < sigma["s-curve", k, "all"]
    assert "stress, 128 anchors" in out

    page = (folder / "report.html").read_text()
    assert page.count("data:image/png;base64,") == len(figures)
    assert 'name="viewport"' in page
    assert re.findall(r"""(?:src|href)=["'](?!data:|#)""", page) == []  # nothing from elsewhere
    assert "url(" not in page


def test_the_report_escapes_all_text(tmp_path):
    evil, picture = "<script>&\"'", PaperFigure("f", "<script>", "<script>", new_figure(1, 1))
    settings = QUICK._replace(mode=evil)
    save(picture, tmp_path, settings)
    rows = Comparison([Statement("s-curve", evil, evil, evil, True, evil)], [], [], [], [])
    page = to_html([], rows, [Fidelity("s-curve", 2, "anchors", 0.1, evil)], [picture], tmp_path, settings, 1.0)
    assert "<script" not in page
    assert page.count("&lt;script&gt;&amp;&quot;&#x27;") >= 8


def test_files_are_replaced_whole(tmp_path):
    """A reader of an earlier file keeps it: the new one is written beside it and gets its name by a rename."""
    drawn = PaperFigure("f", "t", "c", new_figure(1, 1))
    for text in ("old", "new"):
        files = [*save(drawn, tmp_path, QUICK._replace(mode=text)), write(tmp_path / "table.md", text)]
        for file in files:
            assert text.encode() in file.read_bytes()
            if text == "old":
                os.link(file, tmp_path / f"{file.name}.kept")
    for file in files:
        assert b"old" in (tmp_path / f"{file.name}.kept").read_bytes()


def test_missing_data_is_one_line_that_says_how_to_get_it(command, tmp_path):
    for name, file in (("spy", "spy10_adjclose.csv"), ("hospital", "hospital_lyon_contacts.dat.gz")):
        code, out, err = command(name, "--data", tmp_path, "-o", tmp_path / "out")
        message = err.strip().splitlines()[-1]
        assert (code, out) == (2, "")
        assert file in message
        assert "--data" in message
        assert "s-curve` needs no data" in message
    assert not (tmp_path / "out").exists()


def test_damaged_data_is_named(tmp_path):
    (tmp_path / "spy10_adjclose.csv").write_text("date,AAPL\n2013-01-02,abc\n")
    with pytest.raises(MissingDataError, match="line 2"):
        load_streams(["spy"], tmp_path)


def test_without_matplotlib_the_extra_is_named_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = command("s-curve", "--quick", "-o", tmp_path / "out")
    assert code == 2
    assert 'pip install "driftmap[plot]"' in err
    assert not (tmp_path / "out").exists()


def test_the_command_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "reproduction", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m reproduction")


def test_the_old_command_names_the_new_one(capsys):
    assert cli.main(["reproduce", "s-curve", "-o", "my folder", "--quick"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "`python -m reproduction s-curve -o 'my folder' --quick`" in err


def test_an_unknown_data_set_is_a_mistake(command):
    code, _, err = command("dow-jones")
    assert code == 2
    assert "invalid choice" in err


def test_maps_have_one_scale_and_axes_named_as_in_tables():
    figure, (axes,) = panels(["a map"])
    axes.plot([0, 10], [0, 1])
    scale_alike(axes)
    figure.draw_without_rendering()
    corner, right, up = axes.transData.transform([(0, 0), (1, 0), (0, 1)])
    assert right[0] - corner[0] == pytest.approx(up[1] - corner[1])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x1", "x2")
