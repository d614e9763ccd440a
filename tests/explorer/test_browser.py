"""The explorer in a real browser, over a run of the bundled model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import expect

from t2ibench import evaluate
from tests.browser import chromium

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    quick: dict[str, Any] = {"n_permutations": 200, "n_bootstrap": 100}
    evaluate("toy", "vibex_gender", images_per_prompt=10, output_dir=folder, **quick)
    return folder / "toy"


@pytest.fixture(scope="module")
def address(run: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "t2ibench", "explore", str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("Exploring at http://127.0.0.1:"), line
        yield line.split()[2]
        server.terminate()


class Watch:
    """A page, and everything that it must not do."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1500, "height": 950}, **options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        self.page.on(
            "request",
            lambda r: (
                None if r.url.startswith((address, "data:", "blob:")) else self.wrong.append(r.url)
            ),
        )
        self.open(address)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready=yes]")


@pytest.fixture
def watch(browser: Any, address: str, run: Path) -> Iterator[Watch]:
    (run / "explorer" / "session.json").unlink(missing_ok=True)
    found = Watch(browser, address)
    yield found
    found.context.close()
    assert not found.wrong


LEAN = """async () => {
  const { S } = await import("/static/store.js");
  const tree = await import("/static/tree.js");
  const node = S.nodes.get(S.state.chosen[0]);
  Object.assign(node.scores[0], { verdict: "leans", lean: 0, d: 1 });
  tree.render();
}"""


def add(page: Any, label: str, relation: str = "that shows a") -> None:
    """A concept below the root, by keyboard alone."""
    page.locator("#tree li").first.focus()
    page.keyboard.press("Insert")
    page.locator("#tree form input.relation").fill(relation)
    page.locator("#tree form input.label").fill(label)
    page.keyboard.press("Enter")
    page.wait_for_selector(f'#tree li[aria-selected=true]:has-text("{label}") .scores')


def concept(page: Any, text: str) -> None:
    """Wait for the plots to be about a text."""
    expect(page.locator("#concept")).to_have_text(text)


def items(page: Any, count: int) -> None:
    """Wait for the tree to have so many nodes."""
    expect(page.locator("#tree li")).to_have_count(count)


def counted(page: Any, pattern: str) -> None:
    """Wait for the grid to say how many images it shows."""
    expect(page.locator("#count")).to_have_text(re.compile(pattern))


def drawn(page: Any, plot: str) -> int:
    canvas = page.locator(f"#{plot} canvas[data-drawn]")
    canvas.wait_for()
    return int(canvas.get_attribute("data-drawn"))


def test_a_concept_gets_its_verdict_and_its_pictures(watch: Watch) -> None:
    page = watch.page
    anchors = page.locator("#anchors .name").all_inner_texts()
    assert anchors == ["women (10 images)", "men (10 images)"]
    add(page, "female")
    node = page.locator("#tree li[aria-selected=true] > .node")
    colour = node.evaluate("one => getComputedStyle(one).borderLeftColor")
    red, _, blue = (int(part) for part in colour[4:-1].split(","))
    assert abs(red - blue) < 30  # grey: words that have nothing to do with it lean as far
    expect(page.locator("#numbers")).to_contain_text("not beyond everyday words")
    expect(page.locator("#numbers")).to_contain_text("% of everyday words · p")
    assert drawn(page, "strip") == 20
    # What a lean looks like.
    page.evaluate(LEAN)
    red, green, blue = (
        int(part)
        for part in page.locator("#tree li[aria-selected=true] > .node")
        .evaluate("one => getComputedStyle(one).borderLeftColor")[4:-1]
        .split(",")
    )
    assert red > blue + 60 and green > blue  # orange, the first anchor's colour
    expect(page.locator("#tree li[aria-selected=true] .scores")).to_contain_text("leans to women")


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
    page.keyboard.press("Delete")
    items(page, 4)
    page.keyboard.press("Control+z")
    items(page, 5)
    page.keyboard.press("Control+y")
    items(page, 4)
    page.locator("#tree li").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    held = page.evaluate("document.activeElement.querySelector('.label').textContent")
    assert held == "person"
    page.keyboard.press("Alt+ArrowUp")
    labels = page.locator("#tree .label").all_inner_texts()
    assert labels == ["picture", "woman", "person", "man"]


