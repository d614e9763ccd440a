"""Where a lean comes from as a figure: images over words, a panel a run, and the parts below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.decimals import readable
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.reports.figures.axes import PixelScale, draw_ticks, spanning, tick
from t2ibench.reports.figures.canvas import SQUARE, Canvas
from t2ibench.reports.figures.facts import facts_of_runs
from t2ibench.reports.figures.frame import Frame
from t2ibench.reports.figures.labels import labels, lines_of, write_label
from t2ibench.reports.figures.text_size import LINE, shortened
from t2ibench.reports.where_sentences import PART_NAMES, SMALL_DECIMALS
from t2ibench.results.schema import Score
from t2ibench.results.where import LeanSource, Where

_PANEL = 300.0  # width, with the room to the left of its axis
_LEFT = 40.0
_RIGHT = 12.0  # for half of the last number of an axis
_GAP = 16.0
_HEIGHT = 210.0  # of a panel's axis
_HEAD = 2 * LINE + 14
_FOOT = 46.0
_COLUMNS = 2
_LETTERS = 34  # of a run's name
_NAMED = 6  # prompts whose names are written
_NAME_WIDTH = 190.0  # of a part, below the panels
_ROW = 22.0
_KEY = (
    ("plain", "lean of a prompt's images"),
    ("hollow", "lean of its rewritten words"),
    ("line", "line of the images' leans over the words'"),
)
# Of the whole lean, on which no test decides.
_WHOLE = "pt"
_CLEAR = "plain"
_KEY_OF_PARTS = (
    (_WHOLE, "all of it, undecided"),
    (_CLEAR, "a part that is clear"),
    (SQUARE, "one that is not"),
)
# The finding that decides on a part of the mean squared lean.
_FINDINGS = {"common": "mean", "following": "slope", "beside": "beside"}


def word_order_file(result: Where) -> str:
    """Return the figure as the content of an SVG file."""
    title = f"{result.task}: where the lean comes from"
    runs = [run.results for run in result.runs]
    return str(Frame(word_order(result), title, facts_of_runs(runs)).svg())


def word_order(result: Where) -> Canvas:
    """Return the figure: each prompt by its words and its images, and the parts of the lean."""
    columns = min(_COLUMNS, len(result.sources))
    width = max(columns * _PANEL + (columns - 1) * _GAP, 2 * _PANEL)
    names = ", ".join(source.name for source in result.sources)
    canvas = Canvas(
        width,
        0.0,
        f"Leans of images over leans of words, of {result.task} in {names}; the table below has "
        "the numbers",
    )
    has_rewritten = any(source.rewritten is not None for source in result.sources)
    key = [entry for entry in _KEY if has_rewritten or entry[0] != "hollow"]
    top = canvas.key(8, key) + 6
    up_values, across_values = _drawn_values(result)
    panel_height = _HEAD + _HEIGHT + _FOOT
    for number, source in enumerate(result.sources):
        row, column = divmod(number, columns)
        left = column * (_PANEL + _GAP)
        y = top + row * panel_height
        across = spanning(across_values, left + _LEFT, left + _PANEL - _RIGHT)
        up = spanning(up_values, y + _HEAD + _HEIGHT, y + _HEAD)
        _draw_panel(canvas, result, source, across, up)
    n_rows = math.ceil(len(result.sources) / columns)
    canvas.height = _draw_parts(canvas, result, top + n_rows * panel_height + 10)
    return canvas


def _drawn_values(result: Where) -> tuple[list[float], list[float]]:
    """Return all leans of images and rewritten words, and all leans of texts, that are drawn."""
    leans = [0.0]
    for source in result.sources:
        leans += [part.value for part in source.split.parts]
        if source.rewritten is not None:
            leans += [part.value for part in source.rewritten.parts]
    return leans, [float(word) for word in result.sources[0].split.words]


def _draw_panel(
    canvas: Canvas,
    result: Where,
    source: LeanSource,
    across: PixelScale,
    up: PixelScale,
) -> None:
    """Draw one run: a point a prompt, with the line of its images over its words."""
    split = source.split
    left, right = across.begin, across.end
    name = shortened(source.name, _LETTERS)
    canvas.text(left, up.end - LINE - 8, name, "start", "strong")
    first = people(result.groups[0], GROUP)
    canvas.text(left, up.end - 8, f"↑ lean of images to {first}", "start")
    canvas.line(left, up.begin, left, up.end)
    for value in up.ticks():
        canvas.line(left - 4, up(value), left, up(value))
        canvas.text(left - 7, up(value) + 4, tick(value), "end")
    draw_ticks(canvas, across, up.begin)
    canvas.text(right, up.begin + 34, f"lean of words to {first} →", "end")
    canvas.line(left, up(0.0), right, up(0.0), "zero")
    middle = float(split.words.mean())
    ends = [
        (across(word), up(split.mean.value + split.slope.value * (word - middle)))
        for word in (float(split.words.min()), float(split.words.max()))
    ]
    canvas.path(ends, "line")
    _draw_prompts(canvas, result, source, across, up)


def _draw_prompts(
    canvas: Canvas,
    result: Where,
    source: LeanSource,
    across: PixelScale,
    up: PixelScale,
) -> None:
    split = source.split
    if source.rewritten is not None:
        named = {part.name: part.value for part in source.rewritten.parts}
        for stimulus, word in zip(result.stimuli, split.words, strict=True):
            if stimulus in named:
                tip = f"{stimulus}, rewritten words {readable(named[stimulus], 2, sign=True)}"
                canvas.dot(across(float(word)), up(named[stimulus]), "hollow", 3.5, tip)
    points = []
    for part, word in zip(split.parts, split.words, strict=True):
        point = (across(float(word)), up(part.value))
        points.append(point)
        tip = (
            f"{part.name}: images {readable(part.value, 2, sign=True)}, words "
            f"{readable(float(word), 2, sign=True)}"
        )
        canvas.dot(*point, "plain", 3.5, tip)
    strongest = sorted(
        range(len(points)), key=lambda number: -abs(split.parts[number].value)
    )
    names = [shortened(part.name, 18) for part in split.parts]
    bounds = (across.begin, up.end, across.end, up.begin)
    lines = lines_of(canvas)
    for label in labels(points, names, strongest, bounds, _NAMED, lines=lines):
        write_label(canvas, label, names[label.number], "")


def _draw_parts(canvas: Canvas, result: Where, top: float) -> float:
    """Draw the parts of each run's mean squared lean with intervals; return where they end."""
    values = [0.0]
    for source in result.sources:
        for part in _parts_of(source):
            ends = (part.score.value, part.score.ci_low, part.score.ci_high)
            values += [end for end in ends if end is not None]
    across = spanning(values, _NAME_WIDTH + 12, canvas.width - 20)
    canvas.text(0, top + 4, "Mean squared lean, and its parts", "start", "strong")
    begin = canvas.key(top + 20, _KEY_OF_PARTS) + 4
    y = begin
    for source in result.sources:
        canvas.text(0, y + 12, shortened(source.name, _LETTERS), "start")
        y += _ROW
        for part in _parts_of(source):
            _draw_part(canvas, across, part, y + _ROW / 2)
            y += _ROW
    canvas.line(across(0.0), begin, across(0.0), y, "zero")
    draw_ticks(canvas, across, y, name="mean squared lean")
    return y + 44


