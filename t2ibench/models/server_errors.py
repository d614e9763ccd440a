"""What servers of models say of requests that they do not fulfil, and the errors it becomes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.protocols import Status

# Codes and types of errors; those of OpenAI, Azure, Google and what proxies make of them.
_BLOCKED = {
    *("content_policy_violation", "moderation_blocked", "content_filter", "contentfilter"),
    *("responsible_ai_policy_violation", "responsibleaipolicyviolation", "content_moderation"),
    *("safety_violation", "nsfw", "image_safety", "prohibited_content"),
}
_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_NO_ACCESS = ("grants no access", "Check the key in {variable}.")
_NOT_THERE = (
    "has no such address or model",
    "Check base_url=… and the name after the colon.",
)
# Statuses with which no request can work: what is said, and the next step.
_UNUSABLE = {
    **dict.fromkeys((401, 403), _NO_ACCESS),
    402: ("is not paid for", ""),
    **dict.fromkeys((404, 405, 501), _NOT_THERE),
    429: ("asks for fewer requests", ""),
}
_BLOCKED_WORDS = re.compile(
    r"content[ _-]?(polic|filter|management|moderation)|safety[ _-]?(system|filter|check|polic)"
    r"|moderation|responsible ai|usage polic|\bnsfw\b"
    r"|(prompt|image|input|content) (was|is|has been) flagged|prohibited content"
    r"|sensitive (content|word)|violates? (our|the|its)",
    re.IGNORECASE,
)


class ServerAwayError(T2IBenchError):
    """The server cannot be asked at all: not running, no access, no such model."""


class UnusableServerError(ServerAwayError):
    """The server cannot answer for this model at all, whatever is asked."""


class BadReplyError(T2IBenchError):
    """This one reply cannot be used."""


class DeclinedError(BadReplyError):
    """The server does not take a request as it was put."""


class RefusedError(BadReplyError):
    """The model, or a filter of its server, declines."""


def one_line(text: str, length: int = 200) -> str:
    """A text of a server for a message: one line, shortened, nothing that a terminal obeys."""
    line = " ".join(text[: 8 * length].split())[:length]
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


@dataclass(frozen=True, slots=True)
class ServerMessage:
    """What a server says of a request that it did not fulfil.

    Codes and types are in lower case; `fields` are those of the request that it complains about;
    `stage` is where a filter took it, 'input' or 'output', where that is said.
    """

    codes: frozenset[str]
    fields: tuple[str, ...]
    text: str
    stage: str | None = None

    @property
    def blocked(self) -> Status | None:
        """Whether a filter of the server's kept an answer back."""
        if not self.codes & _BLOCKED and not _BLOCKED_WORDS.search(self.text):
            return None
        return "filtered" if self.stage == "output" else "refused"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server replied: status, as many bytes as are taken, and the key to hide from them."""

    status: int
    body: bytes
    key: ApiKey

    def json(self) -> Any:
        """The body as JSON, the key hidden."""
        try:
            return self.key.hide_all(json.loads(self.body))
        except (ValueError, RecursionError):
            raise BadReplyError("the server's reply is not JSON") from None

    def words(self) -> str:
        """Status and the server's own words, shortened."""
        return f"{self.status}: {one_line(self.message().text)}"

    def message(self) -> ServerMessage:
        """What the body says, in any of the forms that servers give an error."""
        try:
            body = self.json()
        except BadReplyError:
            text = self.key.hide(self.body.decode("utf-8", errors="replace"))
            return ServerMessage(frozenset(), (), text)
        if not isinstance(body, Mapping):
            return ServerMessage(frozenset(), (), str(body))
        error = next((body[key] for key in ("error", "detail", "errors") if body.get(key)), body)
        if isinstance(error, list):  # FastAPI: [{"type": …, "loc": ["body", "seed"], "msg": …}]
            items = [item for item in error if isinstance(item, Mapping)]
            return ServerMessage(
                frozenset(str(item.get("type", "")).lower() for item in items),
                tuple(str(item["loc"][-1]) for item in items if item.get("loc")),
                "; ".join(str(item.get("msg", item)) for item in items) or str(error),
            )
        if not isinstance(error, Mapping):
            return ServerMessage(frozenset(), (), str(error))
        inner, details = error.get("innererror"), error.get("moderation_details")
        stage = details.get("moderation_stage") if isinstance(details, Mapping) else None
        codes = [error.get("code"), error.get("type")]
        codes += [inner.get("code")] if isinstance(inner, Mapping) else []
        param = error.get("param")
        return ServerMessage(
            frozenset(str(code).lower() for code in codes if code),
            (str(param),) if param else (),
            str(error.get("message") or error.get("msg") or error),
            str(stage) if stage else None,
        )

    def check_access(self, where: str) -> None:
        """Raise where no request to this server can work."""
        status, variable = self.status, self.key.variable
        if 300 <= status < 400:
            says = f"redirects to another address ({status}), and the key is sent to no other"
            raise UnusableServerError(f"The server {where} {says}.", "Give that one as base_url=….")
        says, hint = _UNUSABLE.get(status, ("", ""))
        if self.message().codes & _NO_MONEY:
            says, hint = _UNUSABLE[402]
        elif status == 401 and not self.key:
            says, hint = "requires an API key", "Set it in {variable}."
        if says:
            raise UnusableServerError(
                f"The server {where} {says} ({self.words()}).", hint.format(variable=variable)
            )
