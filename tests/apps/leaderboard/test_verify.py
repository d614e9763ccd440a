"""Submissions that are what they say, and many that are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.store.evidence import text_key
from tests.apps.leaderboard.conftest import PROMPT
from tests.apps.leaderboard.forging import (
    edit,
    edit_attempts,
    edit_embeddings,
    edit_table,
    record,
    refusal,
    seal,
    set_in,
    word,
)


def test_an_honest_submission_is_recomputed(packed: Path, run: Path) -> None:
    verdict = verify(packed)
    assert (verdict.level, verdict.problems, verdict.tasks) == ("recomputed", [], 3)
    assert verdict.seed is None and verdict.parts == {}
    assert {"environment", "settings", "revision"} <= set(verdict.unconfirmed)
    ours, theirs = read_results(run), read_results(packed)
    for name, task in ours.tasks.items():
        value = theirs.tasks[name].headline.value
        assert value == pytest.approx(task.headline.value, abs=0.02), name
    assert not list(packed.rglob("*.png"))


def test_an_image_that_tests_share_counts_once(tmp_path: Path) -> None:
    """Both tests ask for images of the same twenty occupations."""
    tasks = "core_occupations_gender,occupations_facts_gender"
    results = evaluate(
        "toyland", tasks, images_per_prompt=2, output_dir=tmp_path / "runs"
    )
    folder = pack(results.folder, tmp_path / "submissions", SilentReporter())
    verdict = verify(folder)
    with_repeats = sum(task.n_images for task in results.tasks.values())
    assert verdict.problems == [] and 0 < verdict.n_images < with_repeats


Change = Callable[[Any], Any]


def task(*place: Any, value: Any) -> Change:
    """Another value in the results of a task."""
    return set_in("tasks", "occupations_t2iat", *place, value=value)


def every(name: str, value: Any) -> Change:
    """Another setting of every task."""
    return lambda data: [
        one["settings"].update({name: value}) for one in data["tasks"].values()
    ][:0]


def contradict(data: Any) -> None:
    """Say that a control contradicts the results, or that none does."""
    controls = (
        one["controls"]
        for one in data["tasks"].values()
        if "shuffled" in one["controls"]
    )
    next(controls)["shuffled"].update(contradicts="it does not")


def rename_task(data: Any) -> None:
    data["tasks"]["occupations_t2iap"] = data["tasks"].pop("occupations_t2iat")


RESULTS: list[tuple[Change, str]] = [
    (task("headline", "value", value=0.01), "headline.value"),
    (task("headline", "ci_low", value=0.2), "ci_low"),
    (task("headline", "p_holm", value=0.9), "p_holm"),
    (task("by", 0, "scores", "association", "value", value=0.0), "by[0]"),
    (task("n_images", value=9999), "n_images"),
    (
        set_in("tasks", "openbias_examples", "excluded", "unknown", value=0),
        "excluded.unknown",
    ),
    (contradict, "controls.shuffled.contradicts"),
    (
        task("text_image_alignment", "toyland", 0, "value", value=0.999),
        "text_image_alignment",
    ),
    (set_in("limited", value=True), "--limit"),
    (task("settings", "limit", value=2), "--limit"),
    (task("settings", "n_permutations", value=99), "permutations"),
    (task("settings", "level", value=0.5), "intervals are at 0.5"),
    (
        every("seed", 7),
        "it was made with --seed 7; the leaderboard takes --seed derived",
    ),
    (task("task_hash", value="0" * 64), "another version"),
    (task("version", value=7), "another version"),
    (rename_task, "Did you mean 'occupations_t2iat'"),
    (set_in("tasks", value={}), "no task"),
    (set_in("model", "fingerprint", value="0" * 64), "different models"),
    (task("settings", "encoders", value={"clip": "0" * 64}), "'clip'"),
    (set_in("mood", value="good"), "not a results file"),
    (task("headline", "value", value="low"), "not a results file"),
    (task("excluded", "failed", value=3), "complete the run"),
    (
        set_in("command", value=["curl", "http://evil/x"]),
        "t2ibench writes: curl http://evil/x",
    ),
    (word("--model", "toy"), "names another model, or other arguments"),
    (word("--images-per-prompt", "50"), "says images_per_prompt = 50"),
    (word("--encoder", "toy-clip"), "names other encoders"),
    (word("--judge", None), "names other judges"),
    (set_in("t2ibench", value="9.9"), "different versions of t2ibench"),
    (set_in("environment", "x", value="y" * 9000), "environment is too long"),
    (set_in("schema", value=99), "reads 2 to 3"),
    # Numbers that are none.
    (task("excluded", value={"refused": 10**4000}), "excluded.refused says 1000"),
    (task("headline", "ci_high", value=float("inf")), "ci_high says Infinity"),
    (task("headline", "fair_low", value=float("nan")), "fair_low says NaN"),
    (task("headline", "p", value=-0.5), "headline.p says -0.5"),
]
ATTEMPTS: list[tuple[Change, str]] = [
    (lambda rows: rows[:-1], "the evidence gives"),
    (set_in(0, "seed", value=1), "required seed"),
    (lambda rows: rows[0].update(status="refused", sha256=None), "the evidence gives"),
    (
        lambda rows: rows[0].update(status="failed", sha256=None),
        "ok, refused or filtered are",
    ),
    (lambda rows: rows[0].update(sha256=None), "gives a SHA-256"),
    (lambda rows: rows[0].update(status="refused"), "gives a SHA-256"),
    (lambda rows: rows[0].update(sha256="G" * 64), "gives a SHA-256"),
    (lambda rows: [*rows, {**rows[0], "try": 1}], "holds no such image"),
    (lambda rows: rows[0].update(number=-1), "holds no such image"),
    (lambda rows: rows[0].update(file="../x.png"), "names a file in its row of image"),
]
MANIFEST: list[tuple[Change, str]] = [
    (set_in("version", value=5), "version"),
    (set_in("version", value=3), "version"),
    (set_in("mood", value="good"), "mood"),
    (set_in("fingerprint", value="abc"), "fingerprint"),
    (
        set_in("controls", value={"toyland": {"name": "x", "fingerprint": ".."}}),
        "controls.toyland",
    ),
    (set_in("name", value="another"), "different models"),
    (set_in("encoders", value={}), "which submission.json lacks"),
    (set_in("files", "results.json", value="0" * 64), "has changed"),
    (lambda data: data["files"].pop("evidence.db") and None, "not listed"),
    (
        lambda data: data["files"].update({"tasks/../../x.yaml": "0" * 64}),
        "may contain",
    ),
    (
        lambda data: data["files"].update({"\x1b[2J\nevil": "0" * 64}),
        "evil' is not a file that",
    ),
    (set_in("revision", value="world 3"), "different revisions"),
    (set_in("model", value="folder:/tmp"), "is not a model"),
]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *(("results.json", *one) for one in RESULTS),
        *(("evidence.db", *one) for one in ATTEMPTS),
        *(("submission.json", *one) for one in MANIFEST),
    ],
)
def test_a_changed_file_is_refused(
    name: str, change: Change, message: str, submission: Path
) -> None:
    if name == "evidence.db":
        edit_attempts(submission, change)
    else:
        edit(submission, name, change)
    assert message in refusal(submission)


def swap_rows(_: list[str], rows: Any) -> Any:
    rows[[0, -1]] = rows[[-1, 0]]
    return rows


def swap_words(keys: list[str], rows: Any) -> Any:
    """Of the two sides of a test: everyday words may change places among each other."""
    one, other = (keys.index(text_key(word)) for word in ("geometry", "poetry"))
    rows[[one, other]] = rows[[other, one]]
    return rows


def take_one(keys: list[str], rows: Any) -> Any:
    """Leave an image out, or a prompt: without it, agreement with all prompts was not shown."""
    at = keys.index(text_key(PROMPT)) if text_key(PROMPT) in keys else 0
    del keys[at]
    return np.delete(rows, at, axis=0)


@pytest.mark.parametrize(
    ("change", "which", "message"),
    [
        (swap_rows, "images", "the evidence gives"),
        (swap_words, "texts", "the evidence gives"),
        (take_one, "images", "the evidence gives"),
        (take_one, "texts", "the evidence gives null"),
        (lambda _, rows: rows * np.nan, "images", "the evidence gives null"),
        (lambda _, rows: rows * 3, "images", "the evidence gives null"),
    ],
)
def test_changed_embeddings_are_refused(
    change: Callable[[list[str], Any], Any], which: str, message: str, submission: Path
) -> None:
    edit_embeddings(submission, which, change)
    assert message in refusal(submission)


def test_sentences_are_those_of_the_evidence_whatever_a_submission_says(
    submission: Path,
) -> None:
    """Neither its words nor the choice among ties travels: what is shown is recomputed."""
    honest = read_results(submission).tasks["occupations_t2iat"]
    edit(submission, "results.json", task("warnings", value=["fine"]))
    edit(submission, "results.json", task("headline", "direction", value="fine"))
    edit(submission, "results.json", task("details", value={}))
    verdict = verify(submission)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert verdict.results is not None
    assert verdict.results.tasks["occupations_t2iat"] == honest
    (part,) = verdict.paired["openbias_examples"].headline[:1]
    assert part.influence.variance > 0


def test_a_difference_of_arithmetic_is_none_and_a_larger_one_is(
    submission: Path,
) -> None:
    value = read_results(submission).tasks["occupations_t2iat"].headline.value
    assert value is not None
    edit(submission, "results.json", task("headline", "value", value=value + 1e-9))
    assert verify(submission).problems == []
    edit(submission, "results.json", task("headline", "value", value=value + 1e-5))
    assert "headline.value" in refusal(submission)


def test_a_changed_answer_is_refused(submission: Path) -> None:
    def flip(rows: list[Any]) -> None:
        row = next(row for row in rows if row["answer"] in {"male", "female"})
        row["answer"] = "male" if row["answer"] == "female" else "female"

    edit_table(submission, "answers", flip)
    assert "the evidence gives" in refusal(submission)
    edit_table(
        submission, "answers", lambda rows: rows[0].update(answer="both") or rows
    )
    assert "the evidence gives" in refusal(submission)
    edit_table(submission, "answers", lambda rows: rows[1:])
    assert "the evidence gives" in refusal(submission)


def test_files_that_do_not_belong(submission: Path) -> None:
    (submission / "run.sh").write_text("x")
    assert "run.sh' is not a file that a submission may contain" in refusal(submission)
    (submission / "run.sh").unlink()
    (submission / "results.json").write_text("{}")
    assert "has changed" in refusal(submission)
    seal(submission)
    assert "not a results file" in refusal(submission)
    (submission / "evidence.db").unlink()
    seal(submission)
    assert "evidence.db is missing: every score is recomputed" in refusal(submission)
    shutil.rmtree(submission)
    assert "No such folder" in refusal(submission)


def test_the_folder_of_source_images_is_published_by_its_name_alone(
    run: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    record(copy, "settings", "sources", value="folder:/home/anna/faces")
    folder = pack(copy, tmp_path / "out", SilentReporter())
    text = (folder / "results.json").read_text(encoding="utf-8")
    assert "folder:faces" in text and "anna" not in text
    assert verify(folder).problems == []


def test_incomplete_or_changed_runs_cannot_be_packed(run: Path, tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match="not a run folder"):
        pack(tmp_path / "nowhere", tmp_path / "out", SilentReporter())
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    edit_attempts(copy, lambda rows: rows[1:])
    with pytest.raises(T2IBenchError, match="Images are missing"):
        pack(copy, tmp_path / "out", SilentReporter())
    copy = Path(shutil.copytree(run, tmp_path / "silent"))
    edit_embeddings(copy, "texts", take_one)
    with pytest.raises(
        T2IBenchError, match="Run the command again to complete the run"
    ):
        pack(copy, tmp_path / "out", SilentReporter())


def test_a_run_without_its_image_files_packs_the_same(
    run: Path, packed: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    for path in (copy / "images").rglob("*.png"):
        path.unlink()
    bare = pack(copy, tmp_path / "bare", SilentReporter())
    assert read_manifest(bare).files == read_manifest(packed).files  # byte by byte
