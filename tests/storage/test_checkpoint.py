"""Checkpoint files: what was written comes back to the bit, and any damage to a file is reported in one line."""

import errno
import io
import json
import os
import random
import resource
import signal
import zipfile

import numpy as np
import pytest

from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import Checkpoint, CheckpointError, read, write

FLIPS = int(os.environ.get("DRIFTMAP_FLIPS", "500"))
"""Damaged files to try, in each of two ways; 10,000 take 10 seconds."""

HEADER = {"kind": "thing", "name": "größe", "nested": {"a": [1, 2.5, None, True]}}
ARRAYS = {
    "rows": np.random.default_rng(0).standard_normal((50, 3)),
    "ids": np.arange(7, dtype=np.int32),
    "flags": np.array([True, False]),
    "empty": np.empty((0, 3)),
    "one": np.array(2.5),
}


@pytest.fixture
def file(tmp_path):
    write(tmp_path / "c.ckpt", HEADER, ARRAYS)
    return tmp_path / "c.ckpt"


def assert_same(found: Checkpoint, header=HEADER, arrays=ARRAYS):
    assert {key: found.header[key] for key in header} == header
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        assert (found.arrays[name].dtype, found.arrays[name].shape) == (array.dtype, array.shape)
        assert found.arrays[name].tobytes() == array.tobytes()
        assert found.arrays[name].flags.writeable


