"""No text of a figure is struck by a line, covers another text, or leaves the figure."""

from __future__ import annotations

import functools
import io
import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageFont

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.answer_counts import (
    COLOURS,
    CountedAttribute,
    CountedPrompt,
    ShownAttribute,
    ShownRow,
    class_colours,
)
from t2ibench.methods.core.presentation import (
    Apart,
    Arrows,
    Axis,
    Bars,
    Combinations,
    Distribution,
    Panel,
    Panels,
    Quantity,
    Scatter,
)
from t2ibench.reports.figures.answer_bars import who_is_shown
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.facts import facts_of_answers
from t2ibench.reports.figures.figure import DrawnFigure, draw
from t2ibench.reports.figures.files import SCALE, pdf, png
from t2ibench.reports.figures.forest import forest
from t2ibench.reports.figures.frame import FACTS, Frame
from t2ibench.reports.figures.labels import Rectangle, Segment, meet, strikes
from t2ibench.reports.figures.marks import Box, Line, Mark, Strokes, Text
from t2ibench.reports.figures.patterns import pattern_of
from t2ibench.reports.figures.text_size import SIZE, SMALL, text_width, wrapped
from t2ibench.reports.html import run_page
from t2ibench.reports.view import TaskView, run_view
from t2ibench.results.schema import Row, Score
from tests import hand

NAMES = {
    "plain": "nurse {}",
    "long": "a rather long name of an occupation that nobody would give to a row, number {}",
    "capitals": "SENIOR MANAGER OF MMM AND WWW {}",
    "unbroken": "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen{}",
    "chinese": "在繁忙的急诊室里照顾病人的护士{}",
    "arabic": "ممرضة تعتني بالمرضى في مستشفى مزدحم {}",
    "hebrew": "אחות בבית חולים {}",
}
CLASSES = ("male", "female", "nonbinary")


@functools.cache
def font(bold: bool) -> ImageFont.FreeTypeFont:
    name = f"figure-sans-{'bold' if bold else 'regular'}.ttf"
    with as_file(files("t2ibench.reports") / "static" / "fonts" / name) as path:
        return ImageFont.truetype(str(path), 120)


@functools.cache
def advance(letter: str, bold: bool) -> float:
    """The width of a letter in the font of the files; of one that it lacks, a safe one."""
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if ord(letter) >= 0x530 and unicodedata.category(letter).startswith("L"):
        return 0.55
    return font(bold).getlength(letter) / 120


def real_width(text: Text) -> float:
    size = SMALL if text.name == FACTS else SIZE
    bold = text.name in {"strong", "low", "high"}
    return size * sum(advance(letter, bold) for letter in text.text)


def rectangle(text: Text) -> Rectangle:
    """What a text covers, without the white above small letters."""
    width = real_width(text)
    left = text.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * width
    return left, text.y - 8.0, left + width, text.y + 2.0


def strokes_of(mark: Mark) -> list[Segment]:
    if isinstance(mark, Line):
        return [(*start, *end) for start, end in itertools.pairwise(mark.points)]
    if isinstance(mark, Strokes):
        return list(mark.segments)
    return []


def collisions(canvas: Canvas) -> Iterator[str]:
    """What is wrong with the texts of a figure."""
    texts: list[tuple[Rectangle, str]] = []
    lines = np.empty((0, 4))
    for mark in canvas.marks:
        if strokes := strokes_of(mark):
            lines = np.vstack([lines, strokes])
        if isinstance(mark, Box) and mark.name == "plate":
            # What a plate covers cannot strike the text on it.
            lines = _without(lines, mark)
        if isinstance(mark, Text) and mark.text:
            texts.append((rectangle(mark), mark.text))
    for box, text in texts:
        inside = box[0] >= -1 and box[2] <= canvas.width + 1 and box[1] >= -1
        if not inside or box[3] > canvas.height + 1:
            yield f"{text!r} leaves the figure: {box}"
        near = lines[_are_near(box, lines)].tolist()
        if strikes(box, near):
            yield f"{text!r} is struck by one of {near}"
    for (box, text), (other_box, other) in itertools.combinations(texts, 2):
        if meet(box, other_box):
            yield f"{text!r} covers {other!r}"


