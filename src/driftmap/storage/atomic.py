"""Atomic writes: a path leads to either the old file or the complete new one, even after a crash.

New content goes to a temporary file in the same folder. Its name is unpredictable and its creation exclusive, so that
neither another writer nor a planted link can interfere. The file is synced before the rename, the folder after it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from driftmap.storage.paths import OutputPath, check_replaceable, open_regular, open_stream, output_path

TOKEN = 16
"""Number of random hexadecimal digits in a temporary name."""
FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags to create a file that must not exist, without following links."""
REOPENING_FLAGS = FLAGS & ~os.O_EXCL
"""Flags to open or create a file that an interrupted run or download may have left."""


_unfinished: set[Path] = set()
"""Temporary files and folders of this process."""


def remove_unfinished() -> None:
    """Remove all temporary files and folders of this process, just before it exits without cleanup."""
    for place in list(_unfinished):
        with contextlib.suppress(OSError):
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink()


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder, and remove it at the end."""
    place = Path(tempfile.gettempdir(), f"driftmap-{os.urandom(TOKEN // 2).hex()}")
    _unfinished.add(place)  # before it is created, so that a signal handler can always remove it
    try:
        place.mkdir(mode=0o700)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        _unfinished.discard(place)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a new file that replaces ``path`` if the block succeeds and is removed otherwise.

    During the block, :func:`remove_leftovers` skips the file. A stream is opened immediately, so that its reader waits,
    and receives the content at the end.
    """
    output = output_path(path)
    if output.is_stream:
        with open_stream(output) as stream, tempfile.TemporaryFile() as content:
            yield content
            content.seek(0)
            shutil.copyfileobj(content, stream)
        return
    target = output.true  # a link is kept, and leads to the new file
    place = target.with_name(f".{target.name}.{os.urandom(TOKEN // 2).hex()}.tmp")
    _unfinished.add(place)  # before it is created, so that a signal handler can always remove it
    try:
        with open(place, "w+b", opener=lambda name, flags: os.open(name, FLAGS, 0o666)) as file:
            lock(file)
            try:
                yield file
                sync(file)
                publish(place, target)
            except BaseException:
                with contextlib.suppress(OSError):
                    if os.path.samestat(os.lstat(place), os.fstat(file.fileno())):
                        place.unlink()
                with contextlib.suppress(OSError):  # flushing may fail on a full disk
                    file.close()
                raise
    finally:
        _unfinished.discard(place)


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove temporary files that killed processes left in a folder, for the file ``name`` or for all files.

    Only files with names from :func:`replacing` are removed, except those still being written.
    """
    ours = re.compile(rf"\.{re.escape(name) or '.+'}\.[0-9a-f]{{{TOKEN}}}\.tmp")
    with contextlib.suppress(OSError):
        for place in [folder / found for found in os.listdir(folder) if ours.fullmatch(found)]:
            with contextlib.suppress(OSError), open_regular(place, REOPENING_FLAGS & ~os.O_CREAT) as file:
                if lock(file):
                    place.unlink()


def partial(output: OutputPath) -> Path:
    """Return the path of the unfinished file of an output."""
    return output.true.with_name(f".{output.true.name}.partial")


def sync(file: BinaryIO) -> None:
    """Make the content of a file survive a power failure."""
    file.flush()
    os.fsync(file.fileno())


def publish(unfinished: Path, target: Path) -> None:
    """Rename a synced file to its final name in the same folder, and make the name survive a power failure.

    With equal paths, only the folder is synced. Only a regular file is replaced.
    """
    check_replaceable(target)
    unfinished.replace(target)
    if hasattr(os, "O_DIRECTORY"):  # other systems cannot sync folders
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock(file: BinaryIO) -> bool:
    """Lock a file for this process while it is open; return False if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
