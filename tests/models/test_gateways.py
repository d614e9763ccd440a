"""Models behind Gemini's API, OpenRouter, chat replies, the Responses API and Azure."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.contract import check_generator
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.gateways.forms import json_of, switches_of
from t2ibench.models.generators.gateways.openrouter import price_in
from t2ibench.models.image_download import is_public
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.models.server_errors import Reply
from t2ibench.models.servers import submit
from t2ibench.redaction import Redaction
from t2ibench.results.prompt_outcomes import categories_line, prompt_outcomes
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore
from t2ibench.store.refusals import categories_of, stage_of
from t2ibench.toyland import draw
from tests.models.chat import (
    Said,
    json_reply,
    posted_text,
    speaking,
    without_waiting,
)
from tests.models.test_served import KEY, PROMPTS, requests
from tests.pipeline.storing import generate_images

VARIABLES = ("GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY")
SAFE = str.maketrans("+/", "-_")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES, "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return without_waiting(monkeypatch)


def edited(prompt: str, seed: int, source: bytes | None) -> Image.Image:
    """Toyland's image, half of which is the source image where there is one."""
    drawn = draw(prompt, seed)
    if source is None:
        return drawn
    before = Image.open(io.BytesIO(source)).convert("RGB").resize(drawn.size)
    return Image.blend(drawn, before, 0.5)


def encoded(
    prompt: str, seed: int, form: str = "PNG", source: bytes | None = None
) -> str:
    """Toyland's image, of an edit with its source image, in Base64."""
    buffer = io.BytesIO()
    edited(prompt, seed, source).save(buffer, format=form, lossless=True)
    return base64.b64encode(buffer.getvalue()).decode()


def content_of(url: str) -> bytes:
    """The bytes in a data URL."""
    assert url.startswith("data:image/")
    return base64.b64decode(url.partition(",")[2])


class Gemini:
    """generateContent, as the API's packages have it; all has to be in its place."""

    spec = "gemini:gemini-3-pro-image"
    seed_bits = 31

    def prompt(self, body: dict[str, Any]) -> str:
        return str(body["contents"][0]["parts"][0]["text"])

    def source(self, body: dict[str, Any]) -> bytes | None:
        parts = body["contents"][0]["parts"][1:]
        return base64.b64decode(parts[0]["inlineData"]["data"]) if parts else None

    def image(self, body: dict[str, Any]) -> Any:
        config = body["generationConfig"]
        assert config["responseModalities"] == ["TEXT", "IMAGE"]
        source = self.source(body)
        data = encoded(self.prompt(body), config["seed"], source=source).translate(SAFE)
        parts = [{"text": "Here it is."}]
        parts += [{"inlineData": {"mimeType": "image/png", "data": data}}]
        return {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}

    def refusal(self) -> Said:
        feedback = {"blockReason": "PROHIBITED_CONTENT"}
        return json_reply({"promptFeedback": feedback, "modelVersion": "x"})

    stage, category = "input", "PROHIBITED_CONTENT"


class OpenRouter:
    """/images, with its lists of models and providers."""

    spec = "openrouter:maker/painter"
    seed_bits = 63

    def prompt(self, body: dict[str, Any]) -> str:
        return str(body["prompt"])

    def source(self, body: dict[str, Any]) -> bytes | None:
        parts = body.get("input_references")
        return content_of(parts[0]["image_url"]["url"]) if parts else None

    def image(self, body: dict[str, Any]) -> Any:
        assert body["provider"] == {"only": ["second"], "allow_fallbacks": False}
        data = encoded(body["prompt"], body["seed"], "WEBP", self.source(body))
        usage = {"prompt_tokens": 4, "completion_tokens": 9, "cost": 0.05}
        return {"created": 1, "data": [{"b64_json": data}], "usage": usage}

    def refusal(self) -> Said:
        metadata = {"reasons": ["sexual"], "flagged_input": "…"}
        error = {"code": 403, "message": "Input was flagged", "metadata": metadata}
        return json_reply({"error": error}, 403)

    stage, category = None, "sexual"


