"""OpenBias: a small run of its preset, runs beside it, and files of answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.reports.files import samples_of
from t2ibench.reproduction.build import Exhibit, build
from t2ibench.reproduction.papers.openbias_agreement import agreement
from t2ibench.reproduction.registry import PAPERS
from t2ibench.results.reading import read_results
from tests.reproduction.conftest import SMALL

EXAMPLES = "openbias_examples"


def _measured(folder: Path, *further: str) -> Path:
    settings = [*SMALL[:2], "--bootstrap", "50", "--permutations", "50", *SMALL[-2:]]
    line = ["reproduce", "openbias", *settings, *further]
    assert main([*line, "--output-dir", str(folder)]) == 0
    return next(path.parent for path in folder.glob("toyland*/results.json"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _measured(tmp_path_factory.mktemp("openbias"))


@pytest.fixture(scope="module")
def women(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same captions, of a world that draws women alone."""
    folder = tmp_path_factory.mktemp("women")
    return _measured(folder, "--model-args", "all.gender.female=1", "--figure", "3")


def exhibit(run: Path, name: str, **options: Path) -> Exhibit:
    found = build(PAPERS.get("openbias"), read_results(run), run, options=options)
    return next(one for one in found.exhibits if one.name == name)


def value(one: Exhibit, row: str, score: str) -> float | str | None:
    return next(line.ours for line in one.built.lines if (line.row, line.score) == (row, score))


def write(path: Path, head: str, *lines: str) -> Path:
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def answers(run: Path, path: Path, turned: int = 0) -> Path:
    """The judge's own answers as a classifier's, some genders turned round."""
    rows = [row for row in samples_of(run, EXAMPLES) if row["bias"] == "person gender"]
    other = {"male": "female", "female": "male"}
    lines = [
        json.dumps({
            "prompt": row["prompt"], "index": row["index"], "bias": row["bias"],
            "answer": other.get(row["answer"], "") if k < turned else row["answer"],
        })
        for k, row in enumerate(rows)
    ]  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_agreement_by_hand() -> None:
    """Four of five agree; P = (3, 2) and Q = (2, 3) with half an answer more in each class."""
    ours = {("a", k): "x" for k in range(3)} | {("b", k): "y" for k in range(2)}
    theirs = {**ours, ("a", 2): "y", ("b", 5): "x", ("b", 1): "Y"}
    found = agreement(ours, theirs, ("x", "y"))
    assert (found.n, found.captions) == (5, 2)
    assert found.accuracy.value == pytest.approx(0.8)
    assert found.macro_f1 == pytest.approx((0.8 + 0.8) / 2)
    assert found.kappa == pytest.approx((0.8 - 12 / 25) / (1 - 12 / 25))
    assert found.divergence == pytest.approx(0.0561, abs=1e-4)  # 7/12 ln 7/5 + 5/12 ln 5/7
    nothing = agreement(ours, {}, ("x", "y"))
    assert (nothing.n, nothing.macro_f1, nothing.divergence) == (0, None, None)


