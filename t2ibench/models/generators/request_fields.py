"""The optional fields of a request for images, and which of them a server takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from t2ibench.models.generators.image_replies import refused_field
from t2ibench.models.protocols import ImageRequest
from t2ibench.models.server_errors import Reply, UnusableServerError, one_line

if TYPE_CHECKING:
    from t2ibench.models.generators.hosted import HostedArguments

# Arguments to the names that vLLM-Omni, SGLang, client libraries and most others give them.
_NAMES = {
    "size": "size",
    "steps": "num_inference_steps",
    "guidance": "guidance_scale",
    "true_cfg": "true_cfg_scale",
    "negative_prompt": "negative_prompt",
}
_SEED_BITS = (63, 32, 31)


class Fields:
    """What is sent beside model and prompt.

    A field that the server does not take is left out from then on, and the user is told; one that
    the user asked for is an error instead, because images would not be what was asked for. Once a
    request has given an image, its fields are taken.

    Args:
        where: What messages call the server.
        args: What the user asks for.
        wishes: Further fields, which change only the way an image comes.

    Attributes:
        tell: Told, in a sentence, what the user should know.
        known: Whether a request has given an image.
    """

    def __init__(self, where: str, args: HostedArguments, wishes: Mapping[str, Any]) -> None:
        self.tell: Callable[[str], None] = lambda _: None
        self._where = where
        given = args.deciding()
        self._asked = {_NAMES[name]: value for name, value in given.items() if name in _NAMES}
        self._asked |= args.body
        self._arguments = {_NAMES[name]: name for name in given if name in _NAMES}
        self._wishes = {name: v for name, v in wishes.items() if name not in self._asked}
        self._seed_bits = [*(_SEED_BITS if args.seed else ()), 0]
        self._taken: set[str] = set()
        self.known = False

    def of(self, request: ImageRequest) -> dict[str, Any]:
        """The fields of a request."""
        fields = {**self._asked, **self._wishes}
        bits = self._seed_bits[0]
        return {**fields, "seed": request.seed & ((1 << bits) - 1)} if bits else fields

    def took(self, fields: Mapping[str, Any]) -> None:
        """Take note that a request with these fields gave an image."""
        self.known = True
        self._taken |= fields.keys()

    def effective(self) -> dict[str, Any]:
        """What the server took."""
        if not self.known:
            return {}
        bits = self._seed_bits[0]
        seeds = {
            63: "one an image",
            0: "none: whether the same images would come again is unknown",
        }
        taken = {name: value for name, value in self._asked.items() if name in self._taken}
        return {**taken, "seed": seeds.get(bits, f"one an image, its lowest {bits} bits")}

    def left_out(self, reply: Reply, fields: Mapping[str, Any], prompt: str) -> bool:
        """Leave a field out that a reply complains about."""
        if self.known or reply.status not in {400, 422}:
            return False
        said = reply.message()
        field = refused_field(said, fields.keys(), prompt)
        if field is None:
            return False
        words = one_line(said.text)
        if field in self._asked:
            name = self._arguments.get(field, f"body.{field}")
            raise UnusableServerError(
                f"The server {self._where} does not take {field}={self._asked[field]!r}: {words}.",
                f"Leave {name}=… out of --model-args, or give a value that it takes.",
            )
        if field != "seed":
            self._wishes.pop(field, None)
            return True
        self._seed_bits.pop(0)
        if not self._seed_bits[0]:
            self.tell(
                f"The server {self._where} takes no seed ({words}): whether it would make the same "
                "images again is unknown."
            )
        return True
