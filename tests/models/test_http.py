"""What a server may do to its client: hang, flood, echo the key; and what the client refuses."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import threading
import time
import tracemalloc
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.chat_server import ChatArguments
from t2ibench.models.server_errors import ServerAwayError
from t2ibench.models.servers import as_they_end, checked_address, submit
from tests.models.chat import (
    Wire,
    bomb,
    chat_server,
    completion,
    response,
    wiring,
    without_waiting,
)
from tests.models.parts import refused

MESSAGES = [{"role": "user", "content": "Hello"}]
KEY = "sk-Ab/9+q=\"x\\y'z&?%"


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    without_waiting(monkeypatch)


class Raw:
    """Sends these bytes, one response after the other, the last one for ever, and hangs up."""

    def __init__(self, *responses: bytes, keep: bool = False) -> None:
        self.heard: list[Wire] = []
        self._responses, self._keep = responses, keep

    def __call__(self, wire: Wire) -> bool:
        self.heard.append(wire)
        wire.send(self._responses[min(len(self.heard), len(self._responses)) - 1])
        return self._keep


def hang(part: bytes, trickled: bytes) -> Callable[[threading.Event, Wire], None]:
    def go(ended: threading.Event, wire: Wire) -> None:
        wire.send(part)
        wire.trickle(trickled, ended)
        ended.wait(20)

    return go


HANGS = {
    "says nothing": hang(b"", b""),
    "trickles headers": hang(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "trickles one endless header": hang(b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "trickles interim responses": hang(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "trickles a body": hang(response(b"", length=10_000), b" "),
    "trickles chunks": hang(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"
    ),
    "trickles without a length": hang(b"HTTP/1.0 200 OK\r\n\r\n", b" "),
    "trickles an error": hang(response(b"", 500, length=10_000), b" "),
    "stops in the body": hang(response(b'{"choices', length=10_000), b""),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", HANGS)
def test_an_attempt_ends_at_the_deadline_wherever_the_server_hangs(how: str) -> None:
    ended, asked = threading.Event(), list[Wire]()

    def handle(wire: Wire) -> bool:
        asked.append(wire)
        HANGS[how](ended, wire)
        return False

    with wiring(handle) as url:
        began = time.monotonic()
        with pytest.raises(
            ServerAwayError, match="does not answer within 1 s; tried once"
        ):
            chat_server(url, timeout=1, retries=1).chat(MESSAGES)
        assert 1 <= time.monotonic() - began < 10
        ended.set()
    assert len(asked) == 1


BAD = {
    "larger": (
        response(b" " * (ChatArguments.largest_reply + 1)),
        "larger than 2,000,000 bytes",
    ),
    "endless": (
        b"HTTP/1.0 200 OK\r\n\r\n" + b" " * (ChatArguments.largest_reply + 100_000),
        "larger than 2,000,000 bytes",
    ),
    "bomb": (
        response(bomb(300), 200, "Content-Encoding: gzip"),
        "larger than 2,000,000 bytes",
    ),
    "no gzip": (response(b"no", 200, "Content-Encoding: gzip"), "cannot be unpacked"),
    "brotli": (response(b"no", 200, "Content-Encoding: br"), "has the encoding 'br'"),
    "html": (
        response(b"<html>Sign in</html>", 200, "Content-Type: text/html"),
        "not a chat",
    ),
    "empty": (response(b""), "not a chat"),
    "null": (response(b"null"), "not a chat"),
    "list": (response(b"[]"), "not a chat"),
    "text": (response(b'"x"'), "not a chat"),
    "choices": (response(b'{"choices": {}}'), "not a chat"),
    "message": (response(b'{"choices": [{"message": "x"}]}'), "not a chat"),
    "number": (response(b'{"choices": [{"message": {"content": 1}}]}'), "no text"),
    "digits": (response(b"1" * 10_000), "not a chat"),
    "no UTF-8": (response(b'{"choices": "\xff"}'), "not a chat"),
    "deep": (response(b"[" * 100_000 + b"]" * 100_000), "not a chat"),
    "deep content": (
        response(
            b'{"choices": [{"message": {"content": ' + b"[" * 500 + b"]" * 500 + b"}}]}"
        ),
        "not a chat",
    ),
    "error": (response(b"<h1>\x1b]0;owned\x07 Bad\r\nrequest</h1>", 400), "400: <h1>"),
    "packed error": (
        response(gzip.compress(b"x", mtime=0), 418, "Content-Encoding: gzip"),
        "418:",
    ),
    "endless error": (response(b"x" * 30_000_000, 422), "422: xxx"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_reply_is_one_short_line_asked_for_once(what: str) -> None:
    sent, message = BAD[what]
    server = Raw(sent)
    from openai.resources import chat, images  # noqa: F401  what they take is not the reply's

    with wiring(server) as url:
        tracemalloc.start()
        try:
            with pytest.raises(T2IBenchError, match=message) as caught:
                chat_server(url).chat(MESSAGES)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert not isinstance(caught.value, ServerAwayError)
    assert len(str(caught.value)) < 300 and str(caught.value).isprintable()
    assert len(server.heard) == 1 and peak < 40_000_000


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        response(completion("half")[:20], length=500),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n",
        response(
            gzip.compress(completion("half"), mtime=0)[:-9],
            200,
            "Content-Encoding: gzip",
        ),
        b"\x16\x03\x01\x02\x00 no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    ],
)
def test_a_reply_that_breaks_off_is_asked_for_again(broken: bytes) -> None:
    with wiring(Raw(broken, response(completion("whole")))) as url:
        assert chat_server(url).chat(MESSAGES) == "whole"


ODD = [
    "ma\x00le\ud800",
    "\u2028\r\n\t\x1b[31m",
    "\U0001f469\u200d\U0001f373",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("packed", [True, False])
def test_any_text_is_read_without_loss(text: str, packed: bool) -> None:
    body = completion(text)
    sent = response(body, 200, "Content-Type: text/html")
    if packed:
        sent = response(gzip.compress(body, mtime=0), 200, "Content-Encoding: gzip")
    with wiring(Raw(sent)) as url:
        assert chat_server(url).chat(MESSAGES) == text


def echoes(key: str) -> list[str]:
    """Ways in which a server may say the key."""
    return [
        key,
        f"Bearer {key}",
        quote(key),
        quote(key, safe=""),
        base64.b64encode(key.encode()).decode(),
        base64.urlsafe_b64encode(key.encode()).decode(),
        base64.b64encode(f"Bearer {key}".encode()).decode(),
        base64.b64encode(f"user:{key}@host".encode()).decode(),
        json.dumps({"authorization": key}),
    ]


@pytest.mark.parametrize("echo", echoes(KEY))
@pytest.mark.parametrize("status", [200, 400, 403, 500])
def test_the_key_is_hidden_in_whatever_the_server_says(
    echo: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    heard, sent = [], []
    bodies = [
        json.dumps({"error": {"message": f"no access for {echo}"}}).encode(),
        json.dumps({"error": {echo: f"no access for {echo}"}}).encode(),
        f"no access for {echo}".encode(),
        completion(f"I heard {echo}."),
        json.dumps({"choices": [{"message": {"refusal": echo}}]}).encode(),
    ]
    for body in bodies:
        escaped = "".join(f"\\u{ord(char):04x}" for char in echo).encode()
        for one in (body, body.replace(json.dumps(echo)[1:-1].encode(), escaped)):
            sent.append(response(one, status, f"X-Echo: {quote(echo)}"))
    told = Raw(*sent, keep=True)
    with wiring(told) as url:
        server = chat_server(url, api_key_env="MY_KEY", retries=1)
        for _ in sent:
            try:
                heard.append(server.chat(MESSAGES))
            except T2IBenchError as error:
                heard.append(str(error))
    assert {wire.headers["authorization"] for wire in told.heard} == {f"Bearer {KEY}"}
    text = " ".join(heard)
    assert len(heard) == 10 and ("***" in text or status == 500)
    middles = {one.strip("=")[4:-4] for one in echoes(KEY)}
    assert not [middle for middle in middles if middle in text]


def test_nothing_of_the_environment_but_the_key_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only what the key knows is hidden from replies."""
    monkeypatch.setenv("MY_KEY", KEY)
    names = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
    for name in names:
        monkeypatch.setenv(name, "another-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: another-secret")
    server = Raw(response(completion("yes")), keep=True)
    with wiring(server) as url:
        chat_server(url, api_key_env="MY_KEY").chat(MESSAGES)
        chat_server(url, api_key_env="NO_SUCH_KEY").chat(MESSAGES)
    heard = [wire.headers for wire in server.heard]
    assert [headers.get("authorization") for headers in heard] == [
        f"Bearer {KEY}",
        None,
    ]
    assert "another-secret" not in str(heard)


