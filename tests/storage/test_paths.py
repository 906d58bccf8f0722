"""Output paths: no output replaces an input, a device, a FIFO or a socket, under whatever name it is given."""

import io
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import special_files
from driftmap import DriftMap
from driftmap.cli import main
from driftmap.plot import map_figure, save_figure
from driftmap.storage import atomic, checkpoint
from driftmap.storage.checkpoint import CheckpointError
from driftmap.storage.paths import OutputError, identity, open_regular, open_stream, output_path
from special_files import REFUSED, contents, reader

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="FIFOs and device nodes are those of other systems")

X = np.cumsum(np.random.default_rng(0).standard_normal((60, 3)), axis=0)
TEXT = "a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in X.tolist())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("t.csv").write_text(TEXT)
    return tmp_path


def make(path, kind):
    try:
        special_files.make(path, kind)
    except OSError as error:
        pytest.skip(f"this user may not make device nodes: {error}")


def refusal(capfd, folder, *argv):
    """The error of a command that changes no file."""
    before = contents(folder)
    capfd.readouterr()
    assert main([*map(str, argv)]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("driftmap: error: "), err.count("\n")) == ("", 1, 1), err
    assert contents(folder) == before
    return err


# --- where a path leads ---


def test_a_path_leads_where_the_system_says(folder):
    folder.joinpath("sub/deep").mkdir(parents=True)
    folder.joinpath("to_deep").symlink_to("sub/deep")
    folder.joinpath("future").symlink_to("to_deep/../new.csv")
    for given, true in {
        "o.csv": "o.csv", "./o.csv": "o.csv", "sub/../o.csv": "o.csv", "to_deep/../o.csv": "sub/o.csv",
        "to_deep/o.csv": "sub/deep/o.csv", "future": "sub/new.csv", folder / "o.csv": "o.csv",
    }.items():  # fmt: skip
        found = output_path(given)
        assert (found.true, str(found), found.is_stream) == (folder.resolve() / true, str(given), False)
        assert output_path(found) is found
        Path(given).touch()
        assert found.true.samefile(given)
        found.true.unlink()


@pytest.mark.parametrize("given", ["no/o.csv", "no/../o.csv", "t.csv/o.csv", "t.csv/../o.csv", "no/..", "astray", "on"])
def test_a_folder_that_is_missing_on_the_way_is_an_error(folder, given):
    folder.joinpath("astray").symlink_to("no/../t.csv")
    folder.joinpath("on").symlink_to("astray")
    with pytest.raises(OutputError, match=f"^{re.escape(given)}: there is no folder '"):
        output_path(given)


def test_links_in_a_circle_are_an_error(folder):
    folder.joinpath("a").symlink_to("b")
    folder.joinpath("b").symlink_to("a")
    with pytest.raises(OutputError, match=r"^a: Too many levels of symbolic links"):
        output_path("a")


def test_a_path_keeps_leading_to_the_folder_it_led_to_first(folder):
    for name in ("one", "two"):
        folder.joinpath(name).mkdir()
    folder.joinpath("link").symlink_to("one")
    output = output_path("link/o.csv")
    folder.joinpath("link").unlink()
    folder.joinpath("link").symlink_to("two")
    with atomic.replacing(output) as file:
        file.write(b"rows")
    assert folder.joinpath("one/o.csv").read_bytes() == b"rows"
    assert not os.listdir("two")


def test_a_file_that_does_not_exist_yet_is_known_by_folder_and_name(folder):
    assert identity("no/../t.csv") != identity("t.csv")
    folder.joinpath("link.csv").symlink_to("new.csv")
    assert len({identity(name) for name in ("new.csv", "link.csv", "NEW.csv", folder / "new.csv")}) == 1


# --- output over input ---

ASTRAY = {
    "output": ["embed", "t.csv", "-o", "{}"],
    "online": ["embed", "t.csv", "--online", "-o", "{}"],
    "checkpoint": ["embed", "t.csv", "-o", "o.csv", "--checkpoint", "{}"],
    "output with checkpoint": ["embed", "t.csv", "-o", "{}", "--checkpoint", "c.ckpt"],
    "follow": ["follow", "t.csv", "-o", "{}"],
    "follow with checkpoint": ["follow", "t.csv", "-o", "o.csv", "--checkpoint", "{}"],
    "landmarks": ["embed", "t.csv", "-o", "o.csv", "--landmarks-out", "{}"],
}


