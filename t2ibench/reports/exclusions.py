"""What was left out of a run, by group of prompts: what a model refuses can be the bias itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from scipy.stats import fisher_exact

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN, Needs, QuestionNeed
from t2ibench.methods.registry import needs
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import ALPHA, IntervalMark, State
from t2ibench.results.run import open_images
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings
from t2ibench.stats.clusters import clustered_proportion
from t2ibench.stats.permutation import holm
from t2ibench.store.answers import LABELS_BY, AnswerStore
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt

_REASONS = ("repeated", "refused", "filtered", "failed", "missing", "not labelled", UNKNOWN)


def reasons_said(by_reason: Mapping[str, int]) -> str:
    """Why images do not count."""
    words = {UNKNOWN: "without an answer"}
    found = [name for name in _REASONS if by_reason.get(name)]
    return ", ".join(f"{by_reason[name]:,} {words.get(name, name)}" for name in found)


def excluded_of(result: TaskResult) -> tuple[int, dict[str, int]]:
    """How many images a test asked for, and which do not count."""
    found = {reason: count for reason, count in result.excluded.items() if count}
    missing = sum(count for reason, count in found.items() if reason != UNKNOWN)
    return result.n_images + missing, found


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Images that do not count, of so many asked for; several judges ask once each."""

    name: str
    total: int
    by_reason: Counter[str]

    @property
    def count(self) -> int:
        """How many do not count."""
        return self.by_reason.total()

    @property
    def why(self) -> str:
        """Why they do not count."""
        return reasons_said(self.by_reason)


@dataclass(frozen=True, slots=True)
class PromptExclusions(Exclusions):
    """What was left out of one prompt, and what the model said most often."""

    group: str
    reason: str


@dataclass(frozen=True, slots=True)
class GroupExclusions(Exclusions):
    """What was left out of a group of a task's prompts.

    The mark is the share, of these very prompts; 'clear' where other groups differ from it.
    """

    prompts: tuple[PromptExclusions, ...]
    mark: IntervalMark
    more: bool

    @property
    def touched(self) -> int:
        """How many of its prompts lost an image."""
        return sum(prompt.count > 0 for prompt in self.prompts)

    @property
    def percent(self) -> str:
        """Its share, with a decimal where it is small."""
        value = 100 * (self.mark.value or 0.0)
        return f"{value:.1f}" if 0 < value < 9.95 else f"{value:.0f}"

    @property
    def verdict(self) -> str:
        """Whether it loses more than the others; nothing where that is not clear."""
        if self.mark.state != "clear":
            return ""
        return "more than the others" if self.more else "less than the others"

    @property
    def spoken(self) -> str:
        """Its mark in words, for those who do not see it."""
        ends = (self.mark.value, self.mark.low, self.mark.high)
        value, low, high = (round(100 * (number or 0.0)) for number in ends)
        told = f"{self.name}: {value} % left out, interval {low} to {high} %"
        return f"{told}, {self.verdict or 'not clearly different from the others'}"


@dataclass(frozen=True, slots=True)
class TaskExclusions:
    """What was left out of a task: groups and prompts, the largest share first."""

    task: TaskView
    groups: tuple[GroupExclusions, ...]
    prompts: tuple[PromptExclusions, ...]

    @property
    def differs(self) -> bool:
        """Whether some group clearly loses more or less than the others."""
        return any(group.mark.state == "clear" for group in self.groups)


def exclusions(run: RunView, folder: Path) -> list[TaskExclusions]:
    """What was left out of each task, by group; nothing where the run's record is not here."""
    tasks = [
        task for task in run.tasks if task.spec is not None and any(task.result.excluded.values())
    ]
    if not tasks:
        return []
    with suppress(T2IBenchError):
        _, images = open_images(folder)
        if len(images):
            distinct, judge = DistinctImages(images), cache(partial(AnswerStore, images.database))
            found = []
            for task in tasks:
                judges = [judge(*pair) for pair in task.result.settings.judges.items()]
                prompts = list(_of_prompts(task, distinct, judges))
                found += [(task, prompts)] if any(prompt.count for prompt in prompts) else []
            return _tested(found)
    return []


