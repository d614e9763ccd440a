"""Draws `ToneStrips`; imported when a page is written."""

from __future__ import annotations

from t2ibench.plugins import DrawnFigure, Samples, TaskView, canvas_of, finished
from t2ibench_example.figure import ToneStrips

BOX, GAP = 8.0, 2.0  # pixels of a side, and between two boxes


def draw(figure: ToneStrips, task: TaskView, samples: Samples) -> DrawnFigure | None:
    """A strip of boxes for each prompt, the bright images first; None without any answer."""
    canvas = canvas_of(figure)
    rows: list[tuple[object, ...]] = []
    y = 0.0
    for prompt in figure.prompts:
        tones = [row["tone"] for row in samples if row["prompt"] == prompt]
        bright = tones.count("bright")
        rows.append((prompt, bright, len(tones)))
        canvas.text(0, y + 12, f"{prompt}: {bright} of {len(tones)} bright")
        y += 20
        a_line = int(canvas.width // (BOX + GAP))
        for number in range(len(tones)):
            line, column = divmod(number, a_line)
            kind = "soft" if number < bright else "bar"
            canvas.box(column * (BOX + GAP), y + line * (BOX + GAP), BOX, BOX, kind)
        y += (BOX + GAP) * -(-len(tones) // a_line) + 10
    canvas.height = y
    if not any(total for _, _, total in rows):
        return None
    return finished(figure, canvas, ("prompt", "bright", "images"), rows)
