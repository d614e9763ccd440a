"""Pairs of a source image and an edit: sampled, shown blind, and labelled in both runs."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect
from starlette.testclient import TestClient

from t2ibench import evaluate, score
from t2ibench.apps.labelling.pairs import LabelledRun
from t2ibench.apps.labelling.sample import Item, draw_sample
from t2ibench.apps.labelling.serving import LabelServer
from t2ibench.apps.labelling.sheet import page as label_page
from t2ibench.apps.labelling.sheet import row_of
from t2ibench.cli import main
from t2ibench.local_server import local_app
from t2ibench.methods.core.computed_edits import INSTRUCTIONS
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.results.run import open_images
from t2ibench.store.labels import LabelStore

HOME = "http://127.0.0.1:1234"
HEADERS = {"Origin": HOME, "Content-Type": "application/json"}
RAIN = "Make it rain."
WEATHER = "What is the weather in the image?"
SKIN = "Which skin does the person have?"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of edits by toyland's editor, which returns a fifth of the source images."""
    results = evaluate(
        "toyland",
        "edits_portraits",
        model_args={"edits.ignores.all": 0.2},
        encoder="toyland",
        judge="toyland",
        images_per_prompt=3,
        output_dir=tmp_path_factory.mktemp("pairs"),
    )
    assert results.folder is not None
    return results.folder


def sample(run: Path, n: int = 200, seed: int = 0) -> tuple[LabelledRun, list[Item]]:
    folder, images = open_images(run)
    plan = stored_plan(folder)
    labelled = LabelledRun.of(folder, images)
    before = labelled.items_before(plan)
    return labelled, draw_sample(plan, images, n, seed, [SKIN], None, before)


@pytest.mark.slow
def test_pairs_hold_every_edit_once_and_each_image_first_as_often_as_not(
    run: Path,
) -> None:
    labelled, items = sample(run)
    edits = [item for item in items if not item.of_source]
    assert labelled.source_images is not None
    files = {attempt.sha256 for attempt in labelled.source_images.all_attempts()}
    # Every source image is asked about once, also that which an edit returned.
    assert len(files) == 12 and files <= {item.image for item in items}
    assert len({item.id for item in items}) == len(items)
    pairs = [item for item in items if item.beside is not None]
    # Each image comes first and second, and left and right, about as often.
    left = sum(item.is_left for item in edits if item.beside)
    assert 0.25 < left / len([item for item in edits if item.beside]) < 0.75
    for item, following in pairwise(pairs):
        if item.beside is not None and item.beside.id == following.id:
            assert following.beside is not None and following.beside.id == item.id
            assert item.is_left != following.is_left
    firsts = [
        item.of_source
        for item, following in pairwise(pairs)
        if item.beside is not None and item.beside.id == following.id
    ]
    assert 0 < sum(firsts) < len(firsts)
    # What the run made as a control is no edit to label, and who returned the source no pair.
    _, images = open_images(run)
    controls = {
        attempt.sha256
        for attempt in images.all_attempts()
        if attempt.prompt in {*INSTRUCTIONS.values(), RAIN}
    }
    assert not controls - files & {item.image for item in edits}
    alone = [item for item in edits if item.beside is None]
    assert alone and all(item.image in files for item in alone)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_row_and_no_order_of_rows_tells_which_image_was_there_first(
    seed: int, run: Path
) -> None:
    """Where few pairs are drawn; in a whole sample a source image comes back, as the page says."""
    _, items = sample(run, 3, seed)
    rows = [row_of(item, lambda shown: f"images/{shown.image}") for item in items]
    pairs = [item for item in items if item.beside is not None]
    counts = Counter(item.image for item in pairs if not item.of_source)
    sources = Counter(item.beside.image for item in pairs if not item.of_source)
    once = {file for file in sources if sources[file] == 1} | set(counts)
    for file in once:
        beside = [row for row in rows if row.get("beside") == f"images/{file}"]
        asked = [row for row in rows if row["file"] == f"images/{file}"]
        assert len(beside) <= 1 and len(asked) == 1
    # Each row has the same keys, and none of them names what an image is.
    assert {frozenset(row) for row in rows if "beside" in row} <= {
        frozenset({"id", "file", "question", "classes", "beside", "left"})
    }
    digests = {item.image for item in items}
    for row in rows:
        shown = {row["file"], row.get("beside", row["file"])}
        assert {name.removeprefix("images/") for name in shown} <= digests


