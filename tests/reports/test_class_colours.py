"""Classes have one colour and pattern on every page, and are told apart in grey."""

from __future__ import annotations

import re

import pytest

from t2ibench.methods.core.answer_counts import COLOURS, bar_order, class_colours
from t2ibench.methods.core.presentation import Axis, RowSeries
from t2ibench.reports.html.templating import static
from t2ibench.reports.view import series_view
from t2ibench.results.schema import Row, Score

TOKENS = static("tokens.css")
GENDERS = {"male", "female", "nonbinary"}
RACES = ["white", "black", "asian", "latino", "middle eastern", "indian"]


def themes() -> list[dict[str, str]]:
    """The colours of tokens.css: light, dark, on paper."""
    blocks = re.findall(r":root\{(.*?)\}", TOKENS, re.DOTALL)
    return [
        dict(re.findall(r"--([\w-]+):(#\w{3,6});", block))
        for block in blocks
        if "--race-1" in block
    ]


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted([luminance(first), luminance(second)], reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_number_has_a_colour_and_a_pattern() -> None:
    for number in range(COLOURS):
        assert f".k{number},.key{number}{{--c:" in TOKENS
        patterned = re.findall(rf"\.k{number}\b[^{{}}]*\{{background:", TOKENS)
        assert len(patterned) == 1, number


def test_races_and_skin_have_colours_of_their_own() -> None:
    genders = set(class_colours(sorted(GENDERS)).values())
    races = class_colours(RACES)
    skin = class_colours(["light skin", "dark skin"])
    assert not genders & set(races.values())
    assert not genders & set(skin.values())
    assert not set(races.values()) & set(skin.values())
    assert len(set(races.values())) == 6
    # A race that has none gets another of the races' colours, never a gender's.
    others = class_colours(["white", "native"])
    assert others["white"] == races["white"] and others["native"] not in genders
    # Those of a class are the same beside others, in whatever order.
    assert class_colours(["female", "male"]) == class_colours(["male", "female"])


@pytest.mark.parametrize("classes", [("female", "male"), ("male", "female")])
def test_a_bar_has_the_sides_of_an_axis(classes: tuple[str, str]) -> None:
    axis = RowSeries.of_classes("prompt", classes, frozenset({"gender"})).axis
    assert axis is not None
    assert list(bar_order(classes)) == [axis.low, axis.high]


def test_more_than_two_classes_stand_in_the_order_of_their_task() -> None:
    ages = ["young", "middle-aged", "old"]
    assert list(bar_order(ages)) == ages and bar_order(ages) == class_colours(ages)


@pytest.mark.parametrize("classes", [("female", "male"), ("male", "female")])
def test_a_group_has_its_side_whatever_the_order_of_its_task(
    classes: tuple[str, str],
) -> None:
    """The score of a row is positive where the first class is more frequent."""
    of_men = 0.5 if classes[0] == "male" else -0.5
    score = Score(value=of_men, ci_low=of_men - 0.2, ci_high=of_men + 0.1)
    rows = [Row(name="a chef", group="gender", scores={"lean": score})]
    series = RowSeries.of_classes("prompt", classes, frozenset({"gender"}))
    (row,) = series_view(series, rows).rows
    assert series.axis == Axis("female", "male")
    assert row.mark.value == 0.5 and row.mark.side == "high"
    assert row.mark.low is not None and row.mark.high is not None
    width = (row.mark.value - row.mark.low, row.mark.high - row.mark.value)
    first_is_high = classes[0] == "male"
    assert width == pytest.approx((0.2, 0.1) if first_is_high else (0.1, 0.2))


@pytest.mark.parametrize("theme", range(3))
def test_race_colours_have_no_order(theme: int) -> None:
    colours = themes()[theme]
    against_paper = [
        contrast(colours[f"race-{number}"], colours["paper"]) for number in range(1, 7)
    ]
    assert min(against_paper) >= 4.5
    # Nobody is darker: within what is seen as one lightness.
    assert max(against_paper) / min(against_paper) < 1.4
