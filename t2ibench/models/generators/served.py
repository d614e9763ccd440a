"""The generator `openai:MODEL`: any server that speaks OpenAI's /images/generations."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator, Received
from t2ibench.models.generators.image_replies import (
    Sender,
    UnusableServerError,
    drawn_of,
    read_images,
)
from t2ibench.models.generators.request_fields import Fields
from t2ibench.models.http import (
    BadReplyError,
    HttpSession,
    Reply,
    checked_address,
)
from t2ibench.models.protocols import Drawn, ImageRequest
from t2ibench.models.throttle import Throttle
from t2ibench.models.told import blocked, passes, told

_LARGEST = 100_000_000  # bytes of a reply, or of an image at an address
_FIRST_ATTEMPTS = 2  # at a server that never answered
# Asked for where the server takes them; what they change is the way an image comes.
_WISHES = {"response_format": "b64_json", "output_format": "png"}
_GARBLED = 3  # times that a reply may be none, as from a proxy that is restarted


class ServedArguments(HostedArguments):
    """What --model-args are taken; see `HostedArguments`."""

    base_url: str = "https://api.openai.com/v1"


class ServedImages:
    """Asks a server for images (see hosted.Backend).

    Args:
        model: The model's name on the server.
        args: Its address and settings.
        local_only: Whether the address comes from somebody else's file: the server has to be on
            this machine then, and no key is sent.

    Raises:
        T2IBenchError: the address is none, or the key cannot be sent.
    """

    def __init__(self, model: str, args: ServedArguments, *, local_only: bool = False) -> None:
        self._base = checked_address(args.base_url)
        if local_only and urlsplit(self._base).hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise T2IBenchError(
                f"openai:{shown(model)} is on the server {shown(self._base)}, and its name comes "
                "from a stored file, so it is not asked: that may cost money.",
                "Name it yourself: --model openai:MODEL --model-args base_url=….",
            )
        self.where = self._base + "/images/generations"
        self._key = ApiKey("T2IBENCH_NO_KEY" if local_only else args.api_key_env)
        self._model = model
        self._timeout = float(args.timeout)
        self.settings: Mapping[str, Any] = {
            "model": model,
            "url": self.where,
            **args.deciding(),
        }
        self.price: float | None = None
        self._fields = Fields(self.where, self._key, args, _WISHES)
        self._sender = Sender(self._base, self._key, _LARGEST, self._timeout)
        self._nonce = secrets.token_hex(8)
        self._session = HttpSession(
            self.where,
            self._key,
            timeout=self._timeout,
            attempts=args.retries,
            passes=passes,
            largest=_LARGEST,
            first_attempts=_FIRST_ATTEMPTS,
        )

    def report(self, tell: Callable[[str], None]) -> None:
        """Say what the server does not take, and when it is waited for."""
        self._fields.tell = self._session.tell = tell

    def effective(self) -> Mapping[str, Any]:
        """What the server took; empty before its first image."""
        return self._fields.effective()

    async def ask(self, requests: Sequence[ImageRequest], throttle: Throttle) -> Received:
        """Ask for images of one prompt; see `hosted.Backend`."""
        self._session.failed = throttle.failed
        prompt, garbled = requests[0].prompt, 0
        while True:
            optional = self._fields.of(requests[0])
            body = {"model": self._model, "prompt": prompt, **optional}
            if len(requests) > 1:
                body["n"] = len(requests)
            reply = await self._session.send(body, self._headers(requests, body))
            if reply.status == 200:
                try:
                    return await self._received(reply, prompt, len(requests), optional)
                except BadReplyError:
                    garbled += 1
                    if garbled >= _GARBLED:
                        raise
                    continue
            if not self._fields.left_out(reply, optional, prompt):
                return Received(self._fields.declined(reply, len(requests)))

    def _headers(
        self, requests: Sequence[ImageRequest], body: Mapping[str, Any]
    ) -> Mapping[str, str]:
        """A key that stays the same over all attempts, for servers that charge each key once."""
        what = "\0".join([self._nonce, *map(repr, requests), *sorted(body)])
        return {"Idempotency-Key": hashlib.sha256(what.encode()).hexdigest()[:32]}

    async def _received(
        self, reply: Reply, prompt: str, images: int, optional: Mapping[str, Any]
    ) -> Received:
        """The images of a reply, decoded."""
        try:
            found = await asyncio.to_thread(read_images, reply.body, prompt)
        except BadReplyError as error:
            said = told(reply)
            if blocked(said) is not None and said.codes:
                return Received(self._fields.declined(reply, images))
            if not self._fields.known:
                raise UnusableServerError(
                    f"The server {self.where} is no images API: {self._key.hide(str(error))}.",
                    "Check base_url=… in --model-args; it usually ends with /v1.",
                ) from None
            raise
        self._fields.took(optional)
        outcomes = await asyncio.gather(
            *(drawn_of(item, self._key, self._sender) for item in found.items[:images])
        )
        # An empty list is how some servers say that a filter took all images.
        status, lack = ("failed", "fewer images than were asked for")
        if not found.items:
            status, lack = ("filtered", "no image, as where a filter takes it")
        missing = Drawn(status, reason=f"the server's reply has {lack}")  # type: ignore[arg-type]
        made = sum(item.blocked is None for item in found.items)
        drawn_now = [*outcomes, *[missing] * (images - len(outcomes))]
        return Received(tuple(drawn_now), made, found.cost)


def _create(request: Request[ServedArguments]) -> HostedGenerator:
    backend = ServedImages(request.source, request.args, local_only=request.recorded)
    return HostedGenerator(request.spec, backend, request.args, request.seed)


ADAPTER = Adapter(
    create=_create,
    form="openai:MODEL",
    description="any server with OpenAI's /images/generations; --model-args base_url=…",
    Args=ServedArguments,
    libraries=("pillow",),
)
