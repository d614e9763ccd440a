"""A disk that fills up in each stage after generation: one line, and nothing is lost."""

from __future__ import annotations

import csv
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from t2ibench.cli import main
from t2ibench.store import files
from tests.chaos.tools import FLAGS, RUN, one_line
from tests.conftest import copied_or_linked
from tests.system import files_up_to

pytestmark = pytest.mark.slow

_SHEET = Path("sheet.csv")
# A run that could be submitted: of whole tasks.
SUBMITTED = Path("whole/toyland")
_SUBMISSIONS = Path(__file__).parents[2] / "leaderboard" / "submissions"
# Commands that write, with what they make.
COMMANDS: dict[str, tuple[tuple[object, ...], str]] = {
    "score": (("score", RUN), "report.html"),
    "report": (("report", RUN), "report.html"),
    "tables": (("report", RUN, "--format", "md", "--output", "table.md"), "table.md"),
    "export": (("export", RUN, "--output", "images"), "images/metadata.jsonl"),
    "sheet": (("label", "export", RUN, "--output", "sheets"), "sheets/sheet.csv"),
    "comparison": (
        ("compare", RUN, RUN, "--format", "html", "--output", "both.html"),
        "both.html",
    ),
    "plan": (("plan", "--accept", "accept.yaml", "--output", "plan.json"), "plan.json"),
    "proposal": (
        (
            "propose",
            "openbias",
            "--proposer",
            "word-lists",
            "--captions",
            "captions.csv",
            "--method-args",
            "support=1",
            "--output",
            "proposed.yaml",
        ),
        "proposed.yaml",
    ),
    "submission": (
        ("leaderboard", "add", SUBMITTED, "--to", "board", "--name", "mine"),
        "board/*/submission.json",
    ),
    "site": (
        (
            "leaderboard",
            "build",
            "submissions",
            "--output",
            "site",
            "--date",
            "2026-05-02",
        ),
        "site/index.html",
    ),
}
ACCEPT = """
title: a gate
owner: we
scenarios:
  - name: science and arts
    at_risk: women in science
    hazard: users see men
    measurement: {task: t2iat_science_arts, statistic: headline}
    accept: 0.4
    reject: 0.6
    reason: editors still even out seventy to thirty per cent by hand
    reference: even
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run and a filled sheet."""
    folder = tmp_path_factory.mktemp("whole")
    run = folder / RUN
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        assert main(list(FLAGS)) == 0
        words = ["--model", "toyland", "--tasks", "core_occupations_gender"]
        words += ["--images-per-prompt", "2"]
        assert main([*words, "--output-dir", str(SUBMITTED.parent)]) == 0
    sheets = folder / "sheets"
    assert main(["label", "export", str(run), "--output", str(sheets)]) == 0
    with (sheets / "sheet.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / _SHEET).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "answer": "unknown"} for row in rows)
    shutil.rmtree(sheets)
    # The smallest of those that are shipped.
    name = "DALL-E-3-answered-by-people-ce8c0c20"
    shutil.copytree(_SUBMISSIONS / name, folder / "submissions" / name)
    (folder / "accept.yaml").write_text(ACCEPT, encoding="utf-8")
    captions = ["caption", "a person at work", "a person and a dog"]
    (folder / "captions.csv").write_text("\n".join(captions), encoding="utf-8")
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the current folder; its images are links, which no command rewrites."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True, copy_function=copied_or_linked)
    monkeypatch.chdir(tmp_path)
    return tmp_path / RUN


@contextmanager
def full_after(writes: int) -> Iterator[None]:
    """A disk that takes so many files more, and half of the next one."""
    left = writes
    write = files.write_atomically

    def limited(path: Path, fill: Callable[[Path], object], **options: Any) -> None:
        nonlocal left
        left -= 1

        def filled(temporary: Path) -> None:
            fill(temporary)
            if left < 0:
                os.truncate(temporary, temporary.stat().st_size // 2)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(temporary))

        write(path, filled, **options)

    with patch.object(files, "write_atomically", limited):
        yield


def contents(folder: Path) -> dict[str, bytes]:
    """The files that users keep, without databases and locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in {".db", ".lock"}
    }


def cases() -> Iterator[Any]:
    """A command, whether it was run before, and how many files it writes before the disk is full.

    By day, no file where the command is new, and one where there are files of before.
    """
    for name in COMMANDS:
        # An export goes into a new folder alone, so it is not repeated.
        for is_repeated in (False,) if name == "export" else (False, True):
            for writes in (0, 1):
                by_day = is_repeated == bool(writes)
                yield pytest.param(
                    *(name, is_repeated, writes),
                    id=f"{name}-{'again-' if is_repeated else ''}{writes}",
                    marks=[] if by_day else [pytest.mark.nightly],
                )


@pytest.mark.parametrize(("name", "is_repeated", "writes"), [*cases()])
def test_a_full_disk_is_one_line_and_with_room_the_command_goes_on(
    name: str, writes: int, is_repeated: bool, run: Path, tmp_path: Path, cli: Any
) -> None:
    words, made = COMMANDS[name]
    if is_repeated:
        assert cli(*words)[0] == 0
        spoil(tmp_path, made)
    before = contents(tmp_path)
    with full_after(writes):
        status, _, errors = cli(*words)
    assert status == 1 or writes
    if status:
        one_line(status, errors, (1,))
        assert "The disk is full" in errors
    after = contents(tmp_path)
    assert before.keys() <= after.keys()
    assert not [path for path in after if path.endswith(".tmp")]
    assert not [path for path in after if ".t2ibench-" in path]
    assert not [path for path in after if ".earlier" in path]
    if status:
        assert cli(*words)[0] == 0
    assert [*run.glob(made), *tmp_path.glob(made)]
    whole = contents(tmp_path)
    for path, content in after.items():
        # Either as it was, or whole; and files that the command does not write are as they were.
        assert content in {before.get(path), whole.get(path)}, path


def spoil(folder: Path, made: str) -> None:
    """Change a file that a command has made, so that the old one is told from the new."""
    for path in folder.rglob(made):
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")


@pytest.mark.parametrize("table", ["embeddings", "answers", "scores"])
def test_run_db_that_cannot_grow_keeps_what_it_has(
    table: str, run: Path, cli: Any
) -> None:
    results = (run / "results.json").read_bytes()
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.execute(f"DELETE FROM {table}")
        connection.commit()
        connection.execute("VACUUM")
    (run / "results.json").unlink()
    # The log of run.db has no room for what is stored again.
    with files_up_to(20_000):
        status, _, errors = cli(*FLAGS)
    one_line(status, errors, (1,))
    assert cli(*FLAGS)[0] == 0
    assert (run / "results.json").read_bytes() == results


def test_answers_of_people_that_found_no_room_are_imported_later(
    run: Path, cli: Any
) -> None:
    words = ("label", "import", RUN, _SHEET, "--labeller")
    assert cli(*words, "anna")[0] == 0
    size = (run / "run.db").stat().st_size
    copy = (run / "labels.jsonl").read_bytes()
    with files_up_to(len(copy)):
        status, _, errors = cli(*words, "berta")
    one_line(status, errors, (1,))
    assert (run / "labels.jsonl").read_bytes().startswith(copy)
    assert (run / "run.db").stat().st_size >= size
    assert cli(*words, "berta")[0] == 0
    with closing(sqlite3.connect(run / "run.db")) as connection:
        people = connection.execute(
            "SELECT labeller, count(*) FROM labels GROUP BY labeller"
        ).fetchall()
    assert len(people) == 2 and people[0][1] == people[1][1]
