"""The page at two widths, in both themes, with few and many images; its tools; what axe finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.apps.explorer.api import pictures
from tests.apps.explorer.page import Watch, axe, concept, made, serving, shots, word

MAN, WOMAN = "picture that shows a man", "picture that shows a woman"
TABS = ("map", "discover", "tests", "images", "card")


def folder(root: Path, n: int) -> Path:
    """n images of each of two anchors, most men in one shirt and most women in another."""
    moods = ("joy", "anger")
    captions = {
        name: [f"a {kind}, {moods[k % 3 == 0]}" for k in range(n)]
        for name, kind in ((WOMAN, "woman"), (MAN, "man"))
    }
    captions["picture that shows a nurse"] = ["a female nurse, joy"] * min(n, 12)
    return pictures(root, captions)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, str]]:
    roots = {n: folder(tmp_path_factory.mktemp(f"with{n}"), n) for n in (10, 200)}
    options = ("--encoder", "toyland", "--anchors", WOMAN, MAN)
    with serving(roots[10], *options) as few, serving(roots[200], *options) as many:
        yield {10: few, 200: many}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("runs")
    with serving(made(root, "toy"), made(root, "toy-fair")) as address:
        yield address


@pytest.mark.parametrize("n", [10, 200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_tool_at_every_size(
    width: int, scheme: str, n: int, browser: Any, addresses: dict[int, str]
) -> None:
    # axe is a script of the test, which the page's policy keeps out.
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, addresses[n], bypass_csp=True, **options)
    page = watch.open()
    word(page, "nurse")
    concept(page, "picture that shows a nurse")
    assert len(shots(page, "#rows .pl.left")) == (10 if n == 10 else 22)
    expect(page.locator("#strip canvas")).to_have_attribute("data-drawn", str(2 * n))
    for tab in TABS:
        page.locator(f"#tab-{tab}").click()
        expect(page.locator(f"#panel-{tab}")).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert axe(page) == [], tab
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, tab
    page.locator("#rows .shot").first.click()
    expect(page.locator("#lightbox")).to_be_visible()
    assert axe(page) == []
    watch.close()


def test_an_anchor_without_images_is_reported(
    browser: Any, addresses: dict[int, str]
) -> None:
    watch = Watch(browser, addresses[10], bypass_csp=True)
    page = watch.open()
    page.locator("#anchor-box summary").click()
    page.locator("#anchor-prompt").fill("picture that shows a child")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("No image has the prompt")
    page.locator("#anchor-prompt").fill("picture that shows a nurse")
    page.keyboard.press("Enter")
    expect(page.locator("#anchors li")).to_have_count(3)
    for left in (2, 1):
        page.locator("#anchors li button[aria-label^=Remove]").first.click()
        expect(page.locator("#anchors li")).to_have_count(left)
    assert page.locator("#anchors li button").last.is_disabled()
    assert axe(page) == []
    while page.locator("#undo").is_enabled():
        page.locator("#undo").click()
    expect(page.locator("#anchors li")).to_have_count(2)
    expect(page.locator("#saved")).to_contain_text("Saved ")
    watch.close()


def test_a_map_selects_by_lasso_and_by_list(
    browser: Any, addresses: dict[int, str]
) -> None:
    watch = Watch(browser, addresses[200])
    page = watch.open("tab=map")
    canvas = page.locator("canvas.map")
    expect(canvas).to_have_attribute("data-drawn", "412")
    page.get_by_text("Lasso", exact=True).click()
    box = canvas.bounding_box()
    corners = [(2, 2), (box["width"] - 2, 2), (box["width"] - 2, box["height"] - 2)]
    corners += [(2, box["height"] - 2), (2, 4)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in corners:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    page.mouse.up()
    expect(page.locator("#panel-map .found .ph")).to_contain_text("412 images selected")
    page.locator(".range summary").click()
    page.get_by_label("from place").fill("3")
    page.get_by_label("to place").fill("7")
    page.get_by_role("button", name="Select range").click()
    expect(page.locator("#panel-map .found .ph")).to_contain_text("5 images selected")
    expect(page.locator("#panel-map .found")).to_contain_text("5 “picture that shows a")
    word(page, "nurse")
    page.get_by_label("Colour of the map by").select_option("text")
    expect(page.locator("#panel-map .key")).to_contain_text("Similarity to")
    canvas.focus()
    for key in ("+", "ArrowLeft", "0"):
        page.keyboard.press(key)
    watch.close()


def test_a_scale_of_another_package_ends_where_it_says(browser: Any, runs: str) -> None:
    watch = Watch(browser, runs)
    points = {
        "value": 50.0, "low": 25.0, "high": 75.0, "fair_low": None, "end": 100.0,
        "scale": "points", "unit": " points", "ends": "points: from −100 to 100 points",
    }  # fmt: skip

    def answer(route: Any) -> None:
        reply = route.fetch()
        tasks = reply.json()["tasks"]
        assert (tasks[0]["end"], tasks[0]["unit"], tasks[0]["ends"]) == (1.0, "", "")
        tasks[0] |= points
        route.fulfill(response=reply, json={"tasks": tasks, "reason": ""})

    watch.page.route("**/api/scores?run=0", answer)
    page = watch.open("tab=tests")
    test = page.locator("#panel-tests .test").first
    expect(test.locator(".num")).to_have_text("+50.00 points")
    expect(page.locator("#panel-tests")).to_contain_text(
        "points: from −100 to 100 points"
    )
    axis, dot = (test.locator(f".rail{part}").bounding_box() for part in ("", " .dot"))
    place = (dot["x"] + dot["width"] / 2 - axis["x"]) / axis["width"]
    assert place == pytest.approx(0.75, abs=0.02)
    watch.close()


def test_discover_lists_words_that_no_task_tests(browser: Any, runs: str) -> None:
    watch = Watch(browser, runs)
    page = watch.open("tab=discover")
    panel = page.locator("#panel-discover")
    expect(panel).to_contain_text("words tested against")
    expect(panel).to_contain_text("That is not “none there”")
    assert panel.locator(".rail").count() == 40
    first = panel.locator(".ranked .link").first
    text = first.inner_text()
    first.click()
    page.wait_for_selector(f'#tree li[aria-selected=true] .label:text-is("{text}")')
    panel.locator("summary").click()
    panel.locator("textarea").fill("nurse\nsheriff")
    panel.get_by_role("button", name="Search").click()
    expect(panel).to_contain_text("2 words tested")
    watch.close()


def test_two_runs_pair_by_pair(browser: Any, runs: str) -> None:
    watch = Watch(browser, runs, bypass_csp=True)
    page = watch.open("tab=runs")
    panel = page.locator("#panel-runs")
    expect(panel).to_contain_text("Same prompts, same seeds")
    swipe = panel.get_by_label("Swipe between before and after")
    swipe.focus()
    page.keyboard.press("Home")
    cut = "one => getComputedStyle(one).clipPath"
    assert panel.locator("img.after").evaluate(cut) == "inset(0px 0px 0px 0%)"
    page.keyboard.press("End")
    assert panel.locator("img.after").evaluate(cut) == "inset(0px 0px 0px 100%)"
    panel.locator(".pair").first.focus()
    page.keyboard.press("ArrowRight")
    expect(panel.locator(".pair").nth(1)).to_have_attribute("aria-current", "true")
    assert axe(page) == []
    word(page, "nurse")
    assert page.locator("#tree li[aria-selected=true] .rail").count() == 2
    watch.close()


def test_a_word_shows_the_results_of_each_run_that_tests_the_word(
    browser: Any, tmp_path: Path
) -> None:
    both = [
        made(tmp_path / name, "toyland", "occupations_t2iat") for name in ("a", "b")
    ]
    anchors = ("--anchors", "A photo of a male chef", "A photo of a female chef")
    with serving(*both, *anchors) as address:
        watch = Watch(browser, address)
        page = watch.open()
        word(page, "librarian")
        rows = page.locator("#tested .tst")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("8 occupations")
        expect(rows.first.locator(".tst-poles")).to_have_text("femalemale")
        rows.nth(1).locator("button").click()
        expect(page.locator("#panel-tests select").first).to_have_value("1")
        expect(page).to_have_url(re.compile("(?=.*of=librarian)(?=.*run=1)"))
        expect(page.locator("#one-test .shot").first).to_be_visible()
        labels = page.locator("#one-test .shot").evaluate_all(
            "all => all.map((x) => x.ariaLabel)"
        )
        assert labels and all("librarian" in label for label in labels)
        # The poles of a test stand where the anchors that they name do, in their colours.
        expect(rows.first.locator(".rail.clear")).to_have_class("rail clear left")
        page.locator("#anchor-box > summary").click()
        page.get_by_label("Move up the anchor").click()
        expect(rows.first.locator(".tst-poles")).to_have_text("malefemale")
        expect(rows.first.locator(".rail.clear")).to_have_class("rail clear right")
        page.keyboard.press("Escape")
        # A word that is chosen already is shown again, and its look ends.
        page.locator("#word").fill("librarian")
        expect(page.locator("#path")).to_contain_text("a look, not a test")
        page.keyboard.press("Enter")
        expect(page.locator("#path")).not_to_contain_text("a look, not a test")
        expect(rows).to_have_count(2)
        # So do they on the map.
        page.locator("#tab-map").click()
        keys = page.locator("#panel-map .key span:has(i)")
        found = []
        for colour, first in (
            ("anchor", "female chef"),
            ("test occupations_t2iat", "female −"),
        ):
            page.get_by_label("Colour of the map by").select_option(colour)
            expect(keys.first).to_contain_text(first)
            found.append(
                keys.evaluate_all(
                    "all => all.map((x) => x.firstChild.style.background)"
                )
            )
        assert found[0] == found[1]
        word(page, "qwerty")
        expect(rows).to_have_count(0)
        assert axe(page) == []
        watch.close()


def test_an_evidence_card(browser: Any, runs: str, tmp_path: Path) -> None:
    watch = Watch(browser, runs)
    page = watch.open()
    word(page, "nurse")
    concept(page, "picture that shows a nurse")
    page.get_by_role("button", name="Make evidence card").click()
    card = page.locator("#card-picture img")
    card.wait_for()
    assert "picture that shows a nurse" in (card.get_attribute("alt") or "")
    saved = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save the card as {kind}").click()
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
    assert saved["SVG"].name == "picture-that-shows-a-nurse.svg"
    assert "http:" not in saved["SVG"].read_text().replace("http://www.w3.org/", "")
    with Image.open(saved["PNG"]) as picture:
        assert picture.size == (2000, 1200)
        assert len(picture.convert("RGB").getcolors(10**6) or []) > 500
    watch.close()