@pytest.mark.parametrize(
    "name", ["nofolder/../t.csv", "t.csv/../t.csv", "link.csv", "dangling.csv", "hard.csv", "sub/../t.csv"]
)
@pytest.mark.parametrize("option", ASTRAY)
def test_no_output_is_the_input_by_another_name(folder, capfd, option, name):
    folder.joinpath("link.csv").symlink_to("t.csv")
    folder.joinpath("dangling.csv").symlink_to("nofolder/../t.csv")
    os.link("t.csv", "hard.csv")
    folder.joinpath("sub").mkdir()
    err = refusal(capfd, folder, *(word.format(name) for word in ASTRAY[option]), "--landmarks", "5")
    assert f"{name}: there is no folder" in err or f"({name}) is the same file as the input" in err


@pytest.mark.parametrize("name", [".o.csv.partial", ".c.ckpt.scores.partial"])
@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_unfinished_files_are_compared_too(folder, capfd, name, link):
    link("t.csv", name)
    command = ["embed", "t.csv", "--landmarks", "5", "--novelty", "-o", "o.csv", "--checkpoint", "c.ckpt"]
    assert "is the same file as the input" in refusal(capfd, folder, *command)


def test_a_recording_is_compared_too(folder, capfd):
    for more in (["--record", "t.csv"], ["--record", "c", "--checkpoint", "c"], ["--record", "o.csv", "-o", "o.csv"]):
        assert "is the same file as" in refusal(capfd, folder, "watch", "t.csv", "--no-open", *more)
    assert "there is no folder" in refusal(capfd, folder, "watch", "t.csv", "--no-open", "--record", "no/../r")


def test_an_output_that_is_standard_output_too_is_refused(folder):
    command = [sys.executable, "-m", "driftmap", "embed", "t.csv", "--landmarks", "5", "--json", "-o", "o.csv"]
    with open("o.csv", "wb") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, "standard output is the same file as -o" in done.stderr) == (2, True)


# --- outputs that are no files ---