def _of_prompts(
    task: TaskView, images: DistinctImages, judges: Sequence[AnswerStore]
) -> Iterator[PromptExclusions]:
    assert task.spec is not None
    asked: Needs = needs(task.spec, Settings.of(task.result.settings))
    questions: dict[str, list[QuestionNeed]] = {}
    for question in asked.questions:
        questions.setdefault(question.prompt, []).append(question)
    for prompt, count in asked.images_by_prompt.items():
        by_reason: Counter[str] = Counter()
        said: Counter[str] = Counter()
        readers: list[AnswerStore | None] = list(judges) if asked.questions else [None]
        for attempt in (images.get(prompt, index) for index in range(count)):
            if attempt is not None and attempt.status != "ok":
                said[attempt.reason or ""] += 1
            for judge in readers:
                reason = _reason(attempt, judge, questions.get(prompt, ()))
                if reason is not None:
                    by_reason[reason] += 1
        reason = min(said, key=lambda text: (-said[text], text), default="")
        total, group = count * len(readers), asked.groups[prompt] or prompt
        yield PromptExclusions(prompt, total, by_reason, group, reason)


def _reason(
    attempt: Attempt | None, judge: AnswerStore | None, questions: Sequence[QuestionNeed]
) -> str | None:
    """Why an image does not count; None where it does, because one question was answered."""
    if attempt is None:
        return "missing"
    if attempt.status != "ok" or judge is None or not questions:
        return None if attempt.status == "ok" else attempt.status
    answers = [
        (judge.get(attempt.sha256 or "", question.question, question.classes), question.classes)
        for question in questions
    ]
    given = [(answer.answer, classes) for answer, classes in answers if answer is not None]
    if not given:
        return "not labelled" if judge.name.startswith(LABELS_BY) else "failed"
    # Free text counts whatever it says; of several classes it must be one.
    return None if any(not classes or text in classes for text, classes in given) else UNKNOWN


def _tested(
    found: Sequence[tuple[TaskView, Sequence[PromptExclusions]]],
) -> list[TaskExclusions]:
    """Group by group, each against the others of its task, corrected over all of them (Holm)."""
    sides = [
        (task.id, name, *([one for one in every if (one.group == name) == own] for own in (1, 0)))
        for task, every in found
        for name in dict.fromkeys(prompt.group for prompt in every)
    ]
    ps = [
        float(fisher_exact([_counts(own), _counts(others)]).pvalue) if others else None
        for _, _, own, others in sides
    ]
    groups: dict[str, list[GroupExclusions]] = {task.id: [] for task, _ in found}
    for (task_id, name, own, others), p in zip(sides, holm(ps), strict=True):
        share, totals = _share(own), [one.total for one in own]
        low, high = clustered_proportion([one.count for one in own], totals).interval()
        state: State = "clear" if p is not None and p < ALPHA else "not_clear"
        mark = IntervalMark(share, low, high, state, None)
        by_reason = sum((one.by_reason for one in own), Counter[str]())
        more = bool(others) and share > _share(others)
        groups[task_id].append(
            GroupExclusions(name, sum(totals), by_reason, tuple(own), mark, more)
        )
    tasks = [
        TaskExclusions(
            task,
            tuple(sorted(groups[task.id], key=lambda one: (-(one.mark.value or 0.0), one.name))),
            tuple(sorted((one for one in prompts if one.count), key=worst_first)),
        )
        for task, prompts in found
    ]
    return sorted(
        tasks, key=lambda one: (not one.differs, -(one.groups[0].mark.value or 0.0), one.task.id)
    )


def worst_first(prompt: PromptExclusions) -> tuple[float, float, str]:
    """Sorts prompts: what the model did not make before what a judge could not tell."""
    unmade = prompt.count - prompt.by_reason[UNKNOWN]
    return -unmade / prompt.total, -prompt.count / prompt.total, prompt.name


def _counts(prompts: Sequence[PromptExclusions]) -> tuple[int, int]:
    """How many images do not count, and how many do."""
    lost = sum(one.count for one in prompts)
    return lost, sum(one.total for one in prompts) - lost


def _share(prompts: Sequence[PromptExclusions]) -> float:
    lost, kept = _counts(prompts)
    return lost / (lost + kept)
