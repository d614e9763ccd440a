"""The report as a PDF, which Chromium prints from report.html where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from t2ibench.errors import T2IBenchError, first_line, shown, signal_name
from t2ibench.reports.files import write_page
from t2ibench.reports.view import RunView
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import write_bytes
from t2ibench.store.temporary_folders import temporary_folder

NAME = "report.pdf"
VARIABLE = "T2IBENCH_CHROMIUM"
_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
# Such as '[15:15:0100/00.1:ERROR:content/zygote/zygote_linux.cc:662] write: Broken pipe (32)', and
# a stack of calls.
_OF_LOG = re.compile(
    r"\[[\d:/.]+:[A-Z]+:|#\d+ |\s|\[end of stack trace\]|Received signal"
)
_SECONDS = 180  # for the printing of one page
# A page of this disk needs no network, and Chromium is to look for nothing of its own there.
_OFFLINE = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def write_pdf(run: RunView, folder: Path, target: Path | None = None) -> Path:
    """Print a run's page to a PDF, and return its path.

    Args:
        run: The run.
        folder: Its folder, which has its images and samples.
        target: Where the PDF goes; None for report.pdf in the folder.

    Raises:
        T2IBenchError: there is no Chromium, or it made no PDF.
    """
    browser = chromium()
    place = target or folder / NAME
    with disk_errors(place):
        beside = _folder_beside(_folder_of(place))
    with beside as pages, temporary_folder() as profile:
        page = write_page(run, folder, Path(pages) / "report.html")
        printed = Path(pages) / NAME
        _print(browser, page, printed, profile)
        with disk_errors(place):
            write_bytes(place, printed.read_bytes())
    return place


def _folder_of(place: Path) -> Path | None:
    """Return the folder that a PDF goes to, made if need be; None if it goes to a stream.

    The page is written there, too: a Chromium of snap has a /tmp of its own.
    """
    if place.exists() and not place.is_file():
        return None
    folder = place.resolve().parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _folder_beside(parent: Path | None) -> tempfile.TemporaryDirectory[str]:
    """Return a new folder, in the system's place for such folders if there is no other.

    A process of Chromium may write into it for a moment longer, so what cannot be removed stays.
    """
    return tempfile.TemporaryDirectory(
        prefix="t2ibench-pdf-", dir=parent, ignore_cleanup_errors=True
    )


def chromium() -> str:
    """Return the path of an installed Chromium, from the environment or from PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise T2IBenchError(
                f"{VARIABLE}: '{shown(named)}' is no program.",
                "Give the path of Chromium or Chrome.",
            )
        return path
    for name in _BROWSERS:
        path = shutil.which(name)
        if path is not None:
            return path
    raise T2IBenchError(
        "--format pdf needs Chromium or Chrome, and none is on PATH.",
        f"Install one (Debian: apt install chromium), name it in {VARIABLE}, or open report.html "
        "and print it to a file.",
    )


def _print(browser: str, page: Path, target: Path, profile: Path) -> None:
    """Have a browser print a page of this disk to a PDF, without a window or a network.

    Args:
        browser: Its path.
        page: The page.
        target: Where the PDF goes.
        profile: A folder for what the browser keeps while it runs.
    """
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--no-pdf-header-footer",
        *_OFFLINE,
        f"--user-data-dir={profile}",
        f"--print-to-pdf={target}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Chromium's sandbox refuses to run as root, as in most containers.
        command.append("--no-sandbox")
    try:
        done = subprocess.run(
            [*command, page.as_uri()],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            # Of the user's own, Chromium would not look whether it can be written.
            env={**os.environ, "TMPDIR": str(profile)},
        )
    except subprocess.TimeoutExpired:
        raise T2IBenchError(
            f"{browser} printed nothing within {_SECONDS} seconds.",
            "Try again on an idle machine, or open report.html and print it to a file.",
        ) from None
    except OSError as error:
        raise T2IBenchError(f"{browser} does not start: {first_line(error)}.") from None
    if not target.is_file() or not target.stat().st_size:
        raise T2IBenchError(
            f"{browser} made no PDF ({_ending(done.returncode)}): {_said(done.stderr)}.",
            "Where memory, processes or room for temporary files are short, free some; or open "
            "report.html and print it to a file.",
        )


def _ending(status: int) -> str:
    """Return in words how a browser ended."""
    if status >= 0:
        return f"exit status {status}"
    return f"ended by {signal_name(-status)}"


def _said(errors: bytes) -> str:
    """Return the last line that a browser wrote to users, whom its own log tells nothing."""
    lines = errors.decode(errors="replace").strip().splitlines()
    of_users = [line for line in lines if line and not _OF_LOG.match(line)]
    return shown(of_users[-1], 200).rstrip(".") if of_users else "it does not say why"
