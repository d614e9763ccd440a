"""The generator `openai:MODEL`: any server that speaks OpenAI's /images/generations."""

from __future__ import annotations

from typing import Any

from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.generators.image_server import (
    FIRST_ATTEMPTS,
    LARGEST,
    ImageCall,
    ImageServer,
    check_local,
)
from t2ibench.models.server_errors import Reply
from t2ibench.models.servers import OpenAiServer

# Asked for where the server takes them; what they change is the way an image comes.
_WISHES = {"response_format": "b64_json", "output_format": "png"}


def _create(request: Request[HostedArguments]) -> HostedGenerator:
    args, model = request.args, request.source
    server = OpenAiServer(
        "/images/generations",
        args,
        largest=LARGEST,
        local_only=request.recorded,
        first_attempts=FIRST_ATTEMPTS,
    )
    if request.recorded:
        check_local("openai", model, server.base_url)

    async def call(asked: ImageCall) -> Reply:
        fields: dict[str, Any] = {**asked.optional, **({"n": asked.n} if asked.n > 1 else {})}
        raw = await server.client.images.with_raw_response.generate(
            model=model,
            prompt=asked.prompt,
            extra_body=fields,
            extra_headers={"Idempotency-Key": asked.idempotency_key},
        )
        response = raw.http_response
        return Reply(response.status_code, response.content, server.key)

    settings = {"model": model, "url": server.where}
    backend = ImageServer(
        server, call, args, settings, wishes=_WISHES, base_url=server.base_url, key=server.key
    )
    return HostedGenerator(request.spec, backend, args, request.seed)


ADAPTER = Adapter(
    create=_create,
    form="openai:MODEL",
    description="any server with OpenAI's /images/generations; --model-args base_url=…",
    Args=HostedArguments,
    libraries=("pillow",),
)
