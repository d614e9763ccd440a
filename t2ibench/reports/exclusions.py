"""Images excluded from a run; refusals of a group of prompts can themselves be a bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scipy.stats import fisher_exact

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import ALPHA, IntervalMark
from t2ibench.results.prompt_outcomes import Rate
from t2ibench.results.schema import TaskResult
from t2ibench.results.states import State
from t2ibench.stats.permutation import holm

UNREAD = "no embedding"
_REASONS = (
    "repeated",
    "refused",
    "filtered",
    "failed",
    "missing",
    "not labelled",
    UNKNOWN,
    UNREAD,
)


def reasons_said(by_reason: Mapping[str, int]) -> str:
    """Return in words why images were excluded, with counts."""
    words = {UNKNOWN: "without an answer", UNREAD: "unknown, without an embedding"}
    reasons = [name for name in _REASONS if by_reason.get(name)]
    return ", ".join(f"{by_reason[name]:,} {words.get(name, name)}" for name in reasons)


def excluded_of(result: TaskResult) -> tuple[int, dict[str, int]]:
    """Return the number of images that a test requested, and the excluded ones by reason."""
    counts = {reason: count for reason, count in result.excluded.items() if count}
    missing = sum(count for reason, count in counts.items() if reason != UNKNOWN)
    if UNKNOWN in counts and result.excluded_because.get(UNKNOWN):
        # Unknown to an encoder, which measures without them; a judge's 'unknown' is an answer.
        counts[UNREAD] = counts.pop(UNKNOWN)
        missing += counts[UNREAD]
    return result.n_images + missing, counts


@dataclass(frozen=True, slots=True)
class GroupExclusions:
    """Images that a model refused for a group of prompts, or that a filter removed.

    The mark is the share, of these very prompts; 'clear' where other groups differ from it.
    """

    name: str
    what: str
    rate: Rate
    prompts: int
    mark: IntervalMark
    more: bool

    @property
    def percent(self) -> str:
        """Return the group's share in per cent, with a decimal if it is small."""
        value = 100 * (self.mark.value or 0.0)
        return f"{value:.1f}" if 0 < value < 9.95 else f"{value:.0f}"

    @property
    def verdict(self) -> str:
        """Return whether the group clearly loses more or less than the others; "" if neither."""
        if self.mark.state != "clear":
            return ""
        return "more than the others" if self.more else "less than the others"

    @property
    def spoken(self) -> str:
        """Return the group's share and interval as a sentence for screen readers."""
        ends = (self.mark.value, self.mark.low, self.mark.high)
        value, low, high = (round(100 * (number or 0.0)) for number in ends)
        text = f"{self.name}: {value} % {self.what}, interval {low} to {high} %"
        return f"{text}, {self.verdict or 'not clearly different from the others'}"


@dataclass(frozen=True, slots=True)
class TaskExclusions:
    """The exclusions of a task by group, with the largest share first."""

    task: TaskView
    groups: tuple[GroupExclusions, ...]

    @property
    def differs(self) -> bool:
        """Return whether any group clearly loses more or fewer images than the others."""
        return any(group.mark.state == "clear" for group in self.groups)


def exclusions(run: RunView) -> list[TaskExclusions]:
    """Test each group's exclusions against its task's other groups, corrected by Holm's method."""
    rates = [
        (task, outcome, what, getattr(outcome, what), getattr(whole, what))
        for task in run.tasks
        for whole in task.result.prompt_outcomes[:1]
        for what in ("refused", "filtered")
        for outcome in task.result.prompt_outcomes[1:] or [whole]
        if getattr(whole, what).count
    ]
    ps: list[float | None] = []
    for _, _, _, rate, whole in rates:
        counts = [(rate.count, rate.total - rate.count) for rate in (rate, whole)]
        others = [all_ - mine for mine, all_ in zip(*counts, strict=True)]
        ps.append(
            float(fisher_exact([counts[0], others]).pvalue) if sum(others) else None
        )
    by_task: dict[str, list[GroupExclusions]] = {}
    for (task, outcome, what, rate, whole), p in zip(rates, holm(ps), strict=True):
        state: State = "clear" if p is not None and p < ALPHA else "not_clear"
        mark = IntervalMark(rate.share, rate.ci_low, rate.ci_high, state, None)
        more = rate.count * whole.total > whole.count * rate.total
        name = outcome.group or "all prompts"
        by_task.setdefault(task.id, []).append(
            GroupExclusions(name, what, rate, outcome.n_prompts, mark, more)
        )
    tasks = [
        TaskExclusions(
            task,
            tuple(
                sorted(
                    by_task[task.id],
                    key=lambda group: (-(group.mark.value or 0.0), group.name),
                )
            ),
        )
        for task in run.tasks
        if task.id in by_task
    ]
    return sorted(
        tasks,
        key=lambda exclusions_of_task: (
            not exclusions_of_task.differs,
            -(exclusions_of_task.groups[0].mark.value or 0.0),
            exclusions_of_task.task.id,
        ),
    )
