"""What templates may do to numbers and texts: write them, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

from t2ibench.reports.html.marks import rail_class
from t2ibench.reports.html.numbers import at, plain, signed


def coded(text: str) -> Markup:
    """A text in which `backticks` set code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = [
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    ]
    return Markup("").join(marked)


def css(text: str) -> str:
    """A text within quotes of a style sheet."""
    return re.sub(r"[^\w .,:·+-]", "", text)


def thousands(number: int) -> str:
    """A count with its thousands apart."""
    return f"{number:,}"


FILTERS: dict[str, Callable[..., object]] = {
    "at": at,
    "coded": coded,
    "css": css,
    "plain": plain,
    "rail_class": rail_class,
    "signed": signed,
    "thousands": thousands,
}
