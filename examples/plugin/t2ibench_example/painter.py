"""A generator behind an API: `--model painter:NAME --model-args base_url=http://…`.

All that is here is what this API does in its own way: the address, the fields of a request, and
where the image is in a reply. Retries, rate limits, refusals, costs (`price_per_image=…`) and
resuming come with `HostedGenerator`, and its arguments with `HostedArguments`.
"""

from __future__ import annotations

import json
from typing import Any

from t2ibench.plugins import (
    Adapter,
    ApiKey,
    HostedArguments,
    HostedGenerator,
    Reply,
    Request,
    Server,
    checked_address,
)

ADDRESS = "http://127.0.0.1:8300"  # where painter_server.py is


def create(request: Request[HostedArguments]) -> HostedGenerator:
    """Nothing is asked of the server before the first image."""
    from t2ibench.plugins import BoundedClient, ask_loopback_directly

    args, model = request.args, request.source
    address = f"{checked_address(args.base_url or ADDRESS)}/paint"
    ask_loopback_directly(address)
    # The key is read from the environment, is no argument, and is hidden from what is stored.
    key = ApiKey(args.api_key_env or "PAINTER_API_KEY")
    client = BoundedClient(args.largest_reply, key)

    async def call(prompt: str, fields: dict[str, Any], once: str) -> Reply:
        response = await client.post(
            address,
            json={"model": model, "text": prompt, **fields},
            headers={"Idempotency-Key": once},
        )
        body = response.content
        if response.status_code == 200:  # as OpenAI has it, which HostedGenerator reads
            image = {"b64_json": response.json()["picture"]}
            body = json.dumps({"data": [image]}).encode()
        return Reply(response.status_code, body, key)

    server = Server(address, key, args, address=address)
    # What decides an image beside its prompt, index, seed and the arguments.
    settings = {"model": model, "url": address}
    return HostedGenerator(request, server, call, settings)


ADAPTER = Adapter(
    create=create,
    form="painter:MODEL",
    description="an API of its own kind; --model-args base_url=…",
    Args=HostedArguments,
    libraries=("pillow",),
    default_encoder="mean-colour",
    default_judge="brightness",
)
