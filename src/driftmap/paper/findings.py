"""What the paper states outside Table 1, beside what we find: radii, jumps, years, hours, distances."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.paper import printed
from driftmap.paper.dislocation import Dislocation, dislocations
from driftmap.paper.hospital import (
    ALL_HOURS,
    DAYTIME,
    HourTest,
    clock,
    hospital_of,
    hour_test,
)
from driftmap.paper.printed import PRINTED
from driftmap.paper.scenarios import DATA_SETS, SCENARIOS, Landmarks, Measured, aligned_maps, map_of_all_points
from driftmap.paper.spy import landmark_years, yearly_distances, years
from driftmap.paper.table import CROSS, SIGMA, TICK
from driftmap.quality import covering_radius

RHO = "\N{GREEK SMALL LETTER RHO}"
TITLES = {scenario.key: scenario.title.lower() for scenario in SCENARIOS}
RULES = {scenario.key: scenario.title for scenario in SCENARIOS if scenario.key in ("published", "paper", "tight")}


class Finding(NamedTuple):
    """One statement of the paper, and ours."""

    data: str
    what: str
    printed: str
    """Empty where the paper states nothing."""
    ours: str
    agrees: bool | None
    """None where there is nothing to agree with."""
    note: str = ""

    @property
    def mark(self) -> str:
        """A tick or a cross."""
        return "" if self.agrees is None else TICK if self.agrees else CROSS


class Radius(NamedTuple):
    """Where rho ends under a rule, how far the farthest point really is from its landmark, and the stress."""

    data: str
    rule: str
    final_radius: float
    covering_radius: float
    sigma: float
    """For k = 2."""
    n_replacements: int


class Findings(NamedTuple):
    """All statements, and the tables behind them."""

    statements: list[Finding]
    radii: list[Radius]
    hour_tests: list[HourTest]
    dislocations: list[Dislocation]


def find(measured: list[Measured]) -> Findings:
    """Check everything that the paper states about the given data sets."""
    found = Findings([], [], [], [])
    for one in measured:
        _radii(one, found)
        {"s-curve": _s_curve, "spy": _spy, "hospital": _hospital}[one.stream.key](one, found)
    return found


def largest_jumps(landmarks: Landmarks, count: int = 3) -> NDArray[np.int64]:
    """The arrivals at which rho grew most, in order of arrival."""
    grown = np.diff(landmarks.radii, prepend=0.0)
    return np.sort(landmarks.radius_arrivals[np.argsort(grown)[-count:]])


def _radii(one: Measured, found: Findings) -> None:
    stream = one.stream
    for rule in RULES:
        chosen = one.landmarks[rule][0]
        assert chosen.radius is not None  # every online rule has one
        covering = covering_radius(stream.points, stream.points[chosen.indices])
        sigma = float(one.fits[rule][0].sigma[1])
        found.radii.append(Radius(stream.key, rule, chosen.radius, covering, sigma, len(chosen.changes)))
    _all_points(one, found)
    ours = one.landmarks["published"][0].radius or 0.0
    expected = PRINTED[stream.key].final_radius
    found.statements.append(
        Finding(stream.key, f"final {RHO}, online", f"{expected:.2f}", f"{ours:.3f}", abs(ours - expected) <= 0.005)
    )


def _all_points(one: Measured, found: Findings) -> None:
    sigma = float(one.sigma_all_points[1])
    expected = printed.SIGMA_ALL_POINTS.get(one.stream.key)
    found.statements.append(
        Finding(
            one.stream.key,
            f"{SIGMA} with all points as landmarks, k = 2",
            "" if expected is None else f"{expected:.2f}",
            f"{sigma:.3f}",
            None if expected is None else round(sigma, 2) == expected,
        )
    )


def _s_curve(one: Measured, found: Findings) -> None:
    for rule in RULES:
        rows = dislocations(one.stream.points, one.stream.m, rule, one.landmarks[rule][0])
        found.dislocations.extend(rows)
        ratios = np.array([row.ratio for row in rows])
        found.statements.append(
            Finding(
                "s-curve",
                f"dislocation at a replacement, k = 2 ({RULES[rule].removeprefix('Online, ')})",
                "at most the bound, for small ε",
                f"{len(rows)} replacements, ε from {min(r.epsilon for r in rows):.2f} to "
                f"{max(r.epsilon for r in rows):.2f}; measured / bound: median {np.median(ratios):.4f}, "
                f"largest {ratios.max():.4f}",
                bool(ratios.max() <= 1),
                "the point of the largest ratio at each replacement; every one is listed in dislocation.csv",
            )
        )


def _spy(one: Measured, found: Findings) -> None:
    stream = one.stream
    for rule, title in RULES.items():
        counts = landmark_years(stream, one.landmarks[rule][0])
        listed = ", ".join(f"{count} in {year}" for year, count in counts.items())
        if rule != "published":
            found.statements.append(
                Finding("spy", f"years of the landmarks ({title.split(', ')[1]})", "", listed, None)
            )
            continue
        late = sum(count for year, count in counts.items() if year >= 2018)
        found.statements.append(
            Finding(
                "spy",
                "years of the landmarks",
                "three in 2013, seven in 2018 or later",
                listed,
                counts.get(2013) == printed.SPY_LANDMARKS_IN_2013 and late == printed.SPY_LANDMARKS_FROM_2018,
            )
        )
    first = int(np.flatnonzero(years(stream) == 2020)[0]) + 1
    found.statements.append(
        Finding(
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
        ("mean distance between the years 2013 to 2019", printed.SPY_DISTANCE_2013_TO_2019, ours.among_2013_to_2019),
        ("mean distance of 2020 from these years", printed.SPY_DISTANCE_TO_2020, ours.from_2020_to_these),
    ):
        found.statements.append(
            Finding(
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


def _hospital(one: Measured, found: Findings) -> None:
    stream, say = one.stream, found.statements.append
    when, data = clock(stream), hospital_of(stream)
    published = one.landmarks["published"][0]

    jumps = largest_jumps(published)
    times = tuple(when.text(arrival) for arrival in jumps.tolist())
    say(
        Finding(
            "hospital",
            f"the three jumps of {RHO}",
            f"{', '.join(printed.HOSPITAL_JUMPS)}; the last at n = {printed.HOSPITAL_LAST_JUMP:,}",
            f"{', '.join(times)}; arrivals {', '.join(map(str, jumps))}",
            times == printed.HOSPITAL_JUMPS and int(jumps[-1]) == printed.HOSPITAL_LAST_JUMP,
            "arrivals are counted from 0",
        )
    )
    late = [when.text(i) for i in published.indices.tolist() if when.day[i] > 0 or when.hour[i] >= 14]
    say(
        Finding(
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
    expected = (printed.HOSPITAL_NODES, printed.HOSPITAL_EDGES, printed.HOSPITAL_CONTACTS, PRINTED["hospital"].n)
    say(Finding("hospital", "the network", _network(*expected), _network(*ours), ours == expected))

    hour = (data.contacts.times - data.times[0]) / 3600 + 13
    share = float(np.mean((hour % 24 >= DAYTIME[0]) & (hour % 24 < DAYTIME[1])))
    say(
        Finding(
            "hospital",
            "contacts between 6 AM and 8 PM",
            f"{printed.HOSPITAL_DAYTIME_SHARE:.1%}",
            f"{share:.2%}",
            round(share, 3) == printed.HOSPITAL_DAYTIME_SHARE,
        )
    )
    sets = {key: one.landmarks[key][0].indices for key in ("initial", "published", "paper", "tight", "random")}
    maps = {**aligned_maps(stream, sets), "all points": map_of_all_points(stream.points, 2)}
    found.hour_tests.extend(hour_test(key, maps[key], when, hours) for hours in (DAYTIME, ALL_HOURS) for key in maps)
    daytime = {test.scenario: test for test in found.hour_tests if test.hours == DAYTIME}
    for scenario, expected_p in printed.HOSPITAL_P_VALUES.items():
        test = daytime[scenario]
        say(
            Finding(
                "hospital",
                f"t-test, same hour against different hours ({TITLES.get(scenario, scenario)})",
                f"p = {expected_p:.2e}",
                f"p = {test.p_student:.2e}",
                f"{test.p_student:.2e}" == f"{expected_p:.2e}",
                f"hourly means from 6 AM to 8 PM of all days, {test.n_same} distances at the same hour and "
                f"{test.n_different} at different ones, Student, two-sided; the paper does not say which hours",
            )
        )
    say(
        Finding(
            "hospital",
            "the same p-values: initial against online",
            f"{printed.HOSPITAL_P_VALUES['initial'] / printed.HOSPITAL_P_VALUES['published']:.1e} times as large",
            f"{daytime['initial'].p_student / daytime['published'].p_student:.1e} times as large",
            None,
            "the paper's conclusion, that days are alike in all maps and least clearly so in the initial one, stands",
        )
    )


def _network(groups: dict[str, int], edges: int, contacts: int, n: int) -> str:
    people = ", ".join(f"{count} {name}" for name, count in groups.items())
    return f"{people}; {edges:,} edges, {contacts:,} contacts, n = {n:,}"


def to_json(found: Findings, mode: str) -> str:
    """Everything as JSON."""
    record: dict[str, Any] = {"mode": mode}
    record["statements"] = [{**row._asdict(), "data": row.data} for row in found.statements]
    record["radii"] = [row._asdict() for row in found.radii]
    record["hour_tests"] = [row._asdict() for row in found.hour_tests]
    record["dislocations"] = [{**row._asdict(), "ratio": row.ratio} for row in found.dislocations]
    return json.dumps(record, indent=1, ensure_ascii=False)


def to_markdown(found: Findings, mode: str) -> str:
    """The statements as a table."""
    lines = ["# What the paper states outside Table 1, and what we find", "", f"Mode: {mode}.", ""]
    lines += ["| data | what | printed | ours | | note |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {DATA_SETS[row.data]} | {row.what} | {row.printed} | {row.ours} | {row.mark} | {row.note} |"
        for row in found.statements
    ]
    lines += ["", f"| data | rule | final {RHO} | covering radius | {SIGMA}, k = 2 | replacements |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [
        f"| {DATA_SETS[row.data]} | {RULES[row.rule]} | {row.final_radius:.3f} | {row.covering_radius:.3f} "
        f"| {row.sigma:.3f} | {row.n_replacements} |"
        for row in found.radii
    ]
    return "\n".join(lines) + "\n"
