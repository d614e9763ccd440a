"""Edits on servers: what is sent, what comes back, and what goes wrong."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import struct
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile, PngInfo

from t2ibench.errors import T2IBenchError
from t2ibench.models.contract import check_generator
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.observed_settings import with_earlier
from t2ibench.models.generators.sources import read_source
from t2ibench.models.protocols import EditsImages, ImageRequest
from t2ibench.store.images import ImageFile
from t2ibench.store.refusals import categories_of, stage_of
from tests.models.chat import Said, json_reply, litellm, speaking
from tests.models.parts import refused
from tests.models.test_gateways import (
    DIALECTS,
    ENDPOINTS,
    FAULTS,
    Azure,
    Gemini,
    OpenRouter,
    assert_drawn,
    content_of,
    edited,
    encoded,
    keys,
    model_of,
    replying,
    waits,
)
from tests.models.test_served import KEY

__all__ = ["keys", "waits"]  # fixtures

INSTRUCTIONS = ("make it snow", "as a nurse")


class OpenAi(Azure):
    """OpenAI's images.edit, and servers with it: vLLM-Omni, SGLang."""

    spec = "openai:painter"


class Responses:
    """The tool of the Responses API, which takes no seed."""

    spec = "openai:writer"
    seed_bits = 0

    def prompt(self, body: dict[str, Any]) -> str:
        given = body["input"]
        return str(given if isinstance(given, str) else given[0]["content"][0]["text"])

    def source(self, body: dict[str, Any]) -> bytes | None:
        if isinstance(body["input"], str):
            return None
        assert body["tools"][0]["action"] == "edit"
        (message,) = body["input"]
        return content_of(message["content"][1]["image_url"])

    def image(self, body: dict[str, Any]) -> Any:
        data = encoded(self.prompt(body), 0, source=self.source(body))
        call = {"type": "image_generation_call", "status": "completed", "result": data}
        return {"output": [call]}

    def refusal(self) -> Said:
        details = {"moderation_stage": "input", "categories": ["violence"]}
        error = {"code": "moderation_blocked", "moderation_details": details}
        call = {"type": "image_generation_call", "status": "failed", "error": error}
        return json_reply({"output": [call]})

    stage, category = "input", "violence"


EDITORS = [*DIALECTS, OpenAi(), Responses()]
BY_NAME = pytest.mark.parametrize(
    "dialect", EDITORS, ids=lambda dialect: type(dialect).__name__
)


def editor(dialect: Any, url: str, **args: Any) -> Any:
    """The model of a dialect."""
    if isinstance(dialect, Responses):
        args = {"api": "responses", **args}
    return model_of(dialect, url, **args)


def stored(folder: Path, number: int, form: str = "PNG") -> ImageFile:
    """A source image on disk."""
    rng = np.random.default_rng(number)
    pixels = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format=form)
    path = folder / f"private name {number}.{form.lower()}"
    path.write_bytes(buffer.getvalue())
    return ImageFile(path, hashlib.sha256(buffer.getvalue()).hexdigest())


def edits(sources: Sequence[ImageFile]) -> list[ImageRequest]:
    return [
        ImageRequest(text, 0, (1 << 40) + 10 * number + place, source=source)
        for number, source in enumerate(sources)
        for place, text in enumerate(INSTRUCTIONS)
    ]


def posts(posted: Sequence[dict[str, Any]], dialect: Any) -> list[dict[str, Any]]:
    """The requests for images among all."""
    return [body for body in posted if "path" not in body or "image" in body]


@BY_NAME
def test_an_edit_has_its_own_source_instruction_and_seed(
    dialect: Any, tmp_path: Path
) -> None:
    sources = [stored(tmp_path, 1), stored(tmp_path, 2), stored(tmp_path, 3, "JPEG")]
    wanted = edits(sources)
    with replying(dialect) as (url, posted):
        model = editor(dialect, url)
        assert isinstance(model, EditsImages)
        model.check_edits()
        assert_drawn(model.generate(wanted), wanted, dialect)
    # The bytes are those on disk, and nothing says where they were.
    sent = {dialect.source(body) for body in posts(posted, dialect)}
    assert sent == {source.path.read_bytes() for source in sources}
    assert "private" not in repr(posted)
    settings = model.effective_settings()
    assert settings["sources_sent"] == {"format": ["JPEG", "PNG"], "size": ["64x48"]}
    assert KEY not in json.dumps([dict(model.settings), settings])


