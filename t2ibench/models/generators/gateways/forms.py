"""Sizes, images and errors in the form of OpenAI's images API, for dialects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments
from t2ibench.models.server_errors import ANSWERED, Reply

_SIDES = ((1536, "1K"), (3072, "2K"))  # the longest side of each named resolution
_DATA = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/=_-]+")
# Fields of an image's Base64 in the replies of servers, and what is long enough to be one.
_IMAGE_FIELDS = {"data", "result", "b64_json", "image_base64"}
_IMAGE = re.compile(r"[A-Za-z0-9+/=_\s-]+")
_SHORTEST = 1000  # characters
# Models whose API rewrites prompts by default, and the field that switches it off.
_REWRITERS = (
    (r"ideogram", "expand_prompt", False),
    (r"vertex_ai/imagen", "enhancePrompt", False),
    (r"(?<!vertex_ai/)imagen", "enhance_prompt", False),
    (r"flux-pro", "prompt_upsampling", False),
    (r"flux\.1-pro", "prompt_upsampling", False),
    (r"flux-2-pro", "prompt_upsampling", False),
    (r"black_forest_labs", "prompt_upsampling", False),
)


def switches_of(model: str) -> dict[str, Any]:
    """Return the fields that switch off the rewriting of prompts that a model's API does.

    Examples:
        >>> switches_of("fal_ai/fal-ai/ideogram/v3")
        {'expand_prompt': False}
        >>> switches_of("vertex_ai/imagen-4.0-generate-001")
        {'enhancePrompt': False}
        >>> switches_of("openai/gpt-image-2"), switches_of("maker/imagenet-x")
        ({}, {})
    """
    name = model.lower()
    return {
        field: value
        for words, field, value in _REWRITERS
        if re.search(rf"(?<![a-z]){words}(?![a-z])", name)
    }


def ratio_and_resolution(size: str) -> tuple[str, str]:
    """Return a size in pixels as an aspect ratio and a named resolution.

    Examples:
        >>> ratio_and_resolution("1024x1024"), ratio_and_resolution("2560x1440")
        (('1:1', '1K'), ('16:9', '2K'))
    """
    width, height = map(int, size.split("x"))
    divisor = gcd(width, height)
    longest = max(width, height)
    name = next((name for side, name in _SIDES if longest <= side), "4K")
    return f"{width // divisor}:{height // divisor}", name


def refuse_arguments(args: HostedArguments, names: Iterable[str], api: str) -> None:
    """Raise an error if the user gave an argument that an API does not have."""
    for name in names:
        if getattr(args, name) is not None:
            raise T2IBenchError(
                f"--model-args: {api} has no {name}.", f"Leave {name}=… out."
            )


def json_of(reply: Reply) -> Any:
    """Return the JSON of a good reply with the key masked; None if it is an error or no JSON.

    Images are not searched for the key: that would take a second for each megabyte of them.
    """
    if reply.status not in ANSWERED:
        return None
    try:
        return _masked(json.loads(reply.body), reply.key)
    except (ValueError, RecursionError):
        return None


def _masked(value: Any, key: ApiKey, field: str = "") -> Any:
    """Return a JSON value with the key masked in its texts, apart from the data of images."""
    if isinstance(value, dict):
        return {
            key.hide(name): _masked(inner, key, name) for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_masked(item, key, field) for item in value]
    if not isinstance(value, str):
        return value
    is_long = field in _IMAGE_FIELDS and len(value) >= _SHORTEST
    if is_long and _IMAGE.fullmatch(value):
        return value
    return _masked_around_data(value, key)


def _masked_around_data(text: str, key: ApiKey) -> str:
    """Return a text with the key masked before, between and after the images in it."""
    parts: list[str] = []
    end = 0
    for match in _DATA.finditer(text):
        data = match.group()
        is_image = len(data) >= _SHORTEST
        parts.append(key.hide(text[end : match.start()]))
        parts.append(data if is_image else key.hide(data))
        end = match.end()
    return "".join([*parts, key.hide(text[end:])])


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a value of a server's JSON if it is a mapping; an empty one else."""
    return value if isinstance(value, Mapping) else {}


def mappings_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a value of a server's JSON if it is a list; none else."""
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def images_reply(
    rows: Sequence[Mapping[str, Any]], key: ApiKey, **further: Any
) -> Reply:
    """Return a reply with images in the form of OpenAI's images API."""
    return Reply(200, json.dumps({"data": list(rows), **further}).encode(), key)


def error_reply(
    key: ApiKey,
    message: str,
    *,
    code: str = "",
    stage: str | None = None,
    categories: Iterable[str] = (),
    status: int = 400,
    usage: Mapping[str, Any] | None = None,
) -> Reply:
    """Return a reply with an error in the form of OpenAI's images API.

    Args:
        key: The key to hide in it.
        message: What the server says.
        code: Its code, such as 'content_filter'.
        stage: Where a filter intervened, 'input' or 'output'.
        categories: What the filter found.
        status: The HTTP status that stands for the error.
        usage: What the request used and cost, as far as the server says it.
    """
    details = {"moderation_stage": stage, "categories": list(categories)}
    error = {"message": message, "code": code, "moderation_details": details}
    body = {"error": error, **({"usage": dict(usage)} if usage else {})}
    return Reply(status, json.dumps(body).encode(), key)


def image_rows(content: Any) -> list[dict[str, Any]]:
    """Return the images in a message: those among its parts, or those embedded in its text."""
    if isinstance(content, str):
        return [{"url": match} for match in _DATA.findall(content)]
    rows = map(_image_row, mappings_of(content))
    return [row for row in rows if row is not None]


def _image_row(part: Mapping[str, Any]) -> dict[str, Any] | None:
    for name in ("image_url", "url", "b64_json", "image_base64"):
        value = part.get(name)
        url = value.get("url") if isinstance(value, Mapping) else value
        if isinstance(url, str) and url:
            field = "url" if name in {"image_url", "url"} else "b64_json"
            return {field: url}
    return None


def text_of(content: Any) -> str:
    """Return the words in a message's content, without images."""
    if isinstance(content, str):
        return _DATA.sub("", content).strip()
    texts = [part.get("text") for part in mappings_of(content)]
    return " ".join(text.strip() for text in texts if isinstance(text, str)).strip()
