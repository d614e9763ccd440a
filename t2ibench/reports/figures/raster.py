"""A canvas as PNG, by Pillow alone: for slides and word processors, which often take no SVG."""

from __future__ import annotations

import functools
import hashlib
import io
import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import PIL
from PIL import Image, ImageColor, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from t2ibench.reports.figures.canvas import (
    BOXES,
    DISCS,
    LINES,
    SIZE,
    TEXTS,
    Box,
    Canvas,
    Disc,
    Ink,
    Line,
    Text,
)
from t2ibench.version import __version__

_SOURCE = "t2ibench"  # key of the digest in the file
SCALE = 2  # pixels of the file for a CSS pixel
_SMOOTH = 2  # marks are drawn so much larger, and made smaller
_COLOURS = 128
_DASH = (2.0, 3.0)
# Signs that the font lacks, as corners within a box of 1 × 1 above the base line.
_SIGNS: dict[str, tuple[tuple[float, float], ...]] = {
    "◂": ((0.0, 0.45), (0.7, 0.1), (0.7, 0.8)),
    "▸": ((0.0, 0.1), (0.7, 0.45), (0.0, 0.8)),
    "→": ((0, 0.4), (0.6, 0.4), (0.6, 0.2), (1, 0.45), (0.6, 0.7), (0.6, 0.5), (0, 0.5)),
}
_NAMES = {"α": "alpha", "δ": "delta"}  # letters that it lacks, too
_SIGN = 0.62  # of the size of text

_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def png(canvas: Canvas) -> bytes:
    """A figure as a PNG file."""
    factor = SCALE * _SMOOTH
    size = (math.ceil(canvas.width) * factor, math.ceil(canvas.height) * factor)
    large = Image.new("RGB", size, "#ffffff")
    draw = ImageDraw.Draw(large, "RGBA")
    for mark in canvas.marks:
        if isinstance(mark, Line):
            _line(draw, mark, LINES[mark.name], factor)
        elif isinstance(mark, Disc):
            _disc(draw, mark, DISCS[mark.name], factor)
        elif isinstance(mark, Box):
            _box(draw, mark, BOXES[mark.name], factor)
    image = large.reduce(_SMOOTH)
    draw = ImageDraw.Draw(image)
    for mark in canvas.marks:
        if isinstance(mark, Text):
            _text(draw, mark, TEXTS[mark.name])
    buffer = io.BytesIO()
    small = image.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    made = PngInfo()
    made.add_text(_SOURCE, _source(canvas))
    small.save(buffer, format="PNG", pnginfo=made, dpi=(96 * SCALE, 96 * SCALE))
    return buffer.getvalue()


def is_png_of(file: Path, canvas: Canvas) -> bool:
    """Whether a file is what `png` makes of a figure, so that it need not be made again."""
    try:
        with Image.open(file, formats=["PNG"]) as found:
            source = found.info.get(_SOURCE)
            found.verify()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False
    return source == _source(canvas)


def _source(canvas: Canvas) -> str:
    """What decides the pixels of a figure, as a digest."""
    marks = (canvas.width, canvas.height, canvas.marks)
    content = f"{__version__} {PIL.__version__} {marks}"
    return hashlib.sha256(content.encode()).hexdigest()


def _colour(text: str, opacity: float = 1.0) -> tuple[int, ...]:
    return (*ImageColor.getrgb(text)[:3], round(255 * opacity))


def _line(draw: ImageDraw.ImageDraw, line: Line, ink: Ink, factor: int) -> None:
    width = max(1, round(ink.width * factor))
    colour = _colour(ink.stroke, ink.opacity)
    if not ink.dashed:
        points = [(x * factor, y * factor) for x, y in line.points]
        draw.line(points, colour, width, joint="curve")
        return
    for begin, end in _dashes(line):
        draw.line([(x * factor, y * factor) for x, y in (begin, end)], colour, width)


def _dashes(line: Line) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    (x1, y1), (x2, y2) = line.points[0], line.points[-1]
    length = math.hypot(x2 - x1, y2 - y1)
    on, off = _DASH
    for number in range(math.ceil(length / (on + off))):
        ends = (number * (on + off), min(number * (on + off) + on, length))
        first, last = ((x1 + (x2 - x1) * at / length, y1 + (y2 - y1) * at / length) for at in ends)
        yield first, last


def _disc(draw: ImageDraw.ImageDraw, disc: Disc, ink: Ink, factor: int) -> None:
    outer = disc.radius + (ink.width / 2 if ink.stroke else 0.0)
    inner = disc.radius - (ink.width / 2 if ink.stroke else 0.0)
    for radius, colour in ((outer, ink.stroke), (inner, ink.fill)):
        if colour:
            corners = [
                (disc.x - radius) * factor,
                (disc.y - radius) * factor,
                (disc.x + radius) * factor,
                (disc.y + radius) * factor,
            ]
            draw.ellipse(corners, _colour(colour, ink.opacity))


def _box(draw: ImageDraw.ImageDraw, box: Box, ink: Ink, factor: int) -> None:
    right, bottom = box.x + box.width, box.y + box.height
    left, top = box.x * factor, box.y * factor
    # A box of less than a pixel, such as the band of a value without spread, is a line.
    corners = [left, top, max(left, right * factor - 1), max(top, bottom * factor - 1)]
    draw.rectangle(corners, _colour(ink.fill, ink.opacity))


def _text(draw: ImageDraw.ImageDraw, text: Text, ink: Ink) -> None:
    size = SIZE * SCALE
    runs = list(_runs(text.text, ink.bold))
    widths = [size * _SIGN if font is None else font.getlength(part) for part, font in runs]
    total = sum(widths)
    x = text.x * SCALE - {"start": 0.0, "middle": total / 2, "end": total}[text.anchor]
    y = text.y * SCALE
    for (part, font), width in zip(runs, widths, strict=True):
        if font is None:
            box = size * _SIGN
            draw.polygon([(x + a * box, y - b * box) for a, b in _SIGNS[part]], ink.fill)
        elif isinstance(font, ImageFont.FreeTypeFont):
            draw.text((x, y), part, ink.fill, font, anchor="ls")
        else:  # a bitmap font knows no base line
            draw.text((x, y - size), part, ink.fill, font)
        x += width


def _runs(text: str, bold: bool) -> Iterator[tuple[str, _Font | None]]:
    """Parts of a text, each with its font; None for signs that are drawn."""
    part = ""
    for sign in text:
        if sign not in _SIGNS:
            part += _NAMES.get(sign, sign)
            continue
        if part:
            yield part, _font(bold)
        yield sign, None
        part = ""
    if part:
        yield part, _font(bold)


@functools.cache
def _font(bold: bool) -> _Font:
    """The font of the pages, at the weight of text or of what is set in bold."""
    data = (files("t2ibench.reports") / "static" / "fonts" / "source-sans-3.woff2").read_bytes()
    try:
        font = ImageFont.truetype(io.BytesIO(data), round(SIZE * SCALE))
        font.set_variation_by_axes([600 if bold else 400])
    except (ImportError, OSError, NotImplementedError):  # a Pillow whose FreeType reads no WOFF2
        return ImageFont.load_default(round(SIZE * SCALE))
    return font
