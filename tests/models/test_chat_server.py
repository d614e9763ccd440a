"""The client of chat servers, on a real server of this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.chat_server import ChatServer, ServerAwayError
from tests.models.chat import serving

MESSAGES = [{"role": "user", "content": "Hello"}]


def says(*replies: Any) -> Callable[[dict[str, Any]], Any]:
    """A server that gives these replies, one after the other, the last one for ever."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited, without waiting."""
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


def test_a_busy_server_is_asked_again_with_growing_waits(waits: list[float]) -> None:
    with serving(says((503, "busy"), (500, "oh"), (502, "no"), (200, "yes"))) as (url, posted):
        assert ChatServer("m", url).chat(MESSAGES) == "yes"
    assert len(posted) == 4
    assert len(waits) == 2  # the first time at once
    assert 1.0 <= waits[0] <= 1.5 and 2.0 <= waits[1] <= 2.5  # with jitter


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("86400", 30.0)])
def test_retry_after_is_respected_up_to_a_limit(
    asked: str, waited: float, waits: list[float]
) -> None:
    busy = (429, {"error": "slow down"}, {"Retry-After": asked})
    with serving(says(busy, (200, "yes"))) as (url, _):
        assert ChatServer("m", url).chat(MESSAGES) == "yes"
    assert waits == [waited]


def test_attempts_are_counted(waits: list[float]) -> None:
    with serving(says((503, "busy"))) as (url, posted):
        with pytest.raises(
            ServerAwayError, match=r"replied with status 503; tried up to 3 times\."
        ) as caught:
            ChatServer("m", url, retries=3).chat(MESSAGES)
        assert len(posted) == 3
        with pytest.raises(ServerAwayError):
            ChatServer("m", url, retries=1).chat(MESSAGES)
    assert len(posted) == 4
    assert "\n" not in str(caught.value) and "base_url" in str(caught.value)


def test_a_server_that_is_busy_for_ever_ends_after_some_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    monkeypatch.setattr("t2ibench.models.retries.monotonic", lambda: clock[0])
    busy = says((503, "", {"Retry-After": "30"}))
    with (
        serving(busy) as (url, posted),
        pytest.raises(ServerAwayError, match="replied with status 503"),
    ):
        ChatServer("m", url, retries=1000, timeout=5).chat(MESSAGES)
    assert 60 <= clock[0] <= 90 and len(posted) <= 4


def test_a_dead_server_is_one_line(waits: list[float]) -> None:
    with serving(says((200, "x"))) as (url, _):
        pass
    with pytest.raises(ServerAwayError, match=r"cannot be reached \(\w+\); tried up to 2 times"):
        ChatServer("m", url, retries=2).chat(MESSAGES)


def test_a_silent_server_is_one_line(waits: list[float]) -> None:
    gate = threading.Event()

    def sleepy(_: dict[str, Any]) -> tuple[int, Any]:
        gate.wait(5)
        return 200, "late"

    with serving(sleepy) as (url, _):
        began = time.monotonic()
        with pytest.raises(ServerAwayError, match="does not answer within 1 s"):
            ChatServer("m", url, retries=2, timeout=1).chat(MESSAGES)
        assert time.monotonic() - began < 4
        gate.set()


def test_one_session_serves_many_threads() -> None:
    def echo(body: dict[str, Any]) -> tuple[int, Any]:
        return 200, body["messages"][0]["content"]

    with serving(echo) as (url, _):
        server = ChatServer("m", url)
        texts = [f"text {number}" for number in range(64)]
        with ThreadPoolExecutor(16) as pool:
            said = pool.map(lambda text: server.chat([{"role": "user", "content": text}]), texts)
            assert list(said) == texts


def test_redirects_are_not_followed_and_netrc_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("MY_KEY", "mine")
    away = says((302, "", {"Location": "http://127.0.0.1:1/"}))
    with serving(away) as (url, posted), pytest.raises(T2IBenchError, match="302"):
        ChatServer("m", url, api_key_env="MY_KEY").chat(MESSAGES)
    assert [body["authorization"] for body in posted] == ["Bearer mine"]
