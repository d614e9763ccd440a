"""Many slow clients at once: whoever asks properly is answered, and files stay free."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from t2ibench import local_server
from t2ibench.local_server import (
    local_app,
    local_listener,
    post_route,
    serve,
)


class Said(BaseModel):
    """What a client says."""

    word: str


def _hello(request: Request) -> Response:
    return JSONResponse({"hello": "you"})


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a running server."""
    listener = local_listener(0)
    port = int(listener.getsockname()[1])
    routes = [
        Route("/", _hello),
        post_route("/say", Said, lambda said: {"said": said.word}),
    ]
    ended = threading.Event()
    arguments = (local_app(routes, port), listener, ended)
    thread = threading.Thread(target=serve, args=arguments, daemon=True)
    thread.start()
    yield port
    ended.set()
    thread.join(20)
    assert not thread.is_alive()


def head(port: int, *more: str, method: str = "GET", path: str = "/") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *more]
    return "\r\n".join(lines).encode()


def begun(port: int, data: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    client.sendall(data)
    return client


def all_of(client: socket.socket) -> bytes:
    """What a server sends until it hangs up."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    finally:
        client.close()
    return b"".join(parts)


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def said(port: int, length: int) -> bytes:
    return head(
        port,
        f"Origin: http://127.0.0.1:{port}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        "Connection: close",
        "\r\n",
        method="POST",
        path="/say",
    )


@pytest.mark.parametrize("kind", ["nothing", "half a header", "half a body"])
def test_more_slow_clients_than_are_allowed_leave_room(
    kind: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few: the system takes hundreds at once only after they have tried again for seconds.
    most = 12
    monkeypatch.setattr(local_server, "MOST_CONNECTIONS", most)
    data = {
        "nothing": b"",
        "half a header": head(port, "X-Slow: "),
        "half a body": said(port, 7_000_000) + b"{",
    }[kind]
    clients = [begun(port, data) for _ in range(2 * most)]
    start = time.monotonic()
    reply = all_of(begun(port, head(port, "Connection: close", "\r\n")))
    assert reply.startswith(b"HTTP/1.1 200") and time.monotonic() - start < 8
    assert sum(map(is_open, clients)) < most
    for client in clients:
        client.close()


@pytest.mark.parametrize("kind", ["nothing", "half a header", "a second header"])
def test_a_header_that_does_not_come_ends_the_connection(
    kind: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "SECONDS_OF_A_HEADER", 0.5)
    data = {
        "nothing": b"",
        "half a header": head(port, "X-Slow: "),
        "a second header": head(port, "\r\n") + head(port, "X-Slow: "),
    }[kind]
    client = begun(port, data)
    for _ in range(4):  # a byte now and then is no header
        time.sleep(0.2)
        try:
            client.sendall(b"y")
        except OSError:
            break
    start = time.monotonic()
    reply = all_of(client)
    assert time.monotonic() - start < 4
    assert reply == b"" or kind == "a second header"


def test_a_body_that_does_not_come_ends_the_request(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "SECONDS_OF_A_BODY", 0.5)
    start = time.monotonic()
    reply = all_of(begun(port, said(port, 1000) + b'{"word": '))
    assert time.monotonic() - start < 8 and b"200 OK" not in reply


def test_a_request_in_pieces_is_answered(port: int) -> None:
    body = json.dumps({"word": "later"}).encode()
    client = begun(port, said(port, len(body))[:60])
    time.sleep(0.3)
    client.sendall(said(port, len(body))[60:] + body[:5])
    time.sleep(0.3)
    client.sendall(body[5:])
    assert all_of(client).endswith(b'{"said":"later"}')


def test_no_connection_becomes_one_of_websockets(port: int) -> None:
    """One that did would be counted no more, and its deadline would end another."""
    lines = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    client = begun(port, head(port, *lines, key, "\r\n"))
    assert client.recv(65536).startswith(b"HTTP/1.1 200")
    client.close()
