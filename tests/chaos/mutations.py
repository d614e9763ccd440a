"""Files with something changed: bytes, lines, values of a structure, parts of a workbook."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from tests.chaos.tools import altered, any_text, dumped, spliced

# What means something to one of the readers.
_PIECES = any_text(
    [
        ",",
        ";",
        "\n",
        "\r",
        "\t",
        '"',
        "'",
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "? ",
        "<<: ",
        "&a ",
        "*a ",
        "!!set ",
        "!!binary x",
        "|\n",
        "#",
        "---\n",
        "{stimulus}",
        "{a stimulus}",
        "{prompt}",
        "no",
        "~",
        "null",
        "NaN",
        ".inf",
        "1e999",
        "2024-13-45",
        "9" * 5000,
        "-0",
        "0x1F",
        "²",
        "\ufeff",
        "\u202e",
        "\x00",
        "\\u0000",
        "\\ud800",
        "%00",
        "&#0;",
        "<think>",
        "</think>",
        "=1+1",
        "../../x",
        "data:image/png;base64,",
        "http://169.254.169.254/",
    ]
)
_XML_PIECES = any_text(
    [
        "<",
        "/>",
        '"',
        "&amp;",
        "&x;",
        "<!--",
        "-->",
        "<![CDATA[",
        "<!DOCTYPE x>",
        '<c r="A1" t="s"><v>9</v></c>',
        '<c r="XFD1048576" t="d"><v>1</v></c>',
        '<mergeCell ref="A1:B2"/>',
        "<f>1/0</f>",
        "\x00",
        "9" * 400,
    ]
)


def changed(
    data: DataObject,
    name: str,
    whole: bytes,
    sealing: Callable[[Any], Any] | None = None,
) -> bytes:
    """A file with something in it changed.

    Args:
        data: What draws.
        name: The name of the file, whose ending says what it is.
        whole: Its content.
        sealing: What makes a changed JSON value pass its checksum.
    """
    if whole.startswith(b"PK\x03\x04") and data.draw(st.integers(0, 5)):
        return _workbook(data, whole)
    how = data.draw(st.sampled_from(["value", "value", "value", "lines", "bytes"]))
    if how == "value":
        values = _values(data, name, whole, sealing)
        if values is not None:
            return values
    if how == "lines":
        return _lines(data, whole)
    content = spliced(data, whole, _PIECES)
    return content if data.draw(st.integers(0, 9)) else data.draw(_PIECES)


def _values(
    data: DataObject,
    name: str,
    whole: bytes,
    sealing: Callable[[Any], Any] | None,
) -> bytes | None:
    """The file with values of its structure changed; None where it has none."""
    if name.endswith((".yaml", ".yml")):
        # Dates are text in JSON.
        plain = json.loads(json.dumps(yaml.safe_load(whole), default=str))
        value = altered(data, plain)
        if data.draw(st.booleans()):
            return dumped(value)
        try:
            return yaml.safe_dump(value, sort_keys=False, width=96).encode()
        except (yaml.YAMLError, ValueError, OverflowError):
            return dumped(value)
    try:
        if name.endswith(".jsonl"):
            rows = altered(data, [json.loads(line) for line in whole.splitlines()])
            rows = rows if isinstance(rows, list) else [rows]
            return b"".join(dumped(row) + b"\n" for row in rows)
        value = altered(data, json.loads(whole))
    except ValueError:
        return None
    if sealing is not None and data.draw(st.integers(0, 4)):
        value = sealing(value)
    return dumped(value)


def _lines(data: DataObject, whole: bytes) -> bytes:
    """Lines that are left out, doubled, exchanged or moved to the side."""
    lines = whole.splitlines(keepends=True) or [b""]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        other = data.draw(st.integers(0, len(lines) - 1))
        how = data.draw(st.sampled_from(["remove", "double", "exchange", "indent"]))
        if how == "remove":
            lines[place] = b""
        elif how == "double":
            lines.insert(other, lines[place])
        elif how == "exchange":
            first = lines[place]
            lines[place] = lines[other]
            lines[other] = first
        else:
            lines[place] = b" " * data.draw(st.integers(1, 4)) + lines[place].lstrip()
    return b"".join(lines)


def _workbook(data: DataObject, whole: bytes) -> bytes:
    """A workbook with one of its parts changed, left out or doubled, and packed again."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheets = [name for name in parts if "sheet" in name or "shared" in name]
    name = data.draw(st.sampled_from([*sheets, *sheets, *parts]))
    how = data.draw(st.sampled_from(["splice", "splice", "splice", "remove", "copy"]))
    if how == "splice":
        parts[name] = spliced(data, parts[name], _XML_PIECES)
    elif how == "remove":
        del parts[name]
    else:
        parts[data.draw(st.sampled_from(sorted(parts)))] = parts[name]
    return _packed(parts)


def _packed(parts: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()
