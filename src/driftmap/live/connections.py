"""The connections of the server: few strangers, none for long, and descriptors to spare for the run that is watched."""

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
"""Seconds for the first request, until the next one, and for the first message of a WebSocket."""
BACKLOG = 8
"""Connections that are accepted together, each with a descriptor, before the first of them can be closed."""
QUEUE = 1024
"""Connections that wait to be accepted, without a descriptor."""

Peer = tuple[str, int] | None
"""The other end of a connection."""


class Connection(NamedTuple):
    """An open connection; the timer closes it."""

    transport: asyncio.Transport
    timer: asyncio.TimerHandle


class Connections:
    """Limits the connections of a server. A stranger is one that has made no request yet that was let in.

    If there are too many, the oldest stranger has to go: an honest one stays a stranger for milliseconds. At most a
    quarter of the descriptors of the process are for connections, and the last quarter of their numbers for the run.
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
        """Take in a new connection, or close it."""
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
        """A request of a connection was let in; ``lasting``: the connection may stay open without further ones."""
        found = self._strangers.pop(peer, None) or self._known.get(peer)
        if found is None:
            return
        found.timer.cancel()
        self._known[peer] = found if lasting else found._replace(timer=_deadline(found.transport))

    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol of these connections, for uvicorn."""
        admit = self.admit

        class Guarded(H11Protocol):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                admit(self.client, transport)

        return Guarded


def _deadline(transport: asyncio.Transport) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(PATIENCE, transport.abort)
