"""Where the text of a command goes: to the terminal, or into the file of --output."""

from __future__ import annotations

from pathlib import Path


def print_or_write(text: str, target: Path | None) -> None:
    """Print a text, or write it to a file."""
    from t2ibench.store.files import write_text

    if target is None:
        print(text, end="")
    else:
        write_text(target, text)
