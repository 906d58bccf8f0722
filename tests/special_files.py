"""What is no file, made in a folder of a test: FIFOs, sockets, device nodes; and what a command has changed there."""

import contextlib
import os
import socket
import stat
import threading

UNASSIGNED = os.makedev(4000, 1)
"""The number of a device that no system has."""


def make(path, kind):
    """Something that is no file; an ``OSError`` where the user may not make device nodes."""
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
            server.bind(os.fspath(path))
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "block device":
        os.mknod(path, stat.S_IFBLK | 0o600, UNASSIGNED)
    else:
        number = {"null": os.makedev(1, 3), "character device": UNASSIGNED}[kind]
        os.mknod(path, stat.S_IFCHR | 0o600, number)


REFUSED = {
    "FIFO": "it is a FIFO without a reader: start the reader first",
    "socket": "it is a socket, not a file",
    "folder": "it is a folder, not a file",
    "block device": "it is a block device, not a file",
    "character device": "it is a character device, not a file",
}


def contents(folder):
    """Names, what they are, and the bytes of files."""
    found = {path: path.lstat() for path in sorted(folder.rglob("*"))}
    return {
        path.name: (status.st_mode, status.st_ino, path.read_bytes() if stat.S_ISREG(status.st_mode) else None)
        for path, status in found.items()
    }


@contextlib.contextmanager
def reader(path):
    """What another program reads from a FIFO, as a list that is filled at the end."""
    found = []
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(path, os.O_WRONLY)  # so that there is no end before there is a writer
    os.set_blocking(reading, True)
    pipe = os.fdopen(reading, "rb")
    thread = threading.Thread(target=lambda: found.append(pipe.read()))
    thread.start()
    try:
        yield found
    finally:
        os.close(writing)
        thread.join()
        pipe.close()
