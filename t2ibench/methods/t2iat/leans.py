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
from t2ibench.methods.core.lean_scores import bounded, row_scores
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.wording_report import WordingReport, wording_report
from t2ibench.methods.core.wording_scores import Cells, over_stimuli_and_wordings
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
        wording: What the wordings do; None with a single one.
    """

    leans: Leans
    headline: Headline
    scores: dict[str, Estimate]
    rows: list[Estimate]
    controls: dict[str, Control]
    wording: WordingReport | None


@dataclass(frozen=True, slots=True)
class _Design:
    """Which stimuli are X's and which are Y's.

    Attributes:
        groups: Name, positions and numbers of each concept's stimuli.
        signs: 1 for X, -1 for Y, shape (stimuli,).
        means: The mean over the concept of each stimulus, as weights, shape (stimuli, stimuli).
    """

    groups: list[tuple[str, IntArray, IntArray]]
    signs: Float64Array
    means: Float64Array

    @classmethod
    def of(cls, images: Sequence[StimulusImages]) -> _Design:
        sides = np.array([one.stimulus.side for one in images])
        numbers = np.array([one.stimulus.number for one in images])
        groups = []
        for side in _SIGNS:
            at = np.flatnonzero(sides == side)
            groups.append((f"stimuli of {side}", at, numbers[at]))
        same = (sides[:, None] == sides).astype(np.float64)
        signs = np.array([_SIGNS[str(side)] for side in sides])
        return cls(groups, signs, same / same.sum(axis=1))

    def weights(self, bottom: Float64Array) -> Float64Array:
        """1 / (stimuli of the concept x mean of D over them), shape (stimuli,)."""
        weights: Float64Array = np.diag(self.means) / (self.means @ bottom)
        return weights

    def lean(self, top: Float64Array, bottom: Float64Array) -> Float64Array:
        """Half the difference of the mean leans: of shape top.shape[1:]."""
        difference: Float64Array = (self.signs * self.weights(bottom)) @ top / 2
        return difference


@np.errstate(divide="ignore", invalid="ignore")  # images that are all alike have no direction
def tested(
    task: T2iatTask, images: Sequence[StimulusImages], evidence: Evidence, settings: Settings
) -> Tested | str:
    """Measure the leans and compare the two concepts."""
    leans = Leans.of([one.stimulus.word for one in images], [one.wordings for one in images])
    if isinstance(leans, str):
        return leans
    design = _Design.of(images)
    names = task.attributes.A.name, task.attributes.B.name
    gate = lean_controls.separation(leans, *names, [at for _, at, _ in design.groups])
    cells = Cells.of(leans)
    headline = _headline(leans, cells, design, settings.level)
    in_text = _text_lean(images, design, evidence)
    controls = {"separation": gate}
    if gate.contradicts is None:
        controls |= _repeated(task, leans, design, headline, settings)
    controls["text_only"] = lean_controls.text_control(in_text, "lean")
    scores = _own_leans(leans, cells, design, settings.level) | _amplification(headline, in_text)
    rows = row_scores(leans, settings.level)
    if gate.contradicts is not None:
        # The test stands, but its unit is too uncertain.
        inference: dict[Question, Inference] = {
            name: Inference(p=found.p, df=found.df, reason=gate.contradicts)
            for name, found in headline.inference.items()
        }
        headline = replace(
            headline, value=None, inference=inference, fair=None, parts=(), reason=gate.contradicts
        )
        scores = {name: Estimate.undefined(gate.contradicts) for name in scores}
        rows = [Estimate(None, p=row.p, test=row.test, reason=gate.contradicts) for row in rows]
    wording = None
    if gate.contradicts is None:
        top, bottom = _signed(leans, cells, design)
        wording = wording_report(
            leans,
            cells,
            task.prompts.wordings,
            design.groups,
            (top, bottom),
            lambda one: _headline(one, Cells.of(one), design, settings.level),
        )
    return Tested(leans, headline, scores, rows, controls, wording)


def _signed(leans: Leans, cells: Cells, design: _Design) -> tuple[Float64Array, Float64Array]:
    """Numerator and denominator of the headline by stimulus and wording, before their sums."""
    unit = design.weights(leans.bottom)
    middle = float(unit @ leans.top) / 2
    scaled = (unit / np.diag(design.means))[:, None]
    signs = design.signs[:, None]
    return signs * (cells.top - middle * cells.bottom) * scaled, cells.bottom * scaled


def _headline(leans: Leans, cells: Cells, design: _Design, level: float) -> Headline:
    """L = (mean of N over X / mean of D over X - the same of Y) / 2.

    With the middle c of both leans, L is a ratio of sums: of s (N - c D) and of D, each over the
    mean of D over its concept, where s is 1 for X and -1 for Y. So what both lean by cancels, even
    where the encoder tells A from B better in X than in Y.
    """
    top, bottom = leans.top, leans.bottom
    unit = design.weights(bottom)
    middle = float(unit @ top) / 2
    like = over_stimuli_and_wordings(*_signed(leans, cells, design), design.groups, level)
    signed = design.signs * unit
    these = leans.contrast(signed, unit, level, middle * signed, wordings=False)
    inference: dict[Question, Inference] = {
        "these": bounded(float(these.low), float(these.high), float(these.p), float(these.df)),
        "like_these": like.inference,
    }
    question: Question = "like_these" if like.inference.p is not None else "these"
    moved = middle * signed + like.value * unit
    of_images = Influence.combined(
        [(0.5, leans.influence(j, signed[j], moved[j], wordings=False)) for j in range(len(unit))]
    )
    influence, half = like.influence, like.half_width
    others: dict[Question, Influence] = {"these": of_images}
    if question == "these":
        influence, half, others = of_images, float("nan"), {}
    value = like.value / _noise(leans)
    fair = (-half, half) if np.isfinite(half) else None
    parts = (Part("", value, influence),) if np.isfinite(influence.variance) else ()
    return Headline(value, "lean", question, inference, fair, parts, others=others)


def _noise(leans: Leans) -> float:
    """The factor by which the noise of D enlarges L: that of one concept's mean of D."""
    return 1.0 + 1.5 / leans.separation**2


