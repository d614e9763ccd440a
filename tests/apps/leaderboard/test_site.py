"""The site, built from three models made by hand and clicked through in a real browser."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from t2ibench.apps.leaderboard import downloads, site
from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.names import in_visible_words, visible
from tests import hand
from tests.apps.leaderboard.conftest import (
    SHARES,
    board_of,
    model_results,
    write_submission,
)

TOY, FAIR, LAND = "toy-00000003", "toy-fair-00000008", "toyland-fair-0000000c"


@pytest.fixture(scope="module")
def folder(board: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    site.build(board_of(board), target, "2026-05-02")
    return target


@pytest.fixture
def page(browser: Any, folder: Path) -> Iterator[Any]:
    """The site, opened from disk, and everything that it must not do."""
    found = browser.new_page(viewport={"width": 1400, "height": 900})
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    home = folder.as_uri()
    found.on(
        "request", lambda r: None if r.url.startswith(home) else wrong.append(r.url)
    )
    opened(found, folder / "index.html")
    yield found
    found.close()
    assert wrong == []


def opened(tab: Any, page: Path) -> Any:
    """A page from disk, once its scripts are done."""
    tab.goto(page.as_uri())
    tab.wait_for_selector("body[data-ready=yes]")
    return tab


def names(page: Any) -> list[str]:
    return [
        str(one)
        for one in page.locator(".board tbody th.c0 a:visible").all_inner_texts()
    ]


def row(page: Any, name: str) -> Any:
    return page.locator(f'.board tr[data-name="{name}"]')


@pytest.mark.nightly
def test_models_of_other_encoders_stand_in_tables_of_their_own(
    tab: Any, shipped: Board, tmp_path: Path
) -> None:
    data = site.build(shipped, tmp_path)
    _, first, second = data["strata"]
    assert "toy-clip" in first["title"] and "encoder toyland" in second["title"]
    found = {model["name"]: model for model in data["models"]}
    assert found["toyland-fair"]["unranked"] == "no other model was measured alike"
    assert [found[name]["rank"]["best"] for name in ("toy-fair", "toy")] == [1, 2]
    opened(tab, tmp_path / "index.html")
    assert names(tab)[3:] == ["toy-fair", "toy", "toyland-fair"]
    toy, land = (found[name]["id"] for name in ("toy", "toyland-fair"))
    tab.goto((tmp_path / "compare.html").as_uri() + f"#models={toy},{land}")
    expect(tab.locator("#unlike")).to_contain_text("were not measured alike")
    assert tab.locator("#diff").count() == 0
    tab.goto((tmp_path / "task" / "openbias_five_occupations.html").as_uri())
    shown = tab.locator("tr", has=tab.locator("th", has_text="nurse at work")).first
    expect(shown.locator("td").first).to_have_text("7 men, 3 women")
    # No name of a file or a task is text of the page, and no back tick.
    for path in tmp_path.rglob("*.html"):
        texts = re.sub(
            r"<(code|script|style)\b.*?</\1>|<[^>]*>", " ", path.read_text(), flags=re.S
        )
        assert "`" not in texts and "effective_settings" not in texts, path


@pytest.mark.smoke
def test_sort_find_and_tick_are_in_the_address(page: Any) -> None:
    assert names(page) == ["toy-fair", "toyland-fair", "toy"]
    head = page.locator('th[data-key="openbias"]')
    head.locator("button").click()
    assert names(page)[-1] == "toy"
    head.locator("button").click()
    assert names(page)[0] == "toy"
    assert head.get_attribute("aria-sort") == "descending"
    page.locator("#find").fill("fair")
    expect(page.locator("#found")).to_have_text("2 of 3 models")
    row(page, "toy-fair").locator(".tick").check()
    row(page, "toyland-fair").locator(".tick").check()
    address = page.url
    for part in ("sort=openbias", "order=down", "find=fair", "pick="):
        assert part in address
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#found")).to_have_text("2 of 3 models")
    assert page.locator("#find").input_value() == "fair"
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(row(page, "toy-fair").locator(".tick")).to_be_checked()
    page.locator("#compare").click()
    expect(page.locator("h1")).to_have_text("toy-fair · toyland-fair")


def test_a_row_says_which_way_how_far_and_how_sure(page: Any) -> None:
    toy, fair = row(page, "toy"), row(page, "toy-fair")
    expect(toy.locator("td.r")).to_have_text("3 of 3")
    expect(fair.locator("td.r")).to_contain_text("1")
    said = str(toy.locator("td.f .strip").first.get_attribute("aria-label"))
    assert "2 of 2 clear" in said and "interval" in said
    assert toy.locator("td.f .strip.clear").count() == 4
    assert fair.locator("td.f .strip.clear").count() == 0
    expect(fair.locator("td.f").first).to_contain_text("cannot tell")


def test_model_task_and_comparison(page: Any) -> None:
    row(page, "toy").locator("th a").first.click()
    home = page.url.rpartition("/model/")[0]
    expect(page.locator("h1")).to_contain_text("In images of toy")
    card = page.locator("#t2iat_flowers_insects")
    expect(card).to_contain_text("t2iat_flowers_insects in words.")
    assert card.locator(".olist.rows .rail").count() == 2
    expect(page.locator("#stated")).to_contain_text("fingerprint")
    assert not card.is_visible()
    page.locator(".fold > summary", has_text="flowers and insects").click()
    expect(card).to_be_visible()
    # as a row of the forest links
    page.goto(page.url.partition("#")[0] + "#t2iat_science_arts")
    expect(page.locator("#t2iat_science_arts")).to_be_in_viewport()
    page.locator("#unfold").click()
    expect(page.locator("details.fold:not([open])")).to_have_count(0)
    expect(page.locator("#unfold")).to_have_text("Close all")
    page.locator("a", has_text="All models on this test").first.click()
    assert page.locator("#models tbody tr").count() == 3
    assert (
        page.locator("#items tbody .rail").count()
        == 3 * page.locator("#items tbody tr").count()
    )
    page.goto(f"{home}/compare.html#models={TOY},{FAIR},{LAND}")
    expect(page.locator("#diff thead th")).to_have_count(6)
    found = page.locator(
        "#diff tr", has=page.locator('a[href="task/t2iat_flowers_insects.html"]')
    )
    expect(found).to_contain_text("without 0: toy-fair leans less")
    said = page.locator(".sum-up").first.inner_text()
    leaning = page.locator(
        'td[data-of="toy-fair less toy"]', has_text=": toy-fair leans"
    ).count()
    assert (
        f"toy and toy-fair differ: toy-fair leans less in {leaning} of 5 tests, "
        "by this pair’s own correction." in said
    )
    # Two pairs are shown, so that each has to be twice as clear.
    expect(page.locator(".overall").first).to_contain_text("over the 2 pairs shown")
    assert page.locator("#diff a", has_text="weat").count() == 0
    page.locator("label", has_text="toyland-fair").first.click()
    expect(page.locator("h1")).to_have_text("toy · toy-fair")


def test_a_scale_of_another_package_ends_where_it_says(
    tab: Any, folder: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(folder, tmp_path / "site")
    begin, file = "window.T2IBENCH = ", copy / "data.js"
    data = json.loads(file.read_text().removeprefix(begin).rstrip().rstrip(";"))
    flowers = data["models"][0]["tasks"]["t2iat_flowers_insects"]
    assert (flowers["end"], flowers["unit"], flowers["ends"]) == (1.0, "", "")
    points = {
        "value": 50.0, "low": 25.0, "high": 150.0, "fair": [None, None], "scale": "points",
        "end": 100.0, "unit": " points", "ends": "points: from −100 to 100 points",
    }  # fmt: skip
    for model in data["models"]:
        model["tasks"]["t2iat_flowers_insects"] |= points
    file.write_text(f"{begin}{json.dumps(data)};\n")
    tab.goto(f"{copy.as_uri()}/compare.html#models={TOY},{FAIR}")
    line = tab.locator("#diff tbody tr", has_text="flowers")
    expect(line).to_contain_text("points: from −100 to 100 points")
    cell = line.locator("td").first
    expect(cell.locator(".num")).to_have_text("+50.00 points")
    # Half of the way from the middle to the end, and an arrow where the interval goes on.
    assert place_of(cell) == pytest.approx(0.75, abs=0.02)
    expect(cell.locator(".over.hi")).to_have_text("›")


def place_of(cell: Any) -> float:
    """Where the value of a mark is on its axis, from 0 to 1."""
    axis, dot = (cell.locator(f".rail{part}").bounding_box() for part in ("", " .dot"))
    return float((dot["x"] + dot["width"] / 2 - axis["x"]) / axis["width"])


def test_differences_have_the_sign_of_their_heading(page: Any) -> None:
    """Whichever model is named first, the difference is that of the heading."""
    home = page.url.rpartition("/")[0]
    values = []
    for pair in (f"{TOY},{FAIR}", f"{FAIR},{TOY}"):
        page.goto("about:blank")
        page.goto(f"{home}/compare.html#models={pair}")
        cell = page.locator("#diff tbody tr", has_text="flowers").locator("td").nth(2)
        expect(cell).to_contain_text("toy-fair leans less")
        values.append(str(cell.locator(".num").inner_text()).split(",")[0])
    assert values[0].startswith("−") and values[1].startswith("+")
    assert values[0][1:] == values[1][1:]


def test_a_word_is_found_with_the_numbers_of_every_model(
    page: Any, folder: Path
) -> None:
    opened(page, folder / "tasks.html")
    page.locator("#find").fill("X")
    expect(page).to_have_url(re.compile("find=X"))
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    found = page.locator(
        "#words li:visible", has=page.locator("b", has_text=re.compile("^x$"))
    )
    expect(found).to_have_count(1)
    found.locator("a").first.click()
    item = page.locator("tr:target")
    expect(item.locator("th")).to_have_text("x")
    expect(item.locator("td")).to_have_count(len(SHARES))


def test_downloads(folder: Path) -> None:
    rows = list(csv.DictReader((folder / "leaderboard.csv").read_text().splitlines()))
    assert {row["model"] for row in rows} == {"toy", "toy-fair", "toyland-fair"}
    assert {row["scale"] for row in rows if float(row["headline"]) < 0} == {
        "lean",
        "mean_square",
    }
    assert len(json.loads((folder / "data.json").read_text())["models"]) == 3
    models = json.loads((folder / "data.json").read_text())["models"]
    toy = next(one for one in models if one["name"] == "toy")
    cell = toy["families"]["occupations"]
    assert (cell["best_rank"], cell["worst_rank"], cell["ranked"]) == (3, 3, 3)
    assert cell["low"] < cell["value"] < cell["high"]


def test_every_page_opens_from_disk_and_no_link_is_dead(tab: Any, folder: Path) -> None:
    wrong: list[str] = []
    tab.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    for path in sorted(folder.rglob("*.html")):
        tab.goto(path.as_uri())
        expect(tab.locator("h1")).to_be_visible()
        links = tab.locator("a[href], img[src], link[href], script[src]").evaluate_all(
            "all => all.map(one => one.getAttribute('href') ?? one.getAttribute('src'))"
        )
        for link in links:
            target = (
                (path.parent / link.partition("#")[0])
                if link.partition("#")[0]
                else path
            )
            assert link.startswith("data:") or target.is_file(), (path, link)
    assert wrong == []


NASTY = [
    "</script><img src=x onerror=document.title='hit'>",
    "[x](javascript:document.title='hit')",
    "=cmd|'/c calc'!A1",
    "\r=1+1",
    "a|b\n|c",
    "a\u202egpj",
    "\ud800",
    "\\input{/etc/passwd}",
    "`x` &lt;b&gt;",
    "https://example.org/x",
]


def nasty_board(root: Path, text: str) -> Board:
    """A stranger's text wherever a submission can hold any, admitted without a check."""
    board = board_of(root)
    entry = board.entries[0]
    entry.manifest.name = entry.manifest.model = entry.manifest.revision = text
    entry.manifest.model_args = {"key": text}
    entry.results.command, entry.results.environment = [text], {text: text}
    entry.results.model.settings = {text: [text, float("nan")]}
    for name, task in entry.results.tasks.items():
        head = task.headline.model_copy(update={"direction": text})
        changed = {"headline": head, "reason": text, "inconclusive": text}
        entry.results.tasks[name] = task.model_copy(update=changed)
    board.entries[0] = in_visible_words(entry)
    board.refused["left"] = visible(text)
    return board


