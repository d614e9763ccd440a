"""What a server says of a request that it did not fulfil, and whether a filter declined it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from t2ibench.models.http import BadReplyError, Reply
from t2ibench.models.protocols import Status

# Codes and types of errors; those of OpenAI, Azure, Google and what proxies make of them.
_BLOCKED = {
    *("content_policy_violation", "moderation_blocked", "content_filter", "contentfilter"),
    *("responsible_ai_policy_violation", "responsibleaipolicyviolation", "content_moderation"),
    *("safety_violation", "nsfw", "image_safety", "prohibited_content"),
}
_BLOCKED_WORDS = re.compile(
    r"content[ _-]?(polic|filter|management|moderation)|safety[ _-]?(system|filter|check|polic)"
    r"|moderation|responsible ai|usage polic|\bnsfw\b"
    r"|(prompt|image|input|content) (was|is|has been) flagged|prohibited content"
    r"|sensitive (content|word)|violates? (our|the|its)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a server says of a request that it did not fulfil.

    Attributes:
        codes: Its codes and types, in lower case.
        fields: Names of the fields of the request that it complains about.
        message: Its words.
        stage: Where a filter took it: 'input' or 'output', where that is said.
    """

    codes: frozenset[str]
    fields: tuple[str, ...]
    message: str
    stage: str | None = None


def told(reply: Reply) -> Told:
    """Read the body of an error, in any of the forms that servers give it."""
    try:
        body = reply.json()
    except BadReplyError:
        return Told(frozenset(), (), reply.text())
    if not isinstance(body, Mapping):
        return Told(frozenset(), (), str(body))
    error = next((body[key] for key in ("error", "detail", "errors") if body.get(key)), body)
    if isinstance(error, list):  # FastAPI: [{"type": …, "loc": ["body", "seed"], "msg": …}]
        items = [item for item in error if isinstance(item, Mapping)]
        return Told(
            frozenset(str(item.get("type", "")).lower() for item in items),
            tuple(str(item["loc"][-1]) for item in items if item.get("loc")),
            "; ".join(str(item.get("msg", item)) for item in items) or str(error),
        )
    if not isinstance(error, Mapping):
        return Told(frozenset(), (), str(error))
    inner = error.get("innererror")
    inner = inner if isinstance(inner, Mapping) else {}
    details = error.get("moderation_details")
    stage = details.get("moderation_stage") if isinstance(details, Mapping) else None
    codes = (error.get("code"), error.get("type"), inner.get("code"))
    param = error.get("param")
    return Told(
        frozenset(str(code).lower() for code in codes if code),
        (str(param),) if param else (),
        str(error.get("message") or error.get("msg") or error),
        str(stage) if stage else None,
    )


def blocked(said: Told) -> Status | None:
    """Whether a filter of the server's kept an image back."""
    if not said.codes & _BLOCKED and not _BLOCKED_WORDS.search(said.message):
        return None
    return "filtered" if said.stage == "output" else "refused"


def passes(reply: Reply) -> bool:
    """Whether waiting can help after a reply that says 'too many requests'."""
    return "insufficient_quota" not in told(reply).codes
