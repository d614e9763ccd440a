"""The docs site: built strictly from the repository, complete, and whole without a network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

import t2ibench
from t2ibench.methods import METHODS
from t2ibench.tasks.index import load_tasks
from tests.apps.explorer.page import Watch, axe

ROOT = Path(__file__).parents[2]
LOOKED_AT = (
    *(
        "index",
        "reading",
        "reports",
        "tasks/t2iat_science_arts",
        "tasks/openbias_winobias",
    ),
    *("notebooks/quickstart", "methods/index", "reference/results", "reference/api"),
)
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    words = [sys.executable, "tools/docs.py", "--site-dir", str(folder)]
    done = subprocess.run(words, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Page(HTMLParser):
    """What a page says and loads, and what it can be pointed at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "link" and found.get("rel") not in {"prev", "next", "canonical"}:
            self.loads.append(found["href"])
        if "src" in found:
            self.loads.append(found["src"])

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if path.name != "404.html"
    }


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Page]) -> None:
    loads = {(name, url) for name, page in pages.items() for url in page.loads}
    assert {
        one for one in loads if urlsplit(one[1]).scheme not in {"", "data"}
    } == set()
    for sheet in site.rglob("*.css"):
        assert not re.search(
            r"url\(['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")
        )


def test_every_task_and_every_method_has_a_page_and_every_public_name_a_text(
    pages: dict[str, Page],
) -> None:
    for task in load_tasks():
        words = " ".join(pages[f"tasks/{task.id}.html"].words.split())
        assert task.hash in words
        for text in (task.spec.citation, task.spec.description, *task.spec.notes):
            assert " ".join(text.split()) in words
    for name in METHODS.names():
        assert f"methods/{name}.html" in pages
    ids = pages["reference/api.html"].ids
    names = {one.rpartition(".")[2] for one in ids if one.startswith("t2ibench.")}
    assert set(t2ibench.__all__) - {"__version__"} <= names


def test_every_field_of_the_files_of_a_run_has_a_meaning(site: Path) -> None:
    for stem in ("results", "run"):
        schema = json.loads(
            (site / "reference" / f"{stem}.schema.json").read_text("utf-8")
        )
        text = (site / "reference" / f"{stem}.html").read_text(encoding="utf-8")
        rows = re.findall(
            r"<tr>\s*<td><code>(.*?)</code></td>\s*<td>(.*?)</td>\s*<td>(.*?)</td>",
            text,
            re.S,
        )
        named = {name.replace("&#95;", "_") for name, _, _ in rows}
        parts = [schema, *schema["$defs"].values()]
        assert {key for part in parts for key in part.get("properties", {})} == named
        assert all(kind.strip() and meaning.strip() for _, kind, meaning in rows)


def test_the_notebook_was_run(site: Path, pages: dict[str, Page]) -> None:
    page = pages["notebooks/quickstart.html"]
    text = (site / "notebooks" / "quickstart.html").read_text(encoding="utf-8")
    assert "In images of toyland, 1 of 2 tests leans clearly" in page.words
    assert text.count('class="t2ibench-inline"') == 2
    assert 'src="data:image/png;base64,' in text and 'class="dataframe"' in text
    assert "notebooks/report.html" in pages
    book = json.loads(
        (ROOT / "docs" / "notebooks" / "quickstart.ipynb").read_text("utf-8")
    )
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_accessible_and_fit(
    browser: Any, address: str, width: int, scheme: str
) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, address, bypass_csp=True, **options)
    for name in LOOKED_AT:
        watch.page.goto(f"{address}/{name}.html")
        assert axe(watch.page) == [], name
        assert watch.page.evaluate("document.documentElement.scrollWidth") <= width, (
            name
        )
        # A command breaks into lines: none of it is beyond the edge of a phone.
        beyond = "all => all.filter((each) => each.scrollWidth > each.clientWidth + 1).length"
        assert watch.page.locator("pre.command > code").evaluate_all(beyond) == 0, name
    watch.close()


def test_every_step_of_a_guide_is_an_item_of_its_list(site: Path) -> None:
    """Markdown takes a step for text of the step before it where that ends in a paragraph."""
    for guide in (site / "guides").glob("*.html"):
        html = guide.read_text(encoding="utf-8")
        assert html.count("<li>\n<p><strong>") >= 4, guide.name
        assert not re.search(r"\d\. <strong>", html), guide.name


def test_search_works_on_a_disk_and_on_a_server(
    browser: Any, site: Path, address: str
) -> None:
    for start in (site.as_uri(), address):
        watch = Watch(browser, start)
        page = watch.page
        page.goto(f"{start}/index.html")
        page.get_by_role("button", name="Search").click()
        box = page.get_by_role("dialog", name="Search").and_(page.locator("dialog"))
        box.get_by_role("combobox").or_(box.locator("input")).first.fill("fair band")
        found = box.get_by_role("link", name="Fair band").or_(
            box.get_by_text("Where the headline")
        )
        found.first.wait_for()
        watch.close()
