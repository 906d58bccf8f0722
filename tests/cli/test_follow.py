"""Following a source that grows: every line is answered, none is lost, and bad ones are reported by number."""

import csv
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from driftmap import DriftMap
from driftmap.cli import main

X = np.cumsum(np.random.default_rng(2).standard_normal((60, 3)), axis=0)
HEADER = "a,b,c\n"
LINES = [",".join(map(repr, row)) + "\n" for row in X.tolist()]
BASE = ["--landmarks", "6"]


def expected(rows=X):
    """Frame, coordinates and novelty of each row when it came."""
    mapper, out = DriftMap(n_landmarks=6), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows:
            arrival = mapper.update([row])
            novelty = arrival.reach[0], arrival.quantile[0], mapper.novelty([row]).residual[0]
            out.append([arrival.frame, *arrival.coordinates[0], *novelty])
    return np.array(out)


def table(text):
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["frame", "x1", "x2", "reach", "quantile", "residual"]
    return np.array(rows, dtype=float)


class Follower:
    """The command at work, with what it has written so far."""

    def __init__(self, folder, *argv, **options):
        command = [sys.executable, "-m", "driftmap", "follow", *argv, *BASE]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        self.process = subprocess.Popen(command, cwd=folder, **pipes)
        self.out = b""

    def read_lines(self, n):
        """Wait for n lines in all."""
        while self.out.count(b"\n") < n:
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, self.process.stderr.read().decode()
            self.out += piece
        return self.out.decode()

    def wait_for_lines(self, path, n):
        """Wait for n lines in a file, while the command is at work."""
        while not path.exists() or path.read_text().count("\n") < n:
            assert self.process.poll() is None, self.process.stderr.read().decode()
            time.sleep(0.01)

    def is_silent(self):
        return not select.select([self.process.stdout], [], [], 0.3)[0]

    def stop(self, signum=signal.SIGINT):
        self.process.send_signal(signum)
        return self.end()

    def end(self):
        out, err = self.process.communicate(timeout=120)
        self.out += out or b""
        return self.process.returncode, err.decode()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_a_growing_file(tmp_path):
    path = tmp_path / "live.csv"
    path.write_text(HEADER + LINES[0] + LINES[1][:5])
    follower = Follower(tmp_path, "live.csv")
    follower.read_lines(2)
    assert follower.is_silent()  # the second line has no end yet
    append(path, LINES[1][5:])
    follower.read_lines(3)
    for i in range(2, 10):
        append(path, LINES[i])
        follower.read_lines(i + 2)
    append(path, "".join(LINES[10:]) + "1,2")
    follower.read_lines(61)
    code, err = follower.stop()
    np.testing.assert_array_equal(table(follower.out.decode()), expected())
    assert code == 130
    mapper = DriftMap(n_landmarks=6).fit(X)
    numbers = f"radius {mapper.radius_:.4g}, {mapper.n_replacements_} replacements"
    assert err == f"driftmap: stopped after 60 rows, 0 bad lines, {numbers}\n"


def test_an_empty_file_is_waited_for_and_terminated(tmp_path):
    path = tmp_path / "live.csv"
    path.touch()
    follower = Follower(tmp_path, "live.csv")
    append(path, HEADER + LINES[0])
    follower.read_lines(2)
    assert follower.stop(signal.SIGTERM)[0] == 143


def test_stopping_before_the_first_row(tmp_path):
    (tmp_path / "live.csv").write_text(HEADER)
    (tmp_path / "ready").touch()
    follower = Follower(tmp_path, "live.csv", "-o", "o.csv", "--columns", "a,b,c")  # else it waits to know them
    follower.wait_for_lines(tmp_path / "o.csv", 0)
    code, err = follower.stop()
    assert (code, err) == (130, "driftmap: stopped before the first row, 0 bad lines\n")


def test_a_summary_is_printed_when_the_user_ends_it(tmp_path):
    path = tmp_path / "live.csv"
    path.write_text(HEADER + "".join(LINES))
    follower = Follower(tmp_path, "live.csv", "-o", "out.csv", "--json")
    follower.wait_for_lines(tmp_path / "out.csv", 61)
    code, err = follower.stop()
    assert code == 130
    assert "stopped after 60 rows" in err
    summary = json.loads(follower.out)
    assert (summary["rows"], summary["output"], summary["landmarks"]) == (60, "out.csv", 6)


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson"])
def test_standard_input_ends_and_json_lines_are_appended(tmp_path, suffix):
    follower = Follower(tmp_path, "-", "-o", f"o.{suffix}", stdin=subprocess.PIPE)
    follower.process.stdin.write((HEADER + "".join(LINES[:5])).encode())
    follower.process.stdin.flush()
    path = tmp_path / f"o.{suffix}"
    follower.wait_for_lines(path, 5)  # before the input ends
    follower.process.stdin.write(LINES[5].strip().encode())  # the last line has no end
    code, err = follower.end()
    assert code == 0
    assert "stopped after 6 rows" in err
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [*rows[0]] == ["frame", "x1", "x2", "reach", "quantile", "residual"]
    values = [[np.inf if value is None else value for value in row.values()] for row in rows]  # JSON has no infinity
    np.testing.assert_array_equal(values, expected(X[:6]))


