"""Kernels from files of our own do what numba's functions do, and whatever is wrong with a file costs only time."""

import ctypes
import os
import pickle
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from driftmap._kernels import assemble, compiler, doors, kept, machine
from driftmap._kernels.cells import add_records, cheapest
from driftmap._kernels.distances import cross_squared
from driftmap._kernels.link import linked
from driftmap._kernels.records import FOUND
from driftmap.state import StreamState

RUN = """
import hashlib
import numpy as np
from driftmap import DriftMap
for dtype, d, options in [
    ("f8", 3, {"n_landmarks": 20}), ("f4", 3, {"n_landmarks": 20}), ("f8", 16, {"n_landmarks": 60}),
    ("f8", 3, {"n_landmarks": 10, "memory": None, "rule": "paper"}), ("f8", 3, {"embedding": "lmds"}),
    ("f8", 5, {"n_components": 3, "n_landmarks": 12, "window": 500}), ("f8", 4, {"n_components": 1}),
    ("f8", 2, {"n_landmarks": 12, "half_life": 100, "memory": 200}),
    ("f8", 4, {"n_landmarks": 12, "metric": "cityblock"}),
]:
    X = np.cumsum(np.random.default_rng(0).standard_normal((21_000 if d == 16 else 2_500, d)), axis=0).astype(dtype)
    mapper = DriftMap(**options)
    for part in (X[:-2], X[-2:-1], X[-1:]):
        mapper.partial_fit(part)
    print(hashlib.sha256(mapper.transform(X[::7]).tobytes()).hexdigest(), mapper.n_replacements_, mapper.radius_)
"""


def test_a_stream_gives_the_same_with_and_without_numba():
    with_numba, without = (
        subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, env=os.environ | more)
        for more in ({"DRIFTMAP_NUMBA": "1"}, {})
    )
    assert len(with_numba.stdout.splitlines()) == 9, with_numba.stderr
    assert with_numba.stdout == without.stdout, without.stderr


def test_what_has_been_compiled_needs_no_numba():
    """No kernel is left to it."""
    code = RUN + "import sys; sys.exit('numba' in sys.modules or 'llvmlite' in sys.modules)"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where files are kept."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "driftmap"


@pytest.fixture
def kernel():
    return machine.Kernel("cross_squared", "driftmap._kernels.distances")


def distances(function, dtype=np.float64):
    rng = np.random.default_rng(0)
    X, columns, out = rng.random((5, 3)).astype(dtype), rng.random((3, 7)), np.empty((5, 7))
    function(X, columns, out)
    return out.tolist()


SCRIPT = """
import sys
import numpy as np
from driftmap._kernels import doors
X, out = np.arange(6.0).reshape(2, 3), np.empty((2, 1))
doors.cross_squared(X, np.zeros((3, 1)), out)
print(out.ravel().tolist(), "llvmlite" in sys.modules)
"""


def test_a_kernel_is_compiled_once(folder):
    told = [
        subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=os.environ).stdout
        for _ in range(2)
    ]
    assert told == ["[5.0, 50.0] True\n", "[5.0, 50.0] False\n"]
    assert [path.name.split(".")[0] for path in folder.iterdir()] == ["cross_squared"]


def test_what_is_asked_for_again_is_loaded(kernel, folder, monkeypatch):
    assert not kernel.is_kept()
    assert distances(kernel) == distances(cross_squared)
    assert kernel.is_kept()
    monkeypatch.setattr("driftmap._kernels.assemble.assemble", None)
    again = machine.Kernel("cross_squared", "driftmap._kernels.distances")
    assert distances(again) == distances(cross_squared)
    assert pickle.loads(pickle.dumps(doors.cross_squared)) is doors.cross_squared


@pytest.mark.parametrize(
    "damage", [lambda b: b[:10], lambda b: b[:-1], lambda b: b[:500] + b"x" + b[501:], lambda b: b""]
)
def test_a_damaged_file_is_made_anew(kernel, folder, damage, monkeypatch):
    distances(kernel)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content))
    monkeypatch.setattr(machine, "_loaded", {})
    again = machine.Kernel("cross_squared", "driftmap._kernels.distances")
    assert distances(again) == distances(cross_squared)
    assert file.read_bytes() == content


@pytest.mark.parametrize("name", ["_processor", "_version"])
def test_files_of_other_machines_and_compilers_have_other_names(name, monkeypatch):
    here = kept.host()
    kept.host.cache_clear()
    assert kept.host() == here
    monkeypatch.setattr(kept, name, lambda *arguments: b"another")
    kept.host.cache_clear()
    assert kept.host() != here
    kept.host.cache_clear()


