"""Kendall's tau-b: hand cases, ties, and an interval that covers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from t2ibench.stats.correlation import kendall_tau

Cli = Callable[..., tuple[int, str, str]]


def test_by_hand() -> None:
    # Pairs of (1,1) (2,2) (2,3): one is tied in x, the other two agree: 2 / sqrt(2 * 3).
    assert kendall_tau([1, 2, 2], [1, 2, 3]).tau == pytest.approx(2 / math.sqrt(6))
    assert kendall_tau([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]).tau == -1
    assert math.isnan(kendall_tau([1, 1, 1], [1, 2, 3]).tau)


@pytest.mark.parametrize("y", [[1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1]])
def test_no_interval_where_every_pair_agrees(y: list[float]) -> None:
    """Six pairs in the same order, or as nearly as ties allow, show no perfect correlation."""
    found = kendall_tau([1, 2, 3, 4, 5, 6], y)
    assert found.tau == pytest.approx(1.0 if y[0] else 9 / math.sqrt(15 * 9))
    assert math.isnan(found.low) and math.isnan(found.high)
    assert found.p < 0.05


@pytest.mark.parametrize(("n", "correlation"), [(8, 0.76), (8, 0.95), (20, 0.0), (20, 0.6)])
def test_the_interval_covers(n: int, correlation: float) -> None:
    rng = np.random.default_rng(4)
    truth, covered, shown = 2 / math.pi * math.asin(correlation), 0, 0
    for _ in range(300):
        noise = rng.standard_normal((2, n))
        x, y = noise[0], correlation * noise[0] + math.sqrt(1 - correlation**2) * noise[1]
        found = kendall_tau(x, y)
        shown += not math.isnan(found.low)
        covered += found.low <= truth <= found.high
    assert shown > 200
    assert covered / shown >= 0.93


def test_the_verb_reads_a_csv(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "ratings.csv"
    lines = [f"{test},{k},{k if test == 'a' else -k}" for test in "ab" for k in range(6)]
    file.write_text("\n".join(["test,asc,human", *lines, "a,,3"]))
    status, out, error = cli(
        "label", "correlate", file, "--score", "asc", "--rating", "human", "--by", "test"
    )
    assert status == 0 and "+1.000" in out and "-1.000" in out
    assert "1 rows without one of the two numbers are left out." in error
    status, _, error = cli("label", "correlate", file, "--score", "acs", "--rating", "human")
    assert status == 1 and "Did you mean 'asc'?" in error
    file.write_text("asc,human\n1,x\n")
    status, _, error = cli("label", "correlate", file, "--score", "asc", "--rating", "human")
    assert status == 1 and f"{file}:2: 'x' is not a number." in error
