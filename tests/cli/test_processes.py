"""The command as a process: closed streams, signals, full disks and foreign bytes cost one line, never a traceback."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import driftmap

COMMAND = f"'{sys.executable}' -m driftmap"
ROWS = "".join(f"{i / 2},{i * i % 7},{i % 3}\n" for i in range(40))


@pytest.fixture
def folder(tmp_path):
    tmp_path.joinpath("ok.csv").write_text("a,b,c\n" + ROWS)
    return tmp_path


def shell(folder, command, **options):
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, **options)


def one_line(text):
    return text.count(b"\n") == 1 and text.startswith(b"driftmap: ") and b"Traceback" not in text


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("embed - <&-", 2),
        ("embed ok.csv >&-", 2),
        ("embed ok.csv --json >&-", 2),
        ("embed ok.csv > /dev/full", 2),
        ("embed nothing.csv", 2),
    ],
)
def test_closed_streams_cost_one_line(folder, command, code):
    done = shell(folder, f"{COMMAND} {command}")
    assert (done.returncode, done.stdout) == (code, b"")
    assert one_line(done.stderr), done.stderr


def test_without_standard_error_messages_go_nowhere(folder):
    folder.joinpath("bad.csv").write_text("a,b,c\nx,1,2\n" + ROWS)
    whole = shell(folder, f"{COMMAND} embed ok.csv").stdout
    assert shell(folder, f"{COMMAND} embed bad.csv --skip-bad 2>&-").stdout == whole
    done = shell(folder, f"{COMMAND} embed bad.csv 2>&-")
    assert (done.returncode, done.stdout) == (2, b"")
    done = shell(folder, f"{COMMAND} embed bad.csv --skip-bad -o o.csv <&- >&- 2>&-")
    assert done.returncode == 0
    assert folder.joinpath("o.csv").read_bytes() == whole


@pytest.mark.parametrize("module", ["numpy", "driftmap.map"])
def test_ctrl_c_during_imports(folder, module):
    script = f"""
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["driftmap", "embed", "ok.csv"]
from driftmap.__main__ import run
sys.exit(run())
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"driftmap: interrupted\n")


def test_control_characters_of_files_do_not_reach_the_terminal(folder):
    clear = "\x1b[2J\x07"
    folder.joinpath("cell.csv").write_text(f"a,b\n1,x{clear}\n")
    folder.joinpath("name.csv").write_text(f"a{clear},b\n1,2\n")
    folder.joinpath("key.jsonl").write_text('{"a": 1}\n{"a": 1, "\\u001b[2J": 1}\n')
    folder.joinpath(f"{clear}.csv").write_text("")
    for command in ("cell.csv --columns a,b", "name.csv --columns z", "key.jsonl", f"'{clear}.csv'", f"'{clear}'"):
        done = shell(folder, f"{COMMAND} embed {command}")
        assert done.returncode == 2
        assert one_line(done.stderr)
        assert done.stderr.decode().rstrip("\n").isprintable()
        assert b"\\x1b[2J" in done.stderr


def test_text_that_is_no_unicode_is_a_bad_line(folder):
    folder.joinpath("t.jsonl").write_text('{"a": 1, "n": "x"}\n{"a": 2, "n": "\\ud800"}\n')
    done = shell(folder, f"{COMMAND} embed t.jsonl --label n --components 1")
    assert done.returncode == 2
    assert done.stderr.startswith(b"driftmap: error: t.jsonl, line 2 is not JSON")


def test_labels_do_not_become_formulas(folder):
    labels = ["=1+1", "@x", "-5", "+x", "plain", '=a,"b"']
    rows = "".join('"' + label.replace('"', '""') + f'",{i},{i * i}\n' for i, label in enumerate(labels))
    folder.joinpath("t.csv").write_text("n,a,b\n" + rows)
    out = shell(folder, f"{COMMAND} embed t.csv --label n").stdout.decode().splitlines()
    starts = ["'=1+1,", "'@x,", "-5,", "'+x,", "plain,", '"\'=a,""b""",']
    assert all(line.startswith(start) for line, start in zip(out[1:], starts, strict=True))


