"""What the paper states outside Table 1, compared with our results: radii, jumps, years, hours, distances."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from driftmap.quality import covering_radius
from driftmap.utils import Array, Ids
from reproduction import printed_values as printed
from reproduction.dislocation import Dislocation, dislocations
from reproduction.hospital import (
    ALL_HOURS,
    DAYTIME,
    STEP,
    HourTest,
    clock,
    continuous_hour_test,
    hospital_of,
    hour_test,
)
from reproduction.printed_values import PRINTED
from reproduction.scenarios import (
    DATA_SETS,
    SCENARIOS,
    DataSetResults,
    SelectedLandmarks,
    aligned_maps,
    embed,
    map_of_all_points,
)
from reproduction.spy import landmark_years, yearly_distances, years
from reproduction.table1 import CROSS, SIGMA, TICK

RHO = "\N{GREEK SMALL LETTER RHO}"
SCENARIO_TITLES = {scenario.key: scenario.title.lower() for scenario in SCENARIOS}
ONLINE_RULES = {
    scenario.key: scenario.title for scenario in SCENARIOS if scenario.key in ("published", "paper", "tight")
}


class Statement(NamedTuple):
    """One statement of the paper, and our result."""

    data: str
    what: str
    printed: str
    """Empty where the paper states nothing."""
    ours: str
    agrees: bool | None
    """None where the paper states no comparable value."""
    note: str = ""

    @property
    def mark(self) -> str:
        """A tick or a cross."""
        return "" if self.agrees is None else TICK if self.agrees else CROSS


class Radius(NamedTuple):
    """Final rho, covering radius and stress of a rule; the covering radius is the true largest distance."""

    data: str
    rule: str
    final_radius: float
    covering_radius: float
    sigma: float
    """For k = 2."""
    n_replacements: int


class Comparison(NamedTuple):
    """All statements with our results, and the tables behind them."""

    statements: list[Statement]
    radii: list[Radius]
    hour_tests: list[HourTest]
    """Hourly means of the positions at the times of contact."""
    continuous_hour_tests: list[HourTest]
    """Hourly means of the trajectory in continuous time."""
    dislocations: list[Dislocation]


def compare(all_results: list[DataSetResults]) -> Comparison:
    """Check every statement of the paper about the given data sets."""
    found = Comparison([], [], [], [], [])
    for results in all_results:
        _radii(results, found)
        {"s-curve": _s_curve, "spy": _spy, "hospital": _hospital}[results.stream.key](results, found)
    return found


def largest_jumps(landmarks: SelectedLandmarks) -> Ids:
    """Return the three arrivals at which rho grew most, in order of arrival."""
    grown = np.diff(landmarks.radii, prepend=0.0)
    return np.sort(landmarks.radius_arrivals[np.argsort(grown)[-3:]])


def _radii(results: DataSetResults, found: Comparison) -> None:
    stream = results.stream
    for rule in ONLINE_RULES:
        chosen = results.landmarks[rule][0]
        assert chosen.radius is not None  # every online rule has one
        covering = covering_radius(stream.points, stream.points[chosen.indices])
        sigma = float(results.stresses[rule][0].sigma[1])
        found.radii.append(Radius(stream.key, rule, chosen.radius, covering, sigma, len(chosen.changes)))
    _all_points(results, found)
    ours = results.landmarks["published"][0].radius or 0.0
    expected = PRINTED[stream.key].final_radius
    found.statements.append(
        Statement(stream.key, f"final {RHO}, online", f"{expected:.2f}", f"{ours:.3f}", abs(ours - expected) <= 0.005)
    )


def _all_points(results: DataSetResults, found: Comparison) -> None:
    sigma = float(results.sigma_all_points[1])
    expected = printed.SIGMA_ALL_POINTS.get(results.stream.key)
    found.statements.append(
        Statement(
            results.stream.key,
            f"{SIGMA} with all points as landmarks, k = 2",
            "" if expected is None else f"{expected:.2f}",
            f"{sigma:.3f}",
            None if expected is None else round(sigma, 2) == expected,
        )
    )


def _s_curve(results: DataSetResults, found: Comparison) -> None:
    for rule in ONLINE_RULES:
        rows = dislocations(results.stream.points, results.stream.m, rule, results.landmarks[rule][0])
        found.dislocations.extend(rows)
        ratios = np.array([row.ratio for row in rows])
        found.statements.append(
            Statement(
                "s-curve",
                f"dislocation at a replacement, k = 2 ({ONLINE_RULES[rule].removeprefix('Online, ')})",
                "at most the bound, for small ε",
                f"{len(rows)} replacements, ε from {min(r.epsilon for r in rows):.2f} to "
                f"{max(r.epsilon for r in rows):.2f}; measured / bound: median {np.median(ratios):.4f}, "
                f"largest {ratios.max():.4f}",
                bool(ratios.max() <= 1),
                "the point of the largest ratio at each replacement; every one is listed in dislocation.csv",
            )
        )


def _spy(results: DataSetResults, found: Comparison) -> None:
    stream = results.stream
    for rule, title in ONLINE_RULES.items():
        counts = landmark_years(stream, results.landmarks[rule][0])
        listed = ", ".join(f"{count} in {year}" for year, count in counts.items())
        if rule != "published":
            found.statements.append(
                Statement("spy", f"years of the landmarks ({title.split(', ')[1]})", "", listed, None)
            )
            continue
        late = sum(count for year, count in counts.items() if year >= 2018)
        found.statements.append(
            Statement(
                "spy",
                "years of the landmarks",
                "three in 2013, seven in 2018 or later",
                listed,
                counts.get(2013) == printed.SPY_LANDMARKS_IN_2013 and late == printed.SPY_LANDMARKS_FROM_2018,
            )
        )
    first = int(np.flatnonzero(years(stream) == 2020)[0]) + 1
    found.statements.append(
        Statement(
            "spy",
            "first day of 2020 in the stream",
            "day 1,761",
            f"day {first:,}",
            first == 1761,
            f"counted from 1 among the {len(stream.points):,} days",
        )
    )
    ours = yearly_distances(stream)
    for what, expected, value in (
        (
            "mean distance between the years 2013 to 2019",
            printed.SPY_DISTANCE_2013_TO_2019,
            ours.among_2013_to_2019,
        ),
        ("mean distance of 2020 from these years", printed.SPY_DISTANCE_TO_2020, ours.from_2020_to_these),
    ):
        found.statements.append(
            Statement(
                "spy",
                what,
                f"{expected:.2e}",
                f"{value:.3f}",
                round(value, 6) == expected,
                "Euclidean distance of yearly means of the normalised prices; the printed scale does not follow from "
                f"the text. 2020 is {ours.from_2020_to_these / ours.among_2013_to_2019:.1f} times as far (printed: "
                f"{printed.SPY_DISTANCE_TO_2020 / printed.SPY_DISTANCE_2013_TO_2019:.1f} times): the conclusion stands",
            )
        )


def _hospital(results: DataSetResults, found: Comparison) -> None:
    stream, add = results.stream, found.statements.append
    when, data = clock(stream), hospital_of(stream)
    published = results.landmarks["published"][0]

    jumps = largest_jumps(published)
    times = tuple(when.text(arrival) for arrival in jumps.tolist())
    add(
        Statement(
            "hospital",
            f"the three jumps of {RHO}",
            f"{', '.join(printed.HOSPITAL_JUMPS)}; the last at n = {printed.HOSPITAL_LAST_JUMP:,}",
            f"{', '.join(times)}; arrivals {', '.join(map(str, jumps))}",
            times == printed.HOSPITAL_JUMPS and int(jumps[-1]) == printed.HOSPITAL_LAST_JUMP,
            "arrivals are counted from 0",
        )
    )
    late = [when.text(i) for i in published.indices.tolist() if when.day[i] > 0 or when.hour[i] >= 14]
    add(
        Statement(
            "hospital",
            "final landmarks outside Monday 1 PM to 2 PM",
            "Monday 2:14 PM, Tuesday 10:16 AM",
            ", ".join(late),
            late == ["Monday 2:14 PM", "Tuesday 10:16 AM"],
        )
    )
    statuses = Counter(data.statuses)
    groups = {"doctors": statuses["MED"], "nurses": statuses["NUR"] + statuses["ADM"], "patients": statuses["PAT"]}
    edges = len(np.unique(np.sort(data.contacts.pairs, axis=1), axis=0))
    ours = (groups, edges, len(data.contacts), len(stream.points))
    expected = (
        printed.HOSPITAL_NODES,
        printed.HOSPITAL_EDGES,
        printed.HOSPITAL_CONTACTS,
        PRINTED["hospital"].n,
    )
    add(Statement("hospital", "the network", _network(*expected), _network(*ours), ours == expected))

    hour = (data.contacts.times - data.times[0]) / 3600 + 13
    share = float(np.mean((hour % 24 >= DAYTIME[0]) & (hour % 24 < DAYTIME[1])))
    add(
        Statement(
            "hospital",
            "contacts between 6 AM and 8 PM",
            f"{printed.HOSPITAL_DAYTIME_SHARE:.1%}",
            f"{share:.2%}",
            round(share, 3) == printed.HOSPITAL_DAYTIME_SHARE,
        )
    )
    sets = {key: results.landmarks[key][0].indices for key in ("initial", "published", "paper", "tight", "random")}
    maps = {**aligned_maps(stream, sets), "all points": map_of_all_points(stream.points, 2)}
    found.hour_tests.extend(hour_test(key, maps[key], when, hours) for hours in (DAYTIME, ALL_HOURS) for key in maps)
    daytime = {test.scenario: test for test in found.hour_tests if test.hours == DAYTIME}
    for scenario, expected_p in printed.HOSPITAL_P_VALUES.items():
        test = daytime[scenario]
        add(
            Statement(
                "hospital",
                f"t-test, same hour against different hours ({SCENARIO_TITLES.get(scenario, scenario)})",
                f"p = {expected_p:.2e}",
                f"p = {test.p_student:.2e}",
                f"{test.p_student:.2e}" == f"{expected_p:.2e}",
                f"hourly means from 6 AM to 8 PM of all days, {test.n_same} distances at the same hour and "
                f"{test.n_different} at different ones, Student, two-sided; the paper does not say which hours",
            )
        )
    add(
        Statement(
            "hospital",
            "the same p-values: initial against online",
            f"{printed.HOSPITAL_P_VALUES['initial'] / printed.HOSPITAL_P_VALUES['published']:.1e} times as large",
            f"{daytime['initial'].p_student / daytime['published'].p_student:.1e} times as large",
            None,
            "the paper's conclusion, that days are alike in all maps and least clearly so in the initial one, stands",
        )
    )
    _continuous_hours(results, found)


def _continuous_hours(results: DataSetResults, found: Comparison) -> None:
    """Repeat the t-test on the trajectory in continuous time, whose p-values come closest to the printed ones."""
    stream = results.stream
    points = np.vstack([stream.points, np.zeros(stream.points.shape[1])])  # the last one is the network without ties
    tests = {
        key: [
            continuous_hour_test(key, stream, *_split_last(embed(points, run.indices, 2)[0]))
            for run in results.landmarks[key]
        ]
        for key in ("initial", "published", "paper", "tight", "random")
    }
    placed = map_of_all_points(stream.points, 2, points)
    tests["all points"] = [continuous_hour_test("all points", stream, *_split_last(placed))]
    found.continuous_hour_tests.extend(of_runs[0] for of_runs in tests.values())
    for scenario, expected in printed.HOSPITAL_P_VALUES.items():
        of_runs = tests[scenario]
        p = float(np.median([test.p_student for test in of_runs]))
        note = (
            f"hourly means of the map every {STEP} s from the first to the last contact, without the first hour "
            f"(Monday 1 PM to 2 PM): {of_runs[0].n_same} distances at the same hour and {of_runs[0].n_different:,} at "
            "different ones; the paper states neither the step nor the missing hour; "
            f"{abs(p / expected - 1):.1%} from the printed value"
        )
        is_draw = len(of_runs) > 1
        if is_draw:
            note += f"; ours is the median of {len(of_runs)} runs, the printed one a single run"
        found.statements.append(
            Statement(
                "hospital",
                f"the same t-test in continuous time ({SCENARIO_TITLES.get(scenario, scenario)})",
                f"p = {expected:.2e}",
                f"p = {p:.2e}",
                None if is_draw else f"{p:.2e}" == f"{expected:.2e}",
                note,
            )
        )


def _split_last(placed: Array) -> tuple[Array, Array]:
    return placed[:-1], placed[-1]


def _network(groups: dict[str, int], edges: int, contacts: int, n: int) -> str:
    people = ", ".join(f"{count} {name}" for name, count in groups.items())
    return f"{people}; {edges:,} edges, {contacts:,} contacts, n = {n:,}"


def to_json(found: Comparison, mode: str) -> str:
    """Everything as JSON."""
    record: dict[str, Any] = {"mode": mode}
    record["statements"] = [{**row._asdict(), "data": row.data} for row in found.statements]
    record["radii"] = [row._asdict() for row in found.radii]
    record["hour_tests"] = [row._asdict() for row in found.hour_tests]
    record["continuous_hour_tests"] = [row._asdict() for row in found.continuous_hour_tests]
    record["dislocations"] = [{**row._asdict(), "ratio": row.ratio} for row in found.dislocations]
    return json.dumps(record, indent=1, ensure_ascii=False)


def to_markdown(found: Comparison, mode: str) -> str:
    """The statements as a table."""
    lines = ["# What the paper states outside Table 1, and our results", "", f"Mode: {mode}.", ""]
    lines += ["| data | what | printed | ours | | note |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {DATA_SETS[row.data]} | {row.what} | {row.printed} | {row.ours} | {row.mark} | {row.note} |"
        for row in found.statements
    ]
    lines += ["", f"| data | rule | final {RHO} | covering radius | {SIGMA}, k = 2 | replacements |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [
        f"| {DATA_SETS[row.data]} | {ONLINE_RULES[row.rule]} | {row.final_radius:.3f} | {row.covering_radius:.3f} "
        f"| {row.sigma:.3f} | {row.n_replacements} |"
        for row in found.radii
    ]
    return "\n".join(lines) + "\n"
