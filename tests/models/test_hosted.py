"""Models that client libraries reach, on real servers of this machine."""

from __future__ import annotations

import io
import sys
import types
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.models.declined_fields import declined_field
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.remote import Throttle
from t2ibench.models.generators.served import InferenceArguments
from t2ibench.models.server_errors import ServerMessage
from t2ibench.models.servers import Failure
from t2ibench.toyland import draw
from tests.models.chat import (
    Said,
    bomb,
    json_reply,
    litellm,
    speaking,
    without_waiting,
)
from tests.models.images_api import images_server, running
from tests.models.test_served import KEY, PROMPTS, closed_port, requests


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's client may speak, to servers of this machine."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", KEY)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return without_waiting(monkeypatch)


def drawing(body: dict[str, Any], _: Any) -> Said:
    """An Inference Endpoint of toyland."""
    buffer = io.BytesIO()
    draw(body["inputs"], body["parameters"]["seed"]).save(buffer, format="PNG")
    return 200, {"content-type": "image/png"}, buffer.getvalue()


def endpoint(url: str, **args: Any) -> Any:
    return create_generator("hf:m", {"base_url": url, "timeout": 5, **args})


def test_an_endpoint_of_the_hub_gives_the_images_of_its_model() -> None:
    with speaking(drawing) as (url, posted):
        model = endpoint(url, steps=4, size="64x48", negative_prompt="blurry")
        found = model.generate(requests(PROMPTS, 3))
        assert model.effective_settings()["seed"] == "one an image"
    here = create_generator("toyland").generate(requests(PROMPTS, 3))
    for there, expected in zip(found, here, strict=True):
        assert np.array_equal(np.asarray(there.image), np.asarray(expected.image))
    sent = posted[0]["parameters"]
    assert (sent["width"], sent["height"], sent["num_inference_steps"]) == (64, 48, 4)
    assert sent["negative_prompt"] == "blurry"
    assert posted[0]["headers"]["authorization"] == f"Bearer {KEY}"


def test_an_endpoint_that_is_busy_or_declines_costs_no_other_image(
    waits: list[float],
) -> None:
    failures = iter([503, 429, 500])

    def speak(body: dict[str, Any], headers: dict[str, str]) -> Said:
        status = next(failures, None)
        if status is not None:
            return json_reply({"error": "loading"}, status)
        if "nurse" in body["inputs"]:
            return json_reply(
                {"error": f"NSFW content detected {headers['authorization']}"}, 400
            )
        return drawing(body, headers)

    with speaking(speak) as (url, _):
        found = endpoint(url).generate(requests(PROMPTS, 2))
    assert [drawn.status for drawn in found] == ["refused"] * 2 + ["ok"] * 6
    assert len(waits) == 3 and KEY not in str(found[0].reason)


@pytest.mark.parametrize(
    ("status", "said", "says"),
    [
        (401, "Invalid username or password.", "grants no access"),
        (404, "Not Found", "has no such address or model"),
        (402, "You have exceeded your monthly credits", "is not paid for"),
        (400, "Model m does not support text-to-image", "no such image model"),
    ],
)
def test_an_unusable_endpoint_is_reported_at_once(
    status: int, said: str, says: str, waits: list[float]
) -> None:
    with speaking(lambda *_: json_reply({"error": said}, status)) as (url, posted):
        with pytest.raises(T2IBenchError, match=says) as caught:
            endpoint(url).generate(requests(PROMPTS, 2))
        assert len(posted) == 1 and waits == []
    assert "\n" not in str(caught.value) and KEY not in str(caught.value)


def test_an_endpoint_that_redirects_is_not_followed() -> None:
    with speaking(drawing) as (elsewhere, reached):
        moved = 307, {"location": f"{elsewhere}/x"}, b""
        with (
            speaking(lambda *_: moved) as (url, _),
            pytest.raises(T2IBenchError, match="redirects to another address"),
        ):
            endpoint(url).generate(requests(PROMPTS[:1], 1))
        assert reached == []


