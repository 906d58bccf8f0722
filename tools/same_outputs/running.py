"""Runs a case and returns the digests of its outputs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tools.same_outputs.cases import Case
from tools.same_outputs.digests import digest, outputs
from tools.same_outputs.spelling import PROGRAMS

LIMIT = 400
"""Seconds after which a case is stopped."""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1",
    "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "100", "SOURCE_DATE_EPOCH": "1600000000", "MPLBACKEND": "Agg",
}  # fmt: skip
FUNCTIONS = Path(__file__).with_name("functions.sh")
PRELUDE = Path(__file__).with_name("prelude.py")


class Checkout(NamedTuple):
    """The code to compare."""

    python: str
    """An interpreter that imports it."""
    root: str
    """The folder of the checkout, which contains src."""
    programs: Path
    """The folder of the programs that commands call."""
    inputs: Path
    """The folder of the input tables."""

    def environment(self) -> dict[str, str]:
        """Return the environment of all cases."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
        path = f"{self.programs}{os.pathsep}{own.get('PATH', '')}"
        return own | ENVIRONMENT | {"PATH": path, "PYTHON": self.python, "CHECKOUT": self.root}


def root_of(python: str) -> str:
    """Return the folder of the checkout that an interpreter imports."""
    words = [python, "-c", "import driftmap; print(driftmap.__file__)"]
    found = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return str(Path(found.stdout.strip()).parents[2])


def write_programs(checkout: Checkout) -> list[str]:
    """Write the programs that commands call, in the spelling of the checkout; return their definitions."""
    return [_write_program(name, spellings, checkout) for name, spellings in PROGRAMS.items()]


def _write_program(name: str, spellings: list[str], checkout: Checkout) -> str:
    path = checkout.programs / name
    for words in spellings:
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        path.chmod(0o755)
        help_shown = subprocess.run([path, "--help"], env=checkout.environment(), capture_output=True)
        if help_shown.returncode == 0:
            return words
    why = help_shown.stderr.decode(errors="replace").strip()
    raise SystemExit(f"{checkout.root} has no {name}: none of {spellings} prints a help\n{why}")


def run(case: Case, checkout: Checkout, folder: Path) -> tuple[dict[str, str], str]:
    """Run a case in an empty folder; return the digests of exit status, standard output and files, and standard error.

    The files of standard output and standard error are next to the folder.
    """
    out, err = folder.with_name(f"{folder.name}.out"), folder.with_name(f"{folder.name}.err")
    inputs = _copy_inputs(case, checkout.inputs, folder)
    if case.kind == "command":
        words = ["bash", "-c", f'. "{FUNCTIONS}"\n{case.text}']
    else:
        script = folder / "script.py"
        script.write_text(f"{case.text}\n")
        inputs["script.py"] = script.read_bytes()
        words = [checkout.python, str(PRELUDE), "script.py"]
    with out.open("wb") as out_file, err.open("wb") as err_file:  # remaining processes would keep a pipe open
        status = _finish(words, cwd=folder, env=checkout.environment(), stdout=out_file, stderr=err_file)
    found = {"status": status, "stdout": digest(out.read_bytes()), **outputs(folder, inputs)}
    return found, err.read_text(errors="replace")


def _finish(words: list[str], **options: Any) -> str:
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    try:
        return str(process.wait(LIMIT))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"stopped after {LIMIT} s"


def _copy_inputs(case: Case, source: Path, folder: Path) -> dict[str, bytes]:
    """Copy the inputs that a case names; return their bytes."""
    copied = {}
    for path in sorted(source.iterdir()):
        if not re.search(rf"(?<![\w.]){re.escape(path.name)}(?![\w.]*\w)", case.text):
            continue
        if path.is_dir():
            shutil.copytree(path, folder / path.name)
        else:
            shutil.copyfile(path, folder / path.name)
        files = [path, *path.rglob("*")]
        copied |= {file.relative_to(source).as_posix(): file.read_bytes() for file in files if file.is_file()}
    return copied
