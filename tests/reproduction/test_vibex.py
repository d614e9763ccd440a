"""ViBEx: a small run of its preset, photographs beside it, and files of people's answers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.reproduction.build import Exhibit, Reproduction, build
from t2ibench.reproduction.registry import PAPERS
from t2ibench.results.reading import read_results
from tests.reproduction.conftest import SMALL

# Half of the images show women, so nothing can lean to either for that reason alone.
FAIR = ["--model-args", "all.gender.female=0.5"]


def _measured(folder: Path, scale: str, *further: str) -> Path:
    settings = [*SMALL[:2], "--bootstrap", "50", "--permutations", "50", *SMALL[-2:]]
    line = ["reproduce", "vibex", *settings, "--scale", scale, *further]
    assert main([*line, "--output-dir", str(folder)]) == 0
    return next(path.parent for path in folder.glob("toyland*/results.json"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _measured(tmp_path_factory.mktemp("vibex"), ".24")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    return _measured(folder, ".08", *FAIR, "--figure", "3", "--table", "b")


def found_of(run: Path, **options: Path) -> Reproduction:
    return build(PAPERS.get("vibex"), read_results(run), run, options=options)


def exhibit(run: Path, name: str, **options: Path) -> Exhibit:
    return next(one for one in found_of(run, **options).exhibits if one.name == name)


def value(one: Exhibit, row: str, score: str) -> float | str | None:
    return next(line.ours for line in one.built.lines if (line.row, line.score) == (row, score))


def write(path: Path, head: str, *lines: str) -> Path:
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_every_exhibit_has_its_numbers(run: Path) -> None:
    found = found_of(run)
    assert all(one.complete for one in found.exhibits)
    assert not [
        note
        for one in found.exhibits
        for note in one.built.notes
        if note.startswith("It could not be built")
    ]
    assert {one.name for one in found.exhibits if one.built.figure is not None} == {
        *("figure-3", "figure-4", "figure-5", "figure-6", "figure-10", "figure-11", "figure-14")
    }
    for line in exhibit(run, "figure-2").built.lines:
        assert line.ours == line.published[0]


@pytest.mark.slow
def test_table_2_has_24_concepts_as_printed(run: Path) -> None:
    table = exhibit(run, "table-2")
    tendencies = [line for line in table.built.lines if line.score == "tendency"]
    assert len(tendencies) == 24
    queries = [line.note.partition(" ")[0] for line in tendencies]
    assert (queries[:20].count("forward"), queries.count("inverse")) == (16, 4)
    assert sum(line.note.endswith("among TIBET's axes") for line in tendencies) == 12
    spec = read_results(run).tasks["vibex_gender_as_published"]
    named = {row["concept"]: row["published"] for row in spec.details["tendencies"]}
    assert named == {line.row: line.published[0] for line in tendencies[:20]}


@pytest.mark.slow
def test_a_planted_lean_is_seen_in_table_2_and_figure_14(run: Path) -> None:
    """Toyland draws nurses as women and bosses as men."""
    figure = exhibit(run, "figure-14")
    assert value(figure, "nurse", "side") == "women"
    assert value(figure, "nurse", "confirmed") == "yes"
    table = exhibit(run, "table-2")
    verdicts = {line.row: line.ours for line in table.built.lines if line.score == "verdict"}
    assert len(verdicts) == 20
    assert set(verdicts.values()) <= {"leans to women", "leans to men", "no lean", "inconclusive",
                                      "leans to Germany", "leans to Nigeria"}  # fmt: skip


@pytest.mark.slow
def test_every_image_is_a_point(run: Path) -> None:
    found = read_results(run).tasks["vibex_figures_gender"]
    for name, points in (("figure-4", 3 * 24), ("figure-6", found.n_images)):
        drawn = exhibit(run, name).built.figure
        assert drawn is not None
        sizes = (
            sum(int(str(row[1])) for row in drawn.rows) if name == "figure-4" else len(drawn.rows)
        )
        assert sizes == points


@pytest.mark.slow
def test_photographs_stand_beside(run: Path, photographs: Path) -> None:
    without = exhibit(run, "table-b")
    assert value(without, "beard, gender", "D, photographs") is None
    assert any("photographs=RUN" in note for note in without.built.notes)
    beside = exhibit(run, "table-b", photographs=photographs)
    theirs = read_results(photographs).tasks["vibex_figures_gender"]
    row = next(row for row in theirs.by if row.name == "beard")
    assert value(beside, "beard, gender", "D, photographs") == row.scores["D"].value
    assert value(beside, "beard, gender", "D, generated") == value(
        without, "beard, gender", "D, generated"
    )
    figure = exhibit(run, "figure-3", photographs=photographs)
    assert value(figure, "male", "side, photographs") in {"latino", "caucasian"}


@pytest.mark.slow
def test_a_run_of_other_tasks_is_one_clear_line(run: Path, output: Path) -> None:
    with pytest.raises(T2IBenchError, match="has no task of this preset"):
        found_of(run, photographs=output / "toyland")


@pytest.mark.slow
def test_answers_of_fairface(run: Path, tmp_path: Path) -> None:
    rows = ["nurse,Female"] * 40 + ["doctor,male"] * 40 + ["doctor,no face"] * 10
    rows += ["happy,male", "happy,female"] * 20
    file = write(tmp_path / "fairface.csv", "concept,answer", *rows)
    figure = exhibit(run, "figure-14", fairface=file)
    assert value(figure, "nurse", "share of women") == 1.0
    assert value(figure, "doctor", "share of women") == 0.0
    notes = {line.row: line.note for line in figure.built.lines if line.score == "share of women"}
    assert notes["doctor"] == "40 images"
    confirmed = {line.row: line.ours for line in figure.built.lines if line.score == "confirmed"}
    assert (confirmed["nurse"], confirmed["doctor"]) == ("yes", "yes")
    assert confirmed["happy"] == "not clear"
    assert confirmed["young"] is None
    wrong = write(tmp_path / "wrong.csv", "concept,answer", "nurses,female")
    with pytest.raises(T2IBenchError, match="Did you mean 'nurse'"):
        exhibit(run, "figure-14", fairface=wrong)
    nothing = write(tmp_path / "nothing.csv", "concept,answer", "nurse,no face")
    with pytest.raises(T2IBenchError, match="has no answer that is female or male"):
        exhibit(run, "figure-14", fairface=nothing)


@pytest.mark.slow
def test_coded_trees_and_proposed_axes(run: Path, tmp_path: Path) -> None:
    rows = ["a,correct,no"] * 3 + ["a,relation problem,no", "b,concept problem,yes"]
    trees = write(tmp_path / "trees.csv", "participant,code,outlier", *rows)
    table = exhibit(run, "table-pilot", trees=trees)
    assert value(table, "all participants", "problems") == 2.0
    assert value(table, "without outliers", "correct") == 0.75
    assert value(table, "without outliers", "concept problem") == 0.0
    axes = tmp_path / "axes.yaml"
    axes.write_text(
        "id: axes\nversion: 1\nmethod: tibet\ntitle: Axes\ndescription: Axes of a prompt.\n"
        "citation: Nobody (2025).\ntags: [proposed]\nprompts:\n"
        "  - prompt: picture that shows a woman\n    axes:\n      - name: gender\n"
        "        counterfactuals: [{name: man, prompt: picture that shows a man}]\n",
        encoding="utf-8",
    )
    table = exhibit(run, "table-3", axes=axes)
    assert "gender" in str(value(table, "picture that shows a woman", "questions"))
    assert value(table, "picture that shows a man", "questions") is None
    axes.write_text("id: axes\n", encoding="utf-8")
    with pytest.raises(T2IBenchError):
        exhibit(run, "table-3", axes=axes)


@pytest.mark.slow
def test_the_tables_are_files_too(run: Path) -> None:
    with (run / "reproduce/vibex/table-b.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["published: FairFace"] == "0.653"
    assert (run / "reproduce/vibex.html").stat().st_size > 10_000