@BY_NAME
def test_the_contract_of_edits_is_met(dialect: Any) -> None:
    notes: list[str] = []
    with replying(dialect) as (url, _):
        assert check_generator(lambda: editor(dialect, url), tell=notes.append) == []
    assert notes == ["Edits of 2 source images were tried, too."]


@BY_NAME
def test_a_refused_edit_has_stage_and_category_and_costs_no_other(
    dialect: Any, tmp_path: Path
) -> None:
    wanted = edits([stored(tmp_path, 1), stored(tmp_path, 2)])
    with replying(dialect, nurse=lambda _: dialect.refusal()) as (url, posted):
        model = editor(dialect, url, price_per_image="0.5")
        images = model.generate(wanted)
    assert [image.status for image in images] == ["ok", "refused"] * 2
    assert stage_of(images[1].reason) == dialect.stage
    expected = () if dialect.category is None else (dialect.category,)
    assert categories_of(images[1].reason) == expected
    assert len(posts(posted, dialect)) == len(wanted)
    # What the reply says counts before the price.
    each = 0.05 if "usage" in dialect.image(posts(posted, dialect)[0]) else 0.5
    assert model.cost == pytest.approx(2 * each)


@BY_NAME
def test_faults_are_waited_for(
    dialect: Any, waits: list[float], tmp_path: Path
) -> None:
    faults = list(FAULTS.values())
    wanted = edits([stored(tmp_path, 1), stored(tmp_path, 2)])
    with replying(
        dialect, make=lambda body: faults.pop() if faults else dialect.image(body)
    ) as (url, _):
        model = editor(dialect, url, retries=9)
        assert_drawn(model.generate(wanted), wanted, dialect)
    assert not faults and waits


@BY_NAME
@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "grants no access"),
        (402, "is not paid for"),
        (404, "no such"),
    ],
)
def test_an_unusable_server_is_one_line(
    dialect: Any, status: int, says: str, tmp_path: Path
) -> None:
    said = {401: "Invalid API key", 402: "Insufficient credits", 404: "No such model"}
    reply = json_reply({"error": {"message": f"{said[status]} {KEY}"}}, status)
    with replying(dialect, make=lambda _: reply) as (url, posted):
        with pytest.raises(T2IBenchError, match=says) as caught:
            editor(dialect, url).generate(edits([stored(tmp_path, 1)]))
        assert len(posts(posted, dialect)) == 1
    line = str(caught.value)
    assert "\n" not in line and KEY not in line
    if isinstance(dialect, Azure):
        assert "/images/edits" in line


@BY_NAME
def test_another_page_is_no_api(dialect: Any, tmp_path: Path) -> None:
    page: Said = (200, {"content-type": "text/html"}, b"<html>Welcome")
    with replying(dialect, make=lambda _: page) as (url, _), refused("no images API"):
        editor(dialect, url).generate(edits([stored(tmp_path, 1)]))


def test_a_server_without_edits_is_one_line(tmp_path: Path) -> None:
    reply = json_reply({"detail": "Not Found"}, 404)
    with (
        replying(OpenAi(), make=lambda _: reply) as (url, _),
        refused("/images/edits", "404"),
    ):
        editor(OpenAi(), url).generate(edits([stored(tmp_path, 1)]))


def test_a_source_that_cannot_be_read_costs_nothing_and_no_other(
    tmp_path: Path,
) -> None:
    good, changed, gone = (stored(tmp_path, number) for number in (1, 2, 3))
    changed.path.write_bytes(b"no image")
    gone.path.unlink()
    with replying(Gemini()) as (url, posted):
        model = editor(Gemini(), url, price_per_image="0.5")
        images = model.generate(edits([changed, good, gone]))
    assert [image.status for image in images] == ["failed"] * 2 + ["ok"] * 2 + [
        "failed"
    ] * 2
    assert all("the source image" in str(images[place].reason) for place in (0, 5))
    assert len(posted) == 2 and model.cost == 1.0


