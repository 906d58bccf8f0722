"""Records are checked against their types once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pytest

from driftmap.storage.schema import Count, as_json, from_json


class Place(NamedTuple):
    rows: Count
    name: str = ""


@dataclass(frozen=True)
class Record:
    count: Count
    share: float
    flag: bool
    kind: Literal["a", "b"]
    counts: dict[str, Count]
    names: tuple[str, ...]
    pair: tuple[int, int]
    place: Place | None = None


GOOD = Record(1, 0.5, True, "a", {"x": 2}, ("p", "q"), (-1, 2), Place(3, "n"))


def test_a_record_survives_json():
    assert from_json(Record, json.loads(json.dumps(as_json(GOOD))), "record") == GOOD


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("count", -1, "count"), ("count", True, "count"), ("count", 2**70, "count"), ("count", 1.0, "count"),
        ("share", "x", "share"), ("share", None, "share"), ("flag", 1, "flag"), ("kind", "c", "one of a, b"),
        ("kind", ["a"], "one of"), ("counts", {"x": -1}, "counts.x"), ("counts", [1], "object"),
        ("names", "pq", "names"), ("names", [1], r"names\[0\]"), ("pair", [1], "list of 2"),
        ("place", [1], "list of 2"), ("place", {"rows": 1}, "place"), ("place", [-1, ""], "place.rows"),
    ],
)  # fmt: skip
def test_every_wrong_part_is_named(part, value, said):
    with pytest.raises(ValueError, match=said):
        from_json(Record, as_json(GOOD) | {part: value}, "record")


def test_missing_and_unknown_parts_are_refused():
    whole = as_json(GOOD)
    for wrong in (whole | {"more": 1}, {key: value for key, value in whole.items() if key != "kind"}, [], None, "x"):
        with pytest.raises(ValueError, match="record"):
            from_json(Record, wrong, "record")
