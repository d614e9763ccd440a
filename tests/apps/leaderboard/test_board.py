"""What is on the board: verdicts are made here, and what is broken or forged is left out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from t2ibench.apps.leaderboard import verdicts
from t2ibench.apps.leaderboard.board import Board, read_board, submissions
from t2ibench.apps.leaderboard.names import in_visible_words
from t2ibench.apps.leaderboard.regenerate import Verdict
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.verdicts import Verifier, key_of
from t2ibench.apps.leaderboard.verify import MINUTES
from t2ibench.errors import T2IBenchError
from t2ibench.results.files import read_results
from tests.apps.leaderboard.conftest import (
    SHARES,
    SUBMISSIONS,
    board_of,
    model_results,
    write_submission,
)
from tests.apps.leaderboard.forging import edit, edit_json, seal, set_in

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def root(packed: Path, tmp_path: Path) -> Path:
    """A folder of submissions with one honest one."""
    shutil.copytree(packed, tmp_path / "submissions" / packed.name)
    return tmp_path / "submissions"


def read(root: Path) -> tuple[Board, list[str]]:
    lines: list[str] = []
    return read_board(root, Verifier([root]), lines.append), lines


def test_an_edited_result_is_never_shown(root: Path) -> None:
    (folder,) = root.iterdir()
    (entry,) = read(root)[0].entries
    assert (entry.manifest.name, entry.verdict.level) == ("toyland", "recomputed")
    edit_json(
        folder / "results.json",
        set_in("tasks", "occupations_t2iat", "headline", "value", value=0.0),
    )
    board, lines = read(root)
    assert board.entries == []
    assert [*board.refused] == [folder.name] and "has changed" in board.refused[
        folder.name
    ]
    assert "left out: results.json has changed" in lines[0]
    seal(folder)  # and with the hashes put right, the evidence tells
    assert "headline.value says 0.0" in read(root)[0].refused[folder.name]


def a_link(folder: Path) -> None:
    away = folder.parent.parent / "elsewhere"
    folder.rename(away)
    folder.symlink_to(away)


@pytest.mark.parametrize(
    "broken",
    [
        lambda folder: (folder / "submission.json").write_text("[" * 200_000),
        lambda folder: edit_json(
            folder / "submission.json", set_in("version", value=1)
        ),
        lambda folder: os.mkfifo(folder / "thumbs.jpg"),
        lambda folder: [path.unlink() for path in folder.iterdir()],
        a_link,
    ],
)
def test_a_broken_submission_ends_nothing(
    broken: Callable[[Path], object], root: Path, packed: Path
) -> None:
    folder = Path(shutil.copytree(packed, root / "broken-1"))
    broken(folder)
    board, lines = read(root)
    assert [entry.manifest.name for entry in board.entries] == ["toyland"]
    assert [*board.refused] == ["broken-1"]
    problem = board.refused["broken-1"]
    assert problem.isprintable() and str(root) not in problem
    assert sum("left out" in line for line in lines) == 1 and all(
        map(str.isprintable, lines)
    )


def test_every_word_is_made_visible_when_it_is_admitted(tmp_path: Path) -> None:
    hidden, seen = "a\u202eb\u2028", r"a\u202eb\u2028"
    found = model_results(0, SHARES["toy"])
    changes = {name: {"title": hidden, "notes": [hidden], "by": []} for name in found}
    folder = write_submission(tmp_path, "toy", found, changes)
    stated = {"licence": hidden, "submitter": hidden}
    edit_json(folder / "submission.json", set_in("card", value=stated))
    edit_json(folder / "submission.json", set_in("model_args", value={hidden: hidden}))

    def judge(path: Path) -> Verdict:
        return Verdict("recomputed", notes=[hidden], unconfirmed=[hidden])

    (entry,) = read_board(tmp_path, judge).entries
    raw = read_results(folder)
    for task, record in entry.results.tasks.items():
        assert (record.title, record.notes) == (seen, [seen])
        assert record.headline == raw.tasks[task].headline
    card = entry.manifest.card
    assert (card.licence, card.submitter) == (seen, seen)
    assert entry.manifest.model_args == {seen: seen}
    assert (entry.verdict.notes, entry.verdict.unconfirmed) == ([seen], [seen])


def test_plain_words_are_admitted_as_they_are(board: Path) -> None:
    for entry in board_of(board).entries:
        folder = board / entry.id
        assert entry.manifest == read_manifest(folder)
        assert entry.results == read_results(folder)
        assert in_visible_words(entry) is entry


def test_whatever_a_judge_raises_ends_nothing(root: Path) -> None:
    board = read_board(root, Mock(side_effect=MemoryError("60 GiB")))
    assert [*board.refused.values()] == ["MemoryError: 60 GiB"]


def test_twins_do_not_stand_beside_each_other(tmp_path: Path) -> None:
    write_submission(tmp_path, "mine", model_results(0, SHARES["toy"]))
    for number, name in enumerate(("MlNE", "m1ne", "mine")):
        folder = write_submission(
            tmp_path / ".more", name, model_results(0, SHARES["toy"])
        )
        edit_json(folder / "submission.json", set_in("model", value="toyland"))
        folder.rename(tmp_path / f"aaa-{number}")
    # A model's own name stays, whatever the folders of the others are called.
    board = board_of(tmp_path)
    assert [entry.id for entry in board.entries] == ["mine-00000004"]
    assert board.refused == {
        f"aaa-{number}": "its name looks like that of mine-00000004"
        for number in range(3)
    }


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The draws that verifying was asked for; every submission holds."""
    calls: list[int] = []

    def verify(folder: Path, draw: int, seed: None, minutes: float) -> Verdict:
        assert (seed, minutes) == (None, MINUTES)
        calls.append(draw)
        level = "reproduced" if draw else "recomputed"
        return Verdict(level, notes=[f"{draw} drawn"], results=read_results(folder))

    monkeypatch.setattr(verdicts, "verify", verify)
    return calls


