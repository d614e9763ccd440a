"""What tests claim in simulated worlds, as a table: claims, coverage, bias and what decides.

A cell of a calibration asks whether figures lie in bands. Here worlds are simulated that a method
need not survive, so the table says what happens in them: how often a test is significant, how often
it is clear, which is significant and not inconclusive, and which controls made it inconclusive.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from tabulate import tabulate

from t2ibench.cli.usage import not_negative, positive
from t2ibench.methods import combine, score
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.inference import Question
from t2ibench.pipeline.progress import ConsoleReporter
from t2ibench.stats import holm
from t2ibench.worker_pool import each_of
from tools.calibration.cells import Cell, Sample, ToylandWorld

_ALPHA = 0.05
_Z = 1.96
HEADS = (
    "world",
    "sets",
    "p < .05",
    "clear",
    "decided",
    "covers",
    "bias",
    "rows p < .05",
    "a row clear",
    "inconclusive by",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one data set shows; None where it shows nothing of it.

    Attributes:
        is_significant: Whether the headline's p is below .05.
        is_clear: Whether it is, and no control contradicts it.
        is_decided: Whether the headline has a value and no control contradicts it.
        covers: Whether the headline's interval contains the truth, of decided ones.
        error: The headline less the truth, of decided ones.
        rows_reject: Share of the fair rows whose p is below .05.
        has_clear_row: Whether a fair row is clear after Holm's correction over all rows.
        contradicted_by: The controls that make it inconclusive.
    """

    is_significant: bool
    is_clear: bool
    is_decided: bool
    covers: bool | None = None
    error: float | None = None
    rows_reject: float | None = None
    has_clear_row: bool | None = None
    contradicted_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A cell whose outcomes are simulated.

    Attributes:
        cell: The cell; its name is the table's.
        question: Which question's test and interval; None for the headline's.
        score_name: The score of the task that stands in for the headline; None for the headline.
        truth: What that score is in truth.
    """

    cell: Cell
    question: Question | None = None
    score_name: str | None = None
    truth: float | None = None


def outcome_of(trial: Trial, seed: int, number: int) -> Outcome:
    """Return what one data set of a trial shows."""
    sample, result = simulated(trial.cell, seed, number)
    if trial.score_name is not None:
        return _of_score(trial, sample, result)
    headline = result.headline
    question = trial.question or headline.question
    inference = headline.inference.get(question)
    p = inference.p if inference is not None else None
    interval = inference.interval if inference is not None else None
    estimate = Estimate(headline.value, p=p, interval=interval, reason=headline.reason)
    return _outcome(trial, sample, result, estimate, sample.truth.get(question))


def simulated(cell: Cell, seed: int, number: int) -> tuple[Sample, MethodResult]:
    """Return one data set of a cell, and its result through the public functions."""
    assert not isinstance(cell.world, ToylandWorld)
    digest = hashlib.sha256("\0".join(cell.key).encode()).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "little"), number])
    settings = cell.settings.model_copy(update={"seed": int(rng.integers(2**31))})
    sample = cell.world.draw(rng)
    scored = score(cell.task, sample.evidence, settings)
    return sample, combine(cell.task, [scored], settings)


def _of_score(trial: Trial, sample: Sample, result: MethodResult) -> Outcome:
    """Return the outcome of a score of the task, or of its first row that has it."""
    name = trial.score_name or ""
    tables = [result.scores, *(item.scores for item in result.by)]
    estimates = [scores[name] for scores in tables if name in scores]
    estimate = estimates[0] if estimates else Estimate.undefined("it is absent")
    return _outcome(trial, sample, result, estimate, trial.truth)


def _outcome(
    trial: Trial,
    sample: Sample,
    result: MethodResult,
    estimate: Estimate,
    truth: float | None,
) -> Outcome:
    is_significant = _is_significant(estimate)
    is_decided = estimate.value is not None and not result.inconclusive
    covers = None
    error = None
    if is_decided and truth is not None:
        assert estimate.value is not None
        error = estimate.value - truth
        if estimate.interval is not None:
            low, high = estimate.interval
            covers = low <= truth <= high
    rows_reject, has_clear_row = _fair_rows(trial.cell, sample, result)
    contradicting = [
        name.partition(":")[0]
        for name, control in result.controls.items()
        if control.contradicts
    ]
    return Outcome(
        is_significant=is_significant,
        is_clear=is_significant and is_decided,
        is_decided=is_decided,
        covers=covers,
        error=error,
        rows_reject=rows_reject,
        has_clear_row=has_clear_row,
        contradicted_by=tuple(dict.fromkeys(contradicting)),
    )


def _is_significant(estimate: Estimate) -> bool:
    """Return whether a test rejects, or an interval without a test leaves 0 out."""
    if estimate.p is not None:
        return estimate.p < _ALPHA
    return estimate.interval is not None and not (
        estimate.interval[0] <= 0 <= estimate.interval[1]
    )


def _fair_rows(
    cell: Cell, sample: Sample, result: MethodResult
) -> tuple[float | None, bool | None]:
    """Return the share of fair rows that reject, and whether one is clear after Holm."""
    p_values = []
    are_fair = []
    for item in result.by:
        for name, row in item.scores.items():
            base, _, suffix = name.partition(":")
            key = f"{item.name}:{suffix}" if suffix else item.name
            is_row = name == cell.row_score or (suffix and base == cell.row_score)
            if is_row and key in sample.rows:
                p_values.append(row.p)
                are_fair.append(sample.rows[key] == 0)
    adjusted = holm(p_values)
    fair = [p for p, is_fair in zip(p_values, are_fair, strict=True) if is_fair]
    fair_adjusted = [
        p for p, is_fair in zip(adjusted, are_fair, strict=True) if is_fair
    ]
    tested = [p for p in fair if p is not None]
    if not fair:
        return None, None
    share = float(np.mean([p < _ALPHA for p in tested])) if tested else None
    clear = any(p is not None and p < _ALPHA for p in fair_adjusted)
    return share, clear and not result.inconclusive


@dataclass
class Tally:
    """The outcomes of a trial's data sets."""

    outcomes: list[Outcome] = field(default_factory=list)

    def rate(self, attribute: str) -> str:
        """Return the mean of an attribute with 1.96 standard errors, as text."""
        values = self._values(attribute)
        if not len(values):
            return "–"
        return f"{_short(values.mean())} ± {_short(_margin(values))}"

    def row(self, name: str) -> list[str]:
        """Return the trial's row of the table."""
        columns = ("is_significant", "is_clear", "is_decided", "covers", "error")
        return [
            name,
            str(len(self.outcomes)),
            *(self.rate(column) for column in columns),
            self.rate("rows_reject"),
            self.rate("has_clear_row"),
            self.controls(),
        ]

    def controls(self) -> str:
        """Return the controls that made data sets inconclusive, with the share of each."""
        counts = Counter(
            name for outcome in self.outcomes for name in outcome.contradicted_by
        )
        shares = [
            f"{name} {_short(count / len(self.outcomes))}"
            for name, count in counts.most_common()
        ]
        return ", ".join(shares) or "–"

    def _values(self, attribute: str) -> np.ndarray:
        values = [getattr(outcome, attribute) for outcome in self.outcomes]
        return np.array([value for value in values if value is not None], np.float64)


