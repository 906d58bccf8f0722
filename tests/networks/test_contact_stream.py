"""``driftmap contacts --follow``: a growing list gives the rows of the whole list, one for each time, to the bit."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftmap.cli import main
from driftmap.cli.progress import Progress
from driftmap.networks import Contacts, ContactStream, laplacian_spectra, read_nodes
from driftmap.pipeline import saver
from driftmap.sources.row_source import RowSource
from driftmap.storage import checkpoint
from driftmap.tables.rejected import RejectedLines
from driftmap.utils.errors import InputError
from streams import some

START = 1709539200  # 2024-03-04T08:00
EVENTS = [(20 * (k // 2) + 86_400 * (k // 40), f"p{k % 5}", f"p{5 + k % 4}") for k in range(120)]
LISTS = {
    "plain": "".join(f"{t} {i} {j}\n" for t, i, j in EVENTS),
    "dates": "".join(f"{START + t}\t{i}\t{j}\n" for t, i, j in EVENTS),
    "fractions": "".join(f"{t / 8} {i} {j}\n" for t, i, j in EVENTS),
    "statuses": "".join(f"{t} {i} {j} s{i[1]} s{j[1]}\n" for t, i, j in EVENTS),
    "weights": "% of badges\n# from,to,date,weight\n"
    + "".join(f"{i},{j},2024-03-04T08:{t % 3600 // 60:02}:{t % 60:02},{1 + t % 3}\n" for t, i, j in EVENTS[:40]),
    "blank lines, contacts with itself": "time;source;target\n\n"
    + "".join(f"{t};{i};{j}\n\n{t};{i};{i}\n" for t, i, j in EVENTS),
    "windows": "\ufeff" + "".join(f"{t} {i} {j}\r\n" for t, i, j in EVENTS),
    "no end of the last line": "0 p0 p1\n0 p1 p2\n7 p3 p4\n20 p5 p6\n20 p7 p8",
}
BASE = ["--decay", "0.01", "--landmarks", "6"]
NODES = ["--nodes", "9"]


def run(*argv, code=0):
    assert main([*map(str, argv)]) == code


def standard_input(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Lines(RowSource):
    """Lines in memory, a few at a time."""

    def __init__(self, text, at_once=7):
        super().__init__("lines")
        self.lines, self.at_once = text.encode().splitlines(keepends=True), at_once

    def read(self, position, limit):
        end = min(position + min(limit, self.at_once), len(self.lines))
        return self.lines[position:end], end


@pytest.mark.parametrize("name", LISTS)
def test_rows_are_those_of_the_whole_list_online(folder, monkeypatch, capfd, name):
    folder.joinpath("list.txt").write_text(LISTS[name], encoding="utf-8", newline="")
    run("contacts", "list.txt", "--online", "--novelty", *BASE, "-o", "whole.csv", "--json")
    expected = json.loads(capfd.readouterr().out)
    standard_input(monkeypatch, LISTS[name])
    run("contacts", "-", "--follow", *NODES, *BASE, "-o", "followed.csv", "--json")
    found = json.loads(capfd.readouterr().out)
    whole = folder.joinpath("whole.csv").read_bytes()
    assert folder.joinpath("followed.csv").read_bytes() == whole
    assert len(whole.splitlines()) == expected["rows"] + 1 > 2
    for fact in ("rows", "columns", "contacts", "nodes", "self_contacts", "weighted", "decay", "radius"):
        assert found[fact] == expected[fact]


@pytest.mark.parametrize("eigenvalues", [None, 4])
def test_nodes_that_have_not_come_are_zeros_and_the_largest_eigenvalues_can_be_chosen(eigenvalues):
    stream = ContactStream(Lines(LISTS["plain"]), 0.01, 12, n_eigenvalues=eigenvalues)
    found = np.concatenate([chunk.features for chunk in stream.chunks(1)])
    contacts = [(i, j, t) for t, i, j in EVENTS]
    absent = [f"x{k}" for k in range(3)]
    nodes = [*Contacts.from_events(contacts).nodes, *absent]
    expected = laplacian_spectra(contacts, 0.01, nodes=nodes, n_eigenvalues=eigenvalues)[1]
    np.testing.assert_array_equal(found, expected)
    assert len(stream.columns) == (eigenvalues or 12)


@given(st.data())
@some
def test_from_any_position_the_rest_of_the_rows_is_the_same(data):
    text = LISTS[data.draw(st.sampled_from([*LISTS]))]
    at_once = data.draw(st.integers(1, 20))
    stream, rows, places = ContactStream(Lines(text, at_once), 0.01, 9), [], []
    for chunk in stream.chunks(1):
        rows.append((chunk.features.tobytes(), list(chunk.labels)))
        places.append(stream.position())
    done = data.draw(st.integers(1, len(rows)))
    again = ContactStream(Lines(text, data.draw(st.integers(1, 20))), 0.01, 9)
    rest = [(chunk.features.tobytes(), list(chunk.labels)) for chunk in again.chunks(1, places[done - 1])]
    assert rest == rows[done:]
    assert again.position() == places[-1]


def test_large_networks_go_on_to_the_bit():
    rng = np.random.default_rng(0)
    text = "".join(f"{k // 3} {i} {j}\n" for k in range(300) for i, j in [rng.choice(400, 2, replace=False)])
    stream = ContactStream(Lines(text), 0.5, 400)
    rows, places = [], []
    for chunk in stream.chunks(1):
        rows.append(chunk.features[0])
        places.append(stream.position())
    rest = [chunk.features[0] for chunk in ContactStream(Lines(text), 0.5, 400).chunks(1, places[40])]
    np.testing.assert_array_equal(rest, rows[41:])


class Follower:
    """The command at work."""

    def __init__(self, folder, *argv):
        command = [sys.executable, "-m", "driftmap", "contacts", *argv, *BASE]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()

    def lines(self, path, n):
        """Wait for n lines in a file."""
        while not path.exists() or path.read_text().count("\n") < n:
            assert self.process.poll() is None, self.process.stderr.read().decode()
            time.sleep(0.01)
        return path.read_text().splitlines()

    def end(self, signum):
        self.process.send_signal(signum)
        err = self.process.communicate(timeout=120)[1]
        return self.process.returncode, err.decode()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_a_row_is_written_when_a_later_time_arrives(folder):
    path, out = folder / "list.txt", folder / "o.csv"
    path.write_text("0 a b\n0 b c\n")
    with Follower(folder, "list.txt", "--follow", "--nodes", "3", "-o", "o.csv") as follower:
        follower.lines(out, 0)
        append(path, "5 a b\n")
        assert follower.lines(out, 2)[1].startswith("0")
        append(path, "5 c b\n9 a c\n")
        assert follower.lines(out, 3)[2].startswith("5")
        code, err = follower.end(signal.SIGINT)
    assert (code, len(out.read_text().splitlines())) == (130, 3)
    assert "stopped after 2 rows, 0 bad lines" in err


def test_a_run_that_is_killed_goes_on_with_the_same_bytes(folder):
    path, out = folder / "list.txt", folder / "o.csv"
    lines = LISTS["dates"].splitlines(keepends=True)
    path.write_text("".join(lines))
    kept = ["--follow", *NODES, "-o", "o.csv", "--checkpoint", "c.ckpt", "--checkpoint-every", "0s"]
    with Follower(folder, "list.txt", "--follow", *NODES, "-o", "whole.csv") as follower:
        expected = follower.lines(folder / "whole.csv", 60)
    path.write_text("")
    for n, rows in ((31, 15), (70, 35), (120, 60)):
        append(path, "".join(lines[path.read_text().count("\n") : n]))
        with Follower(folder, "list.txt", *kept, "--resume") as follower:  # which is killed in the end
            follower.lines(out, rows)
    assert out.read_text().splitlines()[:60] == expected


class Killed(BaseException):
    """Ends a run as abruptly as anything within the process can."""


@pytest.mark.parametrize("name", ["plain", "dates", "blank lines, contacts with itself"])
def test_a_run_cut_off_after_any_checkpoint_ends_with_the_same_bytes(folder, monkeypatch, capfd, name):
    monkeypatch.setattr(saver, "SHARE", 1)
    text = LISTS[name].replace("\n", "\nbad line\n", 12) + "0 p0 p1\n"
    base = ["contacts", "-", "--follow", "--skip-bad", *NODES, *BASE, "--json"]
    standard_input(monkeypatch, text)
    run(*base, "-o", "whole.csv")
    expected = json.loads(capfd.readouterr().out)
    runs, left = 0, [0]

    def write(*args, original=checkpoint.write):
        original(*args)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(checkpoint, "write", write)
    finished = False
    while not finished:
        runs += 1
        left[0] = 3 + 7 * (runs % 3)
        standard_input(monkeypatch, text)
        kept = ["--checkpoint", "c.ckpt", "--checkpoint-every", "0s", *(["--resume"] if runs > 1 else [])]
        try:
            run(*base, "-o", "o.csv", *kept)
            finished = True
        except Killed:
            pass
    assert runs > 3
    assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("whole.csv").read_bytes()
    found = json.loads(capfd.readouterr().out)
    assert found | {"output": ""} == expected | {"output": ""}
    assert found["bad_lines"] == 13


def resumed(monkeypatch, first, second, *options, code=2):
    command = ["contacts", "-", "--follow", *NODES, *BASE, *options, "-o", "o.csv", "--checkpoint", "c.ckpt"]
    standard_input(monkeypatch, first)
    run(*command)
    standard_input(monkeypatch, second)
    run(*command, "--resume", code=code)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("0 a b\n5 a c\n9 a b\n", "its first 3 lines are not those that were read before"),
        ("0 a b\n", "its first 3 lines are not those that were read before"),
        ("0 a b\n5 b c\n9 a b\n9 b c\n", "line 4 has the time 9, whose row was written before"),
    ],
)
def test_another_list_is_refused_by_a_resumed_run(folder, monkeypatch, capfd, second, message):
    resumed(monkeypatch, "0 a b\n5 b c\n9 a b\n", second, "--skip-bad")
    assert message in capfd.readouterr().err
    assert len(folder.joinpath("o.csv").read_text().splitlines()) == 4


def test_a_longer_list_goes_on(folder, monkeypatch):
    resumed(monkeypatch, "0 a b\n5 b c\n9 a b", "0 a b\n5 b c\n9 a b\n12 a c\n", code=0)
    standard_input(monkeypatch, "0 a b\n5 b c\n9 a b\n12 a c\n")
    run("contacts", "-", "--follow", *NODES, *BASE, "-o", "whole.csv")
    assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("whole.csv").read_bytes()


def test_a_list_that_is_replaced_is_an_error(folder):
    path, out = folder / "list.txt", folder / "o.csv"
    path.write_text("0 a b\n5 b c\n")
    with Follower(folder, "list.txt", "--follow", *NODES, "-o", "o.csv") as follower:
        follower.lines(out, 2)
        folder.joinpath("other").write_text("9 a b\n")
        os.replace(folder / "other", path)
        err = follower.process.communicate(timeout=60)[1].decode()
    assert "list.txt was replaced after line 2, and the network needs the contacts before" in err


BAD = {
    "0 a b\n5 a\n": "lines, line 2 has 2 fields, but the first line has 3",
    "0 a b\n\nnoon a b\n": "lines, line 3: time 'noon' is neither a number nor a date",
    "0 a b\n5 b c\n4 a c\n": "lines, line 3 has the time 4, which is before that of an earlier line, 5",
    "0 a b\nnan a b\n": "lines, line 2: contact ('a', 'b', nan) has no finite time",
    "0 a b x y\n5 b c x z\n": "lines, line 2: 'b' is 'x', but was 'y' before",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_line_is_named_or_skipped_and_counted(text):
    with pytest.raises(InputError) as error:
        list(ContactStream(Lines(text), 0.1, 9).chunks(1))
    assert str(error.value).startswith(BAD[text])
    reported = []
    rejected = RejectedLines(skip=True, report=reported.append)
    extra = " x y" if "x y" in text else ""
    good, *_ = text.splitlines(keepends=True)
    found = [chunk.features for chunk in ContactStream(Lines(text), 0.1, 9, rejected=rejected).chunks(1)]
    kept = good + ("5 b c\n" if "5 b c\n" in text else "")
    expected = [chunk.features for chunk in ContactStream(Lines(kept), 0.1, 9).chunks(1)]
    np.testing.assert_array_equal(found, expected)
    assert rejected.count == len(reported) == 1
    assert extra == "" or "y" in reported[0]


def test_bytes_that_are_no_text_are_named():
    source = Lines("0 a b\n")
    source.lines += [b"5 a \xff\n"]
    with pytest.raises(InputError, match=r"lines, line 2 is not UTF-8 text \(byte 0xff\)"):
        list(ContactStream(source, 0.1, 9).chunks(1))


def test_one_node_too_many_is_an_error_even_if_bad_lines_are_skipped(folder, monkeypatch, capfd):
    standard_input(monkeypatch, "0 a b\n5 b c\n9 c d\n")
    run("contacts", "-", "--follow", "--nodes", 3, *BASE, "--skip-bad", "-o", "o.csv", code=2)
    assert "standard input, line 3: 'd' is one node more than 3; give a larger --nodes" in capfd.readouterr().err
    assert len(folder.joinpath("o.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize("text", ["a,nurse\nb,nurse\nc,patient\nd,nurse\n", "id,role\na,x\nb,x\nc,x\nd,x\n"])
def test_nodes_can_be_those_of_a_file(folder, monkeypatch, capfd, text):
    folder.joinpath("people.csv").write_text(text)
    assert read_nodes("people.csv") == {"a", "b", "c", "d"}
    command = ["contacts", "-", "--follow", "--metadata", "people.csv", *BASE, "--json", "-o"]
    standard_input(monkeypatch, "0 a b\n5 b c\n")
    run(*command, "o.csv")
    assert len(json.loads(capfd.readouterr().out)["columns"]) == 4
    standard_input(monkeypatch, "0 a b\n5 b e\n")
    run(*command, "p.csv", code=2)
    assert "standard input, line 2: 'e' is not one of the 4 nodes given" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--follow", *NODES], "--follow needs --decay RATE: a half-life follows only from a list that is complete"),
        (["--follow", *NODES, "--decay", "auto"], "--follow needs --decay RATE"),
        (["--follow", "--decay", "1"], "--follow needs --nodes N or --metadata FILE"),
        (["--follow", *NODES, *BASE, "--online"], "leave out --online"),
        (["--follow", *NODES, *BASE, "--plot", "m.png"], "--plot needs an end, which --follow does not have"),
        (["--follow", *NODES, *BASE, "--color-by", "hour"], "--color-by is for figures"),
        (["--follow", *NODES, *BASE, "--eigenvalues", "10"], "--eigenvalues must be between 1 and the 9 nodes"),
        (["--follow", *NODES, *BASE, "-o", "o.parquet"], "cannot be written row by row"),
        (["--follow", *NODES, *BASE, "--columns", "1,2"], "--columns must name time, node, node"),
        (["--nodes", "9"], "--nodes is for a list that grows: add --follow"),
        (["--skip-bad"], "--skip-bad is for a list that grows: add --follow"),
    ],
)
def test_mistakes_are_named_in_one_line(folder, capfd, options, message):
    folder.joinpath("list.txt").write_text(LISTS["plain"])
    run("contacts", "list.txt", *options, code=2)
    err = capfd.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_checkpoint_needs_a_list_that_can_be_read_again(folder, capfd):
    os.mkfifo("pipe")
    for file in ("pipe", "mqtt://localhost/contacts"):
        run("contacts", file, "--follow", *NODES, *BASE, "-o", "o.csv", "--checkpoint", "c.ckpt", code=2)
        assert "--checkpoint needs a list that can be read again from its start" in capfd.readouterr().err


def test_the_time_left_is_shown():
    progress = Progress(io.StringIO())
    progress.update("spectra", 0.1)
    assert "left" not in progress.text(2.0, 0.2, "2 of 10", None)  # too early to tell
    assert (
        progress.text(60.0, 0.2, "2 of 10", None) == "spectra    [#####...................]  20%  4 min left  2 of 10"
    )
    resumed = Progress(io.StringIO())
    resumed.update("mapping", 0.5, rows=500, before=500)
    assert " 1 min left" in resumed.text(60.0, 0.75, "", 750)


def test_watching_contacts_names_the_command(capfd):
    run("watch", "--contacts", "list.txt", code=2)
    assert "driftmap contacts FILE --follow" in capfd.readouterr().err
