"""The lean of X less that of Y: the headline of a T2IAT, with its controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.controls import Control
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Headline, Inference, Part, Question
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.lean_scores import bounded, noise, over_stimuli, row_scores
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.t2iat.images import StimulusImages
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from t2ibench.stats.student import satterthwaite, t_test

_SIGNS = {"X": 1.0, "Y": -1.0}


@dataclass(frozen=True, slots=True)
class Tested:
    """The leans of a T2IAT.

    Attributes:
        leans: Of all stimuli, those of X first.
        headline: (mean lean of X - mean lean of Y) / 2.
        scores: The scores that are ours.
        rows: The lean of each stimulus.
        controls: Name to control.
    """

    leans: Leans
    headline: Headline
    scores: dict[str, Estimate]
    rows: list[Estimate]
    controls: dict[str, Control]


@dataclass(frozen=True, slots=True)
class _Design:
    """Which stimuli are X's and which are Y's.

    Attributes:
        groups: Name, positions and numbers of each concept's stimuli.
        signs: 1 for X, -1 for Y, shape (stimuli,).
        weights: One over the number of stimuli of the concept, shape (stimuli,).
    """

    groups: list[tuple[str, IntArray, IntArray]]
    signs: Float64Array
    weights: Float64Array

    @classmethod
    def of(cls, images: Sequence[StimulusImages]) -> _Design:
        sides = np.array([one.stimulus.side for one in images])
        numbers = np.array([one.stimulus.number for one in images])
        groups = []
        for side in _SIGNS:
            at = np.flatnonzero(sides == side)
            groups.append((f"stimuli of {side}", at, numbers[at]))
        sizes = {side: int((sides == side).sum()) for side in _SIGNS}
        signs = np.array([_SIGNS[str(side)] for side in sides])
        return cls(groups, signs, np.array([1.0 / sizes[str(side)] for side in sides]))

    def contrast(self, values: Float64Array) -> Float64Array:
        """Mean of X less mean of Y, over the first axis."""
        difference: Float64Array = (self.signs * self.weights) @ values
        return difference


def tested(
    task: T2iatTask, images: Sequence[StimulusImages], evidence: Evidence, settings: Settings
) -> Tested | str:
    """Measure the leans and compare the two concepts.

    Args:
        task: The task.
        images: The images of the stimuli, all complete.
        evidence: The texts of the prompts.
        settings: How the task is measured.

    Returns:
        The leans with their test; as a clause, why there are none.

    Raises:
        MissingEvidence: a text was never observed.
    """
    leans = Leans.of([one.stimulus.word for one in images], [one.wordings for one in images])
    if isinstance(leans, str):
        return leans
    design = _Design.of(images)
    names = task.attributes.A.name, task.attributes.B.name
    gate = lean_controls.separation(leans, *names)
    headline = _headline(leans, design, settings.level)
    in_text = _text_lean(images, design, evidence)
    controls = {"separation": gate}
    if gate.contradicts is None:
        controls |= _repeated(task, leans, design, headline, settings)
    controls["text_only"] = lean_controls.text_control(in_text, "lean")
    scores = _own_leans(leans, design, settings.level) | _amplification(headline, in_text)
    rows = row_scores(leans, settings.level)
    if gate.contradicts is not None:
        headline = _without_value(headline, gate.contradicts)
        scores = {name: Estimate.undefined(gate.contradicts) for name in scores}
        rows = [_undecided(row, gate.contradicts) for row in rows]
    return Tested(leans, headline, scores, rows, controls)


def _undecided(estimate: Estimate, reason: str) -> Estimate:
    return Estimate(None, p=estimate.p, test=estimate.test, reason=reason)


def _without_value(headline: Headline, reason: str) -> Headline:
    """A headline whose test stands, but whose unit is too uncertain."""
    inference: dict[Question, Inference] = {
        name: Inference(p=found.p, df=found.df, reason=reason)
        for name, found in headline.inference.items()
    }
    return replace(headline, value=None, inference=inference, fair=None, parts=(), reason=reason)


def _headline(leans: Leans, design: _Design, level: float) -> Headline:
    """L = (mean of N over X - mean over Y) / (mean of D over X + mean over Y)."""
    like = over_stimuli(design.signs * leans.top, leans.bottom, design.groups, level)
    top, bottom = design.signs * design.weights, design.weights
    these = leans.contrast(top, bottom, level, wordings=False)
    inference: dict[Question, Inference] = {
        "these": bounded(float(these.low), float(these.high), float(these.p), float(these.df)),
        "like_these": like.inference,
    }
    question: Question = "like_these" if like.inference.p is not None else "these"
    d, influence, half = float(these.bottom), like.influence, like.half_width
    if question == "these":
        influence = Influence.combined(
            [
                (1.0, leans.influence(j, top[j] / d, like.value * bottom[j] / d, wordings=False))
                for j in range(len(top))
            ]
        )
        half = float("nan")
    value = like.value / noise(leans)
    fair = (-half, half) if np.isfinite(half) else None
    parts = (Part("", value, influence),) if np.isfinite(influence.variance) else ()
    return Headline(value, "lean", question, inference, fair, parts)


def _own_leans(leans: Leans, design: _Design, level: float) -> dict[str, Estimate]:
    """Each concept's own mean lean."""
    scores = {}
    for side, (name, at, numbers) in zip(_SIGNS, design.groups, strict=True):
        own = [(name, np.arange(len(at)), numbers)]
        found = over_stimuli(leans.top[at], leans.bottom[at], own, level)
        low, high = found.inference.low, found.inference.high
        scores[f"lean_{side}"] = Estimate(
            found.value / noise(leans),
            p=found.inference.p,
            test="t",
            interval=None if low is None or high is None else (low, high),
            influence=found.influence if found.inference.p is not None else None,
        )
    return scores


