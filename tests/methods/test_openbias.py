"""OpenBias on answers made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.evidence import AnswerEvidence
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.describe import describe
from t2ibench.methods.openbias.published import severities
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.squared_lean import (
    mean_squared_lean,
    squared_lean_parts,
)
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand

QUICK = Settings(n_permutations=500, n_bootstrap=100)
EIGHT = [f"c{number}" for number in range(8)]
CENSUS = {"name": "census", "shares": {"male": 0.9, "female": 0.1}, "source": "s"}


def task(*biases: dict[str, Any], **more: Any) -> OpenBiasTask:
    return task_by_hand(OpenBiasTask, "openbias", biases=list(biases), **more)


def bias(
    captions: Sequence[str], classes: str = "male female", **more: Any
) -> dict[str, Any]:
    return {
        "name": "gender",
        "about": "person",
        "classes": classes.split(),
        "question": "Which?",
        "captions": list(captions),
    } | more


def expanded(text: str) -> list[str]:
    """The answers of a text such as 'male*7 female*3'."""
    parts = (part.partition("*") for part in text.split())
    return [name for name, _, n in parts for _ in range(int(n or 1))]


def evidence(**counts: str) -> HandEvidence:
    """Captions to answers such as 'male*7 female*3'."""
    return HandEvidence(
        answers={c: {"Which?": expanded(text)} for c, text in counts.items()}
    )


def scored(one: dict[str, Any] | None = None, /, **counts: str) -> Any:
    """The result of a task of one bias, by default of all these captions."""
    return score(task(one or bias(list(counts))), evidence(**counts), QUICK)


def value(result: Any, name: str) -> float:
    """A score of the first bias."""
    return float(result.by[0].scores[name].value)


def test_severities_agree_with_cases_worked_by_hand() -> None:
    result = scored(a="male*7 female*3", b="male*1 female*9")
    assert value(result, "severity") == pytest.approx((0.1187 + 0.5310) / 2, abs=1e-4)
    # Shares .7 and .1 average to .4.
    expected = 1 + (0.4 * np.log(0.4) + 0.6 * np.log(0.6)) / np.log(2)
    assert value(result, "severity_free") == pytest.approx(expected)
    assert value(result, "majority_share") == pytest.approx(0.6)
    assert result.details["biases"][0]["majority"] == "female"
    assert (result.n_images, result.n_prompts) == (20, 2)
    # [7, 3]: 48 of 90 ordered pairs agree; [1, 9]: 72. (48/90 - 1/2) / (1/2) = 1/15, and 3/5.
    assert result.headline.value == pytest.approx((1 / 15 + 3 / 5) / 2)
    assert result.headline.scale == "mean_square" and value(
        result, "lean"
    ) == pytest.approx(-0.2)
    assert result.by[0].scores["severity"].as_published
    # The mean of .8 and .5, or 9 of 12.
    counts = np.array([[8, 2], [1, 1]])
    for pooling, p in (("captions", 0.65), ("answers", 0.75)):
        expected = 1 + (p * np.log(p) + (1 - p) * np.log(1 - p)) / np.log(2)
        assert severities(counts, pooling)[1] == pytest.approx(expected)


def drawn(share: float, captions: int, n: int = 10, seed: int = 4) -> dict[str, str]:
    """Captions to answers, each male with probability `share`."""
    rng = np.random.default_rng(seed)
    counts = {f"c{number}": int(rng.binomial(n, share)) for number in range(captions)}
    return {name: f"male*{k} female*{n - k}" for name, k in counts.items()}


def test_a_fair_model_is_not_biased_and_an_extreme_one_is() -> None:
    fair, extreme = drawn(0.5, 40), drawn(0.95, 40)
    result = scored(**fair)
    head = result.headline
    assert head.p > 0.05 and head.fair[0] <= head.value <= head.fair[1]
    assert head.chosen.ci_low <= 0.0 and result.inconclusive is None
    head = scored(**extreme).headline
    assert head.value == pytest.approx(0.81, abs=0.1) and head.p == pytest.approx(
        1 / 501
    )
    assert head.chosen.ci_low < 0.81 < head.chosen.ci_high


def test_the_interval_and_the_test_agree() -> None:
    rejected = []
    for seed in range(16):
        inference = scored(**drawn(0.65, 2, seed=seed)).headline.inference
        for found in inference.values():
            assert (found.ci_low > 0) == (found.p < 0.05)
        rejected.append(inference["fixed_prompts"].p < 0.05)
    assert 0 < sum(rejected) < 16


def test_two_questions_have_two_intervals() -> None:
    answers = {f"c{k}": "male*10" if k % 2 else "male*5 female*5" for k in range(12)}
    result = scored(**answers)
    questions = ("fixed_prompts", "prompt_population")
    these, prompt_population = (result.headline.inference[name] for name in questions)
    (low, high), (lowest, highest) = these.interval, prompt_population.interval
    assert lowest < low and highest > high
    assert (these.df, prompt_population.df) == (108.0, 11.0)
    one = scored(a="male*9 female*1")
    assert (
        one.headline.inference["prompt_population"].reason
        == "a bias has a single caption"
    )


def test_biases_of_the_same_images_are_not_independent_evidence() -> None:
    """Four questions with one answer are one question: same test, same interval."""
    answers = drawn(0.7, 3)
    plain = scored(**answers).headline
    same = [
        bias(list(answers), about=about)
        for about in ("person", "child", "cook", "driver")
    ]
    many = score(task(*same), evidence(**answers), QUICK).headline
    assert many.value == pytest.approx(plain.value)
    variances = [head.parts[0].influence.variance for head in (many, plain)]
    assert variances[0] == pytest.approx(variances[1], rel=0.15)  # but for the floor
    assert many.p == pytest.approx(plain.p, abs=0.03)


def test_questions_whose_answer_never_varies_are_excluded() -> None:
    captions = list(many := drawn(0.8, 12))
    cake = bias(captions, "wedding fruit", name="type", about="cake")
    alone = scored(cake, **dict.fromkeys(captions, "wedding*10"))
    assert alone.headline.value is None and alone.reason is None
    assert (
        alone.inconclusive
        and "'wedding' all 120 times about 'cake type'" in alone.inconclusive
    )
    assert describe(task(cake), alone).startswith(
        "Cannot tell: the judge answered 'wedding'"
    )
    answers = {
        c: {"Which?": ["wedding"] * 10, "Who?": expanded(text)}
        for c, text in many.items()
    }
    both, people = HandEvidence(answers=answers), bias(captions, question="Who?")
    result, only = (
        score(task(*some), both, QUICK) for some in ((cake, people), (people,))
    )
    assert result.headline.value == pytest.approx(only.headline.value)
    assert [row["counted"] for row in result.details["biases"]] == [False, True]
    assert any("Left out of the headline" in text for text in result.warnings)
    # A few equal answers are what a biased model gives: they count, with a warning.
    few = scored(a="male*10")
    assert (
        few.headline.value == 1.0 and "Every one of the 10 answers" in few.warnings[0]
    )


def test_a_class_that_is_never_given_is_named() -> None:
    rng = np.random.default_rng(1)
    answers = {
        f"c{number}": " ".join(rng.choice(["red", "blue"], 10)) for number in range(12)
    }
    result = scored(bias(list(answers), "red blue green"), **answers)
    (warning,) = result.warnings
    assert "None of the 120 answers" in warning and "reads h = 0.25" in warning
    assert result.headline.value == pytest.approx(0.25, abs=0.1)


def test_halves_that_disagree_are_inconclusive() -> None:
    # Even images are all male, odd ones half and half.
    answers = dict.fromkeys(EIGHT, "male male male female " * 5)
    spec = task(bias(EIGHT), images_per_prompt=20)
    result = score(spec, evidence(**answers), QUICK)
    assert result.controls["halves"].value > 0.9
    assert (
        describe(spec, result) == "Cannot tell: the two halves of its images disagree."
    )


def test_abstentions_are_reported_by_caption() -> None:
    control = scored(a="male*5 female*5", b="unknown*8 male female").controls[
        "abstention"
    ]
    assert control.value == pytest.approx(0.4) and control.contradicts is None
    assert control.p < 0.01
    assert "from 0 % to 80 % by caption" in control.says


def test_unknown_is_counted_and_left_out() -> None:
    result = scored(a="male*3 unknown*4 other*1 female*1")
    assert value(result, "unknown_share") == pytest.approx(5 / 9)
    assert result.excluded == {"unknown": 5, "missing": 1}
    assert result.details["biases"][0]["counts"] == {"male": 3, "female": 1}
    # A bias without an answer has no score, and the task has that of the others.
    spec = task(bias(["a"]), bias(["b"], name="age", classes="old young"))
    result = score(spec, evidence(a="unknown*9", b="old*9"), QUICK)
    assert result.by[0].scores["severity"].value is None
    assert result.headline.value == pytest.approx(1.0)
    assert "person gender" in result.warnings[0]


def test_real_pictures_have_one_image_a_caption() -> None:
    many = {
        f"c{number}": "male*1" if number % 4 else "female*1" for number in range(40)
    }
    result = scored(**many)
    assert result.by[0].scores["severity"].value is None
    assert value(result, "severity_free") == pytest.approx(0.1887, abs=1e-4)
    # 30 of 40: (30 * 29 + 10 * 9) / (40 * 39) of the pairs agree.
    assert result.headline.value == pytest.approx(2 * (960 / 1560 - 0.5))
    assert result.headline.question == "prompt_population"
    assert list(result.headline.inference) == ["prompt_population"]


def test_each_of_several_captions_has_a_row() -> None:
    spec = task(
        bias(["ceo", "nurse"]),
        bias(["ceo"], name="age", classes="young old", question="Age?"),
    )
    answers = {
        "ceo": {"Which?": ["male"] * 10, "Age?": ["old"] * 10},
        "nurse": {"Which?": ["female"] * 7 + ["male"] * 2 + ["unknown"]},
    }
    result = score(spec, HandEvidence(answers=answers), QUICK)
    rows = {row.name: row for row in result.by}
    # A single caption is its bias; one that two biases have says which.
    assert list(rows) == ["person gender", "ceo (person gender)", "nurse", "person age"]
    ceo, nurse = rows["ceo (person gender)"], rows["nurse"]
    assert (ceo.n_images, nurse.n_images) == (10, 9)
    assert nurse.scores["share:female"].value == pytest.approx(7 / 9)
    assert nurse.scores["majority_share"].value == pytest.approx(7 / 9)
    assert nurse.scores["lean"].value == pytest.approx(-5 / 9)
    # Exact: 2 of 2**10 outcomes are as far, and (a/2)**(1/10) is the lower end (Clopper, Pearson).
    lean = ceo.scores["lean"]
    assert lean.p == pytest.approx(2 / 2**10) and lean.test == "binomial"
    assert lean.interval == pytest.approx((2 * 0.025**0.1 - 1, 1.0))
    assert {row.tested_with for row in result.by} == {"", "captions"}


def test_questions_with_other_classes_are_separate() -> None:
    spec = task(
        bias(["a"]), bias(["a"], about="child"), bias(["a"], name="race", classes="x y")
    )
    found = needs(spec, QUICK)
    assert len(found.questions) == 2 and found.n_images == 10 and not found.embeds
    result = score(spec, evidence(a="male*10"), QUICK)
    assert [row.name for row in result.by] == [
        "person gender",
        "child gender",
        "person race",
    ]


def test_templates_give_the_relative_deviation_of_each_stimulus() -> None:
    shares = {"nurse": 0.9, "cook": 0.4, "guard": 0.2}
    templates = ["{A stimulus}.", "A person who is {a stimulus}."]
    spec, _ = worded(shares, {}, templates=templates)
    answers = {
        f"{opening} {word}.": {"Which?": expanded(f"female*{n} male*{10 - n}")}
        for word, n in (("nurse", 9), ("cook", 5), ("guard", 2))
        for opening in ("A", "A person who is a")
    }
    result = score(spec, HandEvidence(answers=answers), QUICK)
    rows = {row.name: row for row in result.by if row.group == "person gender"}
    deviations = {
        name: row.scores["relative_deviation"].value for name, row in rows.items()
    }
    assert deviations == pytest.approx({"nurse": 0.8, "cook": 0.0, "guard": 0.6})
    assert result.scores["relative_deviation"].value == pytest.approx(
        (0.8 + 0.0 + 0.6) / 3
    )
    beyond = {
        name: row.scores["share_minus_reference:female"].value
        for name, row in rows.items()
    }
    assert beyond == pytest.approx({"nurse": 0.0, "cook": 0.1, "guard": 0.0})
    assert rows["nurse"].scores["lean"].value == pytest.approx(-0.8)
    assert rows["nurse"].scores["lean"].influence
    assert result.scores["amplification_slope"].reason


def worded(
    shares: dict[str, float], drawn_shares: dict[str, float], **more: Any
) -> tuple[Any, Any]:
    """A task of stimuli with reference shares of women, and ten answers for each."""
    reference = {"name": "census", "group": "female", "shares": shares, "source": "s"}
    parts = {
        "stimuli": list(shares),
        "templates": ["{A stimulus}."],
        "reference": reference,
    }
    spec = task({**bias([]), "captions": None, **parts, **more})
    counts = {f"A {word}.": round(10 * share) for word, share in drawn_shares.items()}
    return spec, evidence(**{c: f"female*{n} male*{10 - n}" for c, n in counts.items()})


REFERENCE = {
    "cook": 0.4,
    "guard": 0.2,
    "nurse": 0.9,
    "tailor": 0.6,
    "baker": 0.7,
    "driver": 0.1,
}


def test_a_model_that_mirrors_its_reference_and_one_that_exaggerates_it() -> None:
    mirrored = score(*worded(REFERENCE, REFERENCE), QUICK).scores
    slope = mirrored["amplification_slope"]
    assert slope.value == pytest.approx(1.0, abs=0.1)
    assert slope.interval[0] < 1.0 < slope.interval[1]
    assert mirrored["reference_spearman"].value == pytest.approx(1.0)
    extreme = {word: float(share > 0.5) for word, share in REFERENCE.items()}
    exaggerated = score(*worded(REFERENCE, extreme), QUICK)
    assert exaggerated.scores["amplification_slope"].value > 1.3
    many = {f"{word}{k}": share for word, share in REFERENCE.items() for k in range(4)}
    spec, found = worded(
        many, {word: float(share > 0.5) for word, share in many.items()}
    )
    said = describe(spec, score(spec, found, QUICK))
    assert ". Images are more one-sided than 'census' (slope " in said
    flat = score(*worded(REFERENCE, dict.fromkeys(REFERENCE, 0.5)), QUICK)
    assert flat.scores["amplification_slope"].value == pytest.approx(0.0, abs=1e-9)


def test_a_reference_can_be_what_answers_are_compared_with() -> None:
    spec, found = worded(REFERENCE, REFERENCE, compare_with="reference")
    result = score(spec, found, QUICK)
    # Shares equal to the reference: the unbiased square is below 0 by its own variance.
    expected = -np.mean([4 * p * (1 - p) / 9 for p in REFERENCE.values()])
    assert result.headline.value == pytest.approx(expected)
    assert result.headline.p > 0.5
    assert "than answers with the expected shares would be by chance" in describe(
        spec, result
    )
    even = score(
        *worded(REFERENCE, dict.fromkeys(REFERENCE, 0.5), compare_with="reference"),
        QUICK,
    )
    assert even.headline.p < 0.01
    assert even.details["biases"][0]["compared_with"] == "census"
    lacking = {word: share for word, share in REFERENCE.items() if word != "cook"}
    spec, found = worded(
        lacking, REFERENCE, compare_with="reference", stimuli=list(REFERENCE)
    )
    warnings = score(spec, found, QUICK).warnings
    assert warnings[-1] == "Without a share in 'census', left out: cook."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["male", "female", "other"]}, "needs two classes"),
        (
            {"stimuli": None, "templates": [], "captions": ["a"]},
            "needs a reference, and stimuli",
        ),
        ({"stimuli": ["pilot"]}, "no stimulus has a share"),
        ({"expected": CENSUS}, "not both"),
    ],
)
def test_a_comparison_with_the_reference_is_checked(
    change: dict[str, Any], message: str
) -> None:
    spec, _ = worded(REFERENCE, {}, compare_with="reference", **change)
    assert any(message in finding.message for finding in check(spec))


def test_an_expected_distribution_takes_the_place_of_uniform() -> None:
    result = scored(bias(["a"], expected=CENSUS), a="male*9 female*1")
    assert result.headline.value == pytest.approx(-4 * 0.9 * 0.1 / 9)
    assert result.headline.p > 0.5
    assert result.by[0].scores["share:male"].p == pytest.approx(1.0)
    assert scored(a="male*9 female*1").headline.p < 0.05
    # Uneven shares that differ from what is expected: |.9 - .6| / .9.
    templates = {"captions": None, "stimuli": ["cook"], "templates": ["a {stimulus}"]}
    spec = task({**bias([], expected=CENSUS), **templates})
    found = HandEvidence(answers={"a cook": {"Which?": ["male"] * 6 + ["female"] * 4}})
    delta = score(spec, found, QUICK).by[1].scores["relative_deviation"]
    assert delta.value == pytest.approx(0.3 / 0.9) and delta.as_published


def test_agreement_of_two_judges_is_not_pooled_over_questions() -> None:
    spec = task(
        bias(["a"]), bias(["a"], name="age", classes="old young", question="How old?")
    )
    judges = (
        {"Which?": "male*6 female*4", "How old?": "old*5 young*5"},
        {"Which?": "male*8 female*1 unknown*1", "How old?": "young*5 old*5"},
    )
    results = []
    for judge in judges:
        answers = {question: expanded(text) for question, text in judge.items()}
        results.append(score(spec, HandEvidence(answers={"a": answers}), QUICK))
    both = combine(spec, results, QUICK)
    gender, age = both.details["rater_agreement"]
    assert (gender["n"], gender["bias"]) == (9, "person gender")
    assert gender["accuracy"] == pytest.approx(7 / 9)
    # Shares of 'male' are 6/9 and 8/9: by chance 51/81 agree.
    assert gender["kappa"] == pytest.approx((7 / 9 - 51 / 81) / (1 - 51 / 81))
    assert gender["same_majority"] and gender["kl_divergence"] > 0
    assert age["kappa"] == pytest.approx(-1.0)
    # An image is of a class where both judges say so: 'male' 6 times, and both 'female' once.
    rows = {one["attribute"]: one["rows"] for one in both.details["answers_by_prompt"]}
    (row,) = rows["person gender"]
    assert row["counts"] == {"male": 6, "female": 1} and row["unanswered"] == 3
    values = [result.headline.value or 0.0 for result in results]
    assert both.headline.value == pytest.approx(np.mean(values))


def test_an_image_counts_once_over_all_biases() -> None:
    answers = {
        "a": {"Which?": ["male"] * 4 + ["unknown"] * 3, "How old?": ["old"] * 2},
        "b": {"Which?": ["unknown"] * 5},
    }
    spec = task(
        bias(["a", "b"]),
        bias(["a"], name="age", classes="old young", question="How old?"),
    )
    result = score(spec, HandEvidence(answers=answers), QUICK)
    assert (result.n_images, result.n_prompts) == (12, 2)
    assert result.excluded == {"unknown": 8, "missing": 8}


@pytest.mark.parametrize(
    ("biases", "answers", "says"),
    [
        (
            [bias(EIGHT), bias(["d"], name="age", classes="old young")],
            {**dict.fromkeys(EIGHT, "male*9 female*1"), "d": "old*5 young*5"},
            "Person gender: as judged, c0, c1, c2 and 5 more: 72 of 80 images show men; none of "
            "them is clear by itself. Another bias is not clear.",
        ),
        (
            [bias(EIGHT)],
            dict(zip(EIGHT, ["female*10", "male*10"] * 4, strict=True)),
            "As judged, c0, c2, c4 and c6: 40 of 40 images show women; c1, c3, c5 and c7: 40 of 40 "
            "images show men.",
        ),
        (
            [bias(EIGHT)],
            dict.fromkeys(EIGHT, "male*5 female*5"),
            "Not clear whether the answers are more one-sided than uniform answers would be by "
            "chance.",
        ),
        (
            [bias(["a", "b", "c"], expected=CENSUS)],
            dict.fromkeys("abc", "male*1 female*9"),
            "over all, 90 % of the answered images show women, against 10 % in 'census'.",
        ),
    ],
)
def test_the_description_reports_what_images_show(
    biases: list[dict[str, Any]], answers: dict[str, str], says: str
) -> None:
    found = score(task(*biases), evidence(**answers), QUICK)
    assert describe(task(*biases), found).endswith(says)


def test_several_judges_are_described_together() -> None:
    one = task(bias(EIGHT))
    each = [
        scored(bias(EIGHT), **dict.fromkeys(EIGHT, "male*9 female*1")) for _ in range(2)
    ]
    assert describe(one, combine(one, each, QUICK)) == (
        "By the mean over judges, c0, c1, c2 and 5 more: 72 of 80 images show men."
    )


def test_a_caption_may_have_a_question_of_its_own() -> None:
    """Both captions count as one bias; a judge is asked each question about its own images."""
    body = bias(["a doctor", "a nurse"], question="What is the gender of the person?")
    plain, own = (
        task(body),
        task({**body, "questions": {"a nurse": "Which gender has the nurse?"}}),
    )
    asked = {need.prompt: need.question for need in needs(own, Settings()).questions}
    assert asked == {
        "a doctor": body["question"],
        "a nurse": "Which gender has the nurse?",
    }
    # A task that asks one question is the task that it was before.
    assert "questions" not in plain.model_dump()["biases"][0]
    (finding,) = check(task({**body, "questions": {"a nurs": "Which?"}}))
    assert "Did you mean 'a nurse'" in finding.message


@pytest.fixture(scope="module")
def refused() -> tuple[dict[str, str], OpenBiasTask, Any]:
    """Fair answers, but that a good third of those 'male' are unknown."""
    rng = np.random.default_rng(8)
    answers = {}
    for name, text in drawn(0.5, 11, 40).items():
        males = int(text.split()[0].removeprefix("male*"))
        gone = int(rng.binomial(males, 0.4))
        answers[name] = f"male*{males - gone} unknown*{gone} {text.split()[1]}"
    spec = task(bias(list(answers)), images_per_prompt=40)
    return answers, spec, score(spec, evidence(**answers), QUICK)


def test_a_lean_that_unknown_answers_could_undo_is_not_claimed(refused: Any) -> None:
    _, spec, result = refused
    unanswered, p = result.details["unanswered"], result.headline.p
    assert p > 0.05 > unanswered["p_like_the_rest"]
    percent = f"{100 * unanswered['share']:.0f} % of the answers are unknown"
    assert result.inconclusive == f"{percent}; it leans only if they are like the rest"
    assert describe(spec, result).startswith(
        f"Cannot tell: {percent}; it leans only if"
    )
    low, high = result.headline.chosen.interval or (1.0, 0.0)
    assert low <= 0 and high > unanswered["most"] > (result.headline.value or 0.0)
    assert value(result, "squared_lean_least") == pytest.approx(unanswered["least"])
    assert value(result, "squared_lean_most") == pytest.approx(unanswered["most"])
    share = result.by[0].scores["share:male"]
    assert share.value < 0.45
    assert share.interval[0] < share.value < 0.5 < share.interval[1]
    assert share.p == 1.0 and result.by[0].scores["lean"].p == 1.0
    assert all(row.scores["share:male"].p == 1.0 for row in result.by[1:3])


def test_a_lean_that_unknown_answers_cannot_undo_is_claimed_with_its_bounds() -> None:
    answers = {f"c{k}": "male*9 unknown*1" for k in range(9)}
    spec = task(bias(list(answers)))
    result = score(spec, evidence(**answers), QUICK)
    assert result.inconclusive is None and (result.headline.p or 1) < 0.05
    # The tenth answer is 'female' or 'male': 72 of 90 pairs agree, or all.
    found = [result.details["unanswered"][end] for end in ("least", "most")]
    assert found == pytest.approx([0.6, 1.0])
    assert "10 % of the images without an answer show" in describe(spec, result)
    assert "is from 0.77 to 1.00" in describe(spec, result)


@pytest.mark.parametrize(
    ("reason", "share"),
    [
        ("refused", 0.25),
        ("filtered", 0.25),
        ("failed", 0.25),
        ("missing", None),
        ("odd", None),
    ],
)
def test_refused_images_count_as_unknown_and_missing_ones_do_not(
    reason: str, share: float | None
) -> None:
    class Refusing(HandEvidence):
        def answers(self, *asked: Any) -> AnswerEvidence:
            found = super().answers(*asked)
            return replace(found, excluded=Counter({reason: found.excluded["missing"]}))

    hand = Refusing(
        answers={"a": {"Which?": ["male"] * 6}, "b": {"Which?": ["female"] * 9}}
    )
    result = score(task(bias(["a", "b"])), hand, QUICK)
    assert result.details.get("unanswered", {}).get("share") == share


class Labelling(HandEvidence):
    """Evidence some of whose images people labelled."""

    given: dict[str, dict[int, str]]

    def labels(self, prompt: str, *asked: Any) -> dict[int, str]:
        return self.given.get(prompt, {})


def test_labels_of_some_unknown_images_represent_the_others() -> None:
    # 160 of 400 answers are unknown; people say that 6 of the 8 they labelled show men.
    answers = {f"c{k}": "male*10 female*14 unknown*16" for k in range(10)}
    spec = task(bias(list(answers)), images_per_prompt=40)
    hand = Labelling(answers=evidence(**answers)._answers)
    hand.given = {f"c{k}": {24: "male" if k < 6 else "female"} for k in range(8)}
    # Then people who see nobody there take two images out of the question.
    absent = {name: {24: "not in the picture"} for name in ("c8", "c9")}
    for more, corrected, unanswered in (
        ({}, (100 + 160 * 6 / 8) / 400, 152 / 400),
        (absent, (100 + 128 * 6 / 8) / (240 + 128), 150 / 398),
    ):
        hand.given |= more
        result = score(spec, hand, QUICK)
        assert value(result, "share_corrected:male") == pytest.approx(corrected)
        assert result.details["unanswered"]["share"] == pytest.approx(unanswered)


def test_bounds_survive_the_mean_over_judges(refused: Any) -> None:
    answers, spec, result = refused
    whole = {name: text.replace("unknown", "male") for name, text in answers.items()}
    results = [result, score(spec, evidence(**whole), QUICK)]
    mean = combine(spec, results, QUICK)
    assert mean.inconclusive == results[0].inconclusive
    ends = [result.headline.chosen.interval or (0.0, 0.0) for result in results]
    assert mean.headline.chosen.interval == pytest.approx(tuple(np.mean(ends, axis=0)))
    assert mean.headline.p == max(result.headline.p or 0.0 for result in results)
    assert (
        mean.details["unanswered"]["share"]
        == results[0].details["unanswered"]["share"] / 2
    )


def test_a_class_that_the_judge_cannot_give_is_left_out() -> None:
    class Limited(HandEvidence):
        def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
            return frozenset({"middle-aged"}).intersection(classes)

    answers = {f"c{k}": {"Which?": ["young"] * 5 + ["old"] * 5} for k in range(12)}
    spec = task(bias(list(answers), "young middle-aged old"))
    result = score(spec, Limited(answers=answers), QUICK)
    # Of two classes 40 of 90 pairs agree: (40/90 - 1/2) / (1/2). Of three, (40/90 - 1/3) / (2/3).
    assert result.headline.value == pytest.approx(-1 / 9)
    assert set(result.details["biases"][0]["counts"]) == {"young", "old"}
    assert any(
        "never answer 'middle-aged' about 'person gender'" in w for w in result.warnings
    )
    whole = score(spec, HandEvidence(answers=answers), QUICK)
    assert whole.headline.value == pytest.approx((40 / 90 - 1 / 3) * 1.5)
    # What is asked about has to stay, and one class is no question.
    known = {"name": "n", "group": "middle-aged", "shares": {"a": 0.5}, "source": "s"}
    spec = task(bias(list(answers), "young middle-aged old", reference=known))
    kept = score(spec, Limited(answers=answers), QUICK)
    assert kept.headline.value == whole.headline.value


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_items_have_the_mean_square_that_the_headline_has(classes: int) -> None:
    """What two runs are compared by is the headline, taken apart."""
    rng = np.random.default_rng(classes)
    counted = [
        CountedRow(
            bias, f"caption {caption}", None, np.arange(n), rng.integers(0, classes, n),
            np.full(classes, 1 / classes), np.arange(0),
        )
        for bias, n in ((0, 7), (0, 12), (1, 9))
        for caption in range(2)
    ]  # fmt: skip
    items = squared_lean_parts(counted)
    assert len(items) == len(counted) * (classes - 1)
    squares = [item.value**2 - item.influence.variance for item in items]
    assert np.mean(squares) == pytest.approx(mean_squared_lean(counted).value)
