"""Write down at which stage, and for which categories, a filter declined an image; read it again.

Both are part of the stored reason, behind the server's words, so that every run has one form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_START = " [moderation: "
_FORM = re.compile(r" \[moderation: (?P<stage>[\w-]*);(?P<categories>[^\]]*)\]$")
_NOT_IN_NAMES = re.compile(r"[^\w/ -]+")
_LONGEST = 60  # characters of a category's name
_MOST = 12  # categories that are written down


def with_moderation(
    reason: str, stage: str | None, categories: Iterable[str] = ()
) -> str:
    """Return a reason with the stage and the categories of a filter; as it is without both.

    Examples:
        >>> with_moderation("the server replied 400: no", "input", ["violence", "sexual"])
        'the server replied 400: no [moderation: input; sexual, violence]'
        >>> with_moderation("the server replied 400: no", None)
        'the server replied 400: no'
    """
    names = {_NOT_IN_NAMES.sub(" ", name).strip()[:_LONGEST] for name in categories}
    listed = ", ".join(sorted(name for name in names if name)[:_MOST])
    if not stage and not listed:
        return reason
    plain = re.sub(r"[^\w-]", "", stage or "")
    separator = " " if listed else ""
    return f"{reason}{_START}{plain or 'unknown'};{separator}{listed}]"


def categories_of(reason: str | None) -> tuple[str, ...]:
    """Return the categories that a filter named in a stored reason.

    Examples:
        >>> categories_of("no [moderation: input; sexual, violence]")
        ('sexual', 'violence')
        >>> categories_of("no [moderation: output;]"), categories_of(None)
        ((), ())
    """
    match = _FORM.search(reason or "")
    if match is None:
        return ()
    names = (name.strip() for name in match["categories"].split(","))
    return tuple(name for name in names if name)


def stage_of(reason: str | None) -> str | None:
    """Return the stage that a filter named in a stored reason; None without one.

    Examples:
        >>> stage_of("no [moderation: output;]")
        'output'
    """
    match = _FORM.search(reason or "")
    stage = match["stage"] if match is not None else ""
    return None if stage in {"", "unknown"} else stage
