"""Over-correction: which images are the same, and which rows turned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from t2ibench.methods.core.answer_counts import CountedPrompt, ShownRow
from t2ibench.methods.core.prompt_values import PromptValues
from t2ibench.results.contrast import Contrast
from t2ibench.results.over_correction import contradictions, turned_rows
from t2ibench.results.paired import PairedTask
from t2ibench.results.prompt_changes import AttributeChange, PromptChange

JUDGED = "a female nurse"
PLAIN = "a nurse"


def values(prompt: str, numbers: Sequence[float]) -> PromptValues:
    return PromptValues(
        prompt, "female", np.arange(len(numbers)), np.array(numbers, float)
    )


def run(
    contradicting: Sequence[float], diversity: Mapping[str, Sequence[float]]
) -> PairedTask:
    """A run with judged images of one prompt, and with what an encoder measured."""
    measured = tuple(values(prompt, numbers) for prompt, numbers in diversity.items())
    return PairedTask(
        scale="lean",
        question="images",
        headline=(),
        rows={},
        diversity={"an encoder": measured},
        contradictions={"a judge": (values(JUDGED, contradicting),)},
    )


@pytest.mark.parametrize(
    "measured",
    [{}, {PLAIN: [0.1, 0.2, 0.3]}],
    ids=["too few images", "prompts without a group only"],
)
def test_images_that_no_encoder_compared_are_not_called_the_same(
    measured: dict[str, list[float]],
) -> None:
    before = run([0.0] * 40, measured)
    after = run([1.0] * 20 + [0.0] * 20, measured)
    overall, (group,) = contradictions(before, after, 0.95)
    for change in (overall.change, group.change):
        assert change is not None and change.p is not None
        assert change.value == 0.5 and change.p < 1e-4


def test_only_the_judged_images_say_whether_they_are_the_same() -> None:
    before = run([0.0, 1.0, 0.0], {JUDGED: [0.1, 0.2, 0.3], PLAIN: [0.5, 0.5, 0.5]})
    other_plain = {JUDGED: [0.1, 0.2, 0.3], PLAIN: [0.7, 0.5, 0.5]}
    other_judged = {JUDGED: [0.1, 0.2, 0.4], PLAIN: [0.5, 0.5, 0.5]}
    same, _ = contradictions(before, run([0.0, 1.0, 0.0], other_plain), 0.95)
    assert same.change == Contrast(0.0, 0.0, 0.0, 1.0)
    other, _ = contradictions(before, run([0.0, 1.0, 0.0], other_judged), 0.95)
    assert other.change is not None and other.change.low != 0.0


def shown(women: int, p: float | None) -> ShownRow:
    most = "female" if women > 10 else "male"
    counted = CountedPrompt("nurse", {"female": women, "male": 20 - women})
    is_clear = p is not None and p < 0.05
    return ShownRow(counted, "nurse", most, None, is_clear, p=p)


def question(before: ShownRow, after: ShownRow, p: float = 0.001) -> AttributeChange:
    change = PromptChange(
        "nurse", before, after, "female", Contrast(0.0, None, None), p
    )
    return AttributeChange(
        task="jobs",
        attribute="gender",
        classes=("female", "male"),
        prompts=(change,),
        alone=0,
        judged=("a judge",),
        asked=False,
    )


def test_the_largest_of_three_p_values_counts_for_answers() -> None:
    before = shown(18, 0.01)
    for after, p, largest in (
        (shown(4, 0.03), 0.001, 0.03),
        (shown(9, 0.8), 0.001, 0.8),
        (shown(4, 0.003), 0.02, 0.02),
    ):
        (row,) = turned_rows("jobs", (), [question(before, after, p)])
        assert row.p == largest
        assert (row.first, row.second) == pytest.approx(
            (0.9, after.counted.counts["female"] / 20)
        )
    assert turned_rows("jobs", (), [question(before, shown(19, 0.01))]) == ()
    assert turned_rows("jobs", (), [question(before, shown(4, None))]) == ()


def test_several_questions_of_a_task_are_corrected_for() -> None:
    turning = question(shown(18, 0.01), shown(4, 0.03))
    still = replace(question(shown(18, 0.01), shown(18, 0.01), p=1.0), attribute="age")
    elsewhere = replace(still, task="another task")
    (row,) = turned_rows("jobs", (), [turning, still, elsewhere])
    assert row.p == 2 * 0.03


def test_answers_of_other_judges_or_about_unread_ends_are_no_turn() -> None:
    change = question(shown(18, 0.01), shown(4, 0.03))
    for incomparable in (
        replace(change, judged=("a judge", "another")),
        replace(change, unread=True),
    ):
        assert turned_rows("jobs", (), [incomparable]) == ()