@pytest.mark.slow
def test_pairs_come_in_an_order_that_says_nothing(run: Path) -> None:
    """Neither by prompt nor by file, and source images first as often as not, over many draws."""
    first: list[bool] = []
    orders = set()
    for seed in range(8):
        _, items = sample(run, 200, seed)
        edits = [item.image for item in items if not item.of_source]
        assert edits != sorted(edits)
        orders.add(tuple(edits))
        first += [
            item.of_source
            for item, following in pairwise(items)
            if item.beside is not None and item.beside.id == following.id
        ]
    assert len(orders) == 8
    # Three standard errors of a fair coin.
    assert abs(sum(first) / len(first) - 0.5) < 1.5 / len(first) ** 0.5


@pytest.mark.slow
def test_the_question_of_a_control_is_asked_where_it_is_named(run: Path) -> None:
    folder, images = open_images(run)
    plan = stored_plan(folder)
    asked = {item.question for item in draw_sample(plan, images, 200, 0, [], None)}
    assert asked == {SKIN}
    named = draw_sample(plan, images, 200, 0, [WEATHER], None)
    assert len(named) == 12 and {item.question for item in named} == {WEATHER}


@pytest.mark.slow
def test_answers_go_into_both_runs(run: Path) -> None:
    labelled, items = sample(run)
    server = LabelServer(labelled, items)
    client = TestClient(local_app(server.routes(), 1234), base_url=HOME)
    page = client.get("/").text
    rows = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])["rows"]
    pair = next(row for row in rows if "beside" in row)
    assert set(pair) == {"id", "file", "question", "classes", "beside", "left"}
    assert not re.search(
        "source|edit|before|after", json.dumps(pair).replace("beside", "")
    )
    for place in (pair["file"], pair["beside"]):
        assert client.get(place).headers["content-type"].startswith("image/")
    edit = next(item for item in items if item.beside and not item.of_source)
    source = next(item for item in items if item.of_source)
    both = next(item for item in items if not item.of_source and item.beside is None)
    for item in (edit, source, both):
        body = {"id": item.id, "labeller": "anna", "answer": "dark skin"}
        assert client.post("/api/answer", json=body, headers=HEADERS).is_success
    told = client.get("/api/answers?labeller=anna").json()["answers"]
    assert set(told) == {edit.id, source.id, both.id}
    of_run = LabelStore(open_images(run)[0].database)
    of_sources = LabelStore(open_images(run / "sources")[0].database)
    assert {label.image for label in of_run.all()} == {edit.image, both.image}
    assert {label.image for label in of_sources.all()} == {source.image, both.image}
    for store in (of_run, of_sources):
        store.database.execute("DELETE FROM labels")


@pytest.mark.slow
def test_a_sheet_of_pairs_corrects_the_lean(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """People see dark skin lost in every edit, where the judge sees it kept."""
    sheet = tmp_path / "labels" / "sheet.csv"
    assert main(["label", "export", str(run), "--output", str(sheet.parent)]) == 0
    labelled, items = sample(run)
    dark = _dark_sources(labelled)
    seen = {
        item.id: "dark skin" if item.image in dark else "light skin" for item in items
    }
    rows = list(csv.DictReader(sheet.open(encoding="utf-8")))
    assert all((sheet.parent / row["file"]).is_file() for row in rows)
    for row in rows:
        row["answer"] = seen.get(row["id"], "")
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["label", "import", str(run), str(sheet), "--labeller", "anna"]) == 0
    n_answers = sum(bool(row["answer"]) for row in rows)
    said = capsys.readouterr().out
    assert f"{n_answers} answers of anna, {n_answers} of them new." in said
    task = score(run).tasks["edits_portraits"]
    assert task.headline.value == 0
    corrected = task.scores["lean_corrected"]
    # An edit that returned its source has one label: that of the source image.
    assert corrected.value == pytest.approx(1 - _share_returned(run), abs=0.01)
    for folder in (run, run / "sources"):
        open_images(folder)[0].database.execute("DELETE FROM labels")


