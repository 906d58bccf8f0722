"""Commands import what they need and no more: to start takes longer than to map a small file."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

X = np.cumsum(np.random.default_rng(7).standard_normal((90, 3)), axis=0)
ALONE = "import sys; sys.modules.update(sklearn=None, scipy=None); from driftmap.cli import main"
"""None is a module that cannot be imported; numba asks for scipy, too, and takes no for an answer."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", X, delimiter=",", header="a,b,c", comments="")
    np.savetxt("t.jsonl", X, fmt='{"a": %f, "b": %f, "c": %f}')
    np.save("t.npy", X)
    np.save("single.npy", X.astype(np.float32))
    np.save("integers.npy", np.asfortranarray((100 * X).astype(np.int64)))
    pq.write_table(pa.table(dict(zip("abc", X.T, strict=True))), "t.parquet")
    return tmp_path


def run(script):
    """What a new process prints that runs this."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert re.fullmatch(r"(driftmap: [\w.]+: mapped 90 rows, .*; wrote .*\n)*", done.stderr)
    return done.stdout


@pytest.mark.parametrize(("name", "parser"), [("t.csv", {"pyarrow"}), ("t.jsonl", {"orjson"}), ("t.npy", set())])
def test_a_small_file_needs_its_parser_and_no_other_library(folder, name, parser):
    script = (
        f"import sys; from driftmap.cli import main; main(['embed', '{name}', '-o', 'o.csv']);"
        "print(*{m.split('.')[0] for m in sys.modules})"
    )
    loaded = set(run(script).split())
    assert {"joblib", "matplotlib", "orjson", "pandas", "pyarrow", "sklearn"} & loaded == parser


@pytest.mark.parametrize(
    "command",
    [
        "t.csv -o o.csv",
        "t.npy -o o.npy",
        "single.npy -o o.npy",
        "integers.npy -o o.npy --novelty",
        "t.jsonl -o o.jsonl --embedding lmds --normalize zscore",
        "t.parquet -o o.parquet --embedding weighted-lmds --normalize minmax --landmarks-out l.csv",
        "t.csv -o o.csv --checkpoint c.ckpt --columns c,a",
        "t.csv -o o.csv --online --components 1 --window 30",
        "t.csv -o o.csv --plot m.png --animate m.gif --animate-frames 4",
        "t.csv -o o.csv --json",
    ],
)
def test_embed_does_without_scikit_learn_and_scipy(folder, command):
    words = ["embed", *command.split(), "--landmarks", "10"]
    assert run(f"{ALONE}; print(main({words}))").endswith("0\n")
    assert all(folder.joinpath(word).stat().st_size for word in words if word[:2] in ("o.", "l.", "c.", "m."))


def test_a_run_is_resumed_and_shown_without_scikit_learn_and_scipy(folder):
    script = """
from driftmap.pipeline.passes import Placing
command, apply = ["embed", "t.csv", "-o", "o.csv", "--checkpoint", "c.ckpt"], Placing.apply
Placing.apply = lambda *rest: sys.exit()
main(command)
Placing.apply = apply
print(main([*command, "--resume"]), main(["info", "c.ckpt"]))
"""
    shown = run(ALONE + script).splitlines()
    assert shown[-1] == "0 0"
    assert "learning done" in "".join(shown)
    assert len(folder.joinpath("o.csv").read_text().splitlines()) == 1 + len(X)


def test_help_does_without_scikit_learn_and_scipy(folder):
    assert "embed" in run(f"{ALONE}; main(['--help'])")
