"""How judges' answers about each prompt differ between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from t2ibench.methods.core.answer_counts import (
    ShownAttribute,
    ShownRow,
    short_names,
    sorted_rows,
)
from t2ibench.methods.core.describe import listed, shown_class
from t2ibench.results.contrast import Contrast, difference_interval
from t2ibench.results.display import shown_rows
from t2ibench.results.schema import Results, Score, TaskResult
from t2ibench.stats import clustered_proportion, holm
from t2ibench.stats.bounds import BoundedProportion
from t2ibench.stats.fisher import fisher_exact
from t2ibench.store.answers import who_judged

_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class PromptChange:
    """A judge's answers about one prompt in two runs, and how a class's share changed.

    `change` is the share of a class in the second run less that in the first, with an interval that
    has room for images without an answer; of two classes the first, of more the one that differs
    most. `p_holm` is after Holm's correction over the prompts.
    """

    short: str
    first: ShownRow
    second: ShownRow
    group: str
    change: Contrast
    p_holm: float

    @property
    def known_share(self) -> float | None:
        """The class's share as known from elsewhere, such as a census; None if unknown."""
        return self.first.counted.known.get(self.group)

    @property
    def shares(self) -> tuple[float, float]:
        """The class's share of the answers in the first and in the second run."""
        return _share(self.first, self.group), _share(self.second, self.group)

    @property
    def turned(self) -> bool:
        """Whether the majority is clearly one class in the first run, and another in the second."""
        both = (
            self.first.clear
            and self.second.clear
            and self.first.most != self.second.most
        )
        return both and self.p_holm < _ALPHA

    @property
    def still(self) -> bool:
        """Whether the majority is clearly the same class in both runs, without a clear change."""
        both = (
            self.first.clear
            and self.second.clear
            and self.first.most == self.second.most
        )
        return both and not self.p_holm < _ALPHA

    @property
    def words(self) -> str:
        """The change in the answers about the prompt in a few words."""
        if self.turned:
            return f"turned from {_who(self.first)} to {_who(self.second)}"
        sides = self.first.most != self.second.most
        if self.p_holm < _ALPHA:
            return f"changed; most are {_who(self.second)} now" if sides else "changed"
        return f"still {_who(self.second)}" if self.still else "no clear change"


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """The answers to one question in two runs, for the prompts that both have.

    Who `judged` is two names where they are not the same; `asked` where the second run's prompts
    had a request that those of the first had not; `unread` where no text encoder read the end of
    any prompt of a run, and the ends differ.
    """

    task: str
    attribute: str
    classes: tuple[str, ...]
    prompts: tuple[PromptChange, ...]
    alone: int
    judged: tuple[str, ...]
    asked: bool
    unread: bool = False

    def notes(self) -> list[str]:
        """Return notes on the question that a reader of the comparison needs."""
        notes = []
        if self.alone:
            notes.append(f"{self.alone} prompts are in one run only.")
        if len(self.judged) > 1:
            who = listed(self.judged)
            notes.append(f"{who} answered: a difference may be one of who answered.")
        return notes


def compare_prompts(first: Results, second: Results) -> list[AttributeChange]:
    """Return how the answers to each question changed between two runs, prompt by prompt.

    Prompts are the same where the task has them, whatever a rewriter or a request adds.
    """
    changes: list[AttributeChange] = []
    asked = request_of(second) is not None and request_of(first) is None
    for name, task in first.tasks.items():
        other = second.tasks.get(name)
        if other is None or other.task_hash != task.task_hash:
            continue
        in_other = {shown.counted.attribute: shown for shown in shown_rows(other)}
        for shown in shown_rows(task):
            match = in_other.get(shown.counted.attribute)
            if match is not None:
                changes += _compared(name, (task, other), (shown, match), asked)
    return changes


def p_values_of_answers(changes: Sequence[AttributeChange]) -> dict[str, float]:
    """Return, for each task, the p-value that prompts are answered alike in both runs.

    The least p-value of its prompts after Holm's correction, times its number of questions.
    """
    by_task: dict[str, list[float]] = {}
    for change in changes:
        least = min(prompt.p_holm for prompt in change.prompts)
        by_task.setdefault(change.task, []).append(least)
    return {
        task: min(1.0, len(p_values) * min(p_values))
        for task, p_values in by_task.items()
    }


def request_of(results: Results) -> str | None:
    """Return in words what a method or rewriter added to every prompt; None if nothing."""
    request = results.model.added_request
    if request:
        return f"'{request}'"
    rewriter = results.model.rewriter
    return (
        None if rewriter is None else f"what the rewriter {rewriter.name} makes of them"
    )


