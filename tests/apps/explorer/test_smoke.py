"""Both pages of the explorer in a browser, over one run of toyland and one server.

The other tests of these pages, over a run of the bundled model, are nightly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from t2ibench.apps.explorer.wrong_answers import WrongAnswers
from tests.apps.explorer.page import Watch, add, answered, drawn, serving, shown

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def address(run: Path) -> Iterator[str]:
    with serving(run) as found:
        yield found


@pytest.fixture
def watch(browser: Any, address: str) -> Iterator[Watch]:
    found = Watch(browser, address)
    yield found
    found.close()


# Gives the chosen concept a verdict, and draws the tree again.
DECIDE = """async verdict => {
  const { S } = await import("/static/store.js");
  const tree = await import("/static/tree.js");
  const node = S.nodes.get(S.state.chosen[0]);
  Object.assign(node.scores[0], { verdict, lean: 0, beyond_words: 0.2 });
  tree.render();
}"""


def test_a_concept_gets_its_verdict_and_its_images(watch: Watch) -> None:
    page = watch.open()
    anchors = page.locator("#anchors .name").all_text_contents()
    assert anchors == ["men (3 images)", "women (3 images)"]  # as in reports
    add(page, "female")
    node = page.locator("#tree li[aria-selected=true] > .node")
    for mark in (".rail.unsure", ".rail .band", ".rail .ci"):
        expect(node.locator(mark)).to_have_count(1)
    for said in ("of everyday words · p = ", "n = 3 and 3: only D ≥ "):
        expect(page.locator("#numbers")).to_contain_text(said)
    assert drawn(page, "strip") == 6
    # Hollow and grey: words that have nothing to do with it lean as far.
    page.evaluate(DECIDE, "no_lean")
    expect(node.locator(".rail.null")).to_have_count(1)
    # What a lean looks like: filled, in the colour of its side, which is the right one.
    page.evaluate(DECIDE, "leans")
    expect(node.locator(".rail.clear.right")).to_have_attribute(
        "aria-label", re.compile("leans to men")
    )
    expect(node.locator(".rail .dot")).to_have_css(
        "background-color", "rgb(0, 106, 99)"
    )


def test_the_wall_by_keyboard_and_a_wrong_answer(watch: Watch, run: Path) -> None:
    page = answered(watch)
    every = shown(page)
    # A number leads to its images, and back.
    page.locator("#test-list .test").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#wall-title")).to_have_text("Images of a test")
    page.locator("#test-rows .test:not(:disabled)").first.click()
    expect(page.locator("#chosen b")).to_be_visible()
    assert 0 < shown(page) <= every
    page.locator("#chosen button").click()
    expect(page.locator("#wall-title")).to_have_text("All images")
    # Only what the judge called a woman.
    page.locator("[data-facet=judge]").select_option("female")
    women = shown(page)
    assert 0 < women < every
    page.locator("#grid").focus()
    for key in ("j", "j", "k", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("#grid .tile:focus")).to_have_attribute("data-index", "1")
    page.keyboard.press("Enter")
    box = page.locator("#large")
    expect(box.locator(".who").first).to_contain_text("female")
    expect(box).to_contain_text(f"2 of {women}")
    page.keyboard.press("k")
    expect(box).to_contain_text(f"1 of {women}")
    asked = box.locator(".asked", has_text="gender").first
    asked.locator("summary").click()
    asked.get_by_role("button", name="male", exact=True).click()
    page.locator("#labeller").fill("Anna")
    page.keyboard.press("Enter")
    expect(box).to_contain_text("You noted: male")
    asked.get_by_role("button", name="Somebody else").click()
    expect(box).to_contain_text("Anna noted: male")
    expect(box).not_to_contain_text("You noted")
    expect(box.locator(".noted")).to_contain_text("no random sample")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(page.locator("#grid .tile:focus")).to_have_attribute("data-index", "0")
    (label,) = WrongAnswers(run).all()
    assert (label.labeller, label.answer) == ("Anna", "male")
