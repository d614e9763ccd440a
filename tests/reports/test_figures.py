"""Figures: where marks stand, what is said and in tables; a PNG shows what its SVG says."""

from __future__ import annotations

import io
import re
import zlib
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from t2ibench.methods.core import presentation
from t2ibench.methods.core.presentation import (
    Apart,
    Arrows,
    Axis,
    Combinations,
    Distribution,
    Panel,
    Panels,
    Quantity,
    RowSeries,
    Scatter,
)
from t2ibench.methods.tibet.concept_figures import concept_figures
from t2ibench.reports import files as report_files
from t2ibench.reports.figures.axes import spanning
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import DrawnFigure, draw
from t2ibench.reports.figures.files import SCALE, pdf, png, write_figure
from t2ibench.reports.figures.forest import forest
from t2ibench.reports.figures.frame import MARGIN, Frame
from t2ibench.reports.figures.labels import labels
from t2ibench.reports.figures.marks import Box, Disc, Line, Text
from t2ibench.reports.figures.text_size import SIZE
from t2ibench.reports.html.run_page import PageFigure
from t2ibench.reports.html.templating import environment, fragment, style
from t2ibench.reports.view import TaskView, run_view, series_view
from t2ibench.results.schema import Row, Score
from t2ibench.worker_pool import each_of
from tests import hand

pytestmark = pytest.mark.pictures

AXIS = Axis("female", "male")
VALUES = {"nurse": -0.8, "clerk": 0.0, "chef": 0.25, "guard": 0.9}


def scored(scores: dict[str, dict[str, float]]) -> TaskView:
    """A task whose rows have these scores."""
    each = {
        name: {k: Score(value=x) for k, x in own.items()}
        for name, own in scores.items()
    }
    return task_of([Row(name=name, scores=own) for name, own in each.items()])


def drawn(
    figure: presentation.Figure, samples: list[dict[str, object]] | None = None
) -> DrawnFigure:
    task = scored(
        {name: {"lean": value, "words": -value} for name, value in VALUES.items()}
    )
    return shown(draw(figure, task, samples or []))


def discs(canvas: Canvas) -> list[Disc]:
    """The discs of rows; those of the key say nothing."""
    return [mark for mark in canvas.marks if isinstance(mark, Disc) and mark.tip]


def lines(canvas: Canvas, name: str) -> list[Line]:
    return [
        mark for mark in canvas.marks if isinstance(mark, Line) and mark.name == name
    ]


def test_an_arrow_goes_from_the_words_to_the_images_on_one_axis() -> None:
    canvas = drawn(Arrows("t", "words", "lean", AXIS, "c")).canvas
    heads = {mark.tip.split(",")[0]: mark for mark in discs(canvas)}
    middle = [mark.points[0][0] for mark in lines(canvas, "zero")]
    assert heads["clerk"].x == middle[0]
    assert heads["nurse"].x < middle[0] < heads["chef"].x < heads["guard"].x
    ratio = (middle[0] - heads["nurse"].x) / (heads["guard"].x - middle[0])
    assert ratio == pytest.approx(0.8 / 0.9)


def test_a_point_lies_where_its_numbers_say() -> None:
    share = Quantity("share", "lean", share="high")
    canvas = drawn(Scatter("t", share, share, "c", diagonal=True)).canvas
    points = discs(canvas)
    (x1, y1), (x2, y2) = lines(canvas, "eq")[-1].points
    for point in points:  # equal numbers lie on the line
        assert (point.x - x1) / (x2 - x1) == pytest.approx((point.y - y1) / (y2 - y1))


def test_every_image_is_one_dot_and_none_covers_another() -> None:
    leans = [*(value / 50 for value in range(-40, 41)), *[0.5] * 9]
    rows: list[dict[str, object]] = [{"concept": "c", "lean": lean} for lean in leans]
    canvas = drawn(Distribution("t", "lean", "concept", AXIS, "c"), rows).canvas
    dots = [
        mark for mark in canvas.marks if isinstance(mark, Disc) and mark.name == "pt"
    ]
    assert len(dots) == len(rows) + 1  # and one in the key
    assert len({(round(dot.x, 3), round(dot.y, 3)) for dot in dots}) == len(dots)


