"""The key of a server: read from the environment, checked, and never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.redaction import Redaction, remember

_BEARER = "Authorization"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ApiKey:
    """An API key, read from an environment variable and masked in what a server returns.

    Args:
        variable: The environment variable that has the key.
        value: The key to use if the variable is not set.
        also: Further secrets to hide, which are never sent.
        header: The HTTP header that sends the key; 'Authorization' sends it as a bearer token.

    Raises:
        T2IBenchError: `variable` cannot be the name of a variable, or the key has a character that
            cannot be sent.
    """

    def __init__(
        self,
        variable: str,
        value: str | None = None,
        also: Iterable[str] = (),
        header: str = _BEARER,
    ) -> None:
        if not _NAME.fullmatch(variable):
            # Not shown: it may be the key itself.
            raise T2IBenchError(
                "api_key_env: expected the name of an environment variable, such as "
                "OPENAI_API_KEY.",
                "Put the key into that variable; never give the key itself.",
            )
        self.variable = variable
        self._header = header
        self.value = os.environ.get(variable, "") or value or ""
        if re.search(r"[^\x21-\x7e]", self.value):
            raise T2IBenchError(
                f"The key in {variable} has a space, a line break or a character outside of "
                "ASCII; it cannot be sent.",
                "Set it again, the key alone.",
            )
        remember(self.value)
        self._secrets = Redaction((self.value, *also))

    def __repr__(self) -> str:
        return f"ApiKey({self.variable!r})"

    def __bool__(self) -> bool:
        return bool(self.value)

    def headers(self) -> dict[str, str]:
        """Return the HTTP headers that send the key; empty if there is no key."""
        if not self.value:
            return {}
        is_bearer = self._header == _BEARER
        return {self._header: f"Bearer {self.value}" if is_bearer else self.value}

    def hide(self, text: str) -> str:
        """Return a text from a server with the key masked."""
        return self._secrets.values(text)

    def hide_all(self, value: Any) -> Any:
        """Return a JSON value from a server with the key masked in its texts."""
        return self._secrets.of_json(value)
