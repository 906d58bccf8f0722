"""The build backend: scikit-build-core, with a C++ compiler from the package index (zig) where the machine has none.

DRIFTMAP_ZIG_TARGET asks for zig in any case, and for that target: "x86_64-linux-gnu.2.17" runs with an old glibc.
"""

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403

target = os.environ.get("DRIFTMAP_ZIG_TARGET")
names = [(sysconfig.get_config_var("CXX") or "c++").split()[0], "c++", "g++", "clang++"]
found = os.environ.get("CXX") or next(filter(shutil.which, names), None)
needs_zig = target or (os.name == "posix" and not found)


def get_requires_for_build_wheel(config_settings=None):
    """Zig, too, if it has to compile. It is only there when the wheel is built."""
    return build.get_requires_for_build_wheel(config_settings) + (["ziglang>=0.13"] if needs_zig else [])


get_requires_for_build_editable = get_requires_for_build_wheel

if needs_zig and (zig := importlib.util.find_spec("ziglang")):
    # CMake wants one program for each tool. By default zig compiles for the very processor that it runs on.
    # It builds its C++ library for each set of options, which takes a minute. Given the build's options, CMake's
    # checks need no other.
    options = {"c++": f"{f'-target {target}' if target else '-mcpu=baseline'} -O3 -Wl,-s"}
    folder = Path("build", f"zig-{target or 'baseline'}").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for tool in ("c++", "ar", "ranlib"):
        script = folder / tool
        script.write_text(f'#!/bin/sh\nexec "{Path(zig.origin).parent}/zig" {tool} {options.get(tool, "")} "$@"\n')
        script.chmod(0o755)
    found = str(folder / "c++")
if found and os.name == "posix":
    os.environ["CXX"] = found
