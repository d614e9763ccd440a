"""The bundled fonts of figure files, and which letters they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files

STYLES = ("regular", "bold")
# First and last letters of the small fonts: Latin and Greek ones, punctuation, and signs. The small
# fonts have a third of the letters, and a PDF of them takes half the time to write.
# tools/write_small_fonts.py writes them.
COMMON_LETTERS = (
    ("\u0000", "\u017f"),
    ("\u03b1", "\u03c9"),
    ("\u2010", "\u25ff"),
)
# First and last letters of what the bundled fonts lack: from Armenian on, and East Asian ones.
_LETTERS_LACKED = (
    ("\u0530", "\u1dff"),
    ("\u2e80", "\ufdff"),
    ("\ufe70", "\uffdc"),
    ("\U00010000", "\U000323af"),
)


@contextmanager
def font_files(*, small: bool = False) -> Iterator[list[str]]:
    """Context that gives the paths of the bundled fonts, first regular, then bold.

    Args:
        small: Whether these are the small fonts, which have only the common letters.
    """
    folder = files("t2ibench.reports") / "static" / "fonts"
    size = "-small" if small else ""
    names = [f"figure-sans-{style}{size}.ttf" for style in STYLES]
    with ExitStack() as stack:
        yield [str(stack.enter_context(as_file(folder / name))) for name in names]


def has_common_letters(text: str) -> bool:
    """Return whether the small fonts have all letters of a text.

    Examples:
        >>> [has_common_letters(name) for name in ("Ärztin → +0.5", "врач", "護士")]
        [True, False, False]
    """
    return all(_is_within(letter, COMMON_LETTERS) for letter in set(text))


def needs_system_fonts(text: str) -> bool:
    """Return whether a text has letters that the bundled fonts lack, such as Chinese ones.

    Examples:
        >>> [needs_system_fonts(name) for name in ("Ärztin, врач", "護士", "אחות")]
        [False, True, True]
    """
    return any(_is_within(letter, _LETTERS_LACKED) for letter in set(text))


def _is_within(letter: str, ranges: Sequence[tuple[str, str]]) -> bool:
    return any(first <= letter <= last for first, last in ranges)
