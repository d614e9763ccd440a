"""Exhibits of one small run of all papers."""

from __future__ import annotations

import csv
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import t2ibench
from t2ibench.apps.papers.pages import html
from t2ibench.apps.papers.paper import PAPERS
from t2ibench.apps.papers.reproduction import build
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.results.files import read_results
from t2ibench.results.schema import Results
from tests.apps.papers.conftest import FEW, SMALL, exhibits, ours
from tests.conftest import Cli

pytestmark = [pytest.mark.nightly, pytest.mark.pictures]
FLOWERS = "t2iat_flowers_insects_as_published"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    sizes = {"openbias": SMALL[:2], "vibex": [*SMALL[:2], "--times", ".24"]}
    for paper in PAPERS.names():
        line = [*sizes.get(paper, SMALL), *FEW, "--output-dir", str(folder)]
        assert main(["reproduce", paper, *line]) == 0
    return folder / "toyland"


@pytest.fixture(scope="module")
def results(run: Path) -> Results:
    return read_results(run).with_earlier()


def pages(run: Path) -> dict[str, bytes]:
    files = (run / "reproduce").rglob("*")
    return {
        str(file.relative_to(run)): file.read_bytes()
        for file in files
        if file.is_file()
    }


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("paper", PAPERS.names())
def test_every_exhibit_has_its_numbers_and_files(run: Path, paper: str) -> None:
    found = exhibits(paper, run)
    assert all(one.complete for one in found.values())
    folder = run / "reproduce" / paper
    for name, one in found.items():
        assert not any("could not be built" in note for note in one.notes)
        assert one.lines or one.figure
        assert (folder / f"{name}.csv").is_file() == bool(one.rows)
        for kind in ("svg", "png", "pdf") if one.figure is not None else ():
            assert (folder / f"{name}.{kind}").stat().st_size > 1000


def test_a_call_makes_what_the_command_makes(run: Path, cli: Cli) -> None:
    before, images = pages(run), sorted((run / "images").rglob("*.png"))
    given: dict[str, Any] = {
        "n_bootstrap": 50,
        "n_permutations": 50,
        "control_encoder": "none",
    }
    given |= {"model": "toyland", "scale": 0.1, "limit": 4, "output_dir": run.parent}
    found = t2ibench.reproduce("t2iat", **given)
    assert found.folder == run and found.complete and pages(run) == before
    assert [one.name for one in found] == list(PAPERS.get("t2iat").file.exhibits)
    assert found.page is not None and found.page.is_file()
    written = {
        str(path.relative_to(run)) for exhibit in found for path in exhibit.paths
    }
    assert written == {name for name in before if name.startswith("reproduce/t2iat/")}
    line = [
        "reproduce",
        "t2iat",
        *SMALL,
        *FEW,
        "--output-dir",
        run.parent,
        "--table",
        "1",
    ]
    status, said, _ = cli(*line)
    assert status == 0 and "Table 1." in said and "Figure 3." not in said
    status, said, _ = cli("reproduce", "t2iat", "--run", run, "--figure", "4")
    assert status == 0 and "Figure 4." in said
    assert pages(run) == before and sorted((run / "images").rglob("*.png")) == images


def test_rows_are_the_records_of_the_csv_with_all_digits(
    run: Path, results: Results
) -> None:
    found = t2ibench.reproduce("t2iat", run=run, tables=1, figures=["4"])
    assert [exhibit.label for exhibit in found] == ["Table 1", "Figure 4"]
    table = found["Table 1"]
    written = rows_of(run / "reproduce/t2iat/table-1.csv")
    assert len(written) == 8 * 4
    for mine, row in zip(table.rows, written, strict=True):
        assert {k: "" if v is None else str(v) for k, v in mine.items()} == row
    assert list(table.to_pandas().columns) == list(table.rows[0])
    scores = results.tasks[FLOWERS].scores
    first, p = table.rows[:2]
    assert first["published: Stable Diffusion 2.1"] == 0.033
    mine = scores["differential_association"]
    assert (first["ours"], p["ours"]) == (mine.value, mine.p)
    assert first["ours - Stable Diffusion 2.1"] is None  # toyland is another encoder
    assert "not on one scale: the images were read by toyland" in table.notes[0]
    assert "only the first 4 stimuli" in table.notes[0]
    with pytest.raises(T2IBenchError, match="has no 'Table 9' here"):
        found["Table 9"]


