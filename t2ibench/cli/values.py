"""Types of flags; argparse prints what they raise."""

from __future__ import annotations

import argparse
from datetime import datetime

from t2ibench.errors import shown

_DIGITS = 1000  # of a whole number; Python itself reads no more than 4300


def positive(text: str) -> int:
    """Read a whole number of 1 or more."""
    if not text.isdecimal() or len(text) > _DIGITS or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a whole number of 1 or more")
    return int(text)


def not_negative(text: str) -> int:
    """Read a whole number of 0 or more."""
    if not text.isdecimal() or len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a whole number of 0 or more")
    return int(text)


def day(text: str) -> str:
    """Read a date."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{shown(text)}' is not a date such as 2026-05-01"
        ) from None


def share(text: str) -> float:
    """Read a number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a number between 0 and 1")
    return value
