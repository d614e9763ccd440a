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
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.server_errors import Reply
from t2ibench.models.servers import OpenAiServer

_PATH = "/responses"
_CALL = "image_generation_call"
_TOOL = "image_generation"
_MISSING = ("steps", "guidance", "negative_prompt")
_CHOSEN = ("size", "quality", "background")


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

    async def call(prompt: str, fields: dict[str, Any], key: str) -> Reply:
        tool = {"type": _TOOL, **fields}
        if image_model is not None:
            tool["model"] = image_model
        raw = await server.client.responses.with_raw_response.create(
            model=model,
            input=prompt,
            tools=[tool],
            tool_choice={"type": _TOOL},
            store=False,
            extra_headers={"Idempotency-Key": key},
        )
        response = raw.http_response
        return responses_reply(
            Reply(response.status_code, response.content, server.key)
        )

    settings = {"model": model, "url": server.where, "image_model": image_model}
    return HostedGenerator(request, server, call, settings)


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
    errors = [mapping_of(item.get("error")) for item in calls if item.get("error")]
    if errors:
        return _declined_call(errors[-1], reply.key)
    return _in_words(items, reply.key)


def _declined_call(error: Mapping[str, Any], key: ApiKey) -> Reply:
    """Return the error of a call of the tool, with the stage and the categories of a filter."""
    details = mapping_of(error.get("moderation_details"))
    code = str(error.get("code") or "")
    return error_reply(
        key,
        str(error.get("message") or code or "no image"),
        code=code,
        stage=details.get("moderation_stage"),
        categories=details.get("categories") or (),
    )


def _in_words(items: list[Mapping[str, Any]], key: ApiKey) -> Reply:
    """Return a reply in words alone: a refusal that says so, or any other text."""
    contents = [item.get("content") for item in items if item.get("type") == "message"]
    parts = [part for content in contents for part in mappings_of(content)]
    refusals = [str(part["refusal"]) for part in parts if part.get("refusal")]
    if refusals:
        return error_reply(key, refusals[0], code="content_filter")
    words = " ".join(filter(None, map(text_of, contents)))
    return images_reply([{"text": words}] if words else [], key)
