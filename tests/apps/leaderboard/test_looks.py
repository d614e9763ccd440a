"""The site at every size: none and 200 models, a phone and a wall, without scripts, on paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from t2ibench.apps.leaderboard import site
from t2ibench.apps.leaderboard.board import Board
from tests.apps.leaderboard.conftest import board_of

PAGES = ("index.html", "model/{toy}.html", "task/t2iat_science_arts.html", "tasks.html",
         "model/SDXL-Turbo-answered-by-people-dc617d4e.html", "task/openbias_five_occupations.html",
         "about.html", "compare.html#models={fair},{toy}",
         "compare.html#models=DALL-E-3-answered-by-people-ce8c0c20,"
         "SDXL-Turbo-answered-by-people-dc617d4e")  # fmt: skip


@pytest.fixture(scope="module")
def three(verified: Board, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The submissions of this repository."""
    folder = tmp_path_factory.mktemp("three")
    site.build(Board(list(verified.entries)), folder, "2026-05-02")
    return folder


def renamed(board: Board, index: int, name: str) -> Any:
    entry = board.entries[index]
    manifest = entry.manifest.model_copy(update={"name": name, "model": name})
    return replace(entry, id=f"{name}-00000000", manifest=manifest)


def address(folder: Path, page: str) -> str:
    found = {
        path.stem.rpartition("-")[0]: path.stem for path in folder.glob("model/*.html")
    }
    page = page.format(toy=found["toy"], fair=found["toy-fair"])
    path, mark, rest = page.partition("#")
    return (folder / path).as_uri() + mark + rest


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_in_anybodys_way(
    browser: Any, three: Path, width: int, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    found = []
    for where in PAGES:
        page.goto("about:blank")
        page.goto(address(three, where))
        page.wait_for_timeout(200)
        violations = Axe().run(page).response["violations"]
        found += [
            (where, one["id"], one["nodes"][0]["html"][:200]) for one in violations
        ]
        # The page itself never scrolls sideways; tables do, in boxes of their own.
        assert page.evaluate("document.documentElement.scrollWidth") <= width, where
        kinds = "all => all.map((one) => getComputedStyle(one).display)"
        shown = set(page.locator("table").evaluate_all(kinds))
        assert shown <= {"table", "block" if width == 390 else "table"}, where
    context.close()
    assert found == []


def test_without_scripts_everything_is_there(browser: Any, three: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address(three, "index.html"))
    names = page.locator(".board tbody th.c0 a").all_inner_texts()
    assert names[3:] == ["toy-fair", "toy", "toyland-fair"]
    assert page.locator(".board .strip.rail").count() >= 15
    assert (
        not page.locator("#facets").is_visible()
        and not page.locator(".tick").first.is_visible()
    )
    page.locator(".board tbody th a", has_text="toy-fair").first.click()
    assert page.locator(".forest a.row").count() > 20
    page.goto(address(three, "compare.html"))
    assert (
        page.locator("noscript")
        .inner_text()
        .startswith("Choosing models needs JavaScript")
    )
    context.close()


def test_two_models_have_their_bars_beside_each_other(tab: Any, three: Path) -> None:
    tab.goto(address(three, PAGES[-1]))
    tab.wait_for_selector("#who .stack")
    # Five prompts, gender and race.
    assert tab.locator("#who .stack").count() == 2 * 5 * 2
    expected = (
        "DALL-E 3, answered by people and SDXL Turbo, answered by people differ: "
    )
    assert tab.locator(".sum-up").inner_text().startswith(expected)
    # A p-value is no probability that two models are alike.
    hypothesis = "if the two were alike in every test, a difference this large would occur with p"
    assert hypothesis in tab.locator(".overall").inner_text()
    row = tab.locator("#who tr", has_text="athlete").first
    assert "9 women, 1 man" in row.inner_text() and "10 men" in row.inner_text()


def test_a_header_that_stays_and_a_first_column_that_stays(
    browser: Any, three: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 300})
    page.goto(address(three, "index.html"))
    page.wait_for_selector("body[data-ready=yes]")
    page.evaluate("document.querySelector('.board tbody').scrollIntoView()")
    assert abs(page.locator(".board thead th").first.bounding_box()["y"]) < 2
    page.set_viewport_size({"width": 390, "height": 800})
    name = page.locator(".board tbody th.c0").first
    before = name.bounding_box()["x"]
    page.evaluate("document.querySelector('.tw').scrollLeft = 400")
    assert page.evaluate("document.querySelector('.tw').scrollLeft") > 100
    assert name.bounding_box()["x"] == before and name.locator(".mrank").is_visible()
    page.close()


def test_on_paper(browser: Any, three: Path) -> None:
    page = browser.new_page(
        color_scheme="dark", viewport={"width": 1050, "height": 740}
    )
    page.goto(address(three, "index.html"))
    page.emulate_media(media="print")
    colours = page.evaluate(
        "[getComputedStyle(document.documentElement).backgroundColor,"
        " getComputedStyle(document.querySelector('.board th a')).color]"
    )
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    assert not page.locator("#facets").is_visible()
    last = page.locator(".board tbody tr").first.locator("td").last.bounding_box()
    assert last["x"] + last["width"] <= 1050  # nothing is cut off
    page.close()


@pytest.mark.parametrize("count", [0, 1])
def test_none_and_one(count: int, tab: Any, shipped: Board, tmp_path: Path) -> None:
    site.build(Board(shipped.entries[:count]), tmp_path)
    for path in sorted(tmp_path.glob("*.html")):
        tab.goto(path.as_uri())
        assert tab.locator("h1").inner_text()
    tab.goto((tmp_path / "index.html").as_uri())
    if count:
        assert "no other model was measured alike" in tab.locator("td.r").inner_text()
    else:
        assert "No model is shown yet" in tab.locator("main").inner_text()


def test_two_hundred(board: Path, tab: Any, tmp_path: Path) -> None:
    shown = board_of(board)
    shown.entries = [renamed(shown, n % 3, f"model-{n:03}") for n in range(200)]
    data = site.build(shown, tmp_path)
    assert len(data["models"]) == 200 and not data["paired"]
    assert (tmp_path / "index.html").stat().st_size < 1_000_000
    processor = tab.context.new_cdp_session(tab)
    processor.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto((tmp_path / "index.html").as_uri())
    tab.wait_for_selector("body[data-ready=yes]")
    tab.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
    )
    metrics = processor.send("Performance.getMetrics")["metrics"]
    took = {one["name"]: one["value"] for one in metrics}
    # of the processor, whatever else runs on the machine
    assert took["TaskDuration"] < 1
    assert tab.locator(".board tr[data-id]").count() == 200
    tab.locator("#find").fill("model-04")
    assert tab.locator("#found").inner_text() == "10 of 200 models"
    tab.goto(
        (tmp_path / "compare.html").as_uri()
        + "#models=model-000-00000000,model-001-00000000"
    )
    assert tab.locator("#diff tbody tr").count() == 5
    assert "t2ibench compare RUN RUN" in tab.locator("p.note").first.inner_text()
    assert not (tmp_path / "pairs").exists()