@dataclass(frozen=True, slots=True)
class _DrawnPart:
    """The mean squared lean of a run or a part of it, as a row below the panels.

    Attributes:
        name: What it is called.
        score: Its value and interval.
        look: The mark: whether it is clear by the test that decides on it.
    """

    name: str
    score: Score
    look: str


def _parts_of(source: LeanSource) -> Sequence[_DrawnPart]:
    split = source.split
    rows = [_DrawnPart("all of it", split.total, _WHOLE)]
    scores = {
        "common": split.common,
        "following": split.following,
        "beside": split.beside,
    }
    for key, score in scores.items():
        look = _CLEAR if source.is_clear(_FINDINGS[key]) else SQUARE
        rows.append(_DrawnPart(PART_NAMES[key], score, look))
    return rows


def _draw_part(
    canvas: Canvas, across: PixelScale, part: _DrawnPart, middle: float
) -> None:
    score = part.score
    name = part.name
    if score.value is not None:
        name = f"{name} {readable(score.value, SMALL_DECIMALS)}"
    canvas.label(_NAME_WIDTH, middle, name, _NAME_WIDTH)
    if score.value is None:
        return
    if score.ci_low is not None and score.ci_high is not None:
        canvas.line(
            across(score.ci_low), middle, across(score.ci_high), middle, "line null"
        )
    if part.look == SQUARE:
        canvas.square(across(score.value), middle)
    else:
        canvas.dot(across(score.value), middle, part.look, 4, name)
