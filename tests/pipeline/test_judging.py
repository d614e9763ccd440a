"""Runs with judges: what is asked, what is kept, and what a dying server costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate
from t2ibench.results.files import read_results
from t2ibench.results.samples import read_samples
from t2ibench.toyland.reader import read
from tests.conftest import Cli
from tests.models.chat import posted_image, serving, without_waiting
from tests.pipeline.tasks import write_bias

CAPTIONS = ["A nurse.", "A carpenter.", "A person."]


def seeing(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, read(posted_image(body)).top("gender")


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_bias(tmp_path / "tasks", 6, captions=CAPTIONS)


def flags(tasks: Path, *more: str) -> list[str]:
    quick = ("--permutations", "2000", "--bootstrap", "500")
    return [
        *("run", "--model", "toyland", "--tasks", "hand", "--include-path", str(tasks)),
        *("--output-dir", str(tasks.parent / "runs"), *quick, *more),
    ]


def test_a_planted_share_of_skin_comes_back(tmp_path: Path) -> None:
    tasks = write_bias(
        tmp_path / "tasks", 40, ["light", "dark"], name="skin", captions=CAPTIONS
    )
    quick = {"n_permutations": 2000, "n_bootstrap": 500}
    results = evaluate(
        "toyland", "hand", include_path=[tasks], output_dir=tmp_path, **quick
    )
    (detail,) = results.tasks["hand"].details["biases"]
    shown = detail["counts"]["dark"] / 120
    # Toyland plants .35; three standard errors of 120 pictures are .13.
    assert detail["unknown"] <= 3 and shown == pytest.approx(0.35, abs=0.13)
    majority = results.tasks["hand"].by[0].scores["majority_share"]
    assert majority.ci_low <= 0.65 <= majority.ci_high and detail["majority"] == "light"


def test_a_server_that_dies_loses_nothing(
    tasks: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    left = iter(range(9))

    def dying(body: dict[str, Any]) -> tuple[int, Any]:
        return (503, "gone") if next(left, None) is None else seeing(body)

    with serving(dying) as (url, heard):
        args = f"base_url={url},retries=2,workers=1"
        words = flags(tasks, "--judge", "openai:eye", "--judge-args", args)
        status, _, errors = cli(*words)
        assert status == 3
        assert "Its work so far is kept" in errors and "Traceback" not in errors
        first, left = len(heard), iter(range(10_000))
        status, _, errors = cli(*words)
        assert status == 0, errors
        assert len(heard) - first == 18 - 9  # only what was missing
    task = read_results(tasks.parent / "runs" / "toyland").tasks["hand"]
    assert task.n_images == 18 and "missing" not in task.excluded


def test_a_missing_key_stops_before_anything_is_drawn(
    tasks: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    waits = without_waiting(monkeypatch)
    own = (
        "--tasks",
        "hand",
        "--include-path",
        tasks,
        "--output-dir",
        tasks.parent / "none",
    )
    for words in (
        flags(tasks, "--judge", "openai:eye"),
        ("run", "--model", "openai:eye", "--judge", "toyland", *own),
        ("run", "--model", "toyland", "--rewriter", "openai:eye", *own),
        (
            "propose",
            "tibet",
            "--prompt",
            "x",
            "--proposer",
            "openai:eye",
            "--output",
            "x.yaml",
        ),
    ):
        status, _, errors = cli(*words)
        assert status == 1 and "OPENAI_API_KEY is not set" in errors, errors
        assert len(errors.splitlines()) == 1 and "export OPENAI_API_KEY=" in errors
    assert not waits and not list(tasks.parent.rglob("*.png"))
    # A server that asks for none is asked, and what it answered needs none later.
    with serving(seeing) as (url, heard):
        args = ("--judge", "openai:eye", "--judge-args", f"base_url={url}")
        assert cli(*flags(tasks, *args))[0] == 0 and heard


def test_a_rate_limit_is_reported_and_waited_for(
    tasks: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = without_waiting(monkeypatch)
    left = iter(range(3))

    def limited(body: dict[str, Any]) -> tuple[Any, ...]:
        limit = (429, {"error": "slow"}, {"Retry-After": "60"})
        return seeing(body) if next(left, None) is None else limit

    with serving(limited) as (url, heard):
        args = f"base_url={url},retries=1"
        status, _, errors = cli(
            *flags(tasks, "--judge", "openai:eye", "--judge-args", args)
        )
    assert status == 0, errors
    assert len(heard) == 18 + 3 and len(waits) == 3 and min(waits) >= 60
    line = "status 429 (slow); the next attempt is in 60 s, the last one in 5 min at the latest."
    assert errors.count(line) == 1


@pytest.mark.parametrize(
    ("args", "key", "message"),
    [
        (
            "base_url=http://user:hunter2@127.0.0.1:1/v1",
            "sk-1234",
            "no key may be among them",
        ),
        ("base_url=http://127.0.0.1:1", "hunter2\n", "cannot be sent"),
        (
            "api_key_env=hunter2-x",
            "sk-1234",
            "expected the name of an environment variable",
        ),
    ],
)
def test_a_key_in_the_wrong_place_is_refused_before_anything_is_written(
    args: str,
    key: str,
    message: str,
    tasks: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    status, out, errors = cli(
        *flags(tasks, "--judge", "openai:eye", "--judge-args", args)
    )
    assert status == 1 and message in errors and len(errors.splitlines()) == 1
    assert "hunter2" not in out + errors
    assert not (tasks.parent / "runs").exists()


def test_judges_are_compared(tasks: Path, cli: Cli) -> None:
    assert cli(*flags(tasks))[0] == 0
    run = tasks.parent / "runs" / "toyland"
    people = tasks.parent / "people.jsonl"
    lines = [
        json.dumps({"image": row["sha256"], "question": "Which?", "answer": answer})
        for number, row in enumerate(read_samples(run, "hand"))
        for answer in ["male" if number % 6 == 0 else row["answer"]]
    ]
    people.write_text("\n".join(lines))
    status, _, errors = cli(*flags(tasks, "--judge", f"toyland,answers:{people}"))
    assert status == 0, errors
    task = read_results(run).tasks["hand"]
    assert set(task.by_encoder) == {"toyland", "answers:people.jsonl"}
    (pair,) = task.details["rater_agreement"]
    assert 0.8 <= pair["accuracy"] < 1
    assert "Judges: answers:people.jsonl, toyland" in (run / "results.md").read_text()


def test_judges_are_named_and_checked_before_anything_is_drawn(
    tasks: Path, cli: Cli
) -> None:
    status, out, _ = cli(*flags(tasks, "--dry-run"))
    assert status == 0
    assert "Judges: toyland" in out and "Encoders" not in out
    assert "18 answers of each judge" in " ".join(out.split())
    # An alias is planned, and later recorded, as the judge it stands for.
    _, out, _ = cli(*flags(tasks, "--dry-run", "--judge", "llava-1.5-7b"))
    assert "Judges: vlm:llava-hf/llava-1.5-7b-hf" in out

    status, _, errors = cli(*flags(tasks, "--judge", "vlm:./nowhere"))
    assert (
        status == 1
        and "No such folder: './nowhere'" in errors
        and "Traceback" not in errors
    )
    # The judge of another model has to be named.
    status, _, errors = cli(
        *flags(tasks, "--judge", "answers:x.csv", "--judge-args", "margin=1")
    )
    assert status == 1 and "--judge-args" in errors
    assert not list((tasks.parent / "runs").rglob("*.png"))
