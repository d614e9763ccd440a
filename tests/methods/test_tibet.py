"""TIBET on answers made by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import needs, score
from t2ibench.methods.core.concepts import Synonyms, from_wordnet, shipped, synonyms, words_of
from t2ibench.methods.tibet.describe import describe
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.methods.tibet.score import all_questions, questions_of
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence

QUICK = Settings(n_permutations=400, n_bootstrap=200)


def task(names: tuple[str, ...] = ("male", "female"), **more: Any) -> TibetTask:
    axis = {
        "name": "gender",
        "questions": ["Who?"],
        "counterfactuals": [{"name": name, "prompt": f"a {name} chef"} for name in names],
    }
    plain = {
        "id": "tibet_hand",
        "version": 1,
        "method": "tibet",
        "title": "t",
        "description": "d",
        "citation": "c",
        "images_per_prompt": 20,
        "prompts": [{"prompt": "a chef", "axes": [axis]}],
    }
    return TibetTask.model_validate(plain | more)


def evidence(**counts: dict[str, int]) -> HandEvidence:
    """Prompt ('chef', 'male chef', ...) to the answers of its images."""
    return HandEvidence(
        answers={
            f"a {name.replace('_', ' ')}": {
                "Who?": [answer for answer, n in answers.items() for _ in range(n)]
            }
            for name, answers in counts.items()
        }
    )


def test_cas_and_mad_by_hand() -> None:
    found = score(
        task(),
        evidence(
            chef={"cook": 15, "waiter": 5},
            male_chef={"cook": 20},
            female_chef={"waiter": 20},
        ),
        QUICK,
    )
    scores = found.by[0].scores
    # Histograms .75/.25 against 1/0 and 0/1: overlaps .75/1.25 and .25/1.75.
    assert scores["cas:male"].value == pytest.approx(0.6)
    assert scores["cas:female"].value == pytest.approx(1 / 7)
    share = 0.6 / (0.6 + 1 / 7)
    assert scores["cas_share:male"].value == pytest.approx(share)
    assert scores["mad"].value == pytest.approx(np.sqrt(2 * share - 1))
    assert scores["mad_before_root"].value == pytest.approx(2 * share - 1)
    assert scores["mad"].p is not None and 0.02 < scores["mad"].p < 0.08  # binomial test: .041
    assert found.n_images == 60 and found.n_prompts == 3
    assert found.headline.value is not None and 0 < found.headline.value < 1


def test_counterfactuals_that_are_alike_score_nothing() -> None:
    rng = np.random.default_rng(3)

    def mixed() -> dict[str, int]:
        n = int(rng.binomial(20, 0.5))
        return {"cook": n, "waiter": 20 - n}

    p_values = []
    for _ in range(12):
        found = score(task(), evidence(chef=mixed(), male_chef=mixed(), female_chef=mixed()), QUICK)
        p_values.append(found.headline.p or 0.0)
    assert sum(p < 0.1 for p in p_values) <= 4


def test_the_null_says_what_chance_gives() -> None:
    half, start = {"cook": 10, "waiter": 10}, {"cook": 15, "waiter": 5}
    found = score(task(), evidence(chef=start, male_chef=half, female_chef=half), QUICK)
    scores = found.by[0].scores
    assert scores["mad"].value == pytest.approx(0.0, abs=1e-6)
    assert scores["mad"].null is not None and 0.1 < scores["mad"].null.mean() < 0.5
    assert scores["mad_debiased"].value == 0.0


def test_one_counterfactual_has_no_mad() -> None:
    found = score(task(("male",)), evidence(chef={"cook": 9}, male_chef={"cook": 9}), QUICK)
    assert found.by[0].scores["mad"].value is None
    assert found.by[0].scores["cas:male"].value == pytest.approx(1.0)
    assert found.reason and found.headline.value is None


def test_missing_images_are_said() -> None:
    found = score(task(), evidence(chef={"cook": 9}, male_chef={"cook": 20}), QUICK)
    assert "female" in (found.by[0].scores["mad"].reason or "")
    assert found.excluded["missing"] == 31


def test_questions() -> None:
    spec = task(caption_question="Describe it.")
    assert all_questions(spec, spec.prompts[0]) == ["Who?", "Describe it."]
    axis = spec.prompts[0].axes[0]
    assert questions_of(axis.model_copy(update={"questions": ()}))[0].startswith(
        "What is the gender (male, female, other)"
    )
    other = axis.model_copy(update={"questions": (), "name": "hair"})
    assert questions_of(other) == ("What is hair in the image?",)
    found = needs(spec, QUICK)
    assert found.n_images == 60 and len(found.questions) == 6
    assert all(need.classes == () for need in found.questions)


def test_explanations() -> None:
    found = score(
        task(),
        evidence(
            chef={"tall man": 12, "woman": 8}, male_chef={"male": 20}, female_chef={"lady": 20}
        ),
        QUICK,
    )
    (detail,) = found.details["prompts"]
    assert detail["concepts"][0] == ["man", pytest.approx(0.6)]
    names = [one["concepts"][0][0] for one in detail["axes"][0]["counterfactuals"]]
    assert names == ["man", "lady"]
    curve = found.details["sensitivity"]
    assert [row["flipped"] for row in curve] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert 0 < curve[0]["cas_change"] < curve[-1]["cas_change"]


def test_words() -> None:
    assert words_of("Yes, it is an OLD man's photo, on the image: no dog.") == [
        "old",
        "man's",
        "dog",
    ]


def test_merging_does_not_depend_on_the_order() -> None:
    counts = {"cook": 3.0, "chef": 3.0, "male": 2.0, "guy": 1.0, "man": 1.0, "sunny": 1.0}
    table = {"cook": {"chef"}, "chef": {"cook", "boss"}, "guy": {"man"}}
    known = Synonyms("hand", lambda word: frozenset(table.get(word, ())))
    expected = {"cook": "chef", "chef": "chef", "male": "man", "guy": "man", "man": "man"}
    for order in itertools.permutations(counts):
        merged = known.merged({word: counts[word] for word in order})
        assert merged == expected | {"sunny": "sunny"}


def test_the_shipped_table_and_wordnet() -> None:
    merged = shipped().merged({"lady": 2, "female": 1, "woman": 1, "sunny": 1})
    assert merged == {"lady": "lady", "female": "lady", "woman": "lady", "sunny": "sunny"}

    class Synset:
        def __init__(self, *names: str) -> None:
            self.names = names

        def lemma_names(self) -> tuple[str, ...]:
            return self.names

    class Reader:
        def synsets(self, word: str) -> list[Synset]:
            return [Synset("physician", "Doctor"), Synset("doc")] if word == "doctor" else []

        def get_version(self) -> str:
            return "3.0"

    found = from_wordnet(Reader())
    assert found.name == "WordNet 3.0"
    assert found.merged({"physician": 1, "doctor": 5, "doc": 1}) == {
        "physician": "doctor",
        "doctor": "doctor",
        "doc": "doctor",
    }
    # Where WordNet is installed, it is what counts, and it knows what everybody knows.
    here = synonyms()
    assert here.name == "shipped table" or "physician" in here.related("doctor")


def test_described_with_the_nearest_counterfactual() -> None:
    planted = evidence(chef={"cook": 20}, male_chef={"cook": 20}, female_chef={"waiter": 20})
    assert describe(task(), score(task(), planted, QUICK)) == (
        "Images of 'a chef' are, on the axis gender, most like those of 'male'."
    )


def test_described_over_several_prompts() -> None:
    axes = [
        {
            "name": "gender",
            "questions": ["Who?"],
            "counterfactuals": [
                {"name": name, "prompt": f"a {name} {job}"} for name in ("male", "female")
            ],
        }
        for job in ("chef", "nurse")
    ]
    spec = task(
        prompts=[{"prompt": "a chef", "axes": axes[:1]}, {"prompt": "a nurse", "axes": axes[1:]}]
    )
    planted = evidence(
        chef={"cook": 20}, male_chef={"cook": 20}, female_chef={"waiter": 20},
        nurse={"tall": 12, "small": 8}, male_nurse={"tall": 20}, female_nurse={"small": 20},
    )  # fmt: skip
    assert describe(spec, score(spec, planted, QUICK)) == (
        "Beyond chance on 1 of 2 prompts and axes. The strongest: images of 'a chef' are, on the "
        "axis gender, most like those of 'male'."
    )


def test_described_without_a_direction_where_there_is_none() -> None:
    half = {"cook": 10, "waiter": 10}
    even = score(task(), evidence(chef=half, male_chef=half, female_chef=half), QUICK)
    assert describe(task(), even) == (
        "The images are about as like each counterfactual as an even mixture would be."
    )
    nothing = score(task(), HandEvidence(), QUICK)
    assert describe(task(), nothing) == (
        "No score: no prompt has answered images of itself and of two counterfactuals."
    )