def test_where_nothing_can_be_written_kernels_work_nevertheless(kernel, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert distances(kernel) == distances(cross_squared)


def test_where_numba_finds_no_place_for_its_cache_it_compiles_without(monkeypatch):
    original = compiler.numba.njit

    def njit(**options):
        if options.get("cache"):
            raise RuntimeError("no locator available")
        return original(**options)

    monkeypatch.setattr(compiler.numba, "njit", njit)
    assert compiler.cached(nogil=True)(lambda x: x + 1)(1) == 2


def test_nothing_is_left_of_a_file_that_cannot_be_written(folder, monkeypatch):
    monkeypatch.setattr(kept.Path, "replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    kept.keep("a.b.c.d.code", kept.Image(b"code", 0, [], {}))
    assert list(folder.iterdir()) == []


def test_where_the_processor_is_not_known_nothing_is_kept(kernel, folder, monkeypatch):
    kept.host.cache_clear()
    monkeypatch.setattr(kept, "PROCESSOR", {*kept.PROCESSOR, b"colour"})
    assert distances(kernel) == distances(cross_squared)
    assert not kernel.is_kept()
    assert not folder.exists()
    kept.host.cache_clear()


def test_it_works_from_an_archive(tmp_path):
    package = Path(machine.__file__).parents[2]
    with zipfile.ZipFile(tmp_path / "driftmap.zip", "w") as archive:
        for path in (package / "driftmap").rglob("*.py"):
            archive.write(path, path.relative_to(package))
    code = "import driftmap, numpy as np; X = np.random.rand(200, 3); m = driftmap.DriftMap(n_landmarks=9).fit(X);"
    code += "print(driftmap.__file__, m.transform(X).shape)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "driftmap.zip"), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.startswith(str(tmp_path)), done.stderr
    assert done.stdout.endswith("(200, 2)\n")


def test_a_compiler_that_is_switched_off_is_told():
    code = "import numpy as np; from driftmap import DriftMap; DriftMap().fit_transform(np.random.rand(500, 3))"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "NUMBA_DISABLE_JIT is set" in done.stderr


def test_files_of_other_sources_are_removed(kernel, folder, monkeypatch):
    distances(kernel)
    (old,) = folder.iterdir()
    monkeypatch.setattr(kept, "sources", lambda: "changed")
    distances(machine.Kernel("cross_squared", "driftmap._kernels.distances"))
    (new,) = folder.iterdir()
    assert old.name != new.name


def test_arrays_are_taken_by_their_types(kernel, folder):
    """One door after the other; what no door is for goes to numba's function, or is refused by it."""
    for dtype in (np.float64, np.float32, np.float64):
        assert distances(kernel, dtype) == distances(cross_squared, dtype)
    assert len(kernel.doors) == 2
    X, columns, out = np.ones((4, 6)), np.zeros((3, 2)), np.empty((4, 2))
    kernel(X[:, ::2], columns, out)
    assert out.tolist() == [[3.0, 3.0]] * 4
    for wrong in (X[0], X.astype("U3"), None, "text"):
        with pytest.raises(Exception, match=r"."):
            kernel(wrong, columns, out)
    assert distances(kernel) == distances(cross_squared)


def test_results_and_numbers_are_those_of_numba(folder):
    state = StreamState(3, 1.0)
    state.reserve(10)
    state.cells["landmark"], state.cells["cost"] = [4, 2, -1, 7], [3.0, 1.5, 0.0, 2.0]
    result = machine.Kernel("cheapest", "driftmap._kernels.cells")(state.cells)
    assert result == cheapest(state.cells) == (1, 2.0)
    assert [type(value) for value in result] == [int, float]
    for generation in (doors.generation, machine.Kernel("generation", "driftmap._kernels.witnesses")):
        assert generation(np.float64(10.0), 16.0) == 5.0


def test_an_error_in_a_kernel_is_an_error(folder):
    state = StreamState(1, 1.0)
    state.reserve(1)
    state.chain[-1] = -1
    found = np.zeros(1, FOUND)
    for function in (add_records, machine.Kernel("add_records", "driftmap._kernels.cells")):
        with pytest.raises(RuntimeError):
            function(state.records, state.chain, state.cells, np.zeros(1, np.int64), found)


@pytest.mark.parametrize("change", [{"code": b""}, {"others": {"no_such_function": [0]}}])
def test_what_cannot_be_loaded_is_left_to_numba(kernel, folder, change, monkeypatch):
    distances(kernel)
    (file,) = folder.iterdir()
    kept.keep(file.name, kept.read(file)._replace(**change))
    monkeypatch.setattr(machine, "_loaded", {})
    again = machine.Kernel("cross_squared", "driftmap._kernels.distances")
    assert distances(again) == distances(cross_squared)
    assert list(again.doors.values()) == [None]


def test_where_no_code_may_be_made_it_is_left_to_numba(kernel, folder, monkeypatch):
    class Process(ctypes.CDLL):
        def mprotect(self, *arguments):
            return -1

    monkeypatch.setattr(machine.ctypes, "CDLL", Process)
    monkeypatch.setattr(machine, "_loaded", {})
    assert distances(kernel) == distances(cross_squared)
    assert list(kernel.doors.values()) == [None]


def test_where_there_is_no_memory_for_code_it_is_left_to_numba(kernel, folder, monkeypatch):
    monkeypatch.setattr(machine.mmap, "mmap", lambda *size, **how: (_ for _ in ()).throw(OSError("no memory")))
    monkeypatch.setattr(machine, "_loaded", {})
    assert distances(kernel) == distances(cross_squared)
    assert list(kernel.doors.values()) == [None]


def compiled(text, **options):
    """An object of machine code."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(**options).emit_object(llvm.parse_assembly(text))


TWICE = """
@small = private constant [3 x i8] c"abc"
@constant = private constant [2 x i64] [i64 7, i64 35], align 64
declare i64 @other(i64)
define internal i64 @change(i64 %x) noinline {
    %y = load i8, ptr @small
    %z = zext i8 %y to i64
    %sum = add i64 %x, %z
    ret i64 %sum
}
define i64 @twice(i64 %i) {
    %place = getelementptr [2 x i64], ptr @constant, i64 0, i64 %i
    %x = load i64, ptr %place
    %y = call i64 @other(i64 %x)
    %z = call i64 @change(i64 %y)
    ret i64 %z
}
define i64 @where(i64 %i) {
    %place = ptrtoint ptr @constant to i64
    ret i64 %place
}
"""
OTHER = """
declare i64 @labs(i64)
define internal i64 @change(i64 %x) noinline {
    %y = mul i64 %x, 2
    ret i64 %y
}
define i64 @other(i64 %x) {
    %y = call i64 @labs(i64 %x)
    %z = call i64 @change(i64 %y)
    ret i64 %z
}
"""
CALLER = """
declare i64 @change(i64)
define i64 @caller(i64 %x) {
    %y = call i64 @change(i64 %x)
    ret i64 %y
}
"""
BEYOND = """
@there = external global [2 x i64]
@second = constant ptr getelementptr ([2 x i64], ptr @there, i64 0, i64 1)
define ptr @twice() {
    %place = load ptr, ptr @second
    ret ptr %place
}
"""
WRITTEN = "@state = global i64 3 define void @twice() { store i64 1, ptr @state ret void }"


def function(image):
    """The function at the start of code, of one number."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(machine._put(image) + image.start)


def test_objects_that_call_each_other_become_one_piece():
    parts = [compiled(text, codemodel="large") for text in (TWICE, OTHER)]
    image = linked(parts, "twice")
    assert set(image.others) == {"labs"}
    twice, where = (function(linked(parts, name)) for name in ("twice", "where"))
    assert [twice(0), twice(1)] == [14 + ord("a"), 70 + ord("a")]
    assert where(0) % 64 == 0
    alone = linked(parts[:1], "twice")
    assert set(alone.others) == {"other"}
    caller = compiled(CALLER, codemodel="large")
    assert "change" in linked([caller, parts[1]], "caller").others  # what an object has for itself is not for others
    with pytest.raises(machine.Unsuitable):
        machine._put(alone)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lambda: compiled(TWICE, codemodel="small"), "whole"),
        (lambda: compiled(WRITTEN, codemodel="large"), "written"),
        (lambda: compiled(BEYOND, codemodel="large", reloc="static"), "neither"),
        (lambda: compiled(TWICE, codemodel="large").replace(b"\x7fELF", b"file"), "object"),
    ],
)
def test_objects_of_another_kind_are_refused(content, reason):
    with pytest.raises(ValueError, match=reason):
        linked([content()], "twice")