# --- full disks ---


@pytest.mark.parametrize("options", ["-o o.csv", "-o o.parquet", "-o o.npy", "-o o.csv --checkpoint c.ckpt", "> o.csv"])
def test_a_limit_on_the_size_of_files(folder, options):
    np.save(folder / "long.npy", np.random.default_rng(0).random((3000, 3)))
    done = shell(folder, f"ulimit -f 8; {COMMAND} embed long.npy --landmarks 5 {options}")
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert b"File too large" in done.stderr
    left = {path.name for path in folder.iterdir()} - {"ok.csv", "long.npy", "c.ckpt", ".o.csv.partial"}
    assert left == ({"o.csv"} if ">" in options else set())


def test_a_full_disk(folder):
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        np.save(folder / "long.npy", np.random.default_rng(0).random((3000, 3)))
        disk.joinpath("o.csv").write_text("old")
        for option in ("-o disk/o.csv", "-o o.csv --checkpoint disk/c.ckpt --checkpoint-every 0s", "> disk/out"):
            done = shell(folder, f"{COMMAND} embed long.npy --landmarks 5 {option}")
            assert done.returncode == 2
            assert one_line(done.stderr)
            assert b"No space left on device" in done.stderr
            assert not list(disk.glob("*.tmp"))
        assert disk.joinpath("o.csv").read_text() == "old"
    finally:
        subprocess.run(["umount", disk], check=True)


# --- a read-only installation ---


def test_a_read_only_installation(folder):
    """In a mount namespace, where interpreter and package are mounted read-only: that binds root, too."""
    places = [sys.prefix, str(Path(driftmap.__file__).parent)]
    mounts = " && ".join(f"mount --bind '{place}' '{place}' && mount -o remount,ro,bind '{place}'" for place in places)
    alone = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*alone, mounts], capture_output=True).returncode:
        pytest.skip("this user may not have a mount namespace")
    for place in places:
        assert subprocess.run([*alone, f"{mounts} && touch '{place}/new'"], capture_output=True).returncode
    command = f"HOME='{folder}' {COMMAND} embed ok.csv -o o.csv --plot m.png --checkpoint c --quiet"
    done = subprocess.run([*alone, f"{mounts} && {command}"], cwd=folder, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert {"c", "m.png", "o.csv", "ok.csv"} <= {path.name for path in folder.iterdir()}


# --- signals ---


@pytest.fixture
def waiting(folder):
    """A command that waits for more input, which it copies to a temporary folder since it is needed twice."""
    temporary = folder / "temporary"
    temporary.mkdir()
    started = []

    def start(script, **options):
        environment = {**os.environ, "TMPDIR": str(temporary)}
        pipes = {"stdin": subprocess.PIPE, **options}
        process = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, **pipes)
        started.append(process)
        process.stdin.write(b"a,b,c\n")
        process.stdin.flush()
        while not list(temporary.glob("driftmap-*/input")):
            assert process.poll() is None
            time.sleep(0.01)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("options", ["", "--checkpoint c"])
def test_ignored_signals_stay_ignored(folder, waiting, options):
    process = waiting(f"trap '' INT TERM HUP; exec {COMMAND} embed - -o o.csv {options}")
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process.send_signal(signum)
    process.communicate(ROWS.encode())
    assert process.returncode == 0
    assert folder.joinpath("o.csv").read_bytes().count(b"\n") == 41


@pytest.mark.parametrize(
    ("signum", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")]
)
def test_a_request_to_end_leaves_nothing_behind(folder, waiting, signum, word):
    if signal.getsignal(signum) is signal.SIG_IGN:
        pytest.skip("this signal is ignored here, as under nohup, and so it is by the command")
    process = waiting(f"exec {COMMAND} embed - -o o.csv", stderr=subprocess.PIPE)
    process.send_signal(signum)
    assert process.communicate()[1] == f"driftmap: {word}\n".encode()
    assert process.returncode == 128 + signum
    assert {path.name for path in folder.rglob("*")} == {"ok.csv", "temporary"}
