"""Read the answer in a chat completion from a server, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from t2ibench.models.server_errors import (
    BadReplyError,
    IncompleteReplyError,
    NoCompletionError,
    RefusedError,
    Reply,
    one_line,
)
from t2ibench.models.thinking import without_thinking

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "prohibited_content", "blocklist"})
_THOUGHTS = frozenset({"thinking", "reasoning", "redacted_thinking", "reasoning_text"})
_TEXTS = ("text", "output_text", "content")
_REASONING = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A chat model's reply: `text` without its reasoning, `raw` verbatim."""

    text: str
    raw: str


@dataclass(frozen=True, slots=True)
class _Completion:
    """The content, refusal, reasoning and finish reason of a chat completion."""

    content: str | None
    refusal: str | None
    reasoning: str
    finish: str


def read_completion(reply: Reply) -> ChatReply:
    """Return the chat model's reply in a chat completion.

    Raises:
        IncompleteReplyError: it was cut off, is empty, or has only reasoning.
        RefusedError: the model or a filter declines.
        NoCompletionError: the reply is not a chat completion.
        BadReplyError: the reply contains an error, or no text.
    """
    completion = _completion(reply)
    hide = reply.key.hide  # again: the parts of a text may have a part of the key each
    if completion.refusal:
        raise RefusedError(f"refused: {one_line(hide(completion.refusal))}")
    if completion.finish in _FILTERED:
        raise RefusedError("refused by a filter of the server")
    content = hide(completion.content or "")
    answer = without_thinking(content)
    thoughts = len(completion.reasoning) or (len(content) if answer is None else 0)
    spent = f" after {thoughts:,} characters of thoughts" if thoughts else ""
    if completion.finish in _CUT:
        raise IncompleteReplyError(f"the reply was cut off{spent}")
    if answer is None:
        raise IncompleteReplyError(f"the reply ends before its thoughts do{spent}")
    if not answer:
        raise IncompleteReplyError(f"the server's reply has no text{spent}")
    # Once more: thoughts between two parts of the key may have been removed.
    return ChatReply(hide(answer), content)


def _completion(reply: Reply) -> _Completion:
    """Return content, refusal, reasoning and finish reason of a completion's first choice.

    Raises:
        NoCompletionError: the reply is something else.
        BadReplyError: it contains an error, or no text.
    """
    try:
        body = reply.json()
        if "choices" not in body and isinstance(body.get("output"), list):
            return _response(body)
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content")
        refusal = message.get("refusal")
        reasoning = "".join(str(message.get(name) or "") for name in _REASONING)
        finish = str(choice.get("finish_reason") or "").lower()
        error = choice.get("error")
    except (BadReplyError, KeyError, IndexError, TypeError, AttributeError):
        raise _no_completion(reply) from None
    if error and not content:  # the error of a provider behind a gateway
        words = error.get("message") if isinstance(error, Mapping) else error
        raise BadReplyError(f"the server's reply is an error: {one_line(str(words))}")
    if isinstance(content, list):
        parts = list(_parts(content))
        refusal = refusal or _joined(parts, "refusal")
        reasoning += _joined(parts, "thoughts")
        content = _joined(parts, "text")
    if content is not None and not isinstance(content, str):
        raise BadReplyError("the server's reply has no text")
    return _Completion(content, str(refusal) if refusal else None, reasoning, finish)


def _no_completion(reply: Reply) -> NoCompletionError:
    """Return the error for a reply that is not a chat completion."""
    beginning = reply.beginning()
    if not beginning:
        return NoCompletionError("the server's reply is empty, not a chat completion")
    return NoCompletionError(
        f"the server's reply is not a chat completion (it begins with: {beginning})"
    )


def _response(body: Mapping[str, Any]) -> _Completion:
    """Return the completion in a reply of OpenAI's Responses API, which some gateways send."""
    content: list[Any] = []
    for item in body["output"]:
        if isinstance(item, Mapping) and isinstance(item.get("content"), list):
            content += item["content"]
    parts = list(_parts(content))
    details = body.get("incomplete_details")
    finish = str(details.get("reason") or "") if isinstance(details, Mapping) else ""
    return _Completion(
        _joined(parts, "text"),
        _joined(parts, "refusal") or None,
        _joined(parts, "thoughts"),
        finish.lower(),
    )


def _joined(parts: Iterable[tuple[str, str]], wanted: str) -> str:
    """Return the texts of all parts of the `wanted` kind, joined."""
    return "".join(text for kind, text in parts if kind == wanted)


def _parts(content: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the kind ('text', 'thoughts' or 'refusal') and the text of each part of a message."""
    for part in content:
        if isinstance(part, str):
            yield "text", part
        if not isinstance(part, Mapping):
            continue
        kind = str(part.get("type") or "text")
        if kind in _THOUGHTS:
            yield "thoughts", str(part.get(kind) or part.get("text") or "")
        elif kind == "refusal":
            yield "refusal", str(part.get("refusal") or "the server does not say why")
        else:
            texts = (part.get(name) for name in _TEXTS)
            text = next((text for text in texts if isinstance(text, str)), None)
            if text is not None:
                yield "text", text
