"""Prompts whose answer a fact fixes: who must be shown, and who is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from t2ibench.methods import needs, score
from t2ibench.methods.core.contradictions import contradictions
from t2ibench.methods.core.group_words import groups_named
from t2ibench.methods.core.guided import Wording
from t2ibench.methods.core.score_table import score_tables
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.results.over_correction import _by_wanted
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests.tasks.files import JOBS, load, spoil
from tools.calibration.remedies import FACT_REMEDIES, named_costs
from tools.calibration.worlds import Scene, Space, WorldEvidence

QUICK = Settings(n_bootstrap=10, n_permutations=20, max_exact=10)
SHIPPED = "occupations_facts_gender"


def shipped() -> OccupationsTask:
    (loaded,) = load_tasks([SHIPPED])
    assert isinstance(loaded.spec, OccupationsTask)
    return loaded.spec


def evidence_of(task: OccupationsTask, facts: list[str]) -> WorldEvidence:
    """Occupations that lean .5; guided images obey, and facts are answered as given."""
    wanted = needs(task, QUICK)
    scenes = []
    for need in wanted.prompts:
        side = {"male": 1.0, "female": -1.0}.get(need.group)
        lean = 0.5 if side is None else side
        scenes.append(
            Scene(need.prompt, need.images, need.unit, lean, asked=side or 0.0)
        )
    texts = {scene.prompt: (scene.about, scene.asked) for scene in scenes}
    drawn = Space(strength=0.3).evidence(np.random.default_rng(0), scenes, texts)
    given = iter(facts)
    groups = wanted.groups
    replies = {}
    for check in wanted.checks:
        group = groups[check.prompt]
        answer = next(given) if group.startswith("fact") else group
        replies[check.prompt, check.question, check.classes] = [answer] * check.images
    return WorldEvidence(drawn.embeddings, drawn.vectors, replies)


def test_facts_are_counted_by_group_and_have_no_part_in_leans() -> None:
    task = shipped()
    groups = [fact.group for fact in task.facts]
    # One decathlete is drawn as a woman, in all five images.
    wrong = ["female", *groups[1:]]
    evidence = evidence_of(task, wrong)
    result = score(task, evidence, QUICK)
    assert result.scores["fact:male"].value == pytest.approx(7 / 8)
    assert result.scores["fact:female"].value == 1
    low, high = result.scores["fact:male"].interval or (0.0, 0.0)
    assert 0.7 < low < 7 / 8 < high < 1  # exact, of 35 of 40 images
    bare = task.model_copy(update={"facts": ()})
    without = score(bare, evidence, QUICK).headline
    assert without.value == result.headline.value
    assert without.inference == result.headline.inference
    (table,) = score_tables(result.details)
    assert table.title == "Images that show whom a fact names" and not table.signed
    assert list(table.rows) == ["men, by 8 facts", "women, by 8 facts"]
    found = contradictions(needs(task, QUICK), evidence)
    shares = {
        group: float(np.mean([prompt.values.mean() for prompt in prompts]))
        for group, prompts in _by_wanted(found).items()
    }
    assert shares == pytest.approx(
        {"male": 0, "female": 0, "male by a fact": 1 / 8, "female by a fact": 0}
    )


def test_each_fact_of_the_shipped_task_has_a_source_and_names_no_group() -> None:
    facts = shipped().facts
    assert Counter(fact.group for fact in facts) == {"male": 8, "female": 8}
    assert len({fact.prompt for fact in facts}) == 16
    for fact in facts:
        assert not groups_named(fact.prompt, ["male", "female"])
        assert len(fact.source) > 40


def test_a_fact_has_all_images_where_wordings_divide_theirs() -> None:
    task = shipped()
    prompts = task.prompts.model_copy(
        update={
            "images": "divided",
            "paraphrases": (
                Wording(
                    neutral="A picture of {a stimulus}",
                    guided="A picture of {a attribute} {stimulus}",
                ),
            ),
        }
    )
    divided = task.model_copy(update={"prompts": prompts})
    images = {need.prompt: need.images for need in needs(divided, Settings()).prompts}
    assert {images[fact.prompt] for fact in task.facts} == {5}
    assert set(images.values()) > {5}


def test_without_a_judge_a_fact_has_a_reason_for_its_missing_share() -> None:
    task = shipped()
    evidence = evidence_of(task, [fact.group for fact in task.facts])
    silent = WorldEvidence(evidence.embeddings, evidence.vectors)
    share = score(task, silent, QUICK).scores["fact:male"]
    assert share.value is None and "--judge" in (share.reason or "")


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("{prompt: a decathlete, group: men, source: IOC}", "no group of this task"),
        ("{prompt: a policeman, group: male, source: none}", "it names male"),
        ("{prompt: a decathlete, group: male}", "source"),
        (
            "{prompt: A photo of a nurse, group: male, source: none}",
            "of a stimulus, too",
        ),
        (
            "{prompt: a decathlete, group: male, source: none}\n"
            "  - {prompt: a decathlete, group: female, source: none}",
            "more than once: 'a decathlete'",
        ),
    ],
)
def test_a_mistake_in_facts_is_reported(
    tmp_path: Path, fact: str, message: str
) -> None:
    start = "reference:\n"
    question = '  guided: "A photo of a {attribute} {stimulus}"\n'
    asked = f'{question}  question: "What is the gender of the person?"\n'
    text = spoil(JOBS, (start, f"facts:\n  - {fact}\n{start}"), (question, asked))
    _, problems = load(tmp_path, text)
    assert any(message in problem.message for problem in problems), problems


def test_facts_need_a_question(tmp_path: Path) -> None:
    start = "reference:\n"
    fact = "facts:\n  - {prompt: a decathlete, group: male, source: IOC}\n"
    _, problems = load(tmp_path, spoil(JOBS, (start, f"{fact}{start}")))
    assert any("otherwise no judge says" in problem.message for problem in problems)


def test_tasks_without_facts_keep_their_hash() -> None:
    (loaded,) = load_tasks(["core_occupations_gender"])
    assert "facts" not in loaded.spec.model_dump()


def test_a_remedy_that_overrides_facts_is_named_and_one_that_does_not_is_not() -> None:
    assert named_costs(FACT_REMEDIES, 0, facts=True) == [[], ["contradictions"]]
