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
from t2ibench.models.server_errors import BadReplyError, Reply

_SIDES = ((1536, "1K"), (3072, "2K"))  # the longest side of each named resolution
_DATA = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/=_-]+")
# Models whose API rewrites prompts by default, and the field that switches it off.
_REWRITERS = (
    ("ideogram", "expand_prompt", False),
    ("imagen", "enhance_prompt", False),
    ("flux-pro", "prompt_upsampling", False),
    ("flux.1-pro", "prompt_upsampling", False),
    ("flux-2-pro", "prompt_upsampling", False),
    ("black_forest_labs", "prompt_upsampling", False),
)


def switches_of(model: str) -> dict[str, Any]:
    """Return the fields that switch off the rewriting of prompts that a model's API does.

    Examples:
        >>> switches_of("fal_ai/fal-ai/ideogram/v3")
        {'expand_prompt': False}
        >>> switches_of("openai/gpt-image-2")
        {}
    """
    name = model.lower()
    return {field: value for part, field, value in _REWRITERS if part in name}


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
    """Return the JSON of a good reply; None if it is an error or no JSON."""
    if reply.status != 200:
        return None
    try:
        return reply.json()
    except BadReplyError:
        return None


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
) -> Reply:
    """Return a reply with an error in the form of OpenAI's images API.

    Args:
        key: The key to hide in it.
        message: What the server says.
        code: Its code, such as 'content_filter'.
        stage: Where a filter intervened, 'input' or 'output'.
        categories: What the filter found.
        status: The HTTP status that stands for the error.
    """
    details = {"moderation_stage": stage, "categories": list(categories)}
    error = {"message": message, "code": code, "moderation_details": details}
    return Reply(status, json.dumps({"error": error}).encode(), key)


def image_rows(content: Any) -> list[dict[str, Any]]:
    """Return the images in a message's content: parts of several kinds, or data in a text."""
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
