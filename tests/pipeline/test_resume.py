"""Interrupted runs: whenever a run is cut off, another one goes on, and the output is the same to the byte."""

import errno
import gzip
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftmap import DriftMap
from driftmap.cli import main
from driftmap.cli.arguments import duration
from driftmap.cli.run_files import reopened
from driftmap.pipeline import saver
from driftmap.storage import checkpoint
from driftmap.tables import table as tables

X = np.cumsum(np.random.default_rng(5).standard_normal((150, 3)), axis=0)
NAMES = ["a", "b", "c"]
BASE = ["--landmarks", "8"]
KEPT = ["--checkpoint", "c.ckpt", "--checkpoint-every", "0s"]


def append(name, text):
    with open(name, "a") as file:
        file.write(text)


class Killed(BaseException):
    """Ends a run as abruptly as anything within the process can."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 16)
    monkeypatch.setattr(saver, "SHARE", 1)  # save after every piece, however long it takes
    text = "date,a,b,c\n" + "".join(f"täg{i},{','.join(map(repr, r))}\n" for i, r in enumerate(X.tolist()))
    bad = text.splitlines()
    bad[5:5], bad[60:60], bad[140:140] = ["x"], ["day,1,2,nan", 'day,1,"2,3'], [""]
    tmp_path.joinpath("t.csv").write_text(text)
    tmp_path.joinpath("bare.csv").write_text("".join(",".join(map(repr, r)) + "\r\n" for r in X.tolist()))
    tmp_path.joinpath("bad.csv").write_text("\n".join(bad) + "\n")
    tmp_path.joinpath("t.csv.gz").write_bytes(gzip.compress(text.encode()))
    rows = [dict(zip(["date", *NAMES], [f"d{i}", *r], strict=True)) for i, r in enumerate(X.tolist())]
    tmp_path.joinpath("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    np.save("t.npy", X)
    DriftMap(n_landmarks=8).fit(X[:100]).save("older")
    gaps = X.copy()
    gaps[np.random.default_rng(6).random(X.shape) < 0.1] = np.nan
    gaps[:, 2] = X[:, 2]  # any two rows have a column in common
    np.save("gaps.npy", gaps)
    cells = [["" if np.isnan(value) else repr(value) for value in row] for row in gaps.tolist()]
    lines = [f"täg{i},{','.join(row)}\n" for i, row in enumerate(cells)]
    tmp_path.joinpath("gaps.csv").write_text("date,a,b,c\n" + "".join(lines))
    known = [{name: x for name, x in zip(NAMES, row, strict=True) if x == x} for row in gaps.tolist()]
    known[0] = dict.fromkeys(NAMES, 0.5)  # the first line names the columns
    objects = [{"date": f"d{i}", **row} for i, row in enumerate(known)]
    tmp_path.joinpath("gaps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
    pq.write_table(pa.table(dict(zip(NAMES, X.T, strict=True))), "t.parquet", row_group_size=40)
    return tmp_path


def run(*argv, code=0):
    assert main(["embed", *map(str, argv)]) == code


def standard_input(monkeypatch, name):
    with open(name, "rb") as file:
        data = file.read()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Unseekable(data))))


class Unseekable(io.BytesIO):
    """Bytes as they come through a pipe."""

    def seekable(self):
        return False


def kill_after_save(monkeypatch, number):
    """Let the process end right after the state was saved this often."""
    left = [number]

    def write(*args, original=checkpoint.write):
        original(*args)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(checkpoint, "write", write)


LABELLED = ["--label", "date"]
RUNS = {
    "registered": ["t.csv", *LABELLED, "-o", "o.csv", "--register-to", "older"],
    "csv": ["t.csv", *LABELLED, "-o", "o.csv"],
    "measured": ["t.csv", *LABELLED, "--normalize", "zscore", "-o", "o.csv"],
    "minmax npy": ["t.npy", "--normalize", "minmax", "-o", "o.npy"],
    "json": ["t.jsonl", *LABELLED, "--novelty", "-o", "o.jsonl"],
    "gzip": ["t.csv.gz", *LABELLED, "-o", "o.ndjson"],
    "no header": ["bare.csv", "-o", "o.csv"],
    "parquet in": ["t.parquet", "-o", "o.npy"],
    "parquet out": ["t.csv", *LABELLED, "-o", "o.parquet"],
    "figure": ["t.csv", *LABELLED, "-o", "o.csv", "--plot", "o.svg", "--landmarks-out", "l.csv"],
    "summary": ["t.csv", *LABELLED, "--json"],
    "bad lines": ["bad.csv", *LABELLED, "--skip-bad", "--normalize", "minmax", "-o", "o.csv", "--json"],
    "online": ["t.csv", *LABELLED, "--online", "--novelty", "-o", "o.csv"],
    "online npy": ["t.npy", "--online", "-o", "o.npy"],
    "online bad": ["bad.csv", *LABELLED, "--skip-bad", "--online", "-o", "o.jsonl"],
    "alerts": ["t.csv", *LABELLED, "--novelty", "--alert", "0.8", "--alerts", "o.jsonl", "-o", "o.npy"],
    "alerts, parquet": ["t.csv", *LABELLED, "--novelty", "--alert", "0.8", "--alerts", "o.jsonl", "-o", "o.parquet"],
    "alerts only": ["t.csv", *LABELLED, "--alert", "0.8", "--alerts", "o.jsonl", "--json"],
    "alerts, online": ["t.csv", *LABELLED, "--online", "--alert", "0.8", "--alerts", "o.jsonl", "-o", "o.csv"],
    "dropped": ["gaps.csv", *LABELLED, "--missing", "drop", "--delay", "3", "-o", "o.csv", "--json"],
    "dropped, online": ["gaps.csv", *LABELLED, "--missing", "drop", "--online", "-o", "o.csv", "--json"],
    "filled": ["gaps.jsonl", "--missing", "mean", "--normalize", "zscore", "-o", "o.csv", "--json"],
    "stream": ["-", *LABELLED, "-o", "o.csv"],
    "online stream": ["-", *LABELLED, "--online", "-o", "o.csv"],
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_cut_off_after_any_checkpoint_ends_with_the_same_bytes(folder, capfd, monkeypatch, name):
    command = [*RUNS[name], *BASE]
    standard_input(monkeypatch, "t.csv")
    outputs = [word for word in command if word[:2] in ("o.", "l.")]
    run(*command)
    expected, shown = [folder.joinpath(output).read_bytes() for output in outputs], capfd.readouterr().out
    assert all(expected)
    for output in outputs:
        os.remove(output)
    number, finished = 0, False
    while not finished:
        number += 1
        with monkeypatch.context() as patch:
            kill_after_save(patch, number % 5 + 1)
            standard_input(patch, "t.csv")
            try:
                run(*command, *KEPT, *(["--resume"] if number > 1 else []))
            except Killed:
                continue
        finished = True
    assert number > (2 if "--plot" in command or "o.parquet" in command else 3)
    if checkpoint.read("c.ckpt").header["run"]["stage"] == "finished" and "--json" in command:
        assert capfd.readouterr().out in (shown, "")
    for output, content in zip(outputs, expected, strict=True):
        assert folder.joinpath(output).read_bytes() == content
    assert not [name for name in os.listdir() if name.endswith((".partial", ".tmp"))]


def test_the_first_and_every_later_run_may_be_the_same_command(folder, capfd):
    command = ["t.csv", *LABELLED, *BASE, "-o", "o.csv", *KEPT, "--quiet", "--resume"]
    run(*command)
    assert capfd.readouterr().err == "driftmap: there is no c.ckpt yet: this run starts from the beginning\n"
    before = folder.joinpath("o.csv").read_bytes(), folder.joinpath("c.ckpt").read_bytes()
    run(*command)
    err = capfd.readouterr().err
    assert err == "driftmap: c.ckpt says that this run is finished (150 rows, in o.csv); delete it to start again\n"
    assert before == (folder.joinpath("o.csv").read_bytes(), folder.joinpath("c.ckpt").read_bytes())
    run(*command[:-1])  # a finished checkpoint may be replaced by that of a new run
    assert folder.joinpath("o.csv").read_bytes() == before[0]


def interrupted(monkeypatch, *command, saves=3):
    with monkeypatch.context() as patch:
        kill_after_save(patch, saves)
        with pytest.raises(Killed):
            run(*command)


def mistake(capfd, *argv):
    capfd.readouterr()
    assert main([str(a) for a in argv]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("driftmap: error: ")
    return err


COMMAND = ["t.csv", *LABELLED, *BASE, "-o", "o.csv", *KEPT]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (["--landmarks", "9"], "--landmarks is 9, but was 8 when c.ckpt was started"),
        (["--columns", "a,b"], "--columns is a,b, but was not given"),
        (["--novelty"], "--novelty is reach, but was not given"),
        (["-o", "p.csv"], "-o is p.csv, but was o.csv"),
        (["--online"], "--online is given"),
        (["--skip-bad"], "--skip-bad is given"),
        (["--plot", "o.png"], "--plot is o.png"),
    ],
)
def test_other_arguments_are_refused_by_name(folder, capfd, monkeypatch, change, expected):
    interrupted(monkeypatch, *COMMAND)
    assert expected in mistake(capfd, "embed", *COMMAND, "--resume", *change)


def test_another_input_is_refused(folder, capfd, monkeypatch):
    interrupted(monkeypatch, *COMMAND)
    path = folder.joinpath("t.csv")
    text, before = path.read_bytes(), path.stat()
    assert "was started from t.csv, not from -" in mistake(capfd, "embed", "-", *COMMAND[1:], "--resume")
    path.write_bytes(text[:5000] + bytes([text[5000] ^ 1]) + text[5001:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # same size, same date
    assert "t.csv was changed or replaced after c.ckpt was started" in mistake(capfd, "embed", *COMMAND, "--resume")
    path.write_bytes(text + b"late,1,2,3\n")
    assert "bytes, but had" in mistake(capfd, "embed", *COMMAND, "--resume")
    path.unlink()
    path.write_bytes(text)
    assert "t.csv was changed or replaced after c.ckpt was started" in mistake(capfd, "embed", *COMMAND, "--resume")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: append("t.csv", "9,9,9\n"), "t.csv has .* bytes, but had .* when c.ckpt was started"),
        (lambda: os.replace("copy.csv", "t.csv"), "t.csv was changed or replaced after c.ckpt was started"),
        (lambda: os.unlink("o.csv"), "o.csv was deleted or changed"),
        (lambda: append("a.jsonl", "x\n"), "a.jsonl was deleted or changed"),
        (lambda: os.unlink("l.npy"), "l.npy was deleted or changed"),
    ],
)
def test_a_finished_run_whose_files_have_changed_is_no_success(change, said, folder, capfd):
    shutil.copy("t.csv", "copy.csv")
    more = ["--landmarks-out", "l.npy", "--alert", "0.9", "--alerts", "a.jsonl"]
    command = ["t.csv", *LABELLED, *BASE, "-o", "o.csv", *more, *KEPT, "--resume"]
    run(*command)
    run(*command)
    change()
    capfd.readouterr()
    assert main(["embed", *command]) == 2
    assert re.search(f"error: {said}.*; delete c.ckpt to start again", capfd.readouterr().err)


def test_an_interrupted_run_is_not_overwritten_by_accident(folder, capfd, monkeypatch):
    interrupted(monkeypatch, *COMMAND)
    before = folder.joinpath("c.ckpt").read_bytes()
    assert "c.ckpt holds an interrupted run" in mistake(capfd, "embed", *COMMAND)
    assert folder.joinpath("c.ckpt").read_bytes() == before


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_files_that_are_no_checkpoints_of_runs_are_left_alone(folder, capfd, resume):
    checkpoint.write("map.ckpt", {"kind": "DriftMap"}, {})
    folder.joinpath("notes.txt").write_text("mine")
    command = ["embed", "t.csv", *LABELLED, "-o", "o.csv", *resume, "--checkpoint"]
    assert "holds a DriftMap, no run" in mistake(capfd, *command, "map.ckpt")
    assert "notes.txt is not a Driftmap checkpoint" in mistake(capfd, *command, "notes.txt")
    assert "is the same file as the input" in mistake(capfd, *command, "t.csv")
    assert folder.joinpath("notes.txt").read_text() == "mine"


def test_a_damaged_checkpoint_is_reported_and_left(folder, capfd, monkeypatch):
    interrupted(monkeypatch, *COMMAND)
    data = bytearray(folder.joinpath("c.ckpt").read_bytes())
    data[len(data) // 2] ^= 1
    folder.joinpath("c.ckpt").write_bytes(data)
    assert "c.ckpt is damaged" in mistake(capfd, "embed", *COMMAND, "--resume")


@pytest.mark.parametrize("operator", [None, {}, {"n_rows": -1, "detector": None}])
def test_a_checkpoint_that_lacks_the_state_of_its_run_is_refused(folder, capfd, monkeypatch, operator):
    interrupted(monkeypatch, *COMMAND)
    header, arrays = checkpoint.read("c.ckpt")
    without = {key: value for key, value in header.items() if key != "operator"}
    checkpoint.write("c.ckpt", without if operator is None else without | {"operator": operator}, arrays)
    before = folder.joinpath("c.ckpt").read_bytes()
    assert "c.ckpt is damaged" in mistake(capfd, "embed", *COMMAND, "--resume")
    assert folder.joinpath("c.ckpt").read_bytes() == before
    if not operator:
        assert "c.ckpt is damaged" in mistake(capfd, "info", "c.ckpt")


def test_info_refuses_what_it_does_not_know(folder, capfd):
    checkpoint.write("c.ckpt", {"kind": "job", "job": {}}, {})
    assert "c.ckpt holds a job, which this version does not know" in mistake(capfd, "info", "c.ckpt")


@pytest.mark.parametrize("saves", [3, 14])
def test_an_unfinished_output_that_is_gone_or_cut_is_reported(folder, capfd, monkeypatch, saves):
    interrupted(monkeypatch, *COMMAND, saves=saves)
    unfinished = folder.joinpath(".o.csv.partial")
    content = unfinished.read_bytes()
    unfinished.write_bytes(content[:5])
    assert ".o.csv.partial has 5 bytes, but had" in mistake(capfd, "embed", *COMMAND, "--resume")
    unfinished.unlink()
    assert ".o.csv.partial has 0 bytes, but had" in mistake(capfd, "embed", *COMMAND, "--resume")


def test_two_runs_do_not_write_the_same_output(folder, capfd, monkeypatch):
    interrupted(monkeypatch, *COMMAND)
    with reopened(folder / ".o.csv.partial", folder / "o.csv", 0):
        pass
    with (folder / ".o.csv.partial").open("rb") as file:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        assert "o.csv is being written by another run" in mistake(capfd, "embed", *COMMAND, "--resume")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--resume"], "--resume needs to know the checkpoint: add --checkpoint FILE"),
        (["--checkpoint-every", "5s"], "--checkpoint-every needs to know the checkpoint"),
        (["--checkpoint", "c", "--checkpoint-every", "5"], "'5' is not a time"),
        (["--checkpoint", "c", "--checkpoint-every", "-5s"], "'-5s' is not a time"),
        (["--checkpoint", "c"], "--checkpoint needs -o"),
        (["--checkpoint", "no/c", "-o", "o.csv"], "no/c: there is no folder 'no'"),
        (["--checkpoint", "o.csv", "-o", "o.csv"], "--checkpoint (o.csv) is the same file as -o"),
        (["--checkpoint", "c", "-o", "no/o.csv"], "there is no folder 'no'"),
        (["--checkpoint", ".", "-o", "o.csv"], ".: it is a folder, not a file"),
        (["--checkpoint", "c", "-o", "o.csv", "--animate", "o.gif"], "--animate cannot be interrupted"),
        (["--checkpoint", "c", "-o", "o.csv", "--online", "--plot", "o.png"], "--plot with --online"),
        (["--checkpoint", "c", "-o", "o.csv", "--online", "--landmarks-out", "l.csv"], "--landmarks-out with --online"),
        (["--checkpoint", "c", "-o", "o.parquet", "--online"], "a Parquet file cannot be continued"),
    ],
)
def test_mistakes(folder, capfd, argv, expected):
    before = sorted(os.listdir())
    assert expected in mistake(capfd, "embed", "t.csv", *LABELLED, *argv)
    assert sorted(os.listdir()) == before


def test_times():
    assert [duration(text) for text in ("10s", "0.05s", "2m", "1.5 h", ".5s")] == [10, 0.05, 120, 5400, 0.5]


# --- full disks ---


@pytest.mark.parametrize(("full", "name"), [("checkpoint", "c.ckpt"), ("output", "the output")])
def test_a_full_disk_while_the_state_is_saved(folder, capfd, monkeypatch, full, name):
    interrupted(monkeypatch, *COMMAND)
    before = folder.joinpath("c.ckpt").read_bytes()

    def fsync(descriptor):
        is_output = os.path.samestat(os.fstat(descriptor), os.stat(".o.csv.partial"))
        if is_output == (full == "output"):  # they may be on two disks
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        err = mistake(capfd, "embed", *COMMAND, "--resume")
    assert f"{name} cannot be written: No space left on device" in err
    assert folder.joinpath("c.ckpt").read_bytes() == before
    run(*COMMAND, "--resume")


def test_a_full_disk_while_rows_are_written(folder, capfd, monkeypatch):
    run(*COMMAND)
    expected = folder.joinpath("o.csv").read_bytes()
    os.remove("c.ckpt")
    os.remove("o.csv")
    interrupted(monkeypatch, *COMMAND, saves=12)
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, limits[1]))
    try:
        err = mistake(capfd, "embed", *COMMAND, "--resume", "--checkpoint-every", "1h")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert "the output cannot be written: File too large" in err
    assert not folder.joinpath("o.csv").exists()
    run(*COMMAND, "--resume")
    assert folder.joinpath("o.csv").read_bytes() == expected


# --- real signals ---


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A file that takes a few seconds, in a folder of its own."""
    folder = tmp_path_factory.mktemp("long")
    rows = np.cumsum(np.random.default_rng(1).standard_normal((5000, 3)), axis=0)
    lines = [f"r{i},{','.join(map(repr, row))}\n" for i, row in enumerate(rows.tolist())]
    folder.joinpath("t.csv").write_text("name,a,b,c\n" + "".join(lines))
    with process(folder, "-o", "whole.csv") as child:
        assert child.wait() == 0
    return folder


