"""Scales and axes of figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.figures.canvas import Canvas


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers to pixels.

    Attributes:
        low: The number at `begin`.
        high: The number at `end`; above `low`.
        begin: Pixels.
        end: Pixels; below `begin` where numbers go up.
    """

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixels of a number."""
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Three to six round numbers."""
        rough = (self.high - self.low) / 4
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= rough)
        first = math.ceil(self.low / step - 1e-9)
        return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def spanning(values: Sequence[float], begin: float, end: float) -> Scale:
    """A scale from the least to the greatest of some numbers, with a margin."""
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return Scale(low - margin, high + margin, begin, end)


def tick(value: float) -> str:
    """A number beside an axis."""
    return f"{value:g}".replace("-", "−")


def draw_axes(canvas: Canvas, across: Scale, up: Scale, x: str, y: str) -> None:
    """Two axes with their ticks and names."""
    canvas.line(across.begin, up.begin, across.end, up.begin)
    canvas.line(across.begin, up.begin, across.begin, up.end)
    for value in across.ticks():
        canvas.line(across(value), up.begin, across(value), up.begin + 4)
        canvas.text(across(value), up.begin + 17, tick(value), "middle")
    for value in up.ticks():
        canvas.line(across.begin - 4, up(value), across.begin, up(value))
        canvas.text(across.begin - 7, up(value) + 4, tick(value), "end")
    canvas.text(across.end, up.begin + 34, f"{x} →", "end")
    canvas.text(across.begin - 34, up.end - 8, f"↑ {y}")


def draw_poles(canvas: Canvas, across: Scale, top: float, axis: Axis) -> None:
    """What both sides of zero mean."""
    canvas.text(across(0) - 8, top, f"◂ {axis.low}", "end", "low")
    canvas.text(across(0) + 8, top, f"{axis.high} ▸", "start", "high")


def draw_lean_axis(canvas: Canvas, across: Scale, top: float) -> None:
    """Zero, and an axis at the bottom with a tick at every half or whole lean that it reaches."""
    foot = canvas.height - 22
    canvas.line(across(0), top, across(0), foot, "zero")
    canvas.line(across.begin, foot, across.end, foot)
    step = 0.5 if across.high < 1.5 else 1.0
    for number in range(-int(across.high / step), int(across.high / step) + 1):
        canvas.line(across(number * step), foot, across(number * step), foot + 4)
        canvas.text(across(number * step), canvas.height - 4, tick(number * step), "middle")