def _without(lines: Float64Array, plate: Box) -> Float64Array:
    """The parts of lines that a plate leaves; those that meet the plate are cut into short ones."""
    area = (plate.x, plate.y, plate.x + plate.width, plate.y + plate.height)
    near = _are_near(area, lines)
    parts = [
        part
        for line in lines[near].tolist()
        for part in _short_parts(line)
        if not strikes(area, [part])
    ]
    return np.vstack([lines[~near], np.array(parts).reshape(-1, 4)])


def _short_parts(line: Segment) -> Iterator[Segment]:
    count = 200
    x, y, end_x, end_y = line
    steps = [
        (x + (end_x - x) * step / count, y + (end_y - y) * step / count)
        for step in range(count + 1)
    ]
    return ((*start, *end) for start, end in itertools.pairwise(steps))


def _are_near(box: Rectangle, lines: Float64Array) -> npt.NDArray[np.bool_]:
    """Whether the rectangle around each line meets a box; there are thousands of lines."""
    left, top = np.minimum(lines[:, :2], lines[:, 2:]).T
    right, bottom = np.maximum(lines[:, :2], lines[:, 2:]).T
    near: npt.NDArray[np.bool_] = (
        (left <= box[2]) & (box[0] <= right) & (top <= box[3]) & (box[1] <= bottom)
    )
    return near


def names_of(kind: str, count: int) -> list[str]:
    return [NAMES[kind].format(number) for number in range(count)]


def task_of(rows: list[Row], **scores: Score) -> TaskView:
    estimate = hand.mean_lean({"x": [1.0, 1.0, 1.0, -1.0]})
    record = hand.record(estimate, by=rows, scores=scores)
    return run_view(hand.results(a=record)).tasks[0]


def score(value: float, spread: float = 0.1, p: float = 0.001) -> Score:
    return Score(
        value=value, ci_low=value - spread, ci_high=value + spread, p=p, p_holm=p
    )


def task_with_scores(names: Sequence[str]) -> TaskView:
    rows = []
    for number, name in enumerate(names):
        value = -0.9 + 1.8 * ((number * 7) % 60) / 60
        share = ((number * 11) % 60) / 60
        scores = {
            "lean": score(value),
            "words": Score(value=value / 3),
            "share": score(share),
            "off": score(share - 0.4, p=0.001 if number % 3 else 0.5),
            "apart": score(abs(value)),
            "mad": Score(value=abs(value)),
            "cas:a rather long counterfactual": Score(value=share),
            "cas:male": Score(value=1 - share),
        }
        rows.append(Row(name=name, scores=scores))
        joint = {
            "joint_share": Score(value=share / 3),
            "independent_share": Score(value=0.2),
            "excess": score(share / 3 - 0.2, 0.05),
        }
        rows.append(Row(name=name, group="gender x age", scores=joint))
    return task_of(rows, apart=score(0.5), group_distance_of_halves=score(0.01, 0.02))


def shown_attribute(names: Sequence[str]) -> ShownAttribute:
    """Answers about rows, from all of one class to a few of each."""
    rows = []
    for number, name in enumerate(names):
        counts = {"male": float(number % 11), "female": 10.0 - number % 11}
        if number % 5 == 1:
            counts["nonbinary"] = 2.0
        counted = CountedPrompt(name, counts, unanswered=number % 3)
        most = max(counts, key=counts.__getitem__)
        clear = number % 2 == 0
        interval = None if number == 3 else (0.55, 1.0)
        rows.append(ShownRow(counted, name, most, interval, clear, "person gender"))
    attribute = CountedAttribute(
        "person gender", CLASSES, tuple(row.counted for row in rows)
    )
    return ShownAttribute(attribute, tuple(rows))


LONG_AXIS = Axis("African American names with pleasant words", "people with light skin")


