"""Strangers at the door of the live view: many connections that each send half a header."""

import contextlib
import http.client
import socket
from urllib.parse import urlsplit

import numpy as np

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@contextlib.contextmanager
def crowd(port, n, said=HALF):
    """Open some half-open connections, and say how many; this process may have fewer descriptors than that."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = limits[1] if limits[1] >= 0 else 2**20
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(limits[0], n + 200), hard), limits[1]))
    opened = []
    try:
        for _ in range(n):
            try:
                stranger = socket.create_connection(("127.0.0.1", port), 5)
            except OSError:
                break
            opened.append(stranger)
            with contextlib.suppress(OSError):
                stranger.sendall(said)
        yield len(opened)
    finally:
        for stranger in opened:
            stranger.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def get(address, **headers):
    """The response of the server of an address."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request("GET", f"/?{parts.query}", headers={"Host": parts.netloc, **headers})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def write_rows(path, n, seed=0):
    """Append rows to a table, with its header first."""
    begins = not path.exists()
    with path.open("a") as file:
        file.write("x,y,z\n" if begins else "")
        for a, b, c in np.random.default_rng(seed).standard_normal((n, 3)).round(4):
            file.write(f"{a},{b},{c}\n")
