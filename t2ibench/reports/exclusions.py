"""What was left out of a run, by group of prompts: what a model refuses can be the bias itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import scipy

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN, Needs, QuestionNeed
from t2ibench.methods.registry import needs
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import ALPHA, IntervalMark, State
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings
from t2ibench.stats.clusters import clustered_proportion
from t2ibench.stats.permutation import holm
from t2ibench.store.answers import LABELS_BY, AnswerStore
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt, ImageStore

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
    """What was left out of a group of a task's prompts, `touched` of which lost an image.

    The mark is the share, of these very prompts; 'clear' where other groups differ from it.
    """

    prompts: int
    touched: int
    mark: IntervalMark
    more: bool

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
    with suppress(T2IBenchError):
        stored = open_run(folder) if tasks else RunFolder(folder)
        if stored.record.generator is not None:
            images = ImageStore(stored.database, stored.record.generator.fingerprint)
            if len(images):
                return _tested(list(_by_prompt(tasks, images.database, DistinctImages(images))))
    return []


def _by_prompt(
    tasks: Sequence[TaskView], database: Database, images: DistinctImages
) -> Iterator[tuple[TaskView, list[PromptExclusions]]]:
    @cache
    def judge(name: str, fingerprint: str) -> AnswerStore:
        return AnswerStore(database, name, fingerprint)

    for task in tasks:
        judges = [judge(*pair) for pair in task.result.settings.judges.items()]
        prompts = list(_of_prompts(task, images, judges))
        if any(prompt.count for prompt in prompts):
            yield task, prompts


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
    plain: list[tuple[int, str, list[PromptExclusions]]] = []
    ps: list[float | None] = []
    more: list[bool] = []
    for number, (_, every) in enumerate(found):
        for name in dict.fromkeys(prompt.group for prompt in every):
            group = [prompt for prompt in every if prompt.group == name]
            others = [prompt for prompt in every if prompt.group != name]
            table = [
                [sum(one.count for one in side), sum(one.total - one.count for one in side)]
                for side in (group, others)
            ]
            plain.append((number, name, group))
            ps.append(float(scipy.stats.fisher_exact(table).pvalue) if others else None)
            more.append(bool(others) and _share(group) > _share(others))
    groups: list[list[GroupExclusions]] = [[] for _ in found]
    for (number, name, prompts), p, higher in zip(plain, holm(ps), more, strict=True):
        hits, totals = [one.count for one in prompts], [one.total for one in prompts]
        low, high = clustered_proportion(hits, totals).interval()
        state: State = "clear" if p is not None and p < ALPHA else "not_clear"
        mark = IntervalMark(_share(prompts), low, high, state, None)
        by_reason = sum((one.by_reason for one in prompts), Counter[str]())
        touched = sum(hit > 0 for hit in hits)
        one = GroupExclusions(name, sum(totals), by_reason, len(prompts), touched, mark, higher)
        groups[number].append(one)
    tasks = [
        TaskExclusions(
            task,
            tuple(sorted(of, key=lambda one: (-(one.mark.value or 0.0), one.name))),
            tuple(sorted((one for one in prompts if one.count), key=worst_first)),
        )
        for (task, prompts), of in zip(found, groups, strict=True)
    ]
    return sorted(
        tasks, key=lambda one: (not one.differs, -(one.groups[0].mark.value or 0.0), one.task.id)
    )


def worst_first(prompt: PromptExclusions) -> tuple[float, float, str]:
    """Sorts prompts: what the model did not make before what a judge could not tell."""
    unmade = prompt.count - prompt.by_reason[UNKNOWN]
    return -unmade / prompt.total, -prompt.count / prompt.total, prompt.name


def _share(prompts: Sequence[PromptExclusions]) -> float:
    return sum(one.count for one in prompts) / sum(one.total for one in prompts)