def test_a_reply_of_an_endpoint_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InferenceArguments, "largest_reply", 100_000)
    packed = {"content-encoding": "gzip", "content-type": "image/png"}
    for reply in ((200, {}, b"x" * 100_001), (200, packed, bomb(1))):
        with speaking(lambda *_, reply=reply: reply) as (url, _):
            (image,) = endpoint(url).generate(requests(PROMPTS[:1], 1))
        assert image.status == "failed"
        assert "larger than 100,000 bytes" in str(image.reason)


def test_an_endpoints_image_is_read_as_those_of_other_servers() -> None:
    """A program (EPS) is not run, and a small file of a huge image is not decoded."""
    eps, huge = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (8, 8)).save(eps, format="EPS")
    Image.new("1", (8_200, 8_200)).save(huge, format="PNG")
    for data, words in (
        (eps, "cannot be read as an image"),
        (huge, "67,240,000 pixels, more than 67,108,864"),
    ):
        reply = 200, {"content-type": "image/png"}, data.getvalue()
        with speaking(lambda *_, reply=reply: reply) as (url, _):
            (image,) = endpoint(url).generate(requests(PROMPTS[:1], 1))
        assert image.status == "failed" and words in str(image.reason)


def test_no_network_offline_mode_and_unknown_providers_are_one_line(
    waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(T2IBenchError, match="cannot be reached"):
        endpoint(f"http://127.0.0.1:{closed_port()}").generate(requests(PROMPTS, 2))
    assert len(waits) == 1
    with pytest.raises(T2IBenchError, match="Provider 'nobody' not supported"):
        create_generator("hf:ORG/m", {"provider": "nobody"}).generate(
            requests(PROMPTS, 2)
        )
    with pytest.raises(T2IBenchError, match="comes from a stored file"):
        create_generator("hf:ORG/m", recorded=True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with speaking(drawing) as (url, posted):
        with pytest.raises(T2IBenchError, match="HF_HUB_OFFLINE"):
            endpoint(url).generate(requests(PROMPTS, 2))
        assert posted == []


def test_litellm_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(T2IBenchError, match=r"pip install 't2ibench\[litellm\]'"):
        create_generator("litellm:openai/m")


def test_litellm_answers_refusals_and_prices(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """LiteLLM's interface, as version 1.106 has it, in front of a real server."""
    import httpx

    class ContentPolicyViolationError(Exception):
        status_code = 400

    class RateLimitError(Exception):
        status_code = 429

    limited = [True]

    async def aimage_generation(**given: Any) -> Any:
        if limited.pop() if limited else False:
            raise RateLimitError("slower")
        body = {name: given[name] for name in ("prompt", "n", "seed")}
        if "nurse" in given["prompt"]:
            raise ContentPolicyViolationError("Your request was rejected.")
        async with httpx.AsyncClient() as client:
            response = await client.post(
                f"{given['api_base']}/images/generations", json=body
            )
        reply = response.json()
        row = types.SimpleNamespace(
            **reply["data"][0], revised_prompt=given["prompt"] + "!"
        )
        return types.SimpleNamespace(data=[row], _hidden_params={"response_cost": 0.25})

    prices = {"openai/m": {"output_cost_per_image": 0.5}}
    members = {"aimage_generation": aimage_generation, "model_cost": prices}
    litellm(monkeypatch, ContentPolicyViolationError, **members)
    with running(images_server().images_app("m", create_generator("toyland"))) as url:
        model: Any = create_generator("litellm:openai/m", {"base_url": url})
        assert model.forecast(requests(PROMPTS, 1)).endswith(
            "2.00 at 0.5 an image (LiteLLM's table)."
        )
        found = model.generate(requests(PROMPTS, 1))
    here = create_generator("toyland").generate(requests(PROMPTS, 1))
    assert [drawn.status for drawn in found] == ["refused", "ok", "ok", "ok"]
    assert [drawn.revised_prompt for drawn in found[1:]] == [
        f"{p}!" for p in PROMPTS[1:]
    ]
    assert np.array_equal(np.asarray(found[1].image), np.asarray(here[1].image))
    # what was really charged, and no refusal
    assert model.cost == 0.75 and len(waits) == 1


def test_a_throttle_doubles_then_adds_and_halves() -> None:
    throttle = Throttle(64, deadline=40.0)
    assert throttle.limit == 1
    for _ in range(15):
        throttle.answered(1.0)
    assert throttle.limit == 16
    # a defect is no congestion
    throttle.failed(Failure("replied with status 500", answered=True))
    assert throttle.limit == 16
    throttle.failed(Failure("replied with status 429", True, None, True))
    assert throttle.limit == 8
    for _ in range(9):
        throttle.answered(1.0)
    assert throttle.limit == 9
    for _ in range(100):
        throttle.answered(20.0)  # more at a time would only wait for one another
    assert throttle.limit == 9
    for _ in range(20):
        throttle.failed(Failure("does not answer within 40 s"))
    assert throttle.limit == 1


@pytest.mark.parametrize(
    ("status", "message", "codes", "blocked"),
    [
        (400, "Invalid size '3x3'.", (), None),
        (400, "The prompt is too long.", ("invalid_request_error",), None),
        (400, "x", ("moderation_blocked",), "refused"),
        (400, "The image was flagged as unsafe.", (), "filtered"),
        (400, "NSFW content detected.", (), "refused"),
        (400, "NSFW content detected in the image.", (), "filtered"),
        (400, "Content Moderated", (), "refused"),
        (200, "x", ("Request Moderated",), "refused"),
        (400, "x", ("InputTextSensitiveContentDetected",), "refused"),
        # A code decides before words, and what is about all requests before a filter's words.
        (400, "Violates our content policy.", ("model_not_found",), None),
        (400, "Violates our content policy.", ("insufficient_quota",), None),
        (400, "Unknown parameter: 'moderation'.", ("unknown_parameter",), None),
        (400, "Billing: your account violates our usage policies.", (), None),
        (400, "Your organization was suspended under our usage policies.", (), None),
        (400, "The model flux-nsfw does not exist.", (), None),
        (400, "The request violates the schema.", (), None),
        (403, "This may violate our content policy.", (), None),
        (403, "x", ("content_filter",), "refused"),
        (
            403,
            "Your resource is temporarily blocked.",
            ("content_policy_violation",),
            None,
        ),
        (404, "No content filter here.", (), None),
        (429, "Moderation is busy.", (), None),
        (500, "The safety system failed.", (), None),
    ],
)
def test_only_a_filters_word_about_a_prompt_is_a_refusal(
    status: int, message: str, codes: tuple[str, ...], blocked: str | None
) -> None:
    lowered = frozenset(code.lower() for code in codes)
    assert ServerMessage(lowered, (), message, status=status).blocked == blocked


def test_names_say_nothing() -> None:
    message = ServerMessage(
        frozenset(), (), "org/safety-filter-xl cannot draw 'a Content  Filter'"
    )
    names = ["openai/org/safety-filter-xl", "a content filter"]
    assert message.blocked == "refused" and message.without(names).blocked is None
    dated = ServerMessage(frozenset(), (), "safety-filter-xl-2026-01-01: no such size")
    assert dated.without(names).blocked is None
    quoted = ServerMessage(frozenset(), (), "Unknown parameter 'moderation'")
    assert quoted.without([], ["moderation"]).blocked is None
    assert quoted.without([], ["seed"]).blocked == "refused"


def test_a_word_of_the_prompt_is_no_field() -> None:
    sent = {"seed", "size"}
    message = ServerMessage(frozenset(), (), "Cannot draw 'a sesame seed'.")
    assert declined_field(message.without(["a sesame seed"]), sent) is None
    assert declined_field(message.without(["a rose"]), sent) == "seed"
    both = ServerMessage(frozenset(), (), "seed or size?")
    assert declined_field(both, sent) is None
    named = ServerMessage(frozenset(), ("prompt",), "seed?")
    assert declined_field(named, sent) is None
