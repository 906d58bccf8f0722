"""The server of the live view: serves the page and its modules, and opens a WebSocket for each browser."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote

from driftmap.live.scene import Scene, Seen
from driftmap.utils.errors import InputError, MissingDependencyError
from driftmap.web.page import WEB

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.datastructures import MutableHeaders
    from starlette.responses import FileResponse, RedirectResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.websockets import WebSocket, WebSocketDisconnect

    from driftmap.live.connections import BACKLOG, PATIENCE, QUEUE, Connections
except ImportError as error:
    raise MissingDependencyError("the live view needs Starlette and uvicorn", extra="live") from error

LOOPBACK = "127.0.0.1"
PORT = 8765
PERIOD = 1 / 60
"""Seconds between checks for changes of the scene, for each browser."""
COUNT_SECONDS = 1.0
"""Seconds between messages about the number of rows to a page that has not drawn the last one."""
MOST_BROWSERS = 50
OPENED = "open"
"""The first message of a page, before it has drawn anything."""
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
    """Shows a scene to browsers, in a separate thread. Addresses other than loopback require a token.

    ``port=None`` takes 8765, or any free port if that is in use; 0 takes any free port. If the page becomes
    unavailable, ``report`` is called once with one line, and the watched run continues.
    """

    def __init__(
        self,
        scene: Scene,
        host: str | None = None,
        port: int | None = None,
        token: str | None = None,
        report: Callable[[str], object] = lambda message: None,
    ) -> None:
        self.scene = scene
        self.connections = Connections()
        self._report, self._has_reported = report, False
        self.token = token or (None if host is None else secrets.token_urlsafe(16))
        self._socket = _bound(host or LOOPBACK, port)
        self.host, self.port = host or LOOPBACK, self._socket.getsockname()[1]
        self._browsers = 0
        config = uvicorn.Config(
            self.app(),
            http=self.connections.protocol(),
            backlog=BACKLOG,
            log_level="critical",  # errors go to ``report``
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            ws_max_size=1024,
            ws_per_message_deflate=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = _Listening(config)
        self._thread = threading.Thread(target=self._run, name="driftmap-server", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        async def serve() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: self.fail(context.get("exception")))
            await self._server.serve([self._socket])

        try:
            asyncio.run(serve())
        except (Exception, SystemExit) as error:  # uvicorn raises SystemExit if it cannot start
            self.fail(error)

    def fail(self, error: BaseException | None) -> None:
        """Report once that the page, or a part of it, is unavailable."""
        if not self._has_reported and not self._server.should_exit:
            self._has_reported = True
            reason = getattr(error, "strerror", None) or error or "the server has failed"
            self._report(f"the page is not available to all browsers: {reason}; the run goes on")

    @property
    def address(self) -> str:
        """The URL to open in a browser."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        name = socket.gethostname() if self.host in ("0.0.0.0", "::") else name
        token = "" if self.token is None else f"?token={quote(self.token, safe='', errors='surrogateescape')}"
        return f"http://{name}:{self.port}/{token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie. It has the port because browsers share cookies between all ports of a host."""
        return f"driftmap-{self.port}"

    def stop(self) -> None:
        """Close all connections and stop the thread."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def app(self) -> Any:
        """Return the ASGI application."""
        routes = [
            Route("/", self._page),
            Mount("/web", StaticFiles(directory=WEB)),
            WebSocketRoute("/stream", self._stream),
        ]
        return _Guard(Starlette(routes=routes), self)

    async def _page(self, request: Any) -> Response:
        return FileResponse(WEB / "index.html")

    async def _stream(self, browser: WebSocket) -> None:
        """Send the changes to a browser; wait until it has drawn a message before sending the next one."""
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
                reported = seen.next
                while not await _happens(drawn, COUNT_SECONDS):
                    if reported != self.scene.rows.next:  # a paused page says how far it is behind
                        reported = self.scene.rows.next
                        await browser.send_text(str(reported))
                drawn.clear()

        async def receive() -> None:
            text = await asyncio.wait_for(browser.receive_text(), PATIENCE)
            while True:
                if text != OPENED:
                    drawn.set()
                text = await browser.receive_text()

        self._browsers += 1
        tasks = [asyncio.create_task(send()), asyncio.create_task(receive())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._browsers -= 1
            for task in tasks:
                task.cancel()
                with contextlib.suppress(
                    asyncio.CancelledError, WebSocketDisconnect, RuntimeError, KeyError, TimeoutError
                ):
                    await task
            with contextlib.suppress(RuntimeError):  # already closed
                await browser.close(1008)


async def _happens(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; return False if it does not happen in time."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


class _Listening(uvicorn.Server):
    """A server that accepts few connections at a time, while the kernel may queue many."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(QUEUE)


class _Guard:
    """Refuses requests with a wrong host, origin or token, and adds the headers that restrict the page."""

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
        token, cookie = self._server.token, self._server.cookie
        if token is not None and not secrets.compare_digest(_cookie(headers, cookie).encode(), _digest(token).encode()):
            query = parse_qs(scope["query_string"].decode("latin-1"), errors="surrogateescape")
            given = query.get("token", [""])[0]
            if not is_page or not secrets.compare_digest(_digest(given), _digest(token)):
                await _refuse(scope, receive, send, "the address lacks the token: open the one that was printed")
                return
            response = RedirectResponse("/", 303)
            response.set_cookie(cookie, _digest(token), httponly=True, samesite="lax")
            await response(scope, receive, send)
            return
        self._server.connections.welcome(scope["client"], lasting=not is_page)

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except WebSocketDisconnect:
            pass
        except Exception as error:
            self._server.fail(error)

    def _is_ours(self, headers: dict[str, str], *, needs_origin: bool) -> bool:
        """Return True if a request comes from our page, or from a client that is not a page."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin not in (f"http://{host}", f"https://{host}") and (needs_origin or origin is not None):
            return False
        # Without a token, a host name other than loopback may be DNS rebinding by a foreign page.
        return self._server.token is not None or re.fullmatch(r"(127\.0\.0\.1|localhost)(:\d+)?", host) is not None


def _cookie(headers: dict[str, str], name: str) -> str:
    with contextlib.suppress(CookieError):
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
        return "" if cookie is None else cookie.value
    return ""


def _digest(token: str) -> str:
    """Return the value of the cookie: a hash, because a token may have characters that are invalid in a cookie."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


async def _refuse(scope: Any, receive: Any, send: Any, reason: str) -> None:
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).close(1008)
    else:
        await Response(reason + "\n", 403, media_type="text/plain", headers=HEADERS)(scope, receive, send)


def _bound(host: str, port: int | None) -> socket.socket:
    """Return a listening socket; raise an error that names the address if it cannot be used."""
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
    """Run a server during the block."""
    server = Server(scene, **where)
    try:
        yield server
    finally:
        server.stop()