def test_json_lines_in_and_out(tmp_path):
    rows = "".join(json.dumps({"id": f"ü{i}", "a": r[0], "b": r[1]}) + "\n" for i, r in enumerate(X[:5].tolist()))
    follower = Follower(tmp_path, "-", "--label", "id", "--format", "jsonl", stdin=subprocess.PIPE)
    follower.process.stdin.write(rows.encode())
    assert follower.end()[0] == 0
    found = [json.loads(line) for line in follower.out.decode().splitlines()]
    assert [row["id"] for row in found] == [f"ü{i}" for i in range(5)]


def test_a_named_pipe_waits_for_the_next_writer(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    follower = Follower(tmp_path, "pipe")
    with pipe.open("w") as writer:
        writer.write(HEADER + "".join(LINES[:3]))
    follower.read_lines(4)
    with pipe.open("w") as writer:
        writer.write("".join(LINES[3:6]))
    follower.read_lines(7)
    assert follower.stop()[0] == 130
    np.testing.assert_array_equal(table(follower.out.decode()), expected(X[:6]))


@pytest.mark.parametrize("how", ["replaced", "cut"])
def test_a_file_that_is_replaced_or_cut_is_read_from_its_start(tmp_path, how):
    path = tmp_path / "live.csv"
    path.write_text(HEADER + "".join(LINES[:4]))
    follower = Follower(tmp_path, "live.csv")
    follower.read_lines(5)
    if how == "replaced":
        append(path, LINES[4])
        path.rename(tmp_path / "live.csv.1")
        append(tmp_path / "live.csv.1", LINES[5])  # the writer has not noticed yet
        follower.read_lines(7)
        (tmp_path / "new").write_text(HEADER + LINES[6])
        (tmp_path / "new").rename(path)
        rows = 7
    else:
        with path.open("r+") as file:
            file.truncate(0)
            time.sleep(0.2)
            file.write(HEADER + LINES[4])
        rows = 5
    follower.read_lines(rows + 1)
    append(path, "x,y,z\n")
    code, err = follower.end()
    assert code == 2
    assert f"live.csv was {how} after line" in err
    assert "live.csv, line 3, column 'a' is 'x', not a number" in err
    np.testing.assert_array_equal(table(follower.out.decode()), expected(X[:rows]))


BAD = ["1,2\n", "1,x,3\n", "1,nan,3\n", '1,"2,3\n', "\n", "1,2,3e200\n"]


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_ends_it_by_number(tmp_path, monkeypatch, capfd, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "live.csv").write_text(HEADER + LINES[0] + line + LINES[1])
    assert main(["follow", "live.csv", *BASE]) == 2
    out, err = capfd.readouterr()
    assert err.startswith("driftmap: error: live.csv, line 3")
    assert err.count("\n") == 1
    np.testing.assert_array_equal(table(out), expected(X[:1]))


def test_bad_lines_are_reported_skipped_and_counted(tmp_path):
    path = tmp_path / "live.csv"
    path.write_bytes((HEADER + LINES[0] + "".join(BAD)).encode() + b"\xff,1,2\n" + "".join(LINES[1:3]).encode())
    follower = Follower(tmp_path, "live.csv", "--skip-bad")
    follower.read_lines(4)
    code, err = follower.stop()
    assert code == 130
    *reported, warning, summary = err.splitlines()
    assert warning == "driftmap: warning: live.csv: 7 of 10 rows left out: 7 bad lines"
    assert sorted(
        int(line.split("live.csv, line ")[1].split(",")[0].split(":")[0].split()[0]) for line in reported
    ) == list(range(3, 10))
    assert all(line.startswith("driftmap: skipped: live.csv, line ") for line in reported)
    assert "stopped after 3 rows, 7 bad lines" in summary
    np.testing.assert_array_equal(table(follower.out.decode()), expected(X[:3]))


@pytest.mark.parametrize("online", [[], ["--online"]])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "-"])
def test_skip_bad_in_ordinary_runs(tmp_path, monkeypatch, capfd, name, online):
    monkeypatch.chdir(tmp_path)
    good = LINES[:20]
    lines = [HEADER, *good[:3], *BAD, *good[3:], '1,2,"\n']
    if name == "t.jsonl":
        lines = [json.dumps(row) + "\n" for row in X[:20].tolist()]
        lines[3:3] = ["{\n", "[1,2]\n", "7\n", "[1,2,null]\n", '{"a":1}\n', "[1,2,true]\n"]
    (tmp_path / name).write_text("".join(lines))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO("".join(lines).encode()))))
    command = ["embed", name, *BASE, *online, "--novelty", "-o", "o.csv"]
    assert main(command) == 2
    assert "line" in capfd.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO("".join(lines).encode()))))
    assert main([*command, "--skip-bad", "--json", "--quiet"]) == 0
    out, err = capfd.readouterr()
    summary = json.loads(out)
    assert summary["rows"] == 20
    assert summary["bad_lines"] == err.count("driftmap: skipped: ") == (6 if name == "t.jsonl" else 7)
    n = summary["bad_lines"]
    assert err.splitlines()[n:] == [f"driftmap: {summary['input']}: {n} of {20 + n} rows left out: {n} bad lines"]
    np.save("good.npy", X[:20])
    assert main(["embed", "good.npy", *BASE, *online, "--novelty", "-o", "good.csv"]) == 0
    assert (tmp_path / "o.csv").read_bytes() == (tmp_path / "good.csv").read_bytes()


