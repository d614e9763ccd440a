"""Read the replies of image servers: images, refusals, and errors."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from t2ibench.models.api_key import ApiKey
from t2ibench.models.protocols import GeneratedImage
from t2ibench.models.server_errors import (
    BadReplyError,
    Reply,
    UnusableServerError,
    one_line,
)

# Formats of images that servers send.
_FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")
# Of the largest image that is decoded: 8,192 pixels a side. A dozen are decoded at a time.
_MOST_PIXELS = 2**26
_LONGEST = 4000  # characters of a revised prompt
_MOST_COST = 1e6  # largest cost of one request that is believed
_NO_ENTRY = "the server's reply has no image, as where a filter takes it"
IN_WORDS = "the model replied in words"
_CHOSEN = ("size", "quality", "background")
_EMPTY_ENTRY = "the server gave an entry without an image"


def check_usable(reply: Reply, url: str, names: Collection[str] = ()) -> None:
    """Raise an error if a server's reply shows that no request to it can succeed.

    `names` are the names of the model and the prompt, which are ignored in the server's message.
    """
    prompts = [name for name in names if " " in name]
    message = reply.message().without(prompts)
    no_model = message.no_model or "model" in message.fields
    if no_model and reply.status not in {401, 402, 403, 429}:
        raise UnusableServerError(
            f"The server {url} has no such image model ({reply.words()}).",
            "Check the name after the colon of --model.",
        )
    reply.check_access(url, names)


class Item(NamedTuple):
    """The image in a reply: its bytes or address, or the reason why there is none.

    `revised_prompt` and `cost` are None if the server does not report them. `became` has the size
    and quality that the server says it chose.
    """

    image: bytes | str | GeneratedImage
    revised_prompt: str | None
    cost: float | None
    became: Mapping[str, str] = MappingProxyType({})

    @property
    def empty(self) -> bool:
        """Whether the reply contains neither an image nor a reason why there is none."""
        image = self.image
        if not isinstance(image, GeneratedImage) or image.reason is None:
            return False
        is_empty = image.reason in {_NO_ENTRY, _EMPTY_ENTRY}
        return is_empty or image.reason.startswith(IN_WORDS)

    @property
    def made(self) -> bool:
        """Whether the server generated an image, for which it may charge."""
        return not (
            isinstance(self.image, GeneratedImage)
            and self.image.status in {"filtered", "refused"}
        )


def _filtered(reason: str) -> GeneratedImage:
    return GeneratedImage("filtered", reason=reason)


def read_reply(body: bytes, prompt: str) -> Item:
    """Return the image in a reply's body; raise BadReplyError if it is no list of images."""
    try:
        parsed = json.loads(body)
        entries = [(_image_in(row), _revised_in(row, prompt)) for row in parsed["data"]]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        begins = one_line(body[:200].decode("utf-8", errors="replace"), 60)
        raise BadReplyError(
            f"the reply is no list of images (it begins with: {begins})"
        ) from None
    taken = _filtered(_NO_ENTRY)
    image, revised = (entries or [(taken, None)])[0]
    became = {
        name: parsed[name] for name in _CHOSEN if isinstance(parsed.get(name), str)
    }
    return Item(image, revised, _cost_in(parsed), became)


def reported_cost(body: bytes) -> float | None:
    """Return what a reply says that it costs, with an image or without; None if nothing."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return _cost_in(parsed) if isinstance(parsed, Mapping) else None


def _cost_in(parsed: Mapping[str, Any]) -> float | None:
    usage = parsed.get("usage")
    costs = (
        parsed.get("cost"),
        usage.get("cost") if isinstance(usage, Mapping) else None,
    )
    numbers = (
        cost
        for cost in costs
        if isinstance(cost, int | float) and not isinstance(cost, bool)
    )
    # A server may report anything.
    priced = (cost for cost in numbers if 0 <= cost <= _MOST_COST)
    return next(priced, None)


def _revised_in(row: Mapping[str, Any], prompt: str) -> str | None:
    """Return the prompt that a server says it used; None if it does not say."""
    revised = row.get("revised_prompt")
    if revised is None:
        # vLLM-Omni's models that reason draw what they have written themselves.
        revised = row.get("cot_output")
    if not isinstance(revised, str):
        return None
    # An unchanged prompt is returned too: that a server does not rewrite prompts is a result.
    return prompt if revised.split() == prompt.split() else revised[:_LONGEST]


def _image_in(row: Mapping[str, Any]) -> bytes | str | GeneratedImage:
    """Return an entry's image as bytes or an address, or the reason why there is none."""
    if row.get("respect_moderation") is False:
        return _filtered("the server's moderation took the image")
    text = row.get("text")
    if isinstance(text, str) and text.strip():
        return GeneratedImage("refused", reason=f"{IN_WORDS}: {one_line(text)}")
    encoded, url = row.get("b64_json"), row.get("url")
    if encoded is None and url is None:
        return _filtered(_EMPTY_ENTRY)
    if isinstance(url, str) and url.startswith("data:"):
        encoded, url = url.partition(",")[2], None
    if isinstance(encoded, str) and encoded:
        return _of_base64(encoded.partition(",")[2] or encoded)
    if isinstance(url, str) and url:
        return url
    return GeneratedImage(
        "failed", reason="the server's entry of an image is malformed"
    )


def _of_base64(encoded: str) -> bytes:
    """Return the bytes that a Base64 text encodes, in either alphabet, padded or not."""
    standard = "".join(encoded.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def checked_file(data: bytes) -> GeneratedImage:
    """Return the image in a file of a server, still encoded; failed if it cannot be read."""
    from t2ibench.store.image_headers import UnreadableImageError
    from t2ibench.store.pixels import read_image

    try:
        read_image(data, _FORMATS, _MOST_PIXELS)
    except UnreadableImageError as error:
        return GeneratedImage("failed", reason=f"the server's image: {error}")
    return GeneratedImage("ok", data=data)


async def image_of(
    item: Item, fetch: Callable[[str], Awaitable[bytes]], key: ApiKey
) -> GeneratedImage:
    """Return the image in a reply, downloaded first if the reply has only its address."""
    image = item.image
    try:
        data = await fetch(image) if isinstance(image, str) else image
        image_result = (
            await asyncio.to_thread(checked_file, data)
            if isinstance(data, bytes)
            else data
        )
    except BadReplyError as error:
        image_result = GeneratedImage("failed", reason=str(error))
    revised = item.revised_prompt
    return replace(
        image_result, revised_prompt=None if revised is None else key.hide(revised)
    )
