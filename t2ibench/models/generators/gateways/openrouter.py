"""The generator `openrouter:MODEL`: OpenRouter's images, of one provider that is pinned."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.gateways.forms import (
    mappings_of,
    ratio_and_resolution,
    switches_of,
)
from t2ibench.models.generators.hosted import (
    EditCall,
    HostedArguments,
    HostedGenerator,
)
from t2ibench.models.generators.sources import SourceFile
from t2ibench.models.http_server import HttpServer
from t2ibench.models.server_errors import BadReplyError, Reply, UnusableServerError
from t2ibench.models.servers import submit

_ADDRESS = "https://openrouter.ai/api/v1"
_REFERENCES = "input_references"
_PER_IMAGE = {"image", "images", "per_image"}
_DRAWN = {"output_image", "image_output"}
_AMOUNTS = ("price", "cost", "cost_usd", "usd", "amount", "value")
_NAMES = ("type", "name", "billable", "kind")
# The longer side of each resolution that OpenRouter names.
_RESOLUTIONS = {
    512: "512",
    768: "768",
    1024: "1K",
    1536: "1.5K",
    2048: "2K",
    4096: "4K",
}


class OpenRouterArguments(HostedArguments):
    """The options of `openrouter:MODEL` (see `HostedArguments`).

    Attributes:
        provider: The slug of the provider; by default the first by name of those that take a
            seed, else the first of all.
    """

    provider: str | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider of a model.

    Attributes:
        provider: Its slug.
        fields: The fields of a request that it takes; None if it does not say.
        price: What an image costs; None if it does not say.
    """

    provider: str
    fields: frozenset[str] | None
    price: float | None


def create_openrouter(request: Request[OpenRouterArguments]) -> HostedGenerator:
    """Return the generator of a model, after asking who serves it, with what, at what price."""
    args, model = request.args, request.source
    key = ApiKey(args.api_key_env or "OPENROUTER_API_KEY")
    address, needs_key = args.base_url or _ADDRESS, args.base_url is None
    if request.recorded:
        endpoint = Endpoint("", None, None)
    else:
        asked = HttpServer(address, key, args)
        endpoint = submit(_endpoint(asked, model, args.provider)).result()
    if args.size is not None:
        openrouter_fields({"size": args.size}, endpoint)
    takes_seed = endpoint.fields is None or "seed" in endpoint.fields
    if args.seed and not takes_seed:
        request = replace(request, args=args.model_copy(update={"seed": False}))
    server = HttpServer(address, key, args, needs_key=needs_key)
    provider = {"only": [endpoint.provider], "allow_fallbacks": False}

    async def generate(
        prompt: str, fields: dict[str, Any], key: str, source: SourceFile | None = None
    ) -> Reply:
        server.check_access()
        body: dict[str, Any] = {"model": model, "prompt": prompt}
        body["provider"] = provider
        body |= openrouter_fields(fields, endpoint)
        if source is not None:
            part = {"type": "image_url", "image_url": {"url": source.data_url}}
            body[_REFERENCES] = [part]
        headers = {"Idempotency-Key": key}
        data = await server.request("POST", "/images", body=body, headers=headers)
        return Reply(200, data, server.key)

    settings = {
        "model": model,
        "url": f"{server.base_url}/images",
        "provider": endpoint.provider,
        "takes_seed": takes_seed,
    }
    return HostedGenerator(
        request,
        server,
        generate,
        settings,
        wishes={"output_format": "png"} if _takes(endpoint, "output_format") else {},
        switches={
            name: value
            for name, value in switches_of(model).items()
            if _takes(endpoint, name)
        },
        price=endpoint.price,
        edit=EditCall(generate, f"{server.base_url}/images", _refusal(endpoint)),
        price_source="OpenRouter's list",
    )


def _refusal(endpoint: Endpoint) -> str | None:
    """Return why a provider takes no source image; None where it says that it does, or nothing."""
    if _takes(endpoint, _REFERENCES):
        return None
    return f"the provider {shown(endpoint.provider)} does not list {_REFERENCES}"


def _takes(endpoint: Endpoint, field: str) -> bool:
    return endpoint.fields is None or field in endpoint.fields


