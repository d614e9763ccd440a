"""A web server for this machine alone: its port, hosts, origins, sizes, patience and errors."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import uvicorn
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.tasks.explain import explain

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


class _Number(Convertor[int]):
    """A number in an address, of at most 15 digits; Python refuses to read thousands of them."""

    regex = "[0-9]{1,15}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return the number as it stands in an address."""
        return str(value)


# Addresses have {name:number} in place of {name:int}, which reads any number of digits.
register_url_convertor("number", _Number())
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_LARGEST_BODY = 8_000_000
# Below the 256 files that a process may open on macOS: the run's database is one of them.
MOST_CONNECTIONS = 128
# So many connections are taken before the first of them is counted.
_AT_ONCE = 16
# From its first byte, or from the connection's beginning.
SECONDS_OF_A_HEADER = 10.0
SECONDS_OF_A_BODY = 30.0
_LINE = 400  # characters of an error
_LOG = logging.getLogger(__name__)
_TYPES = {str: "text/plain", bytes: "application/octet-stream"}
AskT = TypeVar("AskT", bound=BaseModel)
Reply = dict[str, Any] | str | bytes


def local_app(routes: Sequence[Route | Mount], port: int) -> Starlette:
    """Return a web app that accepts only requests for localhost or 127.0.0.1 at this port."""
    hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
    return Starlette(routes=list(routes), middleware=[Middleware(Guard, hosts=hosts)])


def local_listener(port: int) -> socket.socket:
    """Return a listening socket that only this machine can reach; raise an error if that fails.

    Port 0 is a free one.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # connections wait until the server has started
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or "ports go up to 65535"
        raise T2IBenchError(
            f"Port {port} cannot be used: {why}.", "Omit --port to use a free one."
        ) from None
    return listener


def serve(
    app: Starlette, listener: socket.socket, until: threading.Event | None = None
) -> None:
    """Answer requests until Ctrl-C, or until an event is set."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        http=bounded_connections(),
        # No page uses WebSockets, and a connection that became one would no longer be bounded.
        ws="none",
        backlog=_AT_ONCE,
    )
    server = uvicorn.Server(config)

    def wait(event: threading.Event) -> None:
        event.wait()
        server.should_exit = True

    if until is not None:
        threading.Thread(target=wait, args=[until], daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def bounded_connections() -> type[H11Protocol]:
    """Return the class of a server's connections, of which there are so many, and none waits long.

    A process can open only so many files. If clients that never finish a request could take them
    all, neither a page nor the run could be opened any more.
    """
    # In the order in which they were made.
    connections: dict[H11Protocol, None] = {}

    class BoundedConnection(H11Protocol):
        """A connection that is closed if its request does not come, or if it is one too many."""

        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """Close the oldest connection if this one is one too many."""
            super().connection_made(transport)
            connections[self] = None
            if len(connections) > MOST_CONNECTIONS:
                oldest = next(iter(connections))
                del connections[oldest]
                oldest.transport.abort()
            self._watch()

        def data_received(self, data: bytes) -> None:
            """Begin or end the wait for a header."""
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            """Forget a connection that has ended."""
            connections.pop(self, None)
            self._stop_watching()
            super().connection_lost(exc)

        def _watch(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_watching()  # its header is there
            elif self._deadline is None:
                self._deadline = self.loop.call_later(
                    SECONDS_OF_A_HEADER, self.transport.abort
                )

        def _stop_watching(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return BoundedConnection


def post_route(
    path: str,
    model: type[AskT],
    answer: Callable[[AskT], Reply],
) -> Route:
    """Return a POST route that validates the request body and sends the result of `answer`."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await asyncio.wait_for(request.body(), SECONDS_OF_A_BODY)
        except asyncio.TimeoutError:
            raise ClientDisconnect from None

        def whole() -> Response:
            content = answer(model.model_validate_json(body))
            if isinstance(content, dict):
                return JSONResponse(content)
            return Response(content, media_type=_TYPES[type(content)])

        return await run_in_threadpool(whole)

    return Route(path, endpoint, methods=["POST"])


class Guard:
    """Middleware that rejects requests for other hosts, and changes that another site asks for.

    A page of another site can make a browser send requests here; it cannot forge their Host and
    Origin. Whatever goes wrong is one line of JSON, and one in the terminal where it is a defect.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = set(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give an allowed request to the app, and answer any other with an HTTP error status."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        status, reason = self._refusal(scope["method"], Headers(scope=scope))
        # Versions of Starlette and Python look for a file of that name, and fail.
        if not reason and "\0" in scope["path"]:
            status, reason = 404, "There is no such address."
        if not reason:
            status, reason = await self._passed_on(scope, receive, answer)
        if reason and not begun:
            # The remaining body of a refused request is not read.
            headers = {"connection": "close"} if status in {403, 411, 413} else None
            reply = JSONResponse({"error": reason}, status_code=status, headers=headers)
            await reply(scope, receive, answer)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str]:
        if headers.get("host") not in self._hosts:
            return 403, "This server answers only to its own address."
        origin = headers.get("origin")
        if origin is not None and origin not in {
            f"http://{host}" for host in self._hosts
        }:
            return 403, "Another site may not ask here."
        if method in {"GET", "HEAD"}:
            return 200, ""
        if origin is None:
            return 403, "Changes come from the page itself."
        if not headers.get("content-type", "").startswith("application/json"):
            return 403, "Expected JSON."
        # The server reads no more of a body than its stated length.
        length = headers.get("content-length", "")
        if not length.isdecimal():
            return 411, "Expected the header content-length."
        if int(length) > _LARGEST_BODY:
            return 413, f"more than {_LARGEST_BODY:,} bytes were sent"
        return 200, ""

    async def _passed_on(
        self, scope: Scope, receive: Receive, answer: Send
    ) -> tuple[int, str]:
        """Let the app answer; return an HTTP status, and an error message or "" if it succeeded."""
        try:
            await self._app(scope, receive, answer)
        except ClientDisconnect:
            pass
        except ValidationError as error:
            return 400, _sentence(error)
        except T2IBenchError as error:
            return 400, " ".join(str(error).split())[:_LINE]
        except (
            Exception
        ) as error:  # a bug is reported in a line and ends this request alone
            line = f"{type(error).__name__}: {first_line(error)}"
            _LOG.warning("%s %r failed with %s", scope["method"], scope["path"], line)
            return 500, line
        return 200, ""


def _sentence(error: ValidationError) -> str:
    """Return a one-line message about the first invalid field of a request body."""
    first = error.errors(include_url=False)[0]
    if first["loc"] == ("anchors",) and first["type"] == "too_short":
        return "Choose two anchors first, such as two prompts of the run."
    where = ".".join(map(str, first["loc"]))
    text = explain(first, type(None))
    problem = text.removeprefix(f"{where}: ")[:_LINE]
    if problem != text and where and first["type"] != "value_error":
        return f"The value of '{where}' does not fit: {problem}."
    return f"{problem[:1].upper()}{problem[1:]}."