def refusal(path):
    with pytest.raises(CheckpointError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def test_what_was_written_comes_back_to_the_bit(file):
    assert_same(read(file))
    found = read(file).header
    assert (found["format"], found["version"], found["kind"]) == ("driftmap checkpoint", 3, "thing")


def test_the_same_content_gives_the_same_bytes_and_no_other_file_is_left(file):
    before = file.read_bytes()
    write(file, HEADER, ARRAYS)
    assert file.read_bytes() == before
    found = read(file)
    write(file, found.header, found.arrays)
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_the_arrays_are_an_npz_that_numpy_reads(file):
    with np.load(file, allow_pickle=False) as loaded:
        np.testing.assert_array_equal(loaded["rows"], ARRAYS["rows"])


def test_the_size_is_as_stated(file):
    text = zipfile.ZipFile(file).read(checkpoint.HEADER)
    content = sum(array.nbytes for array in ARRAYS.values()) + len(text)
    assert 0 < file.stat().st_size - content < 400 * (len(ARRAYS) + 1)


def test_numbers_of_another_byte_order_or_layout_are_portable(tmp_path):
    rows = ARRAYS["rows"]
    write(tmp_path / "c", {}, {"big": rows.astype(">f8"), "columns": np.asfortranarray(rows), "part": rows[::2, 1:]})
    found = read(tmp_path / "c").arrays
    assert all(array.dtype == np.float64 for array in found.values())
    np.testing.assert_array_equal(found["big"], rows)
    np.testing.assert_array_equal(found["columns"], rows)
    np.testing.assert_array_equal(found["part"], rows[::2, 1:])
    assert b">f8" not in (tmp_path / "c").read_bytes()


@pytest.mark.parametrize("array", [np.array([{}]), np.array(["a"]), np.array([1j]), np.array(["2020"], "M8[Y]")])
def test_only_plain_numbers_are_written(tmp_path, array):
    with pytest.raises(TypeError, match="array 'x' has type"):
        write(tmp_path / "c", {}, {"x": array})
    assert os.listdir(tmp_path) == []


def test_a_header_that_is_no_json_changes_nothing(file):
    before = file.read_bytes()
    with pytest.raises(TypeError):
        write(file, {"x": object()}, {})
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


# --- writing that fails ---


def test_a_full_disk_leaves_the_old_checkpoint_and_nothing_else(file):
    before = file.read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(
            CheckpointError, match="cannot be written: File too large; the checkpoint written before is"
        ):
            write(file, {}, {"x": np.zeros(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_whatever_step_fails_the_old_checkpoint_stays(file, monkeypatch, step):
    def fail(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = file.read_bytes()
    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (checkpoint.Path, "replace")), fail)
    with pytest.raises(CheckpointError, match=r"c\.ckpt cannot be written: No space left on device; the checkpoint"):
        write(file, {}, {"x": np.zeros(3)})
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_places_where_nothing_can_be_written(tmp_path):
    with pytest.raises(CheckpointError, match="there is no folder"):
        write(tmp_path / "no" / "c", {}, {})
    with pytest.raises(CheckpointError, match="it is a folder"):
        write(tmp_path, {}, {})
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if not os.access(locked, os.W_OK):
        with pytest.raises(CheckpointError, match="Permission denied"):
            write(locked / "c", {}, {})


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", HEADER, ARRAYS)
    assert (tmp_path / "link").is_symlink()
    assert_same(read(tmp_path / "real"))


# --- files that are no checkpoints, or not whole ---


def test_foreign_files(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a", "b")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "p").write_bytes(b"\x80\x04cos\nsystem\n(S'false'\ntR.")
    for name in ("other.npz", "other.zip", "t.csv", "p"):
        assert refusal(tmp_path / name).endswith("is not a Driftmap checkpoint")
    (tmp_path / "empty").touch()
    assert refusal(tmp_path / "empty").endswith("is empty")
    assert refusal(tmp_path / "nothing").endswith("cannot be read: No such file or directory")
    assert refusal(tmp_path).endswith("is not a file")
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe").endswith("is not a file")


def test_any_flipped_bit_and_any_cut_is_noticed(file):
    """Nothing is spared: flips hit the header, the arrays and the archive's own fields alike."""
    whole, rng = file.read_bytes(), random.Random(1)
    for number in range(FLIPS):
        data = bytearray(whole)
        if number % 3 == 0:
            data = data[: rng.randrange(len(data))]
        elif number % 3 == 1:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        else:
            first, length = rng.randrange(len(data)), rng.randrange(1, 200)
            data[first : first + length] = rng.randbytes(rng.randrange(200))
        if bytes(data) != whole:
            file.write_bytes(data)
            refusal(file)


def signed(data):
    """A file with its checksum put right, as somebody would who means harm."""
    stream = io.BytesIO(data)
    stream.seek(0)
    digest = checkpoint._digest(stream)
    return data[: -len(digest)] + digest


def test_damage_under_a_valid_checksum_is_refused_or_harmless(file):
    whole, rng = file.read_bytes(), random.Random(2)
    for _ in range(FLIPS):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            # in the archive's fields, NPY headers, and numbers, of which the archive has checksums
            place = rng.randrange(len(data) - 71)
            data[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, data[place] ^ 1 << rng.randrange(8)])
        file.write_bytes(signed(bytes(data)))
        try:
            found = read(file)
        except CheckpointError:
            continue
        assert_same(found)


def forged(path, change, arrays=ARRAYS):
    """A checkpoint in good order, but for what ``change`` does to its header."""
    header = json.loads(zipfile.ZipFile(path).read(checkpoint.HEADER))
    header = change(header) or header
    with path.open("w+b") as stream:
        checkpoint._fill(stream, json.dumps(header).encode(), arrays)
    return path


def test_a_newer_version_says_to_upgrade(file):
    forged(file, lambda header: header.update(version=4, library="9.1"))
    assert "was written by driftmap 9.1 in version 4" in refusal(file)
    assert "upgrade" in refusal(file)


def test_a_file_of_version_2_is_read(file):
    """It also states a CRC-32 of each array, which the digest over all bytes makes redundant."""
    forged(file, lambda header: header.update(version=2) or header["members"]["ids"].update(crc32=1))
    found = read(file)
    assert_same(found)
    assert found.header["version"] == 2


def test_an_older_version_is_refused_by_name(file):
    forged(file, lambda header: header.update(version=1, library="0.1"))
    assert "was written by driftmap 0.1 in version 1 of the format" in refusal(file)


def test_headers_that_lie(file):
    original = file.read_bytes()
    lies = [
        lambda h: h.update(version="1"),
        lambda h: h.update(version=True),
        lambda h: h.update(version=0),
        lambda h: h.pop("version") and None,
        lambda h: h.pop("members") and None,
        lambda h: h.update(members=[]),
        lambda h: h.update(members={}),
        lambda h: h["members"].pop("ids") and None,
        lambda h: h["members"].update(more=h["members"]["ids"]),
        lambda h: h["members"]["ids"].update(dtype="|O"),
        lambda h: h["members"]["ids"].update(dtype="<U9"),
        lambda h: h["members"]["ids"].update(dtype=["<i4"]),
        lambda h: h["members"]["ids"].update(dtype="<f4"),
        lambda h: h["members"]["ids"].update(shape=[10**15]),
        lambda h: h["members"]["ids"].update(shape=[-7]),
        lambda h: h["members"]["ids"].update(shape=7),
        lambda h: h["members"]["ids"].update(shape=[7.0]),
        lambda h: list(h),
    ]
    for lie in lies:
        file.write_bytes(original)
        refusal(forged(file, lie))
    file.write_bytes(original)
    assert_same(read(forged(file, lambda h: None)))


def crafted(path, npy: bytes, dtype, shape):
    """A checkpoint whose checksums are right and whose only array is whatever the bytes say."""
    stated = {"dtype": dtype, "shape": shape}
    header = {"format": checkpoint.FORMAT, "version": checkpoint.FORMAT_VERSION, "members": {"x": stated}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = checkpoint.COMMENT
        archive.writestr(checkpoint.HEADER, json.dumps(header))
        archive.writestr("x.npy", npy)
    path.write_bytes(signed(path.read_bytes()))
    return path


def test_an_array_that_claims_more_than_the_file_holds_asks_for_no_memory(tmp_path):
    npy = io.BytesIO()
    shape = (10**12, 3)
    np.lib.format.write_array_header_1_0(npy, {"descr": "<f8", "fortran_order": False, "shape": shape})
    message = refusal(crafted(tmp_path / "c", npy.getvalue(), "<f8", list(shape)))
    assert "has the wrong size for its shape" in message


@pytest.mark.parametrize("stated", ["|O", "<f8"])
def test_objects_are_never_unpickled(tmp_path, stated):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "ran"),))

    npy = io.BytesIO()
    np.lib.format.write_array(npy, np.array([Evil()], dtype=object), allow_pickle=True)
    refusal(crafted(tmp_path / "c", npy.getvalue(), stated, [1]))
    assert not (tmp_path / "ran").exists()
