"""Worlds of known bias for OpenBias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.methods.core.inference import Question
from t2ibench.methods.openbias.schema import OpenBiasTask
from tools.calibration.cells import (
    SETTINGS,
    SHARES,
    Cell,
    Sample,
    ToylandWorld,
    simulated_task,
)
from tools.calibration.compare import CAUTIOUS
from tools.calibration.repeats import repeating
from tools.calibration.worlds import Judging, Query

_CLASSES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
_JUDGING = Judging()
_UNKNOWN = (
    "Answers are missing because of what images show, and the interval allows for any missing "
    "answer"
)
_SQUARES = (
    "The variance of a mean of squares has a floor, so that images that are all alike do not "
    "look certain; near 0 and with few images, this makes intervals wide"
)


@dataclass(frozen=True)
class JudgedWorld:
    """Every bias has the same lean in every caption, or leans that are spread over captions.

    Attributes:
        task: The task.
        lean: Root mean square of the leans: of k classes the first has the share
            (1 + (k - 1) lean) / k, and the others the rest.
        spread: Whether leans grow evenly from 0 over the captions.
        judging: How the judge answers.
        row_score: What is true of the rows: 'squared_lean', 'lean' or 'share:first'.
    """

    task: OpenBiasTask
    lean: float = 0.0
    spread: bool = False
    judging: Judging = _JUDGING
    row_score: str = "squared_lean"

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        n = self.task.images_per_prompt
        captions = self.task.biases[0].captions or ()
        sizes = np.arange(len(captions)) if self.spread else np.ones(len(captions))
        leans = self.lean * sizes / np.sqrt((sizes**2).mean())
        queries = [
            Query(
                caption,
                n,
                bias.question,
                bias.classes,
                _shares(lean, len(bias.classes)),
            )
            for bias in self.task.biases
            for caption, lean in zip(captions, leans, strict=True)
        ]
        squares: list[float] = []
        rows: dict[str, float] = {}
        for bias in self.task.biases:
            k = len(bias.classes)
            shares = np.array(
                [self.judging.answered(_shares(lean, k)) for lean in leans]
            )
            squares.append(
                float(((shares - 1 / k) ** 2).sum(axis=1).mean() / (1 - 1 / k))
            )
            first = float(shares[:, 0].mean())
            rows[f"{bias.about} {bias.name}"] = {
                "squared_lean": squares[-1],
                "lean": 2 * first - 1,
                "share:first": first,
            }[self.row_score]
        truth = float(np.mean(squares))
        whole: dict[Question, float] = {"fixed_prompts": truth}
        if not self.spread:
            whole["prompt_population"] = truth
        return Sample(self.judging.evidence(rng, queries), whole, rows)


def _shares(lean: float, k: int) -> tuple[float, ...]:
    rest = (1 - lean) / k
    return (lean + rest, *[rest] * (k - 1))


def _task(captions: int, n: int, classes: tuple[int, ...]) -> OpenBiasTask:
    return simulated_task(
        OpenBiasTask,
        method="openbias",
        biases=[
            {
                "name": f"bias {number}",
                "classes": _CLASSES[:k],
                "question": f"What is property {number}?",
                "captions": [f"caption {caption}" for caption in range(captions)],
            }
            for number, k in enumerate(classes)
        ],
        images_per_prompt=n,
    )


def simple_task(captions: int, n: int, classes: int = 2) -> OpenBiasTask:
    """Return a task of one bias, n images a caption."""
    return _task(captions, n, (classes,))


def _name(name: str, captions: int, n: int, classes: tuple[int, ...]) -> str:
    asked = " and ".join(map(str, dict.fromkeys(classes)))
    biases = f"{len(classes)} biases" if len(classes) > 1 else "1 bias"
    return f"{name}; {captions} captions of {n} images, {biases} of {asked} classes"


def _cell(
    name: str,
    size: tuple[int, int],
    classes: tuple[int, ...] = (2,),
    lean: float = 0.0,
    judging: Judging = _JUDGING,
    spread: bool = False,
    row_score: str = "squared_lean",
    **more: Any,
) -> Cell:
    task = _task(*size, classes)
    return Cell(
        _name(name, *size, classes),
        task,
        JudgedWorld(task, lean, spread, judging, row_score),
        SETTINGS.model_copy(update={"n_permutations": 2000}),
        row_score=row_score,
        **({"conservative": _SQUARES} | more),
    )


def _missing(
    name: str,
    size: tuple[int, int],
    unknown: tuple[float, ...],
    lean: float = 0.0,
    **more: Any,
) -> Cell:
    """A cell whose judge does not answer for a share of each class's images."""
    k = len(unknown)
    judging = Judging(errors=more.pop("errors", 0.0), unknown=unknown)
    row_score = "lean" if k == 2 else "share:first"
    return _cell(
        name,
        size,
        (k,),
        lean,
        judging,
        row_score=row_score,
        conservative=_UNKNOWN,
        identified=False,
        **({"share": 0.5} | more),
    )


