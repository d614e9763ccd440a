"""TIBET on answers made by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.concepts import Synonyms, from_wordnet, shipped
from t2ibench.methods.core.influence import FLOOR
from t2ibench.methods.tibet.describe import describe
from t2ibench.methods.tibet.schema import TibetTask, all_questions, questions_of
from t2ibench.methods.tibet.separation import separation
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand

QUICK = Settings(n_permutations=400, n_bootstrap=200)
HALF = {"cook": 10, "waiter": 10}
GUIDED = {"male_chef": {"cook": 20}, "female_chef": {"waiter": 20}}
SPLIT = {"chef": {"cook": 15, "waiter": 5}, **GUIDED}
NURSES = {"nurse": HALF, "male_nurse": {"cook": 20}, "female_nurse": {"waiter": 20}}
BLIND = {"nurse": HALF, "male_nurse": HALF, "female_nurse": HALF}


def chef_axis(names: tuple[str, ...], of: str = "chef") -> dict[str, Any]:
    cfs = [{"name": name, "prompt": f"a {name} {of}"} for name in names]
    return {"name": "gender", "questions": ["Who?"], "counterfactuals": cfs}


def task(names: tuple[str, ...] = ("male", "female"), **more: Any) -> TibetTask:
    prompts = [{"prompt": "a chef", "axes": [chef_axis(names)]}]
    parts = {"images_per_prompt": 20, "prompts": prompts}
    return task_by_hand(TibetTask, "tibet", **{**parts, **more})


def two_prompts() -> TibetTask:
    """A chef and a nurse, male or female."""
    axes = {job: [chef_axis(("male", "female"), job)] for job in ("chef", "nurse")}
    return task(
        prompts=[{"prompt": f"a {job}", "axes": of} for job, of in axes.items()]
    )


def evidence(**counts: dict[str, int]) -> HandEvidence:
    """Prompt ('chef', 'male chef', ...) to the answers of its images."""
    prompts = {
        f"a {name.replace('_', ' ')}": Counter(given) for name, given in counts.items()
    }
    return HandEvidence(
        answers={p: {"Who?": [*given.elements()]} for p, given in prompts.items()}
    )


def scored(spec: TibetTask | None = None, **counts: dict[str, int]) -> Any:
    return score(spec or task(), evidence(**counts), QUICK)


def test_published_scores_agree_with_a_case_worked_by_hand() -> None:
    found = scored(**SPLIT)
    scores = found.by[0].scores
    # Histograms .75/.25 against 1/0 and 0/1: overlaps .75/1.25 and .25/1.75.
    assert scores["concept_association_score:male"].value == pytest.approx(0.6)
    assert scores["concept_association_score:female"].value == pytest.approx(1 / 7)
    share = 0.6 / (0.6 + 1 / 7)
    assert scores["concept_association_share:male"].value == pytest.approx(share)
    deviation = scores["mean_absolute_deviation"]
    assert deviation.value == pytest.approx(np.sqrt(2 * share - 1))
    assert scores["mean_absolute_deviation_before_root"].value == pytest.approx(
        2 * share - 1
    )
    assert 0.02 < deviation.p < 0.08  # binomial test: .041
    assert (
        deviation.as_published
        and scores["concept_association_score:male"].interval is None
    )
    assert found.n_images == 60 and found.n_prompts == 3


def test_shares_agree_with_a_case_worked_by_hand() -> None:
    found = scored(**SPLIT)
    scores = found.by[0].scores
    # Three of four images show what all of one counterfactual's show: lean 2 (.75) - 1.
    assert scores["share:male"].value == pytest.approx(0.75)
    assert scores["share:female"].value == pytest.approx(0.25)
    assert scores["lean"].value == pytest.approx(0.5)
    # The U-statistic of the answers: (15 * 14 + 5 * 4) / (20 * 19) pairs agree, less 1/2, twice.
    assert found.headline.value == pytest.approx(2 * (230 / 380 - 0.5))
    assert scores["squared_lean"].value == pytest.approx(found.headline.value)
    assert (
        found.headline.scale == "mean_square"
        and found.headline.p == scores["squared_lean"].p
    )
    # The counterfactuals' answers do not vary, which counts as one image of 20 that is in between.
    influence = scores["lean"].influence
    seen = influence.unit != FLOOR
    assert (influence.value[seen] ** 2).sum() == pytest.approx(0.75 / 19)
    # One image more that is in between has a squared distance from 'male' of 2, as a lean.
    prompt = (19 * 0.75 / 19 + (1 + 0.5**2) / 20) / 20 - 0.75 / 19
    males, females = 0.75**2 * 2 / 400, 0.25**2 * 2 / 400
    floors = prompt + males + females
    assert (influence.value[~seen] ** 2).sum() == pytest.approx(floors)
    assert found.inconclusive is None
    # The exact test of 15 of 20, for the lean too; both intervals begin beside 0.
    assert (
        scores["lean"].p
        == scores["squared_lean"].p
        == pytest.approx(0.041389, rel=1e-4)
    )
    assert scores["lean"].interval[0] > 0 and scores["squared_lean"].interval[0] > 0
    # nobody knows what the judge would call a male chef
    assert "adherence" not in found.controls


def test_shares_of_three_counterfactuals_agree_with_a_case_worked_by_hand() -> None:
    # The third counterfactual is answered like the first in half of its images: with shares
    # (.5, .1, .4), .7 of the prompt's answers are 'cook', .1 'waiter' and .2 'maid'.
    found = scored(
        task(("a", "b", "c"), images_per_prompt=40),
        chef={"cook": 28, "waiter": 4, "maid": 8},
        a_chef={"cook": 40},
        b_chef={"waiter": 40},
        c_chef={"cook": 20, "maid": 20},
    )
    scores = found.by[0].scores
    shares = [scores[f"share:{name}"].value for name in "abc"]
    # Means of 40 images: |m_c|² is 19/39 over pairs, not 1/2.
    gram = np.array([[1, 0, 0.5], [0, 1, 0], [0.5, 0, 19 / 39]])
    system = np.block([[gram, np.ones((3, 1))], [np.ones((1, 3)), np.zeros((1, 1))]])
    expected = np.linalg.solve(system, [0.7, 0.1, 0.45, 1.0])[:3]
    assert shares == pytest.approx(expected.tolist())
    assert shares == pytest.approx([0.5, 0.1, 0.4], abs=0.06)
    assert "lean" not in scores


def test_axes_with_the_same_images_are_one_test() -> None:
    spec = task()
    axis = spec.prompts[0].axes[0]
    axes = [
        axis.model_copy(update={"name": name}) for name in ("gender", "sex", "dress")
    ]
    thrice = task(prompts=[{"prompt": "a chef", "axes": axes}])
    # One answer of a counterfactual is unlike the others, so that there is no exact test.
    answers = SPLIT | {"male_chef": {"cook": 19, "maid": 1}}
    once, three = (scored(one, **answers).headline for one in (spec, thrice))
    assert three.value == pytest.approx(once.value)
    assert three.p == pytest.approx(once.p)
    assert three.chosen.interval == pytest.approx(once.chosen.interval)
    assert three.fair == pytest.approx(once.fair)


def test_parts_of_axes_of_unequal_size_average_to_the_headline() -> None:
    cfs = [{"name": name, "prompt": f"a {name}"} for name in ("cook", "waiter", "maid")]
    three = {"name": "job", "questions": ["What?"], "counterfactuals": cfs}
    axes = [chef_axis(("male", "female")), three]
    both = task(prompts=[{"prompt": "a chef", "axes": axes}])
    shown = {"male chef": ("man", "stove"), "female chef": ("woman", "stove")}
    shown |= {
        "cook": ("man", "stove"),
        "waiter": ("man", "table"),
        "maid": ("man", "bed"),
    }
    answers = {
        f"a {name}": {"Who?": [who] * 10, "What?": [what] * 10}
        for name, (who, what) in shown.items()
    }
    chef = {"Who?": ["man"] * 8 + ["woman"] * 2, "What?": ["stove"] * 9 + ["table"]}
    answers["a chef"] = chef
    found = score(both, HandEvidence(answers=answers), QUICK)
    parts = found.headline.parts
    names = ["a chef | gender", "a chef | job #1", "a chef | job #2"]
    assert [part.name for part in parts] == names
    rows = [item.scores["squared_lean"].value for item in found.by]
    assert rows[0] == pytest.approx(2 * (58 / 90 - 0.5))
    assert rows[1] == pytest.approx((72 / 90 - 1 / 3) * 1.5)
    assert found.headline.value == pytest.approx(np.mean(rows))
    moves = [part.influence.value[part.influence.unit != FLOOR] for part in parts]
    squares = [
        part.value**2 - (seen**2).sum() for part, seen in zip(parts, moves, strict=True)
    ]
    assert np.mean(squares) == pytest.approx(found.headline.value)


def test_counterfactuals_that_look_alike_are_inconclusive() -> None:
    found = scored(chef={"cook": 15, "waiter": 5}, male_chef=HALF, female_chef=HALF)
    reason = "the answers do not tell 'male' from 'female'"
    assert found.headline.value is None and found.headline.reason == reason
    assert found.inconclusive == reason and found.reason is None
    scores = found.by[0].scores
    assert scores["lean"].value is None and scores["lean"].reason == reason
    assert describe(task(), found) == f"Cannot tell: {reason}."
    # The published score says nothing of it. Its null is of what stands under the root.
    assert scores["mean_absolute_deviation"].value == pytest.approx(0.0, abs=1e-6)
    assert 0.1 < np.sqrt(scores["mean_absolute_deviation"].null).mean() < 0.5
    same = {"cook in a blue hat": 20}
    assert scored(chef=HALF, male_chef=same, female_chef=same).inconclusive == reason


def test_a_counterfactual_like_a_mixture_of_the_others_is_inconclusive() -> None:
    kinds = {"a_chef": {"cook": 20}, "b_chef": {"waiter": 20}, "c_chef": HALF}
    mixed = scored(task(("a", "b", "c")), chef={"cook": 14, "waiter": 6}, **kinds)
    reason = "the answers do not tell each counterfactual from a mixture of the others"
    assert mixed.inconclusive == reason


def test_few_answers_do_not_distinguish_two_counterfactuals() -> None:
    def ratio(n: int) -> float:
        return separation(
            [np.array([[1.0, 0.0]] * n), np.array([[0.0, 1.0]] * n)]
        ).ratio

    assert [ratio(n) for n in (3, 4, 10)] == pytest.approx([1.5, 2.0, 5.0])
    cooks = ({"cook": n} for n in (3, 4))
    three, four = (
        scored(chef=c, male_chef=c, female_chef={"waiter": c["cook"]}) for c in cooks
    )
    assert three.inconclusive and four.headline.value == pytest.approx(1.0)


def test_an_inconclusive_row_is_excluded() -> None:
    found = scored(two_prompts(), **SPLIT, **BLIND)
    assert found.inconclusive is None
    assert found.headline.value == pytest.approx(2 * (230 / 380 - 0.5))
    assert found.warnings == [
        "1 of 2 rows are not in the headline, because the answers do not tell their "
        "counterfactuals apart: 'a nurse | gender'."
    ]
    says = found.controls["separation"].says
    assert (
        "on 1 of 2 prompts and axes" in says
        and "'a nurse | gender', the weakest" in says
    )


def test_a_row_without_images_is_warned_of_by_itself() -> None:
    found = scored(two_prompts(), **SPLIT, nurse=HALF, female_nurse={"waiter": 20})
    assert found.by[1].scores["lean"].reason == (
        "fewer than two answered images of: a male nurse"
    )
    assert found.warnings == [
        "1 of 2 rows are not in the headline, because of their missing images, or of what the "
        "judge answered (each row has its reason): 'a nurse | gender'."
    ]


def test_inference_about_prompts_like_these_needs_two_prompts() -> None:
    found = scored(two_prompts(), **SPLIT, **NURSES)
    like = found.headline.inference["prompt_population"]
    assert like.df == 1.0 and like.ci_low < found.headline.value < like.ci_high
    assert like.p == found.headline.p and (like.ci_low > 0) == (like.p < 0.05)
    assert scored(**SPLIT).headline.inference["prompt_population"].reason


def test_halves_that_differ_make_it_inconclusive() -> None:
    answers = evidence(**SPLIT)._answers | {"a chef": {"Who?": ["cook", "waiter"] * 10}}
    found = score(task(), HandEvidence(answers=answers), QUICK)
    assert found.inconclusive == "its two halves disagree"


def test_shuffled_labels_do_not_reject() -> None:
    men, women = {"man": 40}, {"woman": 40}
    spec = task(images_per_prompt=40)
    controls = scored(spec, chef=men, male_chef=men, female_chef=women).controls
    assert (
        controls["shuffled"].contradicts is None and controls["shuffled"].value <= 0.2
    )
    assert controls["adherence"].value == 1.0
    swapped = scored(spec, chef=men, male_chef=women, female_chef=men)
    assert swapped.controls["adherence"].value == 0.0


def test_images_are_compared_by_their_embeddings_too() -> None:
    images = {
        "a chef": [[1.0, 0.0]] * 12 + [[0.0, 1.0]] * 8,
        "a male chef": [[1.0, 0.0]] * 20,
        "a female chef": [[0.0, 1.0]] * 20,
    }
    judged = evidence(**SPLIT)._answers
    found = (
        score(task(), HandEvidence(images=images, answers=judged), QUICK).by[0].scores
    )
    assert found["share:male"].value == pytest.approx(0.75)
    assert found["clip_association_score:male"].value == pytest.approx(0.6)


def test_results_of_several_judges_are_averaged() -> None:
    first = scored(two_prompts(), **SPLIT, **NURSES)
    same = combine(two_prompts(), [first, first], QUICK)
    assert same.headline.value == pytest.approx(first.headline.value)
    values = [[part.value for part in found.headline.parts] for found in (same, first)]
    assert values[0] == pytest.approx(values[1])
    assert same.by[0].scores["share:male"].p is None
    both = combine(
        two_prompts(), [first, scored(two_prompts(), **SPLIT, **BLIND)], QUICK
    )
    assert [part.name for part in both.headline.parts] == ["a chef | gender"]
    none = scored(two_prompts(), chef=HALF, male_chef=HALF, female_chef=HALF, **BLIND)
    assert combine(two_prompts(), [first, none], QUICK).headline.value is None


def test_judges_that_decide_different_rows_have_no_headline() -> None:
    chefs = scored(two_prompts(), **SPLIT, **BLIND)
    blind = {"chef": HALF, "male_chef": HALF, "female_chef": HALF}
    nurses = scored(two_prompts(), **blind, **NURSES)
    both = combine(two_prompts(), [chefs, nurses], QUICK)
    assert both.headline.value is None
    assert both.headline.reason == "the judges decide different rows"
    assert both.scores["mean_absolute_deviation"].value is not None


def test_the_reason_is_given_where_the_mean_absolute_deviation_is_undefined() -> None:
    found = scored(task(("male",)), chef={"cook": 9}, male_chef={"cook": 9})
    assert "one counterfactual" in found.by[0].scores["mean_absolute_deviation"].reason
    assert found.by[0].scores["concept_association_score:male"].value == pytest.approx(
        1.0
    )
    assert found.reason and found.headline.value is None
    found = scored(chef={"cook": 9}, male_chef={"cook": 20})
    assert "female" in found.by[0].scores["mean_absolute_deviation"].reason
    assert found.excluded["missing"] == 31
    found = scored(chef={"maid": 9}, **GUIDED)
    assert "shares no concept" in found.by[0].scores["mean_absolute_deviation"].reason


def test_questions_are_given_or_made_from_the_axis() -> None:
    spec = task(caption_question="Describe it.")
    assert all_questions(spec, spec.prompts[0]) == ["Who?", "Describe it."]
    axis = spec.prompts[0].axes[0].model_copy(update={"questions": ()})
    assert questions_of(axis)[0].startswith("What is the gender (male, female, other)")
    other = axis.model_copy(update={"name": "hair"})
    assert questions_of(other) == ("What is hair in the image?",)
    found = needs(spec, QUICK)
    assert found.n_images == 60 and len(found.questions) == 6
    assert all(need.classes == () for need in found.questions)


def test_details_name_the_concepts_that_explain_a_row() -> None:
    people = {"chef": {"tall man": 12, "woman": 8}, "male_chef": {"male": 20}}
    found = scored(**people, female_chef={"lady": 20})
    (detail,) = found.details["prompts"]
    (axis,) = detail["axes"]
    assert axis["concepts"][0] == ("man", pytest.approx(0.6))
    names = [one["axis_concepts"][0][0] for one in axis["counterfactuals"]]
    assert names == ["man", "lady"]


def test_merging_does_not_depend_on_the_order() -> None:
    counts = {
        "cook": 3.0,
        "chef": 3.0,
        "male": 2.0,
        "guy": 1.0,
        "man": 1.0,
        "sunny": 1.0,
    }
    table = {"cook": {"chef"}, "chef": {"cook", "boss"}, "guy": {"man"}}
    known = Synonyms("hand", lambda word: frozenset(table.get(word, ())))
    expected = {
        "cook": "chef",
        "chef": "chef",
        "male": "man",
        "guy": "man",
        "man": "man",
    }
    for order in itertools.permutations(counts):
        merged = known.merged({word: counts[word] for word in order})
        assert merged == expected | {"sunny": "sunny"}


def test_the_shipped_table_and_wordnet() -> None:
    merged = shipped().merged({"lady": 2, "female": 1, "woman": 1, "sunny": 1})
    assert merged == {
        "lady": "lady",
        "female": "lady",
        "woman": "lady",
        "sunny": "sunny",
    }

    def synset(*names: str) -> SimpleNamespace:
        return SimpleNamespace(lemma_names=lambda: names)

    sets = {"doctor": [synset("physician", "Doctor"), synset("doc")]}
    reader = SimpleNamespace(
        synsets=lambda word: sets.get(word, []), get_version=lambda: "3.0"
    )
    found = from_wordnet(reader)
    assert found.name == "WordNet 3.0"
    words = ("physician", "doctor", "doc")
    assert found.merged({"physician": 1, "doctor": 5, "doc": 1}) == dict.fromkeys(
        words, "doctor"
    )


@pytest.mark.parametrize(
    ("spec", "counts", "says"),
    [
        (
            task(),
            SPLIT | {"chef": {"cook": 20}},
            "When no gender is asked for, the judge answered 'cook' for 20 of 20 images of chef: "
            "these images resemble those of “a male chef” more than those of “a female chef”.",
        ),
        (
            two_prompts(),
            SPLIT | NURSES | {"chef": {"cook": 19, "waiter": 1}},
            "When no gender is asked for, the judge answered 'cook' for 19 of 20 images of chef: "
            "these images resemble those of “a male chef” more than those of “a female chef”; not "
            "clear: nurse ('cook' for 10 of 20).",
        ),
        (
            task(),
            SPLIT | {"chef": HALF},
            "Not clear whether images resemble one version of their prompt more than another when "
            "none is asked for.",
        ),
    ],
)
def test_the_description_reports_what_the_answers_show(
    spec: TibetTask, counts: dict[str, dict[str, int]], says: str
) -> None:
    assert describe(spec, scored(spec, **counts)) == says


def ignored(men: int) -> dict[str, dict[str, int]]:
    """40 images each; 12 of the male chef's show a woman."""
    return {
        "chef": {"man": men, "woman": 40 - men},
        "male_chef": {"man": 28, "woman": 12},
        "female_chef": {"woman": 40},
    }