def test_other_formats_are_sent_as_png(tmp_path: Path) -> None:
    source = stored(tmp_path, 1, "WEBP")
    with replying(OpenAi()) as (url, posted):
        model = editor(OpenAi(), url)
        (image, _) = model.generate(edits([source]))
    assert image.status == "ok"
    sent = posted[0]["image"]
    assert sent[:2] == ("source.png", "image/png")
    pixels = Image.open(io.BytesIO(sent[2]))
    before = Image.open(source.path).convert("RGB")
    assert np.array_equal(np.asarray(pixels), np.asarray(before))
    settings = model.effective_settings()["sources_sent"]
    assert settings["format"] == ["WEBP, sent as PNG"]


def written(folder: Path, image: Image.Image, form: str, **options: Any) -> ImageFile:
    """An image on disk, written with options of Pillow."""
    buffer = io.BytesIO()
    image.save(buffer, format=form, **options)
    return on_disk(folder, buffer.getvalue(), form)


def on_disk(folder: Path, data: bytes, form: str) -> ImageFile:
    """A file with this content."""
    path = folder / f"source.{form.lower()}"
    path.write_bytes(data)
    return ImageFile(path, hashlib.sha256(data).hexdigest())


def picture() -> Image.Image:
    rng = np.random.default_rng(4)
    return Image.fromarray(rng.integers(0, 256, (40, 80, 3), dtype=np.uint8))


def camera_notes(orientation: int) -> Image.Exif:
    """What a telephone notes of a photograph: how it was held, and where."""
    notes = Image.Exif()
    notes[0x0112] = orientation
    notes[0x010E] = "SECRET"
    notes.get_ifd(0x8825)[1] = "N"
    notes.get_ifd(0x8825)[2] = (48.0, 8.0, 13.0)
    return notes


def with_text() -> PngInfo:
    text = PngInfo()
    text.add_text("parameters", "SECRET")
    return text


def with_private_chunk() -> PngInfo:
    chunks = PngInfo()
    chunks.add(b"caBX", b"SECRET")
    return chunks


PROFILE = b"SECRET" + bytes(122)
METADATA: dict[str, tuple[str, dict[str, Any]]] = {
    "coordinates": ("JPEG", {"exif": camera_notes(orientation=1)}),
    "turned": ("JPEG", {"exif": camera_notes(orientation=6)}),
    "turned PNG": ("PNG", {"exif": camera_notes(orientation=8)}),
    "comment": ("JPEG", {"comment": "SECRET"}),
    "XMP": ("JPEG", {"xmp": b"<x:xmpmeta>SECRET</x:xmpmeta>"}),
    "profile of a JPEG": ("JPEG", {"icc_profile": PROFILE}),
    "profile of a PNG": ("PNG", {"icc_profile": PROFILE}),
    "profile of a WebP": ("WEBP", {"icc_profile": PROFILE, "lossless": True}),
    "text": ("PNG", {"pnginfo": with_text()}),
    "private chunk": ("PNG", {"pnginfo": with_private_chunk()}),
    "second image": ("MPO", {"save_all": True, "append_images": [picture()]}),
}


def assert_sent_as_judges_see_it(source: ImageFile, form: str) -> None:
    sent = read_source(source)
    assert sent.media_type == "image/png" and not sent.as_stored
    seen = source.read()
    image = Image.open(io.BytesIO(sent.data))
    image.load()
    assert (image.mode, image.size) == ("RGB", seen.size)
    assert np.array_equal(np.asarray(image), np.asarray(seen))
    assert image.info == {} and not image.getexif()
    assert b"SECRET" not in sent.data
    facts = sent.facts()
    assert facts["size"] == f"{seen.width}x{seen.height}"
    expected = "PNG, re-encoded" if form == "PNG" else f"{form}, sent as PNG"
    assert facts["format"] == expected