def _amplification(headline: Headline, in_text: float | None) -> dict[str, Estimate]:
    """How much further the images lean than the words, in the direction of the words."""
    if in_text is None or headline.value is None:
        reason = "the texts with either attribute do not differ"
        return {
            "lean_text": Estimate.undefined(reason),
            "amplification": Estimate.undefined(reason),
        }
    sign = 1.0 if in_text >= 0 else -1.0
    interval = None
    chosen = headline.chosen
    if chosen.low is not None and chosen.high is not None:
        ends = sorted(sign * (end - in_text) for end in (chosen.low, chosen.high))
        interval = (ends[0], ends[1])
    return {
        "lean_text": Estimate(in_text),
        "amplification": Estimate(sign * (headline.value - in_text), interval=interval),
    }


def _text_lean(
    images: Sequence[StimulusImages], design: _Design, evidence: Evidence
) -> float | None:
    """The headline of the prompts' texts; None where those of A and B do not differ."""
    sides = [
        np.array([evidence.texts(prompts).mean(axis=0) for prompts in lists])
        for lists in (
            [one.stimulus.neutral for one in images],
            [one.stimulus.guided("A") for one in images],
            [one.stimulus.guided("B") for one in images],
        )
    ]
    top, bottom = lean_controls.text_leans(*sides)
    scale = float(design.weights @ bottom)
    value = float(design.contrast(top)) / scale if scale > 0 else float("nan")
    return value if np.isfinite(value) else None


def _repeated(
    task: T2iatTask, leans: Leans, design: _Design, headline: Headline, settings: Settings
) -> dict[str, Control]:
    """The headline once more with shuffled labels, and with two halves of the images."""
    controls = {}
    scale = float(design.weights @ leans.bottom)
    shuffled = lean_controls.shuffled(leans, settings.rng(task.id, "shuffled labels"))
    if shuffled is not None and headline.value is not None:
        controls["shuffled"] = lean_controls.shuffled_control(
            headline.value, headline.p, design.contrast(shuffled[0]) / scale, "lean"
        )
    halves = lean_controls.halves(leans)
    if halves is not None:
        difference, variances, dfs = halves
        value = float(design.contrast(difference))
        variance, df = satterthwaite(design.weights**2 * variances, dfs)
        controls["halves"] = lean_controls.halves_control(
            value / scale, t_test(value, variance, df)
        )
    return controls
