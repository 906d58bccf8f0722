"""Redis streams (``redis://host/stream``): entries by XREAD; the position is the last id and the number of entries.

Redis does not store the creation time of a stream, but counts and ids that only grow (:class:`StreamState`). One case
escapes them: a stream that was deleted, refilled beyond all that was read, and then trimmed by exactly that number of
entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.base import SEND_TIMEOUT, Broker, Message, Record, Sink
from driftmap.sources.brokers.connection import WAIT_SECONDS, LostError, digest, require
from driftmap.utils.errors import InputError

COUNTED_AT_ONCE = 1000


@dataclass(frozen=True)
class StreamState:
    """What Redis knows of a stream. All fields except ``length`` only grow, unless the stream is replaced."""

    added: int
    """Number of all entries ever added."""
    length: int
    last: str
    """The id of the last entry added."""
    deleted: str
    """The largest id that XDEL has removed; ``0-0`` if none."""
    first: str
    """The id of the first present entry; ``0-0`` if the stream is empty."""

    @property
    def removed(self) -> int:
        """Number of all removed entries, by XTRIM from the front or by XDEL anywhere."""
        return self.added - self.length


class Mark(NamedTuple):
    """The last entry read."""

    id: str
    read: int
    """Its number among all entries ever added."""
    digest: str
    stream: StreamState
    """The state of the stream when it was read."""


def order(entry: str) -> tuple[int, int]:
    """Return an id as numbers, for comparisons.

    >>> order("5-10") > order("5-9")
    True
    """
    first, _, second = entry.partition("-")
    return int(first), int(second or 0)


class RedisStream(Broker):
    """Entries of a stream. The field ``data`` of an entry is its row; without it, the fields are the row."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._redis = require("redis", "redis")
        self._client: Any = None
        self._mark: Mark | None = None

    def _open(self, position: Any) -> None:
        address = self.address
        self._mark = None if position == 0 else self._mark_of(position)
        self._client = self._redis.Redis(
            address.host, address.port_number, username=address.user, password=address.password, socket_timeout=10,
            decode_responses=False,
        )  # fmt: skip
        self._request(1)

    def _mark_of(self, position: Any) -> Mark:
        known = self._identified(position, "id", "read", "digest", "stream")
        return Mark(known["id"], int(known["read"]), known["digest"], StreamState(**known["stream"]))

    def _poll(self, limit: int) -> list[Message]:
        state, entries = self._request(limit)
        if not entries:  # wait for an entry; the next request reads it together with the state of the stream
            after = "0" if self._mark is None else self._mark.id
            self._guarded(lambda: self._client.xread({self.address.stream: after}, 1, int(1000 * WAIT_SECONDS)))
            return []
        before = state.removed if self._mark is None else self._mark.read  # the beginning is the first present entry
        entry, fields = entries[-1]
        self._mark = Mark(entry.decode(), before + len(entries), _digest(entry, fields), state)
        position = {**self._mark._asdict(), "stream": asdict(state)}
        return [Message(_payload(fields), position) for _, fields in entries]

    def where(self, position: Any, ahead: int) -> str:
        """Return where to find a row: the number of entries after a known one."""
        return self.name if position == 0 else f"{self.name}, entry {ahead + 1} after {position['id']}"

    def _request(self, limit: int) -> tuple[StreamState, list[tuple[bytes, dict[bytes, bytes]]]]:
        """Return the state of the stream and the next entries, read together, after checking that none is missing."""
        stream, mark = self.address.stream, self._mark
        with self._client.pipeline(transaction=True) as pipeline:
            pipeline.xinfo_stream(stream)
            pipeline.xrange(stream, "-" if mark is None else mark.id, "+", limit + 1)
            info, entries = self._guarded(pipeline.execute)
        if "entries-added" not in info:
            raise InputError("needs Redis 7 or later, which counts the entries of a stream", source=self.name)
        state = StreamState(
            int(info["entries-added"]), int(info["length"]), info["last-generated-id"].decode(),
            info["max-deleted-entry-id"].decode(), info["recorded-first-entry-id"].decode(),
        )  # fmt: skip
        if mark is not None:
            whole = len(entries) <= limit
            found = None
            if entries and entries[0][0].decode() == mark.id:
                found, entries = _digest(*entries[0]), entries[1:]
            if is_replaced(mark, state, found):
                raise self._replaced(f"row {mark.read:,} (entry {mark.id})")
            self._check_contiguity(mark, state, len(entries) if whole else None)
        return state, entries[:limit]

    def _check_contiguity(self, mark: Mark, state: StreamState, present: int | None) -> None:
        """Raise an error unless all entries after the last one read exist; ``present`` is their number, if known."""
        after = order(mark.id)
        if state.length == 0 or order(state.first) > after:
            present = state.length
        elif present is None:
            if state.removed == mark.stream.removed or order(state.deleted) <= after:
                return  # nothing, or only entries up to the last one read, was removed since
            present = self._count(mark.id, state.last)
        missing = state.added - mark.read - present
        if missing < 0:
            raise self._replaced(f"row {mark.read:,} (entry {mark.id})")
        if missing and order(state.deleted) <= after:
            raise self._gone(mark.read + 1, mark.read + missing)
        if missing:
            which = f" (one has the id {state.deleted})" if state.deleted != mark.stream.deleted else ""
            problem = f": {missing:,} of the rows after row {mark.read:,} (entry {mark.id}) were deleted{which}"
            raise self._start_again(f"{problem} and not read")

    def _count(self, after: str, last: str) -> int:
        """Return the number of entries between two ids, including the last."""
        found = 0
        while True:
            entries = self._guarded(
                lambda start=f"({after}": self._client.xrange(self.address.stream, start, last, COUNTED_AT_ONCE)
            )
            found += len(entries)
            if len(entries) < COUNTED_AT_ONCE:
                return found
            after = entries[-1][0].decode()

    def _guarded(self, request: Any) -> Any:
        errors = self._redis.exceptions
        try:
            return request()
        except (errors.AuthenticationError, errors.AuthorizationError) as error:
            raise InputError(f"refuses access: {error}", source=self.name) from error
        except (errors.ConnectionError, errors.TimeoutError, errors.BusyLoadingError) as error:
            raise LostError(str(error)) from error
        except errors.ResponseError as error:
            if "no such key" not in str(error):
                raise InputError(f"refuses: {error}", source=self.name) from error
            if self._mark is None:
                raise InputError("has no such stream", source=self.name) from error
            problem = f" was read up to row {self._mark.read:,} (entry {self._mark.id}), but was deleted"
            raise self._start_again(problem) from error

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()


