"""Mandal et al. (2024): the data copied from the paper, and tables of a run."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.methods import needs
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.reproduction.build import Exhibit, build
from t2ibench.reproduction.plots import loess
from t2ibench.reproduction.preset import with_preset
from t2ibench.reproduction.registry import PAPERS
from t2ibench.results.reading import read_results
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings
from t2ibench.tasks.index import build_index
from tests.reproduction.conftest import SMALL

NAME = "mcas_all_as_published"
PAPER = PAPERS.get("mcas")


@pytest.fixture(scope="module")
def measured(output: Path) -> tuple[TaskResult, dict[str, Exhibit]]:
    """One target of each stereotype and category, with every exhibit."""
    words = ["reproduce", "mcas", *SMALL, "--scale", ".1", "--limit", "1"]
    assert main([*words, "--output-dir", str(output)]) == 0
    results = read_results(output / "toyland")
    found = build(PAPER, results, output / "toyland")
    return results.tasks[NAME], {one.name: one for one in found.exhibits}


def test_six_encoders() -> None:
    encoders = PAPER.file.preset.settings["encoder"]
    assert [name.removeprefix("open_clip:").removesuffix("/openai") for name in encoders] == [
        *("RN50", "RN50x4", "RN50x16", "RN101", "ViT-B-16", "ViT-B-32")
    ]


def test_the_summary_follows_from_table_3() -> None:
    """What the data file computes from Table 3 does follow, and Table 4 as printed nearly does."""
    table_3, table_4 = (PAPER.file.exhibits[name].published for name in ("table-3", "table-4"))
    shipped = build_index()[0].tasks["mcas_all"].spec
    assert isinstance(shipped, McasTask)
    sides = {target.name: target.stereotype for target in shipped.targets}
    for model, rows in table_3.items():
        assert list(rows) == list(sides)
        for group, side in (("male", "A"), ("female", "B"), ("all", None)):
            chosen = [values for name, values in rows.items() if side in {None, sides[name]}]
            assert len(chosen) == (28 if side is None else 14)
            printed = table_4[model][group]
            alphas = [float(values["α"] or 0) for values in chosen]
            deltas = [float(values["δ"] or 0) for values in chosen]
            assert printed["α mean of Table 3"] == pytest.approx(statistics.mean(alphas), abs=0.006)
            median = statistics.median(alphas)
            assert printed["α median of Table 3"] == pytest.approx(median, abs=0.0051)
            assert (printed["α least"], printed["α greatest"]) == (min(alphas), max(alphas))
            assert (printed["δ least"], printed["δ greatest"]) == (min(deltas), max(deltas))
            assert printed["δ mean"] == pytest.approx(statistics.mean(deltas), abs=0.0051)
    assert table_4["Stable Diffusion v2"]["male"]["α mean"] == 3.15  # the erratum


def test_a_targets_text_may_be_its_keyword(tmp_path: Path) -> None:
    settings = with_preset(PAPER, {"model": "toyland", "output_dir": str(tmp_path)})
    spec = build_index(list(map(Path, settings.include_path)))[0].tasks[NAME].spec
    assert isinstance(spec, McasTask)
    found = needs(spec, Settings())
    assert {"CEO", "Make-up Kit"} <= set(found.texts)
    assert "an image of a chief executive officer" not in found.texts
    images = found.images_by_prompt
    assert images["an image of a chief executive officer"] == 20
    assert images["an image of a teenage boy"] == 16
    assert sum(images.values()) == 128 + 560  # section 5.1 says 128 and 560
    # A task of before this key has the hash that it had.
    assert "text" not in McasTarget(name="CEO", prompt="a CEO").model_dump()
    with_text = McasTarget(name="CEO", prompt="a CEO", text="CEO")
    assert McasTarget.model_validate(with_text.model_dump()) == with_text


def test_tables_are_of_the_run(measured: tuple[TaskResult, dict[str, Exhibit]]) -> None:
    task, exhibits = measured
    assert len(task.by) == 8
    lines = {(one.row, one.score): one for one in exhibits["table-3"].built.lines}
    assert len(lines) == 3 * 8
    for row in task.by:
        assert lines[row.name, "α"].ours == row.scores["alpha"].value
        assert lines[row.name, "δ"].ours == row.scores["delta"].value
    assert lines["CEO", "MCAS"].published == (0.08, 0.09)
    summary = {(one.row, one.score): one for one in exhibits["table-4"].built.lines}
    for group in ("male", "female", "all"):
        alphas = [
            float(lines[row.name, "α"].ours or 0) for row in task.by if group in {"all", row.group}
        ]
        assert summary[group, "α mean"].ours == pytest.approx(statistics.mean(alphas))
        assert summary[group, "α median of Table 3"].ours == statistics.median(alphas)
        error = statistics.stdev(alphas) / len(alphas) ** 0.5
        assert summary[group, "α ±"].ours == pytest.approx(error)
    assert summary["all", "α as a slope"].ours == task.scores["alpha_slope"].value


def test_prompts_and_words_are_the_papers(
    measured: tuple[TaskResult, dict[str, Exhibit]],
) -> None:
    task, exhibits = measured
    assert [line.ours for line in exhibits["table-1"].built.lines] == ["as printed"] * 2
    lines = {line.row: line for line in exhibits["table-5"].built.lines}
    assert lines["all prompts"].ours == task.n_images
    assert lines["all prompts"].published == (668,)
    assert len([line for line in lines.values() if line.note == ""]) == len(task.by) + 8 + 3
    assert sum(len(strip.images) for strip in exhibits["table-1"].built.strips) == 8


def test_figures_have_published_points_and_ours(
    measured: tuple[TaskResult, dict[str, Exhibit]],
) -> None:
    task, exhibits = measured
    for name, models in (("figure-2", 2), ("figure-3", 1), ("figure-4", 1)):
        built = exhibits[name].built
        assert built.figure is not None
        points = [row for row in built.figure.rows if row[1] != "(curve)"]
        published = [row for row in points if row[0] != "this model"]
        assert len(published) == 28 * models
        # What lies beyond the figure is named below it.
        shown = {str(row[1]) for row in points if row[0] == "this model"}
        named = "".join(built.notes)
        for row in task.by:
            assert (row.name in shown) != (row.name in named)
        curves = {row[0] for row in built.figure.rows if row[1] == "(curve)"}
        assert curves >= ({"DALL-E 2"} if name == "figure-3" else set())
        assert bool(curves) == (name != "figure-2")


def test_loess() -> None:
    line = [(float(x), 2.0 * x + 1.0) for x in (0, 3, 1, 2, 5, 4, 7, *range(8, 16))]
    assert loess(line) == [pytest.approx(point) for point in sorted(line)]
    assert loess(line[:14]) == []


def test_without_a_run_the_published_points_stand(tmp_path: Path, output: Path) -> None:
    results = read_results(output / "toyland")
    results.tasks.clear()
    found = build(PAPER, results, None)
    assert [exhibit.complete for exhibit in found.exhibits] == [False] * 8
    figure = next(one for one in found.exhibits if one.name == "figure-2").built.figure
    assert figure is not None
    assert len(figure.rows) == 56
