"""Followed sources: a new kind, with read(position, limit) alone, gives the same rows from all its positions."""

import contextlib
import json

import numpy as np
import pytest

from driftmap import sources
from driftmap.sources import RowSource
from driftmap.tables.blocks import FollowedText
from driftmap.tables.columns import Wanted
from driftmap.tables.csv import CSV
from driftmap.tables.jsonl import JSONLines
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Position
from driftmap.tables.text import open_text
from driftmap.utils.errors import InputError

X = np.random.default_rng(0).standard_normal((40, 3))
LINES = {
    "jsonl": [json.dumps({"a": a, "id": str(i), "b": b, "c": c}).encode() + b"\n" for i, (a, b, c) in enumerate(X)],
    "csv": [b"a,id,b,c\n", *(f"{a!r},{i},{b!r},{c!r}\n".encode() for i, (a, b, c) in enumerate(X.tolist()))],
}
BAD = {"jsonl": b'{"a": 1}\n', "csv": b"1,2\n"}


class Broker(RowSource):
    """Records with positions that are no numbers; at most a few come at a time."""

    def __init__(self, records, at_once):
        super().__init__("broker")
        self.records, self.at_once = records, at_once

    def read(self, position, limit):
        first = 0 if position == 0 else int(position["id"])
        rows = self.records[first : first + min(limit, self.at_once)]
        return rows, {"id": str(first + len(rows))}


def open_broker(records, at_once, kind, *, skip=False, report=lambda message: None):
    def parser(head):
        return JSONLines() if kind == "jsonl" else CSV("broker", head, Wanted(), delimiter=None, single=True)

    wanted = Wanted(label="id", rejected=RejectedLines(skip=skip, report=report))
    return open_text(FollowedText(Broker(records, at_once), wanted.rejected, parser), wanted)


def read(table, rows, start=None):
    """Labels and features of all chunks, and the position after each."""
    labels, features, places = [], [np.empty((0, 3))], []
    for chunk in table.chunks(rows, start):
        labels += chunk.labels
        features.append(chunk.features)
        places.append(table.position())
    return labels, np.concatenate(features), places


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize(("at_once", "rows"), [(1, 1), (7, 3), (7, 64), (100, 1)])
def test_every_position_goes_on_with_the_next_row(kind, at_once, rows):
    table = open_broker(LINES[kind], at_once, kind)
    assert table.columns == ("a", "b", "c")
    labels, features, places = read(table, rows)
    assert labels == [str(i) for i in range(40)]
    np.testing.assert_array_equal(features, X)
    for place in places:
        stored = Position(*json.loads(json.dumps(place)))  # as in a checkpoint
        labels, features, _ = read(open_broker(LINES[kind], at_once, kind), rows, stored)
        assert labels == [str(i) for i in range(stored.rows, 40)]
        np.testing.assert_array_equal(features, X[stored.rows :])


@pytest.mark.parametrize("kind", LINES)
def test_bad_records_are_named_by_number_and_skipped_only_if_asked(kind):
    records = [*LINES[kind][:10], BAD[kind], *LINES[kind][10:]]
    found = []
    with pytest.raises(InputError, match=r"^broker, line 11 has "):
        for chunk in open_broker(records, 7, kind).chunks(5):
            found += chunk.labels
    assert found == [str(i) for i in range(10 - (kind == "csv"))]  # all rows before it
    reported = []
    labels, _, places = read(open_broker(records, 7, kind, skip=True, report=reported.append), 64)
    assert labels == [str(i) for i in range(40)]
    assert [message.split(" has ")[0] for message in reported] == ["skipped: broker, line 11"]
    for place in places:
        labels, _, _ = read(open_broker(records, 7, kind, skip=True), 64, place)
        assert labels == [str(i) for i in range(place.rows, 40)]


def test_a_growing_file_is_a_source_of_rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    source = sources.open(str(path))
    with contextlib.closing(source):
        first, position = source.read(0, 2)
        assert first == [b"a,b\n", b"1,2\n"]
        with path.open("a") as file:
            file.write("5,6\n")
        second, after = source.read(position, 10)
        assert second == [b"3,4\n"]  # what was there; it waits for no more than one row
        assert source.read(after, 10)[0] == [b"5,6\n"]
        assert source.read(position, 1)[0] == [b"3,4\n"]  # the same position gives the same rows


def test_an_unknown_scheme_is_named():
    with pytest.raises(InputError, match="amqp:// is not a known scheme"):
        sources.open("amqp://host/rows")
    with pytest.raises(FileNotFoundError):
        sources.open("no such file")
