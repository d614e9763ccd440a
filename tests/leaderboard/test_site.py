"""The site, built from three models made by hand and clicked through in a real browser."""

from __future__ import annotations

import csv
import functools
import http.server
import io
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import expect

from t2ibench.leaderboard import exports, site
from t2ibench.leaderboard.board import Board, Refused
from tests import hand
from tests.browser import chromium
from tests.leaderboard.conftest import SHARES, board_of, model_results, write_submission

SUBMISSIONS = Path(__file__).parents[2] / "leaderboard" / "submissions"


@pytest.fixture(scope="module")
def folder(board: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    site.build(board_of(board), target)
    return target


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: Any, folder: Path) -> Iterator[Any]:
    """The site over a plain file server, and everything that it must not do."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    found = browser.new_page(viewport={"width": 1400, "height": 900})
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    found.on("request", lambda r: None if r.url.startswith(home) else wrong.append(r.url))
    found.goto(home)
    found.wait_for_selector("body[data-ready=yes]")
    yield found
    found.close()
    server.shutdown()
    server.server_close()
    assert [one for one in wrong if "favicon" not in one and "404" not in one] == []


def names(page: Any) -> list[str]:
    return [str(one) for one in page.locator("tbody th a").all_inner_texts()]


def test_the_first_rows_say_what_they_should() -> None:
    """The submissions of this repository: a biased model, and two that are not."""
    entries = {entry.manifest.name: entry for entry in board_of(SUBMISSIONS).entries}
    assert set(entries) == {"toy", "toy-fair", "toyland-fair"}
    for family in ("t2iat", "occupations", "openbias"):
        toy, fair, null = (
            entries[name].families[family].square for name in ("toy", "toy-fair", "toyland-fair")
        )
        assert toy is not None and fair is not None and null is not None
        assert toy > fair and toy > null, family


def test_sort_filter_and_missing(page: Any) -> None:
    assert names(page) == ["toy", "toy-fair", "toyland-fair"]
    page.locator('th[data-name="openbias"] button').click()
    assert names(page)[-1] == "toy"
    page.locator('th[data-name="openbias"] button').click()
    assert names(page)[0] == "toy"
    assert page.locator('th[data-name="openbias"]').get_attribute("aria-sort") == "descending"
    page.locator("#find").fill("fair")
    expect(page.locator("#found")).to_have_text("2 of 3 models")
    page.locator("#find").fill("")
    expect(page.locator("tbody")).to_contain_text("published, not recomputable")
    expect(page.locator("tbody tr", has_text="Stable Diffusion 2.1").first).to_contain_text(
        "not reported"
    )
    assert page.locator("thead", has_text="Borda").count() == 0
    page.locator("#borda").check()
    expect(page.locator("thead")).to_contain_text("Borda")
    toy = page.locator("tbody tr", has=page.get_by_role("link", name="toy", exact=True))
    expect(toy).to_contain_text("rank 3 of 3")
    expect(toy).to_contain_text("not ranked: it measures the text encoder, not the model")


def test_model_task_and_comparison(page: Any) -> None:
    page.locator("tbody th a", has_text="toy").first.click()
    expect(page.locator("h2").first).to_contain_text("toy")
    cell = page.locator("main tr", has_text="t2iat_flowers_insects")
    expect(cell).to_contain_text("+0.")
    expect(cell).to_contain_text("about these prompts")
    expect(cell).to_contain_text("t2iat_flowers_insects in words.")
    page.locator("summary", has_text="Provenance").click()
    expect(page.locator("dl")).to_contain_text("fingerprint")
    page.locator("main a", has_text="tibet_occupations").click()
    expect(page.locator("main")).to_contain_text("Stable Diffusion 2.1")
    expect(page.locator("main")).to_contain_text("What to know")
    page.locator("h1 a").click()
    boxes = page.locator("tbody input[type=checkbox]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.locator("#compare").click()
    row = page.locator("#comparison tr", has_text="t2iat_flowers_insects")
    expect(row).to_contain_text("●")
    expect(row).to_contain_text("toy-fair leans less")
    text = page.locator("#comparison tr", has_text="weat_8_science_arts")
    expect(text).to_contain_text("measures the text encoder, which both runs share")
    picture = page.locator("#pictures img").first
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 64)
    page.reload()
    expect(page.locator("#comparison")).to_be_visible()


@pytest.mark.parametrize("kind", ["CSV", "JSON", "BibTeX"])
def test_downloads(kind: str, page: Any, tmp_path: Path) -> None:
    with page.expect_download() as download:
        page.locator("nav a", has_text=kind).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    text = path.read_text()
    if kind == "CSV":
        rows = list(csv.DictReader(text.splitlines()))
        assert {row["model"] for row in rows} == {"toy", "toy-fair", "toyland-fair"}
        scales = {row["scale"] for row in rows if float(row["headline"]) < 0}
        assert scales == {"lean", "mean_square"}
    elif kind == "JSON":
        assert len(json.loads(text)["models"]) == 3
    else:
        assert text.count("@misc{") > 3 and "Caliskan" in text


def test_it_opens_from_disk(browser: Any, folder: Path) -> None:
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    assert names(page) == ["toy", "toy-fair", "toyland-fair"]
    page.close()


NASTY = [
    "</script><img src=x onerror=document.title='hit'>",
    "<svg onload=document.title='hit'>",
    "[x](javascript:document.title='hit')",
    "=cmd|'/c calc'!A1",
    "\r=1+1",
    "\n@SUM(1)",
    "a|b\n|c",
    "a\u202egpj",
    "\ud800",
    "\\input{/etc/passwd}",
    "`x` &lt;b&gt;",
    "https://example.org/x",
]


def nasty_board(root: Path, text: str) -> Board:
    """A stranger's text wherever a submission can hold any, as if nothing had checked it."""
    board = board_of(root)
    entry = board.entries[0]
    entry.manifest.name = text
    entry.manifest.model = text
    entry.manifest.revision = text
    entry.manifest.model_args = {"key": text}
    entry.results.command = [text]
    entry.results.environment = {text: text}
    entry.results.model.settings = {text: [text, float("nan")]}
    entry.level = "self-reported"
    for name, task in entry.results.tasks.items():
        head = task.headline.model_copy(update={"direction": text})
        changed = {"notes": [text], "title": text, "headline": head, "reason": text}
        entry.results.tasks[name] = task.model_copy(update=changed)
    board.refused.append(Refused("left", site.visible(text)))
    return board