def _own_leans(leans: Leans, cells: Cells, design: _Design, level: float) -> dict[str, Estimate]:
    """Each concept's own mean lean."""
    scores = {}
    for side, (name, at, numbers) in zip(_SIGNS, design.groups, strict=True):
        own = [(name, np.arange(len(at)), numbers)]
        found = over_stimuli_and_wordings(cells.top[at], cells.bottom[at], own, level)
        scores[f"lean_{side}"] = Estimate(
            found.value / _noise(leans),
            p=found.inference.p,
            test="t",
            interval=found.inference.interval,
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
    if headline.chosen.interval is not None:
        ends = sorted(sign * (end - in_text) for end in headline.chosen.interval)
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
    if not (design.means @ bottom > 0).all():
        return None
    return float(design.lean(top, bottom))


def _repeated(
    task: T2iatTask, leans: Leans, design: _Design, headline: Headline, settings: Settings
) -> dict[str, Control]:
    """The headline once more with shuffled labels, and with two halves of the images."""
    controls = {}
    shuffled = lean_controls.shuffled(leans, settings.rng(task.id, "shuffled labels"))
    if shuffled is not None and headline.value is not None:
        controls["shuffled"] = lean_controls.shuffled_control(
            headline.value, headline.p, design.lean(shuffled[0], leans.bottom), "lean"
        )
    halves = lean_controls.halves(leans)
    if halves is not None:
        difference, variances, dfs = halves
        value = float(design.lean(difference, leans.bottom))
        variance, df = satterthwaite(design.weights(leans.bottom) ** 2 / 4 * variances, dfs)
        controls["halves"] = lean_controls.halves_control(value, t_test(value, variance, df))
    return controls