def test_figures_show_every_image(run: Path, results: Results) -> None:
    rows = rows_of(run / "reproduce/t2iat/figure-3-points.csv")
    assert [row["images"] for row in rows] == ["10"] * 4
    for row in rows:
        quartiles = [
            float(row[name]) for name in ("lower_quartile", "median", "upper_quartile")
        ]
        assert quartiles == sorted(quartiles)
    heads = rows_of(run / "reproduce/t2iat/figure-4-points.csv")
    task = results.tasks["occupations_t2iat_as_published"]
    mine = {row.name: row.scores["association"].value for row in task.by}
    assert {row["row"]: float(row["head"]) for row in heads} == mine


def test_a_reproduction_lists_differences_from_the_paper(
    run: Path, results: Results
) -> None:
    found = build(PAPERS.get("t2iat"), results, run)
    for part in (
        "Model: toyland here, stabilityai/stable-diffusion-2-1 in the paper.",
        "size: 64 here, 512 in the paper.",
        "Encoder: toyland here, open_clip:ViT-L-14/openai in the paper.",
        "Images: 0.1 times the paper's number, rounded up.",
        "Only the first 4 stimuli of each concept.",
        "Permutations: 50 here, 1000 in the paper.",
    ):
        assert part in found.differs
    # Without a task, its lines have no number, the page says so, and the others stay.
    tasks = {name: task for name, task in results.tasks.items() if name != FLOWERS}
    found = build(PAPERS.get("t2iat"), results.model_copy(update={"tasks": tasks}), run)
    assert [one.name for one in found.exhibits if not one.complete] == [
        "table-1",
        "table-2",
    ]
    assert f"Not measured here: {FLOWERS}." in found.differs
    assert len(found.exhibits[0].lines) == 7 * 4 + 1


def test_an_alias_is_its_model(run: Path, results: Results) -> None:
    def said(name: str, **used: object) -> list[str]:
        given = {"name": name, "effective_settings": used, "settings": {"steps": 50}}
        model = results.model.model_copy(update=given)
        found = build(
            PAPERS.get("t2iat"), results.model_copy(update={"model": model}), run
        )
        heads = ("Model", "size", "steps", "guidance")
        return [line.partition(" in the paper")[0] for line in found.differs
                if line.startswith(heads)]  # fmt: skip

    assert said("sd21", height=512, width=512, guidance_scale=7.5) == []
    assert said("sdxl", height=512, width=768, num_inference_steps=20) == [
        "Model: sdxl here, stabilityai/stable-diffusion-2-1",
        "size: 512 x 768 here, 512",
        "steps: 20 here, 50",
        "guidance: 7.5",
    ]


def test_a_defect_of_one_exhibit_keeps_the_others(run: Path, results: Results) -> None:
    broken = Mock(side_effect=ZeroDivisionError("no images"))
    paper = PAPERS.get("t2iat")
    paper = replace(paper, builders={**paper.builders, "table-1": broken})
    found = build(paper, results, run)
    assert [one.name for one in found.exhibits if not one.complete] == ["table-1"]
    assert found.exhibits[0].remarks == [
        "It could not be built: ZeroDivisionError: no images."
    ]


def test_pages_escape_text(run: Path, results: Results) -> None:
    evil = "<script>alert(1)</script>"
    model = results.model.model_copy(update={"name": evil})
    page = html(
        build(PAPERS.get("t2iat"), results.model_copy(update={"model": model}), run)
    )
    assert evil not in page and "&lt;script&gt;" in page


