"""Reads the quantities that a scenario's limits are about from the results of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scipy.special import ndtri, stdtrit

from t2ibench.decisions.answer_rows import counted_rows
from t2ibench.decisions.changed import Changed
from t2ibench.decisions.leaning import Leaning
from t2ibench.decisions.profile import (
    MeasurementRule,
    RunReference,
    Scenario,
    ShareReference,
)
from t2ibench.decisions.quantity import Quantity
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns, RunPair
from t2ibench.decisions.squared import Squared
from t2ibench.errors import did_you_mean, shown
from t2ibench.methods.core.score_names import split_score_name
from t2ibench.results.schema import Headline, Row, Score, TaskResult
from t2ibench.results.score_difference import Difference

_LEAN = "lean"
# The level of the stored interval that a mean square is decided by, or a wider one.
_SQUARE_LEVEL = 0.95
_MANY = 1e6  # degrees of freedom of a normal distribution


@dataclass(frozen=True, slots=True)
class Evidence:
    """The quantities of a scenario, and why some that it needs do not exist.

    Attributes:
        quantities: What the rule decides about.
        reasons: Why it cannot, as clauses; empty where everything is there.
    """

    quantities: tuple[Quantity, ...] = ()
    reasons: tuple[str, ...] = ()


class MissingQuantity(Exception):
    """Raised where a number that a scenario needs does not exist; its text is the reason."""


def evidence(
    scenario: Scenario,
    run: MeasuredRun,
    older: MeasuredRun | None,
    references: ReferenceRuns,
) -> Evidence:
    """Return the quantities of a scenario in a run; the run must have its tasks."""
    quantities: list[Quantity] = []
    reasons: list[str] = []
    try:
        quantities += _quantities(scenario, run, older, references)
    except MissingQuantity as missing:
        reasons.append(str(missing))
    if not quantities and not reasons:
        reasons.append("there is nothing to decide about")
    return Evidence(tuple(quantities), tuple(reasons))


def _quantities(
    scenario: Scenario,
    run: MeasuredRun,
    older: MeasuredRun | None,
    references: ReferenceRuns,
) -> Iterator[Quantity]:
    rule = scenario.measurement
    if rule.kind == "comparison":
        if older is None:
            raise MissingQuantity(
                "nothing was compared: give the older run first, `t2ibench decide OLD NEW`"
            )
        yield _change(RunPair(older, run), rule.task[0], "", one_sided=True)
        return
    if isinstance(scenario.reference, RunReference):
        pair = RunPair(references.get(scenario.reference.run), run)
        for row in _compared_rows(rule, run):
            yield _change(pair, rule.task[0], row, one_sided=False)
        return
    if rule.kind == "family":
        yield _family(rule, run)
    elif rule.kind == "headline":
        task = run.results.tasks[rule.task[0]]
        yield headline_quantity(rule.task[0], task, _even_point(scenario))
    else:
        yield from _rows(scenario, run.results.tasks[rule.task[0]])


def _compared_rows(rule: MeasurementRule, run: MeasuredRun) -> list[str]:
    """Return the names of the rows that are compared; an empty name is the headline."""
    if rule.kind == "headline":
        return [""]
    rows = [row.name for row in run.results.tasks[rule.task[0]].by]
    return [_named(rule, rows)] if rule.kind == "row" else rows


def _named(rule: MeasurementRule, rows: Sequence[str]) -> str:
    """Return the name of the row that a rule names; raise with the nearest if it is not there."""
    if rule.row not in rows:
        raise MissingQuantity(
            f"{rule.task[0]} has no row '{shown(rule.row)}'.{did_you_mean(rule.row, rows)}"
        )
    return rule.row


def _even_point(scenario: Scenario) -> float:
    """Return the lean that is acceptable without a limit."""
    if isinstance(scenario.reference, ShareReference):
        return 2 * scenario.reference.share - 1
    return 0.0


def headline_quantity(name: str, task: TaskResult, even: float = 0.0) -> Quantity:
    """Return the headline of a task as a quantity; raise MissingQuantity without an interval."""
    headline = task.headline
    if headline.value is None or headline.ci_low is None or headline.ci_high is None:
        why = headline.reason or task.reason or "the test gave none"
        raise MissingQuantity(f"the headline of {name} has no interval: {why}")
    if headline.scale == "mean_square":
        if even:
            raise MissingQuantity(
                f"the headline of {name} is a mean square, which is compared with even shares alone"
            )
        return _square(name, task)
    if headline.scale != _LEAN:
        raise MissingQuantity(
            f"the headline of {name} is of the scale '{headline.scale}', for which no rule has "
            "known error rates"
        )
    return _lean_headline(name, headline, task.settings.level, even)


def _lean_headline(name: str, headline: Headline, level: float, even: float) -> Leaning:
    inference = getattr(headline, headline.question or "fixed_prompts")
    df = (inference.df if inference is not None else None) or _MANY
    errors = _errors(headline, float(stdtrit(df, (1 + level) / 2)))
    fixed_part = 0.0
    narrow = headline.fixed_prompts
    if headline.question == "prompt_population" and narrow is not None:
        fixed_part = _fixed_part(headline, narrow.interval)
    return Leaning(
        name=name,
        value=(headline.value or 0.0) - even,
        error_below=errors[0],
        error_above=errors[1],
        df=df,
        fixed_part=fixed_part,
    )


def _fixed_part(headline: Headline, narrow: tuple[float, float] | None) -> float:
    """Return the share of the variance that lies between prompts, from both intervals."""
    width = (headline.ci_high or 0.0) - (headline.ci_low or 0.0)
    if narrow is None or not width > 0:
        return 0.0
    return max(0.0, 1 - ((narrow[1] - narrow[0]) / width) ** 2)


def _errors(score: Score, quantile: float) -> tuple[float, float]:
    """Return the standard errors behind both ends of an interval.

    An end that was cut to the scale, from -1 to 1, tells nothing: its error is infinite.
    """
    value = score.value or 0.0
    if score.ci_low is None or score.ci_high is None:
        return math.inf, math.inf
    below = (value - score.ci_low) / quantile if score.ci_low > -1 else math.inf
    above = (score.ci_high - value) / quantile if score.ci_high < 1 else math.inf
    return below, above


def _square(name: str, task: TaskResult) -> Squared:
    headline = task.headline
    level = task.settings.level
    if level < _SQUARE_LEVEL - 1e-9:
        raise MissingQuantity(
            f"{name} was scored with --level {level:g}; a mean square is decided by an interval "
            "of 0.95 or more"
        )
    quantile = float(ndtri((1 + level) / 2))
    value = headline.value or 0.0
    low = headline.ci_low or 0.0
    high = headline.ci_high or 0.0
    unanswered = task.scores.get("unanswered_share")
    least = task.scores.get("squared_lean_least")
    most = task.scores.get("squared_lean_most")
    if unanswered is not None and unanswered.value:
        # Whatever the images without an answer show.
        if least is None or most is None or least.value is None or most.value is None:
            raise MissingQuantity(
                f"{unanswered.value:.0%} of the answers of {name} are unknown, and nothing bounds "
                "what they could be"
            )
        low = low - max(value - least.value, 0.0)
        high = high + max(most.value - value, 0.0)
    return Squared(
        name=name,
        square=value,
        error_below=(value - low) / quantile,
        error_above=(high - value) / quantile if high < 1 else math.inf,
    )


def _family(rule: MeasurementRule, run: MeasuredRun) -> Squared:
    """Return the mean of the mean squares of several tasks of one family.

    Their errors are added as if they moved together, since tasks may share images.
    """
    tasks = {name: run.results.tasks[name] for name in rule.task}
    families = sorted({task.family for task in tasks.values()})
    if len(families) > 1:
        raise MissingQuantity(
            f"{', '.join(tasks)} are of the families {' and '.join(families)}; headlines are "
            "averaged within one family alone"
        )
    squares = [_square_of(name, task) for name, task in tasks.items()]
    count = len(squares)
    return Squared(
        name=f"{count} tasks of {families[0]}",
        square=sum(part.square for part in squares) / count,
        error_below=sum(part.error_below for part in squares) / count,
        error_above=sum(part.error_above for part in squares) / count,
    )


def _square_of(name: str, task: TaskResult) -> Squared:
    quantity = headline_quantity(name, task)
    if isinstance(quantity, Squared):
        return quantity
    raise MissingQuantity(
        f"the headline of {name} is a signed lean; a family needs mean squares"
    )


def _rows(scenario: Scenario, task: TaskResult) -> Iterator[Quantity]:
    rule = scenario.measurement
    name = rule.task[0]
    counted = counted_rows(task, scenario)
    if counted.reason:
        raise MissingQuantity(counted.reason)
    if counted.rows:
        yield from counted.rows.values()
        return
    rows = [
        row
        for row in task.by
        if _LEAN in row.scores and rule.attribute in (None, row.group)
    ]
    if not rows:
        raise MissingQuantity(f"{name} has no rows with a lean")
    if rule.kind == "row":
        wanted = _named(rule, [row.name for row in rows])
        rows = [row for row in rows if row.name == wanted]
        if len(rows) > 1:
            groups = ", ".join(str(row.group) for row in rows)
            raise MissingQuantity(
                f"{name} has several rows '{shown(wanted)}' ({groups}): name one in "
                "measurement.attribute"
            )
    for row in rows:
        yield _lean_row(scenario, row, task.settings.level)


def _lean_row(scenario: Scenario, row: Row, level: float) -> Leaning:
    score, factor = row.scores[_LEAN], 1.0
    if scenario.reference == "labour statistics":
        score, factor = _beside_statistics(scenario, row), 2.0
    if score.value is None or score.ci_low is None or score.ci_high is None:
        why = score.reason or "the test gave none"
        raise MissingQuantity(f"the row '{shown(row.name)}' has no interval: {why}")
    images = row.n_images or 0
    if images < 2:
        raise MissingQuantity(f"the row '{shown(row.name)}' has fewer than two images")
    df = images - 1
    even: float | None = _even_point(scenario)
    if scenario.reference == "labour statistics":
        even = None
    below, above = _errors(score, float(stdtrit(df, (1 + level) / 2)))
    return Leaning(
        name=row.name,
        value=factor * score.value - (even or 0.0),
        error_below=factor * below,
        error_above=factor * above,
        df=df,
        images=images,
        even=even,
    )


def _beside_statistics(scenario: Scenario, row: Row) -> Score:
    """Return a row's share less that of labour statistics."""
    for name, score in row.scores.items():
        kind, group = split_score_name(name)
        if kind == "share_minus_reference" and scenario.measurement.group in (
            None,
            group,
        ):
            return score
    raise MissingQuantity(
        f"the row '{shown(row.name)}' has no share of labour statistics to be compared with"
    )


