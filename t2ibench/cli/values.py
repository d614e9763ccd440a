"""Types of flags; argparse prints what they raise."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Read a whole number of 1 or more.

    Args:
        text: What the user wrote.

    Returns:
        The number.

    Raises:
        argparse.ArgumentTypeError: it is not such a number.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of 1 or more")
    return int(text)


def not_negative(text: str) -> int:
    """Read a whole number of 0 or more.

    Args:
        text: What the user wrote.

    Returns:
        The number.

    Raises:
        argparse.ArgumentTypeError: it is not such a number.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of 0 or more")
    return int(text)