@pytest.mark.parametrize("text", NASTY)
def test_text_is_text(text: str, tab: Any, board: Path, tmp_path: Path) -> None:
    site.build(nasty_board(board, text), tmp_path)
    assert "</script>" not in (tmp_path / "data.js").read_text()
    data = json.loads((tmp_path / "data.json").read_text())
    (mine,) = [one["id"] for one in data["models"] if not one["name"].startswith("toy")]
    both = f"compare.html#models={mine},{FAIR}"
    for where in (
        "index.html",
        f"model/{mine}.html",
        "task/t2iat_science_arts.html",
        both,
    ):
        tab.goto(f"{tmp_path.as_uri()}/{where}")
        tab.reload()
        expect(tab.locator("main")).to_contain_text(" ".join(visible(text).split()))
        assert tab.locator("main :is(script, iframe, [onload], [onerror])").count() == 0
        sources = tab.locator("img").evaluate_all(
            "all => all.map(a => a.getAttribute('src'))"
        )
        assert all(one.endswith((".jpg", ".svg")) and ":" not in one for one in sources)
        links = tab.locator("main a").evaluate_all(
            "all => all.map(a => a.getAttribute('href'))"
        )
        pages = [link for link in links if not link.startswith("data:text/csv;")]
        assert pages and not any(":" in link for link in pages)
        tables = set(links) - set(pages)
        assert not any(set(table) & set('<>"') for table in tables)
        assert "hit" not in tab.title() or "document.title" in tab.title()


