"""Whatever ComfyUI's websocket sends, the images come, and a flood is not listened to."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest

from t2ibench.models.generators import create_generator
from t2ibench.models.generators.comfyui import jobs
from t2ibench.models.generators.comfyui.arguments import ComfyArguments
from t2ibench.models.generators.comfyui.client import ComfyServer
from tests.models.chat import Said, json_reply, without_waiting
from tests.models.comfyui_replies import Replies
from tests.models.test_comfyui import SDXL
from tests.models.test_served import PROMPTS, requests
from tests.models.wires import Turn, head, wired

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def frame(kind: int, data: bytes, last: bool = True, size: int | None = None) -> bytes:
    """A frame of a server; `size` is what it says of its length."""
    length = len(data) if size is None else size
    first = bytes([kind | (0x80 if last else 0)])
    if length < 126:
        return first + bytes([length]) + data
    if length < 1 << 16:
        return first + b"\x7e" + struct.pack(">H", length) + data
    return first + b"\x7f" + struct.pack(">Q", length) + data


def ended(job: str) -> bytes:
    said = {"type": "execution_success", "data": {"prompt_id": job}}
    return frame(TEXT, json.dumps(said).encode())


def accept(turn: Turn) -> None:
    key = turn.headers["sec-websocket-key"].encode() + _GUID
    accepted = base64.b64encode(hashlib.sha1(key).digest()).decode()
    lines = ("Upgrade: websocket", "Connection: Upgrade")
    accepting = f"Sec-WebSocket-Accept: {accepted}"
    turn.send(head(*lines, accepting, status="101 Switching Protocols"))


Says = Callable[[Turn], None]


def once(data: bytes) -> Says:
    return lambda turn: turn.send(data)


def over_and_over(data: bytes, first: bytes = b"") -> Says:
    def say(turn: Turn) -> None:
        turn.send(first)
        turn.repeat(data)

    return say


FLOODS: dict[str, Says] = {
    "messages": over_and_over(frame(TEXT, b'{"type": "status", "data": {}}') * 1000),
    "texts that are not JSON": over_and_over(frame(TEXT, b"{x") * 1000),
    "the ends of others' jobs": over_and_over(ended("theirs") * 1000),
    "previews of images": over_and_over(frame(BINARY, b"\xff" * 1_000_000)),
    "pings": over_and_over(frame(PING, b"x" * 125) * 1000),
    "pongs": over_and_over(frame(PONG, b"") * 1000),
    "parts of a message that hold nothing": over_and_over(
        frame(CONTINUATION, b"", last=False) * 1000, frame(TEXT, b"", last=False)
    ),
    "a message of a gibibyte": over_and_over(
        b"x" * 1_000_000, frame(TEXT, b"", size=2**30)
    ),
}
OTHERS: dict[str, Says] = {
    "nothing": lambda turn: None,
    "half a frame": once(frame(TEXT, b"{", size=100)),
    "bytes that are not UTF-8": once(frame(TEXT, b"\xff\xfe")),
    "nested JSON": once(frame(TEXT, b'{"a":' * 15_000)),
    "a number of 90,000 digits": once(frame(TEXT, b'{"type":' + b"9" * 90_000 + b"}")),
    "a masked frame": once(b"\x81\x85abcdhello"),
    "a frame of no known kind": once(b"\xff\x00"),
    "a goodbye that is said twice": once(frame(CLOSE, b"") * 2),
}


class Working(Replies):
    """A server whose jobs run until the websocket has ended."""

    def __init__(self) -> None:
        super().__init__({})
        self.is_over = threading.Event()

    def __call__(self, body: dict[str, Any], headers: dict[str, str]) -> Said:
        path = str(body.get("path") or "")
        runs = bool(self.jobs) and not self.is_over.is_set()
        if runs and path.startswith("/queue"):
            running = [[0, job] for job in self.jobs]
            return json_reply({"queue_running": running, "queue_pending": []})
        if runs and path.startswith("/history"):
            return json_reply({})
        return super().__call__(body, headers)


def is_socket(body: dict[str, Any]) -> bool:
    return str(body.get("path") or "").startswith("/ws")


@pytest.mark.parametrize("what", [*FLOODS, *OTHERS])
def test_a_websocket_costs_no_image_and_holds_up_none(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood is cut off: it would hold up the requests, which have the same event loop."""
    without_waiting(monkeypatch)
    server = Working()

    def say(turn: Turn) -> None:
        accept(turn)
        try:
            (FLOODS | OTHERS)[what](turn)
        finally:
            server.is_over.set()

    with wired(server, say, is_socket) as (url, _):
        args = {"base_url": url.removesuffix("/v1"), "timeout": 20, "retries": 1}
        model: Any = create_generator(f"comfyui:{SDXL}", args)
        (image,) = model.generate(requests(PROMPTS[:1], 1))
    assert image.status == "ok", image.reason


def test_messages_about_a_job_hurry_few_looks_at_it() -> None:
    """A server that says again and again that a job has ended would be asked again and again."""
    args = ComfyArguments(base_url="http://127.0.0.1:1")
    waiting = jobs.Jobs(ComfyServer(args), "client", 5)
    hurried = 0

    class Event:
        def set(self) -> None:
            nonlocal hurried
            hurried += 1

    waiting._events["mine"] = Event()  # type: ignore[assignment]
    said = json.dumps({"type": "execution_success", "data": {"prompt_id": "mine"}})
    for _ in range(1000):
        waiting._wake(said)
    assert hurried == 10
