"""Redis streams (``redis://host/stream``): entries by XREAD; the position is the last id and the number of entries."""

from __future__ import annotations

from typing import Any

from driftmap.io.addresses import Address
from driftmap.io.brokers.base import WAIT_SECONDS, Broker, LostError, Message, require
from driftmap.utils.errors import InputError


class RedisStream(Broker):
    """Entries of a stream. An entry with a field ``data`` has its row there; otherwise its fields are the row."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._redis = require("redis", "redis")
        self._client: Any = None
        self._id, self._read = "0", 0

    def _open(self, position: Any) -> None:
        address = self.address
        self._client = self._redis.Redis(
            address.host, address.port or 6379, username=address.user, password=address.password, socket_timeout=10,
            decode_responses=False,
        )  # fmt: skip
        self._id, self._read = ("0", -1) if position == 0 else (str(position["id"]), int(position["read"]))
        self._request(1)

    def _poll(self, limit: int) -> list[Message]:
        entries = self._request(limit)
        if not entries:  # wait for one; what comes is read by the next request, together with the state of the stream
            self._guarded(lambda: self._client.xread({self.address.stream: self._id}, 1, int(1000 * WAIT_SECONDS)))
            return []
        messages = []
        for entry, fields in entries:
            self._id, self._read = entry.decode(), self._read + 1
            messages.append(Message(_payload(fields), {"id": self._id, "read": self._read}))
        return messages

    def where(self, position: Any, ahead: int) -> str:
        """The id that it follows."""
        return self.name if position == 0 else f"{self.name}, entry {ahead + 1} after {position['id']}"

    def _request(self, limit: int) -> list[tuple[bytes, dict[bytes, bytes]]]:
        """The next entries, after checking that none before them is missing; both in one transaction."""
        stream = self.address.stream
        with self._client.pipeline(transaction=True) as pipeline:
            pipeline.xinfo_stream(stream)
            pipeline.xrange(stream, f"({self._id}" if self._id != "0" else "-", "+", limit)
            info, entries = self._guarded(pipeline.execute)
        added, present = int(info["entries-added"]), int(info["length"])
        if self._read < 0:  # the beginning is what is there
            self._read = added - present
        gone = max(added - present, 0 if entries else added)
        if gone > self._read:
            problem = (
                f": rows {self._read + 1:,} to {gone:,} are no longer in the stream; start again without the checkpoint"
            )
            raise InputError(problem, source=self.name)
        found: list[tuple[bytes, dict[bytes, bytes]]] = entries
        return found

    def _guarded(self, request: Any) -> Any:
        errors = self._redis.exceptions
        try:
            return request()
        except (errors.AuthenticationError, errors.AuthorizationError) as error:
            raise InputError(f"refuses access: {error}", source=self.name) from error
        except (errors.ConnectionError, errors.TimeoutError, errors.BusyLoadingError) as error:
            raise LostError(str(error)) from error
        except errors.ResponseError as error:
            problem = "has no such stream" if "no such key" in str(error) else f"refuses: {error}"
            raise InputError(problem, source=self.name) from error

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()


def _payload(fields: dict[bytes, bytes]) -> bytes:
    """The row of an entry: its field ``data``, or all fields as a JSON object."""
    if b"data" in fields:
        return fields[b"data"]
    import orjson

    return orjson.dumps({name.decode(errors="replace"): _value(value) for name, value in fields.items()})


def _value(text: bytes) -> Any:
    try:
        return float(text)
    except ValueError:
        return text.decode(errors="replace")
