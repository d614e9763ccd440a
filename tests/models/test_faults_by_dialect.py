"""Every fault of a reply, in every dialect: one image has it, and the others are as they were."""

from __future__ import annotations

import base64
import binascii
import io
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.models.chat import Said, json_reply, without_waiting
from tests.models.test_costs import ALL, Images, Responses
from tests.models.test_gateways import (
    KEY,
    SAFE,
    VARIABLES,
    Azure,
    ChatOfOpenRouter,
    Gemini,
    Omni,
    model_of,
    replying,
)
from tests.models.test_served import PROMPTS, requests

PLAIN = str.maketrans("-_", "+/")
SHORTEST = 100  # letters of a text in a reply that may be an image


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES, "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)


def with_images(value: Any, change: Callable[[bytes], str]) -> Any:
    """A reply whose images are others: Base64, alone or in a data URL."""
    if isinstance(value, dict):
        return {name: with_images(part, change) for name, part in value.items()}
    if isinstance(value, list):
        return [with_images(part, change) for part in value]
    if not isinstance(value, str) or len(value) < SHORTEST:
        return value
    start, comma, data = value.rpartition(",")
    try:
        image = base64.b64decode(data.translate(PLAIN), validate=True)
    except binascii.Error:
        return value
    return f"{start}{comma}{change(image)}"


def webp(data: bytes) -> str:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(data)).save(buffer, format="WEBP", lossless=True)
    return base64.b64encode(buffer.getvalue()).decode()


def url_safe(data: bytes) -> str:
    return base64.b64encode(data).decode().translate(SAFE).rstrip("=")


