"""Hide secrets, recognised by name, form or value, wherever text is shown or stored."""

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
# Names of secrets. The word for a secret comes last: token_merging is no secret.
_ARGUMENT = re.compile(
    r"(?i).*(?:(?:(?<![a-z])|api|access|secret|private)key|token|auth(?:orization)?|bearer|cookie|"
    r"jwt|secret.*|pass(?:w|phrase).*|credential.*)[\W_\d]*"
)
_NO_SECRETS = frozenset({"", "true", "false", "none", "null"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Keys of well-known services, recognised by their form.
_KEY_FORMS = re.compile(
    r"\b(?:sk-(?=[\w-]*\d)[\w-]{8,}|hf_[A-Za-z0-9]{12,}|gh[pousr]_\w{8,}|(?:AKIA|AIza)[\w-]{8,}|"
    r"xox[abp]-[\w-]{8,})"
)
_SENT = re.compile(r"(?i)\b(?:bearer|basic)\s+(?=\S*\d)\S{8,}|://[^/@\s:]+:[^/@\s]+@")
# Characters of the shortest secret that is hidden; shorter values ('EMPTY', 'true') may be words.
_SHORTEST = 6
# Secrets of at least this length are hidden whatever their case.
_LONG = 12
# Characters of the shortest value of an environment variable that is hidden in every message.
_IN_ENVIRONMENT = 8
# Levels of nesting that are searched for secrets.
_DEEPEST = 100


def is_secret_name(name: str) -> bool:
    """Return whether a name is that of a secret, and not of the variable that contains one.

    Examples:
        >>> [is_secret_name(name) for name in ("body.x-api-key", "falKey", "api_key_env", "monkey")]
        [True, True, False, False]
    """
    plain = _CAMEL.sub("_", unicodedata.normalize("NFKC", name))
    return bool(_ARGUMENT.fullmatch(plain)) and not plain.lower().endswith("_env")


def secret_argument(args: Mapping[str, Any]) -> str | None:
    """Return the name of an argument that is or contains a secret; None if there is none."""
    redaction = Redaction(_environment())
    for name, value in args.items():
        if any(
            _is_secret(part, text, redaction) for part, text in _strings(name, value, 0)
        ):
            return name if redaction.secrets_and_keys(name) == name else HIDDEN
    return None


def _is_secret(name: str, text: str, redaction: Redaction) -> bool:
    try:
        float(text)
    except ValueError:
        named = is_secret_name(name) and text.strip().lower() not in _NO_SECRETS
        named = (
            named
            or redaction.secrets_and_keys(text) != text
            or bool(_SENT.search(text))
        )
        return named or redaction.secrets_and_keys(name) != name
    return False


def _strings(name: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield every text in an argument, with the path of names that leads to it."""
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
    """Hides given secrets in texts, and whatever has the form of a well-known service's key.

    Args:
        values: The secrets.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        secrets = {value for value in values if len(value) >= _SHORTEST}
        self._pattern = _pattern(
            tuple(sorted(secrets, key=lambda secret: (-len(secret), secret)))
        )

    def values(self, text: str) -> str:
        """Return a text with the given secrets hidden, in any encoding."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def secrets_and_keys(self, text: str) -> str:
        """Return a text with the given secrets, and whatever has the form of a key, hidden."""
        return _KEY_FORMS.sub(HIDDEN, self.values(text))

    def of_json(self, value: Any, depth: int = 0) -> Any:
        """Return a JSON value with the given secrets hidden in its texts."""
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        if isinstance(value, str):
            return self.values(value)
        if isinstance(value, list):
            return [self.of_json(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {
                self.values(name): self.of_json(inner, depth + 1)
                for name, inner in value.items()
            }
        return value


def redacted(text: str) -> str:
    """Return a message with the environment's secrets, and whatever looks like a key, hidden."""
    return Redaction(_environment()).secrets_and_keys(text)


def _environment() -> list[str]:
    """Return the values of secret environment variables that are too long to be words."""
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
    """Return regular expressions of a secret: plain, in JSON, in a URL, and in Base64."""
    plain = {
        key,
        json.dumps(key)[1:-1],
        quote(key),
        quote(key, safe=""),
        quote_plus(key),
    }
    data = key.encode("utf-8", "surrogateescape")
    patterns = [re.escape(form) for form in sorted(plain, key=len, reverse=True)]
    if len(key) >= _LONG:
        patterns.append(f"(?i:{re.escape(key)})")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # The text around a secret changes only the characters at both ends of its Base64.
            text = encode(b"\0" * offset + data).decode().rstrip("=")
            patterns.append(
                re.escape(text[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6])
            )
        patterns.append(re.escape(encode(data).decode()))
    return patterns
