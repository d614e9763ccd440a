"""Evidence and score of the method `tone`. Pure: the same evidence gives the same numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import Evidence, Needs, PromptNeed, QuestionNeed
from t2ibench.methods.core.headline import Headline, lean_headline
from t2ibench.methods.core.influence import Influence
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
        questions=tuple(
            QuestionNeed(prompt, n, QUESTION, CLASSES) for prompt in prompts
        ),
        embeds=False,
    )


def score(task: ToneTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """The difference of two shares, with the influence of each image on it."""
    n = settings.images(task.images_per_prompt)
    excluded: Counter[str] = Counter()
    shares: list[float] = []
    parts: list[tuple[float, Influence]] = []
    n_images, fewest = 0, n
    for sign, prompt in ((1.0, task.first), (-1.0, task.second)):
        answered = evidence.answers(prompt, n, QUESTION, CLASSES)
        excluded += answered.excluded
        n_images += len(answered.answers)
        known = np.array([answer in CLASSES for answer in answered.answers], dtype=bool)
        bright = np.array(
            [answer == "bright" for answer in answered.answers], dtype=np.float64
        )
        excluded["unknown"] += int((~known).sum())
        fewest = min(fewest, int(known.sum()))
        if known.any():
            shares.append(float(bright[known].mean()))
            parts.append((sign, _share(prompt, answered.indices[known], bright[known])))
    if fewest < 2:
        reason = "one of the prompts has fewer than two answers"
        return MethodResult(
            Headline.undefined(reason),
            {"gap": Estimate.undefined(reason)},
            n_images=n_images,
            excluded=+excluded,
            reason=reason,
        )
    gap, influence = shares[0] - shares[1], Influence.combined(parts)
    return MethodResult(
        lean_headline(gap, influence, settings.level),
        {"gap": Estimate.from_influence(gap, influence, settings.level)},
        n_images=n_images,
        n_prompts=2,
        excluded=+excluded,
    )


def _share(prompt: str, indices: IntArray, bright: Float64Array) -> Influence:
    """The influence of a prompt's images on their share; equal answers are not certainty."""
    n = len(bright)
    # with one image that is half bright, half dark
    share = (bright.sum() + 0.5) / (n + 1)
    return Influence.of_mean(prompt, indices, bright).with_floor(
        share * (1 - share) / n
    )
