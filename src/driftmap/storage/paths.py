"""Output paths: where they lead, what may be written there, and when two of them are the same file.

The system resolves a path, and links in it, while the folders are there; a name that does not exist yet is its folder
and a name. A new file may take the place of a regular file or of nothing. The null device, standard output and a FIFO
with a reader take what is written as a stream. Everything else is refused: writing to a device can destroy what lies
behind it, and so can putting a file in its place.
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
"""Links that lead from a name to the next, at most; Linux follows as many."""
ATTEMPTS = 10
"""Attempts to resolve a path whose file is replaced again and again."""
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
    """An output that cannot be written where its path leads; made like an ``OSError``, of number, reason and path."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


@dataclass(frozen=True)
class OutputPath(os.PathLike[str]):
    """An output as the user named it, and the absolute path to which that led when :func:`output_path` was called."""

    shown: str
    true: Path
    """The path of a file is free of links; its folder exists."""
    is_stream: bool
    """Whether it takes bytes one after the other, and nothing can be put in its place."""

    def __fspath__(self) -> str:
        return str(self.true)

    def __str__(self) -> str:
        return self.shown


def output_path(path: str | os.PathLike[str]) -> OutputPath:
    """Resolve a path to which something will be written, or raise an :class:`OutputError`.

    Files are opened by the result, so that a folder or link which appears later leads nowhere else.
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
    """The same name in a folder without links or ``..``; the folder must exist, as ``missing/..`` does not."""
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
    """What is at a path, or None if nothing is there."""
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
    """Raise unless a regular file or nothing has this name."""
    with contextlib.suppress(FileNotFoundError):
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise OutputError(errno.EINVAL, f"it is {_kind(found)}, not a file", str(path))


def open_regular(path: Path, flags: int) -> BinaryIO:
    """Open a file to read and write, with these flags of ``os.open``; what is no regular file is refused unharmed."""
    check_replaceable(path)  # before it is opened, which a device may take for a command
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "r+b")
    os.close(descriptor)
    raise OutputError(errno.EINVAL, "it is not a file", str(path))


class _Stream(io.FileIO):
    """A stream that knows how many bytes it took, and for which a reader that leaves is an error as any other."""

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
    """Open a FIFO that has a reader, the null device or standard output, to write to it."""
    found = os.stat(path)
    if not _takes_a_stream(found):
        raise OutputError(errno.EINVAL, f"it is {_kind(found)} now", path.shown)
    if _is_standard_output(found):
        return io.BufferedWriter(_Stream(os.dup(STANDARD_OUTPUT), path.shown))
    try:
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        unread = error.errno == errno.ENXIO
        reason = "it is a FIFO that nothing reads: start its reader first" if unread else error.strerror
        raise OutputError(error.errno, reason, path.shown) from error
    if hasattr(os, "set_blocking"):  # a slow reader is waited for
        os.set_blocking(descriptor, True)
    return io.BufferedWriter(_Stream(descriptor, path.shown))


def identity(path: str | os.PathLike[str]) -> tuple[int | str, ...]:
    """What two names of the same file have in common: device and inode, or the folder's and the name before it exists.

    Names that differ only in case or in the form of their accents count as the same: on some file systems they are.
    """
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    with contextlib.suppress(OSError):
        true = output_path(path).true
        folder = os.stat(true.parent)
        return folder.st_dev, folder.st_ino, unicodedata.normalize("NFC", true.name).casefold()
    return (str(path),)
