"""The generators `openai:MODEL`, `hf:MODEL` and `litellm:MODEL`: models on servers."""

from __future__ import annotations

import json
from typing import Annotated, Any

from t2ibench.arguments import one_of
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.gateways.forms import switches_of
from t2ibench.models.generators.gateways.responses import create_responses
from t2ibench.models.generators.hosted import (
    EditCall,
    HostedArguments,
    HostedGenerator,
)
from t2ibench.models.generators.hub_client import (
    bounded_inference_client,
    file_within_bounds,
)
from t2ibench.models.generators.price_table import (
    SOURCE,
    installed_table,
    listed_price,
)
from t2ibench.models.generators.sources import SourceFile
from t2ibench.models.litellm_server import LitellmServer
from t2ibench.models.proxies import ask_loopback_directly
from t2ibench.models.server_errors import Reply, UnusableServerError
from t2ibench.models.servers import OpenAiServer, Server, checked_address

# Fields that are sent if the server accepts them; they change the form of the reply only.
_WISHES = {"response_format": "b64_json", "output_format": "png"}
_FIELDS = ("b64_json", "url", "revised_prompt")
# What LiteLLM says of a provider that it does not ask for edits.
_NO_ROUTE = "image edit is not supported"
_OF_THE_HUB = {
    "num_inference_steps",
    "guidance_scale",
    "negative_prompt",
    "seed",
    "scheduler",
}


class InferenceArguments(HostedArguments):
    """The options that --model-args accepts for `hf:MODEL` (see `HostedArguments`).

    `provider` is who serves the model, such as fal-ai; 'auto' takes the first of the user's own
    order. `base_url` is an Inference Endpoint instead.
    """

    provider: str = "auto"


class OpenAiArguments(HostedArguments):
    """The options that --model-args accepts for `openai:MODEL` (see `HostedArguments`).

    Attributes:
        api: 'images' for /images/generations; 'responses' for the Responses API, whose MODEL writes
            and draws with a tool, and which alone says what prompt was drawn.
        image_model: The model of that tool; by default the server's.
    """

    api: Annotated[str, one_of("images", "responses")] = "images"
    image_model: str | None = None


def _openai(request: Request[OpenAiArguments]) -> HostedGenerator:
    args, model = request.args, request.source
    if args.api == "responses":
        return create_responses(request, args.image_model)
    if args.image_model is not None:
        raise T2IBenchError(
            "--model-args: image_model belongs to api=responses.",
            "Name the image model after the colon: openai:MODEL",
        )
    server = OpenAiServer("/images/generations", args)

    async def call(prompt: str, optional: dict[str, Any], key: str) -> Reply:
        raw = await server.client.images.with_raw_response.generate(
            model=model,
            prompt=prompt,
            extra_body=optional,
            extra_headers={"Idempotency-Key": key},
        )
        response = raw.http_response
        return Reply(response.status_code, response.content, server.key)

    async def edit(
        prompt: str, optional: dict[str, Any], key: str, source: SourceFile
    ) -> Reply:
        raw = await server.client.images.with_raw_response.edit(
            model=model,
            prompt=prompt,
            image=(source.name, source.data, source.media_type),
            extra_body=optional,
            extra_headers={"Idempotency-Key": key},
        )
        response = raw.http_response
        return Reply(response.status_code, response.content, server.key)

    settings = {"model": model, "url": server.where}
    price = None
    if args.base_url is None:
        # Another server with a model of this name has prices of its own.
        price = listed_price(installed_table(), model, args.size, args.quality)
    return HostedGenerator(
        request,
        server,
        call,
        settings,
        wishes=_WISHES,
        edit=EditCall(edit, f"{server.base_url}/images/edits"),
        price=price,
        price_source=SOURCE,
    )


