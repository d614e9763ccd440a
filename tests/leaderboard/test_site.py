"""The site, built from the committed submissions and clicked through in a real browser."""

from __future__ import annotations

import csv
import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from t2ibench.errors import T2IBenchError
from t2ibench.leaderboard import site
from t2ibench.leaderboard.table import Cell, borda, rank_intervals, read_entries, save_verdicts
from tests.browser import chromium

SUBMISSIONS = Path(__file__).parents[2] / "leaderboard" / "submissions"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    site.build(read_entries(SUBMISSIONS), target)
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
    return [str(one) for one in page.locator("tbody th > a").all_inner_texts()]


def test_the_first_rows_say_what_they_should() -> None:
    entries = {entry.manifest.name: entry for entry in read_entries(SUBMISSIONS)}
    assert set(entries) == {"toy", "toy-fair", "toyland-fair"}
    for entry in entries.values():
        assert entry.level in {"recomputed", "reproduced"}
    for family in ("t2iat", "occupations", "openbias"):
        toy, fair, null = (
            entries[name].families[family].value for name in ("toy", "toy-fair", "toyland-fair")
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


def test_model_task_and_comparison(page: Any) -> None:
    page.locator("tbody th > a", has_text="toy").first.click()
    expect(page.locator("h2").first).to_contain_text("toy")
    page.locator("summary", has_text="Provenance").click()
    expect(page.locator("dl")).to_contain_text("fingerprint")
    page.locator("main a", has_text="tibet_occupations").click()
    expect(page.locator("main")).to_contain_text("Stable Diffusion 1.5")
    expect(page.locator("main")).to_contain_text("What to know")
    page.locator("h1 a").click()
    boxes = page.locator("tbody input[type=checkbox]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.locator("#compare").click()
    row = page.locator("#comparison tr", has_text="t2iat_flowers_insects")
    expect(row).to_contain_text("●")
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
        assert all(float(row["headline"]) >= 0 for row in rows if row["headline"])
    elif kind == "JSON":
        assert len(json.loads(text)["models"]) == 3
    else:
        assert text.count("@misc{") > 5 and "Caliskan" in text


def test_it_opens_from_disk(browser: Any, folder: Path) -> None:
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    assert names(page) == ["toy", "toy-fair", "toyland-fair"]
    page.close()


def test_text_is_text(browser: Any, tmp_path: Path) -> None:
    (entry, *_) = read_entries(SUBMISSIONS)
    nasty = "</script><img src=x onerror=document.title='hit'>"
    entry.manifest.name = nasty
    site.build([entry], tmp_path)
    assert "</script>" not in (tmp_path / "data.js").read_text()
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    assert names(page) == [nasty]
    assert page.locator("main img").count() == 0
    page.close()


def cell(value: float, half: float = 0.05, n: int = 2) -> Cell:
    return Cell(value, value - half, value + half, 0.1, n, 2)


def test_ranks_are_intervals() -> None:
    cells = [cell(0.1), cell(0.5), cell(0.52), None, cell(0.9, n=1)]
    assert rank_intervals(cells) == [(1, 1), (2, 3), (2, 3), None, None]
    assert rank_intervals([None]) == [None]


def test_paired_draws_rank_what_intervals_cannot() -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, 500)
    cells = [
        Cell(value, value - 0.2, value + 0.2, 0.1, 1, 1, value + noise) for value in (0.4, 0.45)
    ]
    assert rank_intervals(cells) == [(1, 1), (2, 2)]
    assert rank_intervals([cells[0], cells[0], cells[1]]) == [(1, 2), (1, 2), (3, 3)]
    unpaired = [Cell(c.value, c.low, c.high, c.null, 1, 1) for c in cells]
    assert rank_intervals(unpaired) == [(1, 2), (1, 2)]


def test_borda_needs_every_family() -> None:
    entries = read_entries(SUBMISSIONS)
    rows = borda(entries)
    assert [row["id"] for row in rows][-1].startswith("toy-")
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    entries[0].families.pop("t2iat")
    assert len(borda(entries)) == 2


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    entries = read_entries(SUBMISSIONS)
    entries[1].families.pop("mcas")
    text = site.table(entries, "md")
    assert "not run" in text and text.startswith("| Model")
    assert "\\toprule" in site.table(entries, "latex")
    rows = list(csv.reader(site.table(entries, "csv").splitlines()))
    assert rows[0][:2] == ["Model", "Verified"] and len(rows) == 4


def test_a_verdict_holds_for_what_was_verified(tmp_path: Path) -> None:
    import shutil

    (first, *_) = sorted(SUBMISSIONS.glob("*/submission.json"))
    shutil.copytree(first.parent, tmp_path / "one")
    assert read_entries(tmp_path)[0].level == "not verified"
    save_verdicts(tmp_path, {"one": {"level": "recomputed", "notes": []}})
    assert read_entries(tmp_path)[0].level == "recomputed"
    manifest = tmp_path / "one" / "submission.json"
    manifest.write_text(manifest.read_text().replace('"name": "', '"name": "not '))
    assert read_entries(tmp_path)[0].level == "not verified"
    save_verdicts(tmp_path, {"one": {"level": "refused", "notes": []}})
    with pytest.raises(T2IBenchError, match="was refused"):
        read_entries(tmp_path)
