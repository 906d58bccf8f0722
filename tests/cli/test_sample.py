"""``driftmap sample``, and the commands of README, which can be typed as they stand."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from driftmap.cli import main
from driftmap.datasets import SAMPLES

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "driftmap"]


def commands():
    """The lines of README's shell blocks that run driftmap, without comments."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line, comments=True) for kind, block in blocks if not kind for line in block.splitlines()]
    return [words for words in lines if words and words[0] == "driftmap"]


def test_commands_of_readme_can_be_typed_as_they_stand(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    found = commands()
    assert len(found) >= 10
    written = set()
    for _, *words in found:
        if words[0] == "follow":  # endless: the first lines are enough
            process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, text=True)
            with process:
                assert process.stdout.readline().startswith("{")
                process.kill()
            continue
        if words[0] == "watch":  # endless, too
            pytest.importorskip("uvicorn", reason="the extra live is not installed")
            endless = [*COMMAND, *words, "--no-open", "--port", "0"]
            with subprocess.Popen(endless, stderr=subprocess.PIPE, text=True) as process:
                assert any("live at http://127.0.0.1" in line for line in process.stderr)
                process.kill()
            continue
        assert main(words) == 0, f"{words}: {capfd.readouterr().err}"
        outputs = [words[words.index(option) + 1] for option in ("-o", "--plot") if option in words]
        for name in outputs:
            assert (tmp_path / name).stat().st_size > 100, name
        written.update(outputs)
    assert {"map.csv", "map.png"} <= written


def test_samples_are_listed_and_written_once(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["sample"]) == 0
    listed = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(SAMPLES)
    assert all(line.endswith("(generated)") for line in listed)
    assert main(["sample", "prices"]) == main(["sample", "prices"]) == main(["sample", "prices", "-o", "p.csv"]) == 0
    assert (tmp_path / "prices.csv").read_bytes() == (tmp_path / "p.csv").read_bytes() == SAMPLES["prices"].make()
    assert sorted(os.listdir()) == ["p.csv", "prices.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pricse"], "there is no sample 'pricse' (did you mean 'prices'?); name one of prices, sensors, contacts"),
        (["prices"], "prices.csv exists and is another file: name another with -o"),
        (["prices", "-o", "prices.parquet"], "'prices.parquet' must end in .csv"),
        (["prices", "-o", "no/p.csv"], "there is no folder 'no'"),
        (["-o", "p.csv"], "-o needs to know what to write"),
    ],
)
def test_mistakes_lose_no_file(tmp_path, monkeypatch, capfd, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.csv").write_text("my own\n")
    assert main(["sample", *words]) == 2
    assert message in capfd.readouterr().err
    assert (tmp_path / "prices.csv").read_text() == "my own\n"
