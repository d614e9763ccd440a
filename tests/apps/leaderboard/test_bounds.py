"""Submissions that would cost time or memory, or end the check of the others."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from t2ibench.apps.leaderboard import bounds
from t2ibench.apps.leaderboard.claims import settings_of
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.errors import T2IBenchError
from t2ibench.settings import Settings
from tests import hand
from tests.apps.leaderboard.forging import edit, refusal, seal, set_in

Cli = Callable[..., tuple[int, str, str]]
DEEP = "[" * 100_000 + "]" * 100_000


def in_every_task(name: str, value: Any) -> Callable[[Any], None]:
    def change(results: Any) -> None:
        for task in results["tasks"].values():
            task["settings"][name] = value

    return change


HUGE = {
    "n_bootstrap": (
        10**7,
        "10000000 bootstrap draws; the leaderboard takes the default, 10000",
    ),
    "n_permutations": (10**7, "10000000 permutations"),
    "images_per_prompt": (
        10**9,
        "images_per_prompt: Input should be less than or equal",
    ),
    "guided_images_per_prompt": (
        10**400,
        "Input should be less than or equal to 1000000",
    ),
    "times": (1000.0, "120000 images; at most 100000"),
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


@pytest.mark.parametrize("name", ["evidence.db", "submission.json"])
def test_pipes_and_links_in_a_submission_are_refused(
    name: str, submission: Path
) -> None:
    (submission / name).unlink()
    os.mkfifo(submission / name)
    assert f"{name} is not a plain file" in refusal(submission)
    (submission / name).unlink()
    (submission / name).symlink_to(submission)  # a file, or a folder
    assert f"{name} is not a plain file" in refusal(submission)


def test_size_and_number_of_files(
    submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = submission / "evidence.db"
    # nothing is read
    monkeypatch.setattr("t2ibench.apps.leaderboard.bounds.sha256_of", None)
    for size in (bounds.LARGEST + 1, 100 * 10**9):
        with large.open("r+b") as file:
            file.truncate(size)  # with a hole: no byte of it is on the disk
        assert "MB; 50 are accepted" in refusal(submission)
    large.unlink()
    (submission / "many").mkdir()
    for number in range(bounds.MOST_FILES):
        (submission / "many" / str(number)).touch()
    assert "more than 6000 files" in refusal(submission)


def replace_file(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(
        text.encode(errors="surrogateescape")
    )


def twice(name: str, beginning: str) -> Callable[[Path], object]:
    """Another value of a key before the one that readers take."""
    return lambda folder: (folder / name).write_text(
        (folder / name).read_text().replace("{", beginning, 1)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replace_file("results.json", DEEP), "nested too deeply"),
        (replace_file("results.json", "[" * 60 + "]" * 60), "nested too deeply"),
        (twice("results.json", '{"limited": true, '), "the key 'limited' twice"),
        (replace_file("results.json", "\udcff"), "not a results file"),
        (replace_file("submission.json", DEEP), "no readable submission.json"),
        (twice("submission.json", '{"name": "other", '), "no readable submission.json"),
    ],
)
def test_broken_files_are_a_line(
    change: Callable[[Path], object], message: str, submission: Path
) -> None:
    change(submission)
    if "submission" not in message:
        seal(submission)
    assert message in refusal(submission)


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(bounds, "read_json_text", never)
    for name, largest in (
        ("results.json", bounds.LARGEST_JSON),
        ("submission.json", bounds.LARGEST_MANIFEST),
    ):
        with (tmp_path / name).open("wb") as file:
            file.truncate(largest + 1)  # with a hole: no byte of it is on the disk
    with pytest.raises(ValueError, match="20 are accepted"):
        bounds.read_json(tmp_path / "results.json")
    with pytest.raises(T2IBenchError, match=r"no readable submission\.json"):
        read_manifest(tmp_path)


def test_tasks_that_were_measured_differently_are_refused() -> None:
    usual = {
        name: getattr(Settings(), name)
        for name in ("n_permutations", "n_bootstrap", "seed", "level")
    }
    alike = [hand.settings(**usual), hand.settings(**usual)]
    assert bounds.checked_settings(alike, "a" * 64) == Settings.of(alike[0])
    with pytest.raises(T2IBenchError, match="measured with different settings"):
        bounds.checked_settings(
            [*alike, hand.settings(**usual, images_per_prompt=99)], "a" * 64
        )


def test_arguments_of_judges_are_bounded(submission: Path) -> None:
    def change(results: Any) -> None:
        said = settings_of(results["command"])
        given = {"max_tokens": "100000000"}
        results["command"] = said.model_copy(update={"judge_args": given}).command()

    edit(submission, "results.json", change)
    assert (
        "its judge has max_tokens=100000000; the leaderboard takes numbers up to 65536"
        in refusal(submission)
    )


def test_tasks_that_edit_images_are_refused(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their source images are not sent, so their scores do not follow from the evidence."""
    where = "t2ibench.apps.leaderboard.verify"
    monkeypatch.setattr(f"{where}.content_problem", lambda _: None)
    plan = SimpleNamespace(has_edits=True)
    monkeypatch.setattr(f"{where}.make_plan", lambda *_: plan)
    assert "edits of images, which cannot be submitted: run the others" in refusal(
        packed
    )


def test_whatever_is_raised_is_a_refusal(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("more than there is")

    monkeypatch.setattr("t2ibench.apps.leaderboard.verify.score_plan", fail)
    assert "MemoryError: more than there is" in refusal(packed)


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
    assert f"its model has {name}={ENDLESS[name]}; the leaderboard takes" in refusal(
        submission, 1
    )


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


def test_a_submission_has_a_deadline(
    submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with monkeypatch.context() as patched:
        patched.setattr("t2ibench.apps.leaderboard.regenerate.generate_batch", busy)
        patched.setattr("t2ibench.apps.leaderboard.bounds._REPEAT_SECONDS", 0.2)
        patched.setattr(
            "t2ibench.apps.leaderboard.verify.content_problem", lambda _: None
        )
        patched.setattr("t2ibench.apps.leaderboard.verify._recompute", lambda *_: None)
        verdict = verify(submission, 1, minutes=0.02)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert "took too long here" in verdict.not_regenerated[0] and verdict.parts == {}
    monkeypatch.setattr("t2ibench.apps.leaderboard.verify.score_plan", busy)
    verdict = verify(submission, minutes=0.02)
    assert (
        verdict.level == "refused" and "more than 0.02 minutes" in verdict.problems[0]
    )
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