@pytest.mark.parametrize("text", NASTY)
def test_the_csv_holds_text_as_text(text: str, board: Path) -> None:
    written = downloads.results_csv(nasty_board(board, text).entries)
    rows = list(csv.reader(io.StringIO(written)))
    assert "\u202e" not in written and len({len(row) for row in rows}) == 1
    for cell in (cell for row in rows for cell in row):
        start = cell.lstrip("\r\n\t ")[:1]
        assert (
            start not in set("=+-@") or cell.startswith("'") or float(cell) is not None
        )


def test_inconclusive_tests_and_small_runs_are_marked(tab: Any, tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "t2iat_flowers_insects": {"inconclusive": "its </b> halves disagree"},
        "occupations_t2iat": {"settings": hand.settings(images_per_prompt=1)},
        "tibet_occupations": {"inconclusive": "blind"},
    }
    for name, shares in SHARES.items():
        given = changes if name == "toy" else None
        write_submission(tmp_path / "board", name, model_results(0, shares), given)
    shown = board_of(tmp_path / "board")
    site.build(shown, tmp_path / "site")
    toy = row(opened(tab, tmp_path / "site" / "index.html"), "toy")
    said = " ".join(
        one.get_attribute("aria-label") for one in toy.locator("td.f .strip").all()
    )
    for text in (
        "1 of 2 failed their own check",
        "1 of 1 failed",
        "not measured as the tests ask",
    ):
        assert text in said
    expect(toy).to_contain_text("failed its check")
    # Measured otherwise, so in a table of its own, without a rank.
    assert tab.locator(".stratum").count() == 2
    expect(toy.locator("td.r")).to_have_text(
        "no rank: no other model was measured alike"
    )
    toy.locator("th a").first.click()
    expect(tab.locator("#verdict .chip")).to_have_text(
        "1 of 6 tasks: 1 images a prompt, fewer than asked for"
    )
    expect(tab.locator("main")).to_contain_text(
        "not ranked: every task failed its own check"
    )
    tab.goto((tmp_path / "site" / "task" / "t2iat_flowers_insects.html").as_uri())
    expect(tab.locator("main")).to_contain_text("its </b> halves disagree")