def _margin(values: np.ndarray) -> float:
    """Return 1.96 standard errors of a mean; of a rate of 0 or 1, by the rule of three."""
    spread = float(values.std())
    if spread == 0 and values[0] in (0.0, 1.0):
        return min(3.0 / len(values), 1.0)
    return _Z * spread / float(np.sqrt(len(values)))


def _short(value: float) -> str:
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def main(
    trials: Sequence[Trial], module: str, description: str, argv: Sequence[str] | None
) -> int:
    """Simulate trials and print their table."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tools.calibration.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sets", metavar="N", type=positive, default=200, help="of a world (200)")
    add("--workers", metavar="N", type=positive, help="processes (all cores)")
    add("--seed", metavar="N", type=not_negative, default=0, help="random seed (0)")
    add("--world", metavar="TEXT", default="", help="worlds whose name has it")
    arguments = parser.parse_args(argv)
    reporter = ConsoleReporter()
    rows = []
    for trial in trials:
        name = trial.cell.name
        if arguments.world not in name:
            continue
        with reporter.stage(f"World: {name}", arguments.sets, "sets") as ticker:
            outcomes = each_of(
                range(arguments.sets),
                partial(outcome_of, trial, arguments.seed),
                arguments.workers,
                lambda *_, advance=ticker.advance: advance(1),
            )
        rows.append(Tally(outcomes).row(name))
    print(tabulate(rows, headers=HEADS, tablefmt="github", disable_numparse=True))
    return 0
