"""The report on paper: every test open on it, and `--format pdf` by Chromium."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from t2ibench.reports.pdf import VARIABLE
from tests.conftest import Cli, copied

# Of A4, without its margins, at 96 dots an inch.
PAPER = {"width": 688, "height": 1017}


@pytest.fixture(scope="module")
def run(shared_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(shared_run, tmp_path_factory.mktemp("runs"))


def test_without_chromium_a_pdf_is_refused_in_one_line(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(run))
    monkeypatch.delenv(VARIABLE, raising=False)
    status, _, errors = cli("report", run, "--format", "pdf")
    assert status == 1 and errors.count("\n") == 1
    assert "--format pdf needs Chromium or Chrome, and none is on PATH" in errors
    assert VARIABLE in errors and not (run / "report.pdf").exists()
    assert "Did you mean 'pdf'?" in cli("report", run, "--format", "pdff")[2]
    monkeypatch.setenv(VARIABLE, "no-such-browser")
    status, _, errors = cli("report", run, "--format", "pdf")
    assert status == 1 and f"{VARIABLE}: 'no-such-browser' is no program" in errors


def test_a_browser_that_prints_nothing_is_named(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\necho 'no display' >&2\nexit 7\n")
    browser.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(browser))
    status, _, errors = cli("report", run, "--format", "pdf")
    assert status == 1 and errors.count("\n") == 1
    assert "made no PDF (exit status 7): no display" in errors

    # Chromium's own log, with a stack of calls, is nothing that a user can act on.
    log = "[15:15:0100/00.1:ERROR:content/zygote.cc:662] write: Broken pipe (32)"
    browser.write_text(f"#!/bin/sh\necho '{log}\n#0 0x55d1' >&2\nkill -ABRT $$\n")
    status, _, errors = cli("report", run, "--format", "pdf")
    assert status == 1 and "(ended by SIGABRT): it does not say why." in errors
    assert "Broken pipe" not in errors


def test_a_browser_reads_beside_the_pdf_and_uses_no_network(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(
        "#!/bin/sh\n"
        f"printf '%s\\n' \"$@\" > {tmp_path / 'arguments'}\n"
        'touch "$TMPDIR/file" || exit 1\n'
        'for word; do case "$word" in --print-to-pdf=*) target="${word#*=}";; esac; done\n'
        'echo "%PDF-" > "$target"\n'
    )
    browser.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(browser))
    # As if the browser still wrote into its profile when it is removed.
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    remove = os.rmdir

    def refuse(name: Any, **where: Any) -> None:
        if str(name).startswith(str(temporary)):
            raise OSError(errno.ENOTEMPTY, "Directory not empty", name)
        remove(name, **where)

    monkeypatch.setattr(os, "rmdir", refuse)
    filed = tmp_path / "filed" / "a.pdf"
    status, _, errors = cli("report", run, "--format", "pdf", "--output", filed)
    assert status == 0, errors
    assert filed.read_bytes() == b"%PDF-\n" and list(filed.parent.iterdir()) == [filed]
    *words, page = (tmp_path / "arguments").read_text().splitlines()
    for word in (
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        assert word in words
    target = next(word for word in words if word.startswith("--print-to-pdf="))
    for place in (page.removeprefix("file://"), target.partition("=")[2]):
        assert Path(place).parent.parent == filed.parent
        assert not Path(place).parent.name.startswith(".")


@pytest.mark.smoke
def test_a_pdf_has_every_test_on_few_pages_and_its_images(
    browser: Any, run: Path, cli: Cli, tmp_path: Path
) -> None:
    status, out, errors = cli(
        "report", run, "--format", "pdf", "--output", tmp_path / "filed.pdf"
    )
    assert status == 0, errors
    assert "filed.pdf" in out and not (run / "report.pdf").exists()
    data = (tmp_path / "filed.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    n_tests = 7
    assert 2 <= len(re.findall(rb"/Type /Page\b", data)) <= n_tests + 5
    assert len(re.findall(rb"/Subtype /Image", data)) >= 15


def test_paper_shows_rows_faces_and_limits_without_a_script(
    browser: Any, run: Path
) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=PAPER)
    page = context.new_page()
    page.goto((run / "report.html").as_uri())
    closed = page.locator(".task > details:not([open]) .body").first
    assert not closed.is_visible()
    page.emulate_media(media="print")
    assert closed.is_visible()
    for part in (".who li", ".who img", ".pics img", ".how .meth", ".verify", "h2"):
        assert page.locator(part).first.is_visible(), part
    # Neither what a screen unfolds, nor its controls, nor the signs of what is folded.
    for part in (".numbers table", ".back", "form.finder", "nav"):
        assert not any(shown.is_visible() for shown in page.locator(part).all()), part
    context.close()
