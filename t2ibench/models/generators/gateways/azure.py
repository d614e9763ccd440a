"""The generator `azure:DEPLOYMENT`: an image model that Azure serves."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.http_server import HttpServer
from t2ibench.models.server_errors import Reply

_ENDPOINT = "AZURE_OPENAI_ENDPOINT"


class AzureArguments(HostedArguments):
    """The options of `azure:DEPLOYMENT` (see `HostedArguments`).

    Attributes:
        api_version: The version of the API of deployments, such as 2025-04-01-preview; without
            one, the API without versions is asked, which ends with /openai/v1.
    """

    api_version: str | None = None


def create_azure(request: Request[AzureArguments]) -> HostedGenerator:
    """Return the generator of a deployment."""
    args, deployment = request.args, request.source
    address = args.base_url or os.environ.get(_ENDPOINT)
    if not address:
        raise T2IBenchError(
            f"{request.spec} needs the address of your resource.",
            f"Give base_url=https://NAME.openai.azure.com in --model-args, or set {_ENDPOINT}.",
        )
    key = ApiKey(args.api_key_env or "AZURE_OPENAI_API_KEY", header="api-key")
    resource = address.rstrip("/").removesuffix("/openai/v1")
    server = HttpServer(resource, key, args, needs_key=True)
    query = None if args.api_version is None else {"api-version": args.api_version}
    path = (
        "/openai/v1/images/generations"
        if query is None
        else f"/openai/deployments/{quote(deployment, safe='')}/images/generations"
    )

    async def call(prompt: str, fields: dict[str, Any], key: str) -> Reply:
        server.check_access()
        body = {"model": deployment, "prompt": prompt, "n": 1, **fields}
        headers = {"Idempotency-Key": key}
        data = await server.request(
            "POST", path, query=query, body=body, headers=headers
        )
        return Reply(200, data, server.key)

    settings = {"model": deployment, "url": server.base_url + path}
    if query is not None:
        settings["api_version"] = query["api-version"]
    wishes = {"output_format": "png"}
    return HostedGenerator(request, server, call, settings, wishes=wishes)


ADAPTER = Adapter(
    create=create_azure,
    form="azure:DEPLOYMENT",
    description="an image model of Azure; --model-args base_url=https://NAME.openai.azure.com",
    Args=AzureArguments,
    libraries=("pillow",),
)
