"""The explorer in a real browser, over a run of the bundled model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.apps.explorer.page import (
    Watch,
    add,
    concept,
    drawn,
    made,
    serving,
    shots,
    word,
)
from tests.conftest import Cli

WOMAN = "picture that shows a woman"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("runs"), "toy", images=10)


@pytest.fixture(scope="module")
def address(run: Path) -> Iterator[str]:
    with serving(run) as found:
        yield found


@pytest.fixture
def watch(browser: Any, address: str, run: Path) -> Iterator[Watch]:
    (run / "explorer" / "session.json").unlink(missing_ok=True)
    found = Watch(browser, address)
    found.open()
    yield found
    # or it is the next one's
    expect(found.page.locator("#saved")).not_to_have_text("Saving…")
    found.close()


DISAGREE = """async inverse => {
  const { S } = await import("/static/store.js");
  const concept = await import("/static/concept.js");
  const node = S.nodes.get(S.state.chosen[0]);
  const found = { verdict: "inconclusive", lean: null, contradiction: true, beyond_words: -0.2 };
  Object.assign(node.scores[0], found, { p_holm: 0.01, inverse });
  await concept.views(() => true);
}"""


def items(page: Any, count: int) -> None:
    """Wait for the tree to have so many nodes."""
    expect(page.locator("#tree li")).to_have_count(count)


def counted(page: Any, pattern: str) -> None:
    """Wait for the grid to say how many images it shows."""
    expect(page.locator("#count")).to_have_text(re.compile(pattern))


def test_disagreement_of_a_word_with_its_images_is_reported(watch: Watch) -> None:
    page = watch.page
    add(page, "nurse")
    expect(page.locator("#disagree .warn")).to_have_count(0)
    shares = {"0": {"value": 0.9, "low": 0.6, "high": 0.98}}
    page.evaluate(DISAGREE, {"n": 10, "lean": 0, "reason": "", "shares": shares})
    warning = page.locator("#disagree .warn")
    expect(warning).to_contain_text("Forward and inverse disagree about")
    expect(warning).to_contain_text("−0.20 to women")
    expect(warning).to_contain_text("90 % nearer men (60 % to 98 %)")
    # Definitions show on focus, and hide with Escape.
    page.locator("#tree-head .term").first.focus()
    expect(page.locator("#meaning")).to_contain_text("in cosine")
    page.keyboard.press("Escape")
    expect(page.locator("#meaning")).to_be_hidden()


def test_images_sort_as_one_types(watch: Watch) -> None:
    page = watch.page
    expect(page.locator("#rows .pl")).to_have_count(2)
    before, nodes = shots(page, "#rows .pl.right"), page.locator("#tree li").count()
    page.locator("#word").fill("wearing glasses")
    concept(page, "picture that shows a person wearing glasses")
    expect(page.locator("#path")).to_contain_text("not a test")
    after = shots(page, "#rows .pl.right")
    assert sorted(before) == sorted(after) and before != after
    values = page.locator("#rows .pl.right .shot span").all_inner_texts()
    assert values == sorted(values, reverse=True)
    assert page.locator("#tree li").count() == nodes  # a look adds nothing
    page.locator("#word").fill("")
    expect(page.locator("#concept")).to_have_text("none chosen")


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("female", "picture that shows a female person"),
        ("engineer", "picture that shows an engineer"),
        ("nurses", "picture that shows nurses"),
        ("at night", "picture taken at night"),
        ("with a dog", "picture with a dog"),
        ("wearing glasses", "picture that shows a person wearing glasses"),
        ("the sea", "picture that shows the sea"),
    ],
)
def test_a_word_is_put_grammatically(typed: str, text: str, watch: Watch) -> None:
    word(watch.page, typed)
    concept(watch.page, text)


def test_an_image_large_and_the_way_back(watch: Watch) -> None:
    page = watch.page
    word(page, "nurse")
    concept(page, "picture that shows a nurse")
    first = page.locator("#rows .shot").first
    first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#rows .shot").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    box = page.locator("#lightbox")
    expect(box.locator("h2")).to_have_text(WOMAN)
    expect(box).to_contain_text("SHA-256")
    expect(box).to_contain_text("2 of 10")
    page.keyboard.press("ArrowRight")
    expect(box).to_contain_text("3 of 10")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(page.locator("#rows .shot").nth(1)).to_be_focused()


def test_the_tree_by_keyboard_and_mouse(watch: Watch) -> None:
    page = watch.page
    add(page, "person")
    item = page.locator("#tree li[aria-selected=true]")
    item.focus()
    page.keyboard.press("Insert")
    page.locator("#tree form input.label").fill("old")
    page.keyboard.press("Enter")
    concept(page, "picture that shows an old person")
    page.locator("#tree li[aria-selected=true]").focus()
    page.keyboard.press("F2")
    page.locator("#tree form input.label").fill("young")
    page.keyboard.press("Enter")
    concept(page, "picture that shows a young person")
    # Dragged to the root it is a property of the picture.
    page.locator('#tree li:has(> .node .label:text-is("young")) > .node').drag_to(
        page.locator('#tree li:has(> .node .label:text-is("picture")) > .node').first
    )
    concept(page, "young picture")
    page.locator("#tree li[aria-selected=true]").focus()
    for key, count in (("Delete", 4), ("Control+z", 5), ("Control+y", 4)):
        page.keyboard.press(key)
        items(page, count)
    page.locator("#tree li").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    held = page.evaluate("document.activeElement.querySelector('.label').textContent")
    assert held == "person"
    page.keyboard.press("Alt+ArrowUp")
    labels = page.locator("#tree .label").all_inner_texts()
    assert labels == ["picture", "man", "person", "woman"]


def test_every_view_and_the_grid(watch: Watch) -> None:
    page = watch.page
    add(page, "doctor")
    add(page, "happy person")
    page.locator('#tree .node:has-text("doctor")').click(modifiers=["Control"])
    page.wait_for_selector("#intersection canvas[data-drawn]")
    assert [drawn(page, plot) for plot in ("strip", "intersection", "inverse")] == [
        20
    ] * 3
    page.locator("#tab-images").click()
    page.locator("#find").fill("happy")
    counted(page, "^10 of ")
    page.locator("#grid").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#lightbox h2")).to_have_text(
        "picture that shows a happy person"
    )
    page.keyboard.press("Escape")
    expect(page.locator("#lightbox")).to_be_hidden()
    page.mouse.move(0, 0)
    page.locator("#strip canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "similarity" in page.locator("#tip").inner_text()
    page.locator("#find").fill("zzz")
    expect(page.locator("#no-images")).to_contain_text(
        "No image has “zzz” in its prompt"
    )
    page.locator("#no-images button").click()
    counted(page, r"^\d+$")


def test_save_reload_export_and_run(watch: Watch, run: Path, cli: Cli) -> None:
    page = watch.page
    add(page, "nurse")
    page.locator("#save").click()
    page.wait_for_selector("#status:has-text('Saved')")
    watch.open()
    page.wait_for_selector('#tree li[aria-selected=true]:has-text("nurse") .scores')
    saved = json.loads((run / "explorer" / "session.json").read_text())
    assert saved["state"]["tree"]["nodes"][-1]["label"] == "nurse" and saved["undo"]
    page.locator("#undo").click()
    items(page, 3)
    page.locator("#redo").click()
    page.wait_for_selector('#tree .label:text-is("nurse")')
    with page.expect_download() as download:
        page.locator("#task").click()
    tasks = run.parent / "tasks"
    tasks.mkdir(exist_ok=True)
    download.value.save_as(tasks / "explored.yaml")
    assert "prompt: picture that shows a nurse" in (tasks / "explored.yaml").read_text()
    status, out, errors = cli(
        *("run", "--model", "toy", "--tasks", "explored", "--include-path", tasks),
        *(
            "--output-dir",
            run.parent,
            "--images-per-prompt",
            "10",
            "--permutations",
            "500",
        ),
    )
    assert status == 0, errors
    assert "explored" in out and "Nothing to do" in errors


def test_nothing_is_lost_on_reload(watch: Watch, run: Path) -> None:
    page = watch.page
    word(page, "nurse")
    expect(page.locator("#saved")).to_have_text(re.compile(r"^Saved \d"))
    assert "nurse" in (run / "explorer" / "session.json").read_text()
    word(page, "sheriff")
    watch.open()  # at once: the page that goes saves
    page.wait_for_selector('#tree .label:text-is("sheriff")')


def test_a_link_opens_the_same_view(watch: Watch) -> None:
    page = watch.open("concept=picture that shows a plumber&tab=images")
    concept(page, "picture that shows a plumber")
    expect(page.locator("#tab-images")).to_have_attribute("aria-selected", "true")
    page = watch.open("task=vibex_gender")
    expect(page.locator("#one-test h3")).to_be_visible()
    assert page.locator("#one-test .shot").count() == 20


def test_a_view_is_saved(watch: Watch, tmp_path: Path) -> None:
    page = watch.page
    add(page, "boss")
    with page.expect_download() as download:
        page.locator("#strip figcaption button").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 5000
    wide = int.from_bytes(data[16:20], "big")
    assert wide == 2 * page.locator("#strip canvas").evaluate("one => one.clientWidth")


def test_labels_are_text(watch: Watch) -> None:
    page = watch.page
    add(page, "<img src=x onerror=alert(1)>")
    assert page.locator("#tree img").count() == 0
    expect(page.locator("#concept")).to_have_text("<img src=x onerror=alert(1)>")


def test_anchors_are_chosen_and_typed(watch: Watch) -> None:
    page = watch.page
    page.locator("#anchor-box summary").click()
    page.locator("#anchor-prompt").fill("picture that shows a happy person")
    page.locator("#add-anchor button").click()
    expect(page.locator("#anchors li")).to_have_count(3)
    add(page, "child")
    expect(page.locator("#numbers")).to_contain_text("and 10")
    expect(page.locator("#strip canvas")).to_have_attribute("data-drawn", "30")
    page.locator("#anchor-box summary").click()
    page.locator("#anchor-prompt").fill("picture that shows a tall tree")
    page.locator("#add-anchor button").click()
    expect(page.locator("#status")).to_contain_text("No image has the prompt")
    expect(page.locator("#anchors li")).to_have_count(3)
