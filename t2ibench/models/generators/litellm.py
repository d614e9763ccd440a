"""The generator `litellm:MODEL`: what LiteLLM reaches, such as Bedrock, Vertex AI or Azure."""

from __future__ import annotations

import json

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.generators.image_server import FIRST_ATTEMPTS, ImageCall, ImageServer
from t2ibench.models.litellm_library import LitellmServer
from t2ibench.models.server_errors import Reply
from t2ibench.models.servers import checked_address

_FIELDS = ("b64_json", "url", "revised_prompt")


def _create(request: Request[HostedArguments]) -> HostedGenerator:
    if request.recorded:
        raise T2IBenchError(
            f"litellm:{shown(request.source)} is on a server, and its name comes from a stored "
            "file, so it is not asked: that may cost money.",
            "Name it yourself with --model.",
        )
    args = request.args
    address = checked_address(args.base_url) if args.base_url else None
    server = LitellmServer(
        request.source,
        address,
        args.api_key_env,
        args.timeout,
        attempts=args.retries,
        first_attempts=FIRST_ATTEMPTS,
    )

    async def call(asked: ImageCall) -> Reply:
        found = await server.library.aimage_generation(
            prompt=asked.prompt, n=asked.n, **server.given(), **asked.optional
        )
        rows = [{name: getattr(row, name, None) for name in _FIELDS} for row in found.data or ()]
        cost = (getattr(found, "_hidden_params", None) or {}).get("response_cost")
        # 0 is what it says of a model that its table does not have.
        return Reply(200, json.dumps({"data": rows, "cost": cost or None}).encode(), server.key)

    prices = server.library.model_cost.get(request.source, {})
    known = prices.get("output_cost_per_image") or prices.get("input_cost_per_image")
    settings = {"model": request.source, "url": address, "library": "litellm"}
    backend = ImageServer(
        server,
        call,
        args,
        settings,
        price=None if known is None else float(known),
        base_url=address,
    )
    return HostedGenerator(request.spec, backend, args, request.seed)


ADAPTER = Adapter(
    create=_create,
    form="litellm:MODEL",
    description="whatever LiteLLM reaches; pip install t2ibench[litellm]",
    Args=HostedArguments,
    libraries=("pillow",),
)