WRITTEN = {
    "output": ["embed", "t.csv", "-o", "{}.csv"],
    "Parquet": ["embed", "t.csv", "-o", "{}.parquet"],
    "checkpoint": ["embed", "t.csv", "-o", "o.csv", "--checkpoint", "{}.ckpt"],
    "alerts": ["embed", "t.csv", "-o", "o.csv", "--alert", "3", "--alerts", "{}.jsonl"],
    "landmarks": ["embed", "t.csv", "-o", "o.csv", "--landmarks-out", "{}.csv"],
    "page": ["embed", "t.csv", "-o", "o.csv", "--plot", "{}.html"],
    "figure": ["embed", "t.csv", "-o", "o.csv", "--plot", "{}.png"],
    "animation": ["embed", "t.csv", "-o", "o.csv", "--animate", "{}.gif", "--animate-frames", "2"],
    "follow": ["follow", "t.csv", "-o", "{}.csv"],
    "continued output": ["embed", "t.csv", "-o", "{}.csv", "--checkpoint", "c.ckpt"],
    "recording": ["watch", "t.csv", "--no-open", "--record", "{}"],
    "sample": ["sample", "prices", "-o", "{}.csv"],
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("what", WRITTEN)
def test_what_is_no_file_is_neither_replaced_nor_written_to(folder, capfd, monkeypatch, what, kind):
    argv = [word.format("special") for word in WRITTEN[what]]
    special = next(word for word in argv if word.startswith("special"))
    make(special, kind)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    if argv[0] != "sample":
        argv += ["--landmarks", "5"]
    err = refusal(capfd, folder, *argv)
    continued = "it is not a file, and a run with --checkpoint could not go on with it"
    assert f"{special}: {REFUSED[kind]}" in err or f"{special} cannot be written: {REFUSED[kind]}" in err or (
        kind == "FIFO" and "--checkpoint" in argv and f"{special}: {continued}" in err
    )  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_the_library_refuses_it_too(folder, kind):
    files = pytest.importorskip("driftmap.dask.files")
    from driftmap.dask import PartitionError
    from driftmap.dask.blocks import Partition

    make("special.svg", kind)
    before = contents(folder)
    mapper = DriftMap(n_landmarks=5).fit(X)
    for save in (mapper.save, mapper.freeze().save):
        with pytest.raises(CheckpointError, match=f"cannot be written: {REFUSED[kind]}"):
            save("special.svg")
    with pytest.raises(OutputError, match=REFUSED[kind]):
        save_figure(map_figure(X[:, :2]), "special.svg")
    with pytest.raises(PartitionError, match=REFUSED[kind]):
        files.write(mapper.freeze(), Partition(None, None, "t"), "special.svg", ["x1", "x2"], certify=False)
    assert contents(folder) == before


def test_a_path_over_missing_folders_is_no_place_to_save(folder):
    mapper, before = DriftMap(n_landmarks=5).fit(X), contents(folder)
    with pytest.raises(CheckpointError, match=r"no/\.\./t\.csv cannot be written: there is no folder 'no/\.\.'"):
        mapper.save("no/../t.csv")
    assert contents(folder) == before


@pytest.mark.parametrize("kind", ["FIFO", "socket", "character device"])
@pytest.mark.parametrize("name", [".o.csv.partial", ".c.ckpt.scores.partial"])
def test_what_is_no_file_under_a_temporary_name_is_refused(folder, capfd, name, kind):
    make(name, kind)
    command = ["embed", "t.csv", "--landmarks", "5", "--novelty", "-o", "o.csv", "--checkpoint", "c.ckpt"]
    article = "a " + kind
    assert f"{name}: it is {article}, not a file" in refusal(capfd, folder, *command)


def test_a_link_under_a_temporary_name_is_not_followed(folder, capfd):
    folder.joinpath(".o.csv.partial").symlink_to("t.csv")
    command = ["embed", "t.csv", "--landmarks", "5", "-o", "o.csv", "--checkpoint", "c.ckpt"]
    assert "is the same file as the input" in refusal(capfd, folder, *command)
    folder.joinpath("other").write_text("mine")
    folder.joinpath(".o.csv.partial").unlink()
    folder.joinpath(".o.csv.partial").symlink_to("other")
    assert ".o.csv.partial: it is a link, not a file" in refusal(capfd, folder, *command)


@pytest.mark.parametrize("kind", ["FIFO", "socket", "folder", "null"])
def test_what_takes_the_place_of_an_output_during_a_run_stays(folder, kind):
    with pytest.raises(OutputError, match="not a file"), atomic.replacing("o.csv") as file:
        file.write(b"rows")
        make("o.csv", kind)
    assert sorted(os.listdir()) == ["o.csv", "t.csv"]
    assert not Path("o.csv").is_file()


def test_what_is_no_file_is_not_opened_as_one(folder):
    make("p", "FIFO")
    with pytest.raises(OutputError, match="it is a FIFO, not a file"):
        open_regular(Path("p"), atomic.REOPENING_FLAGS)


# --- streams ---

STREAMED = {
    "csv": ["-o", "{}.csv"],
    "jsonl": ["-o", "{}.jsonl"],
    "npy": ["-o", "{}.npy"],
    "parquet": ["-o", "{}.parquet"],
    "online": ["--online", "-o", "{}.csv"],
    "landmarks": ["-o", "o.csv", "--landmarks-out", "{}.csv"],
    "alerts": ["-o", "o.csv", "--alert", "1.5", "--alerts", "{}.jsonl"],
    "pdf": ["-o", "o.csv", "--plot", "{}.pdf"],
    "html": ["-o", "o.csv", "--plot", "{}.html"],
    "gif": ["-o", "o.csv", "--animate", "{}.gif", "--animate-frames", "2"],
}


@pytest.mark.parametrize("what", STREAMED)
def test_the_reader_of_a_fifo_gets_the_whole_output(folder, what):
    command = ["embed", "t.csv", "--landmarks", "5"]
    assert main([*command, *(word.format("file") for word in STREAMED[what])]) == 0
    name = next(word for word in STREAMED[what] if word.startswith("{}"))
    os.mkfifo(name.format("pipe"))
    with reader(name.format("pipe")) as found:
        assert main([*command, *(word.format("pipe") for word in STREAMED[what])]) == 0
    assert found == [Path(name.format("file")).read_bytes()]
    assert Path(name.format("pipe")).is_fifo()


def test_a_failed_run_gives_the_reader_of_a_fifo_nothing(folder, capfd):
    os.mkfifo("pipe.csv")
    folder.joinpath("t.csv").write_text(TEXT + "1,2,nan\n")
    with reader("pipe.csv") as found:
        assert main(["embed", "t.csv", "--landmarks", "5", "--online", "-o", "pipe.csv"]) == 2
    assert found == [b""]
    assert "t.csv, line 62" in capfd.readouterr().err


@pytest.mark.parametrize("what", [*STREAMED, "follow"])
def test_the_null_device_takes_everything(folder, monkeypatch, what):
    words = ["embed", "t.csv", "--landmarks", "5", *STREAMED.get(what, [])]
    if what == "follow":
        words = ["follow", "-", "--landmarks", "5", "-o", "{}.csv"]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    name = next(word for word in words if word.startswith("{}")).format("null")
    make(name, "null")
    assert main([word.format("null") for word in words]) == 0
    assert stat.S_ISCHR(os.stat(name).st_mode)


def test_a_map_is_saved_into_a_fifo_as_into_a_file(folder):
    mapper = DriftMap(n_landmarks=5).fit(X)
    mapper.save("m.ckpt")
    os.mkfifo("pipe")
    with reader("pipe") as found:
        mapper.save("pipe")
    assert found == [Path("m.ckpt").read_bytes()]


def start(*words, **options):
    command = [sys.executable, "-m", "driftmap", *words, "--landmarks", "5"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


def test_rows_that_are_followed_reach_the_reader_of_a_fifo_as_they_come(folder):
    os.mkfifo("pipe.csv")
    descriptor = os.open("pipe.csv", os.O_RDONLY | os.O_NONBLOCK)
    process = start("follow", "-", "-o", "pipe.csv", stdin=subprocess.PIPE)
    process.stdin.write(TEXT)
    process.stdin.flush()
    os.set_blocking(descriptor, True)
    with open(descriptor) as pipe:
        while not (line := pipe.readline()):  # it has no writer yet
            assert process.poll() is None
        assert line.startswith("frame,x1,x2")
        for _ in range(len(X) - 1):  # the input is still open
            assert pipe.readline().endswith("\n")
    process.stdin.write("1,2,3\n4,5,6\n")
    _, err = process.communicate()
    assert process.returncode == 2
    assert err.endswith("driftmap: error: pipe.csv: its reader has closed it\n")


def test_a_link_to_standard_output_is_standard_output(folder):
    folder.joinpath("out.csv").symlink_to("/proc/self/fd/1")
    if not os.path.exists("out.csv"):
        pytest.skip("this system does not name the files of a process")
    process = start("embed", "t.csv", "-o", "out.csv", "--quiet", stdout=subprocess.PIPE)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert main(["embed", "t.csv", "--landmarks", "5", "-o", "file.csv"]) == 0
    assert out == Path("file.csv").read_text()


def test_a_stream_counts_what_it_took(folder):
    os.mkfifo("pipe")
    with reader("pipe") as found, open_stream(output_path("pipe")) as stream:
        assert stream.tell() == 0
        stream.write(b"rows")
        assert stream.tell() == 4
        stream.flush()
    assert found == [b"rows"]


# --- what killed runs leave ---


@pytest.mark.parametrize("resume", [False, True])
def test_leftovers_of_a_checkpoint_are_removed_by_resume_only(folder, resume):
    ours, others = ".c.ckpt.0123456789abcdef.tmp", [".c.ckpt.0123.tmp", ".o.csv.0123456789abcdef.tmp"]
    for name in (ours, *others):
        Path(name).write_text("unfinished")
    pipe = ".c.ckpt.fedcba9876543210.tmp"
    os.mkfifo(pipe)
    command = ["embed", "t.csv", "--landmarks", "5", "-o", "o.csv", "--checkpoint", "c.ckpt"]
    assert main([*command, *(["--resume"] if resume else [])]) == 0
    assert Path(ours).exists() != resume
    assert Path(pipe).is_fifo()
    assert all(Path(name).read_text() == "unfinished" for name in others)
    assert checkpoint.read("c.ckpt").header["run"]["stage"] == "finished"
