"""Filters of page templates that format numbers and texts."""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

from t2ibench.reports.html.marks import bar_class
from t2ibench.reports.html.numbers import at, plain, signed


def coded(text: str) -> Markup:
    """Return a text as HTML, with the parts in `backticks` as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = [
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    ]
    return Markup("").join(marked)


def css(text: str) -> str:
    """Return a text without the characters that could end a quoted string in a style sheet."""
    return re.sub(r"[^\w .,:·+-]", "", text)


def thousands(number: int) -> str:
    """Return a count as text, with commas between thousands."""
    return f"{number:,}"


FILTERS: dict[str, Callable[..., object]] = {
    "at": at,
    "coded": coded,
    "css": css,
    "plain": plain,
    "bar_class": bar_class,
    "signed": signed,
    "thousands": thousands,
}
