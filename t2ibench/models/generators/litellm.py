"""The generator `litellm:MODEL`: what LiteLLM reaches, such as Bedrock, Vertex AI or Azure."""

from __future__ import annotations

import json

from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.generators.image_server import (
    FIRST_ATTEMPTS,
    ImageCall,
    ImageServer,
    check_local,
)
from t2ibench.models.litellm_library import LitellmServer
from t2ibench.models.server_errors import Reply

_FIELDS = ("b64_json", "url", "revised_prompt")


def _create(request: Request[HostedArguments]) -> HostedGenerator:
    if request.recorded:
        check_local("litellm", request.source, None)
    server = LitellmServer(request.source, request.args, first_attempts=FIRST_ATTEMPTS)

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
    settings = {"model": request.source, "url": server.address, "library": "litellm"}
    backend = ImageServer(
        server,
        call,
        request.args,
        settings,
        price=None if known is None else float(known),
        base_url=server.address,
    )
    return HostedGenerator(request.spec, backend, request.args, request.seed)


ADAPTER = Adapter(
    create=_create,
    form="litellm:MODEL",
    description="whatever LiteLLM reaches; pip install t2ibench[litellm]",
    Args=HostedArguments,
    libraries=("pillow",),
)
