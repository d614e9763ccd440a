"""`t2ibench calibrate` passes a method that holds, and fails one that does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from t2ibench.calibration.cells import Job, cells_of, choose
from t2ibench.calibration.simulate import COLUMNS, run_chunk, simulate
from t2ibench.calibration.verdicts import rate_interval, verdicts
from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four methods of another package; the last simulates nothing."""
    entries = dict(METHODS._entries)
    entries |= {name: f"tests.calibration.coins:{name.upper()}"
                for name in ("coin", "narrow", "broken", "silent")}  # fmt: skip
    monkeypatch.setattr(METHODS, "_entries", entries)
    cells_of.cache_clear()
    yield
    cells_of.cache_clear()


def test_a_method_of_a_package_that_holds_passes(cli: Cli) -> None:
    status, out, err = cli("calibrate", "--family", "coin", "--sets", "400", "--workers", "1")
    assert status == 0, err
    assert "## Coin" in out
    assert "3 cells: 3 hold, 0 do not." in err
    assert "| n → 2 n |" in out  # the cell of twice as many images is compared with its half


def test_intervals_that_are_too_narrow_fail(cli: Cli) -> None:
    status, out, err = cli("calibrate", "--family", "narrow", "--sets", "400", "--workers", "1")
    assert status == 1
    assert "narrow: fair: these rejects" in err
    assert "narrow: fair: these covers" in err
    assert "narrow: fair: rows covers" in err
    assert "**" in out


def test_a_method_that_fails_is_a_failed_cell_and_no_traceback(cli: Cli) -> None:
    status, out, err = cli("calibrate", "--family", "broken,coin", "--quick", "--workers", "1")
    assert status == 1
    assert "broken: fair: ZeroDivisionError: of no use" in err
    assert "2 cells: 1 hold, 1 do not." in err
    assert "**ZeroDivisionError: of no use**" in out


def test_the_figures_are_those_of_the_data_sets() -> None:
    jobs = choose(["coin"], sets=300, containing="lean .4")
    tables = simulate(jobs, seed=3)
    table = tables["coin", "lean .4"]
    assert isinstance(table, dict)
    assert abs(table["value"].mean() - 0.4) < 0.02
    assert table["error"] == pytest.approx(table["value"] - 0.4)
    assert np.isnan(table["these rejects"]).all()  # there is bias, so it is power
    assert table["these power"].mean() > 0.9
    fair = simulate(choose(["coin"], sets=300, containing="fair"), seed=3)["coin", "fair"]
    assert isinstance(fair, dict)
    # Binomial(80, .5) beyond 1.99 standard errors: .044 exactly, and as often with all rows.
    assert 0.01 < fair["these rejects"].mean() < 0.09
    assert fair["these agrees"].mean() == 1.0


def test_data_sets_depend_on_neither_workers_nor_chunks_nor_other_cells() -> None:
    job = Job("coin", "fair", 30)
    whole = run_chunk(0, (job, 0, 30))
    pieces = [run_chunk(0, (job, start, start + 10)) for start in (20, 0, 10)]
    assert not isinstance(whole, str)
    assert np.array_equal(whole, np.concatenate([pieces[k] for k in (1, 2, 0)]), equal_nan=True)
    alone = simulate([job])["coin", "fair"]
    among = simulate([Job("coin", "lean .4", 20), job])["coin", "fair"]
    assert isinstance(alone, dict) and isinstance(among, dict)
    for name in COLUMNS:
        assert np.array_equal(alone[name], among[name], equal_nan=True)
        assert np.array_equal(alone[name], whole[:, COLUMNS.index(name)], equal_nan=True)
    other = run_chunk(1, (job, 0, 30))
    assert not np.array_equal(whole, other, equal_nan=True)


def test_toyland_draws_the_shares_that_are_planted() -> None:
    jobs = choose(["coin"], toyland=True, sets=4000)
    assert jobs == [Job("coin", "toyland", 40)]
    table = simulate(jobs)["coin", "toyland"]
    assert isinstance(table, dict)
    assert abs(table["error"].mean()) < 0.1  # 800 images: a standard error of .032


def test_cautious_cells_fail_from_one_side_only() -> None:
    from dataclasses import replace

    cells = cells_of("coin")
    job = Job("coin", "fair", 300)
    table = simulate([job])["coin", "fair"]
    assert isinstance(table, dict)
    never = {**table, "these rejects": np.zeros(300), "these covers": np.ones(300)}
    (strict,) = verdicts([job], {("coin", "fair"): never})
    assert {line.split(": ")[2].split(" 0")[0].split(" 1")[0] for line in strict.problems} == {
        "these rejects", "these covers",
    }  # fmt: skip
    cells["fair"] = replace(cells["fair"], conservative="the test is exact")
    (cautious,) = verdicts([job], {("coin", "fair"): never})
    assert not cautious.problems
    often = {**table, "these rejects": np.ones(300)}
    (wrong,) = verdicts([job], {("coin", "fair"): often})
    assert len(wrong.problems) == 1


def test_rows_of_one_data_set_count_as_they_vary() -> None:
    """Ten rows that all reject together carry as much as one."""
    together = np.array([1.0] * 10 + [0.0] * 190)
    apart = np.full(200, 0.05) + np.tile([0.05, -0.05], 100)
    assert rate_interval(together)[0] == rate_interval(apart)[0] == pytest.approx(0.05)
    width = [high - low for _, low, high in map(rate_interval, (together, apart))]
    assert width[1] < width[0] / 3


def test_json_and_the_page_say_the_same(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "calibration.md"
    words = ("calibrate", "--family", "coin,narrow", "--quick", "--workers", "1")
    status, out, _ = cli(*words, "--json", "--output", page)
    found = json.loads(out)
    assert status == 1
    assert [cell["method"] for cell in found["cells"]] == ["coin", "narrow"]
    assert found["cells"][1]["checks"]["these covers"]["fails"]
    assert found["cells"][1]["problems"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Calibration\n")
    assert "t2ibench calibrate --family coin,narrow --quick" in text
    assert text.count("| fair |") == 2
    again = cli(*words, "--output", page)
    assert again[0] == 1
    assert page.read_text(encoding="utf-8").split("```")[2] == text.split("```")[2]


@pytest.mark.slow
def test_worker_processes_give_the_same_table() -> None:
    jobs = [job for job in choose(quick=True, sets=20) if job.method not in {"broken", "narrow"}]
    jobs = [job for job in jobs if job.method != "coin"][:1]
    here, there = simulate(jobs, workers=1), simulate(jobs, workers=2)
    assert here.keys() == there.keys()
    for key, table in here.items():
        other = there[key]
        if isinstance(table, str) or isinstance(other, str):
            assert table == other
            continue
        assert all(np.array_equal(table[name], other[name], equal_nan=True) for name in COLUMNS)


def test_bad_requests_are_one_line(cli: Cli, tmp_path: Path) -> None:
    for words, message in [
        (("--family", "coins"), "Did you mean 'coin'?"),
        (("--family", "silent"), "The method 'silent' has nothing to simulate."),
        (("--family", "coin", "--cell", "nothing"), "There is no such cell"),
        (("--family", "coin", "--output", tmp_path / "no" / "x.md"), "There is no folder"),
    ]:
        status, _, err = cli("calibrate", *words)
        assert (status, message in err, "Traceback" in err) == (1, True, False), err


def test_two_cells_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.calibration import coins

    twice = coins.coin_cells()[:1] * 2
    monkeypatch.setattr(coins, "coin_cells", lambda: twice)
    with pytest.raises(T2IBenchError, match="two cells of one name"):
        cells_of("coin")
