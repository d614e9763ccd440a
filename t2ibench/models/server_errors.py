"""Errors of model servers: what a server says, and the exception that it becomes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.protocols import Status
from t2ibench.models.proxies import through_proxy
from t2ibench.models.server_states import (
    filter_took,
    filter_words,
    has_no_access,
    has_no_model,
    is_blocked,
    is_rate_limit,
    is_unpaid,
    is_unpaid_in_words,
    took_what_was_made,
    unpaid_code,
    without_fields,
    without_names,
)

_TRY_LATER = "What was made is kept, and the same command makes the rest later"
_NO_ACCESS = (
    "grants no access",
    f"Check the key in {{variable}} and what its account may use. {_TRY_LATER}.",
)
_NOT_THERE = (
    "has no such address or model",
    "Check base_url=… and the name after the colon.",
)
_UNPAID = ("is not paid for", f"Pay, or wait for a new quota. {_TRY_LATER}.")
_BLOCKED = (
    "does not serve this account or resource now",
    f"{_TRY_LATER}, once the account is in order.",
)
# Statuses with which no request can succeed: the problem and the next step.
_UNUSABLE = {
    **dict.fromkeys((401, 403), _NO_ACCESS),
    402: _UNPAID,
    **dict.fromkeys((404, 405, 410, 501, 505), _NOT_THERE),
    407: (
        "is behind a proxy that asks for a password",
        "Put it into HTTP_PROXY or HTTPS_PROXY.",
    ),
    429: ("asks for fewer requests", f"{_TRY_LATER}."),
    451: ("is not available here", ""),
}
# Statuses of a reply whose body is the answer; some gateways say that they created it.
ANSWERED = frozenset({200, 201})
_STATUS_DIGITS = 3
_BEGINNING = 400  # bytes at the start of a body that are read for a message
_SHOWN = 80  # characters of these that a message shows
_PAYMENT_REQUIRED = 402
_RATE_LIMITED = 429
_CODE_NAMES = ("code", "type", "status", "name")  # keys of an error's code
_VIOLATIONS = re.compile(r"safety_violations=\[([^\]]*)\]")
_DEEPEST = 5  # levels of nested errors that are read


class ServerAwayError(T2IBenchError):
    """Raised if the server cannot be asked at all: not running, no access, no such model."""


class UnusableServerError(ServerAwayError):
    """Raised if no request to this server for this model can succeed."""


class LongWaitError(UnusableServerError):
    """Raised if the server asks for a wait that is too long."""


class BadReplyError(T2IBenchError):
    """Raised if a server's reply to one request cannot be used."""


class NoCompletionError(BadReplyError):
    """Raised if a reply is not a chat completion, but a page or another API's reply."""


class DeclinedError(BadReplyError):
    """Raised if the server rejects a request in the form in which it was sent."""


class RefusedError(BadReplyError):
    """Raised if the model, or a filter of its server, refuses to answer."""


class IncompleteReplyError(BadReplyError):
    """Raised if a server's reply ends before the answer does."""


def one_line(text: str, length: int = 200) -> str:
    """Return a server's text as one line, shortened and without control characters."""
    line = " ".join(text[: 8 * length].split())[:length]
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


