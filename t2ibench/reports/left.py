"""What was left out of a run, by group of prompts: what a model refuses can be the bias itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.needs import Needs, QuestionNeed
from t2ibench.methods.registry import needs
from t2ibench.reports.view import Mark, RunView, TaskView
from t2ibench.results.run import open_run
from t2ibench.results.schema import TaskResult
from t2ibench.results.states import ALPHA
from t2ibench.settings import Settings
from t2ibench.stats.multiple import holm
from t2ibench.stats.proportions import clustered_proportion
from t2ibench.store.answers import LABELS_BY, AnswerStore
from t2ibench.store.images import Attempt, ImageStore

_REASONS = ("refused", "filtered", "failed", "missing", "not labelled", UNKNOWN)


def reasons_said(left: Mapping[str, int]) -> str:
    """Why images do not count."""
    words = {UNKNOWN: "without an answer"}
    found = [name for name in _REASONS if left.get(name)]
    return ", ".join(f"{left[name]:,} {words.get(name, name)}" for name in found)


def left_of(result: TaskResult) -> tuple[int, dict[str, int]]:
    """How many images a test asked for, and which do not count."""
    left = {reason: count for reason, count in result.excluded.items() if count}
    lost = sum(count for reason, count in left.items() if reason != UNKNOWN)
    return result.n_images + lost, left


@dataclass(frozen=True, slots=True)
class PromptLoss:
    """What was left out of one prompt.

    Attributes:
        prompt: The prompt.
        group: What it stands for in its task.
        total: Images that were asked for; with several judges, once for each.
        left: Those that do not count, by reason.
        reason: What the model said most often.
    """

    prompt: str
    group: str
    total: int
    left: Counter[str]
    reason: str

    @property
    def count(self) -> int:
        """How many do not count."""
        return self.left.total()

    @property
    def why(self) -> str:
        """Why they do not count."""
        return reasons_said(self.left)


@dataclass(frozen=True, slots=True)
class GroupLoss:
    """What was left out of one group of a task's prompts.

    Attributes:
        group: What its prompts stand for.
        prompts: Its prompts.
        touched: How many of them lost an image.
        total: Images that were asked for.
        left: Those that do not count, by reason.
        mark: The share that does not count, with its interval: of these very prompts, with other
            images. 'clear' where it differs from that of the task's other groups.
        more: Whether it is more than that of the others.
    """

    group: str
    prompts: int
    touched: int
    total: int
    left: Counter[str]
    mark: Mark
    more: bool

    @property
    def count(self) -> int:
        """How many do not count."""
        return self.left.total()

    @property
    def why(self) -> str:
        """Why they do not count."""
        return reasons_said(self.left)

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
        told = f"{self.group}: {value} % left out, interval {low} to {high} %"
        return f"{told}, {self.verdict or 'not clearly different from the others'}"


@dataclass(frozen=True, slots=True)
class TaskLoss:
    """What was left out of one task.

    Attributes:
        task: The task.
        groups: Its groups, the largest share first.
        prompts: Its prompts that lost an image, the largest share first.
    """

    task: TaskView
    groups: tuple[GroupLoss, ...]
    prompts: tuple[PromptLoss, ...]

    @property
    def differs(self) -> bool:
        """Whether some group clearly loses more or less than the others."""
        return any(group.mark.state == "clear" for group in self.groups)


def losses(run: RunView, folder: Path) -> list[TaskLoss]:
    """What was left out of each task, by group."""
    tasks = [
        task for task in run.tasks if task.spec is not None and any(task.result.excluded.values())
    ]
    if not tasks:
        return []
    try:
        record = open_run(folder).record
    except T2IBenchError:
        return []
    if record.generator is None:
        return []
    images = ImageStore(folder / "images", record.generator.fingerprint)
    if not len(images):
        return []
    judges: dict[tuple[str, str], AnswerStore] = {}
    found = []
    for task in tasks:
        stores = []
        for name, fingerprint in task.result.settings.judges.items():
            key = (name, fingerprint)
            if key not in judges:
                judges[key] = AnswerStore(folder / "evidence", name, fingerprint)
            stores.append(judges[key])
        prompts = list(prompt_losses(task, images, stores))
        if any(prompt.count for prompt in prompts):
            found.append((task, prompts))
    return _tested(found)


def prompt_losses(
    task: TaskView, images: ImageStore, judges: Sequence[AnswerStore]
) -> Iterator[PromptLoss]:
    """What was left out of each prompt of a task."""
    assert task.spec is not None
    asked: Needs = needs(task.spec, Settings.of(task.result.settings))
    groups = asked.groups
    questions: dict[str, list[QuestionNeed]] = {}
    for question in asked.questions:
        questions.setdefault(question.prompt, []).append(question)
    for prompt, count in asked.images_by_prompt.items():
        left: Counter[str] = Counter()
        said: Counter[str] = Counter()
        attempts = [images.get(prompt, index) for index in range(count)]
        readers: list[AnswerStore | None] = list(judges) if asked.questions else [None]
        for attempt in attempts:
            if attempt is not None and attempt.status != "ok":
                said[attempt.reason or ""] += 1
            for judge in readers:
                reason = _reason(attempt, judge, questions.get(prompt, ()))
                if reason is not None:
                    left[reason] += 1
        reason = min(said, key=lambda text: (-said[text], text), default="")
        yield PromptLoss(prompt, groups[prompt] or prompt, count * len(readers), left, reason)


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


def _tested(found: Sequence[tuple[TaskView, Sequence[PromptLoss]]]) -> list[TaskLoss]:
    """Group by group, each against the others of its task, corrected over all of them (Holm)."""
    plain = [
        (number, name, prompts)
        for number, (_, every) in enumerate(found)
        for name, prompts in _grouped(every).items()
    ]
    ps: list[float | None] = []
    more: list[bool] = []
    for number, name, prompts in plain:
        others = [prompt for prompt in found[number][1] if prompt.group != name]
        ps.append(_fisher(prompts, others) if others else None)
        more.append(_share(prompts) > _share(others) if others else False)
    groups: list[list[GroupLoss]] = [[] for _ in found]
    for (number, name, prompts), p, higher in zip(plain, holm(ps), more, strict=True):
        groups[number].append(_group(name, prompts, p is not None and p < ALPHA, higher))
    losses = [
        TaskLoss(
            task,
            tuple(sorted(of, key=lambda one: (-(one.mark.value or 0.0), one.group))),
            tuple(sorted((one for one in every if one.count), key=worst_first)),
        )
        for (task, every), of in zip(found, groups, strict=True)
    ]
    return sorted(
        losses, key=lambda one: (not one.differs, -(one.groups[0].mark.value or 0.0), one.task.id)
    )


def worst_first(prompt: PromptLoss) -> tuple[float, float, str]:
    """Sorts prompts: what the model did not make before what a judge could not tell."""
    unmade = prompt.count - prompt.left[UNKNOWN]
    return -unmade / prompt.total, -prompt.count / prompt.total, prompt.prompt


def _grouped(prompts: Sequence[PromptLoss]) -> dict[str, list[PromptLoss]]:
    groups: dict[str, list[PromptLoss]] = {}
    for prompt in prompts:
        groups.setdefault(prompt.group, []).append(prompt)
    return groups


def _share(prompts: Sequence[PromptLoss]) -> float:
    return sum(one.count for one in prompts) / sum(one.total for one in prompts)


def _fisher(these: Sequence[PromptLoss], others: Sequence[PromptLoss]) -> float:
    table = [
        [sum(one.count for one in side), sum(one.total - one.count for one in side)]
        for side in (these, others)
    ]
    return float(scipy.stats.fisher_exact(table).pvalue)


def _group(name: str, prompts: Sequence[PromptLoss], clear: bool, more: bool) -> GroupLoss:
    hits, totals = [one.count for one in prompts], [one.total for one in prompts]
    low, high = clustered_proportion(hits, totals).interval()
    left: Counter[str] = Counter()
    for one in prompts:
        left += one.left
    mark = Mark(_share(prompts), low, high, "clear" if clear else "not_clear", None)
    touched = sum(hit > 0 for hit in hits)
    return GroupLoss(name, len(prompts), touched, sum(totals), left, mark, more)
