"""The atomic writer: two writers never tear a file, planted files are not followed, only own files are removed."""

import errno
import json
import multiprocessing
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from driftmap.cli import main
from driftmap.storage import atomic, checkpoint
from driftmap.storage.paths import OutputError, identity
from driftmap.tables import table as tables


def save_often(path, value, times):
    for _ in range(times):
        checkpoint.write(path, {"value": value}, {"x": np.full(20_000, value)})


def assert_whole(path):
    found = checkpoint.read(path)
    assert (found.arrays["x"] == found.header["value"]).all()


@pytest.mark.parametrize("kind", [threading.Thread, multiprocessing.get_context("spawn").Process])
def test_several_writers_of_one_path_leave_it_whole_at_any_moment(tmp_path, kind):
    path = tmp_path / "c.ckpt"
    save_often(path, 0, 1)
    writers = [kind(target=save_often, args=(path, value, 15)) for value in (1, 2, 3)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert_whole(path)
    for writer in writers:
        writer.join()
    assert_whole(path)
    assert os.listdir(tmp_path) == ["c.ckpt"]


def temporary_name(name, token=None):
    """A name such as temporary files have."""
    return f".{name}.{(token or os.urandom(8)).hex()}.tmp"


def test_names_cannot_be_guessed_and_planted_files_are_refused(tmp_path, monkeypatch):
    path, victim, names = tmp_path / "o.csv", tmp_path / "victim", set()
    for _ in range(2):
        with atomic.replacing(path) as file:
            names.add(file.name)
    assert len(names) == 2
    path.unlink()
    victim.write_text("mine")
    name = temporary_name("o.csv", token=bytes(8))
    (tmp_path / name).symlink_to("victim")
    monkeypatch.setattr(atomic.os, "urandom", bytes)
    with pytest.raises(FileExistsError), atomic.replacing(path):
        pass
    assert victim.read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == sorted([name, "victim"])


def test_only_leftovers_that_nobody_writes_are_removed(tmp_path):
    path, link, another = tmp_path / "c", temporary_name("c"), temporary_name("other")
    others = [".c.1234.tmp", ".c.mine.tmp", "notes", another]
    for name in (*others, temporary_name("c"), temporary_name("c")):
        (tmp_path / name).touch()
    (tmp_path / link).symlink_to("notes")
    with atomic.replacing(path) as file:
        written = {name for name in os.listdir(tmp_path) if (tmp_path / name).samefile(file.name)}
        atomic.remove_leftovers(tmp_path, "c")
        assert {*os.listdir(tmp_path)} == {*others, link, *written}
    atomic.remove_leftovers(tmp_path)
    assert {*os.listdir(tmp_path)} == {*others[:3], link, "c"}
    atomic.remove_leftovers(tmp_path / "nowhere")


def test_a_failure_removes_the_new_file_and_keeps_the_old(tmp_path):
    path = tmp_path / "o.csv"
    path.write_text("old")
    with pytest.raises(OSError, match="full"), atomic.replacing(path) as file:
        file.write(b"new")
        raise OSError(errno.ENOSPC, "full")
    with pytest.raises(OutputError, match="it is a folder"), atomic.replacing(tmp_path):
        pass
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["o.csv"]


def test_a_file_is_known_by_every_name(tmp_path):
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to("a")
    os.link(tmp_path / "a", tmp_path / "hard")
    (tmp_path / "folder").symlink_to(".")
    assert len({identity(tmp_path / name) for name in ("a", "link", "hard", "folder/a", "./a")}) == 1
    (tmp_path / "future").symlink_to("new")
    assert len({identity(tmp_path / name) for name in ("new", "folder/new", "future")}) == 1
    assert identity(tmp_path / "no/new") != identity(tmp_path / "new")


# --- every file that is written for the user ---

WRITES = """
import json, os, sys
opened = []

def record(event, args):  # open() with an opener is audited twice: by itself, and by os.open
    if event == "open" and isinstance(args[0], str) and args[2] & (os.O_WRONLY | os.O_RDWR):
        opened.append((args[0], bool(args[2] & os.O_EXCL)))

import numpy as np
from driftmap import DriftMap
from driftmap.cli import main
from driftmap.plot import map_figure, save_figure
from pathlib import Path

X = np.cumsum(np.random.default_rng(0).standard_normal((60, 3)), axis=0)
np.save("t.npy", X)
sys.addaudithook(record)
map_files = ["-o", "o.csv", "--plot", "p.png", "--landmarks-out", "l.csv"]
for command in (
    ["embed", "t.npy", *map_files, "--animate", "a.gif", "--animate-frames", "2"],
    ["embed", "t.npy", *map_files, "--checkpoint", "c.ckpt"],
    ["demo", "-o", "demo", "--landmarks", "5", "--points", "50"],
):
    assert main([*command, "--landmarks", "5"]) == 0
DriftMap(n_landmarks=5).fit(X).save("m.ckpt")
save_figure(map_figure(X[:, :2]), "f.svg")
print(json.dumps(opened))
"""


def test_every_file_is_written_next_to_its_name_and_renamed(tmp_path):
    done = subprocess.run([sys.executable, "-c", WRITES], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.splitlines()
    writes = [(Path(name), exclusive) for name, exclusive in json.loads(last)]
    here = [(path.name, created) for path, created in writes if tmp_path in path.parents or not path.is_absolute()]
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "t.npy", "o.csv", "p.png", "l.csv", "a.gif", "c.ckpt", "s_curve.png", "s_curve.csv", "m.ckpt", "f.svg",
    }  # fmt: skip
    names = {name for name, _ in here if not name.endswith(".partial")}
    assert all(re.fullmatch(r"\..*\.[0-9a-f]{16}\.tmp", name) for name in names)
    assert names == {name for name, exclusive in here if exclusive}
    assert len(names) >= 10


def test_nothing_gets_its_name_before_it_is_on_the_disk(tmp_path, monkeypatch):
    """A power failure loses what was not synced. So every rename comes after the last write was, and before the folder
    is; and a checkpoint counts only on rows of the unfinished output that are on the disk."""
    fsync, replace, synced, renamed = os.fsync, Path.replace, {}, []

    def recorded_fsync(descriptor):
        fsync(descriptor)
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            renamed.clear()
        else:
            synced[found.st_ino] = os.pread(descriptor, found.st_size, 0)

    def recorded_replace(self, target):
        assert not renamed, "the folder was not synced"
        assert synced[self.stat().st_ino] == self.read_bytes(), f"{target} was not synced"
        if target.name == "c.ckpt" and (tmp_path / ".o.csv.partial").exists():
            unfinished, run = tmp_path / ".o.csv.partial", checkpoint.read(self).header["run"]
            length = run["lengths"].get("output", 0)
            lengths.add(length)
            assert len(synced.get(unfinished.stat().st_ino, b"")) >= length
        renamed.append(target.name)
        names.append(target.name)
        return replace(self, target)

    names, lengths = [], set()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 16)
    np.save("t.npy", np.cumsum(np.random.default_rng(0).standard_normal((150, 3)), axis=0))
    command = ["embed", "t.npy", "-o", "o.csv", "--landmarks", "5"]
    for more in ([], ["--landmarks-out", "l.csv"], ["--checkpoint", "c.ckpt", "--checkpoint-every", "0s"]):
        assert main([*command, *more]) == 0
    assert not renamed
    assert names[:3] == ["o.csv", "l.csv", "o.csv"]
    assert names.count("c.ckpt") >= 3
    assert len(lengths) >= 2


