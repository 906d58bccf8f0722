"""The build backend: scikit-build-core, with the C++ compiler zig from the package index if the machine has none.

DRIFTMAP_ZIG_TARGET requires zig and sets its target, such as "x86_64-linux-gnu.2.17" for an old glibc.
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


OLDEST_ZIG = "0.13"
"""Builds the core; what is older was not tried."""


def get_requires_for_build_wheel(config_settings=None):
    """Return the requirements of scikit-build-core, and zig if it must compile; zig is installed only for the build."""
    return build.get_requires_for_build_wheel(config_settings) + ([f"ziglang>={OLDEST_ZIG}"] if needs_zig else [])


get_requires_for_build_editable = get_requires_for_build_wheel

if needs_zig and (zig := importlib.util.find_spec("ziglang")):
    # CMake needs one program per tool. -mcpu=baseline, since zig compiles for the local processor by default.
    # zig builds its C++ library once for each set of options, which takes a minute. With the options of the build,
    # CMake's checks use the same library.
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
