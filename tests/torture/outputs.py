"""Outputs that are no files, or lead to an input: they stay as they are, and a stream gets what a file would."""

import contextlib
import os

from driftmap.tables.formats import OUTPUTS
from special_files import REFUSED, contents, make, reader
from torture.inputs import embed
from torture.processes import KINDS, options, without_warnings, write_input

OPTIONS = {
    "-o": list(OUTPUTS),
    "--landmarks-out": list(OUTPUTS),
    "--plot": [".html"],
    "--checkpoint": [".ckpt"],
}
ASTRAY = ["missing/../{}", "{0}/../{0}", "link", "dangling", "hard", "sub/../{}", "up/sub/{}", "circle"]
"""Names of the input, or of nothing."""


def run(case):
    rng, folder = case.rng, case.folder
    online, rows = case.chance(0.3), rng.randint(50, 200)
    source = write_input(case, rows, rng.choice(KINDS))
    command = [folder / source[0], *source[1:], *options(case, online=online)]
    option = rng.choice(["-o", "-o", *({} if online else OPTIONS)])
    suffix = rng.choice(OPTIONS[option])
    case.count(streams=1, arrivals=rows)
    if option != "-o":
        command += ["-o", folder / "o.csv"]
    elif OUTPUTS[suffix].continues and case.chance(0.3):
        command += ["--checkpoint", folder / "c.ckpt"]
    kind = rng.choice(["astray", "reader", "null", "temporary", *REFUSED])
    if kind == "astray":
        astray(case, source[0], command, option, suffix)
    elif kind == "temporary":
        temporary(case, command)
    elif kind in ("reader", "null"):
        streamed(case, command, option, folder / f"special{suffix}", kind)
    elif made(folder / f"special{suffix}", kind):
        said = refused(case, [*command, option, folder / f"special{suffix}"])
        assert REFUSED[kind] in said or "it is not a file" in said, said


def astray(case, source, command, option, suffix):
    """The input under another name, or a path that leads nowhere."""
    folder = case.folder
    path = folder / f"name{suffix}"
    (folder / "sub").mkdir()
    (folder / "sub" / "up").symlink_to("..")
    (folder / "up").symlink_to("sub/up")
    target = case.rng.choice(ASTRAY).format(source)
    if target == "hard":
        os.link(folder / source, path)
    elif target == "circle":
        path.symlink_to(path.name)
    else:
        (folder / "link").symlink_to(source)
        (folder / "dangling").symlink_to(f"missing/../{source}")
        path.symlink_to(target.replace("up/sub/", "up/sub/up/"))
    err = refused(case, [*command, option, path])
    assert "is the same file as the input" in err or "there is no folder" in err or "symbolic links" in err, err


def temporary(case, command):
    """Something under the name of an unfinished file."""
    path = case.folder / "new.csv"
    if made(path.with_name(f".{path.name}.partial"), case.rng.choice([kind for kind in REFUSED if kind != "folder"])):
        assert "not a file" in refused(case, [*command, "-o", path, "--checkpoint", case.folder / "new.ckpt"])


def streamed(case, command, option, path, kind):
    """A stream gets the bytes of a file, once the run has succeeded."""
    if option == "--checkpoint" or "--checkpoint" in command:
        if made(path, "FIFO" if kind == "reader" else kind):
            assert "a run with --checkpoint could not go on" in refused(case, [*command, option, path])
        return
    file = path.with_name(f"file{path.suffix}")
    code, err = embed([*command, option, file])
    assert code == 0, err
    if not made(path, "FIFO" if kind == "reader" else kind):
        return
    before = path.lstat()
    with reader(path) if kind == "reader" else contextlib.nullcontext() as found:
        code, err = embed([*command, option, path])
    assert code == 0, err
    assert os.path.samestat(before, path.lstat())
    assert found in (None, [file.read_bytes()])


def made(path, kind):
    """Whether the user may make such a thing."""
    try:
        make(path, kind)
    except OSError:
        return False
    return True


def refused(case, command):
    """The one line of a command that changes nothing."""
    before = contents(case.folder)
    code, err = embed(command)
    assert code == 2, err
    assert err.count("driftmap: error: ") == without_warnings(err).count("\n") == 1, err
    after = contents(case.folder)
    assert after == before, sorted(set(after) ^ set(before))
    case.count(refused=1)
    return err
