"""`run --budget`: never more images than allowed, most of them where intervals are widest."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.cli.values import budget
from t2ibench.pipeline import budget as budgets
from t2ibench.pipeline.plan import images_at, make_plan
from t2ibench.results.files import read_results
from t2ibench.results.record import RunRecord
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests import hand

Cli = Callable[..., tuple[int, str, str]]
TASKS = "t2iat_science_arts,openbias_winobias"
QUICK = ("--permutations", "200", "--bootstrap", "50", "--limit", "6")


def images_of(run: Path) -> int:
    """Attempts at distinct images."""
    return len({(row["prompt"], row["index"]) for row in hand.stored(run, "attempts")})


@pytest.mark.slow
def test_a_budget_is_kept_and_the_widest_interval_grows(cli: Cli, tmp_path: Path) -> None:
    words = ("run", "--model", "toyland", "--tasks", TASKS, *QUICK, "--output-dir", tmp_path)
    status, _, err = cli(*words, "--budget", "1300")
    assert status == 0, err
    generated = images_of(tmp_path / "toyland")
    assert 1000 < generated <= 1300
    assert f"{generated} of the 1300 images that the budget allows" in err
    tasks = read_results(tmp_path / "toyland").tasks
    # The pilot's interval of the association test is the wider one.
    assert "t2iat_science_arts: ±" in err and "times the pilot" in err
    share = {name: task.settings.times for name, task in tasks.items()}
    assert share["t2iat_science_arts"] > share["openbias_winobias"]
    # The same command finds everything there.
    assert cli(*words, "--budget", "1300")[0] == 0
    assert images_of(tmp_path / "toyland") == generated


def test_a_budget_that_holds_no_pilot_is_one_line(cli: Cli, tmp_path: Path) -> None:
    words = ("run", "--model", "toyland", "--tasks", TASKS, *QUICK, "--output-dir", tmp_path)
    status, _, err = cli(*words, "--budget", "50")
    assert status == 1 and "The smallest pilot of these tasks is" in err
    assert not (tmp_path / "toyland" / "images").exists()
    status, _, err = cli(*words, "--budget", "300", "--until-precise", ".3")
    assert status == 1 and "exclude each other" in err


def test_a_time_that_the_pilot_exceeds_is_refused_where_the_speed_is_known(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunRecord, "speed", lambda _: 0.5)
    words = ("run", "--model", "toyland", "--tasks", TASKS, *QUICK, "--output-dir", tmp_path)
    status, _, err = cli(*words, "--budget", "10s")
    assert status == 1 and "the budget is 10 seconds" in err and "--dry-run says which fit" in err
    assert not (tmp_path / "toyland" / "images").exists()


def test_a_time_is_spent_at_the_speed_of_the_pilot() -> None:
    assert budget("2h").seconds == 7200 and budget("90m").seconds == 5400
    assert budget("4000").images == 4000
    assert budgets._affordable(100, 10.0, 60.0) == 600
    assert budgets._affordable(100, 90.0, 60.0) == 100  # the pilot is made in any case
    with pytest.raises(Exception, match="neither a number of images"):
        budget("2 weeks")


def test_the_allocation_narrows_the_widest_interval() -> None:
    plan = make_plan(load_tasks(TASKS), Settings(limit=6))
    wide, narrow = sorted(plan.needs, reverse=True)  # t2iat, openbias
    pilot = {wide: 0.4, narrow: 0.4}
    widths = {
        wide: lambda times: 0.8 / math.sqrt(times),
        narrow: lambda times: 0.2 / math.sqrt(times),
    }
    first = images_at(plan, pilot)
    sizes = budgets._allocation(plan, widths, pilot, 2 * first)
    assert images_at(plan, sizes) <= 2 * first
    assert sizes[narrow] == 0.4 and sizes[wide] > 0.8
    # What more images do not help gets none, whatever its width.
    stuck = widths | {wide: lambda times: 0.8}
    assert budgets._allocation(plan, stuck, pilot, 2 * first)[wide] == 0.4
