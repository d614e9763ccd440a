"""Every method keeps the contract, and the checker finds a method that does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest

from t2ibench.methods import METHODS
from t2ibench.methods.core.contract import check_method
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import (
    Evidence,
    Needs,
    PromptNeed,
)
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.inference import HeadlineInference, Inference
from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.core.synthetic_evidence import SyntheticEvidence
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from tests.few_words import compared_with
from tests.methods.edits.hand import edits_task

SETTINGS = Settings(
    limit=2,
    images_per_prompt=4,
    guided_images_per_prompt=3,
    n_bootstrap=50,
    n_permutations=100,
    max_exact=1000,
)


@cache
def shipped() -> dict[str, list[BaseTask]]:
    """All shipped tasks, by method."""
    tasks: dict[str, list[BaseTask]] = {name: [] for name in METHODS}
    for task in load_tasks("all"):
        tasks[task.spec.method].append(task.spec)
    # Its tasks are extended: a default run edits nothing.
    tasks["edits"].append(edits_task(no_change="Change nothing"))
    return tasks


@pytest.mark.parametrize("name", METHODS.names())
def test_every_method_keeps_the_contract(name: str) -> None:
    # Both methods learn from 100 everyday words on; a dozen scores with all take seconds.
    task = compared_with(500, shipped()[name][0])
    assert check_method(METHODS.get(name), task, SETTINGS) == []


class DotTask(BaseTask):
    """How bright the images of a prompt are: the smallest method there can be."""

    method: Literal["dot"]
    prompts: tuple[str, ...]


def dot_needs(task: DotTask, settings: Settings) -> Needs:
    return Needs(tuple(PromptNeed(prompt, 3) for prompt in task.prompts))


def dot_score(task: DotTask, evidence: Evidence, settings: Settings) -> MethodResult:
    collector = ImageCollector(evidence)
    images = collector.collect(task.prompts, 3)
    if not len(images):
        return MethodResult.undefined("there are no images", collector)
    value = Estimate(float(images.embeddings[:, 0].mean()))
    return MethodResult(
        HeadlineEstimate(value.value),
        {"mean": value},
        [Item(prompt, {"mean": value}) for prompt in task.prompts],
        collector.n_images,
        collector.n_prompts,
        collector.excluded,
    )


def dot_describe(task: DotTask, result: MethodResult) -> str:
    return "No score: none." if result.headline.value is None else "It has a score."


DOT = Method(
    Task=DotTask,
    needs=dot_needs,
    score=dot_score,
    describe=dot_describe,
    main_score=MainScore("mean", "mean"),
    estimand="The mean brightness.",
    row_scores=("mean",),
)
TASK = DotTask(
    id="dot", version=1, method="dot", title="-", description="-", citation="-",
    prompts=("a cat", "a dog"),
)  # fmt: skip


def test_a_method_from_elsewhere_passes() -> None:
    assert check_method(DOT, TASK, SETTINGS) == []


def spoilt(**changes: object) -> Method:
    """The method with its results changed."""
    return replace(DOT, score=lambda *given: replace(dot_score(*given), **changes))


def touching(touch: Callable[[Evidence], object]) -> Method:
    """The method, after it has looked at the evidence in another way."""

    def score(task: DotTask, evidence: Evidence, settings: Settings) -> MethodResult:
        result = dot_score(task, evidence, settings)
        touch(evidence)
        return result

    return replace(DOT, score=score)


def random(*given: Any) -> MethodResult:
    return replace(
        dot_score(*given), details={"draw": np.random.default_rng().random()}
    )


def overwrite(evidence: Evidence) -> None:
    evidence.images("a cat", 3).embeddings[:] *= 2.0


BROKEN = {
    "asks for more": (
        touching(lambda evidence: evidence.images("a cat", 4)),
        "Image 3 of the prompt 'a cat'",
    ),
    "changes the evidence": (touching(overwrite), "changes the evidence"),
    "is random": (replace(DOT, score=random), "different results"),
    "crashes without images": (
        touching(lambda evidence: evidence.images("a cat", 3).embeddings[0]),
        "raises IndexError (missing)",
    ),
    "scores nothing": (
        spoilt(headline=HeadlineEstimate(0.5)),
        "Without any evidence it gives a number",
    ),
    "hides what is missing": (
        spoilt(excluded=Counter(), reason=None),
        "Without images of 'a cat' it neither counts nor mentions them",
    ),
    "no reason": (
        spoilt(scores={"mean": Estimate(None)}),
        "neither a value nor a reason for 'mean'",
    ),
    "p of 0": (spoilt(scores={"mean": Estimate(0.5, p=0.0)}), "not in (0, 1]"),
    "miscounts": (spoilt(n_images=5), "counts 5 images, but needs 6"),
    "another main score": (
        replace(DOT, main_score=MainScore("d", "d")),
        "main score 'd'",
    ),
    "another row score": (replace(DOT, row_scores=("d",)), "row score 'd'"),
    "two lines": (
        replace(DOT, describe=lambda task, result: "a\nb."),
        "not one sentence",
    ),
    "another name": (replace(DOT, name="dots"), "its task says 'dot'"),
    "an estimate for a headline": (
        spoilt(headline=Estimate(0.5)),
        "Its headline is a Estimate, not a HeadlineEstimate",
    ),
    "ends apart from the value": (
        spoilt(
            headline=HeadlineEstimate(
                0.9,
                inference=HeadlineInference({"fixed_prompts": Inference(0.1, 0.2)}),
            )
        ),
        "outside its interval",
    ),
    "a scale that nobody registered": (
        spoilt(headline=HeadlineEstimate(0.5, scale="other.points")),
        "The scale of its headline, 'other.points', is not registered",
    ),
    "odd combination": (
        replace(
            DOT,
            combine=lambda _, found, __: replace(
                found[0], headline=HeadlineEstimate(len(found))
            ),
        ),
        "another the headline",
    ),
}


@pytest.mark.parametrize(("method", "message"), BROKEN.values(), ids=BROKEN)
def test_a_method_that_breaks_the_contract_is_reported(
    method: Method, message: str
) -> None:
    assert message in "\n".join(check_method(method, TASK, SETTINGS))


def test_an_image_asked_for_twice_counts_once_by_its_larger_number() -> None:
    needs = Needs((PromptNeed("a cat", 5), PromptNeed("a dog", 5)))
    collector = ImageCollector(SyntheticEvidence(needs, without={"a dog"}))
    few = collector.collect(["a cat", "a dog"], 2)
    many = collector.collect(["a dog", "a cat"], 5)
    assert (collector.n_images, collector.n_prompts) == (5, 2)
    assert collector.excluded == {"refused": 5}
    assert (few.clusters.tolist(), many.clusters.tolist()) == ([0, 0], [1] * 5)
    merged = PromptImages.merged([few, many])
    assert merged.prompts == ["a cat", "a dog", "a dog", "a cat"]
    assert merged.clusters.tolist() == [0, 0, 3, 3, 3, 3, 3]
    assert len(merged) == len(merged.embeddings) == len(merged.indices) == 7
