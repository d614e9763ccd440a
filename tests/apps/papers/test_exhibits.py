"""Exhibits of one small run of all papers, runs beside it, and files of people's answers."""

from __future__ import annotations

import csv
import json
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import t2ibench
from t2ibench.apps.papers.pages import html, markdown, sheet, tiles
from t2ibench.apps.papers.registry import PAPERS
from t2ibench.apps.papers.reproduction import build
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.results.files import read_results
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Results
from tests.apps.papers.conftest import FEW, SMALL, exhibits, ours, write
from tests.conftest import Cli

pytestmark = pytest.mark.nightly
EXAMPLES, FLOWERS = "openbias_examples", "t2iat_flowers_insects_as_published"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    sizes = {"openbias": SMALL[:2], "vibex": [*SMALL[:2], "--scale", ".24"]}
    for paper in PAPERS.names():
        line = [*sizes.get(paper, SMALL), *FEW, "--output-dir", str(folder)]
        assert main(["reproduce", paper, *line]) == 0
    return folder / "toyland"


@pytest.fixture(scope="module")
def women(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same prompts in a world that draws women alone."""
    folder = tmp_path_factory.mktemp("women")
    line = [*FEW, "--model-args", "all.gender.female=1", "--output-dir", str(folder)]
    for paper, shown, size in (
        ("openbias", ["--figure", "3"], SMALL[:2]),
        ("tibet", ["--figure", "4", "--figure", "12"], SMALL),
        ("vibex", ["--figure", "3", "--table", "b"], [*SMALL[:2], "--scale", ".08"]),
    ):
        assert main(["reproduce", paper, *shown, *size, *line]) == 0
    (file,) = folder.glob("toyland*/results.json")
    return file.parent


@pytest.fixture(scope="module")
def results(run: Path) -> Results:
    return read_results(run).with_earlier()


def pages(run: Path) -> dict[str, bytes]:
    files = (run / "reproduce").rglob("*")
    return {str(file.relative_to(run)): file.read_bytes() for file in files if file.is_file()}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def settings(run: Path) -> dict[str, Any]:
    few = {"n_bootstrap": 50, "n_permutations": 50, "control_encoder": "none"}
    return {"model": "toyland", "scale": 0.1, "limit": 4, "output_dir": run.parent, **few}


@pytest.mark.parametrize("paper", PAPERS.names())
def test_every_exhibit_has_its_numbers_and_files(run: Path, paper: str) -> None:
    found = exhibits(paper, run)
    assert all(one.complete for one in found.values())
    folder = run / "reproduce" / paper
    for name, one in found.items():
        assert not any("could not be built" in note for note in one.notes)
        assert one.built.lines or one.built.strips or one.built.figure
        assert (folder / f"{name}.csv").is_file() == bool(one.rows)
        for kind in ("svg", "png") if one.built.figure is not None else ():
            assert (folder / f"{name}.{kind}").stat().st_size > 1000


def test_a_call_makes_what_the_command_makes(run: Path, cli: Cli) -> None:
    before, images = pages(run), sorted((run / "images").rglob("*.png"))
    found = t2ibench.reproduce("t2iat", **settings(run))
    assert found.folder == run and found.complete and pages(run) == before
    assert [one.name for one in found] == list(PAPERS.get("t2iat").file.exhibits)
    assert found.page is not None and found.page.is_file()
    written = {str(path.relative_to(run)) for exhibit in found for path in exhibit.paths}
    assert written == {name for name in before if name.startswith("reproduce/t2iat/")}
    line = ["reproduce", "t2iat", *SMALL, *FEW, "--output-dir", run.parent, "--table", "1"]
    status, said, _ = cli(*line)
    assert status == 0 and "Table 1." in said and "Figure 3." not in said
    status, said, _ = cli("reproduce", "t2iat", "--run", run, "--figure", "4")
    assert status == 0 and "Figure 4." in said
    assert pages(run) == before and sorted((run / "images").rglob("*.png")) == images


def test_rows_are_the_records_of_the_csv_with_all_digits(run: Path, results: Results) -> None:
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
    assert (first["ours"], p["ours"]) == (
        scores["differential_association"].value,
        scores["differential_association"].p,
    )
    assert first["ours - Stable Diffusion 2.1"] == pytest.approx(
        scores["differential_association"].value - 0.033
    )
    with pytest.raises(T2IBenchError, match="has no 'Table 9' here"):
        found["Table 9"]


def test_figures_show_every_image(run: Path, results: Results) -> None:
    rows = rows_of(run / "reproduce/t2iat/figure-3-points.csv")
    assert [row["images"] for row in rows] == ["10"] * 4
    assert all(
        float(r["lower_quartile"]) <= float(r["median"]) <= float(r["upper_quartile"]) for r in rows
    )
    heads = rows_of(run / "reproduce/t2iat/figure-4-points.csv")
    task = results.tasks["occupations_t2iat_as_published"]
    mine = {row.name: row.scores["association"].value for row in task.by}
    assert {row["row"]: float(row["head"]) for row in heads} == mine
    six = exhibits("vibex", run)["figure-6"].built.figure
    assert six is not None and len(six.rows) == results.tasks["vibex_figures_gender"].n_images


def test_what_differs_is_said(run: Path, results: Results) -> None:
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
    assert [one.name for one in found.exhibits if not one.complete] == ["table-1", "table-2"]
    assert f"Not measured here: {FLOWERS}." in found.differs
    assert len(found.exhibits[0].built.lines) == 7 * 4 + 1


def test_an_alias_is_its_model(run: Path, results: Results) -> None:
    def said(name: str, **used: object) -> list[str]:
        given = {"name": name, "effective_settings": used, "settings": {"steps": 50}}
        model = results.model.model_copy(update=given)
        found = build(PAPERS.get("t2iat"), results.model_copy(update={"model": model}), run)
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
    def broken(_: object) -> None:
        raise ZeroDivisionError("no images")

    paper = PAPERS.get("t2iat")
    paper = replace(paper, builders={**paper.builders, "table-1": broken})
    found = build(paper, results, run)
    assert [one.name for one in found.exhibits if not one.complete] == ["table-1"]
    assert found.exhibits[0].built.notes == ["It could not be built: ZeroDivisionError: no images."]


def test_pages_escape_text_and_show_images(run: Path, results: Results, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    model = results.model.model_copy(update={"name": evil})
    found = build(PAPERS.get("t2iat"), results.model_copy(update={"model": model}), run)
    page = html(found)
    assert evil not in page and "&lt;script&gt;" in page
    assert page.count("data:image/webp;base64,") == 12 * 4
    assert 'alt="a person studying science, image 0"' in page
    strips = found["Figure 2"].built.strips
    assert [strip.title for strip in strips[:3]] == [
        f"science, {gender}" for gender in ("neutral", "male", "female")
    ]
    for strip in strips:  # one image of each stimulus that was drawn
        assert len({image.prompt for image in strip.images}) == len(strip.images) == 4
    assert strips[1].images[0].prompt == "a male studying science"
    assert sheet(strips) == sheet(strips)
    with Image.open(run / "reproduce" / "t2iat" / "figure-2-images.png") as picture:
        assert picture.height > picture.width  # twelve rows of four
    found.results.model.name = ""
    assert "(t2iat/figure-2-images.png)" in markdown(found)
    # Images that are gone or changed are left out.
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    images = exhibits("t2iat", copy)["figure-2"].built.strips[0].images
    images[0].path.unlink()
    images[1].path.write_bytes(b"no image")
    assert len(tiles(exhibits("t2iat", copy)["figure-2"].built.strips[0])) == 2


def test_t2iats_ratings(run: Path, tmp_path: Path) -> None:
    """Ratings in the order of the scores correlate by 1, in the reverse order by -1."""
    asc = ours(exhibits("t2iat", run)["table-2"], "asc")
    order = sorted(asc, key=lambda name: float(asc[name] or 0))
    for sign, names in ((1.0, order), (-1.0, order[::-1])):
        lines = [f"{name},{k / 10}" for k, name in enumerate(names)]
        file = write(tmp_path / "ratings.csv", "concept,rating", *lines)
        found = ours(exhibits("t2iat", run, ratings=file)["table-2"])
        assert found["all concepts: Kendall's tau"] == sign
        assert found[f"{names[3]}: rating"] == 0.3


def test_mcas_is_of_the_run(run: Path, results: Results) -> None:
    task, found = results.tasks["mcas_all_as_published"], exhibits("mcas", run)
    lines = {(one.row, one.score): one for one in found["table-3"].built.lines}
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
    assert set(ours(found["table-1"]).values()) == {"as printed"}
    five = {line.row: line for line in found["table-5"].built.lines}
    assert five["all prompts"].ours == task.n_images
    assert five["all prompts"].published == (668,)
    assert sum(line.note == "" for line in five.values()) == len(task.by) + 8 + 3
    for name, models in (("figure-2", 2), ("figure-3", 1), ("figure-4", 1)):
        built = found[name].built
        assert built.figure is not None
        points = [row for row in built.figure.rows if row[1] != "(curve)"]
        assert sum(row[0] != "this model" for row in points) == 28 * models
        # What lies beyond the figure is named below it.
        shown = {str(row[1]) for row in points if row[0] == "this model"}
        assert all((row.name in shown) != (row.name in "".join(built.notes)) for row in task.by)
        assert (len(points) < len(built.figure.rows)) == (name != "figure-2")


def test_openbias_is_of_the_run(run: Path, women: Path, results: Results) -> None:
    found, beside = exhibits("openbias", run), exhibits("openbias", run, sd2=women)
    deltas = [line for line in found["table-5"].built.lines if line.score == "delta"]
    assert len(deltas) == 36
    task = results.tasks["openbias_winobias"]
    for column, block in enumerate(task.published):
        numbers = [float(line.published[column] or 0) for line in deltas]
        assert sum(numbers) / 36 == pytest.approx(block["scores"]["relative_deviation"], abs=5e-4)
    rows = [row for row in task.by if "relative_deviation" in row.scores]
    measured = {row.name.lower(): row.scores["relative_deviation"].value for row in rows}
    mine = {line.row.lower(): line.ours for line in deltas if line.ours is not None}
    assert mine and all(measured[name] == value for name, value in mine.items())
    mean = ours(found["table-5"])["all professions: mean difference"]
    assert isinstance(mean, float) and 0 < mean < 1
    severities = [value for value in ours(found["figure-3"], "severity").values() if value]
    assert severities == sorted(severities, key=lambda x: -float(x))
    assert ours(beside["figure-3"])["person gender: severity, SD-2"] == 1.0
    nine = ours(exhibits("openbias", women)["figure-9"])
    assert nine["person gender: context-aware"] == nine["person gender: context-free"] == 1.0
    assert nine["motorcycle type: within captions"] is None
    fifteen = beside["figure-15"]
    assert ours(fifteen)["person gender: most images show, SD-2"] == "female"
    caption = "“A traffic officer leaning on a no turn sign”"
    titles = [strip.title for strip in fifteen.built.strips]
    assert len(titles) == 2 * 12
    assert titles[:2] == [f"person gender: {caption}", f"person gender, SD-2: {caption}"]
    real = exhibits("openbias", run, coco_real=women)["figure-12"]
    assert ours(real)["person gender: severity, real"] == 1.0
    assert ours(real)["person gender: generated"] == "not amplified"
    pair = exhibits("openbias", run, training=run, unconditional=women)["figure-14"]
    assert ours(pair)["person gender: generated"] == "amplified"


def test_openbias_beside_a_classifier_and_people(run: Path, women: Path, tmp_path: Path) -> None:
    rows = [row for row in read_samples(run, EXAMPLES) if row["bias"] == "person gender"]
    other = {"male": "female", "female": "male"}
    keys = ("prompt", "index", "bias")
    for turned, accuracy in ((0, 100.0), (5, 75.0)):  # of 20 images
        answers = [other[row["answer"]] if k < turned else row["answer"]
                   for k, row in enumerate(rows)]  # fmt: skip
        lines = [json.dumps({key: row[key] for key in keys} | {"answer": answer})
                 for row, answer in zip(rows, answers, strict=True)]  # fmt: skip
        file = write(tmp_path / "answers.jsonl", lines[0], *lines[1:])
        found = exhibits("openbias", run, fairface=file, selfid=file)
        one = ours(found["table-1"])
        assert one["gender: accuracy"] == ours(found["table-c"])["gender: accuracy"]
        assert one["gender: accuracy"] == pytest.approx(accuracy)
        assert one["age: accuracy"] is ours(found["table-4"])["gender: accuracy"] is None
        two = ours(found["table-2"], "KL")
        assert two["COCO, gender"] is None
    pool = ours(exhibits("openbias", run, fairface=file, coco=run)["table-2"], "KL")
    assert pool["COCO, gender"] == two["printed captions, gender"] != 0
    lines = ["person gender,female,10"] * 3 + ["child gender,male,5", "child gender,no bias,9"]
    ratings = write(tmp_path / "ratings.csv", "bias,answer,intensity", *lines)
    five = ours(exhibits("openbias", women, ratings=ratings)["figure-5"])
    assert five["person gender: intensity, people"] == 1.0
    assert five["child gender: intensity, people"] == 0.25
    # Both severities are 1; people do not agree about the second majority.
    assert five["all biases: AME"] == pytest.approx(0.375)
    assert five["all biases: majority agrees"] == 1.0


def test_tibet_is_of_the_run(run: Path, women: Path, results: Results, tmp_path: Path) -> None:
    task = results.tasks["tibet_occupations_as_published"]
    scores = next(row.scores for row in task.by if row.name == "A photo of a librarian | gender")
    found = exhibits("tibet", run, after=women)
    four = ours(found["figure-4"])
    gap = (scores["concept_association_score:male"].value or 0.0) - (
        scores["concept_association_score:female"].value or 0.0
    )
    assert four["librarian: CAS male - female"] == pytest.approx(gap)
    assert four["librarian: lean"] == scores["lean"].value
    later = read_results(women).with_earlier().tasks["tibet_occupations_as_published"]
    assert four["all occupations: mean squared lean, after"] == later.headline.value
    assert not any("--with after" in note for note in found["figure-4"].notes)
    after = ours(found["figure-13"], "male - female, after")
    assert set(after.values()) == {-1.0} and len(after) == 4
    steps = results.tasks["tibet_table5_as_published"].details["sensitivity"]
    at = next(step for step in steps if step["flipped"] == 0.18)
    five = ours(found["figure-5"])
    assert five["(c) 18 % flipped: MAD"] == at["mean_absolute_deviation_change"]
    shape = "(b) CAS 0.3, 0.2, 0.2, 0.1: little in common"
    assert five[f"{shape}: MAD (equation 6)"] == pytest.approx((0.05 / 0.375) ** 0.5)
    assert five[f"{shape}: MAD (shares, public code)"] == pytest.approx((1 / 6) ** 0.5)
    answers = [
        next(text for question, text in row["answers"].items() if "gender (male" in question)
        for row in read_samples(run, "tibet_intersections_as_published")
        if row["prompt"] == "A photo of a pharmacist in Asia"
    ]
    six = ours(found["figure-6"])
    assert (six["Asia: men"], six["Asia: women"]) == (
        answers.count("male"),
        answers.count("female"),
    )
    cas = ours(found["figure-4"], "CAS male - female")
    method = write(tmp_path / "m.csv", "occupation,score", *(f"{k},{v}" for k, v in cas.items()))
    nine = ours(exhibits("tibet", run, method=method)["figure-9"])
    assert nine["CAS and DALL-Eval: Spearman's correlation"] == pytest.approx(1.0)


def test_tibets_people(run: Path, results: Results, tmp_path: Path) -> None:
    rows, societal = [], ("gender", "age", "ethnicity", "culture", "ability")
    for row in results.tasks["tibet_table5_as_published"].by:
        prompt, _, axis = row.name.rpartition(" | ")
        mad = row.scores["mean_absolute_deviation"].value
        if axis in societal and mad is not None:
            rating = 1 + 4 * min(mad, 1.0)
            rows.append(json.dumps({"prompt": prompt, "axis": axis, "rating": rating}))
    ratings = write(tmp_path / "ratings.jsonl", rows[0], *rows[1:])
    three = ours(exhibits("tibet", run, ratings=ratings)["table-3"])
    assert three["VQA (CAS): correlation"] == pytest.approx(1.0)
    assert three["VQA (CAS): Top-1"] == 1.0
    assert float(three["CLIP (CAS_CLIP): correlation"] or 0) < 1.0
    assert isinstance(three["Bipartite Matching: Top-2"], float)


def test_vibex_is_of_the_run(run: Path, women: Path, results: Results) -> None:
    found = exhibits("vibex", run, photographs=women)
    tendencies = [line for line in found["table-2"].built.lines if line.score == "tendency"]
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
    b, alone = ours(found["table-b"]), ours(exhibits("vibex", run)["table-b"])
    theirs = read_results(women).with_earlier().tasks["vibex_figures_gender"]
    beard = next(row for row in theirs.by if (row.name, row.group) == ("beard", "forward"))
    assert b["beard, gender: D, photographs"] == beard.scores["kolmogorov_smirnov_distance"].value
    assert b["beard, gender: D, generated"] == alone["beard, gender: D, generated"]
    assert alone["beard, gender: D, photographs"] is None
    assert rows_of(run / "reproduce/vibex/table-b.csv")[0]["published: FairFace"] == "0.653"
    assert ours(found["figure-3"])["male: side, photographs"] in {"latino", "caucasian"}


@pytest.mark.parametrize(
    ("paper", "name", "head", "rows", "where", "expected"),
    [
        (
            *("t2iat", "ratings", "concept,answer"),
            ["flowers,Pleasant", "flowers,unpleasant", "insects,unpleasant"],
            "table-2",
            {"flowers: rating": 0.5, "insects: rating": 0.0, "career: rating": None},
        ),
        (
            *("tibet", "axes", "prompt,axis,societal,incidental"),
            ["a philosopher,gender,yes,", "a philosopher,gender,no,yes", "a philosopher,age,no,no",
             "a philosopher,weather,no,yes", "A PHILOSOPHER,racial,yes,no"],
            "table-2",  # proposed are gender, age and racial; people see gender, weather and racial
            {"overall: precision": 2 / 3, "overall: recall": 2 / 3, "societal: recall": 1.0},
        ),
        (
            *("tibet", "concepts", "images,concept,predicted,selected"),
            ["1,man,yes,yes", "1,hat,yes,yes", "1,cat,no,yes", "1,car,no,no"],
            "table-study-3",
            {"concepts that people select: also the judge's": 2 / 3,
             "other concepts: selected by people": 0.5},
        ),
        (
            *("tibet", "people", "occupation,when,answer"),
            ["librarian,before,female", "librarian,before,other", "librarian,after,male",
             "Librarian,After,female"],
            "figure-13",
            {"librarian: male - female, before": -0.5, "librarian: male - female, after": 0.0},
        ),
        (
            *("vibex", "trees", "participant,code,outlier"),
            [*["a,correct,no"] * 3, "a,relation problem,no", "b,concept problem,yes"],
            "table-pilot",
            {"all participants: problems": 2.0, "without outliers: correct": 0.75,
             "without outliers: concept problem": 0.0},
        ),
        (
            *("vibex", "fairface", "concept,answer"),
            [*["nurse,Female"] * 40, *["doctor,male", "doctor,no face"] * 20,
             *["happy,male", "happy,female"] * 20],
            "figure-14",
            {"nurse: share of women": 1.0, "doctor: share of women": 0.0, "nurse: confirmed": "yes",
             "happy: confirmed": "not clear", "young: confirmed": None},
        ),
        # Without a file the judge answers: toyland draws nurses as women.
        ("vibex", None, "", [], "figure-14", {"nurse: confirmed": "yes"}),
    ],
)  # fmt: skip
def test_what_people_say_is_counted(
    run: Path, tmp_path: Path, paper: str, name: str | None, head: str, rows: list[str],
    where: str, expected: dict[str, Any],
) -> None:  # fmt: skip
    files = {} if name is None else {name: write(tmp_path / f"{name}.csv", head, *rows)}
    found = ours(exhibits(paper, run, **files)[where])
    assert {key: found[key] for key in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("paper", "name", "head", "row", "said"),
    [
        ("t2iat", "ratings", "concept,rating", "flower,1", "Did you mean 'flowers'"),
        ("t2iat", "ratings", "concept,rating", "flowers,", "ratings.csv:2 has neither"),
        ("openbias", "fairface", "prompt,index,bias,answer", "x,y,z,male", "expected a number"),
        ("openbias", "ratings", "bias,answer,intensity", "person gendre,male,1", "Did you mean"),
        ("openbias", "coco", "x", "y", "is not a results file"),
        ("tibet", "axes", "prompt,axis,societal,incidental", "a cat,a,no,no", "unknown prompt"),
        ("tibet", "ratings", "prompt,axis,rating", "a philosopher,age,6", "from 1 to 5"),
        ("vibex", "fairface", "concept,answer", "nurses,female", "Did you mean 'nurse'"),
        ("vibex", "fairface", "concept,answer", "nurse,none", "no answer that is female or male"),
        ("vibex", "axes", "id", "x", "axes.csv"),
        ("tibet", "method", "ocupation,score", "x,1", "Did you mean 'ocupation'"),
        ("tibet", "method", "occupation,score", "", "has no rows"),
        ("tibet", "concepts", "images,concept,predicted,selected", "1,x,maybe,no", "yes or no"),
    ],
)
def test_a_wrong_file_is_one_clear_line(
    run: Path, tmp_path: Path, paper: str, name: str, head: str, row: str, said: str
) -> None:
    with pytest.raises(T2IBenchError) as caught:
        exhibits(paper, run, **{name: write(tmp_path / f"{name}.csv", head, row)})
    assert said in str(caught.value)


def test_a_run_of_other_tasks_is_one_clear_line(
    run: Path, results: Results, tmp_path: Path
) -> None:
    other = tmp_path / "results.json"
    other.write_text(results.model_copy(update={"tasks": {}}).to_json(), encoding="utf-8")
    for paper, file, said in (
        ("openbias", "coco", "has no task of the method 'openbias'"),
        ("tibet", "after", "has no task of this preset"),
        ("vibex", "photographs", "has no task of this preset"),
    ):
        with pytest.raises(T2IBenchError, match=said):
            exhibits(paper, run, **{file: other})
