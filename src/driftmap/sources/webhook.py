"""Webhooks: alerts posted to an address over HTTP, from a thread of their own, again and again until they are taken."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from driftmap.sources.addresses import WebhookAddress
from driftmap.sources.brokers.connection import CONNECT_TIMEOUT, pause_before

MOST = 1000
"""Bodies that wait, at most; beyond, the oldest ones are dropped."""
SIGNATURE = "X-Driftmap-Signature"
"""The header with the HMAC of a body by SHA-256."""
TRY_AGAIN = (408, 425, 429)
"""Answers to a request that may succeed later; so do those from 500 on."""
ANSWER_BYTES = 2**16


class RefusedError(Exception):
    """The receiver refuses a body, and would again."""


class Webhook:
    """Posts bodies in their order. A body that cannot be delivered is tried again; the run does not wait for it.

    ``report`` takes one line when something is lost or goes on; it is called from the thread.
    """

    def __init__(self, address: WebhookAddress, secret: str | None, report: Callable[[str], Any]) -> None:
        self.address, self._report = address, report
        self._secret = None if secret is None else secret.encode()
        self._waiting: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self.n_dropped = 0
        self._context = ssl.create_default_context() if address.is_secure else None
        self._thread = threading.Thread(target=self._run, name="driftmap-webhook", daemon=True)
        self._thread.start()

    def put(self, body: bytes) -> None:
        """Add a body; returns immediately."""
        with self._changed:
            self._waiting.append(body)
            is_first = len(self._waiting) > MOST and not self.n_dropped
            while len(self._waiting) > MOST:
                self._waiting.popleft()
                self.n_dropped += 1
            self._changed.notify_all()
        if is_first:
            self._report(f"{self.address}: {MOST:,} alerts wait; the oldest ones are dropped from now on")

    def pending(self) -> list[bytes]:
        """Return the bodies that are not delivered, oldest first."""
        with self._changed:
            return list(self._waiting)

    def close(self, seconds: float) -> None:
        """Wait until all is delivered, at most this long, and stop."""
        end = time.monotonic() + seconds
        with self._changed:
            while self._waiting and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            self._is_closed, n_left = True, len(self._waiting) + self.n_dropped
            self._changed.notify_all()
        if n_left:
            self._report(f"{self.address} did not get {n_left:,} alerts")

    def _run(self) -> None:
        n_lost = 0
        while (body := self._next()) is not None:
            try:
                self._post(body)
            except (OSError, http.client.HTTPException) as error:
                n_lost += 1
                if n_lost == 1:
                    self._report(f"{self.address} does not take alerts ({_said(error)}): trying again")
                self._pause(pause_before(n_lost))
                continue
            except RefusedError as error:
                self._report(f"{self.address} refuses an alert: {error}")
            else:
                if n_lost:
                    self._report(f"{self.address} takes alerts again")
                n_lost = 0
            with self._changed:
                if self._waiting and self._waiting[0] is body:  # it may have been dropped meanwhile
                    self._waiting.popleft()
                self._changed.notify_all()

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._waiting and not self._is_closed:
                self._changed.wait()
            return None if self._is_closed else self._waiting[0]

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with self._changed:
            while not self._is_closed and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)

    def _post(self, body: bytes) -> None:
        """Post a body once. Certificates are checked, and redirects are not followed."""
        address = self.address
        connection: http.client.HTTPConnection
        if self._context is not None:
            connection = http.client.HTTPSConnection(
                address.host, address.port, timeout=CONNECT_TIMEOUT, context=self._context
            )
        else:
            connection = http.client.HTTPConnection(address.host, address.port, timeout=CONNECT_TIMEOUT)
        try:
            connection.request("POST", address.path, body, self._headers(body))
            answer = connection.getresponse()
            answer.read(ANSWER_BYTES)
        finally:
            connection.close()
        if answer.status in TRY_AGAIN or answer.status >= 500:
            raise ConnectionError(f"it answers {answer.status} {answer.reason}")
        if 300 <= answer.status < 400:
            raise RefusedError(f"it answers {answer.status}, a redirect, which is not followed: give its last address")
        if answer.status >= 400:
            raise RefusedError(f"it answers {answer.status} {answer.reason}")

    def _headers(self, body: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "driftmap"}
        if self._secret is not None:
            headers[SIGNATURE] = f"sha256={hmac.new(self._secret, body, hashlib.sha256).hexdigest()}"
        if self.address.credentials is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(self.address.credentials.encode()).decode()}"
        return headers


def _said(error: Exception) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
