"""What the benchmarks share: how long a call takes, and a browser."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """Seconds of a call: on the clock, and of all cores, which no other process makes longer."""

    seconds: float
    busy: float
    result: Any


def timed(call: Callable[[], Any]) -> Timed:
    start, busy = time.perf_counter(), time.process_time()
    result = call()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
    return Timed(time.perf_counter() - start, time.process_time() - busy, result)


def best(call: Callable[[], Any], repeats: int = 3) -> Timed:
    """The quickest of several."""
    return min((timed(call) for _ in range(repeats)), key=lambda one: one.seconds)


def write(file: Path | None, found: Any) -> None:
    """What --json asks for."""
    if file is not None:
        file.write_text(json.dumps(found, indent=1) + "\n")


@contextmanager
def browsing(**options: Any) -> Iterator[Any]:
    """A page in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        yield browser.new_page(**options)
        browser.close()
