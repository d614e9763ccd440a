"""A real images API on this machine, and faults that real ones have."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import uvicorn

_EXAMPLE = Path(__file__).parents[2] / "examples" / "images_server.py"


def images_server() -> ModuleType:
    """The example that serves a model."""
    name = "t2ibench_example_images_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _EXAMPLE)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@contextmanager
def running(app: Any) -> Iterator[str]:
    """The base_url of an application on a port of its own."""
    config = uvicorn.Config(
        app, port=0, log_level="critical", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        thread.join(10)


async def _body(receive: Any) -> bytes:
    data = b""
    while True:
        message = await receive()
        data += message.get("body", b"")
        if not message.get("more_body"):
            return data


class Faults:
    """Breaks one request in so many, each in another way, and counts who was charged.

    Like a server that honours Idempotency-Key, it charges and makes each key once.

    Args:
        app: The API.
        every: One request in so many is broken.
        hang: Seconds that it says nothing for.
    """

    replies: ClassVar[dict[str, tuple[int, bytes, dict[str, str]]]] = {
        "busy": (503, b"busy", {"retry-after": "0"}),
        "limited": (429, b'{"error": {"message": "slower"}}', {}),
        "limited, with a date": (
            429,
            b"{}",
            {"retry-after": "Thu, 01 Jan 2026 00:00:00 GMT"},
        ),
        "error": (500, b'{"error": {"message": "oh"}}', {}),
        "gateway": (502, b"<html>Bad gateway</html>", {}),
        "page": (200, b"<html>We will be back</html>", {}),
        "garbled": (200, b'{"data": [{"b64_json": "!!"}]}', {}),
        "empty": (200, b"", {}),
        "hang": (200, b"", {}),
    }
    kinds = (*replies, "cut", "reset", "charged and lost")

    def __init__(self, app: Any, every: int, hang: float) -> None:
        self._app = app
        self._every = every
        self._hang = hang
        self._made: dict[str, tuple[dict[str, Any], bytes]] = {}
        self.broken: Counter[str] = Counter()
        self.charged: Counter[str] = Counter()
        self.seen = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.seen += 1
        body = await _body(receive)
        key = dict(scope["headers"]).get(b"idempotency-key", b"").decode()
        if self.seen % self._every == 0:
            kind = self.kinds[(self.seen // self._every) % len(self.kinds)]
            self.broken[kind] += 1
            await self._break(kind, scope, body, key, send)
            return
        start, data = await self._answer(scope, body, key)
        await send(start)
        await send({"type": "http.response.body", "body": data})

    async def _answer(
        self, scope: Any, body: bytes, key: str
    ) -> tuple[dict[str, Any], bytes]:
        """What the API replies, once for each key."""
        if key in self._made:
            return self._made[key]
        start: dict[str, Any] = {}
        data = b""

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal data
            if message["type"] == "http.response.start":
                start.update(message)
            data += message.get("body", b"")

        await self._app(scope, receive, send)
        if start["status"] == 200:
            self.charged[key] += 1
            self._made[key] = start, data
        return start, data

    async def _break(
        self, kind: str, scope: Any, body: bytes, key: str, send: Any
    ) -> None:
        if kind in self.replies:
            await asyncio.sleep(self._hang if kind == "hang" else 0)
            status, data, headers = self.replies[kind]
            named = [(key.encode(), value.encode()) for key, value in headers.items()]
            await send(
                {"type": "http.response.start", "status": status, "headers": named}
            )
            await send({"type": "http.response.body", "body": data})
        elif kind == "reset":
            raise ConnectionResetError
        else:  # the image is made and charged for, and its reply is lost on the way
            start, data = await self._answer(scope, body, key)
            await send(
                {**start, "headers": [(b"content-length", str(len(data)).encode())]}
            )
            part = data[: len(data) // 2] if kind == "cut" else b""
            await send({"type": "http.response.body", "body": part, "more_body": True})
            raise ConnectionResetError