@pytest.mark.parametrize("text", NASTY)
def test_text_is_text(text: str, browser: Any, board: Path, tmp_path: Path) -> None:
    site.build(nasty_board(board, text), tmp_path)
    assert "</script>" not in (tmp_path / "data.js").read_text()
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    for where in ("#/", "#/model/toy-00000003", "#/task/t2iat_science_arts"):
        page.goto((tmp_path / "index.html").as_uri() + where)
        page.reload()
        page.wait_for_selector("body[data-ready=yes]")
        expect(page.locator("main")).to_contain_text(" ".join(site.visible(text).split()))
        assert page.locator("main :is(img, svg, script, iframe)").count() == 0
        links = page.locator("main a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        assert links and all(link.startswith("#/") for link in links)
        assert "hit" not in page.title() or "document.title" in page.title()
    page.close()
    assert wrong == []


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("form", ["md", "latex", "csv", "leaderboard.csv"])
def test_tables_hold_text_as_text(form: str, text: str, board: Path) -> None:
    found = nasty_board(board, text)
    if form == "leaderboard.csv":
        written = exports.results_csv(found.entries)
    else:
        written = exports.table(found, form)
    assert written.encode("utf-8").isascii() or "\u202e" not in written
    if form == "md":
        tokens = [
            one
            for token in MarkdownIt("commonmark").enable("table").parse(written)
            for one in (token, *(token.children or []))
        ]
        kinds = {token.type for token in tokens}
        assert not kinds & {"link_open", "image", "html_inline", "html_block", "code_inline"}
        rows = [line for line in written.splitlines() if line.startswith("|")]
        assert len(rows) == 2 + len(SHARES)
        assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
        assert "://" not in written
    elif form == "latex":
        commands = set(re.findall(r"\\[a-zA-Z]+", written))
        assert "\\input" not in commands and "\\toprule" in commands
        assert len(re.findall(r"(?m)\\\\$", written)) == 1 + len(SHARES)
    else:
        rows = list(csv.reader(io.StringIO(written)))
        assert len({len(row) for row in rows}) == 1
        for cell in (cell for row in rows for cell in row):
            start = cell.lstrip("\r\n\t ")[:1]
            assert start not in set("=+-@") or cell.startswith("'") or float(cell) is not None


def test_what_is_inconclusive_or_small_is_shown(browser: Any, tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "t2iat_flowers_insects": {"inconclusive": "its </b> halves disagree"},
        "occupations_t2iat": {"settings": hand.settings(images_per_prompt=1)},
        "tibet_occupations": {"inconclusive": "blind"},
    }
    for name, shares in SHARES.items():
        given = changes if name == "toy" else None
        write_submission(tmp_path / "board", name, model_results(0, shares), given)
    shown = board_of(tmp_path / "board")
    entries = shown.entries
    text = exports.table(shown, "md")
    assert "1 inconclusive" in text and "fewer images" in text
    assert "fewer images in 1 of 5 tasks: 1 a prompt, 34 asked for" in text
    site.build(shown, tmp_path / "site")
    page = browser.new_page()
    page.goto((tmp_path / "site" / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    toy = page.locator("tbody tr", has=page.get_by_role("link", name="toy", exact=True))
    expect(toy).to_contain_text("2 tasks · 1 inconclusive")
    expect(toy).to_contain_text("inconclusive (1 of 1 tasks)")
    expect(toy).to_contain_text("fewer images than the tasks ask for")
    expect(toy.locator(".chip")).to_have_text(
        "fewer images in 1 of 5 tasks: 1 a prompt, 34 asked for"
    )
    toy.locator("th a").click()
    expect(page.locator("main")).to_contain_text("its </b> halves disagree")
    expect(page.locator("main")).to_contain_text("1 images a prompt; the task asks for")
    ids = "/".join(entry.id for entry in entries[:2])
    page.goto((tmp_path / "site" / "index.html").as_uri() + f"#/compare/{ids}")
    row = page.locator("#comparison tr", has_text="t2iat_flowers_insects")
    expect(row).to_contain_text("the first is inconclusive")
    page.close()


def test_too_many_models_to_compare_every_two(
    browser: Any, board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "PAIRED_MODELS", 2)
    shown = board_of(board)
    entries = shown.entries
    site.build(shown, tmp_path)
    assert not (tmp_path / "pairs").exists()
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri() + f"#/compare/{entries[0].id}/{entries[1].id}")
    expect(page.locator("main")).to_contain_text("t2ibench compare")
    page.close()


def test_tables(board: Path) -> None:
    shown = board_of(board)
    shown.entries[1].families.pop("tibet")
    text = exports.table(shown, "md")
    assert "not run" in text and text.startswith("| Model")
    assert "\\toprule" in exports.table(shown, "latex")
    assert "rank 3 of 3" in text and "fair up to 0." in text
    rows = list(csv.DictReader(exports.table(shown, "csv").splitlines()))
    assert len(rows) == 3 * len(SHARES) + 6
    first = rows[0]
    assert (first["model"], first["family"], first["ranked"]) == ("toy", "weat", "")
    toy = next(row for row in rows if row["model"] == "toy" and row["family"] == "occupations")
    assert (toy["best_rank"], toy["worst_rank"], toy["ranked"]) == ("3", "3", "3")
    assert float(toy["low"]) < float(toy["value"]) < float(toy["high"])


@pytest.mark.parametrize("form", ["md", "latex", "csv", "leaderboard.csv"])
def test_what_was_run_stands_beside_the_name(form: str, board: Path) -> None:
    shown = board_of(board, toyland_fair="self-reported")
    entry = shown.entries[-1]
    entry.manifest.model_args, entry.manifest.revision = {"all.skin.dark": "0.5"}, "world 2"
    if form == "leaderboard.csv":
        text = exports.results_csv(shown.entries)
    else:
        text = exports.table(shown, form)
    (line,) = [one for one in text.splitlines() if one.lstrip("| ").startswith("toyland-fair")][:1]
    for part in ("toyland", "all.skin.dark=0.5", "world 2", "self-reported"):
        assert part in line.replace(r"\_", "_")


def test_what_was_not_verified_stands_below_without_ranks(
    browser: Any, board: Path, tmp_path: Path
) -> None:
    shown = board_of(board, toy="self-reported")
    assert [entry.manifest.name for entry in shown.entries] == ["toy-fair", "toyland-fair", "toy"]
    rows = list(csv.DictReader(exports.table(shown, "csv").splitlines()))
    for row in rows:
        mine = row["model"] == "toy"
        assert row["verified"] == ("self-reported" if mine else "recomputed")
        assert not (mine and row["best_rank"]) and row["ranked"] in {"", "2"}
        assert not mine or row["unranked"] == "not verified"
    data = site.build(shown, tmp_path)
    assert {row["id"].rpartition("-")[0] for row in data["borda"]} == {"toy-fair", "toyland-fair"}
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    for _ in range(2):  # sorted either way, it stays below
        page.locator('th[data-name="openbias"] button').click()
        assert names(page)[-1] == "toy"
    expect(page.locator("tr.divide")).to_contain_text("Not verified")
    expect(page.locator("tr.unverified").first).to_contain_text("not ranked: not verified")
    expect(page.locator("tr.unverified").first).to_contain_text("stated: --model toy")
    for level in data["levels"]:
        expect(page.locator("#levels")).to_contain_text(level)
    page.goto((tmp_path / "index.html").as_uri() + "#/model/toy-00000003")
    expect(page.locator("main")).to_contain_text("No evidence was sent")
    page.locator("summary", has_text="Provenance").click()
    expect(page.locator("h4")).to_contain_text("Stated by the submitter, not checked")
    expect(page.locator("#stated")).to_contain_text("command")
    assert page.locator("#checked").count() == 0
    one, other = (entry.id for entry in shown.entries[1:])
    page.goto((tmp_path / "index.html").as_uri() + f"#/compare/{one}/{other}")
    expect(page.locator("#comparison")).to_contain_text("toy was not verified")
    page.close()


def test_what_a_verdict_says_is_shown(browser: Any, board: Path, tmp_path: Path) -> None:
    shown = board_of(board, toy="reproduced")
    toy = next(entry for entry in shown.entries if entry.manifest.name == "toy")
    toy.notes, toy.stated = ["4 images are the same"], ["environment", "revision"]
    shown.refused.append(Refused("bad-1", "results.json has changed"))
    site.build(shown, tmp_path)
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    expect(page.locator("#refused")).to_have_text("bad-1: results.json has changed")
    page.goto((tmp_path / "index.html").as_uri() + f"#/model/{toy.id}")
    for text in ("4 images are the same", "environment, revision"):
        expect(page.locator("#verdict")).to_contain_text(text)
    page.locator("summary", has_text="Provenance").click()
    for kind, key in (("checked", "fingerprint"), ("checked", "settings")):
        expect(page.locator(f"#{kind}")).to_contain_text(key)
    for key in ("revision", "command", "environment", "judges"):
        expect(page.locator("#stated")).to_contain_text(key)
    page.close()


def test_nothing_of_a_model_that_was_left_out_stays(board: Path, tmp_path: Path) -> None:
    site.build(board_of(board), tmp_path)
    assert (tmp_path / "pairs" / "toy-00000003.js").exists()
    assert list(tmp_path.glob("thumbs/toy-00000003/*.jpg"))
    data = site.build(board_of(board, toy="refused"), tmp_path)
    assert [one["id"] for one in data["refused"]] == ["toy-00000003"]
    assert not (tmp_path / "pairs" / "toy-00000003.js").exists()
    assert not list(tmp_path.glob("thumbs/toy-00000003/*.jpg"))
    assert "toy-00000003" not in (tmp_path / "leaderboard.csv").read_text()


def test_a_thumbnail_is_copied_pixel_by_pixel(board: Path, tmp_path: Path) -> None:
    import shutil

    root = Path(shutil.copytree(board, tmp_path / "board"))
    (first, *_) = sorted(root.glob("toy-0*/thumbs/*.jpg"))
    first.write_bytes(first.read_bytes() + b"<script>")
    site.build(board_of(root), tmp_path / "site")
    (copied,) = tmp_path.glob(f"site/thumbs/toy-0*/{first.name}")
    assert b"<script>" not in copied.read_bytes()
