"""Whether a cell holds: its rates beside the bands that they have to lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.inference import QUESTIONS
from tools.calibration.cells import Cell
from tools.calibration.simulate import ANY_ROW, Job, Table

REJECTS = (0.035, 0.065)  # of data sets without bias, at a level of .05
COVERS = (0.93, 0.97)  # of 95 % intervals
AGREES = (0.98, 1.0)  # of intervals that exclude 0 exactly where p is below .05
BIAS = 0.02  # of an expected headline, and between n and 2 n images
_USUALLY = 0.5  # of the data sets have a value, or its bias is that of chance
_Z = float(norm.ppf(0.975))


@dataclass(frozen=True, slots=True)
class Check:
    """One rate, or one bias, beside what it may be.

    Attributes:
        what: Such as 'fixed_prompts rejects' or 'bias'.
        estimate: What was found.
        low: Lower end of its Monte Carlo interval (95 %).
        high: Upper end.
        band: What it has to lie in.
        fails: Whether the Monte Carlo interval lies outside of the band.
    """

    what: str
    estimate: float
    low: float
    high: float
    band: tuple[float, float]
    fails: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a cell shows.

    Attributes:
        method: Name of its method.
        cell: Its name.
        sets: Data sets.
        checks: What was looked at; empty where the method failed.
        decided: Share of the data sets whose headline decides something: it has a value, and no
            control contradicts it.
        remark: Why it, or its rows, may be more cautious than the bands, or less.
        failed: How the method failed; None where it did not.
    """

    method: str
    cell: str
    sets: int
    checks: tuple[Check, ...]
    decided: float | None = None
    remark: str | None = None
    failed: str | None = None

    @property
    def problems(self) -> list[str]:
        """A line for each thing that does not hold."""
        where = f"{self.method}: {self.cell}"
        if self.failed:
            return [f"{where}: {self.failed}"]
        return [
            f"{where}: {check.what} {check.estimate:.3f} "
            f"[{check.low:.3f}, {check.high:.3f}], not in {check.band[0]:g} to {check.band[1]:g}"
            for check in self.checks
            if check.fails
        ]

    def check(self, what: str) -> Check | None:
        """A check by its name."""
        return next((check for check in self.checks if check.what == what), None)


def verdicts(
    jobs: Sequence[Job], tables: Mapping[tuple[str, str], Table | str]
) -> list[Verdict]:
    """What all cells show."""
    found = []
    for job in jobs:
        cell, table = job.cell, tables[job.cell.key]
        if isinstance(table, str):
            found.append(Verdict(*cell.key, job.sets, (), failed=table))
            continue
        half = tables.get((cell.task.method, cell.doubles)) if cell.doubles else None
        checks = _checks(cell, table, half if isinstance(half, dict) else None)
        decided = float(table["decided"].mean())
        why = (
            cell.liberal
            or cell.liberal_rows
            or cell.conservative
            or cell.conservative_rows
        )
        found.append(Verdict(*cell.key, job.sets, tuple(checks), decided, why))
    return found


def _checks(cell: Cell, table: Table, half: Table | None) -> list[Check]:
    checks: list[Check | None] = []
    whole = cell.conservative is not None
    for name in (*QUESTIONS, "rows"):
        cautious = whole or (name == "rows" and cell.conservative_rows is not None)
        is_liberal = cell.liberal is not None or (
            name == "rows" and cell.liberal_rows is not None
        )
        highest = np.inf if is_liberal else REJECTS[1]
        lowest = -np.inf if is_liberal else COVERS[0]
        checks += [
            _rate(
                f"{name} rejects",
                table,
                REJECTS,
                (-np.inf if cautious else REJECTS[0], highest),
            ),
            _rate(
                f"{name} covers",
                table,
                COVERS,
                (lowest, np.inf if cautious else COVERS[1]),
            ),
            None if cautious else _rate(f"{name} agrees", table, AGREES, AGREES),
        ]
    if cell.any_row:
        checks.append(_rate(ANY_ROW, table, (0.0, REJECTS[1]), (-np.inf, REJECTS[1])))
    if cell.identified:
        checks += [
            _rate("fair", table, COVERS, _high(COVERS) if whole else COVERS),
            _mean("bias", table["error"], np.zeros(1), table["value"]),
        ]
    if half is not None:
        checks.append(_mean("doubling", table["value"], half["value"], table["value"]))
    return [check for check in checks if check is not None]


def _high(band: tuple[float, float]) -> tuple[float, float]:
    """The band and all that is above it."""
    return band[0], np.inf


def _rate(
    what: str, table: Table, band: tuple[float, float], allowed: tuple[float, float]
) -> Check | None:
    """A share of the data sets, or the mean over them of a share of the rows."""
    values = table[what][np.isfinite(table[what])]
    if not len(values):
        return None
    estimate, low, high = rate_interval(values)
    return Check(what, estimate, low, high, band, low > allowed[1] or high < allowed[0])


def rate_interval(values: Float64Array) -> tuple[float, float, float]:
    """A mean share with Wilson's interval; rows of one data set are not taken for independent.

    Examples:
        >>> [round(end, 3) for end in rate_interval(np.array([1.0] * 5 + [0.0] * 95))]
        [0.05, 0.022, 0.112]
    """
    p, n = float(values.mean()), float(len(values))
    spread = float(values.var())
    # shares of several rows: as many as would vary as little
    if 0 < spread < p * (1 - p):
        n *= p * (1 - p) / spread
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    return p, float(middle - half), float(middle + half)


def rate_text(values: Float64Array) -> str:
    """Return a mean share with Wilson's interval, over the values that are defined.

    Examples:
        >>> rate_text(np.array([1.0] * 5 + [0.0] * 95)), rate_text(np.array([np.nan]))
        ('0.050 [0.022, 0.112]', '–')
    """
    defined = values[np.isfinite(values)]
    if not len(defined):
        return "–"
    rate, low, high = rate_interval(defined)
    return f"{rate:.3f} [{low:.3f}, {high:.3f}]"


def _mean(
    what: str, values: Float64Array, others: Float64Array, shown: Float64Array
) -> Check | None:
    """A difference of means.

    It fails only where most data sets have a value: what is shown of a few, because the others
    decide nothing, is what chance made large.
    """
    first, second = values[np.isfinite(values)], others[np.isfinite(others)]
    if len(first) < 2 or not len(second):
        return None
    estimate = float(first.mean() - second.mean())
    error = float(np.sqrt(first.var(ddof=1) / len(first) + second.var() / len(second)))
    low, high = estimate - _Z * error, estimate + _Z * error
    usual = float(np.isfinite(shown).mean()) >= _USUALLY
    fails = usual and (low > BIAS or high < -BIAS)
    return Check(what, estimate, low, high, (-BIAS, BIAS), fails)