def test_every_view_and_the_brush(watch: Watch) -> None:
    page = watch.page
    add(page, "doctor")
    add(page, "happy person")
    page.locator('#tree .node:has-text("doctor")').click(modifiers=["Control"])
    page.wait_for_selector("#intersection canvas[data-drawn]")
    assert drawn(page, "strip") == 20
    assert drawn(page, "intersection") == 20
    assert drawn(page, "inverse") == 20
    box = page.locator("#strip canvas").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 100, steps=4)
    page.mouse.up()
    # The first row is the first anchor: its ten images are what the grid shows now.
    counted(page, "^10 of ")
    alts = page.locator("#grid .tile").evaluate_all(
        "tiles => tiles.map(tile => tile.getAttribute('aria-label'))"
    )
    assert len(alts) == 10
    assert all(text.startswith("picture that shows a woman") for text in alts)
    page.keyboard.press("Escape")
    counted(page, r"^\d+$")
    page.locator("#strip canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "similarity" in page.locator("#tip").inner_text()
    page.locator("#find").fill("happy")
    counted(page, "^10 of ")


def test_an_inverse_query(watch: Watch) -> None:
    page = watch.page
    add(page, "chemist")
    page.locator("#inverse .draw").click()
    expect(page.locator("#inverse b")).to_have_text(
        re.compile("^5 images generated"), timeout=60_000
    )
    expect(page.locator("#inverse canvas")).to_have_attribute("data-drawn", "25")
    assert drawn(page, "inverse") == 25
    assert page.locator("#tree .mark", has_text="generated").count() == 1
    expect(page.locator("#numbers")).to_contain_text("5 drawn: women")


def test_save_reload_export_and_run(watch: Watch, address: str, run: Path, cli: Cli) -> None:
    page = watch.page
    add(page, "nurse")
    page.locator("#save").click()
    page.wait_for_selector("#status:has-text('Saved')")
    watch.open(address)
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
    task = yaml.safe_load((tasks / "explored.yaml").read_text())
    assert task["concepts"] == [{"name": "nurse", "prompt": "picture that shows a nurse"}]
    status, out, errors = cli(
        *("run", "--model", "toy", "--tasks", "explored", "--include-path", tasks),
        *("--output-dir", run.parent, "--images-per-prompt", "10", "--permutations", "500"),
    )
    assert status == 0, errors
    assert "explored" in out and "Nothing to do" in errors


@pytest.mark.parametrize("kind", ["PNG", "SVG", "CSV"])
def test_views_are_saved(kind: str, watch: Watch, tmp_path: Path) -> None:
    page = watch.page
    add(page, "boss")
    with page.expect_download() as download:
        page.locator("#strip figcaption button", has_text=kind).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    data = path.read_bytes()
    if kind == "PNG":
        assert data.startswith(b"\x89PNG") and len(data) > 5000
    elif kind == "SVG":
        text = data.decode()
        assert (
            text.count("<image ") == 20
            and "data:image/jpeg" in text
            and "http:" not in (text.replace("http://www.w3.org/2000/svg", ""))
        )
    else:
        rows = data.decode().splitlines()
        assert len(rows) == 21 and rows[0] == '"source","prompt","index","anchor","similarity"'


def test_labels_are_text(watch: Watch) -> None:
    page = watch.page
    add(page, "<img src=x onerror=alert(1)>")
    assert page.locator("#tree img").count() == 0
    expect(page.locator("#concept")).to_contain_text("<img src=x")


def test_another_anchor(watch: Watch) -> None:
    page = watch.page
    page.locator("#anchor-prompt").fill("picture that shows a happy person")
    page.locator("#add-anchor button").click()
    expect(page.locator("#anchors li")).to_have_count(3)
    add(page, "child")
    expect(page.locator("#numbers")).to_contain_text("and 10 images")
    expect(page.locator("#strip canvas")).to_have_attribute("data-drawn", "30")
    page.locator("#anchor-prompt").fill("nobody drew this")
    page.locator("#add-anchor button").click()
    page.wait_for_selector("#status:has-text('No image has just this prompt')")


def contrast(page: Any, selector: str) -> float:
    """WCAG's contrast of an element's text with what is behind it."""
    return float(
        page.locator(selector).first.evaluate(
            """element => {
              const parts = text => text.match(/[\\d.]+/g).map(Number);
              const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
                .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
              let behind = element, colour = [0, 0, 0, 0];
              while (behind && (colour.length === 4 && colour[3] < 1)) {
                colour = parts(getComputedStyle(behind).backgroundColor);
                behind = behind.parentElement;
              }
              const [a, b] = [light(parts(getComputedStyle(element).color)), light(colour)];
              return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
            }"""
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_are_readable(scheme: str, browser: Any, address: str, tmp_path: Path) -> None:
    watch = Watch(browser, address, color_scheme=scheme)
    page = watch.page
    add(page, "nurse")
    places = (
        "h1",
        "h2",
        ".node .label",
        ".node .relation",
        ".hint",
        "#numbers",
        "footer",
        "button",
    )
    for selector in places:
        assert contrast(page, selector) >= 4.5, selector
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, input, select, canvas')].filter(one =>
             !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length))
           .map(one => one.outerHTML)"""
    )
    assert unnamed == []
    page.screenshot(path=tmp_path / f"{scheme}.png")
    watch.context.close()
    assert not watch.wrong
