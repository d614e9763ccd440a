"""What a remedy may cost: contradictions, spill-over, and diversity within groups."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.decisions.held import Held, at_least, ends_in_words, signed, worst
from t2ibench.decisions.profile import Holds
from t2ibench.decisions.rules import Outcome
from t2ibench.decisions.runs import MeasuredRun, RunPair
from t2ibench.errors import T2IBenchError
from t2ibench.results.contrast import Contrast
from t2ibench.results.frontier import Remedy, frontier
from t2ibench.results.task_across_runs import ComparedRun

NO_OLDER_RUN = "it needs the older run: `t2ibench decide OLD NEW`"


def remedy_limits(task: str, asked: Holds, pair: RunPair | None) -> Iterator[Held]:
    """Yield whether a remedy costs no more than a scenario allows.

    The numbers are those of `t2ibench frontier OLD NEW --task TASK`; .95 intervals decide.
    """
    wanted = {
        "contradictions": asked.contradictions,
        "spill_over": asked.spill_over,
        "group_diversity": asked.group_diversity,
    }
    limits = {name: limit for name, limit in wanted.items() if limit is not None}
    if not limits:
        return
    if pair is None:
        for name, limit in limits.items():
            yield Held(name, _in_words(name, limit), "undecided", NO_OLDER_RUN)
        return
    try:
        runs = [_compared("old", pair.first), _compared("new", pair.second)]
        (remedy,) = frontier(runs, task).remedies
    except T2IBenchError as error:
        for name, limit in limits.items():
            yield Held(name, _in_words(name, limit), "undecided", error.message)
        return
    for name, limit in limits.items():
        yield _held(name, limit, remedy)


def _compared(name: str, run: MeasuredRun) -> ComparedRun:
    return ComparedRun(name, run.results, run.paired)


def _in_words(name: str, limit: float) -> str:
    return {
        "contradictions": (
            "the share of guided images that contradict their prompt rises by no more than "
            f"{limit:g}"
        ),
        "spill_over": f"leans of tests about other attributes move by no more than {limit:g}",
        "group_diversity": (
            "diversity of the guided images of each group changes by no less than "
            f"{signed(limit)}"
        ),
    }[name]


def _held(name: str, limit: float, remedy: Remedy) -> Held:
    words = _in_words(name, limit)
    if name == "group_diversity":
        number = remedy.numbers["diversity"]
        if number.change is None or not remedy.diversity:
            return Held(name, words, "undecided", number.reason)
        changes = [(group.group, group.change) for group in remedy.diversity]
        outcomes = [at_least(change.low, change.high, limit) for _, change in changes]
        shows = "; ".join(f"{group} {_shown(change)}" for group, change in changes)
        return Held(name, words, worst(outcomes), shows)
    number = remedy.numbers[
        "contradictions" if name == "contradictions" else "spill_over"
    ]
    if number.change is None:
        return Held(name, words, "undecided", number.reason)
    return Held(name, words, _at_most(number.change, limit), _shown(number.change))


def _at_most(change: Contrast, most: float) -> Outcome:
    """Return whether a change is known to be no more than `most`."""
    if change.low is None or change.high is None:
        return "undecided"
    return at_least(-change.high, -change.low, -most)


def _shown(change: Contrast) -> str:
    return f"{signed(change.value)} ({ends_in_words(change.low, change.high)})"
