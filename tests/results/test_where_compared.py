"""Runs that `where` compares: what it refuses, and what it says beside a difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.influence import Influence
from t2ibench.reports.where_sentences import where_sentences
from t2ibench.reports.where_table import where_records
from t2ibench.results.schema import Headline
from t2ibench.results.where import where
from tests import hand
from tests.results.where_runs import (
    FAIR,
    JOBS,
    LIKE_WORDS,
    rewritten,
    run,
    with_rewriter,
    with_task,
)

NONE: list[dict[str, object]] = []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task_hash": "other"}, "another version of the task"),
        ({"settings": hand.settings(encoders={"clip": "0" * 64})}, "other encoders"),
        (
            {"settings": hand.settings(encoders={"toyland": "0" * 64})},
            "the same name and is another network",
        ),
    ],
)
def test_runs_that_measure_another_thing_are_refused(
    changes: dict[str, Any], reason: str
) -> None:
    other = with_task(run("other", FAIR), **changes)
    with pytest.raises(T2IBenchError, match=f"cannot be compared: .*{reason}"):
        where([run("toy", LIKE_WORDS), other])


def test_a_first_run_behind_a_rewriter_is_refused() -> None:
    behind = with_rewriter(run("behind", FAIR), "polite")
    with pytest.raises(T2IBenchError, match="behind has the rewriter polite") as error:
        where([behind, run("toy", LIKE_WORDS)])
    assert error.value.hint == "Give the run without a rewriter first."
    other = with_rewriter(run("other", LIKE_WORDS), "rude")
    both = where([behind, other], samples=[NONE, NONE])
    text = " ".join(where_sentences(both))
    assert "The rewriter differs: polite in behind, rude in other." in text


def test_a_run_measured_in_another_way_has_changes_that_are_not_decided() -> None:
    limited = with_task(run("other", FAIR), settings=hand.settings(limit=8))
    result = where([run("toy", LIKE_WORDS), limited])
    source = result.sources[1]
    assert source.change is not None and source.change.slope.low is not None
    assert not source.is_clear("change_of_slope")
    text = " ".join(where_sentences(result))
    assert "no change of other is called clear: other stimuli (--limit)." in text
    changes = [
        record
        for record in where_records(result)
        if record.where == "images of other less toy"
        and "single" not in record.quantity
    ]
    assert [record.p for record in changes] == [None] * 3
    assert [record.clear for record in changes] == [None] * 3


def test_what_is_noted_of_a_run_is_noted_of_no_other() -> None:
    limited = with_task(run("limited", FAIR), settings=hand.settings(limit=8))
    result = where([run("toy", LIKE_WORDS), run("alike", FAIR), limited])
    noted = ["--limit" in str(source.remarks) for source in result.sources]
    assert noted == [False, False, True]
    assert result.sources[1].is_clear("change_of_slope")
    assert not result.sources[2].is_clear("change_of_slope")


@pytest.mark.parametrize(
    ("reason", "said"), [("one image", "one image"), (None, "it has no value")]
)
def test_a_run_without_a_headline_is_refused(reason: str | None, said: str) -> None:
    without = with_task(run("other", FAIR), headline=Headline(reason=reason))
    with pytest.raises(T2IBenchError, match=f"other, jobs: {said}"):
        where([run("toy", LIKE_WORDS), without])


def test_a_limit_of_both_runs_is_said_beside_clear_changes() -> None:
    runs = [
        with_task(made, settings=hand.settings(limit=8))
        for made in (run("toy", LIKE_WORDS), run("other", FAIR))
    ]
    text = " ".join(where_sentences(where(runs)))
    assert "toy and other: made with --limit." in text
    assert "Against toy, other changes the slope on the words by" in text


@pytest.mark.parametrize("place", [0, 1])
def test_an_inconclusive_test_is_named_and_decides_no_change(place: int) -> None:
    runs = [run("toy", LIKE_WORDS), run("behind", FAIR)]
    name = runs[place].name
    runs[place] = with_task(runs[place], inconclusive="the groups look alike")
    result = where(runs, samples=[NONE, rewritten([0] * 8, [24] * 8)])
    text = " ".join(where_sentences(result))
    assert f"The test of {name} is inconclusive: the groups look alike." in text
    assert text.count("The test of") == 1
    assert "no change of behind is called clear" in text
    source = result.sources[1]
    assert not any(source.is_clear(f"change_of_{part}") for part in ("mean", "slope"))
    # Nor are its parts clear, or counted in the correction of the other run's.
    of_test = result.sources[place]
    assert [finding.p for finding in of_test.findings] == [None] * 3
    assert not any(of_test.is_clear(part) for part in ("mean", "slope", "beside"))
    assert f"No part of the lean of {name} is therefore called clear" in text
    assert f"Images of {name} lean" not in text.replace("lean beyond", "")
    # What images add is about the second run alone.
    assert source.is_clear("added_mean") == (place == 0)


def test_words_are_counted_of_the_same_prompts_as_leans() -> None:
    """The first occupation has no lean of its text: its 24 rewritten prompts count nowhere."""
    words = {job: number / 10 for number, job in enumerate(JOBS) if number > 0}
    plain = run("toy", LIKE_WORDS, words)
    rows = rewritten([24] + [0] * 7, [0] * 8)
    result = where([plain, run("behind", FAIR, words)], samples=[NONE, rows])
    counted = result.sources[1].rewritten
    assert counted is not None
    assert (counted.first, counted.n_images) == (0, 7 * 24)
    assert result.sources[1].added is not None


def in_wordings(count: int) -> Influence:
    return Influence.of_mean(
        "wordings of nurse", list(range(count)), [float(n) for n in range(count)]
    )


@pytest.mark.parametrize(
    ("n_wordings", "are_stored", "is_known"),
    [(2, False, False), (3, False, True), (2, True, True)],
)
def test_prompts_that_count_for_less_than_others_are_not_held_against_leans(
    n_wordings: int, *, are_stored: bool, is_known: bool
) -> None:
    """Of three prompts in two wordings, two are alternatives: a lean counts each of them half.

    Words count like leans where the samples have the wording of each image, and earlier runs' have
    none.
    """
    made = run("behind", FAIR)
    paired = made.paired["jobs"]
    items = [
        replace(
            part, influence=Influence.combined([(1.0, part.influence), (1e-3, extra)])
        )
        if part.name == "nurse"
        else part
        for part in paired.headline
        for extra in [in_wordings(n_wordings)]
    ]
    made = replace(made, paired={"jobs": replace(paired, headline=tuple(items))})
    rows = rewritten([12] * 8, [12] * 8)
    for number, row in enumerate(rows):
        if row["stimulus"] == "nurse":
            row["prompt"] = f"nurse {number % 3}"
        if are_stored:
            row["wording"] = 1 + (number % 3) // 2
    result = where([run("toy", LIKE_WORDS), made], samples=[NONE, rows])
    assert (result.sources[1].added is not None) == is_known
    text = " ".join(where_sentences(result))
    says_why = "is not known: its wordings have alternatives" in text
    assert says_why != is_known
    assert ("`t2ibench score RUN` stores it" in text) == says_why
