"""A real server on this machine that speaks OpenAI's chat completions."""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import json
import socket
import socketserver
import sys
import threading
import types
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from PIL import Image

from t2ibench.models.chat_server import ChatArguments, ChatServer

# From a request's body to a status, what to send (text is a reply, anything else the body) and
# perhaps headers.
Speak = Callable[[dict[str, Any]], tuple[Any, ...]]


def posted_image(body: dict[str, Any]) -> Image.Image:
    """The image in the last message."""
    (part,) = [
        one for one in body["messages"][-1]["content"] if one["type"] == "image_url"
    ]
    data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    return Image.open(io.BytesIO(data)).convert("RGB")


def posted_text(body: dict[str, Any]) -> str:
    """The text of the last message."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return next(str(part["text"]) for part in content if part["type"] == "text")


def without_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long clients would have waited between attempts; they do not wait."""
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("t2ibench.models.servers.pause", note)
    return waits


def chat_server(base_url: str | None = None, **args: Any) -> ChatServer:
    """The client of a server."""
    return ChatServer("m", ChatArguments(base_url=base_url, **args))


# A reply: status, headers and body; made of a request's body and headers.
Said = tuple[int, dict[str, str], bytes]


def json_reply(value: Any, status: int = 200) -> Said:
    """A reply in JSON."""
    return status, {}, json.dumps(value).encode()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128


def form_of(content_type: str, data: bytes) -> dict[str, Any]:
    """The fields of a form, as texts, and its files, each with name, type and bytes."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    fields: dict[str, Any] = {}
    for part in message_from_bytes(head + data).get_payload():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        file = part.get_filename()
        fields[name] = (
            content.decode()
            if file is None
            else (file, part.get_content_type(), content)
        )
    return fields


@contextmanager
def speaking(
    speak: Callable[[dict[str, Any], dict[str, str]], Said],
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server that says what `speak` says; and all bodies that it got."""
    posted: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = self.headers.get("Content-Type") or ""
            if kind.startswith("multipart/"):
                body = {"path": self.path, **form_of(kind, text)}
            else:
                body = json.loads(text) if text else {"path": self.path}
            headers = {name.lower(): value for name, value in self.headers.items()}
            posted.append({**body, "headers": headers})
            status, further, data = speak(body, headers)
            self.send_response(status)
            # A reply that is cut off says that it is longer.
            usual = {
                "content-type": "application/json",
                "content-length": str(len(data)),
            }
            for name, value in (usual | further).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_HEAD = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", posted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving(speak: Speak) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of chats: its address, and everything that it is sent."""
    posted: list[dict[str, Any]] = []

    def reply(body: dict[str, Any], headers: dict[str, str]) -> Said:
        posted.append(body | {"authorization": headers.get("authorization")})
        status, said, *further = speak(body)
        if isinstance(said, str) and status == 200:
            said = {"choices": [{"message": {"role": "assistant", "content": said}}]}
        data = (said if isinstance(said, str) else json.dumps(said)).encode()
        return status, further[0] if further else {}, data

    with speaking(reply) as (url, _):
        yield url, posted


def completion(text: str) -> bytes:
    """The body of a proper reply; halves of surrogate pairs are kept."""
    return json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": text}}]}
    ).encode()


def response(
    body: bytes, status: int = 200, *headers: str, length: int | None = None
) -> bytes:
    """A response as it goes over the wire."""
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {size}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def bomb(megabytes: int) -> bytes:
    """So many megabytes of spaces, packed with gzip."""
    packer, spaces = zlib.compressobj(9, wbits=31), b" " * 1_000_000
    first, again = (
        packer.compress(spaces) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    return first + again * (megabytes - 1)


class Wire:
    """One connection, for servers that break HTTP on purpose.

    Attributes:
        connection: The connection itself, which may have had other requests before.
        headers: Of the request, by lower-case name.
        body: Of the request.
    """

    def __init__(
        self, connection: socket.socket, headers: dict[str, str], body: Any
    ) -> None:
        self.connection = connection
        self.headers = headers
        self.body = body

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.connection.sendall(data)

    def trickle(self, data: bytes, ended: threading.Event) -> None:
        """Send a byte every 0.05 s, for as long as there is anyone."""
        for byte in itertools.cycle(data) if data else ():
            self.connection.sendall(bytes([byte]))
            if ended.wait(0.05):
                return


@contextmanager
def wiring(handle: Callable[[Wire], bool]) -> Iterator[str]:
    """The address of a server that writes its own bytes; it hangs up where `handle` gives False."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            # a client may hang up at any moment
            with contextlib.suppress(OSError, ValueError):
                while self.rfile.readline():
                    headers = {}
                    while (
                        line := self.rfile.readline().decode("latin-1").strip()
                    ) != "":
                        name, _, value = line.partition(":")
                        headers[name.lower()] = value.strip()
                    body = json.loads(self.rfile.read(int(headers["content-length"])))
                    if not handle(Wire(self.connection, headers, body)):
                        break

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def litellm(
    monkeypatch: pytest.MonkeyPatch, refused: type[Exception], **members: Any
) -> None:
    """LiteLLM's interface, as far as it is used; `refused` is what it raises of a filter."""
    library: Any = types.ModuleType("litellm")
    library.exceptions = types.SimpleNamespace(ContentPolicyViolationError=refused)
    library.in_memory_llm_clients_cache = ClientCache()
    library.ssl_certificate = None
    vars(library).update(members)
    monkeypatch.setitem(sys.modules, "litellm", library)
    handlers: Any = types.ModuleType("litellm.llms.custom_httpx.http_handler")
    handlers.get_ssl_configuration = lambda verify: verify is not False
    for name in ("AsyncHTTPHandler", "HTTPHandler"):
        setattr(handlers, name, type(name, (Handler,), dict(vars(Handler))))
    monkeypatch.setitem(sys.modules, handlers.__name__, handlers)


class ClientCache(dict[str, Any]):
    """What LiteLLM keeps its clients in."""

    def flush_cache(self) -> None:
        """Forget them."""
        self.clear()


class Handler:
    """A class by which LiteLLM makes and keeps a client."""

    def __init__(
        self, ssl_verify: bool | None = None, timeout: float | None = None
    ) -> None:
        self.ssl_verify = ssl_verify
        self.timeout = timeout
        self.client = self.create_client()

    def create_client(self, *_: Any, **__: Any) -> Any:
        """LiteLLM's own client."""
        return None
