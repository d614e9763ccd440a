"""Decoding of text files saved by any common program."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

from t2ibench.errors import T2IBenchError, shown

_WIDTH = 400  # characters of a path that a message shows
# The longer mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Control characters that no text of a person contains; a file with them is no text.
_NO_TEXT = frozenset(range(32)) - set(b"\t\n\v\f\r\x1a\x1b")


class DecodedText(NamedTuple):
    """A decoded text, and a note if the encoding was guessed."""

    text: str
    note: str | None = None


def decode_text(data: bytes, path: Path) -> DecodedText:
    """Return a file's bytes as text, read as UTF-8, UTF-16 or UTF-32, or else as Windows-1252.

    Windows-1252 is what spreadsheets write under Windows where they are not asked for UTF-8. It is
    the last resort, and the note names it, because other encodings of one byte look the same.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return DecodedText(_decoded(data[len(mark) :], encoding, path))
    unmarked = _without_mark(data)
    if unmarked is not None:
        return DecodedText(_decoded(data, unmarked, path))
    try:
        return DecodedText(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if _NO_TEXT.intersection(data):
            raise _no_text(path, line) from None
        return _as_windows_1252(data, path, line)


def _decoded(data: bytes, encoding: str, path: Path) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace")
        raise _no_text(path, before.count("\n") + 1) from None


def _without_mark(data: bytes) -> str | None:
    """Return the encoding of UTF-16 without a byte order mark, judging by zero bytes; else None."""
    sample = data[:4096]
    if len(sample) < 8 or b"\0" not in sample:
        return None
    half = len(sample) // 2
    if sample[1::2].count(0) > half * 0.7 and not sample[0::2].count(0):
        return "utf-16-le"
    if sample[0::2].count(0) > half * 0.7 and not sample[1::2].count(0):
        return "utf-16-be"
    return None


def _as_windows_1252(data: bytes, path: Path, line: int) -> DecodedText:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise _no_text(path, line) from None
    example = text.splitlines()[line - 1] if line <= len(text.splitlines()) else ""
    note = (
        f"{shown(path, _WIDTH)} is not UTF-8 and was read as Windows-1252: check line {line}, "
        f"'{shown(example.strip(), 60)}'. Saved as UTF-8 (in Excel: CSV UTF-8), it needs no guess."
    )
    return DecodedText(text, note)


def _no_text(path: Path, line: int) -> T2IBenchError:
    return T2IBenchError(
        f"{shown(path, _WIDTH)}:{line} is not UTF-8 text.",
        "Save it as CSV UTF-8 or as .xlsx.",
    )