@pytest.mark.parametrize("renamed", [False, True])
def test_a_run_that_is_resumed_while_closing_is_finished_only_once_its_output_is_on_the_disk(
    tmp_path, monkeypatch, capfd, renamed
):
    """Cut off just before or after the output got its name, whose folder was not synced in either case."""
    fsync, replace, events = os.fsync, os.replace, []
    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", np.cumsum(np.random.default_rng(0).standard_normal((150, 3)), axis=0))
    command = ["embed", "t.npy", "-o", "out/o.csv", "--landmarks", "5", "--checkpoint", "c.ckpt"]

    def cut_off(source, target, **more):
        if Path(target).name == "o.csv":
            if renamed:
                replace(source, target)
            raise SystemExit
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", cut_off)
        main(command)
    assert checkpoint.read("c.ckpt").header["run"]["stage"] == "finished"
    assert os.listdir(folder) == ["o.csv" if renamed else ".o.csv.partial"]

    def recorded_fsync(descriptor):
        fsync(descriptor)
        if os.path.samestat(os.fstat(descriptor), folder.stat()):
            events.append("synced" if os.listdir(folder) == ["o.csv"] else "synced too early")
            if len(events) == 1:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    capfd.readouterr()
    assert main([*command, "--resume"]) == 2
    assert "finished" not in capfd.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert "this run is finished (150 rows, in out/o.csv)" in capfd.readouterr().err
    assert events == ["synced", "synced"]
