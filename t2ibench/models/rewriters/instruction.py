"""Ask a language model to rewrite a prompt, and read its reply."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from t2ibench.arguments import Arguments, PositiveInt, one_of
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.language import Message, Per, RewriteRequest, Rewriting
from t2ibench.models.thinking import without_thinking
from t2ibench.store.file_errors import read_text
from t2ibench.store.user_paths import expanded

# Like deployed systems it asks for detail; it does not mention people, so that whatever a language
# model adds about them comes from the model.
DEFAULT = (
    "Rewrite the prompt below for a text-to-image model. Keep everything it says, add concrete "
    "detail about the subject, the setting, the light and the style, and write one paragraph of "
    "at most 60 words. Reply with the rewritten prompt alone.\n\nPrompt: {prompt}"
)
_LARGEST = 64 * 1024  # characters of an instruction
_LONGEST = 4000  # characters of a rewritten prompt
_FIELDS = re.compile(r"\{(prompt|number)\}")
_QUOTES = {'"': '"', "'": "'", "“": "”", "«": "»"}
# Beginnings of replies that decline, unless the prompt itself begins like that.
_DECLINES = re.compile(
    r"(?:i\s?[’']?a?m\s+(?:very\s+|so\s+)?sorry|sorry,|i\s+(?:can\s?not|can[’']t|won[’']t)\s|"
    r"i[’']m\s+(?:not able|unable)|i\s+am\s+(?:not able|unable)|as an ai\b)",
    re.IGNORECASE,
)


def _template(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value.startswith("@"):
        path = expanded(value[1:])
        value = read_text(
            path, 4 * _LARGEST, "template=@FILE takes a text with {prompt} in it."
        )
    if len(value) > _LARGEST:
        raise ValueError(f"expected at most {_LARGEST} characters, found {len(value)}")
    if "{prompt}" not in value:
        raise ValueError(
            "expected an instruction with {prompt} where the prompt goes, or @FILE"
        )
    return value


class InstructionArguments(Arguments):
    """How a language model is asked to rewrite a prompt.

    The template, or the file in '@FILE', contains {prompt}, and may contain {number}, the number of
    the image, from 1. With per=prompt all images of a prompt share one rewriting. A temperature of
    0 decodes greedily; by default it is 0 for a prompt, 1 for an image.
    """

    template: Annotated[str, BeforeValidator(_template)] = DEFAULT
    per: Annotated[Per, one_of("prompt", "image")] = "prompt"
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: PositiveInt = 256

    @model_validator(mode="after")
    def _fits(self) -> InstructionArguments:
        numbered = "{number}" in self.template
        if self.per == "image" and not self.used_temperature and not numbered:
            raise T2IBenchError(
                "--rewriter-args: per=image with temperature=0 gives every image of a prompt the "
                "same rewriting.",
                "Leave temperature out, or put {number} into the template.",
            )
        if self.per == "prompt" and numbered:
            raise T2IBenchError(
                "--rewriter-args: the template has {number}, and all images of a prompt "
                "share one rewriting.",
                "Add per=image.",
            )
        return self

    @property
    def used_temperature(self) -> float:
        """The temperature; if it is not given, the default that depends on `per`."""
        usual = 0.0 if self.per == "prompt" else 1.0
        return usual if self.temperature is None else self.temperature

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide a rewriting besides the model, as JSON values."""
        return {
            "template": self.template,
            "template_sha256": hashlib.sha256(self.template.encode()).hexdigest(),
            "temperature": self.used_temperature,
            "max_tokens": self.max_tokens,
        }

    def messages(self, request: RewriteRequest) -> list[Message]:
        """Return the messages that ask a model to rewrite a prompt."""
        values = {"prompt": request.prompt, "number": str((request.index or 0) + 1)}
        # In one pass, because a prompt may contain braces of its own.
        text = _FIELDS.sub(lambda field: values[field.group(1)], self.template)
        return [{"role": "user", "content": text}]


def read_reply(reply: str, prompt: str) -> Rewriting:
    """Return the rewriting in a language model's reply, or why it has none."""
    answer = without_thinking(reply)
    if answer is None:
        return Rewriting(
            "failed", reason="the reply ends before the thoughts do; raise max_tokens"
        )
    text = " ".join(answer.split())
    text = "".join(
        char for char in text if unicodedata.category(char) not in {"Cc", "Cs"}
    )
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    if not text:
        return Rewriting("failed", reason="the reply is empty")
    if len(text) > _LONGEST:
        return Rewriting("failed", reason=f"the reply has {len(text)} characters")
    if _DECLINES.match(text) and not _DECLINES.match(prompt.strip()):
        return Rewriting("refused", reason=f"it replied: {shown(text, 200)}")
    return Rewriting("ok", text)
