"""Markdown of single cells and tables; untrusted text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tabulate import tabulate


def github(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table in which every cell is escaped."""
    cells = [[escape(cell) for cell in row] for row in rows]
    return tabulate(
        cells, list(map(escape, heads)), tablefmt="github", disable_numparse=True
    )


def escape(text: str) -> str:
    """Return untrusted text escaped for a Markdown table or paragraph, never as markup."""
    line = " ".join(text.splitlines()).replace("\t", " ")
    line = re.sub(r"&(?=#?\w+;)", "&amp;", line)
    escaped = (
        line.replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("`", "'")
    )
    # Links, and addresses that GitHub makes links of.
    escaped = re.sub(r"\](?=[(\[:])", r"\\]", escaped)
    return re.sub(r"(?i)(?<=:)(/)(?=/)|(?<=www)(\.)", r"\\\1\2", escaped)