POINT = st.tuples(st.floats(44, 440, width=32), st.floats(24, 260, width=32))


@given(st.lists(POINT, min_size=1, max_size=40))
def test_no_name_covers_a_point_or_a_name(points: list[tuple[float, float]]) -> None:
    names = [f"occupation {number}" for number in range(len(points))]
    found = labels(points, names, range(len(points)), (44, 0, 460, 300), 14)
    boxes = [label.box(names[label.number]) for label in found]
    assert len(found) <= 14 and all(box[0] >= 44 and box[2] <= 460 for box in boxes)
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for label, (left, top, right, bottom) in zip(found, boxes, strict=True):
        others = [point for k, point in enumerate(points) if k != label.number]
        assert not any(left < x < right and top < y < bottom for x, y in others)


def picture(canvas: Canvas) -> Image.Image:
    return Image.open(io.BytesIO(png(str(Frame(canvas, "").svg())))).convert("RGB")


def test_a_page_has_a_colour_for_every_mark() -> None:
    """What has none is black, over whatever it covers."""
    styled = set(re.findall(r"\.fig (?:circle|text)?([.\w]*) ?\{", style()))
    sheet = (files("t2ibench.reports") / "static" / "figure.css").read_text("utf-8")
    assert set(re.findall(r"^\w*((?:\.\w+)+)\{", sheet, re.MULTILINE)) <= styled


def test_a_png_shows_each_mark_in_its_place_and_colour() -> None:
    canvas = Canvas(100, 60, "t")
    for x, name in ((20, "low"), (80, "high"), (50, "hollow")):
        canvas.dot(x, 30, name, 6)
    canvas.box(10, 50, 30, 5)
    canvas.text(90, 58, "nurse", "end")
    image = picture(canvas)
    left, top = MARGIN, MARGIN + 2 * SIZE  # around it, and of its title
    assert image.size == ((100 + 2 * left) * SCALE, (60 + top + MARGIN) * SCALE)
    places = [(20, 30), (80, 30), (50, 30), (25, 52), (95, 52)]
    colours = [
        image.getpixel(((x + left) * SCALE, (y + top) * SCALE)) for x, y in places
    ]
    assert ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in colours] == [
        "#a34e00", "#006a63", "#ffffff", "#3f3c36", "#ffffff",
    ]  # fmt: skip
    assert "#504d46" in {
        "#{:02x}{:02x}{:02x}".format(*rgb) for _, rgb in image.getcolors(9999)
    }
    assert png(str(Frame(canvas, "").svg())) == png(str(Frame(canvas, "").svg()))


def test_a_figure_is_written_again_only_if_changed(tmp_path: Path) -> None:
    figure = drawn(Arrows("t", "words", "lean", AXIS, "c"))
    write_figure(figure, "title", tmp_path, "one")
    before = (tmp_path / "one.png").stat()
    write_figure(figure, "title", tmp_path, "one")
    assert (tmp_path / "one.png").stat().st_ino == before.st_ino
    # no XML as it is
    write_figure(figure, "\x1b[2J another title \ud800 \uffff", tmp_path, "one")
    assert (tmp_path / "one.png").stat().st_ino != before.st_ino
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [
        ".csv",
        ".pdf",
        ".png",
        ".svg",
    ]


@pytest.mark.slow
def test_many_figures_are_written_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = drawn(Arrows("t", "words", "lean", AXIS, "c"))
    figures = [PageFigure(f"{n}", f"test {n}", figure, "100 images") for n in range(4)]
    shared: list[bool] = []

    def noted(*args: Any, at_once: bool) -> list[None]:
        shared.append(at_once)
        return each_of(*args, at_once=at_once)

    monkeypatch.setattr(report_files, "each_of", noted)
    monkeypatch.setattr(report_files, "cores", lambda: 2)
    for name, many in (("alone", 5), ("shared", 4)):
        monkeypatch.setattr(report_files, "_MANY_FIGURES", many)
        report_files.write_figures(figures, tmp_path / name, "1 May")
    alone, together = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("alone", "shared")
    )
    assert shared == [False, True] and len(alone) >= 12 and alone == together