def test_a_slow_reader_loses_nothing(tmp_path):
    rows = 1800
    (tmp_path / "live.csv").write_text(HEADER + "".join(LINES * (rows // 60)))
    follower = Follower(tmp_path, "live.csv", "--label", "a", "--columns", "b,c")
    time.sleep(4)  # the pipe is full by now, and the command waits
    text = follower.read_lines(rows + 1)
    assert follower.stop()[0] == 130
    labels = [line.split(",")[0] for line in text.splitlines()[1:]]
    assert labels == [line.split(",")[0] for line in LINES] * (rows // 60)


def test_a_reader_that_goes_away_ends_it(tmp_path):
    path = tmp_path / "live.csv"
    path.write_text(HEADER + LINES[0])
    follower = Follower(tmp_path, "live.csv")
    follower.read_lines(2)
    follower.process.stdout.close()
    append(path, "".join(LINES[1:]))
    assert follower.process.wait(timeout=120) == 0
    assert follower.process.stderr.read() == b""
    follower.process.stderr.close()


@pytest.mark.parametrize("output", [["-o", "o.csv"], []])
def test_a_checkpoint_goes_on_where_the_file_was_left(tmp_path, output):
    path = tmp_path / "live.csv"
    path.write_text(HEADER + "".join(LINES[:20]))
    argv = ["live.csv", *output, "--checkpoint", "c.ckpt", "--checkpoint-every", "0.01s", "--resume"]
    parts, done = [], 20
    for number, signum in enumerate([signal.SIGTERM, signal.SIGKILL, signal.SIGINT]):
        follower = Follower(tmp_path, *argv)
        if output:
            follower.wait_for_lines(tmp_path / "o.csv", done + 1)
        else:
            follower.read_lines(20 + (number == 0))
            signum = signal.SIGTERM  # rows on standard output cannot be taken back
        code, err = follower.stop(signum)
        assert code == {signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGINT: 130}[signum]
        if signum != signal.SIGKILL:
            assert f"stopped after {done} rows" in err
            assert "state saved in c.ckpt; go on with: driftmap follow live.csv" in err
        parts.append(follower.out.decode())
        append(path, "".join(LINES[done : done + 20]))
        done += 20
    text = (tmp_path / "o.csv").read_text() if output else "".join(parts)
    np.testing.assert_array_equal(table(text), expected())


def test_rows_that_are_left_out_behind_the_last_one_are_counted_once(tmp_path):
    """Before the first row that is mapped and after the last one, whenever the run is stopped."""
    path, gap = tmp_path / "live.csv", "7,,7\n"
    path.write_text(HEADER + gap * 3)
    argv = ["live.csv", "--missing", "drop", "-o", "o.csv", "--checkpoint", "c.ckpt", "--resume"]
    for n_rows, more in enumerate([LINES[0] + gap * 3, LINES[1] + gap * 2, LINES[2], ""]):
        follower = Follower(tmp_path, *argv)
        if n_rows:
            follower.wait_for_lines(tmp_path / "o.csv", n_rows + 1)
        else:
            while not (tmp_path / "c.ckpt").exists():
                time.sleep(0.01)
        time.sleep(0.2)  # so that rows behind the last one are mostly read, too
        _, err = follower.stop()
        append(path, more)
    warning, final = err.splitlines()[-2:]
    assert "stopped after 3 rows, 8 for missing numbers (8 in column 'b') left out, 0 bad lines, " in final
    assert warning.startswith("driftmap: warning: live.csv: 8 of 11 rows left out: 8 for missing numbers (8 in column")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-20] + b"9" + data[-19:], "live.csv was changed or replaced: the last bytes before"),
        (lambda data: data[:-20], "it was cut"),
    ],
)
def test_a_file_that_was_changed_meanwhile_is_refused(tmp_path, change, message):
    path, argv = tmp_path / "live.csv", ["live.csv", "-o", "o.csv", "--checkpoint", "c.ckpt", "--resume"]
    path.write_text(HEADER + "".join(LINES[:20]))
    follower = Follower(tmp_path, *argv)
    follower.wait_for_lines(tmp_path / "o.csv", 21)
    assert follower.stop()[0] == 130
    path.write_bytes(change(path.read_bytes()))
    code, err = Follower(tmp_path, *argv).end()
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["live.csv", "--warm-up", "5"], "--warm-up is for a running --normalize"),
        (["live.csv", "-o", "o.parquet"], "-o o.parquet cannot be written row by row"),
        (["live.csv", "-o", "o.npy"], "-o o.npy cannot be written row by row"),
        (["live.csv", "-o", "old.csv"], "old.csv exists; a stream goes on with it only from a checkpoint"),
        (["live.csv", "-o", "no/o.csv"], "there is no folder 'no'"),
        (["live.csv", "-o", "o.csv", "--format", "csv"], "--format is for standard output"),
        (["live.csv", "--json"], "--json would leave no place for the coordinates: add -o"),
        (["live.csv", "--plot", "o.png"], "unrecognized arguments: --plot"),
        (["live.csv", "--landmarks-out", "l.csv"], "unrecognized arguments: --landmarks-out"),
        (["live.csv", "--animate", "o.gif"], "unrecognized arguments: --animate"),
        (["live.csv", "--landmarks", "auto"], "--landmarks auto needs a pass over all rows, and a stream has no end"),
        (["live.csv.gz"], "live.csv.gz cannot be followed"),
        (["live.npy"], "live.npy cannot be followed"),
        (["live.csv", "--columns", "z"], "live.csv has no column 'z'"),
        (["nothing.csv"], "nothing.csv: No such file or directory"),
        (["."], ". is a folder"),
        (["live.xyz"], "live.xyz has no known suffix"),
    ],
)
def test_mistakes(tmp_path, monkeypatch, capfd, argv, message):
    monkeypatch.chdir(tmp_path)
    for name in ("live.csv", "old.csv", "live.xyz"):
        (tmp_path / name).write_text(HEADER + LINES[0])
    before = sorted(os.listdir())
    assert main(["follow", *argv]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("driftmap: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_rows_of_a_run_that_was_killed_before_its_first_checkpoint_are_written_again(tmp_path):
    (tmp_path / "live.csv").write_text(HEADER + "".join(LINES[:20]))
    argv = ["live.csv", "-o", "o.csv", "--checkpoint", "c.ckpt", "--checkpoint-every", "1h", "--resume"]
    for signum in (signal.SIGKILL, signal.SIGTERM):
        follower = Follower(tmp_path, *argv)
        follower.wait_for_lines(tmp_path / "o.csv", 21)
        assert follower.stop(signum)[0] in (-signum, 128 + signum)
    np.testing.assert_array_equal(table((tmp_path / "o.csv").read_text()), expected(X[:20]))


KILLED = """
import os, signal, sys
from driftmap.cli import main
from driftmap.storage import checkpoint
write = checkpoint.write
def killed(*arguments):
    if sys.argv[1] == "after":
        write(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
checkpoint.write = killed
main(["follow", *sys.argv[2:]])
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_at_the_first_checkpoint_leaves_no_file_that_is_not_known(tmp_path, moment):
    (tmp_path / "live.csv").write_text(HEADER + "".join(LINES[:20]))
    argv = ["live.csv", "-o", "o.csv", "--alert", "3", "--alerts", "a.jsonl", "--checkpoint", "c.ckpt", "--resume"]
    command = [sys.executable, "-c", KILLED, moment, *argv, *BASE]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == -signal.SIGKILL
    assert {name: (tmp_path / name).stat().st_size for name in ("o.csv", "a.jsonl")} == {"o.csv": 0, "a.jsonl": 0}
    follower = Follower(tmp_path, *argv)
    follower.wait_for_lines(tmp_path / "o.csv", 21)
    follower.stop()
    np.testing.assert_array_equal(table((tmp_path / "o.csv").read_text()), expected(X[:20]))


def test_a_refused_output_leaves_the_others_uncreated(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "live.csv").write_text(HEADER + LINES[0])
    (tmp_path / "old.csv").write_text("rows")
    files = ["-o", "old.csv", "--alert", "3", "--alerts", "a.jsonl", "--checkpoint", "c.ckpt"]
    assert main(["follow", "live.csv", *files, *BASE]) == 2
    assert "old.csv exists" in capfd.readouterr().err
    assert sorted(os.listdir()) == ["live.csv", "old.csv"]
