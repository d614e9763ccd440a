"""Figures: where marks and names stand, and that a PNG shows what its SVG says."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from t2ibench.methods.core import presentation
from t2ibench.methods.core.presentation import (
    Arrows,
    Axis,
    Distribution,
    Quantity,
    RowSeries,
    Scatter,
)
from t2ibench.reports.figures.canvas import Canvas, Disc, Text
from t2ibench.reports.figures.figure import Figure, draw
from t2ibench.reports.figures.files import SCALE, png, write_figure
from t2ibench.reports.figures.forest import forest
from t2ibench.reports.figures.labels import labels
from t2ibench.reports.html.page import environment, style
from t2ibench.reports.view import TaskView, run_view, series_view
from t2ibench.results.schema import Row, Score
from tests import hand

AXIS = Axis("female", "male")
VALUES = {"nurse": -0.8, "clerk": 0.0, "chef": 0.25, "guard": 0.9}


def task_of(scores: dict[str, dict[str, float]]) -> TaskView:
    """A task whose rows have these scores."""
    record = hand.record(hand.mean_lean({"x": [1.0, 1.0, 1.0, -1.0]}))
    by = [
        Row(name=name, scores={key: Score(value=value) for key, value in values.items()})
        for name, values in scores.items()
    ]
    (view,) = run_view(hand.results(a=record.model_copy(update={"by": by}))).tasks
    return view


def drawn(figure: presentation.Figure, samples: list[dict[str, object]] | None = None) -> Figure:
    task = task_of({name: {"lean": value, "words": -value} for name, value in VALUES.items()})
    found = draw(figure, task, samples or [])
    assert found is not None
    return found


def test_an_arrow_goes_from_the_words_to_the_images_on_one_axis() -> None:
    canvas = drawn(Arrows("t", "words", "lean", AXIS, "c")).canvas
    heads = {mark.tip.split(",")[0]: mark for mark in canvas.marks if isinstance(mark, Disc)}
    middle = [mark.points[0][0] for mark in canvas.marks if getattr(mark, "name", "") == "zero"]
    assert heads["clerk"].x == middle[0]
    assert heads["nurse"].x < middle[0] < heads["chef"].x < heads["guard"].x
    ratio = (middle[0] - heads["nurse"].x) / (heads["guard"].x - middle[0])
    assert ratio == pytest.approx(0.8 / 0.9)


def test_a_point_lies_where_its_numbers_say() -> None:
    share = Quantity("share", "lean", share="high")
    canvas = drawn(Scatter("t", share, share, "c", diagonal=True)).canvas
    points = [mark for mark in canvas.marks if isinstance(mark, Disc)]
    (line,) = [mark for mark in canvas.marks if getattr(mark, "name", "") == "eq"]
    (x1, y1), (x2, y2) = line.points
    for point in points:  # equal numbers lie on the line
        assert (point.x - x1) / (x2 - x1) == pytest.approx((point.y - y1) / (y2 - y1))


def test_every_image_is_one_dot_and_none_covers_another() -> None:
    rows = [{"concept": "c", "lean": value / 50} for value in range(-40, 41)] + [
        {"concept": "c", "lean": 0.5} for _ in range(9)
    ]
    canvas = drawn(Distribution("t", "lean", "concept", AXIS, "c"), rows).canvas
    dots = [mark for mark in canvas.marks if isinstance(mark, Disc) and mark.name == "pt"]
    assert len(dots) == len(rows)
    assert len({(round(dot.x, 3), round(dot.y, 3)) for dot in dots}) == len(rows)


@given(
    st.lists(
        st.tuples(st.floats(44, 440, width=32), st.floats(24, 260, width=32)),
        min_size=1,
        max_size=40,
    )
)
def test_no_name_covers_a_point_or_a_name(points: list[tuple[float, float]]) -> None:
    names = [f"occupation {number}" for number in range(len(points))]
    found = labels(points, names, range(len(points)), (44, 460), 14)
    boxes = [label.box(names[label.number]) for label in found]
    assert len(found) <= 14 and all(box[0] >= 44 and box[2] <= 460 for box in boxes)
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for label, (left, top, right, bottom) in zip(found, boxes, strict=True):
        others = [point for k, point in enumerate(points) if k != label.number]
        assert not any(left < x < right and top < y < bottom for x, y in others)


def picture(canvas: Canvas) -> Image.Image:
    return Image.open(io.BytesIO(png(canvas.svg(alone=True)))).convert("RGB")


def test_a_page_has_a_colour_for_every_mark() -> None:
    """What has none is black, over whatever it covers."""
    styled = set(re.findall(r"\.fig (?:circle|text)?([.\w]*) ?\{", style()))
    sheet = (files("t2ibench.reports") / "static" / "figure.css").read_text("utf-8")
    assert set(re.findall(r"^\w*((?:\.\w+)+)\{", sheet, re.MULTILINE)) <= styled


def test_a_png_shows_each_mark_in_its_place_and_colour() -> None:
    canvas = Canvas(100, 60, "t")
    canvas.dot(20, 30, "low", 6)
    canvas.dot(80, 30, "high", 6)
    canvas.dot(50, 30, "hollow", 6)
    canvas.box(10, 50, 30, 5)
    canvas.text(90, 58, "nurse", "end")
    image = picture(canvas)
    assert image.size == (100 * SCALE, 60 * SCALE)
    places = [(20, 30), (80, 30), (50, 30), (25, 52), (95, 52)]
    colours = [image.getpixel((x * SCALE, y * SCALE)) for x, y in places]
    assert ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in colours] == [
        "#a34e00", "#006a63", "#ffffff", "#3f3c36", "#ffffff",
    ]  # fmt: skip
    assert "#504d46" in {"#{:02x}{:02x}{:02x}".format(*rgb) for _, rgb in image.getcolors(9999)}
    assert png(canvas.svg(alone=True)) == png(canvas.svg(alone=True))


def test_a_figure_is_drawn_again_only_where_it_changed(tmp_path: Path) -> None:
    figure = drawn(Arrows("t", "words", "lean", AXIS, "c"))
    write_figure(figure, "title", tmp_path, "one")
    before = (tmp_path / "one.png").stat()
    write_figure(figure, "title", tmp_path, "one")
    assert (tmp_path / "one.png").stat().st_ino == before.st_ino
    write_figure(figure, "\x1b[2J another title \ud800 \uffff", tmp_path, "one")  # no XML as it is
    assert (tmp_path / "one.png").stat().st_ino != before.st_ino
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".png", ".svg"]


@pytest.mark.parametrize("sign", ["◂", "▸", "→", "α", "δ", "я", "−"])
def test_the_font_of_files_has_what_figures_say(sign: str) -> None:
    def image(text: str) -> bytes:
        canvas = Canvas(60, 30, "t")
        canvas.text(10, 20, text)
        return picture(canvas).tobytes()

    assert len({image(text) for text in (sign, "", "\U000e1000")}) == 3


def test_a_file_has_its_title_above_the_figure() -> None:
    figure = drawn(Arrows("t", "words", "lean", AXIS, "c"))
    alone = figure.canvas.alone("A title, <b>")
    assert "A title, <b>" in {node.text for node in ET.fromstring(alone.svg(alone=True))}
    assert alone.width > figure.canvas.width and len(alone.marks) == len(figure.canvas.marks) + 1
    texts = [mark for mark in alone.marks if isinstance(mark, Text)]
    assert texts[0].y < min(mark.y for mark in texts[1:])


def test_the_forest_shows_every_test_on_one_axis() -> None:
    images = {"x": [1.0] * 30 + [-1.0] * 10, "y": [1.0] * 30 + [-1.0] * 10}
    tasks = {"a": hand.mean_lean(images), "b": hand.mean_square(images)}
    run = run_view(hand.results(**{name: hand.record(found) for name, found in tasks.items()}))
    drawn_ = forest(run)
    assert drawn_ is not None and len(drawn_.rows) == 2
    zero = next(
        one.points[0][0] for one in drawn_.canvas.marks if getattr(one, "name", "") == "zero"
    )
    ticks = {
        m.text: m.x for m in drawn_.canvas.marks if isinstance(m, Text) and m.anchor == "middle"
    }
    discs = [mark for mark in drawn_.canvas.marks if isinstance(mark, Disc)]
    shown = [task.mark.value for task in run.tasks]
    for disc, value in zip(discs, shown, strict=True):
        assert value is not None
        assert (disc.x - zero) / (ticks["+1"] - zero) == pytest.approx(value, abs=1e-6)
    assert forest(run_view(hand.results())) is None


def test_what_has_no_direction_is_drawn_from_0() -> None:
    row = Row(name="a", scores={"h": Score(value=0.25, ci_low=-0.01, ci_high=0.49)})
    (found,) = series_view(RowSeries("h", "bias", square=True), [row]).rows
    macros = environment().get_template("marks.html").module
    html = str(macros.rail(found.mark, "a", from0=True))  # type: ignore[attr-defined]
    assert 'class="rail null from0"' in html
    places = dict(re.findall(r"--(v|lo|hi):(-?[\d.]+)", html))
    # The axis from -1 to 1 of the style sheet means 0 to 1 here.
    assert places == {"v": "0.000", "lo": "-1.000", "hi": "0.400"}
    assert 'class="axis"' in html and "NaN" not in html
