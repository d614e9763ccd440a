"""Submissions that would cost time or memory, or end the check of the others."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from t2ibench.apps.leaderboard import bounds
from t2ibench.apps.leaderboard.claims import settings_of
from t2ibench.apps.leaderboard.verify import verify
from tests.apps.leaderboard.forging import edit, edit_json, refusal, seal, set_in, word

Cli = Callable[..., tuple[int, str, str]]
DEEP = "[" * 100_000 + "]" * 100_000


def in_every_task(name: str, value: Any) -> Callable[[Any], None]:
    def change(results: Any) -> None:
        for task in results["tasks"].values():
            task["settings"][name] = value

    return change


HUGE = {
    "n_bootstrap": (10**7, "10000000 bootstrap draws; the leaderboard takes the default, 10000"),
    "n_permutations": (10**7, "10000000 permutations"),
    "images_per_prompt": (10**9, "images_per_prompt: Input should be less than or equal"),
    "guided_images_per_prompt": (10**400, "Input should be less than or equal to 1000000"),
    "times": (1000.0, "the leaderboard takes at most 4 times as many, or 100"),
}


@pytest.mark.parametrize("name", HUGE)
def test_numbers_that_decide_work_are_bounded_before_any_work(
    name: str, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value, message = HUGE[name]
    edit(submission, "results.json", in_every_task(name, value))

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("work was begun")

    for work in ("make_plan", "open_stores", "score_plan"):
        monkeypatch.setattr(f"t2ibench.apps.leaderboard.verify.{work}", never)
    assert message in refusal(submission)


def test_no_more_images_than_are_listed(submission: Path) -> None:
    edit(submission, "results.json", in_every_task("images_per_prompt", 100))
    edit(submission, "results.json", word("--images-per-prompt", "100"))
    assert "97 images of '" in refusal(submission)


def test_what_is_no_plain_file_is_refused(submission: Path, tmp_path: Path) -> None:
    (submission / "evidence.db").unlink()
    os.mkfifo(submission / "evidence.db")
    assert "evidence.db is not a plain file" in refusal(submission)
    (submission / "evidence.db").unlink()
    (submission / "evidence.db").symlink_to(tmp_path / "x")
    assert "evidence.db is a link" in refusal(submission)
    (submission / "evidence.db").unlink()
    (submission / "thumbs").symlink_to(tmp_path)
    assert "thumbs is a link" in refusal(submission)
    (submission / "thumbs").unlink()
    (submission / "submission.json").unlink()
    os.mkfifo(submission / "submission.json")
    assert "submission.json is not a plain file" in refusal(submission)


def test_size_depth_and_number_of_files(submission: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = submission / "evidence.db"
    monkeypatch.setattr("t2ibench.apps.leaderboard.bounds.sha256_of", None)  # nothing is read
    for size in (bounds.LARGEST + 1, 100 * 10**9):
        with large.open("r+b") as file:
            file.truncate(size)  # with a hole: no byte of it is on the disk
        assert "MB; 50 are accepted" in refusal(submission)
    large.unlink()
    deep = submission / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert "'a/b/c' lies too deep" in refusal(submission)
    shutil.rmtree(submission / "a")
    (submission / "many").mkdir()
    for number in range(bounds.MOST_FILES):
        (submission / "many" / str(number)).touch()
    assert "more than 6000 files" in refusal(submission)


def replace_file(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def edit_text(path: Path, beginning: str) -> None:
    """Another value of a key before the one that readers take."""
    path.write_text(path.read_text().replace("{", beginning, 1))


TEXTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "deep results": (replace_file("results.json", DEEP), "nested too deeply"),
    "results that nest a little too much": (
        replace_file("results.json", "[" * 60 + "]" * 60), "nested too deeply",
    ),
    "a deep manifest": (replace_file("submission.json", DEEP), "no readable submission.json"),
    "results with a key twice": (
        lambda folder: edit_text(folder / "results.json", '{"limited": true, '), "a key twice",
    ),
    "a manifest with a key twice": (
        lambda folder: edit_text(folder / "submission.json", '{"name": "other", '),
        "no readable submission.json",
    ),
    "results that are not UTF-8": (
        lambda folder: (folder / "results.json").write_bytes(b"\xff\xfe"), "not a results file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_broken_files_are_a_line(kind: str, submission: Path) -> None:
    change, message = TEXTS[kind]
    change(submission)
    if "manifest" not in kind:
        seal(submission)
    assert message in refusal(submission)


def test_a_control_is_named_by_its_hash(submission: Path) -> None:
    control = {"toyland": {"name": "random", "fingerprint": "../../../../etc"}}
    edit(submission, "submission.json", set_in("controls", value=control))
    assert "controls.toyland" in refusal(submission)


HEADLINE = ("tasks", "occupations_t2iat", "headline")
IMPOSSIBLE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a value beyond its scale": (set_in(*HEADLINE, "value", value=1e300), "its scale ends at 1"),
    "a square beyond its scale": (set_in(*HEADLINE, "square", value=-9.0), "its scale ends at 1"),
    "images without number": (
        set_in("tasks", "occupations_t2iat", "n_images", value=10**400), "not a finite number",
    ),
    "refusals without number": (
        set_in("tasks", "occupations_t2iat", "excluded", value={"refused": 10**4000}),
        "not a finite number",
    ),
    "infinity": (set_in(*HEADLINE, "ci_high", value=float("inf")), "is not a finite number"),
    "not a number": (set_in(*HEADLINE, "fair_low", value=float("nan")), "not a finite number"),
    "infinity among the details": (
        set_in("tasks", "occupations_t2iat", "details", "x", value=[float("-inf")]),
        "occupations_t2iat.details.x[0] is not a finite number",
    ),
    "no p-value": (set_in(*HEADLINE, "p", value=-0.5), "which is no p-value"),
}  # fmt: skip


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_numbers_are_numbers(kind: str, submission: Path) -> None:
    change, message = IMPOSSIBLE[kind]
    edit(submission, "results.json", change)
    assert message in refusal(submission)


def test_one_bad_submission_does_not_end_the_check_of_the_others(
    packed: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = tmp_path / "board"
    for name in ("a", "b", "c"):
        shutil.copytree(packed, board / name)
    edit_json(board / "a" / "results.json", in_every_task("n_bootstrap", 10**9))
    seal(board / "a")
    (board / "b" / "submission.json").write_text(DEEP)
    (tmp_path / "other" / "empty").mkdir(parents=True)
    status, out, errors = cli(
        "leaderboard",
        "verify",
        tmp_path / "other" / "empty",
        board,
        "--verdicts",
        tmp_path / "kept",
    )
    assert status == 1 and "Traceback" not in out + errors
    assert "empty' is not a submission: it has no readable submission.json" in out
    assert "a: refused" in out and "b: refused" in out and "c: recomputed" in out
    (kept,) = (tmp_path / "kept").glob("*/verdict.json")
    assert json.loads(kept.read_text())["level"] == "recomputed"


@pytest.mark.parametrize("raised", [MemoryError, RecursionError, AssertionError, OverflowError])
def test_whatever_is_raised_is_a_refusal(
    raised: type[Exception], packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise raised("more than there is")

    monkeypatch.setattr("t2ibench.apps.leaderboard.verify.score_plan", fail)
    assert f"{raised.__name__}: more than there is" in refusal(packed)


def test_lines_are_fit_for_a_terminal(submission: Path) -> None:
    edit(submission, "submission.json", set_in("files", "\x1b[2J\nevil", value="0" * 64))
    (line,) = verify(submission).problems
    assert "\x1b" not in line and "evil' is not a file that a submission may contain" in line


ENDLESS = {
    "steps": "10000000",
    "size": "100000",
    "height": "1_000_000",
    "call.prior_num_inference_steps": "1e9",
    "call.original_size": "[512, [1e400]]",
    "call.max_sequence_length": '{"a": 100000}',
}


@pytest.mark.parametrize("name", ENDLESS)
def test_settings_that_never_end_are_refused_before_a_model_is_made(
    name: str, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {name: ENDLESS[name]}

    def change(results: Any) -> None:
        said = settings_of(results["command"])
        results["command"] = said.model_copy(update={"model_args": given}).command()

    edit(submission, "submission.json", set_in("model_args", value=given))
    edit(submission, "results.json", change)
    monkeypatch.setattr("t2ibench.apps.leaderboard.regenerate.create_generator", None)
    assert f"its model has {name}={ENDLESS[name]}; the leaderboard takes" in refusal(submission, 1)


def test_numbers_of_honest_arguments_are_taken() -> None:
    honest = {
        "steps": "1000", "size": "2048x1024", "guidance": "7.5", "negative_prompt": "99999 nan",
        "revision": "20240131000000", "nurse.gender.female": "0.9", "scheduler": "nan",
        "call.timesteps": "[999, 749, 499]",
    }  # fmt: skip
    assert list(bounds.argument_problems("model", honest)) == []


def busy(*_: Any, **__: Any) -> None:
    """A model's own code, which catches what it can."""
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


def test_a_submission_has_a_deadline(submission: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with monkeypatch.context() as patched:
        patched.setattr("t2ibench.apps.leaderboard.regenerate.generate_batch", busy)
        patched.setattr("t2ibench.apps.leaderboard.bounds._AGAIN", 0.2)
        patched.setattr("t2ibench.apps.leaderboard.verify.content_problem", lambda _: None)
        patched.setattr("t2ibench.apps.leaderboard.verify._recompute", lambda *_: None)
        verdict = verify(submission, 1, minutes=0.02)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert "took too long here" in verdict.lacking[0] and verdict.parts == {}
    monkeypatch.setattr("t2ibench.apps.leaderboard.verify.score_plan", busy)
    verdict = verify(submission, minutes=0.02)
    assert verdict.level == "refused" and "more than 0.02 minutes" in verdict.problems[0]
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
