"""The tables of formats and of brokers: what each entry promises, and that the documentation names it."""

import importlib
import io
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import brokers
import formats
from driftmap.cli import main
from driftmap.sources.brokers.base import Broker, Sink
from driftmap.sources.schemes import SCHEMES, forms
from driftmap.tables.columns import Wanted
from driftmap.tables.formats import FORMATS, OUTPUTS, TABLE_SUFFIXES, format_of, is_followable
from driftmap.tables.readers import follow_table, open_table
from driftmap.utils.errors import InputError

ROOT = Path(__file__).parents[2]
X = np.cumsum(np.random.default_rng(3).standard_normal((70, 3)), axis=0)
LABELS = [f"r{i}" for i in range(70)]
FILES = formats.files(X, LABELS)


def read(table):
    chunks = list(table.chunks(20))
    labels = [label for chunk in chunks for label in (() if chunk.labels is None else chunk.labels)]
    return np.concatenate([chunk.features for chunk in chunks]), labels


@pytest.mark.parametrize("name", FILES)
def test_every_format_reads_what_was_written_to_the_bit(name, tmp_path):
    kind, data = FILES[name]
    path = tmp_path / name
    path.write_bytes(data())
    wanted = Wanted(label=formats.LABEL if kind.holds_text else None)
    with open_table(str(path), wanted, once=False) as table:
        assert list(table.columns) == (formats.NAMES if kind.holds_text else ["1", "2", "3"])
        features, labels = read(table)
        assert table.position().rows == 70
        again, _ = read(table)
    assert features.tobytes() == again.tobytes() == X.tobytes()
    assert labels == (LABELS if kind.holds_text else [])


@pytest.mark.parametrize("suffix", OUTPUTS)
def test_every_output_can_be_mapped_again(suffix, tmp_path):
    (tmp_path / "t.csv").write_bytes(formats.written(FORMATS[0], X, LABELS))
    out, twice = str(tmp_path / f"o{suffix}"), str(tmp_path / "twice.csv")
    assert main(["embed", str(tmp_path / "t.csv"), "--landmarks", "8", "-o", out]) == 0
    assert main(["embed", out, "--landmarks", "8", "-o", twice]) == 0


@pytest.mark.parametrize("suffix", OUTPUTS)
def test_a_writer_goes_on_with_a_file_unless_the_table_says_that_it_cannot(suffix):
    kind = OUTPUTS[suffix]
    if not kind.continues:
        return
    whole, parts = io.BytesIO(), io.BytesIO()
    for file, steps in ((whole, [(0, 70)]), (parts, [(0, 30), (30, 70)])):
        for first, last in steps:
            writer = kind.writer(file, formats.NAMES)
            writer.write(list(X[first:last].T))
            writer.close()
    assert whole.getvalue() == parts.getvalue()


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_lines_of_text_can_be_followed_and_other_formats_cannot(kind, tmp_path):
    path = tmp_path / f"t{kind.suffixes[0]}"
    path.write_bytes(formats.written(kind, X, LABELS))
    assert is_followable(str(path)) == kind.is_followable == (kind.name in ("CSV", "TSV", "JSON lines"))
    if kind.is_followable:
        with follow_table(str(path), Wanted()) as table:
            np.testing.assert_array_equal(next(table.chunks(5)).features, X[:5])


def test_the_entries_are_complete():
    suffixes = [suffix for kind in FORMATS for suffix in kind.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert set(TABLE_SUFFIXES) <= set(suffixes)
    for kind in FORMATS:
        assert (kind.parser is None) != (kind.reader is None)
        assert bool(kind.written) == (kind.writer is not None)
    with pytest.raises(InputError) as error:
        format_of(".xls", "t.xls")
    assert all(kind.suffixes[0] in str(error.value) for kind in FORMATS)


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_the_documentation_names_every_format(kind, capsys):
    assert kind.name in (ROOT / "docs" / "how-to" / "embed.md").read_text()
    for command in ("embed", "follow") if kind.is_followable else ("embed",):
        assert main([command, "--help"]) == 0
        assert kind.name in capsys.readouterr().out


def test_every_scheme_has_its_classes_extra_server_and_row_in_the_documentation():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "how-to" / "follow.md").read_text()
    documented = re.findall(r"^\| `(\w+)://HOST\[:PORT\]/(\w+)`", page, flags=re.MULTILINE)
    assert documented == [(name, scheme.stream) for name, scheme in SCHEMES.items()]
    assert list(brokers.SERVERS) == list(brokers.CLIENTS)
    assert set(brokers.SERVERS) == set(SCHEMES) <= set(extras)
    for name, scheme in SCHEMES.items():
        module = vars(importlib.import_module(f"driftmap.sources.brokers.{name}"))
        assert issubclass(module[scheme.source], Broker)
        assert issubclass(module[scheme.sink], Sink)


def test_the_help_shows_the_form_of_every_address(capsys):
    assert main(["follow", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(form in shown for form in forms())


def test_a_matrix_of_many_columns_is_read(tmp_path):
    """In time that grows with the columns, not with their square."""
    np.save(tmp_path / "wide.npy", np.ones((2, 100_000)))
    with open_table(str(tmp_path / "wide.npy"), Wanted(), once=False) as table:
        assert (table.columns[0], table.columns[-1]) == ("1", "100000")