def half(data: bytes) -> str:
    return base64.b64encode(data[: len(data) // 2]).decode()


def no_image(_: bytes) -> str:
    return base64.b64encode(b"no image at all").decode()


def none_of(dialect: Any) -> Any:
    """A reply with fewer images than were asked for: none, and no word why."""
    if isinstance(dialect, Responses):
        return {"output": []}
    if isinstance(dialect, Gemini):
        return {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}
    if isinstance(dialect, Omni):
        return {"choices": [{"message": {"role": "assistant", "content": ""}}]}
    return {"created": 1, "data": []}


def cut_off(dialect: Any, body: dict[str, Any]) -> Said:
    data = json.dumps(dialect.image(body)).encode()
    return 200, {"content-length": str(len(data))}, data[: len(data) // 2]


def typed(kind: str) -> Callable[[Any, dict[str, Any]], Said]:
    def reply(dialect: Any, body: dict[str, Any]) -> Said:
        return 200, {"content-type": kind}, json.dumps(dialect.image(body)).encode()

    return reply


def changed(change: Callable[[bytes], str]) -> Callable[[Any, dict[str, Any]], Said]:
    return lambda dialect, body: json_reply(with_images(dialect.image(body), change))


def status_of(
    status: int, data: bytes = b"<html>", **headers: str
) -> Callable[[Any, dict[str, Any]], Said]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda *_: (status, named, data)


@dataclass(frozen=True)
class Fault:
    """A fault of the replies to one prompt.

    Attributes:
        reply: The reply of a dialect to a request.
        becomes: The status of the image.
        times: How many replies have it; the next ones are as they should be.
        requests: How many requests there are for the image.
        attempts: How often the client asks for an image at most.
    """

    reply: Callable[[Any, dict[str, Any]], Said]
    becomes: str
    times: int = 99
    requests: int = 1
    attempts: int = 3


DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
PROXIES = itertools.cycle(range(520, 531))
PAGE = {"content_type": "text/html"}
FAULTS = {
    "a stream that is cut off once": Fault(cut_off, "ok", times=1, requests=2),
    "a stream that is cut off always": Fault(cut_off, "failed", requests=3),
    "429 with seconds": Fault(status_of(429, retry_after="2"), "ok", 1, 2),
    "429 with a date": Fault(status_of(429, retry_after=DATE), "ok", 1, 2),
    "a proxy's 520 to 530, one after the other": Fault(
        lambda *_: (next(PROXIES), {"content-type": "text/html"}, b"<html>"),
        "ok",
        times=11,
        requests=12,
        attempts=12,
    ),
    "a proxy's 524 always": Fault(status_of(524, **PAGE), "failed", requests=3),
    "JSON that is called text": Fault(typed("text/plain"), "ok"),
    "JSON that is called bytes": Fault(typed("application/octet-stream"), "ok"),
    "a page once": Fault(status_of(200, **PAGE), "ok", 1, 2),
    "a page always": Fault(status_of(200, **PAGE), "failed", requests=3),
    "WebP for PNG": Fault(changed(webp), "ok"),
    "URL-safe Base64 without padding": Fault(changed(url_safe), "ok"),
    "half an image": Fault(changed(half), "failed"),
    "bytes that are no image": Fault(changed(no_image), "failed"),
    "no image of one": Fault(
        lambda dialect, _: json_reply(none_of(dialect)), "filtered"
    ),
}


def counted(dialect: Any, posted: list[dict[str, Any]]) -> Counter[str]:
    """How many requests there were for images, by prompt."""
    asked = [body for body in posted if "path" not in body or "image" in body]
    return Counter(dialect.prompt(body) for body in asked)


@cache
def drawn(dialect: Any) -> list[Any]:
    """The images of a server without faults, one a prompt."""
    with replying(dialect) as (url, _):
        return list(generator(dialect, url).generate(requests(PROMPTS, 1)))


def generator(dialect: Any, url: str, attempts: int = 3) -> Any:
    further = {"api": "responses"} if isinstance(dialect, Responses) else {}
    return model_of(dialect, url, workers=2, retries=attempts, **further)


def each_fault() -> Iterator[Any]:
    """Each fault in each dialect; by day every other one, so that each of both is tried."""
    for place, dialect in enumerate(ALL):
        for number, fault in enumerate(FAULTS):
            by_day = (place + number) % 2 == 0
            yield pytest.param(
                *(dialect, fault),
                id=f"{type(dialect).__name__}-{fault}",
                marks=[] if by_day else [pytest.mark.nightly],
            )


@pytest.mark.parametrize(("dialect", "fault"), [*each_fault()])
def test_a_fault_of_one_image_is_a_line_and_costs_no_other(
    dialect: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    broken = FAULTS[fault]
    left = [broken.times]

    def speak(body: dict[str, Any]) -> Any:
        left[0] -= 1
        is_broken = left[0] >= 0
        return broken.reply(dialect, body) if is_broken else dialect.image(body)

    # The first image shows that the server makes some, and which fields it takes.
    faulty = PROMPTS[1]
    with replying(dialect, rose=speak) as (url, posted):
        model = generator(dialect, url, broken.attempts)
        images = model.generate(requests(PROMPTS, 1))
    for prompt, image, expected in zip(PROMPTS, images, drawn(dialect), strict=True):
        assert image.status == ("ok" if prompt != faulty else broken.becomes)
        assert "\n" not in (image.reason or "") and KEY not in (image.reason or "")
        assert (image.status == "ok") == (not image.reason)
        if image.status == "ok":
            assert np.array_equal(np.asarray(image.image), np.asarray(expected.image))
    asked = counted(dialect, posted)
    assert asked[faulty] == broken.requests
    assert all(asked[prompt] == 1 for prompt in PROMPTS if prompt != faulty)


def at_address(dialect: Any, url: str) -> Any:
    """A reply with the address of an image instead of the image."""
    if isinstance(dialect, Azure):
        return {"data": [{"url": url}]}
    part = {"type": "image_url", "image_url": {"url": url}}
    message: dict[str, Any] = {"content": [part]}
    if isinstance(dialect, ChatOfOpenRouter):
        message = {"content": "Here it is.", "images": [part]}
    return {"choices": [{"message": message}]}


@pytest.mark.parametrize("status", [403, 404, 410])
@pytest.mark.parametrize(
    "dialect",
    [Azure(), Images(), Omni(), ChatOfOpenRouter()],
    ids=lambda dialect: type(dialect).__name__,
)
def test_an_address_that_has_expired_costs_no_other_image(
    dialect: Any, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dialects whose replies may have addresses."""
    without_waiting(monkeypatch)
    gone: Said = (status, {"content-type": "application/xml"}, b"<Error>Expired")
    address: list[str] = []

    def speak(_: Any) -> Any:
        return at_address(dialect, f"{address[0]}/gone.png?signature=abc")

    files = {"gone.png?signature=abc": gone}
    with replying(dialect, files=files, rose=speak) as (url, _):
        address.append(url)
        images = generator(dialect, url).generate(requests(PROMPTS, 1))
    statuses = [image.status for image in images]
    assert statuses == ["ok", "failed", "ok", "ok"]
    assert str(status) in images[1].reason and "\n" not in images[1].reason
