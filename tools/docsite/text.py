"""Text of others inside Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>&#|!~^=$\"':+-]")


def escaped(text: object) -> str:
    """Text as Markdown that shows just this text, in one line."""
    return _SPECIAL.sub(
        lambda found: f"&#{ord(found[0])};", " ".join(str(text).split())
    )


def code(text: object) -> str:
    """Text as code."""
    return f"<code>{escaped(text)}</code>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of cells that are escaped already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def listed(items: Iterable[str]) -> str:
    """A Markdown list of items that are escaped already."""
    return "".join(f"- {item}\n" for item in items)


def folded(title: str, body: str) -> str:
    """A block that opens on a click; its body is HTML."""
    return f"<details><summary>{title}</summary>\n{body}\n</details>\n"