class Omni:
    """Chat completions as vLLM-Omni has them: images in the content."""

    spec = "chat:Qwen/Qwen-Image"
    seed_bits = 63

    def prompt(self, body: dict[str, Any]) -> str:
        return posted_text(body)

    def source(self, body: dict[str, Any]) -> bytes | None:
        content = body["messages"][-1]["content"]
        if isinstance(content, str):
            return None
        return content_of(content[1]["image_url"]["url"])

    def url(self, body: dict[str, Any]) -> str:
        """The address of the image, with the image in it."""
        data = encoded(self.prompt(body), body["seed"], source=self.source(body))
        return f"data:image/png;base64,{data}"

    def image(self, body: dict[str, Any]) -> Any:
        url = self.url(body)
        content = [{"type": "image_url", "image_url": {"url": url}}]
        message = {"role": "assistant", "content": content}
        return {"choices": [{"message": message, "finish_reason": "stop"}]}

    def refusal(self) -> Said:
        message = {"role": "assistant", "content": None, "refusal": "I cannot."}
        return json_reply({"choices": [{"message": message}]})

    stage, category = None, None


class ChatOfOpenRouter(Omni):
    """Chat completions as OpenRouter has them: images beside the content."""

    spec = "chat:google/gemini-3-pro-image"

    def image(self, body: dict[str, Any]) -> Any:
        url = self.url(body)
        images = [{"type": "image_url", "image_url": {"url": url}}]
        message = {"content": "Here is a picture.", "images": images}
        return {"choices": [{"message": message}], "usage": {"cost": 0.05}}

    def refusal(self) -> Said:
        metadata = {"reasons": ["sexual"]}
        error = {"code": 403, "message": "flagged", "metadata": metadata}
        return json_reply({"choices": [{"error": error, "message": {}}]})

    stage, category = "input", "sexual"


class Azure:
    """Azure's deployments."""

    spec = "azure:painter"
    seed_bits = 63

    def prompt(self, body: dict[str, Any]) -> str:
        return str(body["prompt"])

    def source(self, body: dict[str, Any]) -> bytes | None:
        if "image" not in body:
            return None
        assert body["path"].endswith("/images/edits")
        name, kind, data = body["image"]
        assert (name, kind) == ("source.png", "image/png") or kind == "image/jpeg"
        return bytes(data)

    def image(self, body: dict[str, Any]) -> Any:
        data = encoded(body["prompt"], int(body["seed"]), source=self.source(body))
        return {"data": [{"b64_json": data}]}

    def refusal(self) -> Said:
        results = {"violence": {"filtered": True}, "hate": {"filtered": False}}
        inner = {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_results": results,
        }
        error = {
            "code": "content_policy_violation",
            "message": "no",
            "innererror": inner,
        }
        return json_reply({"error": error}, 400)

    stage, category = None, "violence"


DIALECTS = [Gemini(), OpenRouter(), Omni(), ChatOfOpenRouter(), Azure()]
BY_NAME = pytest.mark.parametrize(
    "dialect", DIALECTS, ids=lambda dialect: type(dialect).__name__
)
ENDPOINTS = {
    "data": {
        "endpoints": [
            {
                "provider_slug": "first",
                "supported_parameters": ["size"],
                "pricing": {"image": "0.02"},
            },
            {
                "provider_slug": "second",
                "supported_parameters": [
                    "seed",
                    "aspect_ratio",
                    "resolution",
                    "input_references",
                ],
                "pricing": {"image": "0.04"},
            },
        ]
    }
}


def replying(
    dialect: Any,
    *,
    files: Mapping[str, Said] | None = None,
    **further: Callable[[dict[str, Any]], Any],
) -> Any:
    """A server of a dialect; `further` are replies instead, by a word of the prompt.

    `files` are what it has at other paths, by the end of the path.
    """

    def speak(body: dict[str, Any], _: Any) -> Said:
        if "path" in body and "image" not in body:
            for ending, file in (files or {}).items():
                if body["path"].endswith(ending):
                    return file
            known = "maker/painter" in body["path"]
            if body["path"].endswith("/images/models"):
                return json_reply({"data": [{"id": "maker/painter"}]})
            return json_reply(ENDPOINTS if known else {}, 200 if known else 404)
        for word, reply in further.items():
            if word in dialect.prompt(body):
                said = reply(body)
                return said if isinstance(said, tuple) else json_reply(said)
        return json_reply(dialect.image(body))

    return speaking(speak)


def model_of(dialect: Any, url: str, **args: Any) -> Any:
    return create_generator(dialect.spec, {"base_url": url, "timeout": 5, **args})


def assert_drawn(
    images: list[GeneratedImage], wanted: list[ImageRequest], dialect: Any
) -> None:
    for made, request in zip(images, wanted, strict=True):
        assert made.status == "ok", made.reason
        source = None if request.source is None else request.source.data()
        drawn = edited(request.prompt, request.seed % (1 << dialect.seed_bits), source)
        assert np.array_equal(np.asarray(made.image), np.asarray(drawn))