def test_threads_may_call_a_kernel_for_the_first_time_and_for_several_types(kernel, folder, monkeypatch):
    expected = [distances(cross_squared, dtype) for dtype in (np.float64, np.float32)]
    monkeypatch.setattr(machine, "_loaded", {})
    made, make = [], assemble.assemble
    monkeypatch.setattr(assemble, "assemble", lambda *what: made.append(make(*what)) or made[-1])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: distances(kernel, (np.float64, np.float32)[i % 2]), range(400)))
    assert found == expected * 200
    assert len(kernel.doors) == 2
    assert len(made) == 2


COPY = """
import os, threading
import numpy as np
from driftmap._kernels import doors, machine
held = threading.Event()

def load():
    with machine._loading:
        held.set()
        threading.Event().wait(60)

threading.Thread(target=load, daemon=True).start()
held.wait()
pid = os.fork()
if pid == 0:
    doors.cross_squared(np.ones((2, 3)), np.zeros((3, 1)), np.empty((2, 1)))
    os._exit(0)
print(os.waitpid(pid, 0)[1])
"""


def test_a_copy_of_a_process_waits_for_nobody():
    """Though another thread was loading something when the copy was made."""
    done = subprocess.run([sys.executable, "-c", COPY], capture_output=True, text=True, timeout=50)
    assert done.stdout == "0\n"


def test_all_kernels_are_there():
    for name, module in doors.MODULES.items():
        assert callable(getattr(doors, name)), module
    with pytest.raises(AttributeError, match="nothing"):
        _ = doors.nothing
