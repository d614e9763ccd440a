"""Generators behind an images API: their arguments, fields and replies."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from t2ibench.arguments import PositiveInt
from t2ibench.models.adapter import Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.declined_fields import declined_field
from t2ibench.models.generators.image_replies import (
    check_usable,
    image_of,
    read_reply,
    reported_cost,
)
from t2ibench.models.generators.observed_settings import (
    BECAME,
    SENT,
    first_values,
    note,
)
from t2ibench.models.generators.passthrough import gathered
from t2ibench.models.generators.remote import (
    Received,
    RemoteGenerator,
    Throttle,
    refuse_recorded,
)
from t2ibench.models.generators.sources import SourceFile, read_source
from t2ibench.models.http_server import HttpServer
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.models.proxies import through_proxy
from t2ibench.models.server_errors import (
    ANSWERED,
    BadReplyError,
    Reply,
    UnusableServerError,
    one_line,
)
from t2ibench.models.servers import OpenAiServer, Server, ServerArguments
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.refusals import with_moderation

_SIZE = re.compile(r"[1-9]\d*(x[1-9]\d*)?|auto")
# Fields that t2ibench sets for each request.
_OWN = {"prompt", "model", "n", "stream", "seed", "user"}

# Arguments, and the names that vLLM-Omni, SGLang, client libraries and most others give them.
_NAMES = {
    "size": "size",
    "steps": "num_inference_steps",
    "guidance": "guidance_scale",
    "negative_prompt": "negative_prompt",
}
_SEED_BITS = (63, 32, 31)
_EDITORS = "openai:, azure:, gemini:, openrouter:, chat:, hf:, litellm: and comfyui:"
# Stands for a server whose address its library keeps to itself. It is a public one, so that
# images are fetched from public addresses alone.
_ELSEWHERE = "https://1.1.1.1"


def checked_size(value: str) -> str:
    """Return an image's size as 'WIDTHxHEIGHT' or 'auto'; raise ValueError if it is neither."""
    text = value.lower().replace("×", "x")
    if not _SIZE.fullmatch(text):
        raise ValueError(
            "expected WIDTHxHEIGHT in pixels, one number for a square, or auto"
        )
    return text if "x" in text or text == "auto" else f"{text}x{text}"


class HostedArguments(ServerArguments):
    """The options of a generator on a server that --model-args accepts.

    They are described in docs/served-models.md.

    Omitted options use the server's own defaults. The seed is left out if a server does not accept
    one; `body` has further fields of a request.
    """

    first_attempts: ClassVar[int | None] = 2
    largest_reply: ClassVar[int] = 100_000_000

    timeout: PositiveInt = 300
    size: Annotated[str, AfterValidator(checked_size)] | None = None
    steps: PositiveInt | None = None
    guidance: float | None = None
    negative_prompt: str | None = None
    seed: bool = True
    workers: PositiveInt = 16
    price_per_image: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    body: dict[str, Any] = Field(default_factory=dict, alias="body.NAME")

    @property
    def quality(self) -> str | None:
        """The quality of images that is asked for; None for the server's own."""
        quality = self.body.get("quality")
        return quality if isinstance(quality, str) else None

    @model_validator(mode="before")
    @classmethod
    def _collected(cls, data: Any) -> Any:
        return gathered(
            data, {"body": dict.fromkeys(_OWN, "t2ibench sets it for each image.")}
        )

    def deciding(self) -> dict[str, Any]:
        """Return the user's settings that decide an image, for the generator's fingerprint."""
        given = {name: getattr(self, name) for name in _NAMES}
        settings = {name: value for name, value in given.items() if value is not None}
        settings |= {f"body.{name}": value for name, value in self.body.items()}
        return settings if self.seed else {**settings, "seed": False}


# Sends a request, given a prompt, further fields and a key.
_Call = Callable[[str, dict[str, Any], str], Awaitable["Reply | bytes"]]


