"""The interface of a method: its tasks, the evidence they need and the scores they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, get_args

from t2ibench.methods.core.checks import Finding
from t2ibench.methods.core.publication import Publication
from t2ibench.methods.core.schema import BaseTask
from t2ibench.registry import LazyModule
from t2ibench.settings import Settings

if TYPE_CHECKING:  # task files are read without loading numpy and scipy
    from t2ibench.methods.core import averages
    from t2ibench.methods.core.estimate import MethodResult
    from t2ibench.methods.core.evidence import Evidence, Needs
    from t2ibench.methods.core.presentation import Presentation
    from t2ibench.methods.core.redrawn_runs import PilotScores, RedrawnRuns
else:
    averages = LazyModule("t2ibench.methods.core.averages")

TaskT = TypeVar("TaskT", bound=BaseTask)


@dataclass(frozen=True, slots=True)
class MainScore:
    """The score for which a method is known, such as its paper's, with its label.

    Attributes:
        name: Its key in `scores`.
        label: What tables call it.
    """

    name: str
    label: str


@dataclass(frozen=True)
class Method(Generic[TaskT]):
    """A family of tasks with the functions that measure it; the first four it must have.

    Take `needs`, `score` and `describe` from a `LazyModule`, so that listing tasks does not load
    what scores them. `needs` and `score` are pure: the same task, evidence and settings give
    the same numbers.

    Attributes:
        Task: The schema of its task files.
        needs: The evidence that a task needs: prompts with their number of images, texts and
            questions.
        score: The headline, the scores and the rows of a task from one encoder's, or one judge's,
            evidence. It raises `MissingEvidence` where a text or an image that `needs` asks for was
            never observed.
        describe: The result as one plain sentence. It claims a direction only where the test shows
            one, and begins with 'No score: ' where there is none.
        name: The `method` of its task files, and its entry point; by default what the schema's
            `method` says.
        title: What people call it; by default its name.
        main_score: The score it is known by; by default the headline alone.
        estimand: The population quantity that the headline estimates, in words.
        row_scores: Scores of a row that two runs are compared by.
        check: Problems of a task that its schema cannot express, each with its position in the
            file.
        combine: The result of a task over all encoders or judges, from one result of each; by
            default their mean.
        proposes: Target of its `Proposal`; None if a language model cannot propose its tasks.
        explores: Where its tasks are concept queries that the explorer shows; None where not.
        present: How pages show a task's result (see `core.presentation`); None for its title alone.
        redraws: Draws runs like a pilot with more images, of the headline and of outcomes by name,
            where the variance of a pilot does not tell the power of a larger run; None where it
            does.
        publications: What it follows, for `t2ibench cite`.
    """

    Task: type[TaskT]
    needs: Callable[[TaskT, Settings], Needs]
    score: Callable[[TaskT, Evidence, Settings], MethodResult]
    describe: Callable[[TaskT, MethodResult], str]
    name: str = ""
    title: str = ""
    main_score: MainScore | None = None
    estimand: str = ""
    row_scores: tuple[str, ...] = ()
    check: Callable[[TaskT], Iterable[Finding]] = lambda _: ()
    combine: Callable[[TaskT, Sequence[MethodResult], Settings], MethodResult] = (
        averages.mean_over_encoders
    )
    proposes: str | None = None
    explores: str | None = None
    present: Callable[[TaskT], Presentation] | None = None
    redraws: (
        Callable[[TaskT, PilotScores, Settings], Mapping[str, RedrawnRuns]] | None
    ) = None
    publications: tuple[Publication, ...] = ()

    def __post_init__(self) -> None:
        name = self.name or get_args(self.Task.model_fields["method"].annotation)[0]
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "title", self.title or name)