@pytest.mark.parametrize("case", METADATA)
def test_nothing_but_the_pixels_that_judges_see_is_sent(
    case: str, tmp_path: Path
) -> None:
    form, options = METADATA[case]
    source = written(tmp_path, picture(), form, **options)
    assert_sent_as_judges_see_it(source, form)
    expected = (40, 80) if "turned" in case else (80, 40)
    assert source.read().size == expected


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "I;16", "1"])
def test_a_png_that_is_not_rgb_is_sent_as_judges_see_it(
    mode: str, tmp_path: Path
) -> None:
    image = picture()
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    elif mode in {"RGBA", "LA"}:
        image.putalpha(Image.linear_gradient("L").resize(image.size))
        image = image.convert(mode)
    else:
        image = image.convert(mode)
    assert_sent_as_judges_see_it(written(tmp_path, image, "PNG"), "PNG")


def test_a_colour_that_a_png_declares_transparent_is_sent_as_judges_see_it(
    tmp_path: Path,
) -> None:
    image = picture()
    colour = image.getpixel((0, 0))
    source = written(tmp_path, image, "PNG", transparency=colour)
    assert_sent_as_judges_see_it(source, "PNG")
    sent = Image.open(io.BytesIO(read_source(source).data))
    assert sent.getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_what_stands_behind_an_image_is_not_sent(form: str, tmp_path: Path) -> None:
    plain = written(tmp_path, picture(), form, dpi=(96, 96))
    sent = read_source(plain)
    assert sent.as_stored and sent.data == plain.data()
    assert sent.facts() == {"format": form, "size": "80x40"}
    source = on_disk(tmp_path, plain.data() + b"SECRET" + plain.data()[-12:], form)
    assert_sent_as_judges_see_it(source, form)


def test_whatever_a_decoder_raises_is_the_failure_of_its_own_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(image: Image.Image) -> None:
        raise errors.pop()

    errors: list[Exception] = [IndexError(), struct.error(), MemoryError()]
    sources = [stored(tmp_path, number) for number in (1, 2)]
    with replying(Gemini()) as (url, posted):
        model = editor(Gemini(), url, price_per_image="0.5")
        model.generate(edits(sources[:1]))
        monkeypatch.setattr(PngImageFile, "load", fail)
        for _ in range(len(errors)):
            (image,) = model.generate(edits(sources[1:])[:1])
            assert image.status == "failed" and "the source image" in image.reason
    assert len(posted) == 2


def test_rejected_fields_of_an_edit_are_left_out(tmp_path: Path) -> None:
    def picky(body: dict[str, Any]) -> Any:
        for name in ("response_format", "seed"):
            if name in body:
                error = {"message": f"Unknown parameter: '{name}'.", "param": name}
                return json_reply({"error": error}, 400)
        return OpenAi().image({**body, "seed": 0})

    with replying(OpenAi(), make=picky, nurse=picky) as (url, posted):
        model = editor(OpenAi(), url)
        images = model.generate(edits([stored(tmp_path, 1)]))
        assert [image.status for image in images] == ["ok", "ok"]
    assert "seed" not in posted[-1] and posted[-1]["output_format"] == "png"


def test_input_fidelity_is_sent_where_the_user_says_so(tmp_path: Path) -> None:
    wanted = edits([stored(tmp_path, 1)])
    for dialect in (OpenAi(), Responses()):
        for args in ({}, {"body.input_fidelity": "high"}):
            with replying(dialect) as (url, posted):
                editor(dialect, url, **args).generate(wanted)
            body = posted[0]
            fields = body["tools"][0] if isinstance(dialect, Responses) else body
            assert fields.get("input_fidelity") == ("high" if args else None)


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's client may speak, to servers of this machine."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", KEY)