def test_a_pdf_has_the_figures_text_and_font(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = drawn(Arrows("t", "words", "lean", AXIS, "c"))
    data = pdf(Frame(figure.canvas, "A title"))
    assert b"/FontFile2" in data and data == pdf(Frame(figure.canvas, "A title"))
    streams = re.findall(rb"stream\n(.*?)\nendstream", data, re.DOTALL)
    shown = b"".join(
        zlib.decompress(stream) for stream in streams if stream[:1] == b"x"
    )
    texts = [
        mark.text
        for mark in figure.canvas.marks
        if isinstance(mark, Text) and mark.text
    ]
    assert shown.count(b" Tj") == len(texts) + 1
    monkeypatch.setattr("t2ibench.reports.figures.files.find_spec", lambda name: None)
    write_figure(figure, "A title", tmp_path, "one")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [
        ".csv",
        ".png",
        ".svg",
    ]


def test_the_font_of_files_has_what_figures_say() -> None:
    def image(text: str) -> bytes:
        canvas = Canvas(60, 30, "t")
        canvas.text(10, 20, text)
        return picture(canvas).tobytes()

    signs = ("◂", "▸", "→", "α", "δ", "я", "−", "", "\U000e1000")
    assert len({image(sign) for sign in signs}) == len(signs)


def test_ticks_reach_as_far_as_the_points() -> None:
    for values in ([0.0, 2.05], [-0.31, 0.02], [3.0, 3.4], [-0.2, 1.0]):
        scale = spanning(values, 0, 100)
        assert scale.ticks()[0] == pytest.approx(scale.low) and scale.low <= min(values)
        assert scale.ticks()[-1] == pytest.approx(scale.high) and scale.high >= max(
            values
        )


def test_the_forest_shows_every_test_on_one_axis() -> None:
    images = dict.fromkeys("xy", [1.0] * 30 + [-1.0] * 10)
    found = hand.mean_lean(images), hand.mean_square(images)
    run = run_view(hand.results(a=hand.record(found[0]), b=hand.record(found[1])))
    drawn_ = forest(run)
    assert drawn_ is not None and len(drawn_.rows) == 2
    zero = lines(drawn_.canvas, "zero")[0].points[0][0]
    (one,) = (
        m.x for m in drawn_.canvas.marks if isinstance(m, Text) and m.text == "+1"
    )
    places = [(disc.x - zero) / (one - zero) for disc in discs(drawn_.canvas)]
    assert places == pytest.approx([task.mark.value for task in run.tasks], abs=1e-6)
    assert forest(run_view(hand.results())) is None


def test_a_squared_lean_is_drawn_from_0() -> None:
    row = Row(
        name="a", scores={"squared_lean": Score(value=0.25, ci_low=-0.01, ci_high=0.49)}
    )
    (found,) = series_view(RowSeries("squared_lean", "bias", square=True), [row]).rows
    macros = environment().get_template("marks.html").module
    html = str(macros.rail(found.mark, "a", from0=True))  # type: ignore[attr-defined]
    assert 'class="rail null from0"' in html
    places = dict(re.findall(r"--(v|lo|hi):(-?[\d.]+)", html))
    # The axis from -1 to 1 of the style sheet means 0 to 1 here.
    assert places == {"v": "0.000", "lo": "-1.000", "hi": "0.400"}
    assert 'class="axis"' in html and "NaN" not in html


CROSS = Combinations("t", "gender x age", "c")
APART = Apart("t", "apart", "group_distance_of_halves", "c", "Hudson")
HOSTILE = '<script>alert(1)</script> "x" & a rather long name of something'


def task_of(
    rows: list[Row], details: dict[str, Any] | None = None, **scores: Score
) -> TaskView:
    found = hand.mean_lean({"x": [1.0, 1.0, 1.0, -1.0]})
    record = hand.record(found, by=rows, details=details or {}, scores=scores)
    return run_view(hand.results(a=record)).tasks[0]


def cell(name: str, share: float | None, alone: float, p: float = 0.5) -> Row:
    found = [Score(reason="too few")] * 3
    if share is not None:
        over = share - alone
        excess = Score(
            value=over, ci_low=over - 0.02, ci_high=over + 0.02, p=p, p_holm=p
        )
        found = [Score(value=share), Score(value=alone), excess]
    scores = dict(
        zip(("joint_share", "independent_share", "excess"), found, strict=True)
    )
    return Row(name=name, group="gender x age", scores=scores)


def crossing(*p: float | None) -> dict[str, Any]:
    tests = [
        {
            "name": f"interaction:a x {k}",
            "p": one,
            "p_holm": one,
            "reason": "of older versions",
        }
        for k, one in enumerate(p)
    ]
    return {
        "crossings": [
            {"crossing": "gender x age", "tests": tests, "most_over": {"cell": "x"}}
        ]
    }


def shown(drawn: DrawnFigure | None) -> DrawnFigure:
    """A figure whose marks are within it, and which can be a part of a page."""
    assert drawn is not None
    canvas = drawn.canvas
    for mark in canvas.marks:
        for x, y in places(mark):
            assert -1 <= x <= canvas.width + 1 and -1 <= y <= canvas.height + 1, mark
    html = fragment("figure.html", drawn=drawn, link="")
    assert "<script>" not in html
    assert html.count("<table") == bool(drawn.table)
    return drawn


def places(mark: Line | Disc | Box | Text) -> list[tuple[float, float]]:
    if isinstance(mark, Line):
        return list(mark.points)
    if isinstance(mark, Box):
        return [(mark.x, mark.y), (mark.x + mark.width, mark.y + mark.height)]
    return [(mark.x, mark.y)]


def test_a_combination_is_drawn_beside_its_expected_value() -> None:
    rows = [cell("old x female", 0.10, 0.20, 0.001), cell("old x male", 0.30, 0.20, 0.001),
            cell("young x male", 0.21, 0.20)]  # fmt: skip
    drawn = shown(draw(CROSS, task_of(rows, crossing(0.001, 0.7)), []))
    assert [row[0] for row in drawn.rows] == [
        "old x male",
        "young x male",
        "old x female",
    ]
    kinds = [mark.name for mark in discs(drawn.canvas)]
    assert kinds == ["hollow", "high", "hollow", "plain", "hollow", "low"]
    dots = [mark.x for mark in discs(drawn.canvas)]
    assert dots[1] - dots[0] == pytest.approx(dots[4] - dots[5])
    # The interval of the difference begins where the parts alone are.
    (line,) = lines(drawn.canvas, "line high")
    assert line.points[0][0] - dots[0] == pytest.approx(
        0.08 / 0.10 * (dots[1] - dots[0])
    )
    assert drawn.table[0][1:6] == ["0.3", "0.2", "0.1", "0.08", "0.12"]
    assert "Clearly not independent: a x 0 (p (Holm) 0.001). No clear" in drawn.says


def test_many_long_combinations_stay_in_their_figure_and_none_is_invented() -> None:
    rows = [cell(f"{HOSTILE} {k:02} x young", k / 100, 0.2, 0.001) for k in range(40)]
    drawn = shown(draw(CROSS, task_of(rows), []))
    assert (len(drawn.rows), len(drawn.table)) == (40, 40)
    assert len(discs(drawn.canvas)) == 2 * 12
    drawn = shown(draw(CROSS, task_of([cell("a x b", None, 0.0)], crossing(0.001)), []))
    assert drawn.rows == [] and drawn.says.startswith(
        "No combination has a number: too few."
    )
    assert not discs(drawn.canvas)
    assert draw(CROSS, task_of([]), []) is None


def distance(name: str, value: float | None, p: float = 0.001) -> Row:
    return Row(name=name, scores={"apart": Score(value=value, p=p, p_holm=p)})


def test_a_distance_is_drawn_with_the_intervals_that_it_has() -> None:
    whole = Score(value=0.5, ci_low=0.4, ci_high=0.6, p=0.001)
    halves = Score(value=-0.01, ci_low=-0.1, ci_high=0.08)
    rows = [distance("cup", 0.3, 0.4), distance("car", 0.6), distance("none", None)]
    drawn = shown(
        draw(APART, task_of(rows, apart=whole, group_distance_of_halves=halves), [])
    )
    assert [row[0] for row in drawn.rows] == ["all 2", "two halves", "car", "cup"]
    assert "makes 50 % (40 % to 60 %)" in drawn.says and "it is −1 %" in drawn.says
    assert draw(APART, task_of(rows, apart=Score(reason="few")), []) is None
    found = discs(drawn.canvas)
    assert [disc.name for disc in found] == ["mean", "hollow", "plain", "hollow"]
    # With that of the key; single rows have none.
    assert len(lines(drawn.canvas, "line")) == 3
    (zero,) = lines(drawn.canvas, "zero")
    per_unit = (found[2].x - zero.points[0][0]) / 0.6
    assert found[3].x == pytest.approx(zero.points[0][0] + 0.3 * per_unit)


def test_missing_concepts_are_0_only_in_complete_lists() -> None:
    male = {
        "name": "male", "concepts": [["man", 2.0], ["cook", 1.0]],
        "axis_concepts": [["man", 1.0]],
        "intersections": {"place": [["p0", 1.0], ["p1", 0.9], ["p2", 0.8]]},
    }  # fmt: skip
    female = {
        "name": "female", "concepts": [["woman", 2.0]], "axis_concepts": [],
        "intersections": {"place": [["p0", 0.2]]},
    }  # fmt: skip
    axes = [
        {"axis": name, "concepts": [["woman", 0.75], ["man", 0.25]],
         "counterfactuals": [male, female]}
        for name in ("gender", "place")
    ]  # fmt: skip
    tibet = {
        "prompts": [{"prompt": "a chef", "concepts": [["man", 1.0]], "axes": axes}]
    }
    aligned, crossed = (figure.read(tibet) for figure in concept_figures())
    gender = dict(aligned[0].items)
    assert aligned[0].columns == ("as it stands", "male", "female")
    assert gender["woman"] == (0.75, 0.0, None)  # no image of the last has an answer
    assert gender["man"] == (0.25, 1.0, None)
    (place,) = [one for one in crossed if one.title == "a chef, place by gender"]
    by_name = dict(place.items)
    assert by_name["p1"][1:] == (0.9, 0.0)
    # a full list of three hides what comes fourth
    assert by_name["woman"][1:] == (None, 0.0)


def test_forty_items_and_columns_and_one_of_each_fit() -> None:
    for count in (1, 2, 40):
        columns = tuple(f"{HOSTILE} {k}" for k in range(count))
        items = tuple((f"{HOSTILE} {k}", (float(k + 1),) * count) for k in range(count))
        panel = Panel(HOSTILE, "r", columns, items)
        figure = Panels("t", lambda _, one=panel: [one] * 9, None, "thing", "d", "c")
        drawn = shown(draw(figure, task_of([]), []))
        assert len(drawn.rows) == 9 * count * count
        assert len(drawn.table) == min(len(drawn.rows), 200)
        words = " ".join(
            mark.text for mark in drawn.canvas.marks if isinstance(mark, Text)
        )
        assert ("more in the CSV" in words) == (count == 40)


def test_points_clearly_off_the_line_are_coloured_and_labelled() -> None:
    given = {"nurse": 0.9, "chef": 0.5, "clerk": 0.4}
    rows = []
    for name, share, p in (
        ("nurse", 0.2, 0.001),
        ("chef", 0.9, 0.001),
        ("clerk", 0.6, 0.3),
    ):
        own = Score(value=share, ci_low=share - 0.1, ci_high=share + 0.1)
        off = Score(value=share - given[name], p=p, p_holm=p)
        rows.append(Row(name=name, scores={"share": own, "off": off}))
    figure = Scatter(
        "t", Quantity("at work", given=given), Quantity("here", "share"), "c", diagonal=True,
        intervals=True, difference="off",
    )  # fmt: skip
    drawn = shown(draw(figure, task_of(rows), []))
    kinds = {mark.tip.split(":")[0]: mark.name for mark in discs(drawn.canvas)}
    assert kinds == {"nurse": "low", "chef": "high", "clerk": "pt"}
    assert "1 of 3 rows above it, 1 below" in drawn.says
    assert drawn.table[-1] == ["clerk", "0.4", "0.6", "0.5", "0.7"]
