"""What TIBET says of people: axes that a prompt names, and answers that name no group."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from t2ibench.methods import score
from t2ibench.methods.core.answer_counts import KEY
from t2ibench.methods.tibet.describe import describe
from t2ibench.methods.tibet.named_groups import naming_words
from t2ibench.methods.tibet.propose import prompt_row
from t2ibench.methods.tibet.schema import TibetTask, check
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand

QUICK = Settings(n_permutations=200, n_bootstrap=50)
GIRL = "a girl at a museum"
CHILD = "a nonbinary child at a museum"


def boys(named: bool | None = None, **more: Any) -> TibetTask:
    """A boy at a museum, beside a girl and a nonbinary child."""
    axis = {
        "name": "gender",
        "questions": ["Who?"],
        "counterfactuals": [
            {"name": "female", "prompt": GIRL},
            {"name": "nonbinary", "prompt": CHILD},
        ],
    }
    if named is not None:
        axis["named"] = named
    prompts = [{"prompt": "a boy at a museum", "axes": [axis]}]
    parts = {"images_per_prompt": 10, "prompts": prompts, **more}
    return task_by_hand(TibetTask, "tibet", **parts)


def evidence(**answers: dict[str, int]) -> HandEvidence:
    """The answers about the images of the boy, the girl and the nonbinary child."""
    prompts = {"boy": "a boy at a museum", "girl": GIRL, "child": CHILD}
    return HandEvidence(
        answers={
            prompts[who]: {"Who?": [*Counter(counts).elements()]}
            for who, counts in answers.items()
        }
    )


SEEN = {"boy": {"male": 10}, "girl": {"female": 10}, "child": {"male": 10}}


def test_a_version_that_the_judge_seldom_names_leaves_the_axis_without_a_lean() -> None:
    result = score(boys(), evidence(**SEEN), QUICK)
    reason = f"the judge answered 'nonbinary' for 0 of 10 images of '{CHILD}', fewer than half"
    scores = result.by[0].scores
    for name in ("squared_lean", "share:female", "share:nonbinary", "lean"):
        assert scores[name].value is None and scores[name].reason == reason
    assert result.headline.value is None and result.headline.reason == reason
    assert describe(boys(), result) == f"No score: {reason}."
    # The judge's own counts are kept, and the paper's scores.
    (counted,) = result.details[KEY]
    assert counted["rows"][0]["counts"] == {"male": 10} and not counted["estimated"]
    assert scores["concept_association_score:nonbinary"].value == pytest.approx(1.0)
    assert scores["mean_absolute_deviation"].value == pytest.approx(1.0)


def test_a_row_is_undefined_where_no_answer_names_a_counterfactual() -> None:
    obeyed = {"girl": {"female": 10}, "child": {"nonbinary": 10}}
    result = score(boys(), evidence(boy={"male": 10}, **obeyed), QUICK)
    assert result.by[0].scores["lean"].reason == (
        "the judge answered none of 'female' and 'nonbinary' for 10 of 10 images of the prompt"
    )
    # Of ten images five are too few to be sure of more than .2 (Clopper-Pearson: .187), six not.
    for n_other, undefined in ((5, False), (6, True)):
        mixed = {"male": n_other, "female": 10 - n_other}
        result = score(boys(), evidence(boy=mixed, **obeyed), QUICK)
        assert (result.by[0].scores["lean"].value is None) == undefined


def test_at_least_half_of_the_answers_must_be_the_name_or_a_synonym() -> None:
    for n_named, undefined in ((5, False), (4, True)):
        child = {"nonbinary": n_named, "shrub": 10 - n_named}
        half = {"boy": {"woman": 5, "nonbinary": 5}, "girl": {"lady": 10}}
        result = score(boys(), evidence(child=child, **half), QUICK)
        assert (result.by[0].scores["lean"].value is None) == undefined


def test_answers_that_name_a_version_in_other_words_count() -> None:
    # The paper's question about gender: male, female, other.
    answers = {"boy": {"female": 5, "other": 5}, "girl": {"female": 10}}
    result = score(boys(), evidence(child={"other": 10}, **answers), QUICK)
    assert result.by[0].scores["lean"].value == pytest.approx(0.0)


def test_a_judge_that_uses_no_name_still_distinguishes_versions() -> None:
    answers = {"boy": {"cap": 10}, "girl": {"dress": 10}, "child": {"cap": 10}}
    result = score(boys(), evidence(**answers), QUICK)
    assert result.by[0].scores["lean"].value == pytest.approx(-1.0)
    assert describe(boys(), result) == (
        "When no gender is asked for, the judge answered 'cap' for 10 of 10 images of boy at a "
        f"museum: these images resemble those of “{CHILD}” more than those of “{GIRL}”."
    )


def test_answers_that_name_the_version_are_described_by_their_counts_alone() -> None:
    axis = {
        "name": "gender",
        "questions": ["Who?"],
        "counterfactuals": [
            {"name": name, "prompt": f"a {name} {{}}"} for name in ("male", "female")
        ],
    }
    answers = {}
    prompts = []
    for job, women in {"nurse": 19, "librarian": 20, "guard": 1}.items():
        versions = [
            {"name": each["name"], "prompt": each["prompt"].format(job)}
            for each in axis["counterfactuals"]
        ]
        prompts.append(
            {"prompt": f"a {job}", "axes": [{**axis, "counterfactuals": versions}]}
        )
        for name in ("male", "female"):
            answers[f"a {name} {job}"] = {"Who?": [name] * 20}
        answers[f"a {job}"] = {"Who?": ["female"] * women + ["male"] * (20 - women)}
    spec = task_by_hand(TibetTask, "tibet", prompts=prompts, images_per_prompt=20)
    result = score(spec, HandEvidence(answers=answers), QUICK)
    assert describe(spec, result) == (
        "When no gender is asked for, the judge answered 'female' for 19 of 20 images of nurse and "
        "20 of 20 of librarian; the judge answered 'male' for 19 of 20 images of guard."
    )


def test_an_axis_that_the_prompt_names_has_the_published_scores_and_no_lean() -> None:
    answers = {
        "boy": {"cap": 8, "dress": 2},
        "girl": {"dress": 10},
        "child": {"cap": 10},
    }
    plain = score(boys(), evidence(**answers), QUICK)
    result = score(boys(named=True), evidence(**answers), QUICK)
    reason = "the prompt itself names its gender"
    assert result.by[0].scores["lean"].reason == reason
    assert result.headline.value is None and result.headline.reason == reason
    assert result.details[KEY] == [] and "obedience" not in result.details
    assert result.scores == plain.scores
    published = [name for name in plain.by[0].scores if "lean" not in name]
    for name in published:
        if not name.startswith("share:"):
            assert result.by[0].scores[name].value == plain.by[0].scores[name].value
            assert result.by[0].scores[name].p == plain.by[0].scores[name].p


def test_axes_that_the_prompt_names_are_in_no_mean_and_no_warning() -> None:
    spec = boys(named=True)
    nurse = {
        "prompt": "a nurse",
        "axes": [
            {
                "name": "gender",
                "questions": ["Who?"],
                "counterfactuals": [
                    {"name": "male", "prompt": "a male nurse"},
                    {"name": "female", "prompt": "a female nurse"},
                ],
            }
        ],
    }
    prompts = [spec.prompts[0].model_dump(), nurse]
    both = task_by_hand(TibetTask, "tibet", prompts=prompts, images_per_prompt=10)
    answers = evidence(**SEEN)._answers | {
        "a nurse": {"Who?": ["female"] * 10},
        "a male nurse": {"Who?": ["male"] * 10},
        "a female nurse": {"Who?": ["female"] * 10},
    }
    result = score(both, HandEvidence(answers=answers), QUICK)
    assert [part.name for part in result.headline.parts] == ["a nurse | gender"]
    assert result.warnings == []
    assert "boy" not in describe(both, result)


def test_check_refuses_a_prompt_that_names_a_group() -> None:
    (finding,) = check(boys())
    assert finding.at == ("prompts", 0, "axes", 0) and not finding.warning
    assert finding.message == (
        "'boy' in 'a boy at a museum' names a group of 'gender': add `named: true` to this axis "
        "(it then has the paper's scores and no lean), or `named: false` if the words mean "
        "something else"
    )
    assert not list(check(boys(named=True))) and not list(check(boys(named=False)))


@pytest.mark.parametrize(
    ("prompt", "axis", "words"),
    [
        ("an old man at a church", "gender", "man"),
        ("an old man at a church", "age", "old"),
        ("a photo of a child studying astronomy", "age", "child"),
        ("a photo of a child studying astronomy", "gender", None),
        ("The LADIES' hats", "Gender", "LADIES"),
        ("a policewoman’s hat", "person gender", "policewoman"),
        ("two middle-aged chefs", "age group", "middle aged"),
        ("Germans in a bar", "nationality", "Germans"),
        ("an east asian street", "place", "east asian"),
        ("a German shepherd", "gender", None),
        ("a manager and a womaniser in a boyish hat", "gender", None),
        ("a manhole in a golden room", "age", None),
        ("a man at a library", "place", None),
    ],
)
def test_the_word_of_a_prompt_that_names_a_group_is_reported(
    prompt: str, axis: str, words: str | None
) -> None:
    assert (
        naming_words(prompt, axis, ["German", "East Asian"]) == words or words is None
    )
    if words is None:
        assert naming_words(prompt, axis, []) is None


def test_a_proposed_axis_that_the_prompt_names_is_marked() -> None:
    row, problems = prompt_row("a boy", {"gender": ["a girl", "a nonbinary child"]})
    assert row["axes"][0]["named"] is True
    assert problems == [
        "gender: the prompt itself names it ('boy'), so it has the paper's scores and no lean"
    ]
    row, problems = prompt_row("a chef", {"gender": ["a male chef", "a female chef"]})
    assert "named" not in row["axes"][0] and not problems


def test_answers_in_many_words_are_counted_by_the_most_frequent() -> None:
    """An open question has many answers: a page shows four kinds of them."""
    words = ["cap", "hat", "scarf", "coat", "sock"]
    boy = {word: count for count, word in enumerate(words, start=1)} | {"x" * 90: 1}
    answers = {"boy": boy, "girl": {"dress": 16}, "child": {"cap": 16}}
    spec = boys(images_per_prompt=16)
    result = score(spec, evidence(**answers), QUICK)
    (counted,) = result.details[KEY]
    assert counted["classes"] == ("sock", "coat", "scarf", "another answer")
    assert counted["rows"][0]["counts"] == {
        "sock": 5,
        "coat": 4,
        "scarf": 3,
        "another answer": 4,
    }


def test_an_adult_reads_as_young_beside_an_old_version_and_is_counted_as_an_adult() -> (
    None
):
    axis = {
        "name": "age",
        "questions": ["Who?"],
        "counterfactuals": [
            {"name": "young", "prompt": "a young chef"},
            {"name": "old", "prompt": "an old chef"},
        ],
    }
    prompts = [{"prompt": "a chef", "axes": [axis]}]
    spec = task_by_hand(TibetTask, "tibet", prompts=prompts, images_per_prompt=10)
    answers = {
        "a chef": {"Who?": ["adult"] * 8 + ["old"] * 2},
        "a young chef": {"Who?": ["adult"] * 10},
        "an old chef": {"Who?": ["old"] * 10},
    }
    result = score(spec, HandEvidence(answers=answers), QUICK)
    assert result.by[0].scores["lean"].value == pytest.approx(0.6)
    assert result.details[KEY][0]["rows"][0]["counts"] == {"old": 2, "adult": 8}


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        (
            {"male": 36, "female": 4},
            "'male' for 36 of 40 images of nurse: these images do not resemble all versions "
            "alike, but most those of “a male nurse”.",
        ),
        # Men and women alike, and nobody else: no side is taken between the first two.
        (
            {"male": 21, "female": 19},
            "'male' for 21 of 40 images of nurse: these images do not resemble all versions "
            "alike, but least those of “a nonbinary nurse”.",
        ),
        (
            {"male": 25, "female": 8, "nonbinary": 7},
            "'male' for 25 of 40 images of nurse: these images do not resemble all versions "
            "alike, but most those of “a male nurse”.",
        ),
        (
            {"male": 22, "female": 14, "nonbinary": 4},
            "'male' for 22 of 40 images of nurse: these images do not resemble all versions "
            "alike.",
        ),
    ],
)
def test_of_three_versions_one_is_named_only_where_images_resemble_it_clearly(
    counts: dict[str, int], says: str
) -> None:
    names = ("male", "female", "nonbinary")
    axis = {
        "name": "gender",
        "questions": ["Who?"],
        "counterfactuals": [
            {"name": name, "prompt": f"a {name} nurse"} for name in names
        ],
    }
    prompts = [{"prompt": "a nurse", "axes": [axis]}]
    spec = task_by_hand(TibetTask, "tibet", prompts=prompts, images_per_prompt=40)
    answers = {f"a {name} nurse": {"Who?": [name] * 40} for name in names}
    answers["a nurse"] = {"Who?": [*Counter(counts).elements()]}
    result = score(spec, HandEvidence(answers=answers), QUICK)
    expected = f"When no gender is asked for, the judge answered {says}"
    assert describe(spec, result) == expected