@pytest.mark.parametrize(
    "key", ["sk-1234\n", "sk 1234", "sk-ключ", "sk-\u20ac", "sk-\x00", "\u200bsk-1"]
)
def test_a_key_that_cannot_be_sent_is_one_line_before_any_request(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"MY_KEY": key})
    with pytest.raises(T2IBenchError, match="The key in MY_KEY has a space") as caught:
        chat_server("http://127.0.0.1:1", api_key_env="MY_KEY")
    assert key not in str(caught.value) and "\n" not in str(caught.value)


def test_a_key_does_not_show_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server = chat_server(api_key_env="MY_KEY")
    assert KEY not in repr(vars(server)) + repr(ApiKey("MY_KEY")) + json.dumps(
        server.settings
    )


@pytest.mark.parametrize(
    "address",
    [
        *(
            "http://[::1",
            "http://[::1]x",
            "localhost:8000",
            "",
            "http://",
            "http:///v1",
        ),
        *(
            "ftp://host/v1",
            "file:///etc/passwd",
            "http://host:port/v1",
            "http://host:99999/v1",
        ),
        *(
            "http://host:0/v1",
            "http://ho st/v1",
            "http://host/v1\nX: y",
            "http://host\t/v1",
        ),
        *(
            "http://user:hunter2@host/v1",
            "http://hunter2@host/v1",
            "http://host/v1?key=hunter2",
        ),
        *(
            "http://host/v1?hunter2",
            "http://host/v1#hunter2",
            "htp://user:hunter2@host/v1",
        ),
        "http://host:hunter2@x:y/v1",
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(T2IBenchError, match="base_url") as caught:
        checked_address(address)
    assert "hunter2" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8000/v1",
        "https://host",
        "http://[::1]:80/v1/",
        "http://é.example/v1",
    ],
)
def test_addresses_that_are_taken(address: str) -> None:
    assert checked_address(address) == address.rstrip("/")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ~/.netrc is not read."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("MY_KEY", KEY)
    thief = Raw(response(completion("mine")))
    with wiring(thief) as away:
        moved = Raw(response(b"", status, f"Location: {away}/chat/completions"))
        with (
            wiring(moved) as url,
            pytest.raises(
                ServerAwayError, match=f"redirects to another address .{status}."
            ),
        ):
            chat_server(url, api_key_env="MY_KEY").chat(MESSAGES)
    assert not thief.heard
    assert [wire.headers["authorization"] for wire in moved.heard] == [f"Bearer {KEY}"]