def process(folder, *argv):
    command = [sys.executable, "-m", "driftmap", "embed", "t.csv", "--label", "name", "--online", *BASE, *argv]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def when_saved(child, path, since):
    """Wait until the process has saved a state, or ended."""
    while child.poll() is None and not (path.exists() and path.stat().st_mtime_ns > since):
        time.sleep(0.001)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_request_to_stop_saves_the_state_and_says_how_to_go_on(long, signum, code):
    name, path = f"s{code}.csv", long / f"s{code} c.ckpt"
    child = process(long, "-o", name, "--checkpoint", path.name, "--checkpoint-every", "0.05s")
    when_saved(child, path, 0)
    child.send_signal(signum)
    err = child.communicate()[1]
    assert child.returncode == code
    assert err.count("\n") == 1
    assert "interrupted while mapping, after" in err
    assert f"state saved in {path.name}; go on with: driftmap embed t.csv " in err
    assert not (long / name).exists()
    words = shlex.split(err.split("go on with: driftmap ")[1])
    assert words[-1] == "--resume"
    assert subprocess.run([sys.executable, "-m", "driftmap", *words], cwd=long).returncode == 0
    assert (long / name).read_bytes() == (long / "whole.csv").read_bytes()


# --- info ---


def test_info_shows_what_a_checkpoint_holds(folder, capfd, monkeypatch):
    interrupted(monkeypatch, "bad.csv", *COMMAND[1:], "--skip-bad", "--normalize", "minmax", saves=2)
    assert main(["info", "c.ckpt"]) == 0
    out = capfd.readouterr().out
    assert "a run that has learnt nothing yet" in out
    assert re.search(r"measuring, after \d+ rows", out)
    run("bad.csv", *COMMAND[1:], "--skip-bad", "--normalize", "minmax", "--resume")
    capfd.readouterr()
    assert main(["info", "c.ckpt"]) == 0
    out = capfd.readouterr().out
    shown = ("finished", "learning done", "150 rows", "DriftMap", "bad.csv", "coverage bound", "least radius", "factor")
    for words in (*shown, "landmarks=8"):
        assert words in out
    assert max(map(len, out.splitlines())) < 400
    assert main(["info", "c.ckpt", "--json"]) == 0
    header = json.loads(capfd.readouterr().out)
    assert header["run"]["rejected"][0] == 4
    assert "missing cannot be read" in mistake(capfd, "info", "missing")
    assert "t.csv is not a Driftmap checkpoint" in mistake(capfd, "info", "t.csv")
    assert "required: FILE" in mistake(capfd, "info")
