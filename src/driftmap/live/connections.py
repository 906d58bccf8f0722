"""Limits on the server's connections, so that clients cannot exhaust the file descriptors of the watched run."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

MOST_CONNECTIONS = 200
MOST_STRANGERS = 32
PATIENCE = 20.0
"""Seconds allowed for the first request, between requests, and for the first message of a WebSocket."""
BACKLOG = 8
"""Connections accepted in one pass of the event loop; each takes a descriptor before any can be closed."""
QUEUE = 1024
"""Connections that the kernel queues; they take no descriptor until accepted."""

Peer = tuple[str, int] | None
"""The address of the other end of a connection."""


class Connection(NamedTuple):
    """An open connection and the timer that closes it."""

    transport: asyncio.Transport
    timer: asyncio.TimerHandle


class Connections:
    """Limits the connections of a server. A stranger is a connection without an accepted request so far.

    When a limit is reached, the oldest stranger is closed; legitimate clients stay strangers for milliseconds only.
    Connections take at most a quarter of the process's file descriptors, and never one of the highest quarter, which
    is reserved for the run.
    """

    def __init__(self) -> None:
        limit = 1024 if resource is None else resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        limit = 2**20 if limit < 0 else limit  # RLIM_INFINITY
        self._most, self._highest = min(MOST_CONNECTIONS, limit // 4), limit - limit // 4
        self._strangers: dict[Peer, Connection] = {}
        self._known: dict[Peer, Connection] = {}

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def admit(self, peer: Peer, transport: asyncio.Transport) -> None:
        """Accept a new connection, or close it if the limits are reached."""
        for connections in (self._strangers, self._known):
            for other in [other for other, (known, _) in connections.items() if known.is_closing()]:
                connections.pop(other).timer.cancel()
        is_full = len(self) >= self._most or transport.get_extra_info("socket").fileno() >= self._highest
        if is_full or len(self._strangers) >= MOST_STRANGERS:
            oldest = next(iter(self._strangers), None)
            if oldest is None:
                transport.abort()
                return
            gone = self._strangers.pop(oldest)
            gone.timer.cancel()
            gone.transport.abort()
        self._strangers[peer] = Connection(transport, _deadline(transport))

    def welcome(self, peer: Peer, *, lasting: bool) -> None:
        """Mark a connection as known after an accepted request; ``lasting``: it stays open without further requests."""
        found = self._strangers.pop(peer, None) or self._known.get(peer)
        if found is None:
            return
        found.timer.cancel()
        self._known[peer] = found if lasting else found._replace(timer=_deadline(found.transport))

    def protocol(self) -> type[asyncio.Protocol]:
        """Return the protocol class for uvicorn that applies these limits."""
        admit = self.admit

        class Guarded(H11Protocol):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                admit(self.client, transport)

        return Guarded


def _deadline(transport: asyncio.Transport) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(PATIENCE, transport.abort)