@dataclass(frozen=True, slots=True)
class ServerMessage:
    """A server's message about a request that it did not fulfil.

    Attributes:
        codes: Codes and types of the error, in lower case.
        fields: The fields of the request that the server rejects.
        text: The message.
        stage: Where a filter intervened, 'input' or 'output'; None if the server does not say.
        status: The HTTP status of the reply.
        categories: What a filter found, in the server's names.
    """

    codes: frozenset[str]
    fields: tuple[str, ...]
    text: str
    stage: str | None = None
    status: int = 400
    categories: tuple[str, ...] = ()

    def without(
        self, names: Iterable[str], fields: Iterable[str] = ()
    ) -> ServerMessage:
        """Return the message without names of models and prompts, and without request fields."""
        text = without_fields(without_names(self.text, names), fields)
        return replace(self, text=text)

    @property
    def blocked(self) -> Status | None:
        """'refused' or 'filtered' if a filter of the server blocked the request; else None.

        A blocked account or resource is not a filter's decision about a prompt.
        """
        if filter_took(self.codes):
            if self.status in {401, 402, 403, 429} and is_blocked(self.text):
                return None
        elif not filter_words(self.status, self.codes, self.text):
            return None
        by_words = self.stage is None and took_what_was_made(self.text)
        return "filtered" if self.stage == "output" or by_words else "refused"

    @property
    def no_model(self) -> bool:
        """Whether the requested model is missing, retired or of another kind."""
        return has_no_model(self.codes, self.text)


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's reply: its status, its body, and the key to hide in it."""

    status: int
    body: bytes
    key: ApiKey

    def json(self) -> Any:
        """Return the body as JSON with the key masked; raise BadReplyError if it is not JSON."""
        try:
            return self.key.hide_all(json.loads(self.body))
        except (ValueError, RecursionError):
            raise BadReplyError("the server's reply is not JSON") from None

    def words(self) -> str:
        """Return the status and the server's own words, shortened."""
        words = one_line(self.message().text)
        return f"{self.status}: {words}" if words else f"{self.status} without a word"

    def beginning(self) -> str:
        """Return the first characters of the body, for a message; '' if it is empty."""
        text = self.key.hide(self.body[:_BEGINNING].decode("utf-8", errors="replace"))
        return one_line(text, _SHOWN)

    def message(self) -> ServerMessage:
        """Return the error message in the body, in any of the forms that servers use."""
        try:
            body = self.json()
        except BadReplyError:
            text = self.key.hide(self.body.decode("utf-8", errors="replace"))
            return ServerMessage(frozenset(), (), text, status=self.status)
        # Google's servers, behind an address in OpenAI's form, put the error into a list.
        if isinstance(body, list) and len(body) == 1:
            body = body[0]
        if not isinstance(body, Mapping):
            return ServerMessage(frozenset(), (), str(body), status=self.status)
        error = next(
            (body[key] for key in ("error", "detail", "errors") if body.get(key)), body
        )
        if isinstance(error, list):
            return _message_of_list(body, error, self.status)
        if not isinstance(error, Mapping):
            return ServerMessage(_codes_of(body), (), str(error), status=self.status)
        return _message_of_mapping(error, self.status)

    def as_it_says(self) -> Reply:
        """Return the reply with the status of the error in its body, if its own status is 200.

        Gateways such as OpenRouter pass a provider's error on in a reply of status 200.
        """
        if self.status not in ANSWERED or b'"error"' not in self.body:
            return self
        try:
            body = json.loads(self.body)
        except (ValueError, RecursionError):
            return self
        if not isinstance(body, Mapping) or body.get("data") or body.get("choices"):
            return self
        error = body.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        digits = str(code) if isinstance(code, int | str) else ""
        if digits.isdecimal() and len(digits) == _STATUS_DIGITS:
            status = int(digits)
        else:
            status = self._status_in_words()
        return replace(self, status=status) if 400 <= status < 600 else self

    def _status_in_words(self) -> int:
        """Return the status that an error's codes and words mean; 200 if they mean none."""
        message = self.message()
        if filter_took(message.codes):
            return self.status
        if unpaid_code(message.codes) or is_unpaid_in_words(message.text):
            return _PAYMENT_REQUIRED
        return _RATE_LIMITED if is_rate_limit(message.text) else self.status

    def check_access(self, where: str, names: Iterable[str] = ()) -> None:
        """Raise an error if this reply shows that no request to the server can succeed.

        `names` are those of the model and the prompt, which are ignored in the server's message.
        """
        status, variable = self.status, self.key.variable
        if 300 <= status < 400:
            redirects = f"redirects to another address ({status}), and the key is sent to no other"
            raise UnusableServerError(
                f"The server {where} {redirects}.", "Give that one as base_url=…."
            )
        problem, hint = _state_of(status, self.message().without(names))
        if status == 401 and not self.key and problem == _NO_ACCESS[0]:
            problem, hint = "requires an API key", "Set it in {variable}."
        if problem:
            raise UnusableServerError(
                f"The server {where}{through_proxy(where)} {problem} ({self.words()}).",
                hint.format(variable=variable),
            )


