"""The verdict on a judge: by simulation, with planted errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from t2ibench.methods.core.judge_errors import LabelledAnswer, check_attribute
from t2ibench.stats import holm

CLASSES = ["female", "male"]


def answers(
    rng: np.random.Generator,
    right: float,
    *,
    prompts: int = 30,
    worse_for_b: float = 0.0,
    answered: float = 1.0,
) -> list[LabelledAnswer]:
    """Ten images a prompt; what women of group b are read worse by, and how many men answered."""
    rows = []
    for prompt in range(prompts):
        share, b = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9]), rng.random()
        for _ in range(10):
            truth, group = (
                CLASSES[int(rng.random() > share)],
                "b" if rng.random() < b else "a",
            )
            worse = worse_for_b if (truth, group) == ("female", "b") else 0.0
            said = truth if rng.random() < right - worse else CLASSES[truth == "female"]
            if truth == "male" and rng.random() > answered:
                said = "unknown"
            rows.append(
                LabelledAnswer(truth, said, f"prompt {prompt}", {"race": group})
            )
    return rows


@pytest.mark.parametrize(
    ("right", "options", "often", "never"),
    [
        (1.0, {}, "use", "do not use"),
        (0.9, {}, "use corrected", "use"),  # a share of .9 is read as .82
        (0.94, {}, "use corrected", "use"),
        # right on average, not for everyone
        (0.97, {"worse_for_b": 0.35}, "do not use", "use"),
        (0.98, {"answered": 0.4}, "do not use", "use"),
        (0.7, {}, "do not use", "use"),
    ],
)
def test_planted_judge_errors_get_the_verdict_of_their_rule(
    right: float, options: dict[str, float], often: str, never: str
) -> None:
    """Fifteen checks of 300 images: a bad judge is never called fit."""
    rng = np.random.default_rng(8)
    found = Counter(
        check_attribute("gender", "?", CLASSES, answers(rng, right, **options)).verdict
        for _ in range(15)
    )
    assert found[often] >= 11 and found[never] == 0


def test_the_reason_names_class_and_group() -> None:
    rng = np.random.default_rng(2)
    rows = answers(rng, 0.97, prompts=60, worse_for_b=0.4)
    reason = check_attribute("gender", "?", CLASSES, rows).reason
    assert "'female'" in reason and "race" in reason
    few = check_attribute("gender", "?", CLASSES, rows[:20])
    assert few.verdict == "do not use" and "20 are needed" in few.reason


def test_a_check_does_not_depend_on_the_order_of_images() -> None:
    rng = np.random.default_rng(3)
    rows = answers(rng, 0.9)
    mixed = [rows[k] for k in rng.permutation(len(rows))]
    assert check_attribute("gender", "?", CLASSES, rows) == check_attribute(
        "gender", "?", CLASSES, mixed
    )


def test_a_judge_that_answers_nothing_is_not_to_be_used() -> None:
    rows = [
        LabelledAnswer("female", "unknown", "p", {}),
        LabelledAnswer("male", "unknown", "q", {}),
    ]
    found = check_attribute("gender", "?", CLASSES, rows)
    assert found.verdict == "do not use"
    assert (
        found.classes[0].sensitivity.value is None
        and found.classes[0].read[0].value is None
    )
    assert found.model_dump_json()  # no number that JSON does not have


def test_four_folders_allow_inference_about_others_and_their_differences_widen_it() -> (
    None
):
    """A judge that is right in .99 of some models' images and .8 of another's."""
    rng = np.random.default_rng(6)
    rows = [
        replace(
            row, groups={"folder": f"model {number}"}, prompt=f"{number} {row.prompt}"
        )
        for number, right in enumerate([0.99, 0.99, 0.99, 0.99, 0.75])
        for row in answers(rng, right, prompts=12)
    ]
    few = [
        row for row in rows if row.groups["folder"] in {"model 0", "model 1", "model 4"}
    ]
    found, of_these = (
        check_attribute("gender", "?", CLASSES, some) for some in (rows, few)
    )
    wide, narrow = (one.classes[0].sensitivity for one in (found, of_these))
    assert wide.ci_high - wide.ci_low > 1.5 * (narrow.ci_high - narrow.ci_low)
    assert found.verdict != "use" and of_these.verdict != "use"


def labelled(truth: str, answer: str, number: int, **groups: str) -> LabelledAnswer:
    return LabelledAnswer(truth, answer, f"prompt {number}", groups)


def test_answers_are_counted_by_peoples_class() -> None:
    rows = [labelled("female", "female", number) for number in range(3)]
    rows += [labelled("female", "male", 3), labelled("male", "unknown", 4)]
    rows += [labelled("male", "male", number) for number in range(5, 7)]
    rows += [labelled("unknown", "male", 7), labelled("unknown", "unknown", 8)]
    result = check_attribute("gender", "?", CLASSES, rows)
    women, men = result.classes
    assert women.answers == {"female": 3, "male": 1, "unknown": 0}
    assert men.answers == {"female": 0, "male": 2, "unknown": 1}
    assert (women.images, men.images) == (4, 3)
    assert women.sensitivity.value == 0.75 and women.specificity.value == 1.0
    assert men.answered.value == pytest.approx(2 / 3, abs=1e-6)
    assert (result.no_class, result.no_class_answered) == (2, 1)


def test_groups_are_compared_within_peoples_class_with_holms_correction() -> None:
    rng = np.random.default_rng(3)
    rows = [
        replace(row, groups={**row.groups, "age": rng.choice(["old", "young"])})
        for row in answers(rng, 0.85, prompts=12, worse_for_b=0.4, answered=0.8)
    ]
    result = check_attribute("gender", "?", CLASSES, rows).by_group
    assert [(record.by, record.truth) for record in result] == [
        ("age", "female"),
        ("age", "male"),
        ("race", "female"),
        ("race", "male"),
    ]
    tests = [p for record in result for p in (record.p, record.p_answered)]
    adjusted = [p for record in result for p in (record.p_holm, record.p_answered_holm)]
    assert adjusted == pytest.approx(holm(tests), abs=1e-5)
    assert len(set(adjusted)) > 2
    for record in result:
        for group in record.groups:
            mine = [
                row.answer
                for row in rows
                if row.truth == record.truth and row.groups[record.by] == group.name
            ]
            assert group.images == len(mine)
            assert group.answered == len(mine) - mine.count("unknown")
            assert group.right == mine.count(record.truth)


def test_wrong_answers_move_the_shares_of_two_groups_apart() -> None:
    """Of women in a 19 of 20 are right, in b 10 of 20; of men all: se is .95 and .5, sp 1."""
    rows = []
    for group, right in (("a", 19), ("b", 10)):
        for number in range(20):
            answer = "female" if number < right else "male"
            rows.append(labelled("female", answer, number, race=group))
            rows.append(labelled("male", "male", number, race=group))
    women, men = check_attribute("gender", "?", CLASSES, rows).by_group
    # A share of .9 is read as .9 se, and one of .9 men as .9 + .1 (1 - se).
    assert women.apart == pytest.approx(0.9 * 0.45)
    assert men.apart == pytest.approx(0.9 * 0.45)
    assert women.apart_answered == 0.0
