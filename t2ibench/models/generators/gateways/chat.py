"""The generator `chat:MODEL`: images in the replies of chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.generators.gateways.forms import (
    error_reply,
    image_rows,
    images_reply,
    json_of,
    mapping_of,
    mappings_of,
    ratio_and_resolution,
    text_of,
)
from t2ibench.models.generators.hosted import (
    EditCall,
    HostedArguments,
    HostedGenerator,
)
from t2ibench.models.generators.sources import SourceFile
from t2ibench.models.server_errors import Reply
from t2ibench.models.servers import OpenAiServer

_PATH = "/chat/completions"
_OPENROUTER = "openrouter.ai"
_FILTERED = "content_filter"
_CUT_OFF = {"length", "error"}


def create_chat(request: Request[HostedArguments]) -> HostedGenerator:
    """Return the generator of a model that draws in its chat replies."""
    args, model = request.args, request.source
    is_openrouter = urlsplit(args.base_url or "").hostname == _OPENROUTER
    if is_openrouter and args.api_key_env is None:
        args = args.model_copy(update={"api_key_env": "OPENROUTER_API_KEY"})
    server = OpenAiServer(_PATH, args)

    async def complete(content: Any, fields: dict[str, Any], key: str) -> Reply:
        raw = await server.client.chat.completions.with_raw_response.create(
            model=model,
            messages=[{"role": "user", "content": content}],
            extra_body=chat_fields(fields, is_openrouter),
            extra_headers={"Idempotency-Key": key},
        )
        response = raw.http_response
        return chat_reply(Reply(response.status_code, response.content, server.key))

    async def edit(
        prompt: str, fields: dict[str, Any], key: str, source: SourceFile
    ) -> Reply:
        parts = [
            {"type": "text", "text": prompt},
            {"type": "image_url", "image_url": {"url": source.data_url}},
        ]
        return await complete(parts, fields, key)

    settings = {"model": model, "url": server.where}
    wishes = {"modalities": ["image", "text"] if is_openrouter else ["image"]}
    return HostedGenerator(
        request,
        server,
        complete,
        settings,
        wishes=wishes,
        edit=EditCall(edit, server.where),
    )


def chat_fields(fields: Mapping[str, Any], is_openrouter: bool) -> dict[str, Any]:
    """Return the fields of a request as OpenRouter takes them, or as vLLM-Omni does."""
    given = dict(fields)
    size = given.pop("size", None)
    if size and size != "auto":
        if is_openrouter:
            ratio, resolution = ratio_and_resolution(size)
            config = {"aspect_ratio": ratio, "image_size": resolution}
            given["image_config"] = {**config, **given.get("image_config", {})}
        else:
            given["width"], given["height"] = map(int, size.split("x"))
    return given


def chat_reply(reply: Reply) -> Reply:
    """Return a chat completion in the form of OpenAI's images API."""
    body = mapping_of(json_of(reply))
    if not isinstance(body.get("choices"), list):
        return reply
    first = next(iter(mappings_of(body["choices"])), {})
    error = mapping_of(first.get("error"))
    usage = mapping_of(body.get("usage"))
    if error:
        return _passed_on(error, reply, usage)
    message = mapping_of(first.get("message"))
    rows = image_rows(message.get("images")) or image_rows(message.get("content"))
    if rows:
        # The last is the finished one, where a model shows what it drew on the way.
        return images_reply([rows[-1]], reply.key, usage=dict(usage))
    refusal = str(message.get("refusal") or "")
    words = refusal or text_of(message.get("content"))
    reason = first.get("finish_reason")
    if refusal or reason == _FILTERED:
        words = words or "the reply was filtered"
        return error_reply(reply.key, words, code=_FILTERED, usage=usage)
    if reason in _CUT_OFF:
        # Words before that were on the way to an image; they are no refusal.
        message_text = f"the reply ended without an image (finish_reason {reason})"
        return error_reply(reply.key, message_text, code="incomplete", usage=usage)
    rows = [{"text": words}] if words else []
    return images_reply(rows, reply.key, usage=dict(usage))


def _passed_on(
    error: Mapping[str, Any], reply: Reply, usage: Mapping[str, Any]
) -> Reply:
    """Return a provider's error that a gateway put into a reply of status 200."""
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 400
    reasons = mapping_of(error.get("metadata")).get("reasons")
    named = [str(reason) for reason in reasons] if isinstance(reasons, list) else []
    return error_reply(
        reply.key,
        str(error.get("message") or error),
        code=_FILTERED if named else str(code or ""),
        stage="input" if named else None,
        categories=named,
        status=status,
        usage=usage,
    )


ADAPTER = Adapter(
    create=create_chat,
    form="chat:MODEL",
    description="images in the replies of /chat/completions; --model-args base_url=…",
    Args=HostedArguments,
    libraries=("pillow",),
)
