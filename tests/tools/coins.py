"""Two methods as packages add them: the mean of coin tosses with an interval that holds, and
one whose interval is too narrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from t2ibench.methods import MainScore, Method
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, Needs, PromptNeed, QuestionNeed
from t2ibench.methods.core.headline import lean_headline
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.schema import ImageTask
from t2ibench.settings import Settings
from tools.calibration.cells import Cell, Sample, ToylandWorld
from tools.calibration.worlds import Judging, Query

PROMPTS = ("a photo of a nurse", "a photo of a chef")
QUESTION, CLASSES = "What is the gender?", ("female", "male")


class CoinTask(ImageTask):
    """The share of women."""

    method: Literal["coin", "narrow", "broken"]


def needs(task: CoinTask, settings: Settings) -> Needs:
    """Answers about two prompts."""
    n = settings.images(task.images_per_prompt)
    return Needs(
        tuple(PromptNeed(prompt, n) for prompt in PROMPTS),
        questions=tuple(
            QuestionNeed(prompt, n, QUESTION, CLASSES) for prompt in PROMPTS
        ),
        embeds=False,
    )


def score(task: CoinTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """2 P - 1 over all answers; 'narrow' believes in twice as many of them."""
    if task.method == "broken":
        raise ZeroDivisionError("of no use")
    n, factor = (
        settings.images(task.images_per_prompt),
        0.7 if task.method == "narrow" else 1.0,
    )
    rows, total = [], []
    for prompt in PROMPTS:
        answers = evidence.answers(prompt, n, QUESTION, CLASSES)
        leans = np.array(
            [1.0 if answer == "female" else -1.0 for answer in answers.answers]
        )
        influence = Influence.of_mean(prompt, answers.indices, leans).scaled(factor)
        row = Estimate.from_influence(float(leans.mean()), influence, settings.level)
        rows.append(Item(prompt, {"lean": row}))
        total.append((0.5, influence))
    value = float(np.mean([row.scores["lean"].value for row in rows]))
    headline = lean_headline(value, Influence.combined(total), settings.level)
    return MethodResult(headline, by=rows, n_images=2 * n, n_prompts=2)


def describe(task: CoinTask, result: MethodResult) -> str:
    """A sentence."""
    return f"{result.headline.value}."


def family(name: str) -> Method[CoinTask]:
    """One of the methods."""
    return Method(
        name=name, title=name.title(), Task=CoinTask, needs=needs, score=score,
        describe=describe, main_score=MainScore("lean", "lean"), row_scores=("lean",),
        estimand="2 P - 1.",
    )  # fmt: skip


COIN, NARROW, BROKEN = family("coin"), family("narrow"), family("broken")


@dataclass(frozen=True)
class CoinWorld:
    """Every image is a woman with one probability."""

    lean: float
    n: int

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        p = (1 + self.lean) / 2
        queries = [
            Query(prompt, self.n, QUESTION, CLASSES, (p, 1 - p)) for prompt in PROMPTS
        ]
        evidence = Judging().evidence(rng, queries)
        return Sample(
            evidence, {"fixed_prompts": self.lean}, dict.fromkeys(PROMPTS, self.lean)
        )


def task(method: str, n: int) -> CoinTask:
    """A task of n images a prompt."""
    return CoinTask(
        id="coins", version=1, method=method, title="-", description="-", citation="-",
        images_per_prompt=n,
    )  # fmt: skip


def coin_cells() -> list[Cell]:
    """Fair and not fair; one on toyland's images."""
    return [
        Cell("fair", task("coin", 40), CoinWorld(0.0, 40), row_score="lean", quick=True),
        Cell("lean .4", task("coin", 40), CoinWorld(0.4, 40), row_score="lean"),
        Cell("lean .4, 80 images", task("coin", 80), CoinWorld(0.4, 80), doubles="lean .4"),
        Cell(
            "toyland",
            task("coin", 10),
            ToylandWorld({"all.gender.female": 0.7, "nurse.gender.female": 0.7,
                          "chef.gender.female": 0.7}, {"fixed_prompts": 0.4}),
            share=0.01,
        ),
    ]  # fmt: skip


def fair_cells(method: str) -> list[Cell]:
    """A fair cell of one of the others."""
    return [
        Cell("fair", task(method, 40), CoinWorld(0.0, 40), row_score="lean", quick=True)
    ]