def _change(pair: RunPair, task: str, row: str, *, one_sided: bool) -> Changed:
    """Return the difference of two runs; raise MissingQuantity if they were not compared."""
    difference = pair.difference(task, row)
    what = f"the row '{shown(row)}' of {task}" if row else task
    if difference is None:
        raise MissingQuantity(
            f"{what} is not in both runs, so that it was not compared"
        )
    if not difference.comparable:
        why = "; ".join(difference.notes) or "there is no difference"
        raise MissingQuantity(f"{what} was not compared: {why}")
    low, high, value = _ends(difference, one_sided)
    if low is None or high is None or value is None:
        raise MissingQuantity(f"the difference of {what} has no interval")
    quantile = float(ndtri((1 + difference.level) / 2))
    return Changed(
        name=row or task,
        value=value,
        error_below=(value - low) / quantile,
        error_above=(high - value) / quantile,
        one_sided=one_sided,
    )


def _ends(
    difference: Difference, one_sided: bool
) -> tuple[float | None, float | None, float | None]:
    """Return both ends and the value: of the change in size, or of second minus first."""
    if one_sided:
        change = difference.change
        if change is None:
            return None, None, None
        return change.low, change.high, change.value
    if difference.value is None or difference.low is None or difference.high is None:
        return None, None, None
    return -difference.high, -difference.low, -difference.value
