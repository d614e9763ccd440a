"""Judges whose errors follow what is asked for, or how it is worded.

A judge that expects a nurse to be a woman takes some men for women on images of nurses, and the
other way round on images of mechanics. Models here are fair; what is read is the judge's.

python -m tools.calibration.judge_errors --sets 100 --workers 1
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from t2ibench.arrays import BoolArray
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence
from t2ibench.methods.core.inference import Question
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.occupations.design import group_prompts, needs, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.tibet.needs import needs as tibet_needs
from t2ibench.methods.tibet.schema import TibetTask
from tools.calibration import openbias, outcomes, tibet
from tools.calibration.cells import SETTINGS, Cell, Sample
from tools.calibration.occupations import occupation_task
from tools.calibration.outcomes import Trial
from tools.calibration.worlds import Asked, Scene, Space, WorldEvidence

_SPACE = Space()


@dataclass(frozen=True)
class LabelledEvidence(WorldEvidence):
    """Answers of a judge, and human labels of some of the images.

    Attributes:
        human: Prompt to image to its label.
    """

    human: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, str]:
        """Return human labels of the first n images of a prompt."""
        return {at: name for at, name in self.human[prompt].items() if at < n}

    def judge_check(self) -> JudgeCheck | None:
        """Return None: nobody compared the judge with people elsewhere."""
        return None

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return the judge's answers about the first n images of a prompt."""
        return super().answers(prompt, n, question, classes)

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """Return no embeddings: a judge looked."""
        return ImageEvidence(np.zeros((0, 1)), np.zeros(0, np.int64), Counter())


@dataclass(frozen=True)
class StereotypedAnswers:
    """A model without bias, and a judge that errs toward one class of each caption.

    Attributes:
        task: The task, of one bias of two classes.
        error: Share of the images of the other class that it takes for the caption's own.
        follows: 'caption' where every second caption has the first class, 'wording' where all have.
        lean: Root mean square of the model's own leans; every second caption leans the other way.
        labelled: Images of each caption that people label.
    """

    task: OpenBiasTask
    error: float = 0.0
    follows: str = "caption"
    lean: float = 0.0
    labelled: int = 0

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set; the truth is what people would answer."""
        bias = self.task.biases[0]
        n = self.task.images_per_prompt
        replies: dict[Asked, Sequence[str]] = {}
        human = {}
        for number, caption in enumerate(bias.captions or ()):
            sign = -1.0 if number % 2 else 1.0
            is_second = rng.random(n) >= (1 + sign * self.lean) / 2
            toward_second = number % 2 == 1 and self.follows == "caption"
            answered = _answered(
                rng, is_second, self.error, toward_second=toward_second
            )
            names = [bias.classes[int(code)] for code in answered]
            replies[caption, bias.question, bias.classes] = names
            human[caption] = {
                at: bias.classes[int(is_second[at])] for at in range(self.labelled)
            }
        truth = self.lean**2
        evidence = LabelledEvidence(replies=replies, human=human)
        return Sample(evidence, {"fixed_prompts": truth, "prompt_population": truth})


def _answered(
    rng: np.random.Generator, shown: BoolArray, error: float, *, toward_second: bool
) -> BoolArray:
    """Return answers about images that show the second class, wrong toward one class."""
    is_wrong = (shown != toward_second) & (rng.random(len(shown)) < error)
    return np.where(is_wrong, toward_second, shown)


@dataclass(frozen=True)
class StereotypedComparison:
    """Prompts with counterfactuals, and a judge that errs toward one class of each prompt.

    Attributes:
        task: The task, of one axis of two counterfactuals.
        error: Share of the images of the other class that it takes for the prompt's own.
        plain_alone: Whether it errs about the plain prompt's images alone, because of how they are
            worded, and not about those of its counterfactuals.
    """

    task: TibetTask
    error: float = 0.0
    plain_alone: bool = False

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set of a model without bias."""
        second_share = {}
        toward_second = {}
        erring = {}
        for number, target in enumerate(self.task.prompts):
            (axis,) = target.axes
            asked = [target.prompt, *(other.prompt for other in axis.counterfactuals)]
            for prompt, share in zip(asked, (0.5, 0.0, 1.0), strict=True):
                second_share[prompt] = share
                toward_second[prompt] = number % 2 == 1
                is_plain = prompt == target.prompt
                erring[prompt] = self.error if is_plain or not self.plain_alone else 0.0
        replies: dict[Asked, Sequence[str]] = {}
        for need in tibet_needs(self.task, SETTINGS).questions:
            shown = rng.random(need.images) < second_share[need.prompt]
            answered = _answered(
                rng,
                shown,
                erring[need.prompt],
                toward_second=toward_second[need.prompt],
            )
            words = [tibet.WORDS[int(code)] for code in answered]
            replies[need.prompt, need.question, need.classes] = words
        rows = {
            f"{target.prompt} | {axis.name}": 0.0
            for target in self.task.prompts
            for axis in target.axes
        }
        truth: dict[Question, float] = {"fixed_prompts": 0.0, "prompt_population": 0.0}
        return Sample(WorldEvidence(replies=replies), truth, rows)


