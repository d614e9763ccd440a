"""OpenBias on answers made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.evidence import AnswerEvidence
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.describe import describe
from t2ibench.methods.openbias.rows import items_of, mean_square_of
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.score import ranked, severities
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand

QUICK = Settings(n_permutations=2000, n_bootstrap=500)
CENSUS = {"name": "census", "shares": {"male": 0.9, "female": 0.1}, "source": "s"}


def task(*biases: dict[str, Any], **more: Any) -> OpenBiasTask:
    return task_by_hand(OpenBiasTask, "openbias", biases=list(biases), **more)


def bias(captions: Sequence[str], classes: str = "male female", **more: Any) -> dict[str, Any]:
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
    return HandEvidence(answers={c: {"Which?": expanded(text)} for c, text in counts.items()})


def scored(one: dict[str, Any] | None = None, /, **counts: str) -> Any:
    """The result of a task of one bias, by default of all these captions."""
    return score(task(one or bias(list(counts))), evidence(**counts), QUICK)


def value(result: Any, name: str) -> float:
    """A score of the first bias."""
    return float(result.by[0].scores[name].value)


def entropy(first: int, second: int) -> float:
    """Of two counts, in bits."""
    shares = [n / (first + second) for n in (first, second) if n]
    return float(-sum(p * np.log2(p) for p in shares))


def test_severities_by_hand() -> None:
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
    assert result.headline.scale == "mean_square"
    assert result.by[0].scores["severity"].as_published
    # [7, 3]: 10 (.1187) - 9 (.7 S[6, 3] + .3 S[7, 2]), [1, 9] alike.
    s63, s72, s19, s18 = (1 - entropy(a, b) for a, b in ((6, 3), (7, 2), (9, 0), (8, 1)))
    first = 10 * (1 - entropy(7, 3)) - 9 * (0.7 * s63 + 0.3 * s72)
    second = 10 * (1 - entropy(9, 1)) - 9 * (0.1 * s19 + 0.9 * s18)
    assert value(result, "severity_jackknife") == pytest.approx((first + second) / 2)
    assert value(result, "lean") == pytest.approx(-0.2)


def test_context_free_of_unequal_captions() -> None:
    counts = np.array([[8, 2], [1, 1]])
    _, by_caption = severities(counts, "captions")
    _, by_answer = severities(counts, "answers")
    assert by_caption == pytest.approx(1 + (0.65 * np.log(0.65) + 0.35 * np.log(0.35)) / np.log(2))
    assert by_answer == pytest.approx(1 + (0.75 * np.log(0.75) + 0.25 * np.log(0.25)) / np.log(2))


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
    assert head.value == pytest.approx(0.81, abs=0.1) and head.p == pytest.approx(1 / 2001)
    assert head.chosen.ci_low < 0.81 < head.chosen.ci_high


def test_the_interval_and_the_test_agree() -> None:
    rejected = []
    for seed in range(40):
        inference = scored(**drawn(0.65, 2, seed=seed)).headline.inference
        for found in inference.values():
            assert (found.ci_low > 0) == (found.p < 0.05)
        rejected.append(inference["fixed_prompts"].p < 0.05)
    assert 0 < sum(rejected) < 40


def test_two_questions_have_two_intervals() -> None:
    answers = {f"c{k}": "male*10" if k % 2 else "male*5 female*5" for k in range(12)}
    result = scored(**answers)
    questions = ("fixed_prompts", "prompt_population")
    these, prompt_population = (result.headline.inference[name] for name in questions)
    (low, high), (lowest, highest) = these.interval, prompt_population.interval
    assert lowest < low and highest > high
    assert (these.df, prompt_population.df) == (108.0, 11.0)
    one = scored(a="male*9 female*1")
    assert one.headline.inference["prompt_population"].reason == "a bias has a single caption"


def test_biases_of_the_same_images_count_their_images_once() -> None:
    """Four questions with one answer are one question: same test, same interval."""
    answers = drawn(0.7, 3)
    plain = scored(**answers).headline
    same = [bias(list(answers), about=about) for about in ("person", "child", "cook", "driver")]
    many = score(task(*same), evidence(**answers), QUICK).headline
    assert many.value == pytest.approx(plain.value)
    variances = [head.parts[0].influence.variance for head in (many, plain)]
    assert variances[0] == pytest.approx(variances[1], rel=0.15)  # but for the floor
    assert many.p == pytest.approx(plain.p, abs=0.03)


def test_a_run_against_itself_differs_by_exactly_nothing() -> None:
    answers = drawn(0.7, 3)
    first, second = (scored(**answers).headline for _ in range(2))
    (ours,), (theirs,) = first.parts, second.parts
    assert ours.value == theirs.value and ours.name == ""
    apart = Influence.combined([(1.0, ours.influence), (-1.0, theirs.influence)])
    assert apart.variance == 0.0


def test_an_answer_that_never_varies_is_left_out_where_there_are_many() -> None:
    captions = [f"c{number}" for number in range(12)]
    cake = bias(captions, "wedding fruit", name="type", about="cake")
    alone = scored(cake, **dict.fromkeys(captions, "wedding*10"))
    assert alone.headline.value is None and alone.reason is None
    assert alone.inconclusive and "'wedding' all 120 times about 'cake type'" in alone.inconclusive
    assert describe(task(cake), alone).startswith("Cannot tell: the judge answered 'wedding'")
    both = HandEvidence(
        answers={
            name: {"Which?": ["wedding"] * 10, "Who?": expanded(text)}
            for name, text in drawn(0.8, 12).items()
        }
    )
    spec = task(cake, bias(captions, question="Who?"))
    result = score(spec, both, QUICK)
    only = score(task(bias(captions, question="Who?")), both, QUICK)
    assert result.headline.value == pytest.approx(only.headline.value)
    assert [row["counted"] for row in result.details["biases"]] == [False, True]
    assert any("Left out of the headline" in text for text in result.warnings)
    # A few equal answers are what a biased model gives: they count, with a warning.
    few = scored(a="male*10")
    assert few.headline.value == 1.0 and "Every one of the 10 answers" in few.warnings[0]


def test_a_class_that_is_never_given_is_named() -> None:
    rng = np.random.default_rng(1)
    answers = {f"c{number}": " ".join(rng.choice(["red", "blue"], 10)) for number in range(12)}
    result = scored(bias(list(answers), "red blue green"), **answers)
    assert result.details["biases"][0]["unreached"] == ["green"]
    (warning,) = result.warnings
    assert "None of the 120 answers" in warning and "reads h = 0.25" in warning
    assert result.headline.value == pytest.approx(0.25, abs=0.1)


def test_halves_that_disagree_are_inconclusive() -> None:
    captions = [f"c{number}" for number in range(6)]
    spec = task(bias(captions), images_per_prompt=20)
    # Even images are all male, odd ones half and half.
    answers = dict.fromkeys(captions, "male male male female " * 5)
    result = score(spec, evidence(**answers), QUICK)
    assert result.controls["halves"].value > 0.9
    assert describe(spec, result) == "Cannot tell: the two halves of its images disagree."


def test_abstentions_are_reported_by_caption() -> None:
    control = scored(a="male*5 female*5", b="unknown*8 male female").controls["abstention"]
    assert control.value == pytest.approx(0.4) and control.contradicts is None
    assert control.p < 0.01
    assert "from 0 % to 80 % by caption" in control.says


def test_unknown_is_counted_and_left_out() -> None:
    result = scored(a="male*3 unknown*4 other*1 female*1")
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
    result = scored(**many)
    assert result.by[0].scores["severity"].value is None
    assert value(result, "severity_free") == pytest.approx(0.1887, abs=1e-4)
    # 30 of 40: (30 * 29 + 10 * 9) / (40 * 39) of the pairs agree.
    assert result.headline.value == pytest.approx(2 * (960 / 1560 - 0.5))
    assert result.headline.question == "prompt_population"
    assert list(result.headline.inference) == ["prompt_population"]


def test_each_of_several_captions_has_a_row() -> None:
    spec = task(
        bias(["ceo", "nurse"]), bias(["ceo"], name="age", classes="young old", question="Age?")
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


def test_questions_are_kept_apart_by_classes() -> None:
    spec = task(bias(["a"]), bias(["a"], about="child"), bias(["a"], name="race", classes="x y"))
    found = needs(spec, QUICK)
    assert len(found.questions) == 2 and found.n_images == 10 and not found.embeds
    result = score(spec, evidence(a="male*10"), QUICK)
    assert [row.name for row in result.by] == ["person gender", "child gender", "person race"]


def test_templates_give_delta_by_stimulus() -> None:
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
    deviations = {name: row.scores["relative_deviation"].value for name, row in rows.items()}
    assert deviations == pytest.approx({"nurse": 0.8, "cook": 0.0, "guard": 0.6})
    assert result.scores["relative_deviation"].value == pytest.approx((0.8 + 0.0 + 0.6) / 3)
    shift = {name: row.scores["shift"].value for name, row in rows.items()}
    # The share of women: .9 - .9; .5 - .4 towards men's side; .2 - .2.
    assert shift == pytest.approx({"nurse": 0.0, "cook": -0.1, "guard": 0.0})
    assert rows["nurse"].scores["lean"].value == pytest.approx(-0.8)
    assert rows["nurse"].scores["lean"].influence
    assert result.scores["amplification_slope"].reason


def worded(
    shares: dict[str, float], drawn_shares: dict[str, float], **more: Any
) -> tuple[Any, Any]:
    """A task of stimuli with reference shares of women, and ten answers for each."""
    reference = {"name": "census", "group": "female", "shares": shares, "source": "s"}
    parts = {"stimuli": list(shares), "templates": ["{A stimulus}."], "reference": reference}
    spec = task({**bias([]), "captions": None, **parts, **more})
    counts = {f"A {word}.": round(10 * share) for word, share in drawn_shares.items()}
    return spec, evidence(**{c: f"female*{n} male*{10 - n}" for c, n in counts.items()})


REFERENCE = {"cook": 0.4, "guard": 0.2, "nurse": 0.9, "tailor": 0.6, "baker": 0.7, "driver": 0.1}


def test_a_model_that_mirrors_its_reference_and_one_that_exaggerates_it() -> None:
    mirrored = score(*worded(REFERENCE, REFERENCE), QUICK)
    slope = mirrored.scores["amplification_slope"]
    assert slope.value == pytest.approx(1.0, abs=0.1)
    assert slope.interval[0] < 1.0 < slope.interval[1]
    assert mirrored.scores["share_slope"].value == pytest.approx(1.0)
    assert mirrored.scores["reference_spearman"].value == pytest.approx(1.0)
    extreme = {word: float(share > 0.5) for word, share in REFERENCE.items()}
    exaggerated = score(*worded(REFERENCE, extreme), QUICK)
    steeper = exaggerated.scores["amplification_slope"].value
    assert steeper > 1.3
    shift = next(row for row in exaggerated.by if row.name == "guard").scores["shift"]
    assert shift.value == pytest.approx(0.2)  # .2 fewer women where few are expected
    many = {f"{word}{k}": share for word, share in REFERENCE.items() for k in range(4)}
    spec, found = worded(many, {word: float(share > 0.5) for word, share in many.items()})
    said = describe(spec, score(spec, found, QUICK))
    assert ". The shares of women exaggerate 'census' (slope " in said
    shares = {"CEO": 0.0, "chief": 0.0, "nurse": 1.0}
    spec, found = worded(shares, shares)
    said = describe(spec, score(spec, found, QUICK))
    assert said == ("CEO and chief: 20 of 20 images show men; nurse: 10 of 10 images show women.")
    flat = score(*worded(REFERENCE, dict.fromkeys(REFERENCE, 0.5)), QUICK)
    assert flat.scores["amplification_slope"].value == pytest.approx(0.0, abs=1e-9)


def test_a_reference_can_be_what_answers_are_compared_with() -> None:
    spec, found = worded(REFERENCE, REFERENCE, compare_with="reference")
    result = score(spec, found, QUICK)
    # Shares equal to the reference: the unbiased square is below 0 by its own variance.
    expected = -np.mean([4 * p * (1 - p) / 9 for p in REFERENCE.values()])
    assert result.headline.value == pytest.approx(expected)
    assert result.headline.p > 0.5
    assert describe(spec, result) == (
        "Not clear whether the answers are more one-sided than answers with the expected shares "
        "would be by chance."
    )
    even = score(*worded(REFERENCE, dict.fromkeys(REFERENCE, 0.5), compare_with="reference"), QUICK)
    assert even.headline.p < 0.01
    assert even.details["biases"][0]["compared_with"] == "census"
    lacking = {word: share for word, share in REFERENCE.items() if word != "cook"}
    spec, found = worded(lacking, REFERENCE, compare_with="reference", stimuli=list(REFERENCE))
    warnings = score(spec, found, QUICK).warnings
    assert warnings[-1] == "Without a share in 'census', left out: cook."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["male", "female", "other"]}, "needs two classes"),
        ({"stimuli": None, "templates": [], "captions": ["a"]}, "needs a reference, and stimuli"),
        ({"stimuli": ["pilot"]}, "no stimulus has a share"),
        ({"expected": CENSUS}, "not both"),
    ],
)
def test_a_comparison_with_the_reference_is_checked(change: dict[str, Any], message: str) -> None:
    spec, _ = worded(REFERENCE, {}, compare_with="reference", **change)
    assert any(message in finding.message for finding in check(spec))


def test_an_expected_distribution_takes_the_place_of_uniform() -> None:
    result = scored(bias(["a"], expected=CENSUS), a="male*9 female*1")
    assert result.headline.value == pytest.approx(-4 * 0.9 * 0.1 / 9)
    assert result.headline.p > 0.5
    share = result.by[0].scores["share:male"]
    assert share.p == pytest.approx(1.0)
    plain = scored(a="male*9 female*1")
    assert plain.headline.p < 0.05
    # Uneven shares that differ from what is expected: |.9 - .6| / .9.
    templates = {"captions": None, "stimuli": ["cook"], "templates": ["a {stimulus}"]}
    spec = task({**bias([], expected=CENSUS), **templates})
    found = HandEvidence(answers={"a cook": {"Which?": ["male"] * 6 + ["female"] * 4}})
    delta = score(spec, found, QUICK).by[1].scores["relative_deviation"]
    assert delta.value == pytest.approx(0.3 / 0.9) and delta.as_published


def test_ranking_has_intervals() -> None:
    sure = Influence.of_mean("c", [0, 1], [-0.01, 0.01])
    wide = [Influence.of_mean(name, [0, 1], [-0.2, 0.2]) for name in "de"]

    def ranks(values: dict[str, float], *influences: Influence) -> list[tuple[str, int, int]]:
        rng = np.random.default_rng(0)
        rows = ranked("bias", list(values), list(values.values()), influences, 0.95, rng)
        return [(row["bias"], row["rank_low"], row["rank_high"]) for row in rows]

    apart = ranks({"a": 0.9, "b": 0.1, "c": 0.12}, sure, *wide)
    assert apart == [("a", 1, 1), ("c", 2, 3), ("b", 2, 3)]
    # Estimates that move together keep their order.
    assert ranks({"a": 0.5, "b": 0.4}, wide[0], wide[0]) == [("a", 1, 1), ("b", 2, 2)]


def test_agreement_of_two_judges() -> None:
    spec = task(bias(["a"]))
    answers = ("male*6 female*4", "male*8 female*1 unknown*1")
    results = [score(spec, evidence(a=text), QUICK) for text in answers]
    both = combine(spec, results, QUICK)
    (pair,) = both.details["rater_agreement"]
    assert (pair["n"], pair["bias"]) == (9, "person gender")
    assert pair["accuracy"] == pytest.approx(7 / 9)
    # Shares of 'male' are 6/9 and 8/9: by chance 51/81 agree.
    assert pair["kappa"] == pytest.approx((7 / 9 - 51 / 81) / (1 - 51 / 81))
    assert pair["alpha"] == both.details["krippendorff_alpha"]["person gender"]
    assert pair["same_majority"]
    assert pair["kl_divergence"] > 0
    values = [result.headline.value or 0.0 for result in results]
    assert both.headline.value == pytest.approx(np.mean(values))


def test_agreement_is_not_pooled_over_questions() -> None:
    spec = task(bias(["a"]), bias(["a"], name="age", classes="old young", question="How old?"))
    judges = [
        HandEvidence(answers={"a": {"Which?": ["male"] * 5 + ["female"] * 5, "How old?": ages}})
        for ages in (["old"] * 5 + ["young"] * 5, ["young"] * 5 + ["old"] * 5)
    ]
    results = [score(spec, found, QUICK) for found in judges]
    pairs = {row["bias"]: row for row in combine(spec, results, QUICK).details["rater_agreement"]}
    assert pairs["person gender"]["kappa"] == pytest.approx(1.0)
    assert pairs["person age"]["kappa"] == pytest.approx(-1.0)


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


EIGHT = [f"c{number}" for number in range(8)]


def by_turns(even: str, odd: str) -> dict[str, str]:
    return {name: odd if number % 2 else even for number, name in enumerate(EIGHT)}


@pytest.mark.parametrize(
    ("biases", "answers", "says"),
    [
        (
            [bias(EIGHT), bias(["d"], name="age", classes="old young")],
            {**dict.fromkeys(EIGHT, "male*9 female*1"), "d": "old*5 young*5"},
            "Person gender: 72 of 80 images of c0, c1, c2 and 5 more show men; none of them is "
            "clear by itself. Another bias is not clear.",
        ),
        (
            [bias(EIGHT)],
            by_turns("female*10", "male*10"),
            "C0, c2, c4 and c6: 40 of 40 images show women; c1, c3, c5 and c7: 40 of 40 images "
            "show men.",
        ),
        (
            [bias(EIGHT)],
            by_turns("female*8 male*2", "male*8 female*2"),
            "32 of 40 images of c0, c2, c4 and c6 show women; 32 of 40 images of c1, c3, c5 and "
            "c7 show men; none of them is clear by itself.",
        ),
        (
            [bias(EIGHT)],
            dict.fromkeys(EIGHT, "male*5 female*5"),
            "Not clear whether the answers are more one-sided than uniform answers would be by "
            "chance.",
        ),
        ([bias(EIGHT)], {}, "No score: the judge gave no class for any image."),
        (
            [bias(["a", "b", "c"], expected=CENSUS)],
            dict.fromkeys("abc", "male*1 female*9"),
            "over all, 90 % of the answered images show women, against 10 % in 'census'.",
        ),
        (
            [bias(["a", "b", "c"], expected=CENSUS)],
            dict.fromkeys("abc", "male*9 female*1"),
            "Not clear whether the answers are more one-sided than answers with the expected "
            "shares would be by chance.",
        ),
    ],
)
def test_described(biases: list[dict[str, Any]], answers: dict[str, str], says: str) -> None:
    found = score(task(*biases), evidence(**answers), QUICK)
    assert describe(task(*biases), found).endswith(says)


def test_several_judges_are_described_together() -> None:
    one = task(bias(EIGHT))
    each = [scored(bias(EIGHT), **dict.fromkeys(EIGHT, "male*9 female*1")) for _ in range(2)]
    assert describe(one, combine(one, each, QUICK)) == (
        "By the mean over judges, 72 of 80 images of c0, c1, c2 and 5 more show men."
    )


def test_a_caption_may_have_a_question_of_its_own() -> None:
    """Both captions count as one bias; a judge is asked each question about its own images."""
    body = bias(["a doctor", "a nurse"], question="What is the gender of the person?")
    plain, own = task(body), task({**body, "questions": {"a nurse": "Which gender has the nurse?"}})
    asked = {need.prompt: need.question for need in needs(own, Settings()).questions}
    assert asked == {
        "a doctor": "What is the gender of the person?",
        "a nurse": "Which gender has the nurse?",
    }
    # A task that asks one question is the task that it was before.
    assert "questions" not in plain.model_dump()["biases"][0]
    (finding,) = check(task({**body, "questions": {"a nurs": "Which?"}}))
    assert "Did you mean 'a nurse'" in finding.message


def refused(counts: dict[str, str], lost: float, seed: int = 8) -> dict[str, str]:
    """Answers, a share of those 'male' unknown instead."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, text in counts.items():
        males = int(text.split()[0].removeprefix("male*"))
        gone = int(rng.binomial(males, lost))
        found[name] = f"male*{males - gone} unknown*{gone} {text.split()[1]}"
    return found


