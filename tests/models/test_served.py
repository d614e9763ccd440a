"""Models behind an images API: a real server on this machine, over real HTTP."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import pickle
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.models import image_download
from t2ibench.models.api_key import ApiKey
from t2ibench.models.contract import check_generator
from t2ibench.models.generators import create_generator
from t2ibench.models.http import BoundedClient
from t2ibench.models.image_download import fetch_image
from t2ibench.models.protocols import GeneratedImage, Generator, ImageRequest
from t2ibench.models.server_errors import BadReplyError
from t2ibench.models.servers import submit
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.generator_record import settle
from t2ibench.results.run import open_run
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, image_seed
from tests import hand
from tests.conftest import Cli
from tests.models.chat import Said, json_reply, speaking, without_waiting
from tests.models.images_api import Faults, images_server, running
from tests.pipeline.storing import generate_images

PROMPTS = [f"a photo of a {word}" for word in ("nurse", "rose", "chef", "wasp")]
KEY = "sk-very-secret-0123456789"


def requests(prompts: list[str], each: int) -> list[ImageRequest]:
    return [
        ImageRequest(prompt, index, image_seed(0, prompt, index))
        for prompt in prompts
        for index in range(each)
    ]


def served(url: str, **args: Any) -> Generator:
    return create_generator("openai:m", {"base_url": url, "timeout": 5, **args})


def asked(
    speak: Callable[..., Said], wanted: list[ImageRequest], **args: Any
) -> tuple[list[GeneratedImage], list[dict[str, Any]], Any]:
    """The images of requests that a server answers, the bodies that it got, and the model."""
    with speaking(speak) as (url, posted):
        model = served(url, **args)
        return model.generate(wanted), posted, model


def store_at(folder: Path) -> ImageStore:
    return ImageStore(Database(folder), "f")


def picture(shade: int = 100) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 20, 30)).save(buffer, format="PNG")
    return buffer.getvalue()


ROW = {"b64_json": base64.b64encode(picture()).decode()}


def one(**further: Any) -> Said:
    return json_reply({"created": 1, "data": [{**ROW, **further}]})


def wrong(message: str, status: int = 400, **further: Any) -> Said:
    return json_reply({"error": {"message": message, **further}}, status)


@pytest.fixture
def toyland() -> Iterator[str]:
    with running(images_server().images_app("m", create_generator("toyland"))) as url:
        yield url


def test_a_served_generator_meets_the_contract_and_returns_the_models_images(
    toyland: str,
) -> None:
    assert check_generator(lambda: served(toyland)) == []
    wanted = requests(PROMPTS, 2)
    for here, there in zip(
        create_generator("toyland").generate(wanted),
        served(toyland).generate(wanted),
        strict=True,
    ):
        assert np.array_equal(np.asarray(here.image), np.asarray(there.image))


def test_rejected_fields_are_left_out_and_reported_once() -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        for name in ("seed", "response_format"):
            if name in body:
                return wrong(
                    f"Unknown parameter: '{name}'.",
                    param=name,
                    code="unknown_parameter",
                )
        return one()

    said: list[str] = []
    with speaking(speak) as (url, posted):
        model: Any = served(url)
        model.report_waits(said.append)
        assert model.effective_settings() == {}
        found = model.generate(requests(PROMPTS, 3))
    assert {drawn.status for drawn in found} == {"ok"}
    # The seed is tried at 63, 32 and 31 bits; after that nothing is refused any more.
    assert len(posted) == 12 + 4
    assert all(
        "seed" not in body and body["output_format"] == "png" for body in posted[4:]
    )
    assert "unknown" in model.effective_settings()["seed"]
    (line,) = said
    assert "takes no seed" in line and "unknown" in line


@pytest.mark.parametrize("bits", [63, 32, 31])
def test_a_seed_has_as_many_bits_as_the_server_takes(bits: int) -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        if body["seed"] >= 1 << bits:
            detail = [
                {"type": "less_than", "loc": ["body", "seed"], "msg": "too large"}
            ]
            return json_reply({"detail": detail}, 422)
        return one()

    (request,) = requests(PROMPTS[:1], 1)
    _, posted, model = asked(speak, [request])
    assert posted[-1]["seed"] == request.seed % (1 << bits)
    assert ("bits" in model.effective_settings()["seed"]) == (bits < 63)


def test_seeds_get_narrower_where_the_first_were_small_by_chance() -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        if body["seed"] >= 1 << 31:
            return wrong("seed must be from 0 to 2147483647")
        return one()

    # All have more than 32 bits; the lowest 32 of the first are fewer than 32 bits, by chance.
    seeds = [
        (1 << 40) + 7,
        (1 << 40) + (1 << 31) + 8,
        *((1 << 40) + (1 << 31) + n for n in (9, 10)),
    ]
    wanted = [ImageRequest(PROMPTS[0], index, seed) for index, seed in enumerate(seeds)]
    drawn, posted, model = asked(speak, wanted)
    assert [image.status for image in drawn] == ["ok"] * len(wanted)
    taken = {body["seed"] for body in posted if body["seed"] < 1 << 31}
    assert taken == {seed % (1 << 31) for seed in seeds}
    assert "31 bits" in model.effective_settings()["seed"]


def test_settings_go_to_the_server_under_its_names() -> None:
    args = {
        "steps": "7",
        "guidance": "2.5",
        "negative_prompt": "blurry",
        "size": "64x32",
    }
    args |= {"body.quality": "low", "body.generator_device": "cpu"}
    _, (sent,), model = asked(lambda *_: one(), requests(PROMPTS[:1], 1), **args)
    expected = {
        "num_inference_steps": 7,
        "guidance_scale": 2.5,
        "negative_prompt": "blurry",
    }
    expected |= {"size": "64x32", "quality": "low", "generator_device": "cpu"}
    assert expected.items() <= sent.items() and "n" not in sent
    assert model.settings["steps"] == 7
    url = model.settings["url"].removesuffix("/images/generations")
    assert model.fingerprint != served(url).fingerprint
    assert model.fingerprint == served(url, workers=3, timeout=9, **args).fingerprint


def test_a_setting_of_the_user_that_is_refused_is_an_error_not_left_out() -> None:
    reply = wrong("Unknown parameter: 'num_inference_steps'.")
    with speaking(lambda *_: reply) as (url, posted):
        with pytest.raises(
            T2IBenchError, match=r"not take num_inference_steps=7.*Leave steps="
        ):
            served(url, steps=7).generate(requests(PROMPTS, 3))
        assert len(posted) == 1


REFUSALS = {
    "code": wrong("Your request was rejected.", code="content_policy_violation"),
    "stage": wrong(
        "Rejected by the safety system.", code="moderation_blocked", type="x"
    ),
    "azure": wrong(
        "The response was filtered due to content management policy.", code="nope"
    ),
    "inner": wrong("no", innererror={"code": "ResponsibleAIPolicyViolation"}),
    "forbidden": wrong(
        "This may violate our content policy.", 403, code="content_filter"
    ),
    "by category": wrong(
        "no", innererror={"content_filter_result": {"hate": {"filtered": True}}}
    ),
    "a gateway's": wrong("flagged", 403, code=403, metadata={"reasons": ["violence"]}),
    "with status 200": wrong("Rejected.", 200, code="content_filter"),
}


@pytest.mark.parametrize("how", REFUSALS)
def test_a_refusal_is_a_row_with_the_words_of_the_server(
    how: str, tmp_path: Path
) -> None:
    store = store_at(tmp_path)
    with speaking(
        lambda body, _: REFUSALS[how] if "nurse" in body["prompt"] else one()
    ) as (
        url,
        posted,
    ):
        for _ in range(2):  # it is not asked again
            generate_images(requests(PROMPTS, 2), served(url), store)
            assert len(posted) == 8
    refused = [one for one in store.attempts() if one.status != "ok"]
    assert [(one.prompt, one.status) for one in refused] == [
        (PROMPTS[0], "refused")
    ] * 2
    assert all(
        one.reason and one.reason.startswith("the server replied") for one in refused
    )


def test_what_a_filter_takes_after_it_was_made_is_filtered() -> None:
    late = {
        "code": "moderation_blocked",
        "moderation_details": {"moderation_stage": "output"},
    }
    replies = {
        PROMPTS[0]: wrong("Rejected.", **late),
        PROMPTS[1]: json_reply({"data": []}),
        PROMPTS[2]: json_reply({"data": [{"url": "", "respect_moderation": False}]}),
        PROMPTS[3]: json_reply({"data": [{"b64_json": None}]}),
        "a tree": one(),
    }
    images, *_ = asked(lambda body, _: replies[body["prompt"]], requests([*replies], 1))
    assert [image.status for image in images] == ["filtered"] * 4 + ["ok"]


@pytest.mark.parametrize("reply", [{"data": []}, {"data": [{"b64_json": None}]}])
@pytest.mark.parametrize(("prompts", "each"), [(1, 1), (1, 12), (4, 3)])
def test_a_server_that_makes_no_images_is_no_filter(
    reply: dict[str, Any], prompts: int, each: int, tmp_path: Path
) -> None:
    """What it says nothing about is not stored, and the same command asks again."""
    store = store_at(tmp_path)
    with speaking(lambda *_: json_reply(reply)) as (url, posted):
        with pytest.raises(T2IBenchError, match="makes no images"):
            generate_images(requests(PROMPTS[:prompts], each), served(url), store)
        assert len(posted) <= 16 and not list(store.attempts())


def test_a_filter_of_the_first_prompt_is_no_broken_server(tmp_path: Path) -> None:
    """Another prompt is asked in between, however many images the first is to have."""

    def speak(body: dict[str, Any], _: Any) -> Said:
        return json_reply({"data": []}) if body["prompt"] == PROMPTS[0] else one()

    images, *_ = asked(speak, requests(PROMPTS[:2], 20))
    assert [image.status for image in images] == ["filtered"] * 20 + ["ok"] * 20


def test_revised_prompts_are_stored_with_their_images(tmp_path: Path) -> None:
    told = {
        PROMPTS[0]: PROMPTS[0] + ", diverse",
        PROMPTS[1]: None,  # it does not say
        PROMPTS[2]: PROMPTS[2],  # it says that it used the very prompt
    }
    with speaking(lambda body, _: one(revised_prompt=told[body["prompt"]])) as (url, _):
        generate_images(requests(PROMPTS[:3], 1), served(url), store_at(tmp_path))
    assert {
        one.prompt: one.revised_prompt for one in store_at(tmp_path).attempts()
    } == told


@pytest.mark.parametrize(
    "form", ["/files/1.png", "{root}/files/1.png", "data:image/png;base64,{}"]
)
def test_images_at_addresses_are_fetched(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def speak(body: dict[str, Any], headers: dict[str, str]) -> Said:
        if "path" in body:
            return 200, {"content-type": "image/png"}, picture(77)
        encoded = base64.b64encode(picture(77)).decode()
        url = form.format(encoded, root=f"http://{headers['host']}")
        return json_reply({"data": [{"url": url}]})

    (drawn,), posted, _ = asked(speak, requests(PROMPTS[:1], 1))
    assert drawn.image is not None and np.asarray(drawn.image)[0, 0, 0] == 77
    assert all(body["headers"]["authorization"] == f"Bearer {KEY}" for body in posted)


def test_an_address_that_is_busy_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The image has been made, and paid for."""
    waits = without_waiting(monkeypatch)
    replies = iter([(503, {}, b""), (429, {}, b""), (200, {}, picture(77))])

    def speak(body: dict[str, Any], _: Any) -> Said:
        return (
            next(replies)
            if "path" in body
            else json_reply({"data": [{"url": "/1.png"}]})
        )

    (image,), posted, _ = asked(speak, requests(PROMPTS[:1], 1))
    assert image.status == "ok" and len(posted) == 4 and len(waits) == 2