@pytest.mark.parametrize("proxy", ["socks9://x", "http://[::1", "nonsense"])
def test_proxies_that_make_no_sense_are_one_line(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with refused():
        chat_server("http://127.0.0.1:1", retries=1).chat(MESSAGES)


def test_a_cancelled_request_is_ended_at_once() -> None:
    here, gone = threading.Event(), threading.Event()

    def handle(wire: Wire) -> bool:
        here.set()
        try:
            while not gone.wait(0.02):
                wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        except OSError:
            gone.set()
        return False

    with wiring(handle) as url:
        server = chat_server(url)
        started = server.start(MESSAGES)
        assert here.wait(10)
        started.cancel()
        assert gone.wait(10)


def test_requests_under_way_are_awaited_where_another_cannot_begin() -> None:
    """They may have been paid for, and would be sent once more."""

    def begin(key: str) -> Future[str]:
        if key == "damaged":
            raise OSError("it has changed")
        return submit(answer(key))

    async def answer(key: str) -> str:
        await asyncio.sleep(0.05)
        return key.upper()

    got: list[Any] = []
    waiting = deque(["a", "b", "damaged", "c"])
    with pytest.raises(OSError, match="it has changed"):
        for part in as_they_end(waiting, begin, lambda: 4):
            got += part
    assert sorted(got) == [("a", "A"), ("b", "B")]
    assert list(waiting) == ["c"]
