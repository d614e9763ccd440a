"""Images that are excluded from a run; whom a model refuses to show can itself be a bias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from t2ibench.methods.core.evidence import SOURCE, UNKNOWN
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import ALPHA, IntervalMark
from t2ibench.results.prompt_outcomes import PromptOutcomes, Rate
from t2ibench.results.schema import TaskResult
from t2ibench.results.states import State
from t2ibench.stats.fisher import fisher_exact
from t2ibench.stats.permutation import holm
from t2ibench.store.distinct import REPEATED

UNREAD = "no embedding"
_REASONS = (
    "repeated",
    "refused",
    "filtered",
    "failed",
    "missing",
    SOURCE,
    "not labelled",
    UNKNOWN,
    UNREAD,
)


def reasons_said(by_reason: Mapping[str, int]) -> str:
    """Return why images were excluded, in words with the count for each reason."""
    words = {
        UNKNOWN: "without an answer",
        UNREAD: "unknown, without an embedding",
        SOURCE: "without a source image",
    }
    reasons = [name for name in _REASONS if by_reason.get(name)]
    return ", ".join(f"{by_reason[name]:,} {words.get(name, name)}" for name in reasons)


def excluded_of(result: TaskResult) -> tuple[int, dict[str, int]]:
    """Return how many images a test asked for, and how many are excluded for each reason."""
    counts = {reason: count for reason, count in result.excluded.items() if count}
    missing = sum(count for reason, count in counts.items() if reason != UNKNOWN)
    if UNKNOWN in counts and result.excluded_because.get(UNKNOWN):
        # Unknown to an encoder, which measures without them; a judge's 'unknown' is an answer.
        counts[UNREAD] = counts.pop(UNKNOWN)
        missing += counts[UNREAD]
    return result.n_images + missing, counts


def missing_by_reason(run: RunView) -> Counter[str]:
    """Return how many images or answers a run's tests miss, by reason; repeats are not missing."""
    missing: Counter[str] = Counter()
    for task in run.tasks:
        _, counts = excluded_of(task.result)
        missing.update(counts)
    del missing[REPEATED]
    return missing


@dataclass(frozen=True, slots=True)
class GroupExclusions:
    """The images of one group of prompts that a model refused, or that its filter removed.

    The mark is the share, of exactly these prompts; 'clear' where other groups differ from it.
    """

    name: str
    what: str
    rate: Rate
    prompts: int
    mark: IntervalMark
    more: bool

    @property
    def percent(self) -> str:
        """The group's excluded share in per cent as text, with a decimal if it is small."""
        value = 100 * (self.mark.value or 0.0)
        return f"{value:.1f}" if 0 < value < 9.95 else f"{value:.0f}"

    @property
    def verdict(self) -> str:
        """Whether the group's share is clearly above or below that of others, in words; else ""."""
        if self.mark.state != "clear":
            return ""
        return "more than the others" if self.more else "less than the others"

    @property
    def spoken(self) -> str:
        """The group's excluded share and its interval as a sentence for screen readers."""
        ends = (self.mark.value, self.mark.low, self.mark.high)
        value, low, high = (round(100 * (number or 0.0)) for number in ends)
        text = f"{self.name}: {value} % {self.what}, interval {low} to {high} %"
        return f"{text}, {self.verdict or 'not clearly different from the others'}"


@dataclass(frozen=True, slots=True)
class TaskExclusions:
    """The images excluded from one task, in groups of prompts, the largest share first."""

    task: TaskView
    groups: tuple[GroupExclusions, ...]

    @property
    def differs(self) -> bool:
        """Whether one group's excluded share clearly differs from that of the others."""
        return any(group.mark.state == "clear" for group in self.groups)


def exclusions(run: RunView) -> list[TaskExclusions]:
    """Return the exclusions of each task, each group of prompts tested against the others.

    Holm's method corrects them over all groups of the run.
    """
    exclusions_by_reason = [
        exclusion for task in run.tasks for exclusion in _exclusions_of(task)
    ]
    p_values = holm([_p_value(exclusion) for exclusion in exclusions_by_reason])
    by_task: dict[str, list[GroupExclusions]] = {}
    for exclusion, p in zip(exclusions_by_reason, p_values, strict=True):
        by_task.setdefault(exclusion.task.id, []).append(_group(exclusion, p))
    tasks = [
        TaskExclusions(task, tuple(sorted(by_task[task.id], key=_largest_share)))
        for task in run.tasks
        if task.id in by_task
    ]
    return sorted(tasks, key=_differing_first)


@dataclass(frozen=True, slots=True)
class _Exclusion:
    """How many images were excluded for one reason, among a group of prompts and among all.

    Attributes:
        task: The task.
        outcome: What became of the images of the group.
        what: The reason, 'refused' or 'filtered'.
        rate: How many images of the group were excluded.
        whole: How many images of all prompts were excluded.
    """

    task: TaskView
    outcome: PromptOutcomes
    what: str
    rate: Rate
    whole: Rate


def _exclusions_of(task: TaskView) -> Iterator[_Exclusion]:
    """Yield the images excluded from each group of a task's prompts, separately for each reason."""
    if not task.result.prompt_outcomes:
        return
    whole, *groups = task.result.prompt_outcomes
    for what in ("refused", "filtered"):
        rate_of_all = getattr(whole, what)
        if not rate_of_all.count:
            continue
        for outcome in groups or [whole]:
            yield _Exclusion(task, outcome, what, getattr(outcome, what), rate_of_all)


def _p_value(exclusion: _Exclusion) -> float | None:
    """Return Fisher's p-value that a group's share is that of the others; None without others."""
    n_excluded = exclusion.rate.count
    remaining = exclusion.rate.total - n_excluded
    n_others_excluded = exclusion.whole.count - n_excluded
    others_remaining = (exclusion.whole.total - exclusion.whole.count) - remaining
    if not n_others_excluded + others_remaining:
        return None
    table = [(n_excluded, remaining), [n_others_excluded, others_remaining]]
    return fisher_exact(table)


def _group(exclusion: _Exclusion, p: float | None) -> GroupExclusions:
    rate = exclusion.rate
    state: State = "clear" if p is not None and p < ALPHA else "not_clear"
    return GroupExclusions(
        name=exclusion.outcome.group or "all prompts",
        what=exclusion.what,
        rate=rate,
        prompts=exclusion.outcome.n_prompts,
        mark=IntervalMark(rate.share, rate.ci_low, rate.ci_high, state, None),
        more=rate.count * exclusion.whole.total > exclusion.whole.count * rate.total,
    )


def _largest_share(group: GroupExclusions) -> tuple[float, str]:
    return -(group.mark.value or 0.0), group.name


def _differing_first(task: TaskExclusions) -> tuple[bool, float, str]:
    largest, _ = _largest_share(task.groups[0])
    return not task.differs, largest, task.task.id