class RedisSink(Sink):
    """Entries of a stream with the fields ``id`` and ``data``."""

    def _open(self) -> None:
        redis, address = require("redis", "redis"), self.address
        self._errors = redis.exceptions
        self._client = redis.Redis(
            address.host,
            address.port_number,
            username=address.user,
            password=address.password,
            socket_timeout=SEND_TIMEOUT,
        )

    def _send(self, records: Sequence[Record]) -> None:
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for record in records:
                    pipeline.xadd(self.address.stream, {"id": record.id, "data": record.data})
                pipeline.execute()
        except (self._errors.AuthenticationError, self._errors.ResponseError) as error:
            raise InputError(f"refuses: {error}", source=self.name) from error
        except (self._errors.ConnectionError, self._errors.TimeoutError) as error:
            raise LostError(str(error)) from error

    def _close(self) -> None:
        self._client.close()


def is_replaced(mark: Mark, state: StreamState, found: str | None) -> bool:
    """Return True if a stream is not the one in which an entry was read, given the digest of the entry if it exists.

    >>> before = StreamState(added=3, length=3, last="3-0", deleted="0-0", first="1-0")
    >>> mark = Mark("2-0", 2, "d", before)
    >>> is_replaced(mark, before, "d"), is_replaced(mark, before, "e")
    (False, True)
    >>> is_replaced(mark, StreamState(added=4, length=1, last="4-0", deleted="0-0", first="4-0"), None)  # trimmed
    False
    >>> is_replaced(mark, StreamState(added=4, length=4, last="9-0", deleted="0-0", first="6-0"), None)
    True
    """
    before = mark.stream
    if state.added < before.added or state.removed < before.removed:
        return True
    if order(state.last) < order(before.last) or order(state.deleted) < order(before.deleted):
        return True
    if found is not None:
        return found != mark.digest
    if state.removed == before.removed:
        return True  # nothing was removed, but the last entry read does not exist
    # XTRIM has left an entry before it, and XDEL has not reached it.
    return state.length > 0 and order(state.first) < order(mark.id) and order(state.deleted) < order(mark.id)


def _digest(entry: bytes, fields: dict[bytes, bytes]) -> str:
    return digest(entry, *(part for field in fields.items() for part in field))


def _payload(fields: dict[bytes, bytes]) -> bytes:
    """Return the row of an entry: its field ``data``, or all fields as a JSON object."""
    if b"data" in fields:
        return fields[b"data"]
    import orjson

    return orjson.dumps({name.decode(errors="replace"): _value(value) for name, value in fields.items()})


def _value(text: bytes) -> Any:
    try:
        return float(text)
    except ValueError:
        return text.decode(errors="replace")