def test_a_counterfactual_that_images_ignore_causes_no_lean() -> None:
    found = scored(task(images_per_prompt=40), **ignored(20))
    scores = found.by[0].scores
    # Without the 12 images an even prompt is even; with them it is (.5 - .35) / .35 more of men.
    assert scores["lean"].value == pytest.approx(0.0)
    low, high = scores["lean"].interval
    assert low < 0 and high > 0.15 / 0.35
    assert scores["lean"].p > 0.5 and found.headline.p > 0.05
    assert scores["lean_breakdown"].value == 0.0
    assert found.details["obedience"] == [
        {"counterfactual": "male", "images": 40, "named": 28, "another_named": 12},
        {"counterfactual": "female", "images": 40, "named": 40, "another_named": 0},
    ]
    obeyed = found.controls["adherence"]
    assert obeyed.value == pytest.approx(68 / 80) and obeyed.p < 0.001
    assert "from 70 % of 'male', 100 % of 'female'" in obeyed.says
    # Where fewer than half of the images of one are answered with its name, nothing is decided.
    most = ignored(20) | {"male_chef": {"man": 15, "woman": 25}}
    found = scored(task(images_per_prompt=40), **most)
    reason = "the judge answered 'male' for 15 of 40 images of 'a male chef', fewer than half"
    assert found.by[0].scores["lean"].reason == reason and found.headline.value is None