@BY_NAME
def test_a_dialect_meets_the_contract_and_sends_each_image_its_seed(
    dialect: Any,
) -> None:
    with replying(dialect) as (url, posted):
        assert check_generator(lambda: model_of(dialect, url)) == []
        wanted = requests(PROMPTS, 2)
        model = model_of(dialect, url)
        assert_drawn(model.generate(wanted), wanted, dialect)
        assert model.fingerprint != model_of(dialect, url, size="512x512").fingerprint
    headers = {name for body in posted for name in body["headers"]}
    assert not {"cookie", "origin"} & headers
    sent = "".join(json.dumps(body["headers"]) for body in posted)
    assert KEY in sent
    assert KEY not in json.dumps([dict(model.settings), model.effective_settings()])


@BY_NAME
def test_a_refusal_has_stage_and_category_and_costs_no_other_image(
    dialect: Any, tmp_path: Path
) -> None:
    store = ImageStore(Database(tmp_path), "f")
    wanted = requests(PROMPTS, 2)
    with replying(dialect, nurse=lambda _: dialect.refusal()) as (url, posted):
        for _ in range(2):  # it is not asked again
            generate_images(wanted, model_of(dialect, url), store)
        assert sum("path" not in body for body in posted) == len(wanted)
    attempts = list(store.attempts())
    refused = [attempt for attempt in attempts if attempt.status == "refused"]
    assert [attempt.prompt for attempt in refused] == [PROMPTS[0]] * 2
    assert sum(attempt.status == "ok" for attempt in attempts) == 6
    (reason,) = {attempt.reason for attempt in refused}
    assert stage_of(reason) == dialect.stage
    expected = () if dialect.category is None else (dialect.category,)
    assert categories_of(reason) == expected
    outcomes = prompt_outcomes(
        dict.fromkeys(PROMPTS, 2),
        dict(zip(PROMPTS, "aabb", strict=True)),
        lambda prompt, count: [one for one in attempts if one.prompt == prompt][:count],
        0.95,
    )
    assert outcomes[0].categories == dict.fromkeys(expected, 2)
    assert [outcome.categories for outcome in outcomes[1:]] == [
        dict.fromkeys(expected, 2),
        {},
    ]
    line = categories_line(outcomes)
    assert (line is None) == (not expected)
    assert line is None or f"{dialect.category} 2 (a 2)" in line


FAULTS: dict[str, Said] = {
    "busy": (503, {"retry-after": "1"}, b"busy"),
    "limited, seconds": (429, {"retry-after": "2"}, b'{"error": {"message": "slow"}}'),
    "limited, a date": (429, {"retry-after": "Thu, 01 Jan 2026 00:00:00 GMT"}, b"{}"),
    **{
        f"a proxy's {status}": (status, {"content-type": "text/html"}, b"<html>")
        for status in (520, 522, 524, 529, 530)
    },
}


@BY_NAME
def test_faults_of_a_server_are_waited_for(dialect: Any, waits: list[float]) -> None:
    faults = list(FAULTS.values())
    with replying(
        dialect, photo=lambda body: faults.pop() if faults else dialect.image(body)
    ) as (url, _):
        wanted = requests(PROMPTS, 3)
        assert_drawn(
            model_of(dialect, url, retries=9).generate(wanted), wanted, dialect
        )
    assert not faults and waits


@BY_NAME
@pytest.mark.parametrize(
    ("status", "message", "says"),
    [
        (401, "Invalid API key sk-very", "grants no access"),
        (402, "Insufficient credits", "is not paid for"),
        (404, "No such model", "no such"),
    ],
)
def test_an_unusable_server_is_one_line_at_once(
    dialect: Any, status: int, message: str, says: str, waits: list[float]
) -> None:
    reply = json_reply(
        {"error": {"message": f"{message} {KEY}", "code": status}}, status
    )
    with replying(dialect, photo=lambda _: reply) as (url, posted):
        with pytest.raises(T2IBenchError, match=says) as caught:
            model_of(dialect, url).generate(requests(PROMPTS, 3))
        assert sum("path" not in body for body in posted) == 1 and waits == []
    assert "\n" not in str(caught.value) and KEY not in str(caught.value)


@BY_NAME
def test_another_page_is_no_api(dialect: Any) -> None:
    page: Said = (200, {"content-type": "text/html"}, b"<html>Welcome")
    with (
        replying(dialect, photo=lambda _: page) as (url, _),
        pytest.raises(T2IBenchError, match="is no images API"),
    ):
        model_of(dialect, url).generate(requests(PROMPTS, 3))


