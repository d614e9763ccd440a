"""Rows of images beside a paper's, lists of words, and what a page calls its exhibits."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from t2ibench.reproduction.build import Exhibit, build
from t2ibench.reproduction.pictures import SHOWN, Shelf, sheet, tiles
from t2ibench.reproduction.registry import PAPERS
from t2ibench.reproduction.tables import Line, comparison
from t2ibench.reproduction.word_lists import difference
from t2ibench.reproduction.write import html, markdown
from t2ibench.results.reading import read_results

GENDERS = ("neutral", "male", "female")


def exhibit(run: Path, name: str) -> Exhibit:
    found = build(PAPERS.get("t2iat"), read_results(run).with_earlier(), run)
    return next(one for one in found.exhibits if one.name == name)


@pytest.mark.slow
def test_figure_2_shows_each_concept_with_and_without_a_gender(run: Path) -> None:
    strips = exhibit(run, "figure-2").built.strips
    assert [strip.title for strip in strips] == [
        f"{concept}, {gender}"
        for concept in ("science", "arts", "career", "family")
        for gender in GENDERS
    ]
    for strip in strips:
        prompts = [image.prompt for image in strip.images]
        assert len(prompts) == len(set(prompts)) == 4  # one image of each stimulus that was drawn
        assert all(image.index == 0 for image in strip.images)
    neutral, male, _ = strips[:3]
    assert neutral.images[0].prompt == "a person studying science"
    assert male.images[0].prompt == "a male studying science"


def test_a_page_has_its_images_and_their_prompts(run: Path) -> None:
    found = build(PAPERS.get("t2iat"), read_results(run).with_earlier(), run)
    page, text = html(found), markdown(found)
    assert page.count("data:image/webp;base64,") == 12 * 4
    assert 'alt="a person studying science, image 0"' in page
    assert "48 images. Rows, from the top: science, neutral; science, male;" in text
    assert "(t2iat/figure-2-images.png)" in text
    with Image.open(run / "reproduce" / "t2iat" / "figure-2-images.png") as picture:
        assert picture.height > picture.width  # twelve rows of four


def test_images_that_are_gone_or_changed_are_left_out(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    before = exhibit(copy, "figure-2").built.strips[0]
    first, second = before.images[:2]
    first.path.unlink()
    second.path.write_bytes(b"no image")
    strip = exhibit(copy, "figure-2").built.strips[0]
    assert len(tiles(strip)) == len(tiles(before)) == 2
    for image in strip.images:
        image.path.unlink(missing_ok=True)
    assert sheet([strip]) is None
    assert "no image at hand" in html(
        build(PAPERS.get("t2iat"), read_results(copy).with_earlier(), copy)
    )


def test_a_shelf_without_a_run_is_empty(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "nowhere"):
        assert Shelf(folder).strip("a nurse", ["a nurse"]).images == ()


def test_a_sheet_is_the_same_for_the_same_images(run: Path) -> None:
    strip = Shelf(run).strip("science", ["a person studying science"])
    assert 1 <= len(strip.images) <= SHOWN
    once, twice = sheet([strip, strip]), sheet([strip, strip])
    assert once is not None and once == twice
    with Image.open(io.BytesIO(once)) as picture:
        assert picture.format == "PNG"


@pytest.mark.parametrize(
    ("printed", "ours", "said"),
    [
        (["rose", "Tulip"], ["tulip", "rose"], "as printed"),
        (["rose", "tulip"], ["tulip", "iris"], "without rose; with iris"),
        ([*"abcdefgh"], ["a"], "without b, c, d, e, f, g and 1 more"),
    ],
)
def test_what_two_lists_do_not_share(printed: list[str], ours: list[str], said: str) -> None:
    assert difference(printed, ours) == said


def test_table_3_has_the_words_of_the_paper(run: Path) -> None:
    lines = {line.row: line.ours for line in exhibit(run, "table-3").built.lines}
    assert len(lines) == 20
    other = {row for row, said in lines.items() if said != "as printed"}
    assert other == {"European American names", "African American names"}
    assert str(lines["African American names"]).endswith("with Tyree")  # printed 'Tvree'


def test_what_has_no_number_has_a_name() -> None:
    labels = {
        one: entry.label
        for paper in PAPERS.names()
        for one, entry in PAPERS.get(paper).file.exhibits.items()
        if not one.partition("-")[2].isdecimal()
    }
    assert labels["table-pilot"] == "Pilot study"
    assert all(labels.values())


def test_a_number_of_no_model_is_just_published(run: Path) -> None:
    table = comparison([Line("a", "b", 1.0, (2.0,))], ["the paper"])
    assert list(table.headers) == ["", "score", "published", "ours", "difference"]
    found = build(PAPERS.get("t2iat"), read_results(run).with_earlier(), run)
    nobody = replace(found, results=found.results.model_copy(deep=True))
    nobody.results.model.name = ""
    assert "ours that of the encoder" in markdown(nobody)
