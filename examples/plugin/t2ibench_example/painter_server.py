"""The API that `painter.py` asks, for trying it: `python -m t2ibench_example.painter_server`.

POST /paint takes {"model", "text", "seed", …} and gives {"picture": Base64 of a PNG}, a grey square
that is darker where the text names the night, or status 400 with {"error": {"code", "message"}}.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def painted(text: str, seed: int) -> bytes:
    """A PNG; the same text and seed give the same one."""
    from PIL import Image

    middle = 68 if "night" in text else 128
    value = middle + random.Random(seed).randint(-60, 60)
    file = io.BytesIO()
    Image.new("RGB", (64, 64), (value,) * 3).save(file, "PNG")
    return file.getvalue()


class Painter(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_POST(self) -> None:
        """Paint, or refuse."""
        length = int(self.headers["Content-Length"])
        fields = json.loads(self.rfile.read(length))
        text = str(fields.get("text", ""))
        if not text.strip():
            error = {
                "code": "content_policy_violation",
                "message": "The text is empty.",
            }
            self._send(400, {"error": error})
            return
        picture = base64.b64encode(painted(text, int(fields.get("seed", 0))))
        self._send(200, {"picture": picture.decode()})

    def _send(self, status: int, reply: dict[str, Any]) -> None:
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of a request."""


def server_on(port: int) -> ThreadingHTTPServer:
    """The server on a port of this machine; 0 for a free one."""
    return ThreadingHTTPServer(("127.0.0.1", port), Painter)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8300, help="port (default: 8300)")
    server_on(parser.parse_args().port).serve_forever()
