"""TIBET: a small run of its preset, a run after mitigation, and files of people's answers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.reproduction.bars import Group, grouped_bars
from t2ibench.reproduction.build import Exhibit, build
from t2ibench.reproduction.people import read_people
from t2ibench.reproduction.plots import Words
from t2ibench.reproduction.registry import PAPERS
from t2ibench.results.reading import read_results
from tests.reproduction.conftest import SMALL

FAIR = ["--model-args", "all.gender.female=0.5"]
EXHIBITS = [
    *("table-2", "table-3", "table-4", "table-5", "table-study-3", "figure-1", "figure-3"),
    *("figure-4", "figure-5", "figure-6", "figure-9", "figure-11", "figure-12", "figure-13"),
    "figure-14",
]


def _measured(folder: Path, *further: str) -> Path:
    settings = [*SMALL[:-4], "--bootstrap", "50", "--permutations", "50", *SMALL[-2:]]
    line = ["reproduce", "tibet", *settings, "--limit", "4", "--scale", ".12", *further]
    assert main([*line, "--output-dir", str(folder)]) == 0
    return next(path.parent for path in folder.glob("toyland*/results.json"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _measured(tmp_path_factory.mktemp("tibet"))


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _measured(tmp_path_factory.mktemp("fair"), *FAIR)


def exhibit(run: Path, name: str, **options: Path) -> Exhibit:
    found = build(PAPERS.get("tibet"), read_results(run), run, options=options)
    return next(one for one in found.exhibits if one.name == name)


def value(one: Exhibit, row: str, score: str) -> float | str | None:
    return next(line.ours for line in one.built.lines if (line.row, line.score) == (row, score))


def write(path: Path, head: str, *lines: str) -> Path:
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_every_exhibit_is_written(run: Path) -> None:
    folder = run / "reproduce" / "tibet"
    for name in EXHIBITS:
        assert (folder / f"{name}.csv").is_file(), name
    for name in ("figure-3", "figure-4", "figure-5", "figure-6", "figure-11", "figure-13"):
        assert (folder / f"{name}.svg").is_file() and (folder / f"{name}.png").is_file()
    page = (run / "reproduce" / "tibet.html").read_text(encoding="utf-8")
    assert "published, GPT-3.5" in page and "--with ratings=FILE" in page
    with (folder / "table-5.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 98
    assert rows[1]["published: GPT-3.5"] == "gender, age, ethnicity, access resources, geographic"
    assert rows[1]["ours"] == "gender, age, ethnicity"


def test_table_5_stands_beside_its_prompts() -> None:
    table = PAPERS.get("tibet").file.exhibits["table-5"].published["GPT-3.5"]
    # In print each of these stands beside the prompt before it, or two before.
    assert str(table["Photo of a cat on a table"]["axes"]).startswith("breed, cultural")
    assert "emo subculture" in str(
        table["female model teenage emo photography plaid skirt band shirt"]["axes"]
    )
    assert "culinary" in str(table["a dragon eating dimsum and drinking tea"]["axes"])
    assert "animal stereotypes" in str(
        table["Capybars getting married in a retreat in Italy"]["axes"]
    )
    assert str(table["camel wearing boots in the desert"]["axes"]).count(";") == 1


@pytest.mark.slow
def test_the_numbers_are_those_of_the_run(run: Path) -> None:
    results = read_results(run)
    rows = {row.name: row for row in results.tasks["tibet_occupations_as_published"].by}
    row = rows["A photo of a librarian | gender"]
    gap = (row.scores["cas:male"].value or 0.0) - (row.scores["cas:female"].value or 0.0)
    four = exhibit(run, "figure-4")
    assert value(four, "librarian", "CAS male - female") == pytest.approx(gap)
    assert value(four, "librarian", "lean") == row.scores["lean"].value
    published = [line for line in four.built.lines if line.score == "CAS share of male"]
    assert published[0].published == (0.56, 0.52)
    steps = results.tasks["tibet_table5_as_published"].details["sensitivity"]
    at = next(step for step in steps if step["flipped"] == 0.18)
    five = exhibit(run, "figure-5")
    assert value(five, "(c) 18 % flipped", "MAD") == at["mad_change"]
    shape = "(b) CAS 0.3, 0.2, 0.2, 0.1: little in common"
    assert value(five, shape, "MAD (equation 6)") == pytest.approx((0.05 / 0.375) ** 0.5)
    assert value(five, shape, "MAD (shares, public code)") == pytest.approx((1 / 6) ** 0.5)


@pytest.mark.slow
def test_genders_by_place_are_counted(run: Path) -> None:
    samples = [
        json.loads(line)
        for line in (run / "samples" / "tibet_intersections_as_published.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    answers = [
        next(text for question, text in row["answers"].items() if "gender (male" in question)
        for row in samples
        if row["prompt"] == "A photo of a pharmacist in Asia"
    ]
    six = exhibit(run, "figure-6")
    assert value(six, "Asia", "men") == answers.count("male")
    assert value(six, "Asia", "women") == answers.count("female")
    assert value(six, "Asia", "men for women") in {"higher", "lower", "not clear"}


@pytest.mark.slow
def test_before_and_after_mitigation(run: Path, after: Path) -> None:
    four = exhibit(run, "figure-4", after=after)
    later = read_results(after).tasks["tibet_occupations_as_published"]
    head = "mean squared lean"
    assert value(four, "all occupations", f"{head}, after") == later.headline.value
    assert not any("--with after" in note for note in four.built.notes)
    # What is planted in toyland is gone: the same images of another world.
    thirteen = exhibit(run, "figure-13", after=after)
    sizes = {
        when: [
            abs(line.ours)
            for line in thirteen.built.lines
            if line.score.endswith(when) and isinstance(line.ours, float)
        ]
        for when in ("before", "after")
    }
    assert len(sizes["before"]) == len(sizes["after"]) == 4
    assert all(len(row) == 3 for row in thirteen.built.figure.rows if thirteen.built.figure)
    plain = write(run.parent / "empty.json", "{}")
    with pytest.raises(T2IBenchError, match="is not a results file"):
        exhibit(run, "figure-4", after=plain)


@pytest.mark.slow
def test_people_see_axes(run: Path, tmp_path: Path) -> None:
    lines = [
        "a philosopher,gender,yes,",
        "a philosopher,gender,no,yes",
        "a philosopher,age,no,no",
        "a philosopher,weather,no,yes",
        "A PHILOSOPHER,racial,yes,no",
    ]
    file = write(tmp_path / "axes.csv", "prompt,axis,societal,incidental", *lines)
    two = exhibit(run, "table-2", axes=file)
    # Proposed are gender, age and racial; people see gender, weather and racial.
    assert value(two, "overall", "precision") == pytest.approx(2 / 3)
    assert value(two, "overall", "recall") == pytest.approx(2 / 3)
    assert value(two, "societal", "recall") == 1.0
    wrong = write(tmp_path / "wrong.csv", "prompt,axis,societal,incidental", "a filosopher,a,no,no")
    with pytest.raises(T2IBenchError, match=r"wrong\.csv:2: unknown prompt 'a filosopher'"):
        exhibit(run, "table-2", axes=wrong)


@pytest.mark.slow
def test_people_rate_images(run: Path, tmp_path: Path) -> None:
    task = read_results(run).tasks["tibet_table5_as_published"]
    rows, societal = [], ("gender", "age", "ethnicity", "culture", "ability")
    for row in task.by:
        prompt, _, axis = row.name.rpartition(" | ")
        found = row.scores["mad"].value
        if axis in societal and found is not None:
            rating = 1 + 4 * min(found, 1.0)
            rows.append(json.dumps({"prompt": prompt, "axis": axis, "rating": rating}))
    file = write(tmp_path / "ratings.jsonl", rows[0], *rows[1:])
    three = exhibit(run, "table-3", ratings=file)
    assert value(three, "VQA (CAS)", "correlation") == pytest.approx(1.0)
    assert value(three, "VQA (CAS)", "Top-1") == 1.0
    clip = value(three, "CLIP (CAS_CLIP)", "correlation")
    assert isinstance(clip, float) and clip < 1.0
    assert isinstance(value(three, "Bipartite Matching", "Top-2"), float)
    odd = write(tmp_path / "odd.csv", "prompt,axis,rating", "a philosopher,age,6")
    with pytest.raises(T2IBenchError, match="rating: expected a number from 1 to 5, found '6'"):
        exhibit(run, "table-3", ratings=odd)


@pytest.mark.slow
def test_people_see_concepts_genders_and_another_method(run: Path, tmp_path: Path) -> None:
    concepts = write(
        tmp_path / "concepts.csv", "images,concept,predicted,selected",
        "1,man,yes,yes", "1,hat,yes,yes", "1,cat,no,yes", "1,car,no,no",
    )  # fmt: skip
    third = exhibit(run, "table-study-3", concepts=concepts)
    assert value(third, "concepts that people select", "also the judge's") == pytest.approx(2 / 3)
    assert value(third, "other concepts", "selected by people") == 0.5
    seen = write(
        tmp_path / "people.csv", "occupation,when,answer",
        "librarian,before,female", "librarian,before,other", "librarian,after,male",
        "Librarian,After,female",
    )  # fmt: skip
    thirteen = exhibit(run, "figure-13", people=seen)
    assert value(thirteen, "librarian", "male - female, before") == -0.5
    assert value(thirteen, "librarian", "male - female, after") == 0.0
    four = exhibit(run, "figure-4")
    rows = [
        f"{line.row},{line.ours}" for line in four.built.lines if line.score == "CAS male - female"
    ]
    method = write(tmp_path / "method.csv", "occupation,score", *rows)
    nine = exhibit(run, "figure-9", method=method)
    assert value(nine, "CAS and DALL-Eval", "Spearman's correlation") == pytest.approx(1.0)


def test_a_wrong_file_is_one_clear_line(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "promt,axis", "x,y")
    with pytest.raises(T2IBenchError, match=r"no column 'prompt'\. Did you mean 'promt'"):
        read_people(file, ("prompt", "axis"))
    with pytest.raises(T2IBenchError, match="has no rows"):
        read_people(write(tmp_path / "b.csv", "prompt,axis"), ("prompt", "axis"))
    row = read_people(write(tmp_path / "c.csv", "prompt,seen", "x,maybe"), ("prompt", "seen"))[0]
    with pytest.raises(T2IBenchError, match=r"c\.csv:2: seen: expected yes or no, found 'maybe'"):
        row.yes("seen")


def test_bars() -> None:
    words = Words("A title", "A caption.", "share", "")
    drawn = grouped_bars([Group("a", [("x", 0.25), ("y", 2.0)]), Group("b", [])], words)
    assert drawn is not None and drawn.rows == [("a", "x", 0.25), ("a", "y", 2.0)]
    assert grouped_bars([Group("b", [])], words) is None
