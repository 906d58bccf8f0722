"""Run checkpoints that were edited, under checksums that are right: refused in one line, or the run goes on.

What contradicts the rest of a checkpoint, its input or its outputs is refused. A change that contradicts nothing (a sum
of a column, a quantile) gives other numbers, as another checkpoint would.
"""

import contextlib
import copy
import functools
import io
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

from driftmap.cli import main
from driftmap.pipeline import saver
from driftmap.storage import checkpoint
from driftmap.tables import table as tables
from torture.edits import edit_array, edit_tree

KEPT = ["--landmarks", "8", "--checkpoint", "c.ckpt", "--checkpoint-every", "0s"]
LABELLED = ["t.csv", "--label", "date"]
COMMANDS = {
    "embed": ["embed", *LABELLED, "--normalize", "zscore", "-o", "o.csv"],
    "novelty": ["embed", *LABELLED, "--novelty", "--alert", "0.8", "--alerts", "a.jsonl", "-o", "o.npy"],
    "npy": ["embed", "t.npy", "--normalize", "minmax", "-o", "o.npy"],
    "online": ["embed", *LABELLED, "--missing", "mean", "--online", "--normalize", "zscore", "-o", "o.csv"],
    "delay": ["embed", *LABELLED, "--online", "--delay", "2", "--alert", "0.8", "--alerts", "a.jsonl", "-o", "o.csv"],
    "last": ["embed", *LABELLED, "--online", "--missing", "last", "-o", "o.csv"],
    "drop": ["embed", *LABELLED, "--online", "--missing", "drop", "--normalize", "minmax", "-o", "o.csv"],
}
SAVES = (2, 4, 8, 12, 14)
"""After which of its saves a run was killed."""


class KilledError(BaseException):
    """Ends a run as abruptly as anything within the process can."""


def call(folder, *argv):
    """The exit status of a command, and what it printed to standard output and error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), small_steps(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*argv])
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def small_steps():
    """Chunks of a few rows, each of which may be saved."""
    with mock.patch.object(tables, "CHUNK_ROWS", 16), mock.patch.object(saver, "SHARE", 1):
        yield


@contextlib.contextmanager
def killed_after(number):
    """Let the process end right after the state was saved this often."""
    left = [number]

    def write(*args, original=saver.write):
        original(*args)
        left[0] -= 1
        if left[0] == 0:
            raise KilledError

    with mock.patch.object(saver, "write", write):
        yield


def write_inputs(folder):
    X = np.cumsum(np.random.default_rng(5).standard_normal((150, 3)), axis=0)
    lines = [f"d{i},{','.join(map(repr, row))}\n" for i, row in enumerate(X.tolist())]
    Path(folder, "t.csv").write_text("date,a,b,c\n" + "".join(lines))
    np.save(Path(folder, "t.npy"), X)


@functools.cache
def interrupted(name, save):
    """A folder with a run that was killed after this save, the other files of that moment, and its whole output."""
    folder = Path(tempfile.mkdtemp(prefix="torture-runs-"))
    write_inputs(folder)
    with contextlib.suppress(KilledError), killed_after(save):
        assert call(folder, *COMMANDS[name], *KEPT)[0] == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, _, err = call(folder, *COMMANDS[name], *KEPT, "--resume")
    assert code == 0, err
    whole = {path.name: path.read_bytes() for path in folder.iterdir() if path.name[:2] in ("o.", "a.")}
    return folder, before, whole


def edit(path, rng):
    """Change the run's part of a checkpoint: its record, the operator's, and the operator's arrays."""
    original = checkpoint.read(path)
    header, arrays = copy.deepcopy(original.header), dict(original.arrays)
    for name in ("format", "version", "library", "members"):
        header.pop(name)
    own = [name for name in arrays if name.startswith("operator.")]
    part = {name: header[name] for name in ("run", "operator", "kind")}
    for _ in range(rng.choice([1, 1, 1, 2])):
        if own and rng.random() < 0.3:
            name = rng.choice(sorted(own))
            arrays[name] = edit_array(arrays[name], rng)
        else:
            edit_tree(part, rng)
    for name in ("run", "operator", "kind"):
        header.pop(name)
    header |= part
    checkpoint.write(path, header, arrays)


def run(case):
    rng = case.rng
    name, save = rng.choice(sorted(COMMANDS)), rng.choice(SAVES)
    folder, before, whole = interrupted(name, save)
    for path in folder.iterdir():
        if path.name not in before:
            path.unlink()
    for file, content in before.items():
        if not file.startswith("t."):
            (folder / file).write_bytes(content)
    edit(folder / "c.ckpt", rng)
    for words in (["info", "c.ckpt"], ["info", "c.ckpt", "--json"]):
        check_said(*call(folder, *words))
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, _, err = call(folder, *COMMANDS[name], *KEPT, "--resume")
    check_said(code, "", err)
    now = {path.name: path.read_bytes() for path in folder.iterdir()}
    if "c.ckpt" in err and code:  # the checkpoint is refused; else an edited number makes the run fail later
        assert now == kept, "a refusal has changed files"
    case.count(edits=1, refused=int(code == 2), same=int(code == 0 and all(now[f] == whole[f] for f in whole)))


def check_said(code, out, err):
    assert code in (0, 2), err
    assert code == 0 or err.count("error: ") == 1, err
    assert code == 0 or out == "", "an error after output"