@dataclass(frozen=True)
class StereotypedCheck:
    """Occupations whose guided images a judge checks, which errs toward one group of each.

    Attributes:
        task: The task.
        error: Share of the guided images of the other group that it takes for the occupation's own.
        by_looks: Whether those are the images that look most like the other group, and not any.
        ignored: Share of the guided images of the group that an occupation is not known for that
            show either group alike.
        lean: Root mean square of the model's leans.
        space: Where embeddings lie.
    """

    task: OccupationsTask
    error: float = 0.0
    by_looks: bool = False
    ignored: float = 0.0
    lean: float = 0.0
    space: Space = _SPACE

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set."""
        names = self.task.concept.names
        n, m = self.task.image_counts(SETTINGS)
        scenes = []
        texts = {}
        leans = {}
        against = {}
        for number, name in enumerate(names):
            sign = -1.0 if number % 2 else 1.0
            leans[name] = sign * self.lean
            for prompt in neutral_prompts(self.task, name):
                scenes.append(Scene(prompt, n, name, leans[name]))
                texts[prompt] = (name, 0.0)
            for group, side in zip(self.task.groups, (1.0, -1.0), strict=True):
                lost = self.ignored if side == -sign else 0.0
                for prompt in group_prompts(self.task, name, group):
                    shown = side * (1 - lost)
                    scenes.append(Scene(prompt, m, name, shown, asked=side))
                    texts[prompt] = (name, side)
                    against[prompt] = side == -sign
        checks = needs(self.task, SETTINGS).checks
        evidence = self.space.evidence(rng, scenes, texts, checks)
        replies = {
            asked: self._answers(rng, evidence, asked, answers, against[asked[0]])
            for asked, answers in evidence.replies.items()
        }
        truth = float(np.mean(np.square(list(leans.values()))))
        return Sample(
            replace(evidence, replies=replies), {"fixed_prompts": truth}, leans
        )

    def _answers(
        self,
        rng: np.random.Generator,
        evidence: WorldEvidence,
        asked: Asked,
        shown: Sequence[str],
        is_against: bool,
    ) -> list[str]:
        """Return the judge's answers: errors are about the group that it does not expect alone."""
        prompt, _, classes = asked
        if not is_against:
            return list(shown)
        group = next(name for name in classes if f" {name} " in f" {prompt} ")
        (expected,) = (name for name in classes if name != group)
        chance = rng.random(len(shown))
        is_wrong = chance < self.error
        if self.by_looks:
            other = prompt.replace(f" {group} ", f" {expected} ")
            own_mean = evidence.embeddings[prompt].mean(axis=0)
            direction = own_mean - evidence.embeddings[other].mean(axis=0)
            places = evidence.embeddings[prompt] @ direction
            is_wrong = places < np.quantile(places, self.error)
        return [
            expected if wrong else answer
            for answer, wrong in zip(shown, is_wrong, strict=True)
        ]


def _openbias(
    name: str, size: tuple[int, int], score_name: str | None = None, **world: object
) -> Trial:
    task = openbias.simple_task(*size)
    captions, n = size
    cell = Cell(
        f"OpenBias: {name}; {captions} captions of {n} images",
        task,
        StereotypedAnswers(task, **world),  # type: ignore[arg-type]
    )
    truth = float(cell.world.lean) ** 2  # type: ignore[union-attr]
    return Trial(cell, score_name=score_name, truth=truth)


def _tibet(name: str, n: int, error: float, *, plain_alone: bool = False) -> Trial:
    task = tibet.simple_task(8, n)
    world = StereotypedComparison(task, error, plain_alone)
    name = f"TIBET: {name}; 8 prompts of {n} images"
    return Trial(Cell(name, task, world, row_score="lean"))


def _checked(name: str, size: tuple[int, int, int], **world: object) -> Trial:
    task = occupation_task(*size, judged=True)
    k, n, m = size
    cell = Cell(
        f"occupations: {name}; {k} stimuli, {n} and {m} images",
        task,
        StereotypedCheck(task, **world),  # type: ignore[arg-type]
        row_score="lean",
    )
    return Trial(cell)


def trials() -> list[Trial]:
    """Return judges that err toward one class of each prompt, in every judged family."""
    core, many = (12, 16, 8), (12, 40, 20)
    corrected = "squared_lean_corrected"
    by_caption = "a judge errs .2 by caption"
    alike = "a judge errs .2 toward one class"
    looks = "errs .2 by looks"
    return [
        _openbias(f"fair, {by_caption}", (10, 10), error=0.2),
        _openbias(f"fair, {by_caption}", (10, 40), error=0.2),
        _openbias(f"fair, {alike}", (10, 40), error=0.2, follows="wording"),
        _openbias(
            f"fair, {by_caption}, corrected by 25 labels of each",
            (10, 40),
            corrected,
            error=0.2,
            labelled=25,
        ),
        _openbias(
            f"fair, {alike}, corrected by 25 labels of each",
            (10, 40),
            corrected,
            error=0.2,
            follows="wording",
            labelled=25,
        ),
        _openbias(
            f"lean .4, {alike}, corrected by 25 labels of each",
            (10, 40),
            corrected,
            error=0.2,
            follows="wording",
            lean=0.4,
            labelled=25,
        ),
        _tibet("fair, errs .2 by prompt", 10, 0.2),
        _tibet("fair, errs .2 by prompt", 40, 0.2),
        _tibet("fair, errs .2 about plain prompts alone", 10, 0.2, plain_alone=True),
        _tibet("fair, errs .2 about plain prompts alone", 40, 0.2, plain_alone=True),
        _checked("fair, a judge without errors", many),
        _checked("fair, errs .2 by stimulus", core, error=0.2),
        _checked("fair, errs .2 by stimulus", many, error=0.2),
        _checked("fair, errs .2 by stimulus, .3 ignored", many, error=0.2, ignored=0.3),
        _checked(f"fair, {looks}", core, error=0.2, by_looks=True),
        _checked(f"fair, {looks}", many, error=0.2, by_looks=True),
        _checked(f"lean .5, {looks}", many, error=0.2, by_looks=True, lean=0.5),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    return outcomes.main(trials(), "judge_errors", __doc__ or "", argv)


if __name__ == "__main__":
    from tools.calibration import (
        judge_errors,  # by its name, so that other processes find it
    )

    sys.exit(judge_errors.main())
