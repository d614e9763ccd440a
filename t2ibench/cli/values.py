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


def share(text: str) -> float:
    """Read a number between 0 and 1.

    Args:
        text: What the user wrote.

    Returns:
        The number.

    Raises:
        argparse.ArgumentTypeError: it is not such a number.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number between 0 and 1")
    return value
