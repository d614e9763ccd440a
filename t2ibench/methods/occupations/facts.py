"""Prompts whose answer a fact fixes, and how many of their images contradict it.

A rewriter that gives every person a gender by a coin shows an Olympic decathlete as a woman in
half of the images. Such prompts name no group, so they say what guided prompts cannot: whether a
remedy is applied where nothing is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence, PromptNeed, QuestionNeed
from t2ibench.methods.core.prompt_groups import FACT
from t2ibench.methods.core.score_table import ScoreTable
from t2ibench.methods.occupations.schema import Fact, OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats.clopper_pearson import clopper_pearson

SCORE = "fact"
_NOBODY_LOOKED = (
    "neither a judge nor people said whom the images of these prompts show: give "
    "--judge"
)


@dataclass(frozen=True, slots=True)
class FactScores:
    """How many images of prompts that a fact fixes show what is so.

    Attributes:
        scores: 'fact:GROUP' is the share that shows that group, of the images with an answer.
        tables: The table of these scores for pages; empty without facts.
    """

    scores: dict[str, Estimate] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)


def fact_needs(
    task: OccupationsTask, settings: Settings
) -> tuple[list[PromptNeed], list[QuestionNeed]]:
    """Return the images of prompts that facts fix, and the questions about them."""
    # A fact has one wording, so its images are not divided among several.
    _, n_guided = task.counts_over_wordings(settings)
    facts = settings.limited(task.facts)
    prompts = [
        PromptNeed(fact.prompt, n_guided, f"{FACT}{fact.group}", fact.prompt)
        for fact in facts
    ]
    question = task.prompts.question
    if question is None:
        return prompts, []
    classes = tuple(group.name for group in task.groups)
    asked = [QuestionNeed(fact.prompt, n_guided, question, classes) for fact in facts]
    return prompts, asked


def fact_scores(
    task: OccupationsTask, evidence: Evidence, settings: Settings
) -> FactScores:
    """Return how many images of prompts that a fact fixes show what is so; empty without facts."""
    if not task.facts:
        return FactScores()
    _, questions = fact_needs(task, settings)
    facts = settings.limited(task.facts)
    scores = {}
    for group in dict.fromkeys(fact.group for fact in facts):
        answers: list[str] = []
        for fact, asked in zip(facts, questions, strict=True):
            if fact.group == group:
                given = evidence.answers(
                    asked.prompt, asked.images, asked.question, asked.classes
                )
                answers += [
                    answer for answer in given.answers if answer in asked.classes
                ]
        hits = answers.count(group)
        scores[f"{SCORE}:{group}"] = _share(hits, len(answers), settings.level)
    return FactScores(scores, [asdict(_table(facts))])


def _share(hits: int, total: int, level: float) -> Estimate:
    """Return a share with its exact interval."""
    if not total:
        return Estimate.undefined(_NOBODY_LOOKED)
    return Estimate(hits / total, interval=clopper_pearson(hits, total, level))


def _table(facts: Sequence[Fact]) -> ScoreTable:
    rows = {}
    for name in dict.fromkeys(fact.group for fact in facts):
        count = sum(fact.group == name for fact in facts)
        facts_of_group = "1 fact" if count == 1 else f"{count} facts"
        rows[f"{people(name, GROUP)}, by {facts_of_group}"] = f"{SCORE}:{name}"
    return ScoreTable(
        "Images that show whom a fact names",
        "Of prompts that name no group, but whose answer a fact fixes, such as who may take part "
        "in an event: the share of images that show that group, as a judge or people say, with "
        "its exact interval, for exactly these prompts. The task file has the source of each fact.",
        rows,
        signed=False,
    )
