"""A server that sends its right answers in a wrong way: what goes over the wire is a test's."""

from __future__ import annotations

import contextlib
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.models.chat import Said, form_of


@dataclass(frozen=True)
class Turn:
    """One request, and the right answer to it.

    Attributes:
        connection: Where the answer goes.
        said: The right answer.
        url: The address of the server.
        headers: The headers of the request.
        over: Set when the test has ended.
    """

    connection: Any
    said: Said
    url: str
    headers: dict[str, str]
    over: threading.Event

    @property
    def body(self) -> bytes:
        """The body of the right answer."""
        return self.said[2]

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.connection.sendall(data)

    def repeat(self, data: bytes, seconds: float = 0.0) -> None:
        """Send the same again and again, as long as anybody reads it."""
        while not self.over.wait(seconds) if seconds else not self.over.is_set():
            self.connection.sendall(data)


# Sends the answer to a request.
Send = Callable[[Turn], None]


def head(*lines: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    """The status and the headers of an answer."""
    return "\r\n".join([f"HTTP/{version} {status}", *lines, "", ""]).encode("latin-1")


def right(turn: Turn) -> None:
    """Send the right answer as it should be."""
    status, further, body = turn.said
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in {**headers, **further}.items()]
    turn.send(head(*lines, status=f"{status} Said") + body)


@contextmanager
def wired(
    speak: Callable[[dict[str, Any], dict[str, str]], Said],
    send: Send,
    concerns: Callable[[dict[str, Any]], bool] = lambda _: True,
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server, and what it was asked with a fault in the answer.

    Args:
        speak: Returns the right answer to a request's body and headers.
        send: Sends the answer to the requests with a fault.
        concerns: Returns whether the answer to a request has the fault.
    """
    faulty: list[dict[str, Any]] = []
    over = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            # A client may hang up at any moment.
            with contextlib.suppress(OSError, ValueError, IndexError):
                path = self.rfile.readline().decode("latin-1").split()[1]
                headers = {}
                while line := self.rfile.readline().decode("latin-1").strip():
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                data = self.rfile.read(int(headers.get("content-length", 0)))
                kind = headers.get("content-type", "")
                body = {"path": path}
                if kind.startswith("multipart/"):
                    body |= form_of(kind, data)
                elif data:
                    body = json.loads(data)
                turn = Turn(
                    self.connection,
                    speak(body, headers),
                    server_url(),
                    headers,
                    over,
                )
                if concerns(body):
                    faulty.append(body)
                    send(turn)
                else:
                    right(turn)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:

        def server_url() -> str:
            return f"http://127.0.0.1:{server.server_address[1]}/v1"

        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        try:
            yield server_url(), faulty
        finally:
            over.set()
            server.shutdown()
            thread.join()
