"""A calibration passes a method that holds, and fails one that does not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from t2ibench.methods import METHODS
from tests.conftest import Cli
from tests.tools import coins
from tools.calibration import occupations, openbias, pairs, several
from tools.calibration.__main__ import main
from tools.calibration.cells import Cell
from tools.calibration.families import FAMILIES, choose
from tools.calibration.kept import KeptChunks
from tools.calibration.simulate import COLUMNS, Job, run_chunk, simulate
from tools.calibration.thinned import ThinnedEvidence, ThinnedWorld
from tools.calibration.verdicts import rate_interval, verdicts

COINS = {name: partial(coins.fair_cells, name) for name in ("narrow", "broken")}
COINS["coin"] = coins.coin_cells


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three methods of another package."""
    added = {name: f"tests.tools.coins:{name.upper()}" for name in COINS}
    monkeypatch.setattr(METHODS, "_entries", {**METHODS._entries, **added})


@pytest.fixture
def calibrate(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Its exit status and what it printed."""

    def call(*words: object) -> tuple[int, str, str]:
        status = main([*map(str, words), "--workers", "1"], COINS)
        return (status, *capsys.readouterr())

    return call


def coin(name: str) -> Cell:
    return next(cell for cell in coins.coin_cells() if cell.name == name)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_quick_cell_of_every_family_has_a_headline(family: str) -> None:
    cells = {cell.name: cell for cell in FAMILIES[family]()}
    assert len(cells) == len(FAMILIES[family]())  # a cell's name seeds its data sets
    assert {cell.doubles for cell in cells.values()} <= {None, *cells}
    assert {cell.task.method for cell in cells.values()} == {family}
    quick = [cell for cell in cells.values() if cell.quick and cell.other is None]
    sample = run_chunk(0, (quick[0], range(1)))
    assert not isinstance(sample, str), sample
    found = dict(zip(COLUMNS, sample[0], strict=True))
    assert np.isfinite(found["error"])
    assert 1 in (found["fixed_prompts covers"], found["prompt_population covers"])


@pytest.mark.nightly
def test_a_method_that_holds_passes(calibrate: Cli) -> None:
    status, out, err = calibrate("--family", "coin", "--sets", "400")
    assert status == 0, err
    assert "## Coin" in out
    assert "3 cells: 3 hold, 0 do not." in err
    # the cell of twice as many images is compared with its half
    assert "| n → 2 n |" in out


def test_intervals_that_are_too_narrow_fail(calibrate: Cli) -> None:
    status, out, err = calibrate("--family", "narrow", "--sets", "400")
    assert status == 1
    for what in ("fixed_prompts rejects", "fixed_prompts covers", "rows covers"):
        assert f"narrow: fair: {what}" in err
    assert "**" in out


def test_a_method_that_fails_is_a_failed_cell_in_the_table(
    calibrate: Cli, tmp_path: Path
) -> None:
    page = tmp_path / "calibration.md"
    words = ("--family", "broken,coin", "--quick", "--output", page)
    status, out, err = calibrate(*words)
    assert (status, out) == (1, "")
    assert "broken: fair: ZeroDivisionError: of no use" in err
    assert "2 cells: 1 hold, 1 do not." in err
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Calibration\n")
    assert "python -m tools.calibration --family broken,coin --quick" in text
    assert text.count("| fair |") == 2
    assert "**ZeroDivisionError: of no use**" in text
    assert calibrate(*words)[0] == 1
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.nightly
def test_the_figures_are_those_of_the_data_sets() -> None:
    table = simulate([Job(coin("lean .4"), 300)], seed=3)["coin", "lean .4"]
    assert abs(table["value"].mean() - 0.4) < 0.02
    assert table["error"] == pytest.approx(table["value"] - 0.4)
    # there is bias, so it is power
    assert np.isnan(table["fixed_prompts rejects"]).all()
    assert table["fixed_prompts power"].mean() > 0.9
    fair = simulate([Job(coin("fair"), 300)], seed=3)["coin", "fair"]
    # Binomial(80, .5) beyond 1.99 standard errors: .044 exactly, and as often with all rows.
    assert 0.01 < fair["fixed_prompts rejects"].mean() < 0.09
    assert fair["fixed_prompts agrees"].mean() == 1.0


def test_data_sets_depend_on_neither_chunks_nor_other_cells() -> None:
    cell = coin("fair")
    whole = run_chunk(0, (cell, range(30)))
    pieces = [run_chunk(0, (cell, range(start, start + 10))) for start in (20, 0, 10)]
    assert np.array_equal(
        whole, np.concatenate([pieces[k] for k in (1, 2, 0)]), equal_nan=True
    )
    among = simulate([Job(coin("lean .4"), 20), Job(cell, 30)])["coin", "fair"]
    for number, name in enumerate(COLUMNS):
        assert np.array_equal(among[name], whole[:, number], equal_nan=True)
    assert not np.array_equal(whole, run_chunk(1, (cell, range(30))), equal_nan=True)


def test_a_calibration_that_was_stopped_goes_on(tmp_path: Path) -> None:
    job = Job(coin("fair"), 60)
    kept = KeptChunks(tmp_path, "a" * 64)
    advanced: list[int] = []
    whole = simulate([job], kept=kept)["coin", "fair"]
    chunks = sorted(kept.folder.iterdir())
    assert len(chunks) == 3
    chunks[0].unlink()
    before = {file: file.stat().st_mtime_ns for file in chunks[1:]}
    again = simulate([job], advance=advanced.append, kept=kept)["coin", "fair"]
    assert sum(advanced) == 60
    assert all(
        np.array_equal(whole[name], again[name], equal_nan=True) for name in COLUMNS
    )
    assert {file: file.stat().st_mtime_ns for file in chunks[1:]} == before
    # Figures of other code are simulated again.
    assert KeptChunks(tmp_path, "b" * 64).get(0, job.cell, range(25)) is None


def test_cautious_cells_fail_from_one_side_only() -> None:
    job = Job(coin("fair"), 300)
    table = simulate([job])["coin", "fair"]
    changed = {
        "fixed_prompts rejects": np.zeros(300),
        "fixed_prompts covers": np.ones(300),
    }
    never = table | changed
    (strict,) = verdicts([job], {("coin", "fair"): never})
    assert {check.what for check in strict.checks if check.fails} == changed.keys()
    job = Job(replace(job.cell, conservative="the test is exact"), 300)
    (cautious,) = verdicts([job], {("coin", "fair"): never})
    assert not cautious.problems
    often = {**table, "fixed_prompts rejects": np.ones(300)}
    (wrong,) = verdicts([job], {("coin", "fair"): often})
    assert len(wrong.problems) == 1


def test_rows_of_one_data_set_count_as_they_vary() -> None:
    """Ten rows that all reject together carry as much as one."""
    together = np.array([1.0] * 10 + [0.0] * 190)
    apart = np.full(200, 0.05) + np.tile([0.05, -0.05], 100)
    assert rate_interval(together)[0] == rate_interval(apart)[0] == pytest.approx(0.05)
    width = [high - low for _, low, high in map(rate_interval, (together, apart))]
    assert width[1] < width[0] / 3


@pytest.mark.nightly
def test_worker_processes_give_the_same_table() -> None:
    jobs = choose(["t2iat"], quick=True, sets=60)[:1]
    ((key, here),) = simulate(jobs, workers=1).items()
    there = simulate(jobs, workers=2)[key]
    assert all(
        np.array_equal(here[name], there[name], equal_nan=True) for name in COLUMNS
    )


def test_bad_requests_are_one_line(calibrate: Cli, tmp_path: Path) -> None:
    for words, message in [
        (("--family", "coins"), "Did you mean 'coin'?"),
        (("--family", "coin", "--cell", "nothing"), "There is no such cell"),
        (
            ("--family", "coin", "--output", tmp_path / "no" / "x.md"),
            "There is no folder",
        ),
    ]:
        status, _, err = calibrate(*words)
        assert (status, message in err, err.count("\n")) == (1, True, 1), err


def test_two_runs_are_compared_by_their_roots() -> None:
    """What is known of both worlds is the difference of their root mean squares."""
    (cell,) = (one for one in openbias.cells() if one.other is not None and one.quick)
    table = simulate([Job(cell, 5)])[cell.key]
    assert (
        np.isnan(table["error"]).all()
        and np.isnan(table["fixed_prompts rejects"]).all()
    )
    assert (table["decided"] == 1).all() and 0.2 < table["value"].mean() < 0.7
    assert table["fixed_prompts covers"].mean() > 0.7
    assert np.isin(table["rows power"], (0, 1)).all()


def test_the_tail_of_rows_is_what_holm_reads() -> None:
    """In fair worlds alone: no row that leans in truth is a false one."""
    cells = {cell.name: cell for cell in occupations.cells()}
    fair = cells["visible groups, no association; 20 stimuli, 16 and 5 images"]
    sample = run_chunk(0, (fair, range(1)))
    assert not isinstance(sample, str), sample
    found = dict(zip(COLUMNS, sample[0], strict=True))
    assert found["any row rejects"] in (0.0, 1.0)
    leaning = replace(cells["lean .4; 8 stimuli, 10 and 5 images"], any_row=True)
    sample = run_chunk(0, (leaning, range(1)))
    assert not isinstance(sample, str), sample
    found = dict(zip(COLUMNS, sample[0], strict=True))
    assert np.isnan(found["any row rejects"])


def test_a_thinned_world_has_fewer_images_and_says_so() -> None:
    (cell,) = (
        cell for cell in occupations.cells() if cell.name.startswith("half of the")
    )
    assert isinstance(cell.world, ThinnedWorld)
    evidence = cell.world.draw(np.random.default_rng(0)).evidence
    sizes = {}
    assert isinstance(evidence, ThinnedEvidence)
    for prompt, rows in evidence.embeddings.items():
        images = evidence.images(prompt, len(rows))
        sizes[prompt] = len(images.indices)
        assert images.excluded.total() == len(rows) - len(images.indices)
    assert set(sizes.values()) == {5, 20, 40}


def test_pairs_of_runs_are_compared_and_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        pairs.main(["--pairs", "2", "--workers", "1", "--world", "one test of eight"])
        == 0
    )
    table = capsys.readouterr().out
    assert "the runs differ" in table and table.count("one test of eight") == 2


def test_several_runs_are_compared_and_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = "one of 5 runs"
    assert several.main(["--sets", "2", "--workers", "1", "--world", world]) == 0
    table = capsys.readouterr().out
    assert "square's slope covered" in table and table.count(world) == 1
    # The odd run is found, by leans and by mean squares.
    far = several.SeveralWorld("far", (0.0, 0.0, 0.9), tests=2)
    assert several.outcome(far, 0)[:3] == [1.0, 1.0, 1.0]


def test_models_that_differ_much_are_told_apart_in_the_right_direction() -> None:
    world = pairs.PairWorld("far apart", 0.0, (0.95, 0.95), tests=4, images=40)
    headlines = [test for test in pairs.differences_of(world, 0) if not test.row]
    assert [test.verdict for test in headlines] == ["first", "first", "tie", "tie"]
    assert pairs.claims(world, 0)[:2] == (True, True)