def _litellm(request: Request[HostedArguments]) -> HostedGenerator:
    server = LitellmServer(request.source, request.args)

    async def call(prompt: str, optional: dict[str, Any], _: str) -> Reply:
        reply = await server.library.aimage_generation(
            prompt=prompt, n=1, **server.given(), **optional
        )
        return _reply_of_litellm(reply, server.key)

    async def edit(
        prompt: str, optional: dict[str, Any], _: str, source: SourceFile
    ) -> Reply:
        try:
            reply = await server.library.aimage_edit(
                # Of a tuple of name, bytes and type, it would send no file.
                image=source.data,
                prompt=prompt,
                n=1,
                **server.given(),
                **optional,
            )
        except Exception as error:
            # What LiteLLM says of a provider that it has no route to would else be tried again.
            if _NO_ROUTE in str(error):
                raise UnusableServerError(
                    f"LiteLLM has no route for edits to {request.source}.",
                    "Name a model of a provider whose edits LiteLLM reaches.",
                ) from error
            raise
        return _reply_of_litellm(reply, server.key)

    args = request.args
    price = listed_price(
        server.library.model_cost, request.source, args.size, args.quality
    )
    settings = {"model": request.source, "url": server.address, "library": "litellm"}
    switches = switches_of(request.source)
    refusal = None
    if not hasattr(server.library, "aimage_edit"):
        refusal = "this version of LiteLLM reaches no edits"
    return HostedGenerator(
        request,
        server,
        call,
        settings,
        switches=switches,
        price=price,
        edit=EditCall(edit, server.where, refusal),
        price_source=SOURCE,
    )


def _reply_of_litellm(reply: Any, key: ApiKey) -> Reply:
    """Return a reply of LiteLLM with the image and its cost, in the form of OpenAI's API."""
    rows = [
        {name: getattr(row, name, None) for name in _FIELDS} for row in reply.data or ()
    ]
    cost = (getattr(reply, "_hidden_params", None) or {}).get("response_cost")
    # LiteLLM reports 0 for models that its table of prices does not have.
    content = {"data": rows, "cost": cost or None}
    return Reply(200, json.dumps(content).encode(), key)


def _hub(request: Request[InferenceArguments]) -> HostedGenerator:
    import huggingface_hub
    from huggingface_hub.errors import OfflineModeIsEnabled

    args = request.args
    address = checked_address(args.base_url) if args.base_url else None
    ask_loopback_directly(address)
    key = ApiKey(args.api_key_env or "HF_TOKEN", huggingface_hub.get_token())
    provider: Any = None if address else args.provider
    client = bounded_inference_client(
        args.largest_reply,
        model=address or request.source,
        provider=provider,
        token=key.value or None,
        timeout=float(args.timeout),
    )

    def check_token() -> None:
        if not key and address is None:
            raise UnusableServerError(
                f"{request.spec} needs a token of Hugging Face, and {key.variable} is not set.",
                f"Set it with `export {key.variable}=…`, or run `hf auth login`.",
            )

    async def call(prompt: str, optional: dict[str, Any], _: str) -> bytes:
        check_token()
        given = dict(optional)
        sides: dict[str, Any] = _sides(given.pop("size", ""))
        options = {name: given.pop(name) for name in list(given) if name in _OF_THE_HUB}
        image = await client.text_to_image(
            prompt, **sides, **options, extra_body=given or None
        )
        return await file_within_bounds(image)

    async def edit(
        prompt: str, optional: dict[str, Any], _: str, source: SourceFile
    ) -> bytes:
        check_token()
        given = dict(optional)
        size: Any = _sides(given.pop("size", "")) or None
        image = await client.image_to_image(
            source.data, prompt, target_size=size, **given
        )
        return await file_within_bounds(image)

    server = Server(
        f"{request.spec} ({address or args.provider})",
        key,
        args,
        address=address or huggingface_hub.constants.ENDPOINT,
        hopeless=(
            OfflineModeIsEnabled,
            ValueError,
            KeyError,
            ImportError,
            NotImplementedError,
        ),
    )
    settings = {"model": request.source, "url": address, "provider": args.provider}
    switches = switches_of(request.source)
    return HostedGenerator(
        request,
        server,
        call,
        settings,
        switches=switches,
        edit=EditCall(edit, server.where),
    )


def _sides(size: object) -> dict[str, int]:
    """Return width and height of a size such as '64x48'; empty for any other."""
    width, _, height = str(size).partition("x")
    if not width.isdigit():
        return {}
    return {"width": int(width), "height": int(height)}


ADAPTER = Adapter(
    create=_openai,
    form="openai:MODEL",
    description="any server with OpenAI's /images/generations, and /images/edits for edits; "
    "--model-args base_url=…",
    Args=OpenAiArguments,
    libraries=("pillow",),
)
HUB = Adapter(
    create=_hub,
    form="hf:MODEL",
    description="a model of the hub that a provider serves; --model-args provider=…",
    Args=InferenceArguments,
    libraries=("pillow",),
)
LITELLM = Adapter(
    create=_litellm,
    form="litellm:MODEL",
    description="whatever LiteLLM reaches; pip install t2ibench[litellm]",
    Args=HostedArguments,
    libraries=("pillow",),
)