def figures(kind: str, count: int) -> Iterator[DrawnFigure]:
    """Every kind of figure of as many rows with names of a kind."""
    names = names_of(kind, count)
    task = task_with_scores(names)
    yield who_is_shown(shown_attribute(names))
    share = Quantity("share of those who are named so in the answers", "share")
    given = {name: (number % 13) / 13 for number, name in enumerate(names)}
    specs = [
        Arrows("t", "words", "lean", LONG_AXIS, "c"),
        Scatter("t", Quantity("share in a statistic with a long name", given=given), share, "c",
                diagonal=True, intervals=True, difference="off"),
        Scatter("t", Quantity("x", "words"), Quantity("y", "lean"), "c"),
        Bars("t", "cas:", "mad", "c", axis="likeness to the counterfactual"),
        Combinations("t", "gender x age", "c"),
        Apart("t", "apart", "group_distance_of_halves", "c"),
    ]  # fmt: skip
    columns = tuple(names[:6])
    items = tuple(
        (name, (0.5, None, 1.0, 0.2, 0.1, 0.0)[: len(columns)]) for name in names
    )
    panel = Panel(names[0], "r", columns, items)
    specs.append(Panels("t", lambda _: [panel] * 4, None, "thing", "d", "c"))  # type: ignore[arg-type]
    for spec in specs:
        drawn = draw(spec, task, [])
        if drawn is not None:
            yield drawn
    samples = [
        {"concept": name, "lean": -0.9 + 1.8 * number / 30}
        for name in names[:3] for number in range(30)
    ]  # fmt: skip
    drawn = draw(Distribution("t", "lean", "concept", LONG_AXIS, "c"), task, samples)
    assert drawn is not None
    yield drawn


@pytest.mark.parametrize(
    ("kind", "count"),
    [("plain", 60), ("plain", 1), ("long", 60), *((kind, 12) for kind in NAMES)],
)
def test_no_text_is_struck_or_covered(kind: str, count: int) -> None:
    for drawn in figures(kind, count):
        assert list(collisions(drawn.canvas)) == [], drawn.title


@pytest.mark.parametrize("number", range(COLOURS))
def test_a_pattern_is_seen_in_grey(number: int) -> None:
    """A solid class has one grey; every other has light and dark places within its edge."""
    canvas = Canvas(100, 30, "t")
    canvas.patterned(10, 5, 80, 20, f"k{number}")
    frame = Frame(canvas, "")
    image = Image.open(io.BytesIO(png(str(frame.svg())))).convert("L")
    box = (26, frame.top + 7, 102, frame.top + 23)
    inner = image.crop(tuple(int(end * SCALE) for end in box))
    darkest, lightest = inner.getextrema()
    pattern = pattern_of(number)
    if pattern == "outline":
        assert darkest == lightest == 255
    elif pattern == "solid":
        assert lightest == darkest < 140
    else:
        assert darkest < 140 and lightest == 255


def test_classes_of_a_question_have_different_patterns() -> None:
    races = ["white", "black", "asian", "latino", "middle eastern", "indian"]
    for classes in (CLASSES, races, ("light skin", "dark skin")):
        patterns = [pattern_of(number) for number in class_colours(classes).values()]
        assert len(set(patterns)) == len(classes)


def test_a_bar_has_a_part_for_each_answer() -> None:
    drawn = who_is_shown(shown_attribute(["nurse", "chef"]))
    boxes = [mark for mark in drawn.canvas.marks if isinstance(mark, Box)]
    key = [box.name for box in boxes if box.width == 18]
    assert key == ["k0", "k1", "k2", "none"]
    parts = [box for box in boxes if box.width != 18 and box.name != "plate"]
    by_row: dict[float, list[Box]] = {}
    for part in parts:
        by_row.setdefault(part.y, []).append(part)
    # The nurse: 10 women; the chef: 1 man, 9 women, 2 nonbinary people, 1 without an answer.
    chef, nurse = (by_row[y] for y in sorted(by_row))
    assert [part.name for part in nurse] == ["k1"]
    assert [part.name for part in chef] == ["k0", "k1", "k2", "none"]
    whole = nurse[0].width
    widths = [part.width / whole for part in chef]
    assert widths == pytest.approx([1 / 13, 9 / 13, 2 / 13, 1 / 13])
    texts = [mark.text for mark in drawn.canvas.marks if isinstance(mark, Text)]
    assert "share of the images" in texts and "women 55 to 100 %" in texts
    assert drawn.rows[0] == ("chef", 1.0, 9.0, 2.0, 1, 0.55, 1.0, "no")