def openrouter_fields(fields: Mapping[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    """Return the fields of a request, a size as the provider takes it.

    Raises:
        T2IBenchError: the provider cannot be asked for this size.
    """
    given = dict(fields)
    size = given.get("size")
    named = endpoint.fields or frozenset()
    by_ratio = bool(named & {"aspect_ratio", "resolution"}) and "size" not in named
    if size and size != "auto" and by_ratio:
        del given["size"]
        given |= _named_size(size, endpoint, named)
    return given


def _named_size(size: str, endpoint: Endpoint, named: frozenset[str]) -> dict[str, str]:
    """Return a size in pixels as an aspect ratio and a resolution, exactly."""
    missing = [name for name in ("aspect_ratio", "resolution") if name not in named]
    if missing:
        raise T2IBenchError(
            f"--model-args: the provider {shown(endpoint.provider)} takes no size in pixels, and "
            f"no {missing[0]}.",
            f"Leave size={size} out, or give provider=… another one.",
        )
    longest = max(map(int, size.split("x")))
    if longest not in _RESOLUTIONS:
        sides = ", ".join(map(str, _RESOLUTIONS))
        raise T2IBenchError(
            f"--model-args: size={size} is none that the provider {shown(endpoint.provider)} "
            "can be asked for.",
            f"Its longer side has to be one of {sides}.",
        )
    ratio, _ = ratio_and_resolution(size)
    return {"aspect_ratio": ratio, "resolution": _RESOLUTIONS[longest]}


async def _endpoint(server: HttpServer, model: str, chosen: str | None) -> Endpoint:
    """Return the provider to pin; raise T2IBenchError if there is no such model or provider."""
    path = f"/images/models/{quote(model, safe='/')}/endpoints"
    answer = await server.send("GET", path)
    if isinstance(answer, Reply) and answer.status == 404:
        listed = await server.send("GET", "/images/models")
        names = (
            [] if isinstance(listed, Reply) else _names_in(_json_of(listed, server.key))
        )
        raise UnusableServerError(
            f"OpenRouter has no image model '{shown(model)}'.{did_you_mean(model, names)}",
            "Models that draw in chat replies are chat:MODEL, with "
            "base_url=https://openrouter.ai/api/v1.",
        )
    if isinstance(answer, Reply):
        answer.check_access(server.where)
        raise BadReplyError(f"{server.where} replied {answer.words()} to {path}")
    endpoints = list(_endpoints_in(_json_of(answer, server.key)))
    if not endpoints:
        raise UnusableServerError(
            f"No provider of OpenRouter serves {shown(model)} now."
        )
    if chosen is not None:
        slugs = sorted({endpoint.provider for endpoint in endpoints})
        if chosen not in slugs:
            raise T2IBenchError(
                f"--model-args: provider={shown(chosen)} does not serve {shown(model)}."
                f"{did_you_mean(chosen, slugs)}",
                f"These do: {', '.join(slugs)}.",
            )
        endpoints = [item for item in endpoints if item.provider == chosen]
    seeded = [item for item in endpoints if item.fields and "seed" in item.fields]
    # By name: the order of a reply may change, and another provider is another model.
    return min(seeded or endpoints, key=_place)


def _place(endpoint: Endpoint) -> tuple[str, list[str], float]:
    """Return what sorts providers, whatever the order of a reply."""
    return endpoint.provider, sorted(endpoint.fields or ()), endpoint.price or 0.0


def _json_of(data: bytes, key: ApiKey) -> Any:
    """Return the JSON of a reply with the key masked, because slugs are stored."""
    try:
        body = key.hide_all(json.loads(data))
    except (ValueError, RecursionError):
        return {}
    return body.get("data", body) if isinstance(body, Mapping) else body


def _names_in(body: Any) -> list[str]:
    rows = body if isinstance(body, list) else []
    return [str(row["id"]) for row in rows if isinstance(row, Mapping) and "id" in row]


def _endpoints_in(body: Any) -> Iterator[Endpoint]:
    rows = body.get("endpoints") if isinstance(body, Mapping) else body
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, Mapping):
            continue
        slug = row.get("provider_slug") or row.get("tag") or row.get("provider_name")
        supported = row.get("supported_parameters")
        if slug:
            fields = _fields_in(supported)
            yield Endpoint(str(slug), fields, price_in(row.get("pricing")))


def _fields_in(supported: Any) -> frozenset[str] | None:
    """Return the names of the fields that a provider takes, in a list or as a mapping."""
    if isinstance(supported, Mapping):
        return frozenset(name for name, value in supported.items() if value)
    if not isinstance(supported, list):
        return None
    names = (row.get("name") if isinstance(row, Mapping) else row for row in supported)
    return frozenset(str(name) for name in names if name)


def price_in(pricing: Any) -> float | None:
    """Return the price of an image in a provider's pricing; None where it says none.

    A mapping that prices what is drawn apart has prices of tokens, and those of images that are
    sent; a row with another unit, such as a token or a megapixel, is no price of an image.

    Examples:
        >>> price_in({"image": "0.04", "prompt": "0.000001"})
        0.04
        >>> price_in([{"type": "image", "price": 0.03}, {"type": "text_input", "price": 1e-6}])
        0.03
        >>> price_in({"image": "0.0000003", "image_output": "0.00003"}) is None
        True
        >>> price_in([{"type": "output_image", "unit": "token", "price": 0.00003}]) is None
        True
    """
    if isinstance(pricing, Mapping):
        is_by_token = bool(_DRAWN & pricing.keys())
        named = [value for name, value in pricing.items() if name in _PER_IMAGE]
        prices = [] if is_by_token else named
    else:
        prices = list(_prices_in_rows(mappings_of(pricing)))
    numbers = [_number(price) for price in prices]
    return next((number for number in numbers if number is not None), None)


def _prices_in_rows(rows: list[Mapping[str, Any]]) -> Iterator[Any]:
    """Yield what the rows of a pricing say of an image, those of images that are drawn first."""
    for names in (_DRAWN, _PER_IMAGE):
        for row in rows:
            unit = str(row.get("unit") or "")
            what = {str(row[name]) for name in _NAMES if row.get(name)}
            is_by_image = not unit or unit in _PER_IMAGE
            # A row that has only a unit is about that.
            if is_by_image and (what or {unit}) & names:
                yield from (row.get(amount) for amount in _AMOUNTS)


def _number(value: Any) -> float | None:
    """Return a price as a number; None where it is none, such as 0 where tokens have the price."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 < number < 1000 else None


ADAPTER = Adapter(
    create=create_openrouter,
    form="openrouter:MODEL",
    description="OpenRouter's images, of one provider; --model-args provider=…",
    Args=OpenRouterArguments,
    libraries=("pillow",),
)
