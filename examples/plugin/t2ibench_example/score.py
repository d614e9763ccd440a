"""Evidence and score of the method `tone`. Pure: the same evidence gives the same numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.needs import Needs, PromptNeed, QuestionNeed
from t2ibench.settings import Settings
from t2ibench_example.method import ToneTask

QUESTION = "Is the image bright or dark?"
CLASSES = ("bright", "dark")
FloatArray = npt.NDArray[np.float64]


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
    sides: list[FloatArray] = []
    for prompt in (task.first, task.second):
        found = evidence.answers(prompt, n, QUESTION, CLASSES)
        excluded += found.excluded
        known = [answer for answer in found.answers if answer in CLASSES]
        excluded["unknown"] += len(found.answers) - len(known)
        sides.append(np.array([answer == "bright" for answer in known], dtype=np.float64))
    a, b = sides
    if not (len(a) and len(b)):
        reason = "one of the prompts has no answers"
        return MethodResult(Estimate(None, reason=reason), reason=reason, excluded=+excluded)
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
        n_images=len(both),
        n_prompts=2,
        excluded=+excluded,
    )