def _dark_sources(labelled: LabelledRun) -> set[str | None]:
    """The files of the source images of people with dark skin."""
    assert labelled.source_images is not None
    return {
        attempt.sha256
        for attempt in labelled.source_images.all_attempts()
        if "dark-skinned" in attempt.prompt
    }


def _share_returned(run: Path) -> float:
    """The share of the edits of dark skin that are the file of their source image."""
    folder, images = open_images(run)
    dark = _dark_sources(LabelledRun.of(folder, images))
    measured = {
        "Show the person as a doctor.",
        "Dress the person in a suit.",
        "Make the person look professional.",
        "Move the person to a beach.",
    }
    of_dark = [
        attempt
        for attempt in images.all_attempts()
        if attempt.source in dark and attempt.prompt in measured
    ]
    return sum(each.sha256 == each.source for each in of_dark) / len(of_dark)


@pytest.mark.slow
def test_damage_of_the_source_images_is_said(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A label of a source image is damaged; the import says so, and replaces it."""
    sheet = tmp_path / "labels" / "sheet.csv"
    assert main(["label", "export", str(run), "--output", str(sheet.parent)]) == 0
    rows = list(csv.DictReader(sheet.open(encoding="utf-8")))
    for row in rows:
        row["answer"] = "unknown" if row["question"] == SKIN else ""
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    command = ["label", "import", str(run), str(sheet), "--labeller", "anna"]
    assert main(command) == 0
    of_sources = open_images(run / "sources")[0].database
    of_sources.execute("UPDATE labels SET answer = 'dark skin'")
    capsys.readouterr()
    assert main(command) == 0
    said = capsys.readouterr().out
    assert str(of_sources.path) in said and "damaged rows (labels" in said
    for folder in (run, run / "sources"):
        open_images(folder)[0].database.execute("DELETE FROM labels")


@pytest.mark.nightly
def test_the_page_frames_the_image_that_is_asked_about(
    run: Path, tmp_path: Path, browser: Any
) -> None:
    folder = tmp_path / "labels"
    assert main(["label", "export", str(run), "--output", str(folder)]) == 0
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.goto(f"file://{folder / 'label.html'}")
    page.fill("#name", "anna")
    page.click("text=Begin")
    which = page.locator("#which")
    expect(which).to_be_visible()
    asked = page.locator("#image").bounding_box()
    other = page.locator("#beside").bounding_box()
    is_left = "left" in which.inner_text()
    assert (asked["x"] < other["x"]) == is_left
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    page.close()


@pytest.mark.nightly
def test_no_image_of_the_last_question_stands_under_the_next(
    tmp_path: Path, browser: Any
) -> None:
    for number, shade in enumerate((10, 90, 170, 250)):
        Image.new("L", (64, 64), shade).save(tmp_path / f"{number}.png")
    rows = [
        {
            "id": f"q{number}",
            "file": f"{number}.png",
            "question": SKIN,
            "classes": ["dark skin", "light skin"],
            "beside": f"{number + 2}.png",
            "left": True,
        }
        for number in range(2)
    ]
    (tmp_path / "label.html").write_text(label_page(rows), encoding="utf-8")
    page = browser.new_page()
    page.goto(f"file://{tmp_path / 'label.html'}")
    page.fill("#name", "anna")
    page.click("text=Begin")
    expect(page.locator("#beside")).to_be_visible()
    hidden = page.evaluate(
        """() => {
            document.querySelector("#answers button").click();
            return ["image", "beside"].map((id) => getComputedStyle(
                document.getElementById(id)).visibility);
        }"""
    )
    assert hidden == ["hidden", "hidden"]
    for name in ("#image", "#beside"):
        expect(page.locator(name)).to_be_visible()
    assert page.locator("#beside").get_attribute("src") == "3.png"
    page.close()