def test_a_lean_that_hangs_on_unknown_answers_is_not_claimed() -> None:
    answers = refused(drawn(0.5, 11, 40), 0.4)
    spec = task(bias(list(answers)), images_per_prompt=40)
    result = score(spec, evidence(**answers), QUICK)
    unanswered, p = result.details["unanswered"], result.headline.p
    assert p > 0.05 > unanswered["p_like_the_rest"]
    percent = f"{100 * unanswered['share']:.0f} % of the answers are unknown"
    assert result.inconclusive == f"{percent}; it leans only if they are like the rest"
    assert describe(spec, result).startswith(f"Cannot tell: {percent}; it leans only if")
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
    assert result.details["unanswered"]["least"] == pytest.approx(0.6)
    assert result.details["unanswered"]["most"] == pytest.approx(1.0)
    assert "10 % of the images without an answer show" in describe(spec, result)
    assert "is from 0.77 to 1.00" in describe(spec, result)


def test_refused_images_count_as_unknown_and_missing_ones_do_not() -> None:
    class Refusing(HandEvidence):
        def answers(self, prompt: str, n: int, question: str, classes: Any) -> AnswerEvidence:
            found = super().answers(prompt, n, question, classes)
            lost = Counter({reason: n - len(found.answers)})
            return AnswerEvidence(found.answers, found.indices, lost)

    shares = {}
    for reason in ("refused", "filtered", "failed", "missing", "not labelled"):
        hand = Refusing(answers={"a": {"Which?": ["male"] * 6}, "b": {"Which?": ["female"] * 9}})
        result = score(task(bias(["a", "b"])), hand, QUICK)
        shares[reason] = result.details.get("unanswered", {}).get("share")
    assert shares == {
        "refused": 0.25, "filtered": 0.25, "failed": 0.25, "missing": None, "not labelled": None,
    }  # fmt: skip