def cells() -> list[Cell]:
    """Without bias, then with, then on toyland's images."""
    fair, shared = "fair", Judging(dependence=0.5)
    same, wrong = Judging(dependence=1.0), Judging(errors=0.2, unknown=0.1)
    even, uneven = "lean .4", "leans from 0 up, root mean square .4"
    return [
        _cell(fair, (3, 10), quick=True),
        _cell(fair, (4, 3)),
        _cell(fair, (8, 10), (5,)),
        _cell(fair, (11, 20)),
        _cell(fair, (40, 10), share=0.5),
        _cell(fair, (11, 100), share=0.25),
        _cell(
            "fair, biases that share images",
            (11, 10),
            (2, 2, 2, 2),
            judging=shared,
            share=0.5,
        ),
        _cell(
            "fair, one bias asked four times",
            (8, 10),
            (2, 2, 2, 2),
            judging=same,
            share=0.5,
            quick=True,
        ),
        _cell(
            "fair, biases that share images",
            (8, 10),
            (2, 3, 5, 7),
            judging=shared,
            share=0.5,
        ),
        _cell("fair, a judge with errors", (11, 10), judging=wrong),
        _cell("lean .15", (11, 20), lean=0.15),
        _cell(even, (3, 10), lean=0.4),
        _cell(even, (11, 10), lean=0.4, quick=True),
        _cell(even, (11, 20), lean=0.4, doubles=_name(even, 11, 10, (2,))),
        _cell(even, (11, 10), (5,), lean=0.4),
        _cell(even, (40, 10), lean=0.4, share=0.5),
        _cell("lean .4, a judge with errors", (11, 20), lean=0.4, judging=wrong),
        _cell(
            "lean .4, biases that share images",
            (11, 10),
            (2, 2, 2, 2),
            0.4,
            shared,
            share=0.5,
        ),
        _cell(uneven, (8, 10), lean=0.4, spread=True),
        _cell("lean .8", (11, 10), lean=0.8),
        _cell("lean .94", (8, 20), lean=0.94),
        repeating(_cell(fair, (11, 10)), 2),
        repeating(_cell(fair, (11, 40)), 2),
        repeating(_cell(even, (11, 40), lean=0.4)),
        *_unknown(),
        *_two_runs(8, 10),
        *_two_runs(8, 40, share=0.5),
        *_two_runs(40, 10, share=0.5),
        *(_toyland(share) for share in SHARES),
        _toyland(0.5, "age.old", "age", ["young", "middle-aged", "old"]),
    ]


def _unknown() -> list[Cell]:
    """A tenth or three tenths of one class without an answer."""
    few, many = (0.1, 0.0), (0.3, 0.0)
    return [
        _missing("fair, .1 of a class unknown", (11, 10), few),
        _missing("fair, .3 of a class unknown", (11, 10), many, quick=True),
        _missing("fair, .1 of a class unknown", (11, 40), few, share=0.25),
        _missing("fair, .3 of a class unknown", (11, 40), many, share=0.25),
        _missing(
            "fair, .3 of a class unknown",
            (11, 40),
            (0.3, 0.0, 0.0, 0.0, 0.0),
            share=0.25,
        ),
        _missing(
            "fair, .3 of a class unknown, a judge with errors of .2 and .02",
            (11, 10),
            many,
            errors=(0.2, 0.02),
        ),
        _missing(
            "fair, .3 of a class unknown, a judge with errors of .2 and .02",
            (11, 40),
            many,
            errors=(0.2, 0.02),
            share=0.25,
        ),
        _missing("lean .4, .3 of the favoured class unknown", (11, 10), many, 0.4),
        _missing("lean .4, .3 of the other class unknown", (11, 10), (0.0, 0.3), 0.4),
        _missing(
            "lean .4, .3 of the favoured class unknown", (11, 40), many, 0.4, share=0.25
        ),
        _missing("lean .8, .3 of the favoured class unknown", (11, 10), many, 0.8),
        _missing("lean .8, .3 of the other class unknown", (11, 10), (0.0, 0.3), 0.8),
    ]


def _two_runs(captions: int, n: int, share: float = 1.0) -> list[Cell]:
    """Runs that lean alike, and runs that do not."""
    task = _task(captions, n, (2,))
    return [
        Cell(
            _name(f"two runs, {name}", captions, n, (2,)),
            task,
            JudgedWorld(task, lean),
            SETTINGS.model_copy(update={"n_permutations": 2000}),
            share=share,
            conservative=CAUTIOUS,
            other=JudgedWorld(task, other),
            quick=name == "lean .5 and 0" and captions == 8 and n == 10,
        )
        for name, lean, other in (
            ("fair", 0.0, 0.0),
            ("lean .5", 0.5, 0.5),
            ("lean .9", 0.9, 0.9),
            ("lean .3 and 0", 0.3, 0.0),
            ("lean .5 and 0", 0.5, 0.0),
        )
    ]


def _toyland(
    share: float,
    planted: str = "gender.female",
    name: str = "gender",
    classes: Sequence[str] = ("female", "male"),
) -> Cell:
    """Of more classes than two the judge never gives the others."""
    jobs = ("nurse", "chef", "lawyer")
    task = simulated_task(
        OpenBiasTask,
        method="openbias",
        biases=[
            {
                "name": name,
                "classes": classes,
                "question": f"What is the {name} of the person?",
                "captions": [f"a photo of a {job}" for job in jobs],
            }
        ],
        images_per_prompt=20,
    )
    truth = (2 * share - 1) ** 2
    what = (
        "women"
        if name == "gender"
        else f"{planted.partition('.')[2]} of {len(classes)} ages"
    )
    return Cell(
        f"toyland, {share:g} {what}; 3 captions of 20 images",
        task,
        ToylandWorld(
            {f"{job}.{planted}": share for job in jobs},
            {"fixed_prompts": truth, "prompt_population": truth},
        ),
        SETTINGS.model_copy(update={"n_permutations": 2000}),
        share=0.1,
        conservative=_SQUARES,
    )
