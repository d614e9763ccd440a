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
from urllib.parse import parse_qsl, unquote

from t2ibench.encoded_runs import encoded_runs
from t2ibench.secret_pattern import SecretPattern, replaced

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
_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
_SENT = re.compile(rf"(?i)\b(?:bearer|basic)\s+(?=\S*\d)\S{{8,}}|{_PASSWORD.pattern}")
# What stands before the host of an address: 'user:password', or a key alone.
_CREDENTIALS = re.compile(r"://([^/?#\s]+)@|^([^/?#\s:]+:[^/?#\s]+)@")
# What stands for a password in an example of an address: hiding it would garble sentences.
_PLACEHOLDERS = frozenset({"password", "username"})
# Characters of the shortest secret that is hidden; shorter values ('EMPTY', 'true') may be words.
_SHORTEST = 6
# Characters of the shortest value of an environment variable that is hidden in every message.
_IN_ENVIRONMENT = 8
# Characters of the shortest key in use that is hidden everywhere: a shorter one, such as
# 'lm-studio' for a server that wants none, may be a word.
_IN_USE = 16
_NAMES_VARIABLE = "api_key_env"  # the argument that names a key's variable
# Levels of nesting that are searched for secrets.
_DEEPEST = 100
# Encodings of encodings that are undone.
_DEEPEST_ENCODING = 4
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,}")
# What is no hexadecimal digit, nor a mark between two.
_NO_DIGIT = re.compile(r"[G-WYZg-wyz+/]")
# Text of six characters or more. It begins with a set of bytes, for which Python searches at once.
_READABLE = re.compile(
    rb"[\s\x20-\x7e\xc2-\xf4](?:(?<=[\s\x20-\x7e])|(?<=[\xc2-\xf4])[\x80-\xbf]{1,3})"
    rb"(?:[\s\x20-\x7e]|[\xc2-\xf4][\x80-\xbf]{1,3}){5,}"
)
# Secrets in use that the name of no variable gives away.
_REMEMBERED: set[str] = set()


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
    if not args:  # as most settings have none, and every reading of a run asks
        return None
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
            or _has_secret_parameter(text)
            or (name.endswith(_NAMES_VARIABLE) and _is_key_as_name(text))
            or redaction.secrets_and_keys(text) != text
            or bool(_SENT.search(text))
        )
        return named or redaction.secrets_and_keys(name) != name
    return False


def has_password(text: str) -> bool:
    """Return whether a text has an address with a password, after a user or alone.

    Examples:
        >>> has_password("openai:m@http://user:word@example.com")
        True
    """
    return bool(_PASSWORD.search(text))


def _has_secret_parameter(text: str) -> bool:
    """Return whether a text is an address with a secret in its query or fragment.

    Examples:
        >>> _has_secret_parameter("http://example.com/v1?api-key=a&v=2")
        True
    """
    _, has_scheme, path = text.partition("://")
    if not has_scheme:
        return False
    parts = re.split(r"[?#&]", path)[1:]
    # A key may stand alone; the padding of Base64 ends in '='.
    if any("=" not in part.rstrip("=") and _is_key_as_name(part) for part in parts):
        return True
    return any(
        is_secret_name(name) and value.lower() not in _NO_SECRETS
        for part in parts
        for name, value in parse_qsl(part)
    )


