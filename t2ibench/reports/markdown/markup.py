"""Markdown of tables and cells, in which untrusted text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tabulate import tabulate


def github(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table in GitHub's form, with every cell escaped."""
    cells = [[escape(cell) for cell in row] for row in rows]
    return tabulate(
        cells, list(map(escape, heads)), tablefmt="github", disable_numparse=True
    )


def escape(text: str) -> str:
    """Return untrusted text as one line of Markdown, escaped so that it is never markup."""
    line = " ".join(text.splitlines()).replace("\t", " ")
    line = re.sub(r"&(?=#?\w+;)", "&amp;", line)
    escaped = line.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")
    # Nothing begins with '<' and a space or digit: 'p < 0.001' is read in a terminal, too.
    escaped = re.sub(r"<(?![ \d])", "&lt;", escaped)
    # Links, and addresses that GitHub makes links of.
    escaped = re.sub(r"\](?=[(\[:])", r"\\]", escaped)
    return re.sub(r"(?i)(?<=:)(/)(?=/)|(?<=www)(\.)", r"\\\1\2", escaped)