def gemini(part: Any, reason: str = "STOP", **further: Any) -> Said:
    parts = part if isinstance(part, list) else [part]
    candidate = {"content": {"parts": parts}, "finishReason": reason, **further}
    return json_reply({"candidates": [candidate]})


def inline(shade: int, **further: Any) -> dict[str, Any]:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 20, 30)).save(buffer, format="PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    return {"inlineData": {"mimeType": "image/png", "data": data}, **further}


def first_of(dialect: Any, reply: Said, **args: Any) -> tuple[GeneratedImage, Any]:
    """The image of a prompt with this reply, among images of others, and the model."""
    with replying(dialect, nurse=lambda _: reply) as (url, _):
        model = model_of(dialect, url, **args)
        images = model.generate(requests(PROMPTS, 1))
    assert [image.status for image in images[1:]] == ["ok"] * 3
    return images[0], model


@pytest.mark.parametrize(
    ("parts", "shade"),
    [
        ([inline(10, thought=True), inline(200)], 200),
        ([inline(10, thought=True), inline(90, thought=True)], 90),
        ([inline(50), inline(60), {"text": "two"}], 60),
    ],
)
def test_the_image_of_gemini_is_the_last_that_is_no_thought(
    parts: list[Any], shade: int
) -> None:
    image, _ = first_of(Gemini(), gemini(parts))
    assert image.image is not None and np.asarray(image.image)[0, 0, 0] == shade


@pytest.mark.parametrize(
    ("reply", "status", "category"),
    [
        (gemini([], "IMAGE_SAFETY"), "filtered", "IMAGE_SAFETY"),
        (gemini([], "IMAGE_RECITATION"), "filtered", "IMAGE_RECITATION"),
        (gemini([], "IMAGE_OTHER"), "filtered", "IMAGE_OTHER"),
        (gemini([], "NO_IMAGE"), "refused", "NO_IMAGE"),
        (gemini([], "BLOCKLIST", finishMessage="no"), "refused", "BLOCKLIST"),
        (gemini([], "SPII"), "refused", "SPII"),
        (gemini([], "PROHIBITED_CONTENT"), "refused", "PROHIBITED_CONTENT"),
        (gemini({"text": "I would rather not."}), "refused", None),
        (gemini([], "MAX_TOKENS"), "failed", None),
        (gemini({"text": "Sure, I draw a"}, "MAX_TOKENS"), "failed", None),
        (gemini({"text": "Sure, I draw a"}, "OTHER"), "failed", None),
        (json_reply({"usageMetadata": {"totalTokenCount": 3}}), "filtered", None),
        (json_reply({"responseId": "r", "modelVersion": "x"}), "filtered", None),
        (gemini([]), "filtered", None),
        (
            json_reply({"promptFeedback": {"blockReason": "JAILBREAK"}}),
            "refused",
            "JAILBREAK",
        ),
    ],
)
def test_what_gemini_says_instead_of_an_image(
    reply: Said, status: str, category: str | None
) -> None:
    image, _ = first_of(Gemini(), reply)
    assert image.status == status
    assert categories_of(image.reason) == (() if category is None else (category,))


def test_gemini_is_asked_for_sizes_and_settings_in_its_own_words() -> None:
    args = {"size": "2048x1152", "body.temperature": "0.5"}
    with replying(Gemini()) as (url, posted):
        model_of(Gemini(), url, **args).generate(requests(PROMPTS[:1], 1))
    config = posted[0]["generationConfig"]
    assert config["imageConfig"] == {"aspectRatio": "16:9", "imageSize": "2K"}
    assert config["temperature"] == 0.5 and 0 <= config["seed"] < 1 << 31
    assert posted[0]["headers"]["x-goog-api-key"] == KEY
    assert "authorization" not in posted[0]["headers"]
    with pytest.raises(T2IBenchError, match="has no steps"):
        create_generator("gemini:m", {"steps": 5})
    with pytest.raises(T2IBenchError, match="shut Imagen down"):
        create_generator("gemini:imagen-4")


@pytest.mark.parametrize("dialect", [Omni(), Gemini()])
def test_a_model_that_answers_in_words_alone_makes_no_images(
    dialect: Any, tmp_path: Path
) -> None:
    """That is no refusal, and nothing of it is stored."""
    words = "Sure! Imagine a scene."
    message = {"role": "assistant", "content": words}
    reply = (
        gemini({"text": words})
        if isinstance(dialect, Gemini)
        else json_reply({"choices": [{"message": message, "finish_reason": "stop"}]})
    )
    store = ImageStore(Database(tmp_path), "f")
    with replying(dialect, photo=lambda _: reply) as (url, posted):
        with pytest.raises(
            T2IBenchError, match=r"makes no images.*words alone.*Imagine"
        ):
            generate_images(requests(PROMPTS, 3), model_of(dialect, url), store)
        assert len(posted) <= 16 and not list(store.attempts())


def test_words_instead_of_one_image_are_a_refusal() -> None:
    message = {"role": "assistant", "content": "I cannot draw that person."}
    reply = json_reply({"choices": [{"message": message, "finish_reason": "stop"}]})
    image, _ = first_of(Omni(), reply)
    assert image.status == "refused"
    assert image.reason == "the model replied in words: I cannot draw that person."


@pytest.mark.parametrize("reason", ["length", "error"])
@pytest.mark.parametrize("words", ["Sure, I draw a", None])
def test_a_chat_reply_that_was_cut_off_is_no_refusal(
    reason: str, words: str | None
) -> None:
    message = {"role": "assistant", "content": words}
    reply = json_reply({"choices": [{"message": message, "finish_reason": reason}]})
    image, _ = first_of(Omni(), reply)
    assert image.status == "failed" and reason in str(image.reason)


def test_a_chat_is_asked_for_sizes_in_its_servers_words() -> None:
    with replying(Omni()) as (url, posted):
        model_of(Omni(), url, size="64x32", steps=7).generate(requests(PROMPTS[:1], 1))
    sent = posted[0]
    assert (sent["width"], sent["height"], sent["num_inference_steps"]) == (64, 32, 7)
    assert sent["modalities"] == ["image"] and "size" not in sent


def test_an_image_in_a_chats_text_is_read() -> None:
    data = encoded(PROMPTS[0], 5)
    content = f"Here: ![it](data:image/png;base64,{data})"
    reply = json_reply({"choices": [{"message": {"content": content}}]})
    image, _ = first_of(Omni(), reply)
    assert np.array_equal(np.asarray(image.image), np.asarray(draw(PROMPTS[0], 5)))


def test_openrouter_is_asked_beforehand_what_it_takes_and_costs() -> None:
    dialect = OpenRouter()
    with replying(dialect) as (url, posted):
        model = model_of(dialect, url, size="1536x1024")
        assert [body["path"] for body in posted] == [
            "/v1/images/models/maker/painter/endpoints"
        ]
        assert model.settings["provider"] == "second" and model.settings["takes_seed"]
        assert model.price_per_image() == 0.04
        model.generate(requests(PROMPTS[:2], 1))
        assert model.cost == pytest.approx(0.1)  # what the replies say
        assert (posted[-1]["aspect_ratio"], posted[-1]["resolution"]) == (
            "3:2",
            "1.5K",
        )
        other = model_of(dialect, url, provider="first")
        assert other.settings["takes_seed"] is False and other.price_per_image() == 0.02
        assert other.fingerprint != model.fingerprint
        with pytest.raises(T2IBenchError, match="Did you mean 'second'"):
            model_of(dialect, url, provider="secnd")
        with pytest.raises(T2IBenchError, match="Did you mean 'maker/painter'"):
            create_generator("openrouter:maker/paintr", {"base_url": url})
        with pytest.raises(T2IBenchError, match="comes from a stored file"):
            create_generator("openrouter:maker/painter", recorded=True)


def test_the_provider_that_is_pinned_does_not_depend_on_the_replys_order() -> None:
    row = {"supported_parameters": ["seed"], "pricing": {"image": "0.02"}}
    rows = [{**row, "provider_slug": slug} for slug in ("b", "a", "c")]
    rows.append({"provider_slug": "0-without-seed", "supported_parameters": ["size"]})
    for order in (rows, rows[::-1], rows[2:] + rows[:2]):
        reply = json_reply({"data": {"endpoints": order}})
        with speaking(lambda *_: reply) as (url, _):  # noqa: B023
            model = model_of(OpenRouter(), url)
        assert model.settings["provider"] == "a"


@pytest.mark.parametrize(
    ("fields", "size", "expected"),
    [
        (["aspect_ratio", "resolution"], "512x512", ("1:1", "512")),
        (["aspect_ratio", "resolution"], "768", ("1:1", "768")),
        (["aspect_ratio", "resolution"], "1024x1536", ("2:3", "1.5K")),
        (["aspect_ratio", "resolution"], "4096x4096", ("1:1", "4K")),
        (["aspect_ratio", "resolution"], "1000x1000", None),
        (["aspect_ratio"], "1024x1024", None),
        (["resolution"], "1024x1024", None),
    ],
)
def test_openrouter_gets_the_size_that_was_asked_for_or_none(
    fields: list[str], size: str, expected: tuple[str, str] | None
) -> None:
    row = {"provider_slug": "a", "supported_parameters": ["seed", *fields]}
    reply = json_reply({"data": {"endpoints": [row]}})

    def speak(body: dict[str, Any], _: Any) -> Said:
        return reply if "path" in body else json_reply({"data": [{"url": "/1.png"}]})

    with speaking(speak) as (url, posted):
        if expected is None:
            with pytest.raises(T2IBenchError, match="provider a") as caught:
                model_of(OpenRouter(), url, size=size)
            assert "\n" not in str(caught.value)
            return
        model_of(OpenRouter(), url, size=size).generate(requests(PROMPTS[:1], 1))
    (sent,) = [body for body in posted if "prompt" in body]
    assert (sent["aspect_ratio"], sent["resolution"]) == expected


@pytest.mark.parametrize(
    ("pricing", "price"),
    [
        ({"image": "0.04", "prompt": "0.000001"}, 0.04),
        ({"image": "0.0000003", "image_output": "0.00003"}, None),
        ([{"billable": "output_image", "unit": "image", "cost_usd": 0.04}], 0.04),
        ([{"billable": "output_image", "unit": "token", "cost_usd": 0.00003}], None),
        ([{"billable": "output_image", "unit": "megapixel", "cost_usd": 0.03}], None),
        ([{"unit": "image", "price": 0.02}], 0.02),
        # What is priced by token costs 0 an image.
        ({"image": "0", "prompt": "0.000001"}, None),
        *(
            ({"image": value}, None)
            for value in (10**400, float("nan"), "inf", -1, True, "", [0.1])
        ),
        ([{"type": {"image": 1}, "unit": ["image"], "price": 0.02}], None),
        (
            [
                {"type": "image", "price": 0.001},
                {"type": "output_image", "unit": "images", "price": 0.05},
            ],
            0.05,
        ),
    ],
)
def test_a_price_of_another_unit_is_no_price_of_an_image(
    pricing: Any, price: float | None
) -> None:
    assert price_in(pricing) == price


@pytest.mark.parametrize(
    ("model", "switches"),
    [
        ("vertex_ai/imagen-4.0-generate-001", {"enhancePrompt": False}),
        ("fal_ai/fal-ai/imagen4/preview", {"enhance_prompt": False}),
        ("maker/imagenet-x", {}),
        ("black_forest_labs/flux-pro-1.1", {"prompt_upsampling": False}),
    ],
)
def test_a_rewriter_is_named_by_whole_words(
    model: str, switches: dict[str, Any]
) -> None:
    assert switches_of(model) == switches


def test_the_key_is_hidden_in_a_reply_beside_its_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Images are not searched for it, which would take a second for each megabyte of them."""
    key = ApiKey("GEMINI_API_KEY")
    image = base64.b64encode(bytes(range(256)) * 8).decode()
    url = f"data:image/png;base64,{image}"
    body = {
        "data": [{"b64_json": image, "revised_prompt": f"a {KEY}", KEY: 1}],
        "content": f"{KEY} ![]({url}) {KEY}",
        "result": f"short {KEY}",
        "text": base64.b64encode(f"{KEY:>900}".encode()).decode(),
    }
    searched: list[str] = []

    values = Redaction.values

    def hidden(redaction: Redaction, text: str) -> str:
        searched.append(text)
        return values(redaction, text)

    monkeypatch.setattr(Redaction, "values", hidden)
    masked = json_of(Reply(200, json.dumps(body).encode(), key))
    assert KEY not in json.dumps(masked) and masked["text"] == "***"
    assert masked["data"][0]["b64_json"] == image
    assert masked["content"] == f"*** ![]({url}) ***"
    assert not any(image in text for text in searched)


def test_a_key_in_a_list_of_providers_is_not_stored() -> None:
    reply = json_reply({"data": {"endpoints": [{"provider_slug": f"x {KEY}"}]}})
    with speaking(lambda *_: reply) as (url, _):
        model = model_of(OpenRouter(), url)
    assert KEY not in json.dumps(dict(model.settings))


def test_an_image_of_ones_own_gateway_is_fetched_with_the_key() -> None:
    data = base64.b64decode(inline(77)["inlineData"]["data"])

    def speak(body: dict[str, Any], _: Any) -> Said:
        if "path" in body:
            return 200, {"content-type": "image/png"}, data
        return json_reply({"data": [{"url": "/files/1.png"}]})

    with speaking(speak) as (url, posted):
        model: Any = create_generator("azure:painter", {"base_url": url})
        (image,) = model.generate(requests(PROMPTS[:1], 1))
    assert image.image is not None and np.asarray(image.image)[0, 0, 0] == 77
    assert [body["headers"]["api-key"] for body in posted] == [KEY] * 2


def test_addresses_in_replies_of_servers_elsewhere_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bases: list[str] = []

    async def fetch(_: str, base_url: str, *__: Any) -> bytes:
        bases.append(base_url)
        return b""

    monkeypatch.setattr("t2ibench.models.image_download.fetch_image", fetch)
    for spec in ("gemini:m", "hf:m"):
        model: Any = create_generator(spec)
        submit(model._fetch("http://169.254.169.254/x")).result()
    hosts = [urlsplit(base).hostname or "" for base in bases]
    assert hosts[0] == "generativelanguage.googleapis.com"
    assert is_public(hosts[1])


def test_azure_is_asked_by_deployment_and_version() -> None:
    seen: list[str] = []
    addresses: list[Any] = []

    def speak(body: dict[str, Any], headers: dict[str, str]) -> Said:
        seen.append(headers.get("api-key", ""))
        return json_reply(Azure().image(body))

    with speaking(speak) as (url, posted):
        root = url.removesuffix("/v1")
        version = {"base_url": root, "api_version": "2025-04-01-preview"}
        slash = {"base_url": f"{root}/openai/v1/"}
        for args in ({"base_url": f"{root}/openai/v1"}, slash, version):
            model: Any = create_generator("azure:painter", args)
            assert model.generate(requests(PROMPTS[:1], 1))[0].status == "ok"
            addresses.append(model.settings["url"])
    assert addresses[:2] == [f"{root}/openai/v1/images/generations"] * 2
    assert seen == [KEY] * 3 and posted[0]["model"] == "painter"
    assert "2025-04-01-preview" in json.dumps(dict(model.settings))
    with pytest.raises(T2IBenchError, match="needs the address of your resource"):
        create_generator("azure:painter")


def test_an_address_of_azure_with_a_password_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = "https://someone:zQ7vTopSecret19@name.openai.azure.com"
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", address)
    with pytest.raises(T2IBenchError, match="no key may be among") as raised:
        create_generator("azure:painter")
    assert "zQ7v" not in str(raised.value)


def responding(output: list[Any]) -> Said:
    return json_reply({"id": "r", "object": "response", "output": output})


def drawn_call(**further: Any) -> dict[str, Any]:
    call = {"type": "image_generation_call", "id": "i", "status": "completed"}
    result = {"result": inline(9)["inlineData"]["data"], "size": "1024x1024"}
    return {**call, **result, "quality": "medium", **further}


def through_responses(speak: Any, count: int = 1, **args: Any) -> tuple[Any, Any, Any]:
    with speaking(lambda body, _: speak(body)) as (url, posted):
        given = {"base_url": url, "api": "responses", **args}
        model = create_generator("openai:gpt-5.5", given)
        return model.generate(requests(PROMPTS, count)), posted, model


def test_the_responses_api_says_what_was_drawn_and_what_auto_became() -> None:
    def speak(body: dict[str, Any]) -> Said:
        return responding([drawn_call(revised_prompt=body["input"] + ", diverse")])

    args = {"image_model": "gpt-image-3", "body.quality": "auto", "size": "auto"}
    images, posted, model = through_responses(speak, **args)
    assert [image.revised_prompt for image in images] == [
        f"{prompt}, diverse" for prompt in PROMPTS
    ]
    (tool,) = posted[0]["tools"]
    assert tool == {
        "type": "image_generation",
        "model": "gpt-image-3",
        "quality": "auto",
        "size": "auto",
    }
    assert posted[0]["tool_choice"] == {"type": "image_generation"}
    settings = model.effective_settings()
    assert settings["became"] == {"size": ["1024x1024"], "quality": ["medium"]}
    assert "unknown" in settings["seed"]


@pytest.mark.parametrize(
    ("output", "status", "stage", "category"),
    [
        (
            [
                {
                    "type": "image_generation_call",
                    "status": "failed",
                    "error": {
                        "code": "moderation_blocked",
                        "message": "Rejected.",
                        "moderation_details": {
                            "categories": ["violence"],
                            "moderation_stage": stage,
                        },
                    },
                }
            ],
            status,
            stage,
            "violence",
        )
        for stage, status in (("input", "refused"), ("output", "filtered"))
    ]
    + [
        (
            [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}],
            "refused",
            None,
            None,
        ),
        (
            [{"type": "message", "content": [{"type": "output_text", "text": "No."}]}],
            "refused",
            None,
            None,
        ),
    ],
)
def test_a_refusal_of_the_responses_api(
    output: list[Any], status: str, stage: str | None, category: str | None
) -> None:
    def speak(body: dict[str, Any]) -> Said:
        return responding(output if "nurse" in body["input"] else [drawn_call()])

    images, *_ = through_responses(speak)
    assert [image.status for image in images] == [status, "ok", "ok", "ok"]
    assert stage_of(images[0].reason) == stage
    assert categories_of(images[0].reason) == ((category,) if category else ())


FAILED_CALL = {"type": "image_generation_call", "status": "failed", "result": None}
DRAWING = {"content": [{"type": "output_text", "text": "I draw"}], "type": "message"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"status": "failed", "output": []}, "failed"),
        ({"status": "cancelled", "output": []}, "failed"),
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [DRAWING],
            },
            "failed",
        ),
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "content_filter"},
                "output": [],
            },
            "refused",
        ),
        ({"status": "completed", "output": [FAILED_CALL]}, "failed"),
        (
            {"status": "failed", "error": {"code": "invalid_image"}, "output": []},
            "failed",
        ),
        ({"status": "completed", "output": []}, "filtered"),
    ],
)
def test_a_response_that_failed_is_not_filtered(
    body: dict[str, Any], status: str
) -> None:
    def speak(asked: dict[str, Any]) -> Said:
        if "nurse" in asked["input"]:
            return json_reply({"id": "r", "object": "response", **body})
        return responding([drawn_call()])

    images, *_ = through_responses(speak)
    assert [image.status for image in images] == [status, "ok", "ok", "ok"]


@pytest.mark.parametrize("code", ["server_error", "rate_limit_exceeded"])
def test_a_response_that_failed_for_a_while_is_asked_for_again(
    code: str, waits: list[float]
) -> None:
    error = {"code": code, "message": "An error occurred."}
    faults = [json_reply({"status": "failed", "error": error, "output": []})]

    def speak(_: dict[str, Any]) -> Said:
        return faults.pop() if faults else responding([drawn_call()])

    images, *_ = through_responses(speak)
    assert [image.status for image in images] == ["ok"] * 4
    assert not faults and waits


def test_arguments_of_another_api_are_refused() -> None:
    with pytest.raises(T2IBenchError, match="belongs to api=responses"):
        create_generator("openai:m", {"image_model": "x"})
    with pytest.raises(T2IBenchError, match="has no steps"):
        create_generator("openai:m", {"api": "responses", "steps": 4})
    with pytest.raises(T2IBenchError, match="images or responses"):
        create_generator("openai:m", {"api": "response"})


def test_safety_violations_in_words_are_categories() -> None:
    """As OpenAI's images API has them."""
    error = {
        "type": "image_generation_user_error",
        "code": "moderation_blocked",
        "message": "Rejected. safety_violations=[violence, sexual] id 1",
    }
    image, _ = first_of(Azure(), json_reply({"error": error}, 400))
    assert image.status == "refused"
    assert categories_of(image.reason) == ("sexual", "violence")


@pytest.mark.parametrize("takes", [True, False])
def test_what_rewrites_prompts_by_default_is_switched_off_or_said(
    takes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", KEY)

    def speak(body: dict[str, Any], _: Any) -> Said:
        if not takes and "expand_prompt" in body["parameters"]:
            return json_reply({"error": "Unknown parameter: 'expand_prompt'"}, 422)
        data = base64.b64decode(encoded(body["inputs"], 1))
        return 200, {"content-type": "image/png"}, data

    said: list[str] = []
    with speaking(speak) as (url, posted):
        model: Any = create_generator("hf:ideogram-ai/ideogram-v3", {"base_url": url})
        model.report_waits(said.append)
        model.generate(requests(PROMPTS[:1], 1))
    assert posted[0]["parameters"]["expand_prompt"] is False
    words = model.effective_settings()["prompt_rewriting"]
    assert words.startswith("switched off" if takes else "could not be switched off")
    assert ("be switched off" in "".join(said)) == (not takes)


def test_a_models_own_reasoning_is_a_rewritten_prompt() -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        row = {"b64_json": encoded(body["prompt"], 1), "revised_prompt": None}
        return json_reply({"data": [{**row, "cot_output": "Let me draw a woman."}]})

    with speaking(speak) as (url, _):
        model = create_generator("openai:m", {"base_url": url})
        (image,) = model.generate(requests(PROMPTS[:1], 1))
    assert image.revised_prompt == "Let me draw a woman."
