"""The one redaction: secrets by their names, looks and values, wherever text is shown or stored."""

from __future__ import annotations

import base64
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

HIDDEN = "***"
# The name of an argument, or of a variable: a key is named last, as token_merging names none.
_ARGUMENT = re.compile(
    r"(?i).*(?:(?:(?<![a-z])|api|access|secret|private)key|token|auth(?:orization)?|bearer|cookie|"
    r"jwt|secret.*|pass(?:w|phrase).*|credential.*)[\W_\d]*"
)
_NO_SECRETS = frozenset({"", "true", "false", "none", "null"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# What keys of well-known services look like, wherever they stand.
_LOOKS = re.compile(
    r"\b(?:sk-(?=[\w-]*\d)[\w-]{8,}|hf_[A-Za-z0-9]{12,}|gh[pousr]_\w{8,}|(?:AKIA|AIza)[\w-]{8,}|"
    r"xox[abp]-[\w-]{8,})"
)
_SENT = re.compile(r"(?i)\b(?:bearer|basic)\s+(?=\S*\d)\S{8,}|://[^/@\s:]+:[^/@\s]+@")
# characters of a secret; shorter ones ('EMPTY', 'none', 'true') may be words
_SHORTEST = 6
_LONG = 12  # from here on, a secret is known in capitals, too
_IN_ENVIRONMENT = 8  # characters of a variable that is hidden in every message
_DEEPEST = 100


def is_secret_name(name: str) -> bool:
    """Whether a name says that what it names is a secret, and not where one is.

    Examples:
        >>> [is_secret_name(one) for one in ("body.x-api-key", "falKey", "api_key_env", "monkey")]
        [True, True, False, False]
    """
    plain = _CAMEL.sub("_", unicodedata.normalize("NFKC", name))
    return bool(_ARGUMENT.fullmatch(plain)) and not plain.lower().endswith("_env")


def secret_argument(args: Mapping[str, Any]) -> str | None:
    """The name of an argument that is a secret, by its name or its value, at any depth."""
    known = Redaction(_environment())
    for name, value in args.items():
        if any(
            _is_secret(part, text, known) for part, text in _strings(name, value, 0)
        ):
            return name if known.looks(name) == name else HIDDEN
    return None


def _is_secret(name: str, text: str, known: Redaction) -> bool:
    try:
        float(text)
    except ValueError:
        named = is_secret_name(name) and text.strip().lower() not in _NO_SECRETS
        named = named or known.looks(text) != text or bool(_SENT.search(text))
        return named or known.looks(name) != name
    return False


def _strings(name: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """The texts in an argument, with the names that lead to them."""
    if isinstance(value, str) and value[:1] in {"{", "["} and depth < _DEEPEST:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            yield name, value
            return
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _strings(f"{name}.{key}", inner, depth + 1)
    elif (
        isinstance(value, Sequence) and not isinstance(value, str) and depth < _DEEPEST
    ):
        for inner in value:
            yield from _strings(name, inner, depth + 1)
    else:
        yield name, str(value)


class Redaction:
    """Knows some secrets, and what others look like."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        found = {value for value in values if len(value) >= _SHORTEST}
        self._pattern = _pattern(tuple(sorted(found, key=lambda one: (-len(one), one))))

    def values(self, text: str) -> str:
        """A text without the secrets, in whatever form they come back."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def looks(self, text: str) -> str:
        """The same, without what looks like a key, too."""
        return _LOOKS.sub(HIDDEN, self.values(text))

    def of_json(self, value: Any, depth: int = 0) -> Any:
        """A JSON value without the secrets."""
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        if isinstance(value, str):
            return self.values(value)
        if isinstance(value, list):
            return [self.of_json(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {
                self.values(k): self.of_json(one, depth + 1) for k, one in value.items()
            }
        return value


def redacted(text: str) -> str:
    """A message without the secrets of the environment, and without what looks like a key."""
    return Redaction(_environment()).looks(text)


def _environment() -> list[str]:
    """Secrets of the environment that are too long to be words."""
    return [
        value
        for name, value in os.environ.items()
        if len(value) >= _IN_ENVIRONMENT
        and not value.startswith("/")
        and is_secret_name(name)
    ]


@lru_cache(maxsize=64)
def _pattern(values: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = [form for value in values for form in _forms(value)]
    return re.compile("|".join(forms)) if forms else None


def _forms(key: str) -> list[str]:
    """Patterns of a secret: as it is, in JSON, in a URL, inside of any text in Base64."""
    plain = {
        key,
        json.dumps(key)[1:-1],
        quote(key),
        quote(key, safe=""),
        quote_plus(key),
    }
    data = key.encode("utf-8", "surrogateescape")
    found = [re.escape(one) for one in sorted(plain, key=len, reverse=True)]
    if len(key) >= _LONG:
        found.append(f"(?i:{re.escape(key)})")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # What comes before and after decides the characters at both ends, and only those.
            text = encode(b"\0" * offset + data).decode().rstrip("=")
            found.append(
                re.escape(text[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6])
            )
        found.append(re.escape(encode(data).decode()))
    return found