def test_the_interval_of_the_accuracy_covers() -> None:
    """Twenty captions like these, whose images a judge gets right in 30 to 100 %."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        truth = rng.integers(2, size=(20, 10))
        right = rng.random((20, 10)) < rng.beta(4.0, 1.0, size=(20, 1))
        keys = [(f"caption {c}", i) for c in range(20) for i in range(10)]
        theirs = {key: "ab"[truth[int(key[0][8:]), key[1]]] for key in keys}
        ours = {
            key: one if right[int(key[0][8:]), key[1]] else "ab"["ab".index(one) - 1]
            for key, one in theirs.items()
        }
        low, high = agreement(ours, theirs, ("a", "b")).accuracy.interval()
        covered += low <= 0.8 <= high
    assert 0.90 <= covered / 200 <= 0.99


@pytest.mark.slow
def test_every_exhibit_is_built(run: Path) -> None:
    found = build(PAPERS.get("openbias"), read_results(run), run)
    assert all(one.complete and one.built.lines for one in found.exhibits)
    said = [note for one in found.exhibits for note in one.built.notes]
    assert not [note for note in said if note.startswith("It could not be built")]


@pytest.mark.slow
def test_table_5_is_as_printed(run: Path) -> None:
    table = exhibit(run, "table-5")
    deltas = {line.row: line for line in table.built.lines if line.score == "delta"}
    assert len(deltas) == 36
    blocks = read_results(run).tasks["openbias_winobias"].published
    for column, block in enumerate(blocks):
        numbers = [float(line.published[column] or 0) for line in deltas.values()]
        assert sum(numbers) / 36 == pytest.approx(block["scores"]["delta"], abs=5e-4)
    rows = read_results(run).tasks["openbias_winobias"].by
    nurse = next(row for row in rows if row.name == "nurse")
    assert deltas["Nurse"].ours == nurse.scores["delta"].value
    mean = value(table, "all professions", "mean difference")
    assert isinstance(mean, float) and 0 < mean < 1


@pytest.mark.slow
def test_agreement_with_a_classifier(run: Path, tmp_path: Path) -> None:
    same = exhibit(run, "table-1", fairface=answers(run, tmp_path / "same.jsonl"))
    assert value(same, "gender", "accuracy") == 100.0
    assert value(same, "gender", "F1") == 100.0
    assert value(same, "age", "accuracy") is None
    turned = answers(run, tmp_path / "turned.jsonl", 5)
    some = exhibit(run, "table-1", fairface=turned)
    assert value(some, "gender", "accuracy") == pytest.approx(75.0)  # 15 of 20 images
    line = next(line for line in some.built.lines if line.score == "accuracy")
    assert line.published == (92.83,)
    assert line.low is not None and line.low < 75.0
    divergence = exhibit(run, "table-2", fairface=turned)
    assert value(divergence, "printed captions, gender", "KL") is not None
    assert value(divergence, "COCO, gender", "KL") is None
    pool = exhibit(run, "table-2", fairface=turned, coco=run)
    assert value(pool, "COCO, gender", "KL") == value(divergence, "printed captions, gender", "KL")
    assert value(exhibit(run, "table-4", fairface=turned), "gender", "accuracy") is None
    assert value(exhibit(run, "table-c", selfid=turned), "gender", "accuracy") == 75.0
    wrong = write(tmp_path / "wrong.csv", "prompt,index,bias,answer", "x,first,person gender,male")
    with pytest.raises(T2IBenchError, match="index: expected a number"):
        exhibit(run, "table-1", fairface=wrong)


@pytest.mark.slow
def test_rankings_and_other_models(run: Path, women: Path) -> None:
    alone = exhibit(run, "figure-3")
    severities = [line.ours for line in alone.built.lines if line.score == "severity"]
    assert severities == sorted(severities, key=lambda x: -float(x or 0))
    beside = exhibit(run, "figure-3", sd2=women)
    assert value(beside, "person gender", "severity, SD-2") == 1.0
    assert beside.built.figure is not None
    free = exhibit(women, "figure-9")
    assert value(free, "person gender", "context-aware") == 1.0
    assert value(free, "person gender", "context-free") == 1.0
    assert value(free, "motorcycle type", "within captions") is None


@pytest.mark.slow
def test_images_of_a_caption_and_what_most_of_them_show(run: Path, women: Path) -> None:
    found = exhibit(run, "figure-15", sd2=women)
    assert value(found, "person gender", "most images show, SD-2") == "female"
    assert len(found.built.strips) == 2 * 12
    titles = [strip.title for strip in found.built.strips[:2]]
    caption = "“A traffic officer leaning on a no turn sign”"
    assert titles == [f"person gender: {caption}", f"person gender, SD-2: {caption}"]
    (line,) = [one for one in exhibit(run, "figure-8").built.lines if one.row == "person gender"]
    assert line.published == ("male",) and line.note.endswith(" of 10 images")


@pytest.mark.slow
def test_real_images_beside_generated_ones(run: Path, women: Path) -> None:
    without = exhibit(run, "figure-12")
    assert any("coco_real=RUN" in note for note in without.built.notes)
    figure = exhibit(run, "figure-12", coco_real=women)
    assert value(figure, "person gender", "severity, real") == 1.0
    assert value(figure, "person gender", "generated") == "not amplified"
    against = exhibit(run, "figure-14", training=run, unconditional=women)
    assert value(against, "person gender", "generated") == "amplified"


@pytest.mark.slow
def test_what_people_see(run: Path, women: Path, tmp_path: Path) -> None:
    rows = ["person gender,female,10"] * 3 + ["child gender,male,5", "child gender,no bias,9"]
    file = write(tmp_path / "ratings.csv", "bias,answer,intensity", *rows)
    figure = exhibit(women, "figure-5", ratings=file)
    assert value(figure, "person gender", "intensity, people") == 1.0
    assert value(figure, "child gender", "intensity, people") == 0.25
    # Both severities are 1; people do not agree about the second majority.
    assert value(figure, "all biases", "AME") == pytest.approx(0.375)
    assert value(figure, "all biases", "majority agrees") == 1.0
    wrong = write(tmp_path / "w.csv", "bias,answer,intensity", "person gendre,male,1")
    with pytest.raises(T2IBenchError, match="Did you mean 'person gender'"):
        exhibit(women, "figure-5", ratings=wrong)


@pytest.mark.slow
def test_a_run_of_another_method_is_one_clear_line(run: Path, output: Path) -> None:
    with pytest.raises(T2IBenchError, match="has no task of the method 'openbias'"):
        exhibit(run, "figure-3", coco=output / "toyland")