def _is_key_as_name(text: str) -> bool:
    """Return whether a key seems to be given in place of a name, such as its variable's.

    Variables that are set, and names in capitals or small letters alone, are names.
    """
    is_mixed = text.upper() != text and text.lower() != text
    has_digits = re.search(r"\d", text) is not None
    return text not in os.environ and len(text) >= _IN_USE and is_mixed and has_digits


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

    A secret is hidden as it is, in other capitals, with marks between its characters, backwards, as
    URLs, HTML and JSON write it, in hexadecimal digits and in Base64, and in any of these within
    another. What is compressed or encrypted is not looked into.

    Args:
        values: The secrets.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        secrets = {value for value in values if len(value) >= _SHORTEST}
        self._pattern = _pattern(
            tuple(sorted(secrets, key=lambda secret: (-len(secret), secret)))
        )

    def __bool__(self) -> bool:
        return self._pattern is not None

    def values(self, text: str) -> str:
        """Return a text with the given secrets hidden, in any encoding."""
        if self._pattern is None:
            return text
        # What stood around a hidden secret may be one again, since marks between the characters of
        # a secret do not make it another.
        while (hidden := self._hidden(text, self._pattern)) != text:
            text = hidden
        return text

    def _hidden(self, text: str, pattern: SecretPattern) -> str:
        plain = pattern.hidden(text, HIDDEN)
        return replaced(plain, self._encoded_spans(plain, pattern), HIDDEN)

    def contains(self, text: str, depth: int = 0) -> bool:
        """Return whether a text contains one of the given secrets, in any encoding."""
        if self._pattern is None or depth > _DEEPEST_ENCODING:
            return False
        if self._pattern.search(text):
            return True
        return any(True for _ in self._encoded_spans(text, self._pattern, depth))

    def _encoded_spans(
        self, text: str, pattern: SecretPattern, depth: int = 0
    ) -> Iterator[tuple[int, int]]:
        """Yield where the runs of characters are that encode a secret, in order."""
        hidden_up_to = 0
        for start, end in encoded_runs(text, pattern.shortest):
            is_new = end > hidden_up_to
            if is_new and _holds_encoded(text[start:end], self, depth):
                yield max(start, hidden_up_to), end
                hidden_up_to = end

    def secrets_and_keys(self, text: str) -> str:
        """Return a text with the given secrets, and whatever has the form of a key, hidden."""
        return _KEY_FORMS.sub(HIDDEN, self.values(text))

    def keys(self, text: str) -> list[str]:
        """Return the parts of a text that have the form of a well-known service's key."""
        return [match.group() for match in _KEY_FORMS.finditer(text)]

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
    return Redaction(known_secrets()).secrets_and_keys(text)


def remember(secret: str) -> None:
    """Add a secret that this process uses, whatever the name of its variable, to the known ones."""
    if len(secret) >= _IN_USE:
        _REMEMBERED.add(secret)


def known_secrets() -> list[str]:
    """Return the secrets of the environment and those that this process uses."""
    return [*_environment(), *sorted(_REMEMBERED)]


def _environment() -> list[str]:
    """Return the secrets in environment variables that are too long to be words.

    These are the values of variables with a secret's name, and passwords in the addresses of
    proxies, databases and package indexes, whatever their variable is called.
    """
    secrets: list[str] = []
    for name, value in os.environ.items():
        if is_secret_name(name) and not value.startswith("/"):
            secrets.append(value)
        for in_address in _CREDENTIALS.finditer(value):
            credentials = in_address[1] or in_address[2]
            password = credentials.partition(":")[2] or credentials
            if password not in _PLACEHOLDERS:
                secrets += [password, unquote(password)]
    long_enough = [value for value in secrets if len(value) >= _IN_ENVIRONMENT]
    return list(dict.fromkeys(long_enough))


@lru_cache(maxsize=64)
def _pattern(values: tuple[str, ...]) -> SecretPattern | None:
    """Return what finds any of these secrets as text, with its characters in any notation."""
    return SecretPattern(values) if values else None


def _holds_encoded(run: str, redaction: Redaction, depth: int) -> bool:
    """Return whether the bytes that a run of characters encodes contain a secret."""
    plain = unquote(re.sub(r"\\[rn]|\s", "", run))
    decoded = []
    if not _NO_DIGIT.search(plain):
        digits = re.sub(r"0[xX]|[^0-9a-fA-F]", "", plain)
        for start in (0, 1):
            even = digits[start:]
            decoded.append(bytes.fromhex(even[: len(even) // 2 * 2]))
    letters = plain.replace("-", "+").replace("_", "/").replace("=", "")
    if _BASE64.fullmatch(letters):
        for start in range(4):
            # The text around a secret changes only the characters at both ends of its Base64.
            part = letters[start:]
            part = part[:-1] if len(part) % 4 == 1 else part
            decoded.append(base64.b64decode(part + "=" * (-len(part) % 4)))
    # An image has few readable characters in a row, so that large ones cost little.
    readable = [
        b"\n".join(_READABLE.findall(data)).decode("utf-8", "replace")
        for data in decoded
    ]
    return any(redaction.contains(text, depth + 1) for text in readable)
