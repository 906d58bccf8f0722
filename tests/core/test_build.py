"""The compiled core as it is built: its levels, the loader's errors, the source distribution."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

import driftmap
from driftmap._core import _level

ROOT = Path(__file__).parents[2]
PACKAGE = Path(driftmap.__file__).parent
LEVELS = [name for name in _level.built.split() if name == "generic" or int(name[1:]) <= _level.processor]
IMPORT = "from driftmap import _core; print(_core.level)"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "DRIFTMAP_LEVEL"}
    return subprocess.run([sys.executable, *arguments], env=environment | variables, capture_output=True, text=True)


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    """What the loader says: one line, after the traceback."""
    assert done.returncode == 1
    kind, _, message = done.stderr.splitlines()[-1].partition(": ")
    assert kind == "ImportError"
    return message


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_can_be_forced(level):
    done = run("-c", IMPORT, DRIFTMAP_LEVEL=level)
    assert done.stdout.strip() == level, done.stderr


def test_the_best_level_is_the_default():
    assert run("-c", IMPORT).stdout.strip() == max(LEVELS)


def test_levels_offer_the_same_names():
    listing = "from driftmap import _core; print([name for name in dir(_core) if name[0] != '_'])"
    assert len({run("-c", listing, DRIFTMAP_LEVEL=level).stdout for level in LEVELS}) == 1


def test_an_unknown_level_is_refused():
    message = error_of(run("-c", IMPORT, DRIFTMAP_LEVEL="v9"))
    assert "'v9'" in message
    assert all(level in message for level in LEVELS)


@pytest.mark.parametrize(("processor", "forced", "named"), [(3, "v4", "v3, v2"), (2, "v3", "v2"), (1, "", "none")])
def test_a_level_that_the_processor_lacks_is_refused(processor, forced, named):
    older = f"""
import sys, types
sys.modules["driftmap._core._level"] = types.SimpleNamespace(built="v2 v3 v4", processor={processor})
"""
    message = error_of(run("-c", older + IMPORT, DRIFTMAP_LEVEL=forced))
    assert repr(forced or "v2") in message
    assert message.endswith(f" {named}")


@pytest.mark.parametrize("suffix", ["", ".cpython-38-x86_64-linux-gnu.so", sysconfig.get_config_var("EXT_SUFFIX")])
def test_a_missing_or_foreign_core_says_how_to_build_it(tmp_path, suffix):
    shutil.copytree(PACKAGE, tmp_path / "driftmap", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    if suffix:
        (tmp_path / "driftmap" / f"_level{suffix}").write_text("not for this Python")
    # -S: without the driftmap of this environment
    message = error_of(run("-S", "-c", IMPORT, PYTHONPATH=str(tmp_path)))
    assert "pip install ." in message


def test_the_source_distribution_has_all_that_the_build_needs(tmp_path):
    pytest.importorskip("scikit_build_core")
    code = "import sys, build_backend; build_backend.build_sdist(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, tmp_path], cwd=ROOT, env=os.environ | {"PYTHONPATH": "tools"}, check=True
    )
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = [path for folder in ("src/core", "src/bindings") for path in (ROOT / folder).iterdir()]
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= names
    assert {"CMakeLists.txt", "tools/build_backend.py", "Makefile", "tests/naive.py", "docs/guide.md"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def test_the_core_does_not_depend_on_python():
    headers = list((ROOT / "src/core").iterdir())
    included = {line for path in headers for line in path.read_text().splitlines() if line.startswith("#include")}
    assert '#include "simd.h"' in included
    assert not [line for line in included if "nanobind" in line or "Python" in line or "/" in line.replace("sys/", "")]
