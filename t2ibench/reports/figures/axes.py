"""Scales that map numbers to pixels, and the axes of figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from t2ibench.decimals import true_minus
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.figures.canvas import Canvas

AXIS = 34.0  # from an axis to the base line of its name
AXIS_HEIGHT = 40.0  # below an axis, with its numbers and its name
_HALVES = 4.0  # leans, as far as which every half or whole one has a tick


@dataclass(frozen=True, slots=True)
class PixelScale:
    """A linear map of numbers to pixels: `low` lies at pixel `begin`, `high` at pixel `end`."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel at which a number lies."""
        return self.begin + (value - self.low) / (self.high - self.low) * (
            self.end - self.begin
        )

    def ticks(self) -> list[float]:
        """Return round numbers for the ticks, three to six of them."""
        rough = (self.high - self.low) / 4
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(
            unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough
        )
        first = math.ceil(self.low / step - 1e-9)
        return [
            step * multiple
            for multiple in range(first, math.floor(self.high / step + 1e-9) + 1)
        ]

    def to_ticks(self) -> PixelScale:
        """Return the scale extended so that it begins and ends at a tick."""
        step = self.ticks()[1] - self.ticks()[0]
        low = step * math.floor(self.low / step + 1e-9)
        longer = replace(self, low=low, high=step * math.ceil(self.high / step - 1e-9))
        # A longer axis may have fewer ticks.
        return (
            self
            if (longer.low, longer.high) == (self.low, self.high)
            else longer.to_ticks()
        )


def spanning(values: Sequence[float], begin: float, end: float) -> PixelScale:
    """Return a scale that includes all `values`, and begins and ends at ticks."""
    low = min(values)
    high = max(values)
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return PixelScale(low - margin, high + margin, begin, end).to_ticks()


def around_zero(
    values: Sequence[float], begin: float, end: float, least: float = 1.0
) -> PixelScale:
    """Return a scale with 0 in its middle that includes all `values`, and ends at ticks.

    It reaches at least `least`.
    """
    span = max(least, *map(abs, values)) or 1.0
    if not 1 <= span <= _HALVES:
        return PixelScale(-span, span, begin, end).to_ticks()
    span = math.ceil(2 * span - 1e-9) / 2 if span < 1.5 else math.ceil(span - 1e-9)
    return PixelScale(-span, span, begin, end)


def tick(value: float) -> str:
    """Return a number as text for a tick of an axis."""
    return true_minus(f"{value:g}")


def rounded(value: float) -> str:
    """Return a number with its sign and three significant digits, for a tooltip."""
    return true_minus(f"{value:+.3g}")


def draw_axes(
    canvas: Canvas, across: PixelScale, up: PixelScale, x: str, y: str
) -> None:
    """Draw a horizontal and a vertical axis, with ticks and names."""
    canvas.line(across.begin, up.begin, across.begin, up.end)
    draw_ticks(canvas, across, up.begin)
    for value in up.ticks():
        canvas.line(across.begin - 4, up(value), across.begin, up(value))
        canvas.text(across.begin - 7, up(value) + 4, tick(value), "end")
    canvas.label(across.end, up.begin + 30, f"{x} →", across.end, "end")
    canvas.label(across.begin - 34, up.end - 14, f"↑ {y}", canvas.width, "start")


def draw_poles(canvas: Canvas, across: PixelScale, top: float, axis: Axis) -> None:
    """Write the names of both poles above an axis, to the left and right of its zero."""
    low = across(0) - 8
    high = across(0) + 8
    names = [people(name, GROUP) for name in (axis.low, axis.high)]
    canvas.label(low, top - 4, f"◂ {names[0]}", low, "end", "low")
    canvas.label(high, top - 4, f"{names[1]} ▸", canvas.width - high, "start", "high")


def draw_lean_axis(
    canvas: Canvas, across: PixelScale, top: float, name: str = "lean"
) -> None:
    """Draw an axis of leans with its ticks and name, and a vertical line at zero."""
    foot = canvas.height - AXIS_HEIGHT
    canvas.line(across(0), top, across(0), foot, "zero")
    if not 1 <= across.high <= _HALVES:
        draw_ticks(canvas, across, foot, name=name)
        return
    canvas.line(across.begin, foot, across.end, foot)
    step = 0.5 if across.high <= 1.5 else 1.0
    for number in range(-int(across.high / step), int(across.high / step) + 1):
        canvas.line(across(number * step), foot, across(number * step), foot + 4)
        canvas.text(across(number * step), foot + 18, tick(number * step), "middle")
    _draw_name(canvas, across, foot, name)


def draw_ticks(
    canvas: Canvas,
    across: PixelScale,
    y: float,
    *,
    name: str = "",
    per_cent: bool = False,
) -> None:
    """Draw a horizontal axis at height `y`, with ticks, their numbers, and its name below."""
    canvas.line(across.begin, y, across.end, y)
    for value in across.ticks():
        canvas.line(across(value), y, across(value), y + 4)
        shown = f"{100 * value:g} %" if per_cent else tick(round(value, 6))
        canvas.text(across(value), y + 17, shown, "middle")
    _draw_name(canvas, across, y, name)


def _draw_name(canvas: Canvas, across: PixelScale, y: float, name: str) -> None:
    """Write the name of an axis at height `y` below its middle; none where it is empty."""
    if name:
        canvas.text((across.begin + across.end) / 2, y + AXIS, name, "middle")
