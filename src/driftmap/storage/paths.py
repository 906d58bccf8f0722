"""Output paths: resolves them, decides what may be written there, and detects that two paths are the same file.

Links are resolved; only the last component of a path may be missing. A new file may replace a regular file. The null
device, standard output and a FIFO with a reader are written as streams. Other targets are refused, since writing to a
device, or replacing it by a file, can destroy data.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

MOST_LINKS = 40
"""Maximum length of a chain of links, as on Linux."""
ATTEMPTS = 10
"""Attempts to resolve a path whose file is being replaced."""
STANDARD_OUTPUT = 1
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFLNK: "a link",
}


class OutputError(OSError):
    """Raised if an output cannot be written to its path; takes errno, reason and path, like ``OSError``."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


@dataclass(frozen=True)
class OutputPath(os.PathLike[str]):
    """The path of an output as the user gave it, and the absolute path to which :func:`output_path` resolved it."""

    shown: str
    true: Path
    """Absolute path in an existing folder; free of links unless the output is a stream."""
    is_stream: bool
    """True if it takes bytes sequentially and cannot be replaced by a file."""

    def __fspath__(self) -> str:
        return str(self.true)

    def __str__(self) -> str:
        return self.shown


def output_path(path: str | os.PathLike[str]) -> OutputPath:
    """Resolve the path of an output, or raise an :class:`OutputError`.

    Open files by the result, so that folders or links which change later do not redirect the output.
    """
    if isinstance(path, OutputPath):
        return path
    for _ in range(ATTEMPTS):  # another process may replace the file in between
        if (found := _resolved(Path(path), str(path))) is not None:
            return found
    raise OutputError(errno.ENOENT, "it leads to a file that has no name", str(path))


def _resolved(given: Path, shown: str) -> OutputPath | None:
    """The output at a path, or None if the path leads to one file and the name found for it to another."""
    found = _status(given)
    if found is not None and not stat.S_ISREG(found.st_mode):
        if not _takes_a_stream(found):
            raise OutputError(errno.EINVAL, f"it is {_kind(found)}, not a file", shown)
        return OutputPath(shown, Path.cwd() / given, is_stream=True)
    true = given
    for _ in range(MOST_LINKS):
        true = _in_true_folder(true, given)
        if not true.is_symlink():
            break
        true = true.parent / os.readlink(true)
    now = _status(true)
    if true.is_symlink() or (now is None) != (found is None) or (now and found and not os.path.samestat(now, found)):
        return None
    return OutputPath(shown, true, is_stream=False)


def _in_true_folder(path: Path, given: Path) -> Path:
    """Resolve links and ``..`` in the folder of a path; the folder must exist (``missing/..`` does not)."""
    try:
        if not stat.S_ISDIR(os.stat(path.parent).st_mode):
            raise NotADirectoryError
        return Path(os.path.realpath(path.parent, strict=True), path.name)
    except (FileNotFoundError, NotADirectoryError):
        reason = f"there is no folder {str(path.parent)!r}"
        raise OutputError(errno.ENOENT, reason, str(given)) from None
    except OSError as error:
        raise OutputError(error.errno, error.strerror, str(given)) from error


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file at a path, or None if it does not exist."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OutputError(error.errno, error.strerror, str(path)) from error


def _kind(found: os.stat_result) -> str:
    return KINDS.get(stat.S_IFMT(found.st_mode), "something else")


def _takes_a_stream(found: os.stat_result) -> bool:
    if stat.S_ISDIR(found.st_mode):
        return False
    if stat.S_ISFIFO(found.st_mode) or _is_standard_output(found):
        return True
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev


def _is_standard_output(found: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(found, os.fstat(STANDARD_OUTPUT))
    return False


def check_replaceable(path: Path) -> None:
    """Raise an error if a path exists and is not a regular file."""
    with contextlib.suppress(FileNotFoundError):
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise OutputError(errno.EINVAL, f"it is {_kind(found)}, not a file", str(path))


def open_regular(path: Path, flags: int) -> BinaryIO:
    """Open a regular file to read and write, with these flags of ``os.open``; refuse anything else unchanged."""
    check_replaceable(path)  # before opening, which can trigger an action of a device
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "r+b")
    os.close(descriptor)
    raise OutputError(errno.EINVAL, "it is not a file", str(path))


class _Stream(io.FileIO):
    """A stream that counts its bytes, and raises an :class:`OutputError` if its reader closes it."""

    def __init__(self, descriptor: int, shown: str) -> None:
        super().__init__(descriptor, "wb")
        self._shown, self._taken = shown, 0

    def write(self, data: Any) -> int:
        try:
            taken = super().write(data)
        except BrokenPipeError:
            raise OutputError(errno.EPIPE, "its reader has closed it", self._shown) from None
        self._taken += taken
        return taken

    def tell(self) -> int:
        return self._taken


def open_stream(path: OutputPath) -> BinaryIO:
    """Open a FIFO with a reader, the null device or standard output for writing."""
    found = os.stat(path)
    if not _takes_a_stream(found):
        raise OutputError(errno.EINVAL, f"it is {_kind(found)} now", path.shown)
    if _is_standard_output(found):
        return io.BufferedWriter(_Stream(os.dup(STANDARD_OUTPUT), path.shown))
    try:
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        unread = error.errno == errno.ENXIO
        reason = "it is a FIFO without a reader: start the reader first" if unread else error.strerror
        raise OutputError(error.errno, reason, path.shown) from error
    if hasattr(os, "set_blocking"):  # wait for a slow reader
        os.set_blocking(descriptor, True)
    return io.BufferedWriter(_Stream(descriptor, path.shown))


def identity(path: str | os.PathLike[str]) -> tuple[int | str, ...]:
    """Return a key that is equal for two paths of the same file: device and inode, or the folder's and the new name.

    Names that differ only in case or Unicode normalisation count as equal, as they are on some file systems.
    """
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    with contextlib.suppress(OSError):
        true = output_path(path).true
        folder = os.stat(true.parent)
        return folder.st_dev, folder.st_ino, unicodedata.normalize("NFC", true.name).casefold()
    return (str(path),)