def _state_of(status: int, message: ServerMessage) -> tuple[str, str]:
    """Return what is wrong with a server or account, and the next step; two '' if nothing is."""
    if status < 400:
        return "", ""
    if unpaid_code(message.codes):
        return _UNPAID
    if is_blocked(message.text):
        return _BLOCKED
    if is_unpaid(message.codes, message.text) and status not in {404, 407}:
        return _UNPAID
    if status in _UNUSABLE:
        return _UNUSABLE[status]
    return _NO_ACCESS if has_no_access(message.codes, message.text) else ("", "")


def _codes_of(*parts: Mapping[str, Any]) -> frozenset[str]:
    """Return the error codes in parts of a reply's body, in lower case."""
    return frozenset(code.lower() for part in parts for code in _codes_in(part))


def _message_of_list(
    body: Mapping[str, Any], errors: list[Any], status: int
) -> ServerMessage:
    """Return the message in FastAPI's list: [{"type": …, "loc": ["body", "seed"], "msg": …}]."""
    items = [item for item in errors if isinstance(item, Mapping)]
    texts = [str(item.get("msg") or item.get("message") or item) for item in items]
    places = [item["loc"] for item in items if isinstance(item.get("loc"), list)]
    fields = tuple(str(place[-1]) for place in places if place)
    text = "; ".join(texts) or str(errors)
    return ServerMessage(_codes_of(body, *items), fields, text, status=status)


def _message_of_mapping(error: Mapping[str, Any], status: int) -> ServerMessage:
    """Return the message of an error in OpenAI's form: a code, a parameter and a text."""
    details = error.get("moderation_details")
    stage = details.get("moderation_stage") if isinstance(details, Mapping) else None
    param = error.get("param")
    text = error.get("message")
    if text is None:
        text = error.get("msg")
    return ServerMessage(
        _codes_of(error),
        (str(param),) if param else (),
        str(error if text is None else text),
        str(stage) if stage else None,
        status,
        tuple(dict.fromkeys(_categories_in(error))),
    )


def _codes_in(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield codes and types of an error and of the errors nested in it."""
    inner: Any = error
    for _ in range(_DEEPEST):
        if not isinstance(inner, Mapping):
            break
        yield from (str(inner[name]) for name in _CODE_NAMES if inner.get(name))
        if _has_category(inner):
            yield "content_filter"
        inner = inner.get("innererror") or inner.get("inner_error")


def _has_category(error: Mapping[str, Any]) -> bool:
    """Return whether an error lists what a filter found, as Azure, OpenAI or OpenRouter do."""
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("flagged_input"):
        return True
    return any(_listed_categories(error))


def _listed_categories(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield the content categories in an error's own fields, whichever server's format it has."""
    details, metadata = (error.get(name) for name in ("moderation_details", "metadata"))
    if isinstance(details, Mapping):
        yield from _names_in(details.get("categories"))
    if isinstance(metadata, Mapping):
        yield from _names_in(metadata.get("reasons"))
    results = error.get("content_filter_result") or error.get("content_filter_results")
    for name, result in results.items() if isinstance(results, Mapping) else ():
        if isinstance(result, Mapping) and result.get("filtered"):
            yield str(name)


def _categories_in(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield the categories that an error, the errors nested in it and its words name."""
    inner: Any = error
    for _ in range(_DEEPEST):
        if not isinstance(inner, Mapping):
            break
        yield from _listed_categories(inner)
        inner = inner.get("innererror") or inner.get("inner_error")
    # "… safety_violations=[violence, sexual] …", as OpenAI's images API has it.
    match = _VIOLATIONS.search(str(error.get("message") or ""))
    for name in match[1].split(",") if match is not None else ():
        if name.strip(" '\""):
            yield name.strip(" '\"")


def _names_in(value: Any) -> Iterator[str]:
    """Yield the names in a list, or the names of a mapping whose values are true."""
    if isinstance(value, Mapping):
        yield from (str(name) for name, is_hit in value.items() if is_hit)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            name = item.get("category") if isinstance(item, Mapping) else item
            if name:
                yield str(name)