def test_mcas_is_of_the_run(run: Path, results: Results) -> None:
    task, found = results.tasks["mcas_all_as_published"], exhibits("mcas", run)
    lines = {(one.row, one.score): one for one in found["table-3"].lines}
    assert len(lines) == 3 * len(task.by)
    assert lines["CEO", "MCAS"].published == (0.08, 0.09)
    for row in task.by:
        assert lines[row.name, "α"].ours == row.scores["bias_amplification"].value
        assert lines[row.name, "δ"].ours == row.scores["diffusion_bias"].value
    four = ours(found["table-4"])
    for group in ("male", "female", "all"):
        rows = [row.name for row in task.by if group in {"all", row.group}]
        alphas = [float(lines[name, "α"].ours or 0) for name in rows]
        assert four[f"{group}: α mean"] == pytest.approx(statistics.mean(alphas))
        assert four[f"{group}: α median of Table 3"] == statistics.median(alphas)
        error = statistics.stdev(alphas) / len(alphas) ** 0.5
        assert four[f"{group}: α ±"] == pytest.approx(error)
    assert four["all: α as a slope"] == task.scores["bias_amplification_slope"].value
    built = found["figure-2"]
    assert built.figure is not None
    assert sum(row[0] != "this model" for row in built.figure.rows) == 28 * 2
    # What lies beyond the figure is named below it.
    shown = {str(row[1]) for row in built.figure.rows if row[0] == "this model"}
    assert all(
        (row.name in shown) != (row.name in "".join(built.remarks)) for row in task.by
    )


def test_openbias_is_of_the_run(run: Path, results: Results) -> None:
    found = exhibits("openbias", run)
    deltas = [line for line in found["table-5"].lines if line.score == "delta"]
    assert len(deltas) == 36
    task = results.tasks["openbias_winobias"]
    for column, block in enumerate(task.published):
        numbers = [float(line.published[column] or 0) for line in deltas]
        assert sum(numbers) / 36 == pytest.approx(
            block["scores"]["relative_deviation"], abs=5e-4
        )
    rows = [row for row in task.by if "relative_deviation" in row.scores]
    measured = {
        row.name.lower(): row.scores["relative_deviation"].value for row in rows
    }
    mine = {line.row.lower(): line.ours for line in deltas if line.ours is not None}
    assert mine and all(measured[name] == value for name, value in mine.items())
    mean = ours(found["table-5"])["all professions: mean difference"]
    assert isinstance(mean, float) and 0 < mean < 1
    biases = {row.name: row.scores for row in results.tasks["openbias_examples"].by}
    severities = ours(found["figure-3"], "severity")
    assert severities["person gender"] == biases["person gender"]["severity"].value
    ranked = [float(value) for value in severities.values() if value is not None]
    assert ranked == sorted(ranked, reverse=True)
    nine = ours(found["figure-9"])
    assert (
        nine["person gender: context-free"]
        == biases["person gender"]["severity_free"].value
    )
    assert nine["motorcycle type: within captions"] is None


def test_tibet_is_of_the_run(run: Path, results: Results) -> None:
    task = results.tasks["tibet_occupations_as_published"]
    scores = next(
        row.scores for row in task.by if row.name == "A photo of a librarian | gender"
    )
    found = exhibits("tibet", run)
    four = ours(found["figure-4"])
    men, women = (
        scores[f"concept_association_score:{one}"].value for one in ("male", "female")
    )
    assert four["librarian: CAS male - female"] == pytest.approx(
        (men or 0.0) - (women or 0.0)
    )
    assert four["librarian: lean"] == scores["lean"].value
    assert four["all occupations: mean squared lean"] == task.headline.value
    by = {row.name: row for row in results.tasks["tibet_table5_as_published"].by}
    three = ours(found["figure-3"], "MAD")
    culture = by["a philosopher | culture"].scores["mean_absolute_deviation"].value
    assert three["culture"] == culture and len(three) > 3


def test_vibex_is_of_the_run(run: Path, results: Results) -> None:
    found = exhibits("vibex", run)
    tendencies = [line for line in found["table-2"].lines if line.score == "tendency"]
    queries = [line.note.partition(" ")[0] for line in tendencies]
    assert (queries[:20].count("forward"), queries.count("inverse")) == (16, 4)
    assert sum("; among TIBET's axes" in line.note for line in tendencies) == 12
    task = results.tasks["vibex_gender_as_published"]
    named = {row["concept"]: row["published"] for row in task.details["tendencies"]}
    printed = {line.row: line.published[0] for line in tendencies}
    assert named.items() <= printed.items() and len(printed) == 24
    verdicts = set(ours(found["table-2"], "verdict").values())
    places = {f"leans to {name}" for name in ("women", "men", "Germany", "Nigeria")}
    assert verdicts - {None} <= {"no lean", "inconclusive", *places}
    assert set(ours(found["figure-3"], "side").values()) <= {"latino", "caucasian"}