def found(root: Path, home: Path, draw: int = 0) -> list[str]:
    return [
        entry.verdict.level
        for entry in read_board(root, Verifier([root], draw, home)).entries
    ]


def test_stored_verdicts_are_reused_until_a_submission_changes(
    root: Path, tmp_path: Path, counted: list[int]
) -> None:
    file = tmp_path / "kept"
    assert found(root, file, 4) == ["reproduced"]
    assert found(root, file) == found(root, file, 4) == ["reproduced"] and counted == [
        4,
        0,
        0,
    ]
    assert found(root, file, 5) == ["reproduced"] and counted == [4, 0, 0, 5]
    (folder,) = root.iterdir()
    edit(folder, "results.json", set_in("command", value=[]))
    assert found(root, file) == ["recomputed"] and counted == [4, 0, 0, 5, 0]


def test_another_rule_verifies_again(
    root: Path, tmp_path: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, index = tmp_path / "kept", verdicts.build_index()
    found(root, file, 4)
    monkeypatch.setattr(verdicts, "source_digest", lambda: "of stricter rules")
    assert found(root, file) == ["recomputed"] and counted == [4, 0]
    task = index[0].tasks["occupations_t2iat"]
    index[0].tasks[task.id] = replace(task, hash="0" * 64)
    monkeypatch.setattr(verdicts, "build_index", lambda: index)
    assert found(root, file) == ["recomputed"] and counted == [4, 0, 0]


def test_a_refusal_forgets_and_a_quick_check_does_not(
    root: Path, tmp_path: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept"
    found(root, file, 4)
    (folder,) = root.iterdir()
    assert Verifier([root], 0, file).check(folder).level == "recomputed"
    assert found(root, file) == ["reproduced"]
    with monkeypatch.context() as patched:
        patched.setattr(
            verdicts, "verify", lambda *_: Verdict("refused", ["it looks different"])
        )
        Verifier([root], 32, file).check(folder)
    assert found(root, file) == ["recomputed"]


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "7", '{"drawn": 4, "level": ["reproduced"]}']
)
def test_a_damaged_verdict_is_made_again(
    text: str, root: Path, tmp_path: Path, counted: list[int]
) -> None:
    file = tmp_path / "kept"
    found(root, file, 4)
    (verdict,) = file.glob("*.json")
    verdict.write_text(text)
    assert found(root, file, 4) == ["reproduced"] and counted == [4, 4]


def test_verdicts_are_not_stored_where_a_pull_request_can_write(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    for file in (
        root / "verdicts.json",
        tmp_path / "verdicts.json",
        root / ".." / "v.json",
    ):
        with pytest.raises(T2IBenchError, match="a pull request could write it"):
            Verifier([root], home=file)
    (folder,) = root.iterdir()
    assert key_of(folder) == key_of(folder)
    (folder / "link").symlink_to(tmp_path)
    assert key_of(folder) is None


def test_build_verifies_first(cli: Cli, root: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept"
    given = ("--submissions", str(root), "--verdicts", str(file))
    status, out, err = cli(
        "leaderboard", "build", *given, "--output", str(tmp_path / "site")
    )
    assert status == 0 and "1 models: open" in out
    assert ": recomputed" in err
    page = (tmp_path / "site" / "index.html").read_text()
    assert "2 of 3 tasks: 3 images a prompt, fewer" in page
    for folder in root.iterdir():
        (folder / "results.json").write_text("{}")
    status, out, err = cli(
        "leaderboard", "build", *given, "--output", str(tmp_path / "new")
    )
    assert status == 1 and "holds no submission that could be shown" in err


def test_build_and_verify_take_the_folder_alike(
    cli: Cli, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, err = cli("leaderboard", "verify", root)
    assert status == 0 and ": recomputed" in out
    site = ("--output", str(tmp_path / "site"))
    status, out, err = cli("leaderboard", "build", root, *site)
    assert status == 0 and "1 models: open" in out, err
    both = ("leaderboard", "build", root, "--submissions", tmp_path, *site)
    status, out, err = cli(*both)
    assert status == 1 and "Two folders of submissions are given" in err
    # Without a folder both take the checkout's.
    home = tmp_path / "checkout" / "leaderboard" / "submissions"
    home.parent.mkdir(parents=True)
    home.symlink_to(root, target_is_directory=True)
    monkeypatch.chdir(tmp_path / "checkout")
    status, out, err = cli("leaderboard", "verify")
    assert status == 0 and "leaderboard/submissions/" in out
    assert cli("leaderboard", "build", *site)[0] == 0


def test_every_submission_of_this_repository_can_be_read() -> None:
    """A statement that the format no longer has would refuse a submission, and its row."""
    cards = [read_manifest(folder).card for folder in submissions(SUBMISSIONS)]
    assert len(cards) >= 6


# .ci/run recomputes every submission, too (tools/arithmetic.py --stored).
@pytest.mark.nightly
def test_every_submission_of_this_repository_is_shown(verified: Board) -> None:
    assert verified.refused == {}
