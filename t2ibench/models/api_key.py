"""The key of a server: read from the environment, checked, and never shown."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

from t2ibench.errors import T2IBenchError

HIDDEN = "***"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORTEST = 6  # shorter ones ('EMPTY', 'none') stand in for a key, and may be words of an answer
_DEEPEST = 100


class ApiKey:
    """A key, and the forms in which a server may send it back.

    Args:
        variable: Name of the environment variable that holds it.
        value: The key itself, where a library has it from elsewhere.
        also: Further secrets to hide, which are not sent.

    Attributes:
        value: The key itself; empty where there is none.

    Raises:
        T2IBenchError: the name is none, or the key cannot be sent.
    """

    def __init__(self, variable: str, value: str | None = None, also: Iterable[str] = ()) -> None:
        if not _NAME.fullmatch(variable):
            # Not shown: it may be the key itself.
            raise T2IBenchError(
                "api_key_env: expected the name of an environment variable, such as "
                "OPENAI_API_KEY.",
                "Put the key into that variable; never give the key itself.",
            )
        self.variable = variable
        self.value = os.environ.get(variable, "") or value or ""
        if re.search(r"[^\x21-\x7e]", self.value):
            raise T2IBenchError(
                f"The key in {variable} has a space, a line break or a character outside of "
                "ASCII; it cannot be sent.",
                "Set it again, the key alone.",
            )
        hides = sorted(set().union(*map(_forms, (self.value, *also))), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, hides))) if hides else None

    def __repr__(self) -> str:
        return f"ApiKey({self.variable!r})"

    def __bool__(self) -> bool:
        return bool(self.value)

    def headers(self) -> dict[str, str]:
        """What a request is sent with."""
        return {"Authorization": f"Bearer {self.value}"} if self.value else {}

    def hide(self, text: str) -> str:
        """A text from the server without the key."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def hide_all(self, value: Any) -> Any:
        """A JSON value from the server without the key."""
        return self._hide_all(value, 0)

    def _hide_all(self, value: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self._hide_all(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {self.hide(k): self._hide_all(item, depth + 1) for k, item in value.items()}
        return value


def _forms(key: str) -> set[str]:
    """The key as it is, in JSON, in a URL, and inside of any text in Base64."""
    if len(key) < _SHORTEST:
        return set()
    forms = {key, json.dumps(key)[1:-1], quote(key), quote(key, safe=""), quote_plus(key)}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # What comes before and after decides the characters at both ends, and only those.
            text = encode(b"\0" * offset + key.encode()).decode().rstrip("=")
            first = -(-offset * 8 // 6)
            last = (offset + len(key)) * 8 // 6
            forms.add(text[first:last])
        forms.add(encode(key.encode()).decode())
    return forms