def fetched(
    url: str, base: str, key: str = "NO_KEY", largest: int = 1000, timeout: float = 5.0
) -> bytes:
    return submit(fetch_image(url, base, ApiKey(key), largest, timeout)).result()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:{port}/secret", "private network"),
        ("http://localhost:{port}/secret", "private network"),
        ("http://169.254.169.254/latest/meta-data", "private network"),
        ("http://[::1]:{port}/x", "private network"),
        ("http://0.0.0.0:{port}/x", "private network"),
        ("http://10.1.2.3/x", "private network"),
        ("http://172.16.0.1/x", "private network"),
        ("http://192.168.1.1/x", "private network"),
        ("http://100.64.0.1/x", "private network"),
        ("http://[fe80::1]/x", "private network"),
        ("http://[fd00:ec2::254]/latest", "private network"),
        ("http://[::ffff:127.0.0.1]:{port}/x", "private network"),
        ("http://[64:ff9b::7f00:1]/x", "private network"),
        ("http://2130706433:{port}/x", "private network"),
        ("http://0x7f.1:{port}/x", "private network"),
        ("http://user:password@93.184.216.34/x", "a password in it"),
        ("http://user@127.0.0.1:{port}/x", "a password in it"),
        ("file:///etc/passwd", "not one of http"),
        ("ftp://example.com/x", "not one of http"),
    ],
)
def test_a_public_server_cannot_reach_into_a_private_network(
    url: str, why: str
) -> None:
    with speaking(lambda *_: (200, {}, picture())) as (here, posted):
        port = here.partition("127.0.0.1:")[2].partition("/")[0]
        address = url.format(port=port)
        with pytest.raises(BadReplyError, match=why):
            fetched(address, "http://93.184.216.34/v1")
        assert posted == []
        # The same from a server that is in a private network itself.
        if url.startswith("http://127"):
            assert fetched(address, "http://10.0.0.1/v1", "OPENAI_API_KEY") == picture()
            assert "authorization" not in posted[0]["headers"]


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1:1/x", "http://me:pw@127.0.0.1:1/x"]
)
def test_a_redirect_of_a_public_server_cannot_either(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first address is taken for a public one, as a name that points here would be."""
    with speaking(lambda *_: (302, {"location": place}, b"")) as (here, posted):
        port = int(here.partition("127.0.0.1:")[2].partition("/")[0])
        honest = image_download.is_public

        async def addresses(parts: Any) -> list[str]:
            return [
                "127.0.0.1" if parts.hostname == "images.example" else parts.hostname
            ]

        def is_public(address: str) -> bool:
            return len(posted) == 0 or honest(address)

        monkeypatch.setattr(image_download, "_addresses", addresses)
        monkeypatch.setattr(image_download, "is_public", is_public)
        with pytest.raises(BadReplyError, match=r"private network|password in it"):
            fetched(f"http://images.example:{port}/x", "http://93.184.216.34/v1")
        assert len(posted) == 1


@pytest.mark.parametrize(
    ("of_server", "of_image", "expected"),
    [
        (["93.184.216.34"], ["93.184.216.35"], "93.184.216.35"),
        (["93.184.216.34", "10.0.0.1"], ["10.0.0.2"], "refused"),
        (["fd00::1", "93.184.216.34"], ["127.0.0.1"], "refused"),
        (["93.184.216.34"], ["fd00::1", "10.0.0.1", "93.184.216.35"], "93.184.216.35"),
        (["93.184.216.34"], [], "refused"),
        (["10.0.0.1", "fd00::1"], ["10.0.0.2"], None),
    ],
)
def test_of_a_name_with_several_addresses_a_public_one_decides(
    of_server: list[str],
    of_image: list[str],
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server cannot become a private one by a further address of its name."""

    async def addresses(parts: Any) -> list[str]:
        return of_server if parts.hostname == "server.example" else of_image

    monkeypatch.setattr(image_download, "_addresses", addresses)
    parts = [urlsplit(f"http://{name}.example/x") for name in ("image", "server")]
    asked = image_download._public_address(*parts)
    if expected == "refused":
        with pytest.raises(BadReplyError, match="in a private network"):
            asyncio.run(asked)
    else:
        assert asyncio.run(asked) == expected


def test_three_addresses_are_asked_and_the_key_goes_to_the_server_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server in a private network may name another one there, which gets no key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with speaking(lambda *_: (200, {}, picture())) as (other, asked_there):
        away = other.removesuffix("/v1") + "/image"
        places = iter(["/second", away])

        def speak(*_: Any) -> Said:
            return 302, {"location": next(places, "/again")}, b""

        with speaking(speak) as (base, asked_here):
            assert fetched("/first", base, "OPENAI_API_KEY") == picture()
            keys = ["authorization" in body["headers"] for body in asked_here]
            assert keys == [True, True]
            assert "authorization" not in asked_there[0]["headers"]
            # A fourth is not.
            with pytest.raises(BadReplyError, match="redirects too often"):
                fetched("/first", base)
            assert len(asked_here) == 5 and len(asked_there) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_address_that_redirects_is_followed(status: int) -> None:
    replies = iter([(status, {"location": "/image"}, b""), (200, {}, picture())])
    with speaking(lambda *_: next(replies)) as (base, asked):
        assert fetched("/first", base) == picture()
    assert [body["path"] for body in asked] == ["/first", "/image"]


@pytest.mark.parametrize("status", [204, 304, 404])
def test_an_address_without_an_image_says_what_it_replied(status: int) -> None:
    with (
        speaking(lambda *_: (status, {"location": "/other"}, b"")) as (base, asked),
        pytest.raises(BadReplyError, match=f"address replied {status}"),
    ):
        fetched("/image", base)
    assert len(asked) == 1


def test_an_address_that_does_not_answer_is_left() -> None:
    ended = threading.Event()
    with speaking(lambda *_: (200, {}, b"x" * ended.wait(20))) as (base, _):
        with pytest.raises(BadReplyError, match=r"does not answer within 0\.2 s"):
            fetched("/image", base, timeout=0.2)
        ended.set()


@pytest.mark.parametrize("url", ["http://127.0.0.1:0/x", "http://127.0.0.1:99999/x"])
def test_an_address_that_is_none_is_not_asked(url: str) -> None:
    with pytest.raises(BadReplyError, match="not one of http or https"):
        fetched(url, "http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *(("93.184.216.34", True), ("2606:2800:220:1:248:1893:25c8:1946", True)),
        *(("::ffff:93.184.216.34", True), ("64:ff9b::5db8:d822", True)),
        # 6to4, whose inner address decides: 2002:7f00:1:: is 127.0.0.1.
        *(("2002:7f00:1::", False), ("2002:a01:203::1", False)),
        *(("224.0.0.1", False), ("ff0e::1", False), ("255.255.255.255", False)),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert image_download.is_public(address) == public


def test_a_client_keeps_no_cookie_and_of_an_error_only_a_part() -> None:
    """Of what a server sends, only the key can be hidden again; its errors are shown in a line."""

    def speak(body: dict[str, Any], _: Any) -> Said:
        status = 500 if body["path"] == "/wrong" else 200
        return status, {"set-cookie": "who=me; Path=/"}, b"x" * 100_000

    async def ask(root: str) -> list[bytes]:
        async with BoundedClient(100_000) as client:
            paths = ("/right", "/wrong", "/right")
            return [(await client.get(root + path)).content for path in paths]

    with speaking(speak) as (base, posted):
        bodies = submit(ask(base.removesuffix("/v1"))).result()
    assert list(map(len, bodies)) == [100_000, 64_000, 100_000]
    assert not any("cookie" in body["headers"] for body in posted)


def test_an_image_at_an_address_is_bounded() -> None:
    with (
        speaking(lambda *_: (200, {}, b"x" * 5000)) as (url, _),
        pytest.raises(BadReplyError, match="larger than 1,000 bytes"),
    ):
        fetched("/big", url)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


HOPELESS: dict[str, tuple[Said, str]] = {
    "a wrong key": (wrong("Incorrect API key provided: sk-…", 401), "grants no access"),
    "no key": (wrong("No key.", 401), "requires an API key"),
    "a page": (
        (200, {"content-type": "text/html"}, b"<html>Welcome"),
        "is no images API",
    ),
    "a page that is not there": ((404, {}, b"<html>Not found"), "has no such address"),
    "an unknown model": (
        wrong("No model m.", 404, code="model_not_found"),
        "no such image model",
    ),
    "a chat model": (
        wrong("Model 'm' does not support image generation."),
        "no such image model",
    ),
    "another API": (json_reply({"choices": []}), "is no images API"),
    "no money": (
        wrong("Pay first.", 429, code="insufficient_quota"),
        "is not paid for",
    ),
    "elsewhere": ((307, {"location": "http://example.com/"}, b""), "redirects"),
}


@pytest.mark.parametrize("how", HOPELESS)
def test_hopeless_requests_end_the_run_at_the_first_reply(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = without_waiting(monkeypatch)
    if how != "no key":
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    reply, says = HOPELESS[how]
    with speaking(lambda *_: reply) as (url, posted):
        with pytest.raises(T2IBenchError, match=says) as caught:
            served(url).generate(requests(PROMPTS, 3))
        assert len(posted) <= 3 and waits == []
    assert "\n" not in str(caught.value) and KEY not in str(caught.value)


@pytest.mark.slow
def test_a_server_that_is_not_there_or_never_answers_is_soon_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = without_waiting(monkeypatch)
    with pytest.raises(T2IBenchError, match=r"cannot be reached.*tried 2 times"):
        served(f"http://127.0.0.1:{closed_port()}/v1").generate(requests(PROMPTS, 3))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(
            T2IBenchError, match="does not answer within 1 s; tried 2 times"
        ):
            served(url, timeout=1).generate(requests(PROMPTS, 3))
    assert len(waits) == 2


def test_images_received_before_a_server_fails_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    left = iter([one()] * 20)
    with (
        speaking(lambda *_: next(left, wrong("down", 503))) as (url, _),
        pytest.raises(T2IBenchError, match="status 503"),
    ):
        generate_images(
            requests(PROMPTS, 10), served(url, workers=4), store_at(tmp_path)
        )
    assert sum(one.status == "ok" for one in store_at(tmp_path).attempts()) == 20


@pytest.mark.slow
def test_a_server_that_limits_the_rate_is_asked_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("t2ibench.models.servers.pause", lambda _: asyncio.sleep(0.05))
    room, over = threading.Semaphore(3), list[int]()

    def speak(*_: Any) -> Said:
        if not room.acquire(blocking=False):
            over.append(1)
            return wrong("slow down", 429)
        threading.Event().wait(0.02)
        room.release()
        return one()

    found, *_ = asked(speak, requests(PROMPTS, 20), workers=32)
    assert {drawn.status for drawn in found} == {"ok"}
    assert len(over) < 400  # of 32 at a time, and of 20 images a prompt


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generator", "judge"])
def test_a_request_to_stop_is_heard_while_a_server_is_waited_for(
    kind: str, tmp_path: Path, cli: Cli
) -> None:
    asked_at: list[float] = []
    left = iter(range(3))
    answer = {"message": {"content": "male"}, "finish_reason": "stop"}
    good = one() if kind == "generator" else json_reply({"choices": [answer]})

    def ask_to_stop() -> None:
        asked_at.append(time.monotonic())
        stop_request.ask()

    def speak(*_: Any) -> Said:
        if next(left, None) is not None:
            return good
        threading.Timer(0.2, ask_to_stop).start()
        return 429, {"retry-after": "100"}, b"{}"

    with speaking(speak) as (url, _):
        flags = ("--model", "toyland", "--judge", "openai:m", "--judge-args")
        if kind == "generator":
            flags = ("--model", "openai:m", "--judge", "toyland", "--model-args")
        status, _, errors = cli(
            *(
                "--tasks",
                "openbias_examples",
                "--limit",
                "2",
                "--images-per-prompt",
                "2",
            ),
            *(*flags, f"base_url={url}", "--output-dir", str(tmp_path)),
        )
        ended_at = time.monotonic()
    assert status == 130 and "Everything done so far is kept" in errors
    assert ended_at - asked_at[0] < 5  # seconds, of a hundred, on a busy machine
    (run,) = tmp_path.glob("*/run.db")
    table = "attempts" if kind == "generator" else "answers"
    database = Database(run.parent)
    assert database.read(f"SELECT count(*) FROM {table}") == [(3,)]


def run_words(url: str, folder: Path, *args: str) -> list[str]:
    joined = ",".join([f"base_url={url}", *args])
    return [
        *(
            "run",
            "--tasks",
            "t2iat_flowers_insects",
            "--limit",
            "2",
            "--images-per-prompt",
            "2",
        ),
        *("--model", "openai:m", "--model-args", joined, "--output-dir", str(folder)),
        "--generate-only",
    ]


def stored(folder: Path) -> list[dict[str, Any]]:
    return [
        row
        for run in folder.rglob("run.db")
        for row in hand.stored(run.parent, "attempts")
    ]


@pytest.mark.slow
def test_max_cost_stops_and_a_higher_one_goes_on(
    toyland: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = run_words(toyland, tmp_path, "price_per_image=0.25")
    assert main([*words, "--dry-run"]) == 0
    plan = " ".join(capsys.readouterr().out.split())
    total = int(plan.partition(" requests to ")[0].rpartition(" ")[2])
    assert f"{total / 4:,.2f} at 0.25 an image" in plan
    for _ in range(2):  # what was paid before counts
        assert main([*words, "--max-cost", "2"]) == 1
        said = capsys.readouterr().err
        assert (
            "--max-cost 2 allows no further image" in said and "have cost 2.00" in said
        )
        assert len(stored(tmp_path)) == 8
    assert main([*words, "--max-cost", "1000"]) == 0
    assert len(stored(tmp_path)) == total
    assert f"all of this run {total / 4:,.2f}" in capsys.readouterr().err
    generator = open_run(next(tmp_path.rglob("run.db"))).record.generator
    assert generator is not None and generator.cost == total / 4


def test_the_cost_is_stored_with_every_image(tmp_path: Path) -> None:
    """So a process that is killed at any moment has spent nothing that the next does not know."""
    known: list[float | None] = []

    def speak(*_: Any) -> Said:
        (file,) = tmp_path.rglob("run.db")
        generator = open_run(file).record.generator
        known.append(generator.cost if generator else None)
        return one()

    with speaking(speak) as (url, _):
        words = run_words(url, tmp_path, "price_per_image=0.25", "workers=1")
        assert main([*words, "--max-cost", "2"]) == 1
        assert known == [None, *(number / 4 for number in range(1, 8))]
        (path,) = tmp_path.iterdir()
        worker = served(url, price_per_image="0.25")  # another process on the same run
        settle(open_run(path), worker, 2.25)
        with pytest.raises(
            T2IBenchError, match=r"--max-cost 2.25 .* have cost 2.25"
        ) as caught:
            worker.generate(requests(PROMPTS, 1))
    # it is sent on
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert len(known) == 9


@pytest.mark.slow
def test_an_unknown_price_is_reported_and_not_guessed(
    toyland: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = run_words(toyland, tmp_path)
    assert main([*words, "--max-cost", "2"]) == 1
    assert "costs is unknown" in capsys.readouterr().err
    assert main([*words, "--dry-run"]) == 0
    assert "their cost is unknown" in " ".join(capsys.readouterr().out.split())
    assert (
        main(["run", "--model", "toyland", "--tasks", "mcas", "--max-cost", "1"]) == 1
    )
    assert "toyland costs nothing" in capsys.readouterr().err


@pytest.mark.slow
def test_a_dry_run_says_whether_the_limit_suffices_and_what_fits(
    toyland: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = run_words(toyland, tmp_path, "price_per_image=0.25")
    words[words.index("t2iat_flowers_insects")] = (
        "t2iat_flowers_insects,t2iat_science_arts"
    )
    words[words.index("--images-per-prompt") + 1] = "10"

    def planned(*more: str) -> str:
        assert main([*words, "--dry-run", *more]) == 0
        return " ".join(capsys.readouterr().out.split())

    def images(plan: str) -> int:
        return int(re.search(r"(\d+) requests? to ", plan)[1])  # type: ignore[index]

    total = images(planned())
    plan = planned("--max-cost", f"{total / 4:g}")
    assert (
        f"--max-cost {total / 4:g} suffices: the run costs {total / 4:,.2f} at most."
        in plan
    )
    limit = total / 8  # half of it
    plan = planned("--max-cost", f"{limit:g}")
    assert (
        f"does not suffice: the run costs {total / 4:,.2f} and would end after" in plan
    )
    assert f"after {total // 2} of these {total} images" in plan
    # Both that it proposes make as many images as it says, within the limit.
    proposed = re.findall(r"(--(?:times|tasks) \S+) \((\d+) images, ([\d.]+)\)", plan)
    assert [flag.split()[0] for flag, _, _ in proposed] == ["--times", "--tasks"]
    for flag, count, cost in proposed:
        name, value = flag.split()
        given = [*words]
        if name == "--tasks":
            given[given.index("--tasks") + 1] = value
        else:
            given += [name, value]
        assert main([*given, "--dry-run"]) == 0
        assert images(capsys.readouterr().out) == int(count)
        assert float(cost) == int(count) / 4 <= limit
    plan = planned("--max-cost", "1")
    assert "No smaller run fits: one image of each prompt" in plan
    # What was spent before counts, and is named.
    assert main([*words, "--max-cost", "2"]) == 1
    plan = planned("--max-cost", f"{total / 4:g}")
    assert (
        f"suffices: the run costs {total / 4:,.2f}, 2.00 of them spent before, at most."
        in plan
    )


NO_COST = [
    "1e400",
    "1" + "0" * 400,
    "-1",
    "NaN",
    "Infinity",
    "true",
    '"0.5"',
    "[1]",
    "1e9",
    "null",
]


@pytest.mark.parametrize(
    ("cost", "total"), [("0.5", 2.0), *((cost, None) for cost in NO_COST)]
)
def test_the_reported_cost_of_images_is_added_up(
    cost: str, total: float | None
) -> None:
    body = f'{{"data": [{json.dumps(ROW)}], "usage": {{"cost": {cost}}}}}'.encode()
    found, posted, model = asked(lambda *_: (200, {}, body), requests(PROMPTS, 1))
    assert (
        [drawn.status for drawn in found]
        == ["ok"] * len(PROMPTS)
        == ["ok"] * len(posted)
    )
    assert model.cost == total


@pytest.mark.parametrize(
    "row",
    [
        {"b64_json": 5},
        {"b64_json": ""},
        {"url": ["a"]},
        {"url": ""},
        {"url": "", "b64_json": 1},
    ],
)
def test_a_malformed_entry_is_failed(row: dict[str, Any]) -> None:
    """Filtered images are a measured share; an entry that nobody can read is none of them."""
    (drawn,), *_ = asked(
        lambda *_: json_reply({"data": [row]}), requests(PROMPTS[:1], 1)
    )
    assert (drawn.status, drawn.reason) == (
        "failed",
        "the server's entry of an image is malformed",
    )


def test_no_key_is_stored_or_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def speak(body: dict[str, Any], headers: dict[str, str]) -> Said:
        sent = headers["authorization"]
        if "flower" in body["prompt"] or body["seed"] % 3:
            return wrong(
                f"Against our content policy, {sent}", code="content_policy_violation"
            )
        return one(revised_prompt=f"{body['prompt']} {sent}")

    with speaking(speak) as (url, _):
        main(run_words(url, tmp_path))
    assert stored(tmp_path)
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert all(KEY.encode() not in text for text in texts)
    assert KEY not in "".join(capsys.readouterr())


def test_the_name_in_a_stored_file_does_not_make_anybody_pay(toyland: str) -> None:
    for url in ("https://example.com/v1", toyland):
        with pytest.raises(T2IBenchError, match="comes from a stored file"):
            create_generator("openai:m", {"base_url": url}, recorded=True)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"size": "big"}, "WIDTHxHEIGHT"),
        ({"body.prompt": "x"}, "body.prompt"),
        ({"body.api_key": "sk-1"}, "stored with the run"),
        ({"price_per_image": "-1"}, "price_per_image"),
        ({"stesp": "3"}, "Did you mean 'steps'"),
        ({"base_url": "127.0.0.1:80"}, "expected an address"),
        ({"api_key_env": "sk-1234567890"}, "environment variable"),
        ({"api_key_env": "my key"}, "name of an environment variable"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args: dict[str, str], says: str) -> None:
    with pytest.raises(T2IBenchError, match=says):
        create_generator("openai:m", args)


def test_an_interrupted_run_requests_only_missing_images(tmp_path: Path) -> None:
    api = Faults(
        images_server().images_app("m", create_generator("toyland")), 10**9, hang=0
    )
    wanted, workers, got = requests(PROMPTS, 20), 4, []

    def interrupt(batch: Any) -> None:
        got.extend(batch)
        if len(got) >= 30:
            raise KeyboardInterrupt

    with running(api) as url:
        with pytest.raises(KeyboardInterrupt):
            model = served(url, workers=workers)
            generate_images(wanted, model, store_at(tmp_path), on_batch=interrupt)
        assert len(store_at(tmp_path).attempts()) >= 30
        generate_images(wanted, served(url), store_at(tmp_path))
    assert len(store_at(tmp_path).attempts()) == len(wanted)
    # what was under way, and no more
    assert api.charged.total() <= len(wanted) + workers


@pytest.mark.nightly
def test_two_thousand_requests_with_faults_lose_nothing_and_pay_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = without_waiting(monkeypatch)
    app = Faults(
        images_server().images_app("m", create_generator("toyland")), every=10, hang=2.5
    )
    words = ("nurse", "rose")
    wanted = requests(
        [f"a photo of a {word} {n}" for word in words for n in range(100)], 10
    )
    store, here = store_at(tmp_path / "there"), store_at(tmp_path / "here")
    with running(app) as url:
        model = served(url, timeout=1)
        for _ in range(3):
            generate_images(wanted, model, store)
            if all(store.is_done(r.key) for r in wanted):
                break
    generate_images(wanted, create_generator("toyland"), here)
    for request in wanted:
        there, expected = (s.get(request.key) for s in (store, here))
        assert there is not None and expected is not None
        assert there.sha256 == expected.sha256, there.reason
    assert set(app.broken) == set(app.kinds) and app.broken.total() > 200
    assert len(app.charged) == len(wanted) and set(app.charged.values()) == {1}
    assert waits
