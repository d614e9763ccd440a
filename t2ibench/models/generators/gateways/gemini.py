"""The generator `gemini:MODEL`: Google's own API, with its seed and its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.gateways.forms import (
    error_reply,
    images_reply,
    json_of,
    mapping_of,
    mappings_of,
    ratio_and_resolution,
    refuse_arguments,
    text_of,
)
from t2ibench.models.generators.hosted import (
    EditCall,
    HostedArguments,
    HostedGenerator,
)
from t2ibench.models.generators.price_table import (
    SOURCE,
    installed_table,
    listed_price,
)
from t2ibench.models.generators.sources import SourceFile
from t2ibench.models.http_server import HttpServer
from t2ibench.models.server_errors import Reply

_ADDRESS = "https://generativelanguage.googleapis.com/v1beta"
_MISSING = ("steps", "guidance", "negative_prompt")
# Fields of a request that are beside its generationConfig.
_BESIDE = {"safetySettings", "systemInstruction", "tools", "toolConfig", "labels"}
# The reasons for which a candidate ends without being a filter's or the model's decision.
_NO_DECISION = {"STOP", "MAX_TOKENS", "OTHER", "FINISH_REASON_UNSPECIFIED", "LANGUAGE"}
_CUT_OFF = {"MAX_TOKENS", "OTHER", "LANGUAGE"}
_AFTER_DRAWING = "IMAGE_"
# Fields of which every reply has one, even if it has neither an image nor a word.
_FIELDS = {"candidates", "promptFeedback", "usageMetadata", "responseId"}
_SEED_BITS = 31  # a seed is an int32


def create_gemini(request: Request[HostedArguments]) -> HostedGenerator:
    """Return the generator of a model of Google's API."""
    args, model = request.args, request.source.removeprefix("models/")
    refuse_arguments(args, _MISSING, "Gemini's generateContent")
    if model.startswith("imagen"):
        raise T2IBenchError(
            f"{request.spec}: Google shut Imagen down in 2026.",
            "Name a model of Gemini that draws: gemini:MODEL.",
        )
    key = ApiKey(args.api_key_env or "GEMINI_API_KEY", header="x-goog-api-key")
    server = HttpServer(
        args.base_url or _ADDRESS, key, args, needs_key=args.base_url is None
    )
    path = f"/models/{quote(model, safe='')}:generateContent"

    async def generate(
        prompt: str, fields: dict[str, Any], _: str, source: SourceFile | None = None
    ) -> Reply:
        server.check_access()
        body = gemini_body(prompt, fields, source)
        data = await server.request("POST", path, body=body)
        return gemini_reply(Reply(200, data, server.key))

    settings = {"model": model, "url": server.base_url + path}
    price = None
    if args.base_url is None and args.size is None:
        # The price of the model's own size; larger ones cost more.
        price = listed_price(installed_table(), f"gemini/{model}")
    return HostedGenerator(
        request,
        server,
        generate,
        settings,
        seed_bits=_SEED_BITS,
        price=price,
        price_source=SOURCE,
        edit=EditCall(generate, server.where),
    )


def gemini_body(
    prompt: str, fields: Mapping[str, Any], source: SourceFile | None = None
) -> dict[str, Any]:
    """Return the body of a request to generateContent, with the source image of an edit."""
    beside = {name: value for name, value in fields.items() if name in _BESIDE}
    config = {
        name: value
        for name, value in fields.items()
        if name not in _BESIDE and name != "size"
    }
    size = fields.get("size")
    image = dict(config.pop("imageConfig", None) or {})
    if size and size != "auto":
        ratio, resolution = ratio_and_resolution(size)
        image = {"aspectRatio": ratio, "imageSize": resolution, **image}
    config = {"responseModalities": ["TEXT", "IMAGE"], **config}
    if image:
        config["imageConfig"] = image
    parts: list[dict[str, Any]] = [{"text": prompt}]
    if source is not None:
        data = {"mimeType": source.media_type, "data": source.base64}
        parts.append({"inlineData": data})
    contents = [{"role": "user", "parts": parts}]
    return {"contents": contents, "generationConfig": config, **beside}


def gemini_reply(reply: Reply) -> Reply:
    """Return the reply of generateContent in the form of OpenAI's images API."""
    body = mapping_of(json_of(reply))
    if not body.keys() & _FIELDS:
        return reply
    first = next(iter(mappings_of(body.get("candidates"))), {})
    parts = mappings_of(mapping_of(first.get("content")).get("parts"))
    image = _image_of(parts)
    if image is not None:
        return images_reply([{"b64_json": image}], reply.key)
    feedback = mapping_of(body.get("promptFeedback"))
    if feedback.get("blockReason"):
        blocked = str(feedback["blockReason"])
        words = str(feedback.get("blockReasonMessage") or "the prompt was blocked")
        return _refusal(reply.key, f"{blocked}: {words}", blocked, "input")
    return _without_image(first, _text_of(parts), reply.key)


def _without_image(candidate: Mapping[str, Any], text: str, key: ApiKey) -> Reply:
    """Return why a candidate has no image, in the form of OpenAI's images API."""
    reason = str(candidate.get("finishReason") or "")
    message = str(candidate.get("finishMessage") or "")
    if reason and reason not in _NO_DECISION:
        # With NO_IMAGE the model itself has drawn nothing; nothing was taken away.
        stage = "output" if reason.startswith(_AFTER_DRAWING) else None
        return _refusal(
            key, f"{reason}: {message or text or 'no image'}", reason, stage
        )
    if reason in _CUT_OFF:
        # Words before that were on the way to an image; they are no refusal.
        words = message or "the reply ended without an image"
        return error_reply(key, f"{reason}: {words}", code="incomplete")
    return images_reply([{"text": text}] if text else [], key)


def _refusal(key: ApiKey, message: str, category: str, stage: str | None) -> Reply:
    return error_reply(
        key, message, code="content_filter", stage=stage, categories=[category]
    )


def _image_of(parts: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the last image that is no draft of the model's thoughts; else the last image."""
    drafts: list[str] = []
    images: list[str] = []
    for part in parts:
        inline = mapping_of(part.get("inlineData") or part.get("inline_data"))
        data = inline.get("data")
        if isinstance(data, str) and data:
            (drafts if part.get("thought") else images).append(data)
    both = [*drafts, *images]
    return both[-1] if both else None


def _text_of(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the words of a reply without those of the model's thoughts."""
    return text_of([part for part in parts if not part.get("thought")])


ADAPTER = Adapter(
    create=create_gemini,
    form="gemini:MODEL",
    description="Google's generateContent, with GEMINI_API_KEY",
    Args=HostedArguments,
    libraries=("pillow",),
)
