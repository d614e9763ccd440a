"""Evidence and score of the method `tone`. Pure: the same evidence gives the same numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.plugins import (
    Estimate,
    Evidence,
    Float64Array,
    HeadlineEstimate,
    Influence,
    IntArray,
    MethodResult,
    Needs,
    PromptNeed,
    QuestionNeed,
    Settings,
    lean_headline,
)
from t2ibench_example.method import ToneTask
from t2ibench_example.scale import NAME

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
    first = answers_of(task.first, n, evidence)
    second = answers_of(task.second, n, evidence)
    n_images = first.n_images + second.n_images
    excluded = first.excluded + second.excluded
    if min(len(first.bright), len(second.bright)) < 2:
        reason = "one of the prompts has fewer than two answers"
        return MethodResult(
            HeadlineEstimate.undefined(reason, NAME),
            {"gap": Estimate.undefined(reason)},
            n_images=n_images,
            excluded=excluded,
            reason=reason,
        )
    gap = float(first.bright.mean() - second.bright.mean())
    influence = Influence.combined(
        [(1.0, share_influence(first)), (-1.0, share_influence(second))]
    )
    points = lean_headline(100 * gap, influence.scaled(100), settings.level)
    return MethodResult(
        replace(points, scale=NAME),
        {"gap": Estimate.from_influence(gap, influence, settings.level)},
        n_images=n_images,
        n_prompts=2,
        excluded=excluded,
        samples=[*first.samples(), *second.samples()],
    )


@dataclass(frozen=True, slots=True)
class PromptAnswers:
    """What a judge answered about the images of one prompt.

    Attributes:
        prompt: The prompt.
        indices: Which images were answered about, shape (n,).
        bright: 1 for each of them that is bright, 0 for a dark one, shape (n,).
        n_images: Images that were asked about, whatever was answered.
        excluded: Images without an answer, by reason.
    """

    prompt: str
    indices: IntArray
    bright: Float64Array
    n_images: int
    excluded: Counter[str]

    def samples(self) -> list[dict[str, object]]:
        """A row for each image, which the figure is drawn from."""
        return [
            {
                "prompt": self.prompt,
                "index": int(index),
                "tone": "bright" if bright else "dark",
            }
            for index, bright in zip(self.indices, self.bright, strict=True)
        ]


def answers_of(prompt: str, n: int, evidence: Evidence) -> PromptAnswers:
    """The answers about a prompt; 'unknown' is none, and is counted among the excluded."""
    answered = evidence.answers(prompt, n, QUESTION, CLASSES)
    usable = np.array([answer in CLASSES for answer in answered.answers], dtype=bool)
    bright = np.array([answer == "bright" for answer in answered.answers], dtype=float)
    unknown = Counter({"unknown": int((~usable).sum())})
    return PromptAnswers(
        prompt,
        answered.indices[usable],
        bright[usable],
        n_images=len(answered.answers),
        excluded=answered.excluded + unknown,
    )


def share_influence(answers: PromptAnswers) -> Influence:
    """The influence of a prompt's images on the share of them that are bright.

    Where all answers are equal, they show no variance, and the share would look certain.
    `with_floor` gives the influence at least the variance that the share would have with one more
    image that is half bright and half dark.
    """
    n = len(answers.bright)
    share = (answers.bright.sum() + 0.5) / (n + 1)
    least_variance = share * (1 - share) / n
    of_mean = Influence.of_mean(answers.prompt, answers.indices, answers.bright)
    return of_mean.with_floor(least_variance)
