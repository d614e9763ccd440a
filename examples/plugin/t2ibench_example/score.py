"""Evidence and score of the method `tone`. Pure: the same evidence gives the same numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.needs import Needs, PromptNeed, QuestionNeed
from t2ibench.settings import Settings
from t2ibench_example.method import ToneTask

QUESTION = "Is the image bright or dark?"
CLASSES = ("bright", "dark")


def needs(task: ToneTask, settings: Settings) -> Needs:
    """Images of both prompts, and a judge's answer about each."""
    n = settings.images(task.images_per_prompt)
    prompts = (task.first, task.second)
    return Needs(
        prompts=tuple(PromptNeed(prompt, n) for prompt in prompts),
        questions=tuple(QuestionNeed(prompt, n, QUESTION, CLASSES) for prompt in prompts),
        embeds=False,
    )


def score(task: ToneTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """The difference of two shares, with a bootstrap and a permutation null."""
    n = settings.images(task.images_per_prompt)
    excluded: Counter[str] = Counter()
    sides: list[Float64Array] = []
    n_images = 0
    for prompt in (task.first, task.second):
        answered = evidence.answers(prompt, n, QUESTION, CLASSES)
        excluded += answered.excluded
        n_images += len(answered.answers)
        known = [answer for answer in answered.answers if answer in CLASSES]
        excluded["unknown"] += len(answered.answers) - len(known)
        sides.append(np.array([answer == "bright" for answer in known], dtype=np.float64))
    a, b = sides
    if not (len(a) and len(b)):
        reason = "one of the prompts has no answers"
        undefined = Estimate.undefined(reason)
        return MethodResult(
            undefined, {"gap": undefined}, n_images=n_images, excluded=+excluded, reason=reason
        )
    rng = settings.rng(task.id, "tone")
    gap = float(a.mean() - b.mean())
    boot = np.array(
        [
            rng.choice(a, len(a)).mean() - rng.choice(b, len(b)).mean()
            for _ in range(settings.n_bootstrap)
        ]
    )
    null = np.empty(settings.n_permutations)
    both = np.concatenate([a, b])
    for number in range(len(null)):
        rng.shuffle(both)
        null[number] = both[: len(a)].mean() - both[len(a) :].mean()
    p = float((1 + np.sum(np.abs(null) >= abs(gap) - 1e-12)) / (1 + len(null)))
    estimate = Estimate(gap, boot=boot, null=null, p=p, test="monte_carlo", signed=True)
    return MethodResult(
        estimate,
        {"gap": Estimate(gap, boot=boot, null=null, p=p, test="monte_carlo")},
        n_images=n_images,
        n_prompts=2,
        excluded=+excluded,
    )
