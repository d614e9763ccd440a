"""What a method is: a family of tasks, the evidence they need and the scores they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from t2ibench.methods.core.checks import Finding
from t2ibench.methods.core.schema import BaseTask
from t2ibench.registry import lazy
from t2ibench.settings import Settings

if TYPE_CHECKING:  # task files are read without loading numpy and scipy
    from t2ibench.methods.core.estimate import MethodResult
    from t2ibench.methods.core.evidence import Evidence
    from t2ibench.methods.core.needs import Needs
    from t2ibench.methods.core.presentation import Presentation

TaskT = TypeVar("TaskT", bound=BaseTask)


@dataclass(frozen=True, slots=True)
class MainScore:
    """The score that a method is known by.

    Attributes:
        name: Its key in `scores`.
        label: What tables call it.
    """

    name: str
    label: str


class Method(Protocol[TaskT]):
    """A family of tasks. Objects only have these members; they inherit nothing.

    `needs` and `score` are pure: the same task, evidence and settings give the same numbers.

    Attributes:
        name: The `method` of its task files, and its entry point.
        title: What people call it.
        Task: The schema of its task files.
        main_score: The score it is known by.
        row_scores: Scores of a row that two runs are compared by.
        estimand: The population quantity that the headline estimates, in words.
        proposes: Target of its `Proposal`; None if a language model cannot propose its tasks.
        explores: Where its tasks are concept queries that the explorer shows; None where not.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def Task(self) -> type[TaskT]: ...  # noqa: D102
    @property
    def main_score(self) -> MainScore: ...  # noqa: D102
    @property
    def row_scores(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def estimand(self) -> str: ...  # noqa: D102
    @property
    def proposes(self) -> str | None: ...  # noqa: D102
    @property
    def explores(self) -> str | None: ...  # noqa: D102

    def check(self, task: TaskT, /) -> Iterator[Finding]:
        """Check what the schema cannot express.

        Args:
            task: A task that fits its schema.

        Returns:
            The problems, each with its position in the file.
        """
        ...

    def needs(self, task: TaskT, settings: Settings, /) -> Needs:
        """The evidence that a task needs.

        Args:
            task: The task.
            settings: How the run measures.

        Returns:
            Prompts with their number of images, texts and questions.
        """
        ...

    def score(self, task: TaskT, evidence: Evidence, settings: Settings, /) -> MethodResult:
        """The scores of a task from one encoder's, or one judge's, evidence.

        Args:
            task: The task.
            evidence: What its needs ask for, from one encoder or judge.
            settings: How the run measures.

        Returns:
            The headline, the scores and the rows.

        Raises:
            MissingEvidence: a text or an image that `needs` asks for was never observed.
        """
        ...

    def combine(
        self, task: TaskT, results: Sequence[MethodResult], settings: Settings, /
    ) -> MethodResult:
        """The scores of a task over all encoders or judges, from those of each.

        Args:
            task: The task.
            results: One result an encoder or judge; at least one.
            settings: How the run measures.

        Returns:
            The combined result.
        """
        ...

    def describe(self, task: TaskT, result: MethodResult, /) -> str:
        """The result as a plain sentence with its direction.

        Args:
            task: The task.
            result: Its result.

        Returns:
            One sentence. It claims a direction only where the test shows one, and begins with
            'No score: ' where there is none.
        """
        ...

    def variants(self, task: TaskT, /) -> Mapping[str, TaskT]:
        """Other designs of the same task, by name, whose cost a dry run shows.

        Args:
            task: The task.

        Returns:
            Name to design; empty where there is none.
        """
        ...


def _no_variants(_: Any) -> Mapping[str, Any]:
    return {}


_AVERAGE = lazy("t2ibench.methods.core.averages:mean_over_encoders")


@dataclass(frozen=True)
class Family(Generic[TaskT]):
    """A `Method` put together from functions; see there.

    Give `needs`, `score` and `describe` as `lazy(...)` functions, so that listing tasks does not
    load what scores them. A method need not have the last: `present` says how pages show a task's
    result (see `core.presentation`).
    """

    name: str
    title: str
    Task: type[TaskT]
    check: Callable[[TaskT], Iterator[Finding]]
    needs: Callable[[TaskT, Settings], Needs]
    score: Callable[[TaskT, Evidence, Settings], MethodResult]
    describe: Callable[[TaskT, MethodResult], str]
    main_score: MainScore
    estimand: str
    row_scores: tuple[str, ...] = ()
    combine: Callable[[TaskT, Sequence[MethodResult], Settings], MethodResult] = _AVERAGE
    variants: Callable[[TaskT], Mapping[str, TaskT]] = _no_variants
    proposes: str | None = None
    explores: str | None = None
    present: Callable[[TaskT], Presentation] | None = None
