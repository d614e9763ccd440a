"""The site, built from three models made by hand and clicked through in a real browser."""

from __future__ import annotations

import csv
import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from t2ibench.errors import T2IBenchError
from t2ibench.leaderboard import site
from t2ibench.leaderboard.table import read_entries, save_verdicts
from tests import hand
from tests.browser import chromium
from tests.leaderboard.conftest import SHARES, model_results, write_submission

SUBMISSIONS = Path(__file__).parents[2] / "leaderboard" / "submissions"


@pytest.fixture(scope="module")
def folder(board: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    site.build(read_entries(board), target)
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
    """The submissions of this repository: a biased model, and two that are not."""
    entries = {entry.manifest.name: entry for entry in read_entries(SUBMISSIONS)}
    assert set(entries) == {"toy", "toy-fair", "toyland-fair"}
    for entry in entries.values():
        assert entry.level in {"recomputed", "reproduced"}
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
    page.locator("tbody th > a", has_text="toy").first.click()
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


def test_text_is_text(browser: Any, board: Path, tmp_path: Path) -> None:
    (entry, *_) = read_entries(board)
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


def test_what_is_inconclusive_or_small_is_shown(browser: Any, tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "t2iat_flowers_insects": {"inconclusive": "its </b> halves disagree"},
        "occupations_t2iat": {"settings": hand.settings(images_per_prompt=1)},
        "tibet_occupations": {"inconclusive": "blind"},
    }
    for name, shares in SHARES.items():
        given = changes if name == "toy" else None
        write_submission(tmp_path / "board", name, model_results(0, shares), given)
    entries = read_entries(tmp_path / "board")
    text = site.table(entries, "md")
    assert "1 inconclusive" in text and "fewer images" in text
    site.build(entries, tmp_path / "site")
    page = browser.new_page()
    page.goto((tmp_path / "site" / "index.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    toy = page.locator("tbody tr", has=page.get_by_role("link", name="toy", exact=True))
    expect(toy).to_contain_text("2 tasks · 1 inconclusive")
    expect(toy).to_contain_text("inconclusive (1 of 1 tasks)")
    expect(toy).to_contain_text("fewer images than the tasks ask for")
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
    entries = read_entries(board)
    site.build(entries, tmp_path)
    assert not (tmp_path / "pairs").exists()
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri() + f"#/compare/{entries[0].id}/{entries[1].id}")
    expect(page.locator("main")).to_contain_text("t2ibench compare")
    page.close()


def test_tables(board: Path) -> None:
    entries = read_entries(board)
    entries[1].families.pop("tibet")
    text = site.table(entries, "md")
    assert "not run" in text and text.startswith("| Model")
    assert "\\toprule" in site.table(entries, "latex")
    assert "rank 3 of 3" in text and "fair up to 0." in text
    rows = list(csv.DictReader(site.table(entries, "csv").splitlines()))
    assert len(rows) == 3 * len(SHARES) + 6
    first = rows[0]
    assert (first["model"], first["family"], first["ranked"]) == ("toy", "weat", "")
    toy = next(row for row in rows if row["model"] == "toy" and row["family"] == "occupations")
    assert (toy["best_rank"], toy["worst_rank"], toy["ranked"]) == ("3", "3", "3")
    assert float(toy["low"]) < float(toy["value"]) < float(toy["high"])


def test_a_verdict_holds_for_what_was_verified(board: Path, tmp_path: Path) -> None:
    import shutil

    (first, *_) = sorted(board.glob("*/submission.json"))
    shutil.copytree(first.parent, tmp_path / "one")
    assert read_entries(tmp_path)[0].level == "not verified"
    save_verdicts(tmp_path, {"one": {"level": "recomputed", "notes": []}})
    assert read_entries(tmp_path)[0].level == "recomputed"
    manifest = tmp_path / "one" / "submission.json"
    manifest.write_text(manifest.read_text().replace('"name":"', '"name":"not '))
    assert read_entries(tmp_path)[0].level == "not verified"
    save_verdicts(tmp_path, {"one": {"level": "refused", "notes": []}})
    with pytest.raises(T2IBenchError, match="was refused"):
        read_entries(tmp_path)