@pytest.mark.usefixtures("online")
def test_an_endpoint_of_the_hub_edits(tmp_path: Path) -> None:
    """The client posts the source image in Base64, with the instruction as a parameter."""

    def editing(body: dict[str, Any], _: Any) -> Said:
        given = body["parameters"]
        source = base64.b64decode(body["inputs"])
        data = encoded(given["prompt"], given["seed"], source=source)
        return 200, {"content-type": "image/png"}, base64.b64decode(data)

    wanted = edits([stored(tmp_path, 1), stored(tmp_path, 2, "JPEG")])
    with speaking(editing) as (url, posted):
        args = {"base_url": url, "timeout": 5, "steps": 4, "size": "64x48"}
        model: Any = create_generator("hf:m", args)
        model.check_edits()
        images = model.generate(wanted)
    for request, image in zip(wanted, images, strict=True):
        assert image.status == "ok" and request.source is not None
        expected = edited(
            request.prompt, request.seed, request.source.path.read_bytes()
        )
        assert np.array_equal(np.asarray(image.image), np.asarray(expected))
    sent = posted[0]["parameters"]
    assert sent["target_size"] == {"width": 64, "height": 48}
    assert sent["num_inference_steps"] == 4
    assert "private" not in repr(posted)
    assert model.effective_settings()["sources_sent"]["format"] == ["JPEG", "PNG"]


@pytest.mark.usefixtures("online")
def test_a_provider_of_the_hub_without_edits_is_one_line(tmp_path: Path) -> None:
    model: Any = create_generator("hf:ORG/m", {"provider": "nscale"})
    with refused("image-to-image"):
        model.generate(edits([stored(tmp_path, 1)]))


class DeclinedByFilterError(Exception):
    """What LiteLLM raises where a filter declines."""

    status_code = 400


def test_litellm_edits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """LiteLLM's interface of edits: a file as bytes; fields as keywords."""
    files = []

    async def aimage_edit(**given: Any) -> Any:
        files.append(given["image"])
        assert given["model"] == "openai/m" and given["n"] == 1
        if "nurse" in given["prompt"]:
            raise DeclinedByFilterError("Your request was rejected.")
        source = given["image"]
        data = encoded(given["prompt"], given["seed"], source=source)
        row = types.SimpleNamespace(b64_json=data)
        hidden = {"response_cost": 0.25}
        return types.SimpleNamespace(data=[row], _hidden_params=hidden)

    members = {"aimage_edit": aimage_edit, "model_cost": {}}
    litellm(monkeypatch, DeclinedByFilterError, **members)
    wanted = edits([stored(tmp_path, 1)])
    model: Any = create_generator("litellm:openai/m")
    model.check_edits()
    snow, nurse = model.generate(wanted)
    assert nurse.status == "refused" and model.cost == 0.25
    (request, _) = wanted
    assert request.source is not None
    content = request.source.path.read_bytes()
    assert files == [content] * 2
    expected = edited(request.prompt, request.seed, content)
    assert np.array_equal(np.asarray(snow.image), np.asarray(expected))


def test_litellm_says_where_it_reaches_no_edits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, waits: list[float]
) -> None:
    litellm(monkeypatch, DeclinedByFilterError, model_cost={})
    with refused("litellm:x/y", "this version of LiteLLM reaches no edits"):
        create_generator("litellm:x/y").check_edits()

    async def aimage_edit(**_: Any) -> Any:
        raise ValueError("image edit is not supported for replicate")

    members = {"aimage_edit": aimage_edit, "model_cost": {}}
    litellm(monkeypatch, DeclinedByFilterError, **members)
    with refused("LiteLLM has no route for edits to replicate/m"):
        create_generator("litellm:replicate/m").generate(edits([stored(tmp_path, 1)]))
    assert waits == []


def test_what_is_asked_for_no_edits_says_so_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    provider = {"provider_slug": "only", "supported_parameters": ["seed"]}
    monkeypatch.setitem(ENDPOINTS, "data", {"endpoints": [provider]})
    with replying(OpenRouter()) as (url, posted):
        model = editor(OpenRouter(), url)
        with refused("takes no source image", "provider only does not list"):
            model.check_edits()
        with refused("takes no source image"):
            model.generate(edits([stored(tmp_path, 1)]))
    assert posts(posted, OpenRouter()) == []


def test_sizes_of_many_sources_are_the_same_in_any_order() -> None:
    sizes = [f"{side}x{side}" for side in range(100, 160)]
    first = {"sources_sent": {"size": sizes[:40]}}
    second = {"sources_sent": {"size": sizes[20:]}}
    both = with_earlier(first, second)
    assert both == with_earlier(second, first)
    assert both["sources_sent"]["size"] == sizes[:20]