def _compared(
    name: str,
    tasks: tuple[TaskResult, TaskResult],
    both: tuple[ShownAttribute, ShownAttribute],
    asked: bool,
) -> Iterator[AttributeChange]:
    """Yield how the answers to one question changed, unless the two results share no prompt."""
    first = _rows_by_prompt(both[0])
    second = _rows_by_prompt(both[1])
    ordered = [row.counted.name for row in sorted_rows(both[0])]
    shared = [prompt for prompt in ordered if prompt in first and prompt in second]
    if not shared:
        return
    in_second = both[1].counted.classes
    classes = [group for group in both[0].counted.classes if group in in_second]
    level = tasks[0].settings.level
    changes = [
        _prompt(short, first[prompt], second[prompt], classes, level)
        for short, prompt in zip(short_names(shared), shared, strict=True)
    ]
    p_values = holm([change.p_holm for change in changes])
    corrected = [
        replace(change, p_holm=p_value or 0.0)
        for change, p_value in zip(changes, p_values, strict=True)
    ]
    judges = [" and ".join(who_judged(task.settings.judges)) for task in tasks]
    yield AttributeChange(
        name,
        both[0].counted.attribute,
        tuple(classes),
        tuple(corrected),
        len(first.keys() ^ second.keys()),
        tuple(dict.fromkeys(judges)),
        asked,
        unread=_other_ends_are_unread(*tasks),
    )


def _rows_by_prompt(attribute: ShownAttribute) -> dict[str, ShownRow]:
    """Return the answers about each prompt, without prompts that have none."""
    return {row.counted.name: row for row in attribute.rows if row.most}


def _other_ends_are_unread(first: TaskResult, second: TaskResult) -> bool:
    """Return whether unread ends of prompts differ, and one result has one in every prompt."""
    first_ends = _unread_ends(first)
    second_ends = _unread_ends(second)
    if first_ends == second_ends:
        return False
    return any(
        task.n_prompts and len({prompt for prompt, _ in ends}) >= task.n_prompts
        for task, ends in ((first, first_ends), (second, second_ends))
    )


def _unread_ends(task: TaskResult) -> set[tuple[str, str]]:
    """Return each prompt whose end no text encoder of the model read, with the unread end."""
    return {(end.prompt, end.unread) for end in task.unread_prompts if end.unread}


def _prompt(
    short: str, first: ShownRow, second: ShownRow, classes: Sequence[str], level: float
) -> PromptChange:
    tried = classes[:1] if len(classes) == 2 else classes
    p_values = {group: _p(first, second, group) for group in tried}
    group = min(
        tried,
        key=lambda name: (
            p_values[name],
            -abs(_share(first, name) - _share(second, name)),
        ),
    )
    p = min(1.0, p_values[group] * len(tried))
    value = _share(second, group) - _share(first, group)
    # Where the class was chosen among several, its interval is corrected for them, too.
    scores = [
        _score(row, group, 1 - (1 - level) / len(tried)) for row in (second, first)
    ]
    change = Contrast(value, *difference_interval(scores[0], scores[1]))
    return PromptChange(short, first, second, group, change, p)


def _share(row: ShownRow, group: str) -> float:
    return row.counted.counts.get(group, 0) / sum(row.counted.counts.values())


def _score(row: ShownRow, group: str, level: float) -> Score:
    """Return a class's share of answers, with an interval that allows for missing answers."""
    hits, unanswered = row.counted.counts.get(group, 0.0), row.counted.unanswered
    total = sum(row.counted.counts.values())
    share = clustered_proportion([hits], [total])
    low, high = share.interval(level)
    if unanswered:
        ends = [
            clustered_proportion([most], [total + unanswered])
            for most in (hits, hits + unanswered)
        ]
        low, high = BoundedProportion(share.value, *ends).interval(level)
    return Score(value=share.value, ci_low=low, ci_high=high)


def _p(first: ShownRow, second: ShownRow, group: str) -> float:
    """Return Fisher's p-value that a class's share of answers is equal in both runs.

    Missing answers count in favour of equal shares.
    """
    tables, ends = [], []
    for row in (first, second):
        hits, total = (
            row.counted.counts.get(group, 0.0),
            sum(row.counted.counts.values()),
        )
        unanswered = row.counted.unanswered
        tables.append((hits, total - hits, unanswered))
        every = sum(tables[-1])
        ends.append((hits / every, (hits + unanswered) / every))
    if ends[0][0] <= ends[1][1] and ends[1][0] <= ends[0][1]:
        counts = [(hits, miss) for hits, miss, _ in tables]
        if any(unanswered for *_, unanswered in tables):
            return 1.0
    else:
        higher = ends[0][0] > ends[1][1]
        counts = [
            (hits, miss + unanswered)
            if (number == 0) == higher
            else (hits + unanswered, miss)
            for number, (hits, miss, unanswered) in enumerate(tables)
        ]
    rounded = [[round(number) for number in row] for row in counts]
    return fisher_exact(rounded)


def _who(row: ShownRow) -> str:
    return shown_class(row.most, row.about)