def test_more_than_sixty_rows_are_cut_and_counted() -> None:
    drawn = who_is_shown(shown_attribute(names_of("plain", 75)))
    texts = [mark.text for mark in drawn.canvas.marks if isinstance(mark, Text)]
    assert sum(text.startswith("nurse") for text in texts) == 60
    assert "The 60 of 75" in drawn.caption and len(drawn.rows) == 75


def test_a_file_has_its_title_and_facts_in_its_frame() -> None:
    canvas = Canvas(300, 40, "t")
    canvas.text(0, 20, "nurse")
    title = "Who is shown (gender): a model with a rather long name, 40 occupations"
    facts = "judge face-gender · 1,440 images of 144 prompts · 2026-11-27 · t2ibench 0.1.0 and more"
    frame = Frame(canvas, title, facts)
    svg = str(frame.svg())
    texts = frame.texts()
    whole = Canvas(frame.width, frame.height, "t", [*texts])
    assert list(collisions(whole)) == []
    assert " ".join(text.text for text in texts) == f"{title} {facts}"
    titles = [text for text in texts if text.name == "strong"]
    small = [text for text in texts if text.name == FACTS]
    assert len(titles) == 2 and len(small) == 2
    assert max(text.y for text in titles) < frame.top
    assert min(text.y for text in small) > frame.top + canvas.height
    assert f'class="{FACTS}"' in svg and "font-size:10px" in svg
    assert pdf(frame) == pdf(frame)


@pytest.mark.parametrize("kind", NAMES)
def test_no_line_is_wider_than_its_room(kind: str) -> None:
    name = NAMES[kind].format(7)
    for width in (60.0, 120.0, 200.0):
        lines = wrapped(name, width)
        assert max(map(text_width, lines)) <= width
        shown = "".join(lines).replace(" ", "").removesuffix("…")
        assert name.replace(" ", "").startswith(shown)


def test_a_forest_with_long_names_has_no_collisions() -> None:
    estimates = {
        name: hand.record(hand.mean_lean(dict.fromkeys("xy", [1.0] * 30 + [-1.0] * k)))
        for k, name in enumerate(["a", "b", "c"], start=8)
    }
    for kind, (name, record) in zip(NAMES, estimates.items(), strict=False):
        estimates[name] = record.model_copy(update={"title": NAMES[kind].format(1)})
    drawn = forest(run_view(hand.results(**estimates)))
    assert drawn is not None
    assert list(collisions(drawn.canvas)) == []


def test_questions_of_names_alike_have_files_of_their_own() -> None:
    shown = shown_attribute(["nurse", "chef"])
    alike = [
        replace(shown, counted=replace(shown.counted, attribute=name))
        for name in ("person age", "Person age", "person AGE")
    ]
    task = replace(task_with_scores(["nurse", "chef"]), prompts=tuple(alike))
    run: Any = SimpleNamespace(name="a run")
    drawn = run_page._answer_figures(run, task)
    names = [figure.name.partition("-shown-")[2] for figure in drawn]
    assert names == ["person-age", "person-age-2", "person-age-3"]


def test_a_million_images_are_written_out() -> None:
    counted = CountedPrompt("nurse", {"male": 1_234_567.0, "female": 1.0})
    row = ShownRow(counted, "nurse", "male", (0.9, 1.0), True, "person gender")
    attribute = CountedAttribute("person gender", CLASSES, (counted,))
    facts = facts_of_answers(
        task_with_scores(["nurse"]), ShownAttribute(attribute, (row,))
    )
    assert facts.endswith("1,234,568 images of 1 prompt")