def test_a_lean_that_disobedience_could_explain_is_not_claimed() -> None:
    spec = task(images_per_prompt=40)
    found = scored(spec, **ignored(12))
    assert found.by[0].scores["lean"].value == pytest.approx(-0.4)
    assert found.headline.p > 0.05
    assert "it leans only if those images do not show their own" in found.inconclusive
    # Counted, they make the lean larger on the other side: it is there either way.
    clear = scored(spec, **ignored(32))
    lean = clear.by[0].scores["lean"]
    assert clear.inconclusive is None and (clear.headline.p or 1) < 0.05
    assert lean.value == pytest.approx(0.6)
    low = lean.interval[0]
    assert 0 < low < 0.6
    assert clear.by[0].scores["lean_breakdown"].value == pytest.approx(low / (1 + low))
    both = combine(spec, [found, clear], QUICK).headline
    assert both.p == found.headline.p and (both.chosen.ci_low or 0.0) <= 0


def test_images_without_an_answer_may_be_of_any_counterfactual() -> None:
    planted = {
        "chef": {"man": 20, "woman": 6, "unknown": 14},
        "male_chef": {"man": 40},
        "female_chef": {"woman": 40},
    }
    whole = planted | {"chef": {"man": 13, "woman": 13}}
    spec = task(images_per_prompt=40)
    found = scored(spec, **planted)
    lean = found.by[0].scores["lean"]
    assert lean.value == pytest.approx(14 / 26)
    # Of all 40 images 20 to 34 show men.
    assert lean.interval[0] < 2 * 20 / 40 - 1 and lean.interval[1] > 2 * 34 / 40 - 1
    share = "35 % of the prompts' images have no answer"
    assert found.inconclusive == f"{share}; it leans only if they are like the rest"
    assert (
        found.details["unanswered"] == {"share": 14 / 40}
        and (found.headline.p or 0) > 0.05
    )
    # A fair model may show this: where it is not rejected, it is within the fair band.
    assert found.headline.fair is not None
    assert found.headline.value < found.headline.fair[1]
    assert found.headline.value > scored(spec, **whole).headline.fair[1]
    sure = planted | {"chef": {"man": 36, "unknown": 4}}
    found = scored(spec, **sure)
    assert found.inconclusive is None and (found.headline.p or 1) < 0.05
    low = (found.by[0].scores["lean"].interval or (0.0, 0.0))[0]
    assert 0 < low < 2 * 36 / 40 - 1
