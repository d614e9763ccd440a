"""Taking secrets out of what is shown or written about a command."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence

HIDDEN = "***"
# Words of a name that say it is a secret's: an api_key, but neither a KeyError nor an author.
_WORD = (
    "(?:(?<![a-z])|api)key(?![a-z])|token(?![a-z])|secret|passw|credential|"
    "auth(?:orization)?(?![a-z])|bearer"
)
_NAME = rf"[\w.-]*(?:{_WORD})[\w.-]*"
_NAMED = re.compile(
    rf"(?i)(?<![\w.-])({_NAME})([\"']?\s*[=:]\s*)"
    r"(\"[^\"]*\"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s,&]+)"
)
_IS_NAME = re.compile(rf"(?i){_NAME}")
_USER = re.compile(r"(://)([^/@\s]+)@")
# What keys of well-known services look like, wherever they stand.
_KEYS = re.compile(r"\b(?:sk-|hf_|gh[pousr]_|AKIA|AIza|xox[abp]-)[\w-]{8,}")
_ENV = re.compile(r"(?i)\w*env\s*=\s*[\"']?(\w+)")
_SHORTEST = 6  # characters of a secret; shorter ones would hide every 'true'


class Redacted:
    """Knows the secrets of a command and of its environment.

    Args:
        argv: The words of the command.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = list(argv)
        named = {match.group(1) for word in argv for match in _ENV.finditer(word)}
        values = [os.environ.get(name, "") for name in named]
        values += [value for name, value in os.environ.items() if _IS_NAME.fullmatch(name)]
        values += [match.group(3).strip("\"'") for word in argv for match in _NAMED.finditer(word)]
        for match in (match for word in argv for match in _USER.finditer(word)):
            values += [match.group(2), match.group(2).partition(":")[2]]
        values += self._after_flags()
        self._secrets = _longest_first(values)

    def _after_flags(self) -> list[str]:
        """Words that follow a flag such as --token."""
        pairs = zip(self._argv, self._argv[1:], strict=False)
        return [word for flag, word in pairs if flag[:2] == "--" and _IS_NAME.fullmatch(flag[2:])]

    def of(self, text: str) -> str:
        """A text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        text = _NAMED.sub(rf"\1\2{HIDDEN}", text)
        return _KEYS.sub(HIDDEN, _USER.sub(rf"\1{HIDDEN}@", text))

    def command(self) -> str:
        """The command, to be read and run again by whoever has the secrets."""
        return self.of(shlex.join(["t2ibench", *self._argv]))


def _longest_first(values: Iterable[str]) -> list[str]:
    found = {value for value in values if len(value) >= _SHORTEST}
    return sorted(found, key=lambda value: (-len(value), value))
