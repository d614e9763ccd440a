"""What a calibration simulates: cells, each a task in a world whose bias is known.

Nothing of a method is implemented again in them: a cell says what the images of each prompt show,
or what a judge answers, and what is true of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.inference import Question
from t2ibench.methods.core.schema import BaseTask
from t2ibench.settings import Settings

TaskT = TypeVar("TaskT", bound=BaseTask)
# As many draws as a calibration needs of what papers report beside the headline.
SETTINGS = Settings(n_permutations=500, n_bootstrap=50, max_exact=500)
SHARES = (0.5, 0.6, 0.7, 0.9)  # planted in toyland


@dataclass(frozen=True, slots=True)
class Sample:
    """One simulated data set.

    Attributes:
        evidence: What the encoder, or the judge, sees of it.
        truth: For each question that is asked of it, the true value of the headline, on the
            headline's own scale; a question that is absent is not checked.
        rows: True value of the cell's row score, by the name of the row; rows that are absent are
            not checked. NaN where a row's test should not reject, but its value is not known, such
            as a word that is one of many alike.
    """

    evidence: Evidence
    truth: Mapping[Question, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)


class World(Protocol):
    """Where data sets come from."""

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        ...


@dataclass(frozen=True)
class ToylandWorld:
    """Images drawn by the generator `toyland`, read by its encoder and its judge.

    Attributes:
        args: Its --model-args: the planted shares.
        truth: As for `Sample`.
        rows: As for `Sample`.
    """

    args: Mapping[str, float]
    truth: Mapping[Question, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One task in one world.

    Attributes:
        name: What is simulated, in a few words; unique within the method.
        task: The task.
        world: Where its data sets come from.
        settings: How it is measured; every data set has its own seed.
        row_score: The score of the rows that is checked; None checks none.
        share: Of the data sets that a calibration asks for; below 1 where one takes long.
        quick: Whether it is part of `--quick`.
        conservative: Why its tests may reject less often than the level says, and its intervals
            cover more often; None where they may not.
        conservative_rows: The same, for the rows alone.
        claims: Whether only claims are checked: an inconclusive test rejects nothing and its
            interval fails nothing, and a value that is known to be biased is none.
        identified: Whether its value is unbiased; False where answers are missing because of what
            images show, so that only its interval and its test can hold.
        doubles: Name of a cell with half of the images, whose expected headline is the same.
        other: Where a second run of the task comes from: what is checked then is the difference of
            the root mean squares of both, and as its rows that no item leans otherwise.
    """

    name: str
    task: BaseTask
    world: World | ToylandWorld
    settings: Settings = SETTINGS
    row_score: str | None = None
    share: float = 1.0
    quick: bool = False
    conservative: str | None = None
    conservative_rows: str | None = None
    claims: bool = False
    identified: bool = True
    doubles: str | None = None
    other: World | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Its method and its name."""
        return self.task.method, self.name


def simulated_task(kind: type[TaskT], **fields: Any) -> TaskT:
    """A task that only a calibration sees, with an id and without words."""
    words = dict.fromkeys(("title", "description", "citation"), "a simulation")
    return kind.model_validate({"id": "calibration", "version": 1, **words, **fields})
