"""The client of chat servers, on a real server of this machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from t2ibench.models.server_errors import LongWaitError, ServerAwayError
from tests.models.chat import chat_server, serving, without_waiting

MESSAGES = [{"role": "user", "content": "Hello"}]


def says(*replies: Any) -> Callable[[dict[str, Any]], Any]:
    """A server that gives these replies, one after the other, the last one for ever."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited, without waiting."""
    return without_waiting(monkeypatch)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only waits move."""
    now = [1000.0]

    async def move(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr("t2ibench.models.servers.pause", move)
    monkeypatch.setattr("t2ibench.models.servers.monotonic", lambda: now[0])
    return now


def test_a_busy_server_is_asked_again_with_growing_waits(waits: list[float]) -> None:
    with serving(says((503, "busy"), (500, "oh"), (502, "no"), (200, "yes"))) as (
        url,
        posted,
    ):
        assert chat_server(url).chat(MESSAGES) == "yes"
    assert len(posted) == 4 and len(waits) == 3
    for wait, least in zip(waits, (0.5, 1.0, 2.0), strict=True):
        assert least <= wait <= 1.5 * least  # with jitter


def http_date(seconds: float) -> str:
    return format_datetime(
        datetime.now(timezone.utc) + timedelta(seconds=seconds), usegmt=True
    )


@pytest.mark.parametrize("form", ["60", "60.0", "{date} GMT", "{date}"])
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_respected(form: str, status: int, waits: list[float]) -> None:
    date = http_date(61).removesuffix(" GMT")
    busy = (status, {"error": "slow down"}, {"Retry-After": form.format(date=date)})
    with serving(says(busy, (200, "yes"))) as (url, _):
        assert chat_server(url).chat(MESSAGES) == "yes"
    (wait,) = waits
    assert 40 <= wait <= 62


@pytest.mark.parametrize("asked", ["soon", "", "-5", "nan", "inf", "Mon"])
def test_a_retry_after_that_makes_no_sense_is_ignored(
    asked: str, waits: list[float]
) -> None:
    busy = (429, {"error": "slow down"}, {"Retry-After": asked})
    with serving(says(busy, (200, "yes"))) as (url, _):
        assert chat_server(url).chat(MESSAGES) == "yes"
    assert len(waits) == 1 and waits[0] <= 1.0


@pytest.mark.parametrize("asked", ["1e9", "9" * 400])
def test_a_wait_beyond_all_patience_ends_the_request(
    asked: str, waits: list[float]
) -> None:
    busy = (429, {"error": "slow down"}, {"Retry-After": asked})
    with (
        serving(says(busy, (200, "yes"))) as (url, _),
        pytest.raises(LongWaitError, match="it is waited for 5 min at most"),
    ):
        chat_server(url).chat(MESSAGES)
    assert waits == []


def test_a_rate_limit_is_waited_for_and_announced(clock: list[float]) -> None:
    began = clock[0]
    said: list[str] = []

    def limited(_: dict[str, Any]) -> tuple[Any, ...]:
        if clock[0] - began < 60:
            return 429, {"error": "slow down"}  # and no Retry-After
        return 200, "yes"

    with serving(limited) as (url, posted):
        server = chat_server(url, retries=2)
        server.report_waits(said.append)
        assert server.chat(MESSAGES) == "yes"
    assert len(posted) > 2 and clock[0] - began < 120
    bound = r"429 \(slow down\); the next attempt is in \d+ s, the last one in (\d+ s|[1-5] min) at"
    assert said and all(re.search(bound, line) for line in said)


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "30"}])
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_busy_for_ever_is_left_after_five_minutes(
    status: int, headers: dict[str, str], clock: list[float]
) -> None:
    began = clock[0]
    with serving(says((status, "", headers))) as (url, posted):
        server = chat_server(url, retries=1000, timeout=5)
        with pytest.raises(
            ServerAwayError, match=rf"status {status}; tried \d+ times in 5 min"
        ):
            server.chat(MESSAGES)
        assert 300 <= clock[0] - began <= 331 and len(posted) >= 2
        asked = len(posted)
        with pytest.raises(ServerAwayError, match="tried once"):
            server.chat(MESSAGES)  # it has not answered since: one attempt is enough
        assert len(posted) == asked + 1


def test_attempts_are_counted(waits: list[float]) -> None:
    with (
        serving(says((503, "busy"))) as (url, posted),
        pytest.raises(
            ServerAwayError, match=r"status 503 \(busy\); tried 3 times\..*same command"
        ),
    ):
        chat_server(url, retries=3).chat(MESSAGES)
    assert len(posted) == 3
