"""Atomic writes: under its name a file is either the old one or the complete new one, also after a crash.

The new content goes to a temporary file in the same folder. Its name is unpredictable and its creation exclusive, so
neither another writer nor a planted link can come in between. File and folder are synced before and after the rename.
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
"""Hexadecimal digits that make a temporary name unpredictable."""
FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""How a file is created that must not be there, and no link followed."""
REOPENING_FLAGS = FLAGS & ~os.O_EXCL
"""How a file is opened or created where an interrupted run or download may have left it."""


_unfinished: set[Path] = set()
"""Temporary files and folders of this process."""


def remove_unfinished() -> None:
    """Remove all temporary files and folders of this process, which is about to end at once."""
    for place in list(_unfinished):
        with contextlib.suppress(OSError):
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink()


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder that is removed at the end."""
    place = Path(tempfile.gettempdir(), f"driftmap-{os.urandom(TOKEN // 2).hex()}")
    _unfinished.add(place)  # before it is there, so that a signal in between leaves nothing behind
    try:
        place.mkdir(mode=0o700)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        _unfinished.discard(place)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that replaces ``path`` if the block ends well and is removed otherwise.

    Until the block ends, :func:`remove_leftovers` leaves the file alone. A stream is given the content at the end; it
    is opened now, so that its reader waits for that.
    """
    output = output_path(path)
    if output.is_stream:
        with open_stream(output) as stream, tempfile.TemporaryFile() as content:
            yield content
            content.seek(0)
            shutil.copyfileobj(content, stream)
        return
    target = output.true  # a link stays a link to the new file
    place = target.with_name(f".{target.name}.{os.urandom(TOKEN // 2).hex()}.tmp")
    _unfinished.add(place)  # before it is there, so that a signal in between leaves nothing behind
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
                with contextlib.suppress(OSError):  # what is still buffered may not fit on the disk
                    file.close()
                raise
    finally:
        _unfinished.discard(place)


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove the temporary files that killed processes left in a folder: those for a file of this name, or for any.

    Files with names that :func:`replacing` does not give are left alone, and so are those that are still being written.
    """
    ours = re.compile(rf"\.{re.escape(name) or '.+'}\.[0-9a-f]{{{TOKEN}}}\.tmp")
    with contextlib.suppress(OSError):
        for place in [folder / found for found in os.listdir(folder) if ours.fullmatch(found)]:
            with contextlib.suppress(OSError), open_regular(place, REOPENING_FLAGS & ~os.O_CREAT) as file:
                if lock(file):
                    place.unlink()


def partial(output: OutputPath) -> Path:
    """The unfinished file from which an output will be made."""
    return output.true.with_name(f".{output.true.name}.partial")


def sync(file: BinaryIO) -> None:
    """Make sure that the content of a file outlives a power failure."""
    file.flush()
    os.fsync(file.fileno())


def publish(unfinished: Path, target: Path) -> None:
    """Give a synced file in the same folder its final name, and make sure that the name outlives a power failure.

    A file that has the name already keeps it, and only the folder is synced. Only a regular file is replaced.
    """
    check_replaceable(target)
    unfinished.replace(target)
    if hasattr(os, "O_DIRECTORY"):  # elsewhere folders cannot be opened, and need not be
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock(file: BinaryIO) -> bool:
    """Lock a file for this process as long as it is open; false if another process holds the lock."""
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