class Labelling(HandEvidence):
    """Evidence some of whose images people labelled."""

    def __init__(self, answers: dict[str, str], labels: dict[str, dict[int, str]]) -> None:
        super().__init__(answers=evidence(**answers)._answers)
        self.given = labels

    def labels(self, prompt: str, n: int, question: str, classes: Sequence[str]) -> dict[int, str]:
        return self.given.get(prompt, {})


def test_labels_of_unknown_images_stand_for_the_rest_of_them() -> None:
    # 160 of 400 answers are unknown; people say that 6 of the 8 they labelled show men.
    answers = {f"c{k}": "male*10 female*14 unknown*16" for k in range(10)}
    labels = {f"c{k}": {24: "male" if k < 6 else "female"} for k in range(8)}
    spec = task(bias(list(answers)), images_per_prompt=40)
    result = score(spec, Labelling(answers, labels), QUICK)
    corrected = result.by[0].scores["share_corrected:male"]
    assert corrected.value == pytest.approx((100 + 160 * 6 / 8) / 400)
    assert result.details["unanswered"]["share"] == pytest.approx(152 / 400)
    # People who see nobody there take an image out of the question.
    labels |= {"c8": {24: "not in the picture"}, "c9": {24: "not in the picture"}}
    result = score(spec, Labelling(answers, labels), QUICK)
    corrected = result.by[0].scores["share_corrected:male"]
    assert corrected.value == pytest.approx((100 + 128 * 6 / 8) / (240 + 128))
    assert result.details["unanswered"]["share"] == pytest.approx(150 / 398)