@pytest.mark.usefixtures("uncompared")
def test_the_site_shows_notes_and_refusals_of_verdicts(
    board: Path, tmp_path: Path
) -> None:
    shown = board_of(board, toy="reproduced")
    toy = next(entry for entry in shown.entries if entry.manifest.name == "toy")
    toy.verdict.notes, toy.verdict.unconfirmed = (
        ["4 images are the same"],
        ["environment", "revision"],
    )
    shown.refused["bad-1"] = "results.json has changed"
    site.build(shown, tmp_path, "2026-05-02")
    index, page = (
        (tmp_path / "index.html").read_text(),
        (tmp_path / f"model/{TOY}.html").read_text(),
    )
    assert "<bdi>bad-1</bdi>: results.json has changed" in index
    assert "All 3 models are toys" in index and index.count("<b>toy</b>") == 3
    head = index.partition("<table")[0]
    assert all(text in head for text in ("2026-05-02", "data.json", "leaderboard.csv"))
    assert "4 images are the same" in page and "environment, revision" in page
    _, checked, stated = re.split('id="(?:checked|stated)"', page)
    assert all(f"<dt>{key}</dt>" in checked for key in ("fingerprint", "settings"))
    assert all(f"<dt>{key}</dt>" in stated for key in ("revision", "command", "judges"))


@pytest.mark.usefixtures("uncompared")
def test_nothing_of_a_model_that_was_left_out_stays(
    board: Path, tmp_path: Path
) -> None:
    root, output = Path(shutil.copytree(board, tmp_path / "board")), tmp_path / "site"
    site.build(board_of(root), output)
    mine = (f"pairs/{TOY}.js", f"model/{TOY}.*")
    assert all(list(output.glob(pattern)) for pattern in mine)
    data = site.build(board_of(root, toy="refused"), output)
    assert [*data["refused"]] == [TOY]
    assert not any(list(output.glob(pattern)) for pattern in mine)
    assert list(output.glob(f"model/{FAIR}.*"))
    assert TOY not in (output / "leaderboard.csv").read_text()


def test_a_site_removes_no_file_that_it_did_not_write(tmp_path: Path) -> None:
    files = [
        tmp_path / name
        for name in ("model/weights.safetensors", "pictures/trip/a.jpg", "task/a.html")
    ]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("somebody's")
    for _ in range(2):
        site.build(Board([]), tmp_path)
    assert [file.read_text() for file in files] == ["somebody's"] * 3
