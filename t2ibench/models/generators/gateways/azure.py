"""The generator `azure:DEPLOYMENT`: an image model that Azure serves."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from t2ibench.arguments import refuse_secrets
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
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
from t2ibench.models.http_server import Form, HttpServer
from t2ibench.models.server_errors import Reply

_ENDPOINT = "AZURE_OPENAI_ENDPOINT"


class AzureArguments(HostedArguments):
    """The options of `azure:DEPLOYMENT` (see `HostedArguments`).

    Attributes:
        api_version: The version of the API of deployments, such as 2025-04-01-preview; without
            one, the API without versions is asked, which ends with /openai/v1.
        base_model: The model that was deployed, such as gpt-image-2, as LiteLLM's table of prices
            calls it; it changes no request.
    """

    api_version: str | None = None
    base_model: str | None = None


def create_azure(request: Request[AzureArguments]) -> HostedGenerator:
    """Return the generator of a deployment."""
    args, deployment = request.args, request.source
    address = args.base_url or os.environ.get(_ENDPOINT)
    if not address:
        raise T2IBenchError(
            f"{request.spec} needs the address of your resource.",
            f"Give base_url=https://NAME.openai.azure.com in --model-args, or set {_ENDPOINT}.",
        )
    refuse_secrets({"base_url": address}, _ENDPOINT)
    key = ApiKey(args.api_key_env or "AZURE_OPENAI_API_KEY", header="api-key")
    resource = address.rstrip("/").removesuffix("/openai/v1")
    server = HttpServer(resource, key, args, needs_key=True)
    query = None if args.api_version is None else {"api-version": args.api_version}
    api = (
        "/openai/v1/images"
        if query is None
        else f"/openai/deployments/{quote(deployment, safe='')}/images"
    )
    path = f"{api}/generations"

    async def call(prompt: str, fields: dict[str, Any], key: str) -> Reply:
        server.check_access()
        body = {"model": deployment, "prompt": prompt, "n": 1, **fields}
        headers = {"Idempotency-Key": key}
        data = await server.request(
            "POST", path, query=query, body=body, headers=headers
        )
        return Reply(200, data, server.key)

    async def edit(
        prompt: str, fields: dict[str, Any], key: str, source: SourceFile
    ) -> Reply:
        server.check_access()
        given = {"model": deployment, "prompt": prompt, "n": 1, **fields}
        form = Form(
            fields={name: _text_of(value) for name, value in given.items()},
            files={"image": (source.name, source.data, source.media_type)},
        )
        headers = {"Idempotency-Key": key}
        data = await server.request(
            "POST", f"{api}/edits", query=query, form=form, headers=headers
        )
        return Reply(200, data, server.key)

    settings = {"model": deployment, "url": server.base_url + path}
    if query is not None:
        settings["api_version"] = query["api-version"]
    wishes = {"output_format": "png"}
    # The name of a deployment is its owner's, and says nothing about its price.
    price = None
    if args.base_model is not None:
        listed = f"azure/{args.base_model}"
        price = listed_price(installed_table(), listed, args.size, args.quality)
    return HostedGenerator(
        request,
        server,
        call,
        settings,
        wishes=wishes,
        edit=EditCall(edit, f"{server.base_url}{api}/edits"),
        price=price,
        price_source=SOURCE,
    )


def _text_of(value: Any) -> str:
    """Return a field's value as a form has it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


ADAPTER = Adapter(
    create=create_azure,
    form="azure:DEPLOYMENT",
    description="an image model of Azure; --model-args base_url=https://NAME.openai.azure.com",
    Args=AzureArguments,
    libraries=("pillow",),
)
