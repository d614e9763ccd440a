"""The generator `openai:MODEL`: any server that speaks OpenAI's /images/generations."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.generators.image_server import (
    FIRST_ATTEMPTS,
    LARGEST,
    ImageCall,
    ImageServer,
)
from t2ibench.models.server_errors import Reply
from t2ibench.models.servers import OPENAI, OpenAiServer, checked_address

# Asked for where the server takes them; what they change is the way an image comes.
_WISHES = {"response_format": "b64_json", "output_format": "png"}


def _create(request: Request[HostedArguments]) -> HostedGenerator:
    args, model = request.args, request.source
    base_url = checked_address(args.base_url or OPENAI)
    # An address from somebody else's file has to be on this machine, and gets no key.
    if request.recorded and urlsplit(base_url).hostname not in {"127.0.0.1", "::1", "localhost"}:
        raise T2IBenchError(
            f"openai:{shown(model)} is on the server {shown(base_url)}, and its name comes "
            "from a stored file, so it is not asked: that may cost money.",
            "Name it yourself: --model openai:MODEL --model-args base_url=….",
        )
    key = ApiKey("T2IBENCH_NO_KEY" if request.recorded else args.api_key_env or "OPENAI_API_KEY")
    server = OpenAiServer(
        base_url,
        "/images/generations",
        key,
        largest=LARGEST,
        timeout=float(args.timeout),
        attempts=args.retries,
        first_attempts=FIRST_ATTEMPTS,
    )

    async def call(asked: ImageCall) -> Reply:
        fields: dict[str, Any] = {**asked.optional, **({"n": asked.n} if asked.n > 1 else {})}
        raw = await server.client.images.with_raw_response.generate(
            model=model,
            prompt=asked.prompt,
            extra_body=fields,
            extra_headers={"Idempotency-Key": asked.idempotency_key},
        )
        response = raw.http_response
        return Reply(response.status_code, response.content, key)

    settings = {"model": model, "url": server.where}
    backend = ImageServer(server, call, args, settings, wishes=_WISHES, base_url=base_url, key=key)
    return HostedGenerator(request.spec, backend, args, request.seed)


ADAPTER = Adapter(
    create=_create,
    form="openai:MODEL",
    description="any server with OpenAI's /images/generations; --model-args base_url=…",
    Args=HostedArguments,
    libraries=("pillow",),
)
