"""The wall of all images in a browser: facets, keys, numbers that lead to images, wrong answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from t2ibench.models.encoders import DEFAULT_WEIGHTS
from t2ibench.models.hub import is_downloaded
from tests.apps.explorer.api import pictures
from tests.apps.explorer.page import Watch, answered, axe, made, serving


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("runs"), "toyland", "openbias_examples", 3)


@pytest.fixture(scope="module")
def address(run: Path) -> Iterator[str]:
    with serving(run) as found:
        yield found


def test_another_run_shows_all_of_its_images(browser: Any, run: Path) -> None:
    with serving(run, run) as address:
        watch = Watch(browser, address)
        page = answered(watch, "task=openbias_examples")
        expect(page.locator("#wall-title")).to_have_text("Images of a test")
        page.locator("#run").select_option("1")
        expect(page.locator("#wall-title")).to_have_text("All images")
        expect(page.locator("#chosen")).to_be_empty()
        page.wait_for_selector("body[data-answered=yes]")
        assert page.url.endswith("#run=1")
        page.locator("#test-list .test").first.click()
        expect(page.locator("#chosen")).to_contain_text("Show all images")
        watch.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_wall_at_every_size(
    width: int, scheme: str, browser: Any, address: str
) -> None:
    # axe is a script of the test, which the page's policy keeps out.
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, address, bypass_csp=True, **options)
    page = answered(watch)
    assert axe(page) == []
    page.locator("#test-list .test").first.click()
    page.locator("#test-rows .test").first.wait_for()
    assert axe(page) == []
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    page.locator("#grid").focus()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("#large .asked").first.wait_for()
    page.locator("#large summary").first.click()
    assert axe(page) == []
    page.keyboard.press("Escape")
    watch.close()


def test_a_link_opens_a_test_and_texts_are_text(
    browser: Any, address: str, tmp_path: Path
) -> None:
    watch = Watch(browser, address)
    page = answered(watch, "task=openbias_examples")
    expect(page.locator("#wall-title")).to_have_text("Images of a test")
    watch.close()
    evil = "<img src=x onerror=alert(1)>"
    pictures(tmp_path, {evil: ["a man"] * 2, "b": ["a man"]})
    with serving(tmp_path, "--encoder", "toyland") as other:
        watch = Watch(browser, other)
        page = answered(watch)
        expect(page.locator("#tests-note")).to_contain_text("has no scores")
        expect(page.locator(".foot small").first).to_have_text(evil)
        page.locator("#grid").focus()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("#large-title")).to_have_text(evil)
        page.keyboard.press("Escape")
        page.goto(f"{other}words")
        page.wait_for_selector("body[data-ready=yes][data-stage=ready]")
        expect(page.locator("#where")).to_have_text(
            re.compile(re.escape(tmp_path.name))
        )
        watch.close()


@pytest.mark.skipif(
    is_downloaded(*DEFAULT_WEIGHTS), reason="the default encoder is on this machine"
)
def test_words_say_which_encoder_they_need(browser: Any, tmp_path: Path) -> None:
    pictures(tmp_path, {"a man": ["a man"] * 2})
    with serving(tmp_path) as address:
        watch = Watch(browser, address)
        page = watch.open()
        expect(page.locator("#waiting")).to_contain_text("--encoder")
        expect(page.locator("#tree-panel")).to_be_hidden()
        page.locator("#waiting a").click()
        page.wait_for_selector("body[data-answered=yes]")
        watch.close()
