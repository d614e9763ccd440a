"""A board whose every name is hostile, in a real browser: all of it is text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from t2ibench.apps.leaderboard import site
from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.names import in_visible_words, visible
from t2ibench.apps.leaderboard.submission import Card
from t2ibench.apps.leaderboard.table import Entry
from tests.apps.leaderboard.conftest import board_of

LONG = "m" * 10_000
HOSTILE = (
    "<img src=x onerror=alert(1) class=hostile>",
    "</script><script class=hostile>alert(2)</script>",
    "'\" onmouseover=alert(3) style=position:fixed x='",
    "\u202egpj.exe\u2066\u200f\u061c",
    "\x00\x1b[31m\r\n\u2028\u2029\ufeff\U000e0041",
    "javascript:alert(4)",
    "{{7*7}}${7*7}<%= 7*7 %>[[7*7]]",
    "👩‍🚀🏳️‍🌈👨‍👩‍👧‍👦" * 300,
    "e" + "\u0301" * 400,
    LONG,
    "<svg><style>*{display:none}</style></svg><base href=//evil.example/>",
    "]]><!--<plaintext>",
)
# Characters that turn text around, end lines or are not seen, which no page may pass on.
UNSEEN = set("\u202e\u2066\u200f\u061c\x00\x1b\u2028\u2029\ufeff\U000e0041")


def hostile(entry: Entry, number: int) -> Entry:
    """A verified entry in which everything that a stranger wrote is hostile."""
    bad = [HOSTILE[(number + step) % len(HOSTILE)] for step in range(len(HOSTILE))]
    card = Card.model_construct(
        licence=bad[0], parameters=bad[1], released=bad[2], weights=bad[3],
        submitter=bad[4], submitted=bad[5], url=None, pictures=bad[6],
    )  # fmt: skip
    manifest = entry.manifest.model_copy(
        update={
            "name": bad[0],
            "model": bad[1],
            "model_args": {bad[2]: bad[3]},
            "revision": bad[4],
            "card": card,
            "t2ibench": bad[5],
        }
    )
    tasks = {}
    for place, (name, task) in enumerate(entry.results.tasks.items()):
        # Verifying writes results anew, from the task: they may be odd, but not that long.
        text = HOSTILE[(number + place) % len(HOSTILE)][:300]
        headline = task.headline.model_copy(update={"direction": text})
        rows = [
            row.model_copy(update={"name": f"{at} {HOSTILE[at % len(HOSTILE)]}"})
            for at, row in enumerate(task.by)
        ]
        # All were read by one encoder, or nothing could be compared.
        settings = task.settings.model_copy(update={"encoders": {HOSTILE[0]: "0" * 64}})
        tasks[name] = task.model_copy(
            update={
                "title": text,
                "notes": [text],
                "headline": headline,
                "by": rows,
                "inconclusive": text if place == 1 else task.inconclusive,
                "settings": settings,
            }
        )
    results = entry.results.model_copy(update={"tasks": tasks})
    verdict = replace(
        entry.verdict, notes=[bad[7]], not_regenerated=[bad[8]], unconfirmed=[bad[9]]
    )
    # As admission does with what a stranger wrote.
    return in_visible_words(
        replace(entry, manifest=manifest, results=results, verdict=verdict)
    )


@pytest.fixture(scope="module")
def pages(board: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of many models with such names."""
    folder = tmp_path_factory.mktemp("hostile")
    real = board_of(board)
    entries = [
        replace(
            hostile(real.entries[number % 3], number), id=f"model-{number:02}-00000000"
        )
        for number in range(len(HOSTILE))
    ]
    # As `read_board` keeps what was refused.
    refused = {
        visible(f"{at} {text}"): visible(text) for at, text in enumerate(HOSTILE)
    }
    site.build(Board(entries, refused), folder, "2026-05-02")
    return folder


def addresses(folder: Path) -> list[str]:
    both = "#models=model-00-00000000,model-03-00000000,<img src=x onerror=alert(9)>"
    found = [path.as_uri() for path in sorted(folder.rglob("*.html"))]
    return [
        *found,
        (folder / "compare.html").as_uri() + both,
        (folder / "index.html").as_uri() + "#find=<script>&sort=name&pick=__proto__",
        (folder / "tasks.html").as_uri() + "#find=</p><img src=x>",
    ]


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_names_are_text(browser: Any, pages: Path, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"error {error}"))
    page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
    page.on("console", lambda message: wrong.append(f"console {message.text}"))
    page.on(
        "request",
        lambda request: (
            None
            if urlsplit(request.url).scheme in {"file", "data"}
            else wrong.append(f"request {request.url}")
        ),
    )
    for address in addresses(pages):
        page.goto("about:blank")
        page.goto(address, timeout=120_000)
        page.wait_for_timeout(100)
        where = f"{address} at {width}"
        assert page.locator(".hostile, base, plaintext, svg > style").count() == 0, (
            where
        )
        handlers = (
            "all => all.filter((one) => [...one.attributes]"
            ".some((attribute) => attribute.name.startsWith('on'))).length"
        )
        assert page.locator("*").evaluate_all(handlers) == 0, where
        # Every script and every link is one of ours.
        links = "all => all.map((one) => one.getAttribute('href') ?? '')"
        for link in page.locator("a").evaluate_all(links):
            is_table = link.startswith("data:text/csv;charset=utf-8,")
            assert is_table or urlsplit(link).scheme in {"", "https"}, (where, link)
            assert not is_table or not set(link) & set('<>"'), (where, link)
        text = page.locator("body").inner_text()
        assert not UNSEEN & set(text), where
        assert LONG not in page.content(), where
        # What is long breaks or is cut; the page never scrolls sideways.
        across = page.evaluate("document.documentElement.scrollWidth")
        wrong += [f"{where} is {across} wide"] if across > width else []
    context.close()
    assert wrong == []


def test_names_are_found_sorted_and_compared(tab: Any, pages: Path) -> None:
    """The scripts put names into the page as well, as text."""
    tab.goto((pages / "index.html").as_uri())
    tab.wait_for_selector("body[data-ready=yes]")
    tab.locator("#find").fill("onerror")
    assert tab.locator("#found").inner_text() == f"1 of {len(HOSTILE)} models"
    tab.locator("#find").fill("")
    for box in tab.locator(".tick").all()[:2]:
        box.check()
    tab.locator("#compare").click()
    tab.wait_for_selector("#out section")
    assert tab.locator("#out .hostile").count() == 0
    assert tab.locator("#diff tbody tr").count() >= 1