class Fields:
    """The fields of an image request besides model and prompt, which a server may decline.

    A field that the server rejects is left out from then on, with a message to the user; one that
    the user gave is an error instead, because the images would not be as requested. Once a request
    has given an image (`known`), its fields are accepted ones. `wishes` are further fields, which
    change only the form in which an image is returned. `switches` are fields that switch off what
    a server does to prompts by default; if the server rejects one, the user is told.
    """

    def __init__(
        self,
        where: str,
        model: str,
        args: HostedArguments,
        wishes: Mapping[str, Any],
        switches: Mapping[str, Any],
        seed_bits: int = 63,
    ) -> None:
        self.tell: Callable[[str], None] = lambda _: None
        self._where = where
        self._model = model
        given = args.deciding()
        self._asked = {
            _NAMES[name]: value for name, value in given.items() if name in _NAMES
        }
        self._asked |= args.body
        self._wishes = {
            name: value
            for name, value in {**wishes, **switches}.items()
            if name not in self._asked
        }
        self._switches = {name for name in switches if name in self._wishes}
        self._rewrites = False
        bits = [width for width in _SEED_BITS if width <= seed_bits]
        self._seed_bits = [*(bits if args.seed else ()), 0]
        self._became: dict[str, list[Any]] = {}
        self.known = False

    def of(self, request: ImageRequest) -> dict[str, Any]:
        """Return the fields of a request, with its seed in as many bits as the server accepts."""
        fields = {**self._asked, **self._wishes}
        bits = self._seed_bits[0]
        return {**fields, "seed": request.seed & ((1 << bits) - 1)} if bits else fields

    def effective(self) -> dict[str, Any]:
        """Return the settings of image requests that the server accepted; empty if not known."""
        if not self.known:
            return {}
        bits = self._seed_bits[0]
        seed = (
            f"one an image, its lowest {bits} bits"
            if bits < _SEED_BITS[0]
            else "one an image"
        )
        if not bits:
            seed = "none: whether the same images would come again is unknown"
        settings = {**self._asked, "seed": seed}
        if self._switches:
            words = ", ".join(f"{name}={self._wishes[name]}" for name in self._switches)
            settings["prompt_rewriting"] = f"switched off ({words})"
        if self._rewrites:
            settings["prompt_rewriting"] = "could not be switched off"
        if self._became:
            settings[BECAME] = {
                name: sorted(map(str, values)) for name, values in self._became.items()
            }
        return settings

    def note(self, became: Mapping[str, Any]) -> None:
        """Write down which size and quality a server says that an image really got."""
        note(self._became, became)

    def left_out(self, reply: Reply, fields: Mapping[str, Any], prompt: str) -> bool:
        """Leave out the field that a reply rejects; return whether to send the request again."""
        message = reply.message()
        names = [prompt, self._model]
        field = declined_field(message.without(names), fields.keys())
        blocked = message.without(names, fields).blocked
        if reply.status not in {400, 422} or field is None or blocked:
            return False
        if self.known:
            return field == "seed" and self._narrower(int(fields["seed"]))
        words = one_line(message.text)
        if field in self._asked:
            name = next(
                (argument for argument, sent in _NAMES.items() if sent == field),
                f"body.{field}",
            )
            raise UnusableServerError(
                f"The server {self._where} does not take {field}={self._asked[field]!r}: {words}.",
                f"Leave {name}=… out of --model-args, or give a value that it takes.",
            )
        if field != "seed":
            self._wishes.pop(field, None)
            if field in self._switches:
                self._switches.discard(field)
                self._rewrites = True
                self.tell(
                    f"The server {self._where} does not let its rewriting of prompts be switched "
                    f"off ({words}): the result is about its rewriting too."
                )
            return True
        self._seed_bits.pop(0)
        if not self._seed_bits[0]:
            self.tell(
                f"The server {self._where} takes no seed ({words}): whether it would make the same "
                "images again is unknown."
            )
        return True

    def _narrower(self, seed: int) -> bool:
        """Shorten seeds by one bit if only small ones were accepted; return whether that helps.

        Accepted seeds are small and the same in fewer bits, so existing images have the same seeds.
        """
        _, wide, narrow = _SEED_BITS
        too_wide = seed >= 1 << narrow
        if too_wide and self._seed_bits[0] == wide:
            self._seed_bits.pop(0)
        return too_wide and self._seed_bits[0] == narrow


