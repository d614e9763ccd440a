"""Template filters that format numbers and texts."""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

from t2ibench.reports.html.marks import bar_class
from t2ibench.reports.html.numbers import at, plain, signed


def coded(text: str) -> Markup:
    """Return a text with its `backtick` parts as code elements."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = [
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    ]
    return Markup("").join(marked)


def css(text: str) -> str:
    """Return a text as a quoted string for a style sheet."""
    return re.sub(r"[^\w .,:·+-]", "", text)


def thousands(number: int) -> str:
    """Format a count with thousands separators."""
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
