"""The explorer's page in a browser: started, watched for what it must not do, and used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from t2ibench import evaluate

SCORED = "#tree li[aria-selected=true] .scores"


def made(folder: Path, model: str, task: str = "vibex_gender", images: int = 6) -> Path:
    """A run of one task."""
    quick = {"n_permutations": 200, "n_bootstrap": 100, "images_per_prompt": images}
    evaluate(model, task, output_dir=folder, **quick)
    return folder / model


@contextmanager
def serving(*paths: Path | str) -> Iterator[str]:
    """The address of an explorer of runs or folders, as a user starts it."""
    command = [sys.executable, "-m", "t2ibench", "explore", *map(str, paths)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("Exploring at http://127.0.0.1:"), line
        try:
            yield line.split()[2]
        finally:
            server.terminate()


class Watch:
    """A page, and everything that it must not do."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        options = {
            "viewport": {"width": 1500, "height": 950},
            "bypass_csp": False,
            **options,
        }
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.address = address
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console",
            lambda m: self.wrong.append(m.text) if m.type == "error" else None,
        )
        self.page.on(
            "request",
            lambda r: (
                None
                if r.url.startswith((address, "data:", "blob:"))
                else self.wrong.append(r.url)
            ),
        )

    def open(self, fragment: str = "") -> Any:
        """The page about words."""
        return self.visit(f"words#{fragment}" if fragment else "words")

    def visit(self, path: str) -> Any:
        """A page of the explorer, once it is ready."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{path}")
        # Where the images are embedded first, that takes a while on a busy machine.
        self.page.wait_for_selector("body[data-ready=yes]", timeout=300_000)
        return self.page

    def close(self) -> None:
        self.context.close()
        assert not self.wrong


def word(page: Any, words: str) -> None:
    """A word typed above and tested."""
    page.locator("#word").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_selector(SCORED)


def add(page: Any, label: str, relation: str = "that shows a") -> None:
    """A concept below the root, by keyboard alone."""
    page.locator("#tree li").first.focus()
    page.keyboard.press("Insert")
    page.locator("#tree form input.relation").fill(relation)
    page.locator("#tree form input.label").fill(label)
    page.keyboard.press("Enter")
    page.wait_for_selector(f'#tree li[aria-selected=true]:has-text("{label}") .scores')


def concept(page: Any, text: str) -> None:
    """Wait for the page to be about a text."""
    expect(page.locator("#concept")).to_have_attribute("data-text", text)


def shots(page: Any, row: str) -> list[int]:
    """Numbers of the images of a row, in order."""
    found = page.locator(f"{row} .shot").evaluate_all(
        "all => all.map(one => one.dataset.number)"
    )
    return [int(number) for number in found]


def answered(watch: Watch, fragment: str = "") -> Any:
    """The wall once the answers are there."""
    page = watch.visit(f"#{fragment}" if fragment else "")
    page.wait_for_selector("body[data-answered=yes]")
    return page


def shown(page: Any) -> int:
    """How many images fit."""
    return int(page.locator("#count").inner_text().split()[0].replace(",", ""))


def drawn(page: Any, plot: str) -> int:
    """How much a plot says that it has drawn."""
    canvas = page.locator(f"#{plot} canvas[data-drawn]")
    canvas.wait_for()
    return int(canvas.get_attribute("data-drawn"))


def axe(page: Any, context: Any = None) -> list[str]:
    """What axe-core finds wrong, everywhere or in the context that it is given."""
    from axe_playwright_python.sync_playwright import Axe

    # An image that fades in has little contrast for a moment.
    page.evaluate(
        "() => Promise.allSettled(document.getAnimations().map((a) => a.finished))"
    )
    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found
    ]
