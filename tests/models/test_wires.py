"""Every fault of HTTP itself, at every client: an answer, a failed one, or one line, in time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.comfyui import jobs
from t2ibench.models.protocols import ImageRequest
from t2ibench.models.servers import Server
from tests.chaos.tries import in_time
from tests.models.chat import Said, bomb, chat_server, completion, without_waiting
from tests.models.comfyui_replies import Replies, source_image
from tests.models.test_comfyui import SDXL
from tests.models.test_comfyui_edits import EDIT
from tests.models.test_served import KEY, PROMPTS, ROW, one, picture, requests
from tests.models.wires import Send, Turn, head, wired


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "COMFYUI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    without_waiting(monkeypatch)
    for name in ("_FIRST_LOOK", "_LOOK", "_LOOK_BESIDE_SOCKET"):
        monkeypatch.setattr(jobs, name, 0.001)
    made = Server.__init__

    def impatient(self: Server, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        self._timeout = 1.0

    monkeypatch.setattr(Server, "__init__", impatient)


def chunked(*parts: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + end


CHUNKED = head("Transfer-Encoding: chunked")


def sends(make: Callable[[bytes], bytes]) -> Send:
    """Send bytes that are made of the right body, and hang up."""
    return lambda turn: turn.send(make(turn.body))


def then(first: Callable[[bytes], bytes], again: bytes, seconds: float = 0.0) -> Send:
    """Send bytes that are made of the right body, and others without end."""

    def send(turn: Turn) -> None:
        turn.send(first(turn.body))
        turn.repeat(again, seconds)

    return send


def sized(body: bytes, *lines: str, status: str = "200 OK", more: int = 0) -> bytes:
    return head(f"Content-Length: {len(body) + more}", *lines, status=status) + body


def packed(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


GZIP = "Content-Encoding: gzip"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"  # of a deflated stream
# What is sent, and whether the answer is read all the same.
FAULTS: dict[str, tuple[Send, bool]] = {
    "HTTP/1.0 without a length": (
        sends(lambda body: head(version="1.0") + body),
        True,
    ),
    "chunks": (sends(lambda body: CHUNKED + chunked(body[:9], body[9:])), True),
    "chunks of a byte": (
        sends(
            lambda body: (
                (
                    CHUNKED
                    + chunked(
                        *(body[i : i + 1] for i in range(min(len(body), 500))),
                        body[500:],
                    )
                )
                if len(body) > 500
                else CHUNKED + chunked(*(body[i : i + 1] for i in range(len(body))))
            )
        ),
        True,
    ),
    "a trailer": (
        sends(lambda body: CHUNKED + chunked(body, end=b"0\r\nX: y\r\n\r\n")),
        True,
    ),
    "trailers without end": (
        then(lambda body: CHUNKED + chunked(body, end=b"0\r\n"), b"X: y\r\n" * 1000),
        False,
    ),
    "chunks without an end": (
        sends(lambda body: CHUNKED + chunked(body, end=b"")),
        False,
    ),
    "a chunk that is shorter than it says": (
        sends(lambda body: CHUNKED + b"ffff\r\n" + body),
        False,
    ),
    "a chunk that is longer than it says": (
        sends(lambda body: CHUNKED + b"2\r\n" + body + b"\r\n0\r\n\r\n"),
        False,
    ),
    "a chunk of a negative length": (
        sends(lambda body: CHUNKED + b"-5\r\n" + body),
        False,
    ),
    "a chunk of 2^70 bytes": (
        sends(lambda body: CHUNKED + b"4%s\r\n" % (b"0" * 17) + body),
        False,
    ),
    "the extension of a chunk without end": (
        then(lambda _: CHUNKED + b"5;", b"x" * 10_000),
        False,
    ),
    "empty lines for chunks without end": (
        then(lambda _: CHUNKED, b"\r\n" * 1000),
        False,
    ),
    "a hundred times 100": (
        sends(lambda body: head(status="100 Continue") * 100 + sized(body)),
        True,
    ),
    "100 without end": (then(lambda _: b"", head(status="100 Continue") * 100), False),
    "103 with headers without end": (
        then(lambda _: b"", head("Link: x", status="103 Early Hints") * 100),
        False,
    ),
    "101": (
        then(lambda _: head("Upgrade: x", status="101 Switching"), b" " * 1000),
        False,
    ),
    "ten thousand headers": (
        sends(lambda body: sized(body, *(f"X-{n}: y" for n in range(10_000)))),
        True,
    ),
    "ten thousand short headers": (
        sends(lambda body: sized(body, *("X: y" for n in range(10_000)))),
        True,
    ),
    "headers without end": (then(lambda _: head()[:-2], b"X: y\r\n" * 1000), False),
    "a header without end": (
        then(lambda _: head()[:-2] + b"X: ", b"y" * 10_000),
        False,
    ),
    "a byte of the body a moment": (
        then(lambda _: head("Content-Length: 9999"), b" ", 0.02),
        False,
    ),
    "a length that is too large": (sends(lambda body: sized(body, more=5)), False),
    "a length that is too small": (sends(lambda body: sized(body, more=-30)), False),
    "two lengths": (sends(lambda body: sized(body, "Content-Length: 3")), False),
    "a negative length": (sends(lambda body: head("Content-Length: -1") + body), False),
    "a length of 10^30": (
        sends(lambda body: head(f"Content-Length: {10**30}") + body),
        False,
    ),
    "a length that is no number": (
        sends(lambda body: head("Content-Length: x") + body),
        False,
    ),
    "a length and chunks": (
        sends(
            lambda body: (
                head("Content-Length: 3", "Transfer-Encoding: chunked") + chunked(body)
            )
        ),
        True,
    ),
    "a second reply": (
        sends(lambda body: sized(body) + sized(completion("of another"))),
        True,
    ),
    "nothing": (sends(lambda _: b""), False),
    "half of the head": (sends(lambda _: head()[:9]), False),
    "a status line that is no HTTP": (
        sends(lambda body: b"SSH-2.0-OpenSSH_9.6\r\n\r\n" + body),
        False,
    ),
    "HTTP/0.9": (sends(lambda body: body), False),
    "HTTP/9.9": (
        sends(lambda body: sized(body).replace(b"HTTP/1.1", b"HTTP/9.9")),
        True,
    ),
    "a status of 5 digits": (sends(lambda body: sized(body, status="20000 OK")), False),
    "no reason": (sends(lambda body: sized(body, status="200")), True),
    "204 with a body": (
        sends(lambda body: sized(body, status="204 No Content")),
        False,
    ),
    "304 with a body": (
        sends(lambda body: sized(body, status="304 Not Modified")),
        False,
    ),
    "201": (sends(lambda body: sized(body, status="201 Created")), True),
    "202": (sends(lambda body: sized(body, status="202 Accepted")), False),
    "206": (sends(lambda body: sized(body, status="206 Partial Content")), False),
    "gzip": (sends(lambda body: sized(packed(body), GZIP)), True),
    "deflate that is not announced": (
        sends(lambda body: sized(zlib.compress(body))),
        False,
    ),
    "gzip that is none": (sends(lambda body: sized(body, GZIP)), False),
    "a bomb": (sends(lambda _: sized(bomb(300), GZIP)), False),
    "gzip with garbage behind it, without end": (
        then(lambda body: head(GZIP) + packed(body), b"x" * 100_000),
        True,
    ),
    "gzip of nothing, without end": (
        then(lambda _: head(GZIP) + packed(b"")[:10], EMPTY_BLOCK * 10_000),
        False,
    ),
    "gzip of gzip": (
        sends(lambda body: sized(packed(packed(body)), "Content-Encoding: gzip, gzip")),
        False,
    ),
    "brotli": (sends(lambda body: sized(body, "Content-Encoding: br")), False),
    "the encoding identity": (
        sends(lambda body: sized(body, "Content-Encoding: identity")),
        True,
    ),
    "a body without end": (then(lambda _: head(), b" " * 1_000_000), False),
    **{
        f"a redirect ({status}) to {where}": (
            sends(lambda _, s=status, w=where: sized(b"", f"Location: {w}", status=s)),
            False,
        )
        for status, where in (
            ("301 Moved", "file:///etc/passwd"),
            ("302 Found", "ftp://127.0.0.1/x"),
            ("303 See Other", "http://169.254.169.254/latest"),
            ("307 Temporary", "//127.0.0.1:1/"),
            ("308 Permanent", "\\\\x"),
            ("300 Choices", ""),
            ("305 Use Proxy", "http://127.0.0.1:1/"),
        )
    },
    "a redirect to itself": (
        lambda turn: turn.send(
            sized(b"", f"Location: {turn.url}", status="307 Temporary")
        ),
        False,
    ),
}


@dataclass(frozen=True)
class Client:
    """Who asks a server.

    Attributes:
        ask: Asks at an address; returns the status of what came, and all that is said of it.
        speak: Makes the right answers of its server.
        concerns: Returns whether a request is one whose answer has the fault.
    """

    ask: Callable[[str], tuple[str, str]]
    speak: Callable[[], Callable[[dict[str, Any], dict[str, str]], Said]]
    concerns: Callable[[dict[str, Any]], bool] = lambda _: True


def judged(url: str) -> tuple[str, str]:
    text = chat_server(url, retries=1).chat([{"role": "user", "content": "?"}])
    assert text == "male"
    return "ok", ""


def drawn(spec: str, edits: bool = False) -> Callable[[str], tuple[str, str]]:
    def ask(url: str) -> tuple[str, str]:
        options = {"base_url": url, "timeout": 1, "retries": 1}
        model: Any = create_generator(spec, options)
        request = a_request(edits)
        (image,) = model.generate([request])
        if image.status == "ok":
            assert image.image.getpixel((0, 0)) == (100, 20, 30)
        return image.status, str(image.reason)

    return ask


def a_request(edits: bool) -> ImageRequest:
    """A request for an image, or for an edit of one."""
    (request,) = requests(PROMPTS[:1], 1)
    return replace(request, source=source_image()) if edits else request


def at_address(body: dict[str, Any], _: dict[str, str]) -> Said:
    if body.get("path", "").endswith(".png"):
        return 200, {"content-type": "image/png"}, picture()
    status, further, _ = one()
    return status, further, b'{"data": [{"url": "/v1/1.png"}]}'


def gemini(*_: Any) -> Said:
    part = {"inlineData": {"mimeType": "image/png", "data": ROW["b64_json"]}}
    said = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
    return 200, {}, json.dumps(said).encode()


def of_comfyui(endpoint: str) -> Client:
    edits = endpoint == "/upload/image"
    draw = drawn(f"comfyui:{EDIT if edits else SDXL}", edits)

    def ask(url: str) -> tuple[str, str]:
        return draw(url.removesuffix("/v1"))

    def concerns(body: dict[str, Any]) -> bool:
        return Replies({}).endpoint(body, str(body.get("path") or "")) == endpoint

    return Client(ask, lambda: Replies({}), concerns)


CLIENTS = {
    "a judge": Client(judged, lambda: lambda *_: (200, {}, completion("male"))),
    "openai's images": Client(drawn("openai:m"), lambda: lambda *_: one()),
    "Gemini's images": Client(drawn("gemini:m"), lambda: gemini),
    "an image's address": Client(
        drawn("openai:m"),
        lambda: at_address,
        lambda body: str(body.get("path")).endswith(".png"),
    ),
    **{
        f"ComfyUI's {endpoint}": of_comfyui(endpoint)
        for endpoint in (
            "/prompt",
            "/queue",
            "/history",
            "/view",
            "/object_info",
            "/upload/image",
        )
    },
}


# What tells the clients apart: how they take errors, redirects and what has no end.
TELLING = (
    "HTTP/1.0 without a length",
    "a chunk that is shorter than it says",
    "204 with a body",
    "201",
    "202",
    "206",
    "gzip with garbage behind it, without end",
    "a redirect to itself",
)
PAIRS = [
    pytest.param(
        fault,
        client,
        marks=() if client == "a judge" or fault in TELLING else pytest.mark.nightly,
    )
    for fault in FAULTS
    for client in CLIENTS
]


@pytest.mark.parametrize(("fault", "client"), PAIRS)
def test_a_fault_of_http_is_an_answer_or_one_line(fault: str, client: str) -> None:
    send, is_read = FAULTS[fault]
    asks = CLIENTS[client]
    with wired(asks.speak(), send, asks.concerns) as (url, faulty), in_time(20, 20, 1):
        try:
            status, said = asks.ask(url)
        except T2IBenchError as error:
            status, said = "line", str(error)
    assert faulty
    assert (status == "ok") == is_read, said
    assert len(said) < 500 and said.isprintable() and KEY not in said
