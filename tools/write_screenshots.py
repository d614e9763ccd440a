"""Take the pictures of report, explorer and leaderboard that docs show, of a run of toy.

python -m t2ibench --model toy --tasks all      # once for each version of toy
python tools/write_screenshots.py runs/toy      # report, report-dark, explorer, explorer-map
python tools/write_screenshots.py               # leaderboard alone

The run is copied and scored with the code at hand, so it needs its images and stays as it is. The
leaderboard is that of the shipped submissions. It takes Chromium and the packages of `.[dev]`;
`--only NAME` takes one picture, and `--output DIR` writes elsewhere than into docs.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from t2ibench.reports.pdf import chromium

ROOT = Path(__file__).resolve().parents[1]
# Pixels of each picture, as docs show it.
SIZES = {
    "report": (1280, 1560),
    "report-dark": (1280, 1060),
    "explorer": (1280, 1500),
    "explorer-map": (1280, 900),
    "leaderboard": (1280, 820),
}
LEADERBOARD = "leaderboard"
CARD = "t2iat_career_family"  # a card with marks, images and published values
MAP_TASK = "40 occupations of WinoBias"  # colours the map by what this test found
READY = 300_000  # milliseconds to wait for a page on a busy machine
# All images that are seen have been loaded.
IMAGES_IN_SIGHT = """() => [...document.images]
  .filter((image) => image.getBoundingClientRect().top < innerHeight)
  .every((image) => image.complete)"""


def t2ibench(*words: str | Path) -> None:
    """Run a command as a user does."""
    subprocess.run([sys.executable, "-m", "t2ibench", *map(str, words)], check=True)


@contextmanager
def browsing() -> Iterator[Any]:
    """A running Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def exploring(run: Path) -> Iterator[str]:
    """The address of the explorer of a run."""
    command = [sys.executable, "-m", "t2ibench", "explore", str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        try:
            yield line.split()[2]
        finally:
            server.terminate()


def opened(browser: Any, address: str, name: str, scheme: str = "light") -> Any:
    """A page of the size of a picture, all of whose fonts and images are there."""
    width, height = SIZES[name]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme
    )
    page = context.new_page()
    page.set_default_timeout(READY)
    page.goto(address)
    page.evaluate("() => document.fonts.ready")
    page.wait_for_load_state("networkidle")
    return page


def report(browser: Any, run: Path) -> bytes:
    """The top of the report."""
    page = opened(browser, (run / "report.html").as_uri(), "report")
    taken: bytes = page.screenshot()
    return taken


def dark_report(browser: Any, run: Path) -> bytes:
    """A card of the report, on a dark screen."""
    page = opened(browser, (run / "report.html").as_uri(), "report-dark", "dark")
    card = page.locator(f"article.card:has-text('{CARD}')").first
    if card.locator("> details[open]").count() == 0:
        card.locator("> details > summary").click()
    page.evaluate(
        """(card) => {
          document.querySelector(".bar").style.position = "static";
          scrollTo(0, scrollY + card.getBoundingClientRect().top);
        }""",
        card.element_handle(),
    )
    page.mouse.move(0, 0)
    page.wait_for_load_state("networkidle")
    taken: bytes = page.screenshot()
    return taken


def words_page(browser: Any, address: str, name: str) -> Any:
    """The explorer's page of words about a nurse, as it is when it is opened again."""
    page = opened(browser, f"{address}words", name)
    page.wait_for_selector("body[data-ready=yes]")
    if page.locator("#tree li:has-text('nurse')").count() == 0:
        page.locator("#tree li").first.focus()
        page.keyboard.press("Insert")
        page.locator("#tree form input.relation").fill("that shows a")
        page.locator("#tree form input.label").fill("nurse")
        page.keyboard.press("Enter")
        page.wait_for_selector("#tree li[aria-selected=true] .scores")
        page.wait_for_selector("#saved:has-text('Saved')")
        page.reload()
        page.wait_for_selector("body[data-ready=yes]")
    page.wait_for_selector("#tree li[aria-selected=true] .scores")
    page.wait_for_function(IMAGES_IN_SIGHT)
    return page


def explorer(browser: Any, run: Path) -> bytes:
    """The explorer's page of words."""
    with exploring(run) as address:
        page = words_page(browser, address, "explorer")
        page.wait_for_load_state("networkidle")
        taken: bytes = page.screenshot()
    return taken


def explorer_map(browser: Any, run: Path) -> bytes:
    """The same page with the map coloured by what a test found."""
    with exploring(run) as address:
        page = words_page(browser, address, "explorer-map")
        page.get_by_label("Colour of the map by").select_option(label=MAP_TASK)
        page.wait_for_selector("text=lean of each image that the test used")
        page.wait_for_load_state("networkidle")
        taken: bytes = page.screenshot()
    return taken


def leaderboard(browser: Any, site: Path) -> bytes:
    """The top of the leaderboard's first page."""
    page = opened(browser, (site / "index.html").as_uri(), LEADERBOARD)
    taken: bytes = page.screenshot()
    return taken


OF_RUN: Mapping[str, Callable[[Any, Path], bytes]] = {
    "report": report,
    "report-dark": dark_report,
    "explorer": explorer,
    "explorer-map": explorer_map,
}


def write(png: bytes, path: Path) -> None:
    """Write a picture with at most 256 colours, which takes a third of the bytes."""
    with Image.open(io.BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(path)


def copied(run: Path, scratch: Path) -> Path:
    """A copy of a run, scored with the code at hand and without an explorer's session."""
    copy = scratch / "runs" / run.resolve().name
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("explorer", ".locks"))
    t2ibench("score", copy)
    t2ibench("report", copy)
    return copy


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("run", nargs="?", type=Path, help="the run of toy, with all of its images")
    names = list(SIZES)
    add("--only", action="append", choices=names, help="take this picture (all)")
    add("--output", type=Path, default=ROOT / "docs", help="write into DIR (docs)")
    arguments = parser.parse_args()
    chosen = arguments.only or (names if arguments.run else [LEADERBOARD])
    of_run = {name: take for name, take in OF_RUN.items() if name in chosen}
    if of_run and arguments.run is None:
        parser.error(f"{', '.join(of_run)}: name the folder of a run of toy")
    with tempfile.TemporaryDirectory() as folder, browsing() as browser:
        scratch = Path(folder)
        run = copied(arguments.run, scratch) if of_run else None
        for name, take in of_run.items():
            write(take(browser, run), arguments.output / f"{name}.png")
        if LEADERBOARD in chosen:
            site = scratch / "site"
            submissions = ROOT / "leaderboard" / "submissions"
            t2ibench("leaderboard", "build", submissions, "--output", site)
            path = arguments.output / f"{LEADERBOARD}.png"
            write(leaderboard(browser, site), path)


if __name__ == "__main__":
    main()
