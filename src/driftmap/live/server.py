"""The server of the live view: the page and its modules, and a WebSocket for each browser."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import socket
import threading
from collections.abc import Iterator
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from driftmap.live.page import WEB
from driftmap.live.scene import Scene, Seen
from driftmap.utils.errors import InputError, MissingDependencyError

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.datastructures import MutableHeaders
    from starlette.responses import FileResponse, RedirectResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.websockets import WebSocket, WebSocketDisconnect
except ImportError as error:
    raise MissingDependencyError("the live view needs Starlette and uvicorn", extra="live") from error

LOOPBACK = "127.0.0.1"
PORT = 8765
PERIOD = 1 / 60
"""Seconds between two looks at the scene, for each browser."""
MOST_BROWSERS = 50
COOKIE = "driftmap-token"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server:
    """Shows a scene to browsers, in a thread of its own. On other addresses than loopback, a token is needed.

    ``port=None``: 8765, or any other if that is in use; 0: any.
    """

    def __init__(
        self, scene: Scene, host: str | None = None, port: int | None = None, token: str | None = None
    ) -> None:
        self.scene = scene
        self.token = token or (None if host is None else secrets.token_urlsafe(16))
        self._socket = _bound(host or LOOPBACK, port)
        self.host, self.port = host or LOOPBACK, self._socket.getsockname()[1]
        self._browsers = 0
        config = uvicorn.Config(
            self.app(),
            log_level="error",
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            ws_max_size=1024,
            ws_per_message_deflate=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="driftmap-server", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """What to open in a browser."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        name = socket.gethostname() if self.host in ("0.0.0.0", "::") else name
        return f"http://{name}:{self.port}/" + ("" if self.token is None else f"?token={self.token}")

    def stop(self) -> None:
        """End all connections and the thread."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def app(self) -> Any:
        """The ASGI application."""
        routes = [
            Route("/", self._page),
            Mount("/web", StaticFiles(directory=WEB)),
            WebSocketRoute("/stream", self._stream),
        ]
        return _Guard(Starlette(routes=routes), self)

    async def _page(self, request: Any) -> Response:
        return FileResponse(WEB / "index.html")

    async def _stream(self, browser: WebSocket) -> None:
        """Send what has changed; the next message goes out once the browser has drawn the last one."""
        if self._browsers >= MOST_BROWSERS:
            await browser.close(1013)
            return
        await browser.accept()
        drawn = asyncio.Event()

        async def send() -> None:
            seen: Seen | None = None
            while True:
                changed = self.scene.message(seen)
                if changed is None:
                    await asyncio.sleep(PERIOD)
                    continue
                message, seen = changed
                await browser.send_bytes(message)
                await drawn.wait()
                drawn.clear()

        async def receive() -> None:
            while True:
                await browser.receive_text()
                drawn.set()

        self._browsers += 1
        tasks = [asyncio.create_task(send()), asyncio.create_task(receive())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._browsers -= 1
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError, KeyError):
                    await task


class _Guard:
    """Lets only those in who may be: the right host, origin and token; adds the headers that restrict the page."""

    def __init__(self, app: Any, server: Server) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        is_page = scope["type"] == "http"
        if not (
            self._is_ours(headers, needs_origin=not is_page) and (not is_page or scope["method"] in ("GET", "HEAD"))
        ):
            await _refuse(scope, receive, send, "this address may not be used from here")
            return
        token = self._server.token
        if token is not None and not _equal(_cookie(headers), token):
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if not is_page or not _equal(given, token):
                await _refuse(scope, receive, send, "the address lacks the token: open the one that was printed")
                return
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, token, httponly=True, samesite="lax")
            await response(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _is_ours(self, headers: dict[str, str], *, needs_origin: bool) -> bool:
        """Whether a request comes from our own page, or from no page at all."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin not in (f"http://{host}", f"https://{host}") and (needs_origin or origin is not None):
            return False
        # With a token any name will do. Without, another name than loopback's may be a trick of a foreign page.
        return self._server.token is not None or re.fullmatch(r"(127\.0\.0\.1|localhost)(:\d+)?", host) is not None


def _cookie(headers: dict[str, str]) -> str:
    with contextlib.suppress(CookieError):
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        return "" if cookie is None else cookie.value
    return ""


def _equal(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())


async def _refuse(scope: Any, receive: Any, send: Any, reason: str) -> None:
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).close(1008)
    else:
        await Response(reason + "\n", 403, media_type="text/plain", headers=HEADERS)(scope, receive, send)


def _bound(host: str, port: int | None) -> socket.socket:
    """A socket that listens; the address is refused here, where the error can name it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in (PORT, 0) if port is None else (port,):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen()
        except OSError as error:
            listening.close()
            if port is None and candidate:
                continue
            problem = f"{host}, port {candidate}, cannot be listened on: {error.strerror or error}"
            raise InputError(problem, advice="address") from None
        return listening
    raise AssertionError


@contextlib.contextmanager
def serving(scene: Scene, **where: Any) -> Iterator[Server]:
    """A server as long as the block lasts."""
    server = Server(scene, **where)
    try:
        yield server
    finally:
        server.stop()