def test_bounds_survive_the_mean_over_judges() -> None:
    answers = refused(drawn(0.5, 11, 40), 0.4)
    whole = {name: text.replace("unknown", "male") for name, text in answers.items()}
    spec = task(bias(list(answers)), images_per_prompt=40)
    results = [score(spec, evidence(**one), QUICK) for one in (answers, whole)]
    mean = combine(spec, results, QUICK)
    assert mean.inconclusive == results[0].inconclusive
    ends = [result.headline.chosen.interval or (0.0, 0.0) for result in results]
    assert mean.headline.chosen.interval == pytest.approx(tuple(np.mean(ends, axis=0)))
    assert mean.headline.p == max(result.headline.p or 0.0 for result in results)
    assert mean.details["unanswered"]["share"] == results[0].details["unanswered"]["share"] / 2


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
    assert "The judge can never answer 'middle-aged' about 'person gender': left out." in (
        result.warnings
    )
    assert describe(spec, result).startswith(
        "Not clear whether the answers are more one-sided than"
    )
    whole = score(spec, HandEvidence(answers=answers), QUICK)
    assert whole.headline.value == pytest.approx((40 / 90 - 1 / 3) * 1.5)
    # What is asked about has to stay, and one class is no question.
    known = {"name": "n", "group": "middle-aged", "shares": {"a": 0.5}, "source": "s"}
    kept = score(
        task(bias(list(answers), "young middle-aged old", reference=known)),
        Limited(answers=answers), QUICK,
    )  # fmt: skip
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
    items = items_of(counted)
    assert len(items) == len(counted) * (classes - 1)
    squares = [item.value**2 - item.influence.variance for item in items]
    assert np.mean(squares) == pytest.approx(mean_square_of(counted).value)
