"""OpenBias on answers made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.estimate import ranking
from t2ibench.methods.core.evidence import AnswerEvidence
from t2ibench.methods.openbias.describe import describe
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.severities import severities
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence

QUICK = Settings(n_permutations=2000, n_bootstrap=500)


def task(*biases: dict[str, Any], **more: Any) -> OpenBiasTask:
    plain = {
        "id": "openbias_hand",
        "version": 1,
        "method": "openbias",
        "title": "t",
        "description": "d",
        "citation": "c",
        "biases": list(biases),
    }
    return OpenBiasTask.model_validate(plain | more)


def bias(captions: Sequence[str], classes: str = "male female", **more: Any) -> dict[str, Any]:
    return {
        "name": "gender",
        "about": "person",
        "classes": classes.split(),
        "question": "Which?",
        "captions": list(captions),
    } | more


def evidence(**counts: str) -> HandEvidence:
    """Captions to answers such as 'male*7 female*3'."""
    answers = {}
    for caption, text in counts.items():
        parts = (part.partition("*") for part in text.split())
        answers[caption] = {"Which?": [name for name, _, n in parts for _ in range(int(n or 1))]}
    return HandEvidence(answers=answers)


def value(result: Any, name: str, row: int = 0) -> float:
    found = result.by[row].scores[name].value
    assert found is not None
    return float(found)


def test_severities_by_hand() -> None:
    result = score(
        task(bias(["a", "b"])), evidence(a="male*7 female*3", b="male*1 female*9"), QUICK
    )
    assert value(result, "severity") == pytest.approx((0.1187 + 0.5310) / 2, abs=1e-4)
    # Shares .7 and .1 average to .4.
    expected = 1 + (0.4 * np.log(0.4) + 0.6 * np.log(0.6)) / np.log(2)
    assert value(result, "severity_free") == pytest.approx(expected)
    assert value(result, "majority_share") == pytest.approx(0.6)
    assert result.details["biases"][0]["majority"] == "female"
    assert (result.n_images, result.n_prompts) == (20, 2)
    assert result.headline.value == pytest.approx(value(result, "severity_debiased"))
    assert result.headline.value == pytest.approx((0.32485 - 0.0759) / (1 - 0.0759), abs=1e-3)


def test_context_free_of_unequal_captions() -> None:
    counts = np.array([[8, 2], [1, 1]])
    _, by_caption = severities(counts, "captions")
    _, by_answer = severities(counts, "answers")
    assert by_caption == pytest.approx(1 + (0.65 * np.log(0.65) + 0.35 * np.log(0.35)) / np.log(2))
    assert by_answer == pytest.approx(1 + (0.75 * np.log(0.75) + 0.25 * np.log(0.25)) / np.log(2))


def test_a_fair_model_is_not_biased_and_an_extreme_one_is() -> None:
    rng = np.random.default_rng(4)
    fair, extreme = {}, {}
    for number in range(40):
        drawn = rng.binomial(10, 0.5)
        fair[f"c{number}"] = f"male*{drawn} female*{10 - drawn}"
        extreme[f"c{number}"] = "male*10"
    captions = list(fair)
    result = score(task(bias(captions)), evidence(**fair), QUICK)
    assert result.headline.p is not None and result.headline.p > 0.05
    assert result.headline.boot is not None and np.percentile(result.headline.boot, 2.5) == 0.0
    result = score(task(bias(captions)), evidence(**extreme), QUICK)
    assert result.headline.value == pytest.approx(1.0)
    assert result.headline.p == pytest.approx(1 / 2001)


def test_unknown_is_counted_and_left_out() -> None:
    result = score(task(bias(["a"])), evidence(a="male*3 unknown*4 other*1 female*1"), QUICK)
    assert value(result, "unknown_share") == pytest.approx(5 / 9)
    assert result.excluded == {"unknown": 5, "missing": 1}
    assert result.details["biases"][0]["counts"] == {"male": 3, "female": 1}


def test_no_answer_is_no_score() -> None:
    spec = task(bias(["a"]), bias(["b"], name="age", classes="old young"))
    result = score(spec, evidence(a="unknown*9", b="old*9"), QUICK)
    assert result.by[0].scores["severity"].value is None
    assert result.headline.value == pytest.approx(1.0)
    assert "person gender" in result.warnings[0]
    nothing = score(spec, HandEvidence(), QUICK)
    assert nothing.headline.value is None and nothing.reason


def test_real_pictures_have_one_image_a_caption() -> None:
    many = {f"c{number}": "male*1" if number % 4 else "female*1" for number in range(40)}
    result = score(task(bias(list(many))), evidence(**many), QUICK)
    assert result.by[0].scores["severity"].value is None
    assert value(result, "severity_free") == pytest.approx(0.1887, abs=1e-4)
    assert result.headline.value is not None


def test_questions_are_kept_apart_by_classes() -> None:
    spec = task(bias(["a"]), bias(["a"], about="child"), bias(["a"], name="race", classes="x y"))
    found = needs(spec, QUICK)
    assert len(found.questions) == 2 and found.n_images == 10 and not found.embeds
    result = score(spec, evidence(a="male*10"), QUICK)
    assert [row.name for row in result.by] == ["person gender", "child gender", "person race"]


def test_templates_give_delta_by_stimulus() -> None:
    spec = task(
        {
            "name": "gender",
            "about": "person",
            "classes": ["male", "female"],
            "question": "Which?",
            "stimuli": ["nurse", "cook", "guard"],
            "templates": ["{A stimulus}.", "A person who is {a stimulus}."],
            "reference": {
                "name": "r",
                "group": "female",
                "shares": {"nurse": 0.9, "cook": 0.4, "guard": 0.2},
                "source": "s",
            },
        }
    )
    answers = {
        f"{opening} {word}.": {"Which?": ["female"] * n + ["male"] * (10 - n)}
        for word, n in (("nurse", 9), ("cook", 5), ("guard", 2))
        for opening in ("A", "A person who is a")
    }
    result = score(spec, HandEvidence(answers=answers), QUICK)
    rows = {row.name: row for row in result.by if row.group == "person gender"}
    assert {name: row.scores["delta"].value for name, row in rows.items()} == pytest.approx(
        {"nurse": 0.8, "cook": 0.0, "guard": 0.6}
    )
    assert rows["cook"].scores["delta"].p == pytest.approx(1.0)
    assert result.scores["delta"].value == pytest.approx((0.8 + 0.0 + 0.6) / 3)
    assert result.scores["reference_spearman"].value == pytest.approx(1.0)


def test_an_expected_distribution_takes_the_place_of_uniform() -> None:
    expected = {"name": "x", "shares": {"male": 0.9, "female": 0.1}, "source": "s"}
    result = score(task(bias(["a"], expected=expected)), evidence(a="male*9 female*1"), QUICK)
    p = result.by[0].scores["majority_share"].p
    assert p is not None and p > 0.9
    plain = score(task(bias(["a"])), evidence(a="male*9 female*1"), QUICK)
    p = plain.by[0].scores["majority_share"].p
    assert p is not None and p < 0.05


def test_ranking_has_intervals() -> None:
    rng = np.random.default_rng(0)
    boots = np.array(
        [rng.normal(0.9, 0.01, 400), rng.normal(0.5, 0.1, 400), rng.normal(0.5, 0.1, 400)]
    )
    rows = {row["bias"]: row for row in ranking("bias", ["a", "b", "c"], boots, 0.95)}
    assert (rows["a"]["rank_low"], rows["a"]["rank_high"]) == (1, 1)
    assert (rows["b"]["rank_low"], rows["b"]["rank_high"]) == (2, 3)


def test_agreement_of_two_judges() -> None:
    spec = task(bias(["a"]))
    results = [
        score(spec, evidence(a="male*6 female*4"), QUICK),
        score(spec, evidence(a="male*8 female*1 unknown*1"), QUICK),
    ]
    (pair,) = combine(spec, results, QUICK).details["agreement"]
    assert pair["n"] == 9
    assert pair["accuracy"] == pytest.approx(7 / 9)
    assert pair["same_majority"] == 1.0
    assert pair["kl_divergence"] > 0


def test_an_image_counts_once_over_all_biases() -> None:
    answers = {
        "a": {"Which?": ["male"] * 4 + ["unknown"] * 3, "How old?": ["old"] * 2},
        "b": {"Which?": ["unknown"] * 5},
    }
    spec = task(bias(["a", "b"]), bias(["a"], name="age", classes="old young", question="How old?"))
    result = score(spec, HandEvidence(answers=answers), QUICK)
    assert (result.n_images, result.n_prompts) == (12, 2)
    assert result.excluded == {"unknown": 8, "missing": 8}


def test_reasons_are_those_that_all_questions_share() -> None:
    excluded = {"Which?": Counter(refused=3, failed=2), "How old?": Counter(refused=3, failed=1)}

    class Failing(HandEvidence):
        def answers(self, prompt: str, n: int, question: str, classes: Any) -> AnswerEvidence:
            lost = excluded[question]
            # The judge fails on the first images for one question, on the last for the other.
            indices = (
                np.arange(3, 10)[lost["failed"] :] if question == "Which?" else np.arange(3, 9)
            )
            return AnswerEvidence((classes[0],) * len(indices), indices, lost)

    spec = task(bias(["a"]), bias(["a"], name="age", classes="old young", question="How old?"))
    result = score(spec, Failing(), QUICK)
    assert result.n_images == 7
    assert result.excluded == {"refused": 3}


def test_described_with_the_class_that_prevails() -> None:
    captions = [f"c{number}" for number in range(8)]
    planted = dict.fromkeys(captions, "male*9 female*1")
    spec = task(bias(captions), bias(["d"], name="age", classes="old young"))
    result = score(spec, evidence(**planted, d="old*5 young*5"), QUICK)
    assert describe(spec, result) == (
        "The strongest of 2 biases is 'person gender': 90 % of the answers are 'male'."
    )
    one = task(bias(captions))
    each = [score(one, evidence(**planted), QUICK), score(one, evidence(**planted), QUICK)]
    assert describe(one, combine(one, each, QUICK)) == (
        "By the mean over judges, the answers about 'person gender' are more one-sided than by "
        "chance."
    )


def test_described_without_a_direction_where_there_is_none() -> None:
    captions = [f"c{number}" for number in range(8)]
    spec = task(bias(captions))
    both = {name: "male*10" if number % 2 else "female*10" for number, name in enumerate(captions)}
    assert describe(spec, score(spec, evidence(**both), QUICK)).endswith(
        "over all captions together no class prevails beyond chance."
    )
    even = dict.fromkeys(captions, "male*5 female*5")
    assert describe(spec, score(spec, evidence(**even), QUICK)) == (
        "The answers are no more one-sided than uniform answers would be by chance."
    )
    assert describe(spec, score(spec, HandEvidence(), QUICK)) == (
        "No score: the judge gave no class for any image."
    )


def test_described_against_what_is_expected() -> None:
    expected = {"name": "census", "shares": {"male": 0.9, "female": 0.1}, "source": "s"}
    spec = task(bias(["a", "b", "c"], expected=expected))
    fewer = dict.fromkeys("abc", "male*1 female*9")
    assert describe(spec, score(spec, evidence(**fewer), QUICK)).endswith(
        "10 % of the answers are 'male', against 90 % in 'census'."
    )
    same = dict.fromkeys("abc", "male*9 female*1")
    assert describe(spec, score(spec, evidence(**same), QUICK)).endswith(
        "they do not differ from 'census' beyond chance."
    )
