"""The Responses API of OpenAI: a model that draws with a tool, and says what it asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.models.adapter import Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.gateways.forms import (
    error_reply,
    images_reply,
    json_of,
    mapping_of,
    mappings_of,
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
from t2ibench.models.server_errors import Reply
from t2ibench.models.servers import OpenAiServer

_PATH = "/responses"
_CALL = "image_generation_call"
_TOOL = "image_generation"
_MISSING = ("steps", "guidance", "negative_prompt")
_CHOSEN = ("size", "quality", "background")
_FILTERED = "content_filter"
# States of a response, or of a call of the tool, that ended before there was an image.
_NOT_COMPLETED = {"failed", "incomplete", "cancelled"}
# Statuses of replies that have these codes elsewhere, so that they are asked for again.
_STATUSES = {"rate_limit_exceeded": 429, "server_error": 500}


def create_responses(
    request: Request[HostedArguments], image_model: str | None
) -> HostedGenerator:
    """Return the generator of a model that draws with the tool of the Responses API."""
    args, model = request.args, request.source
    refuse_arguments(args, _MISSING, "the tool of the Responses API")
    # The tool has no seed, and would be asked three times to find that out.
    args = args.model_copy(update={"seed": False})
    request = Request(
        spec=request.spec,
        source=model,
        args=args,
        seed=request.seed,
        recorded=request.recorded,
    )
    server = OpenAiServer(_PATH, args)

    async def create(content: Any, fields: dict[str, Any], key: str) -> Reply:
        tool = {"type": _TOOL, **fields}
        if image_model is not None:
            tool["model"] = image_model
        raw = await server.client.responses.with_raw_response.create(
            model=model,
            input=content,
            tools=[tool],
            tool_choice={"type": _TOOL},
            store=False,
            extra_headers={"Idempotency-Key": key},
        )
        response = raw.http_response
        return responses_reply(
            Reply(response.status_code, response.content, server.key)
        )

    async def edit(
        prompt: str, fields: dict[str, Any], key: str, source: SourceFile
    ) -> Reply:
        parts = [
            {"type": "input_text", "text": prompt},
            {"type": "input_image", "image_url": source.data_url},
        ]
        content = [{"role": "user", "content": parts}]
        return await create(content, {"action": "edit", **fields}, key)

    settings = {"model": model, "url": server.where, "image_model": image_model}
    price = None
    if args.base_url is None and image_model is not None:
        # Another server with a model of this name has prices of its own.
        table = installed_table()
        price = listed_price(table, image_model, args.size, args.quality)
    return HostedGenerator(
        request,
        server,
        create,
        settings,
        edit=EditCall(edit, server.where),
        price=price,
        price_source=f"{SOURCE}; the tokens of {model} come on top",
    )


def responses_reply(reply: Reply) -> Reply:
    """Return a response in the form of OpenAI's images API, with the prompt that was drawn."""
    body = mapping_of(json_of(reply))
    if not isinstance(body.get("output"), list):
        return reply
    items = mappings_of(body["output"])
    calls = [item for item in items if item.get("type") == _CALL]
    for item in reversed(calls):
        if isinstance(item.get("result"), str) and item["result"]:
            revised = item.get("revised_prompt")
            row = {"b64_json": item["result"], "revised_prompt": revised}
            chosen = {name: item[name] for name in _CHOSEN if item.get(name)}
            return images_reply([row], reply.key, **chosen)
    return _without_image(body, items, calls, reply.key)


def _without_image(
    body: Mapping[str, Any],
    items: list[Mapping[str, Any]],
    calls: list[Mapping[str, Any]],
    key: ApiKey,
) -> Reply:
    """Return why a response has no image, in the form of OpenAI's images API."""
    errors = [mapping_of(part.get("error")) for part in (body, *calls)]
    errors = [error for error in errors if error]
    if errors:
        return _declined(errors[-1], key)
    contents = [item.get("content") for item in items if item.get("type") == "message"]
    parts = [part for content in contents for part in mappings_of(content)]
    refusals = [str(part["refusal"]) for part in parts if part.get("refusal")]
    if refusals:
        return error_reply(key, refusals[0], code=_FILTERED)
    if any(part.get("status") in _NOT_COMPLETED for part in (body, *calls)):
        return _cut_off(body, key)
    words = " ".join(filter(None, map(text_of, contents)))
    return images_reply([{"text": words}] if words else [], key)


def _cut_off(body: Mapping[str, Any], key: ApiKey) -> Reply:
    """Return the error of a response that ended before the image: a filter's work, or not."""
    reason = str(mapping_of(body.get("incomplete_details")).get("reason") or "")
    code = _FILTERED if reason == _FILTERED else "incomplete"
    words = "the response ended without an image"
    return error_reply(key, f"{words} ({reason})" if reason else words, code=code)


def _declined(error: Mapping[str, Any], key: ApiKey) -> Reply:
    """Return the error of a response or of a call of the tool, with what a filter says."""
    details = mapping_of(error.get("moderation_details"))
    code = str(error.get("code") or "")
    return error_reply(
        key,
        str(error.get("message") or code or "no image"),
        code=code,
        stage=details.get("moderation_stage"),
        categories=details.get("categories") or (),
        status=_STATUSES.get(code, 400),
    )