@dataclass(frozen=True, slots=True)
class EditCall:
    """How a server is asked for an edit.

    Attributes:
        send: Sends a request, given the instruction, the further fields, a key that is the same
            over all attempts, and the source image. It returns what the call of a prompt returns.
        where: The address that it is sent to, for messages.
        refusal: Why the model takes no source image, as far as that is known beforehand; None
            where nothing is known against it.
    """

    send: Callable[[str, dict[str, Any], str, SourceFile], Awaitable[Reply | bytes]]
    where: str
    refusal: str | None = None


class HostedGenerator(RemoteGenerator):
    """A model on a server (see models.protocols.Generator, GeneratesInParts and Charges).

    With an `edit` it edits, too (see models.protocols.EditsImages).

    Args:
        request: The name, arguments and seed of the model.
        server: The server, with its retries.
        call: Sends a request, given the prompt, the further fields and a key that is the same over
            all attempts (for servers that charge each key once). It returns a reply with a list of
            images as in OpenAI's API, or the bytes of an image file, which was checked. It may
            raise any exception of its library.
        settings: What decides an image besides the arguments.
        wishes: Fields that change only the form of a reply, left out if the server rejects them.
        switches: Fields that switch the rewriting of prompts off; if the server rejects one, the
            user is told.
        seed_bits: How many bits of a seed the server takes, as far as is known.
        price: The price of an image according to the library; None if unknown.
        edit: How it is asked for an edit; None if it is not.
        price_source: Where that price is from, for --dry-run.

    Raises:
        T2IBenchError: the name of the model comes from a stored file.
    """

    def __init__(
        self,
        request: Request[Any],
        server: Server,
        call: _Call,
        settings: Mapping[str, Any],
        *,
        wishes: Mapping[str, Any] | None = None,
        switches: Mapping[str, Any] | None = None,
        seed_bits: int = 63,
        price: float | None = None,
        edit: EditCall | None = None,
        price_source: str = "",
    ) -> None:
        refuse_recorded(request)
        args: HostedArguments = request.args
        all_settings = {"seed": request.seed, **settings, **args.deciding()}
        if switches:
            all_settings["switched_off"] = sorted(switches)
        super().__init__(
            request.spec,
            server,
            all_settings,
            identity={"adapter": "hosted 1", **all_settings},
            throttle=Throttle(args.workers, float(args.timeout)),
            price=price if args.price_per_image is None else args.price_per_image,
            price_source=price_source if args.price_per_image is None else "",
        )
        self._call = call
        self._edit = edit
        self._sent: dict[str, list[str]] = {}
        self._args = args
        self._model = str(settings.get("model") or request.source)
        self._fields = Fields(
            server.where, self._model, args, wishes or {}, switches or {}, seed_bits
        )
        self._nonce = secrets.token_hex(8)

    def effective_settings(self) -> Mapping[str, Any]:
        """Return the fields that the server accepted (see models.protocols.ReportsSettings)."""
        settings = self._fields.effective()
        return {**settings, SENT: first_values(self._sent)} if self._sent else settings

    def check_edits(self) -> None:
        """Raise an error if the server is asked for no edits (see models.protocols.EditsImages)."""
        if self._edit is None:
            raise UnusableServerError(
                f"{self.name} gets no source images: t2ibench asks it for images of prompts alone.",
                f"Servers that are asked for edits: {_EDITORS}.",
            )
        if self._edit.refusal is not None:
            raise UnusableServerError(
                f"{self.name} takes no source image: {self._edit.refusal}.",
                "Give a model that edits.",
            )

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Set the function that is called with messages about waits and rejected fields."""
        self._fields.tell = self._server.tell = tell

    async def ask(self, request: ImageRequest) -> Received:
        """Return what one request gave, sent with the fields that the server accepts.

        Raises:
            UnusableServerError: no request can succeed.
        """
        try:
            call, where = await self._call_for(request)
        except UnreadableImageError as error:
            reason = f"the source image: {error}"
            image = GeneratedImage("failed", reason=reason)
            return Received(image, self._usual(made=False))
        prompt = request.prompt
        while True:
            optional = self._fields.of(request)
            what = "\0".join([self._nonce, repr(request), *sorted(optional)])
            key = hashlib.sha256(what.encode()).hexdigest()[:32]
            reply = await self._server.ask(partial(call, prompt, optional, key))
            if not isinstance(reply, Reply):
                self._fields.known = True
                return Received(GeneratedImage("ok", data=reply), self._price)
            if reply.status not in ANSWERED:
                if self._fields.left_out(reply, optional, prompt):
                    continue
                return self._declined(reply, prompt, optional, where)
            try:
                item = await asyncio.to_thread(read_reply, reply.body, prompt)
            except BadReplyError as error:
                message = reply.message()
                if message.codes and message.blocked:
                    return self._declined(reply, prompt, optional, where)
                if not self._fields.known:
                    words = self._server.key.hide(str(error))
                    raise UnusableServerError(
                        f"The server {where}{through_proxy(self._server.address)} is "
                        f"no images API: {words}.",
                        "Check base_url=… in --model-args; it usually ends with /v1.",
                    ) from None
                hidden = self._server.key.hide(str(error))
                failed = GeneratedImage("failed", reason=hidden)
                # A reply of status 200 that cannot be read may have been paid, too.
                return Received(failed, self._usual(made=1), unread=True)
            # It is larger than the image in it, of which many may be downloaded.
            del reply
            self._fields.known = self._fields.known or not item.empty
            self._fields.note(item.became)
            image_result = await image_of(item, self._fetch, self._server.key)
            # A cost of 0 for an image that was made may leave out what somebody else charges.
            states_none = item.cost is None or (item.made and item.cost == 0)
            cost = self._usual(item.made) if states_none else item.cost
            return Received(image_result, cost, item.empty)

    async def _call_for(self, request: ImageRequest) -> tuple[_Call, str]:
        """Return what sends a request, and where to.

        Raises:
            UnreadableImageError: its source image cannot be read.
        """
        if request.source is None:
            return self._call, self._server.where
        self.check_edits()
        assert self._edit is not None
        source = await asyncio.to_thread(read_source, request.source)
        note(self._sent, source.facts())
        send = self._edit.send

        async def call(prompt: str, fields: dict[str, Any], key: str) -> Reply | bytes:
            return await send(prompt, fields, key, source)

        return call, self._edit.where

    def _usual(self, made: int) -> float | None:
        """Return the price of as many images as were `made`; None if it is unknown."""
        return None if self._price is None else self._price * made

    def _declined(
        self, reply: Reply, prompt: str, sent: Mapping[str, Any], where: str
    ) -> Received:
        """Return the outcome of a rejected request; raise an error if no request can succeed.

        `where` is the address that it was sent to.
        """
        names = [self._model, prompt, *self._server.names()]
        status = reply.message().without(names, sent).blocked
        if status is None:
            check_usable(reply, where, names)
        words = f"the server replied {reply.words()}"
        if status is not None:
            message = reply.message()
            words = with_moderation(words, message.stage, message.categories)
        image = GeneratedImage(status or "failed", reason=words)
        # A refusal costs what the server says that it costs.
        cost = reported_cost(reply.body)
        return Received(image, self._usual(made=0) if cost is None else cost)

    async def _fetch(self, url: str) -> bytes:
        from t2ibench.models.image_download import fetch_image

        args, server = self._args, self._server
        if isinstance(server, OpenAiServer | HttpServer):
            base_url = server.base_url
            key = server.key
        else:
            base_url = args.base_url or _ELSEWHERE
            key = ApiKey("T2IBENCH_NO_KEY")
        return await fetch_image(
            url, base_url, key, args.largest_reply, float(args.timeout)
        )
