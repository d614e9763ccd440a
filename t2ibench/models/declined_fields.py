"""Find the field of a request that a server rejects."""

from __future__ import annotations

import re
from collections.abc import Collection

from t2ibench.models.server_errors import ServerMessage

# Words by which a server rejects a field's value rather than the field.
_BOUNDS = re.compile(
    r"too (large|long|big|high|small|low)|(maximum|minimum|context) (value|length|allowed)"
    r"|context window|at (most|least)\b|(less|greater) than|exceed",
    re.IGNORECASE,
)


def declined_field(message: ServerMessage, sent: Collection[str]) -> str | None:
    """Return the `sent` field that a server's error names as rejected; None if none is certain.

    The message has to be without the names of model and prompt, in which words like 'seed' occur.
    """
    for name in message.fields:
        if name.rpartition(".")[2] in sent:
            return name.rpartition(".")[2]
    if message.fields:
        return None
    named = [
        name
        for name in sent
        if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", message.text)
    ]
    return named[0] if len(named) == 1 else None


def is_out_of_bounds(message: ServerMessage) -> bool:
    """Return whether a server rejects only the value of a field, as too large or too small."""
    return _BOUNDS.search(message.text) is not None
