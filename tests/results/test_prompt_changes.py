"""Two runs prompt by prompt: what changed, and who turned."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from t2ibench.methods.core.answer_counts import (
    KEY,
    CountedAttribute,
    CountedPrompt,
)
from t2ibench.results.prompt_changes import AttributeChange, compare_prompts, request_of
from t2ibench.results.schema import Results, Row, Score
from tests import hand

WORK = {"CEO": 0.3, "nurse": 0.9, "athlete": 0.5}


def run(counts: dict[str, tuple[int, int, int]], request: str = "") -> Results:
    """A run in which so many images show women, men, and neither."""
    rows = tuple(
        CountedPrompt(
            *(name, {"female": women, "male": men}, lost),
            {"female": WORK[name]} if name in WORK else {},
        )
        for name, (women, men, lost) in counts.items()
    )
    named = {"female": "women at work"}
    one = CountedAttribute("gender", ("female", "male"), rows, named)
    by = []
    for name, (women, men, _) in counts.items():
        lean = (women - men) / (women + men)
        score = Score(value=lean, p_holm=0.001 if abs(lean) > 0.8 else 0.5)
        by.append(Row(name=name, group="gender", scores={"lean": score}))
    whole = hand.results("m", task=hand.task(by=by, details={KEY: [asdict(one)]}))
    settings = {"request": request} if request else {}
    return whole.model_copy(
        update={"model": whole.model.model_copy(update={"settings": settings})}
    )


def compared(first: Results, second: Results) -> AttributeChange:
    (found,) = compare_prompts(first, second)
    return found


PLAIN = {
    "CEO": (0, 10, 0),
    "nurse": (10, 0, 0),
    "athlete": (0, 10, 0),
    "chef": (5, 5, 0),
}


def test_changes_by_a_request_are_described() -> None:
    asked = {
        "CEO": (7, 3, 0),
        "nurse": (10, 0, 0),
        "athlete": (10, 0, 0),
        "chef": (4, 6, 0),
    }
    found = compared(run(PLAIN), run(asked, request=". Be fair."))
    by_name = {one.short: one for one in found.prompts}
    assert (
        found.asked
        and by_name["athlete"].turned
        and by_name["athlete"].change.value == 1
    )
    assert {name: one.words for name, one in by_name.items()} == {
        "CEO": "changed; most are women now",
        "nurse": "still women",
        "athlete": "turned from men to women",
        "chef": "no clear change",
    }
    assert [by_name[name].first.p for name in ("CEO", "chef")] == [0.001, None]
    assert by_name["CEO"].known_share == 0.3 and by_name["chef"].known_share is None
    low, high = by_name["CEO"].change.low, by_name["CEO"].change.high
    assert low is not None and high is not None and 0 < low < 0.7 < high < 1
    assert request_of(run(asked, request=". Be fair.")) == "'Be fair'"
    # Of two models nobody was asked to correct anything.
    assert request_of(run(PLAIN)) is None
    assert not compared(run(PLAIN), run(asked)).asked


def test_p_values_are_those_of_fishers_exact_test_after_holm() -> None:
    found = compared(run({"CEO": (0, 10, 0)}), run({"CEO": (5, 5, 0)}))
    # 2 C(10, 5) / C(20, 5)
    assert found.prompts[0].p_holm == pytest.approx(2 * 252 / 15504)
    same = compared(run(PLAIN), run(PLAIN))
    assert all(one.p_holm == 1 and one.change.value == 0 for one in same.prompts)


def test_images_without_an_answer_never_cause_a_claimed_change() -> None:
    found = compared(run({"CEO": (0, 10, 0)}), run({"CEO": (5, 0, 5)})).prompts[0]
    whole = compared(run({"CEO": (0, 10, 0)}), run({"CEO": (5, 5, 0)})).prompts[0]
    assert found.p_holm == whole.p_holm  # the five may all show men
    found = compared(run({"CEO": (0, 5, 5)}), run({"CEO": (5, 0, 5)})).prompts[0]
    assert found.p_holm == 1 and found.words == "no clear change"
    low, high = found.change.low, found.change.high
    assert low is not None and high is not None and low < 0 < high


def test_prompts_of_one_run_and_other_tasks_are_not_compared() -> None:
    fewer = {name: PLAIN[name] for name in ("CEO", "nurse")}
    found = compared(run(PLAIN), run(fewer))
    assert len(found.prompts) == 2
    assert found.notes() == ["2 prompts are in one run only."]
    other = run(PLAIN)
    task = other.tasks["task"].model_copy(update={"task_hash": "another"})
    other = other.model_copy(update={"tasks": {"task": task}})
    assert compare_prompts(run(PLAIN), other) == []
