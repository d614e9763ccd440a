"""A real server on this machine that speaks OpenAI's chat completions."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from PIL import Image

# From a request's body to a status, what to send (text is a reply, anything else the body) and
# perhaps headers.
Speak = Callable[[dict[str, Any]], tuple[Any, ...]]


def posted_image(body: dict[str, Any]) -> Image.Image:
    """The image in the last message."""
    (part,) = [one for one in body["messages"][-1]["content"] if one["type"] == "image_url"]
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

    monkeypatch.setattr("t2ibench.models.http.pause", note)
    return waits


@contextmanager
def serving(speak: Speak) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a running server, and everything that it is sent."""
    posted: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            posted.append(body | {"authorization": self.headers.get("Authorization")})
            status, said, *headers = speak(body)
            if isinstance(said, str) and status == 200:
                said = {"choices": [{"message": {"role": "assistant", "content": said}}]}
            data = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            for key, value in (headers[0] if headers else {}).items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", posted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
