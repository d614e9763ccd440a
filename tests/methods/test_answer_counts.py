"""Who is shown as what: rows of counts, and the sentence that is made of them."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from t2ibench.methods.core.answer_counts import (
    COLOURS,
    KEY,
    CountedAttribute,
    CountedPrompt,
    RowShare,
    ShownRow,
    class_colours,
    mean_counts,
    short_names,
    shown_attributes,
    sorted_rows,
)
from t2ibench.methods.core.describe import count_text, counts_text, shown_sentence


def row(
    name: str, clear: bool = True, unanswered: float = 0, **counts: float
) -> ShownRow:
    most = max(counts, key=lambda one: counts[one]) if any(counts.values()) else None
    return ShownRow(
        CountedPrompt(name, dict(counts), unanswered), name, most, None, clear
    )


MEN = [row(name, male=10, female=0) for name in ("CEO", "engineer", "athlete")]
WOMEN = [row(name, male=0, female=10) for name in ("nurse", "teacher")]
MANY = [row(f"p{k:02}", male=10, female=0) for k in range(17)]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        # Those that are not clear by themselves come last.
        (
            [
                *MEN[:2],
                row("chef", male=9, female=1),
                row("baker", False, male=6, female=4),
            ],
            "CEO, engineer and chef: 29 of 30 images show men; not clear: baker (men in 6 of 10)",
        ),
        (
            [row("a", False, male=6, female=4)],
            "not clear by itself: a (men in 6 of 10)",
        ),
        # Images without an answer stay counted.
        (
            [
                row("a", male=9, female=0, unanswered=1),
                row("b", False, 5, male=0, female=0),
            ],
            "a: 9 of 10 images show men, 1 without an answer; without an answer: b",
        ),
        ([row("a", white=8, black=1, asian=1)], "a: 8 of 10 images show 'white'"),
        ([row("a", male=9.5, female=0.5)], "a: 9.5 of 10 images show men"),
        ([], ""),
        # Long lists are cut, unless only one more would fit.
        (
            [*MANY, *(row(f"q{k}", False, male=5, female=5) for k in range(9))],
            "p00, p01, p02 and 14 more: 170 of 170 images show men; not clear: 9 others",
        ),
        (MANY[:4], "p00, p01, p02 and p03: 40 of 40 images show men"),
    ],
)
def test_the_sentence_reports_what_rows_show(rows: list[ShownRow], told: str) -> None:
    assert shown_sentence(rows) == told


def test_short_names_omit_common_words_and_stay_distinct() -> None:
    asked = [f"A {word} at work. Be fair, be kind." for word in ("nurse", "head chef")]
    assert short_names(asked) == ["nurse", "head chef"]
    assert short_names(["a nurse", "an old nurse"]) == ["nurse", "old nurse"]
    assert short_names(["a nurse", "the nurse"]) == ["a nurse", "the nurse"]
    assert short_names(["nurse", "nurse"]) == ["nurse", "nurse"]
    assert short_names(["x", "x y"]) == ["x", "x y"]
    assert len(short_names(["w " * 90, "v"])[0]) <= 60


def test_counts_are_written_with_nouns_and_missing_answers() -> None:
    assert counts_text(row("a", male=1, female=3, unanswered=2)) == (
        "3 women, 1 man, 2 without an answer"
    )
    assert counts_text(row("a", male=0)) == "no answer"
    assert count_text(row("a", male=0, unanswered=3)) == "no answer"


def details(
    counts: object, classes: tuple[str, ...] = ("w", "b", "a")
) -> dict[str, object]:
    """What a file that somebody sent may hold."""
    return {
        KEY: [
            {
                "attribute": "race",
                "classes": classes,
                "rows": [{"name": "x", "counts": counts}],
            }
        ]
    }


@pytest.mark.parametrize(
    ("share", "clear", "interval"),
    [
        (RowShare(0.4, 0.9, 0.01), True, (0.4, 0.9)),
        (RowShare(0.4, 0.9, 0.2), False, (0.4, 0.9)),
        # An estimate may lie beyond what it estimates.
        (RowShare(-0.1, 1.01, 0.01), True, (0, 1)),
        (None, False, None),
    ],
)
def test_rows_are_clear_where_their_own_test_is(
    share: RowShare | None, clear: bool, interval: tuple[float, float] | None
) -> None:
    (found,) = shown_attributes(details({"w": 8, "b": 1, "a": 1}), lambda *_: share)
    assert (found.rows[0].clear, found.rows[0].interval) == (clear, interval)
    (other,) = shown_attributes(details({"w": 2}, ("b",)), lambda *_: share)
    assert other.rows[0].hits == 0 and not other.rows[0].clear


@pytest.mark.parametrize(
    "held",
    [
        *(
            {},
            {KEY: "?"},
            details({"w": float("inf")}),
            details({"w": -1}),
            details({"w": "many"}),
        ),
        details({"w": 0, "b": 0}),
    ],
)
def test_malformed_or_empty_answers_are_not_shown(
    held: dict[str, object],
) -> None:
    assert shown_attributes(held, lambda *_: None) == ()


def test_a_test_of_more_than_the_counts_decides_without_their_interval() -> None:
    counted = CountedAttribute(
        "gender",
        ("male", "female"),
        (CountedPrompt("a nurse", {"female": 11, "male": 1}),),
        test="squared_lean",
    )

    def tested(name: str, group: str | None, score: str) -> RowShare | None:
        is_row = name == "a nurse | gender" and group == "gender"
        p = {"squared_lean": 0.01, "lean": 0.5}.get(score, 0.5)
        return RowShare(0.4, 0.9, p) if is_row else None

    (shown,) = shown_attributes({KEY: [asdict(counted)]}, tested)
    assert shown.rows[0].clear and shown.rows[0].interval is None


def test_estimated_shares_of_older_runs_are_not_shown_as_counts() -> None:
    entries = details({"w": 0.9, "b": 0.1})[KEY]
    assert isinstance(entries, list)
    older = {KEY: [{**entries[0], "estimated": True}]}
    assert shown_attributes(older, lambda *_: None) == ()


def test_rows_are_sorted_by_what_most_images_show() -> None:
    one = CountedAttribute(
        "g", ("female", "male"), tuple(r.counted for r in [*MEN, *WOMEN])
    )
    (found,) = shown_attributes({KEY: [asdict(one)]}, lambda *_: None)
    names = ["CEO", "athlete", "engineer", "nurse", "teacher"]
    assert [row.short for row in sorted_rows(found)] == names


def test_no_race_and_no_skin_looks_like_a_gender_or_an_age() -> None:
    races = ("white", "black", "asian", "latino", "middle eastern", "indian")
    others = ("male", "female", "nonbinary", "young", "old", "middle-aged")
    colours = {name: class_colours([name])[name] for name in (*races, *others)}
    skin = class_colours(["light skin", "dark skin"])
    assert sorted(colours[name] for name in races) == [6, 7, 8, 9, 10, 11]
    assert sorted(skin.values()) == [12, 13] and COLOURS == 14
    assert {colours[name] for name in others} == {0, 1, 2}


def test_several_judges_have_the_mean_of_their_counts() -> None:
    def judged(men: int, name: str = "a") -> dict[str, object]:
        rows = (
            CountedPrompt(name, {"male": men, "female": 10 - men}),
            CountedPrompt("b", {"male": 4}),
        )
        return {KEY: [asdict(CountedAttribute("gender", ("male", "female"), rows))]}

    (mean,) = mean_counts([judged(9), judged(6)])
    assert mean["rows"][0]["counts"] == {"male": 7.5, "female": 2.5}
    # Images without an answer, and classes that one judge alone was offered, are of both.
    other = CountedPrompt("b", {"male": 2, "nonbinary": 1}, unanswered=7)
    third = CountedAttribute("gender", ("male", "nonbinary"), (other,))
    (mean,) = mean_counts([judged(9), {KEY: [asdict(third)]}])
    assert mean["classes"] == ("male", "female", "nonbinary")
    (counted,) = mean["rows"]
    assert counted["counts"] == {"male": 3.0, "nonbinary": 0.5}
    assert counted["unanswered"] == 3.5
    # A prompt that one judge said nothing of is not a mean of both.
    (mean,) = mean_counts([judged(9), judged(6, "c")])
    assert [one["name"] for one in mean["rows"]] == ["b"]
