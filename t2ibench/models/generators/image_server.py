"""Asks a server for images through a client library."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments, Received
from t2ibench.models.generators.image_replies import check_usable, drawn_of, read_reply
from t2ibench.models.generators.request_fields import Fields
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.models.server_errors import BadReplyError, Reply, UnusableServerError
from t2ibench.models.servers import OpenAiServer, Server
from t2ibench.models.throttle import Throttle

if TYPE_CHECKING:
    from PIL.Image import Image

_GARBLED = 3  # times that a reply may be none, as from a proxy that is restarted


@dataclass(frozen=True, slots=True)
class ImageCall:
    """One request.

    Attributes:
        prompt: The image's.
        optional: Fields beside model and prompt.
        idempotency_key: The same over all attempts, for servers that charge each key once.
    """

    prompt: str
    optional: Mapping[str, Any]
    idempotency_key: str


class ImageServer:
    """How one kind of server is asked.

    Args:
        server: Where it is, and how long it is waited for.
        call: From a request to a list of images as OpenAI has it, or to the pixels. It may raise
            whatever the library raises.
        args: What the user asks for.
        settings: What decides an image beside the arguments.
        wishes: Further fields of a request, which change only the way an image comes.
        price: What the library says that an image costs; None where it says nothing.

    Attributes:
        settings: What decides an image besides prompt, index and seed, as JSON values.
        where: What messages call the server.
    """

    def __init__(
        self,
        server: Server,
        call: Callable[[ImageCall], Awaitable[Reply | Image]],
        args: HostedArguments,
        settings: Mapping[str, Any],
        *,
        wishes: Mapping[str, Any] | None = None,
        price: float | None = None,
    ) -> None:
        self.settings: Mapping[str, Any] = {**settings, **args.deciding()}
        self.where = server.where
        self.price = price
        self._server = server
        self._call = call
        self._fields = Fields(server.where, args, wishes or {})
        self._args = args
        self._nonce = secrets.token_hex(8)

    def report(self, tell: Callable[[str], None]) -> None:
        """Say what the server does not take, and when it is waited for."""
        self._fields.tell = self._server.tell = tell

    def effective(self) -> Mapping[str, Any]:
        """What the server took; empty before its first image."""
        return self._fields.effective()

    async def ask(self, request: ImageRequest, throttle: Throttle) -> Received:
        """Ask for an image.

        Args:
            request: The image.
            throttle: Told of every attempt that failed.

        Raises:
            T2IBenchError: there is no reply that can be used.
        """
        self._server.failed = throttle.failed
        prompt, garbled = request.prompt, 0
        while True:
            optional = self._fields.of(request)
            what = "\0".join([self._nonce, repr(request), *sorted(optional)])
            key = hashlib.sha256(what.encode()).hexdigest()[:32]
            call = ImageCall(prompt, optional, key)
            found = await self._server.ask(lambda: self._call(call))  # noqa: B023
            if not isinstance(found, Reply):
                self._fields.took(optional)
                return Received(GeneratedImage("ok", found), made=True)
            if found.status != 200:
                if self._fields.left_out(found, optional, prompt):
                    continue
                return self._declined(found)
            try:
                item, cost = await asyncio.to_thread(read_reply, found.body, prompt)
            except BadReplyError as error:
                said = found.message()
                if said.codes and said.blocked:
                    return self._declined(found)
                if not self._fields.known:
                    words = self._server.key.hide(str(error))
                    raise UnusableServerError(
                        f"The server {self.where} is no images API: {words}.",
                        "Check base_url=… in --model-args; it usually ends with /v1.",
                    ) from None
                garbled += 1
                if garbled >= _GARBLED:
                    raise
                continue
            self._fields.took(optional)
            drawn = await drawn_of(item, self._fetch, self._server.key)
            return Received(drawn, item.made, cost)

    def _declined(self, reply: Reply) -> Received:
        """What becomes of an image whose request was not fulfilled."""
        status = reply.message().blocked
        if status is None:
            check_usable(reply, self.where)
        words = f"the server replied {reply.words()}"
        return Received(GeneratedImage(status or "failed", reason=words))

    async def _fetch(self, url: str) -> bytes:
        from t2ibench.models.image_download import fetch_image

        args, server = self._args, self._server
        base_url, key = args.base_url or "https://0.0.0.0", ApiKey("T2IBENCH_NO_KEY")
        if isinstance(server, OpenAiServer):
            base_url, key = server.base_url, server.key
        return await fetch_image(url, base_url, key, args.largest_reply, float(args.timeout))


def check_local(scheme: str, model: str, address: str | None) -> None:
    """Refuse to ask a server that a stored file names, unless it is on this machine."""
    if address is None or urlsplit(address).hostname not in {"127.0.0.1", "::1", "localhost"}:
        where = "a server" if address is None else f"the server {shown(address)}"
        raise T2IBenchError(
            f"{scheme}:{shown(model)} is on {where}, and its name comes from a stored file, so it "
            "is not asked: that may cost money.",
            "Name it yourself with --model.",
        )
