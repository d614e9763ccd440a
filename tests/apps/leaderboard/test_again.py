"""What is made again: forgeries that are consistent in themselves are found out."""

from __future__ import annotations

import json
import random
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.evidence import open_evidence
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.regenerate import (
    LEVELS,
    REFUSED,
    check_paths,
    sample_for_audit,
)
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage
from t2ibench.pipeline.plan import make_plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.settings import Settings
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt
from t2ibench.tasks import load_tasks
from tests.apps.leaderboard.forging import (
    Rows,
    balanced_answers,
    call,
    edit,
    edit_embeddings,
    edit_table,
    invent_hashes,
    random_embeddings,
    record,
    refusal,
    rename_judge,
    rename_model,
    set_in,
)

pytestmark = pytest.mark.networks

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "forged"))


def packed_of(run: Path) -> Path:
    return pack(run, run.parent / "submissions", SilentReporter())


def test_all_that_is_made_again_is_listed(packed: Path) -> None:
    verdict = verify(packed, draw=10)
    assert (verdict.level, verdict.problems, verdict.not_regenerated) == (
        "reproduced",
        [],
        [],
    )
    texts = EvidenceStore(
        open_evidence(packed), *read_manifest(packed).encoders.popitem()
    )
    assert verdict.parts["images"] == 10 and verdict.parts["texts"] == len(
        texts.keys("texts")
    )
    assert verdict.parts["answers"] > 0
    assert "10 images" in verdict.notes[0] and "are the same" in verdict.notes[0]
    assert verdict.unconfirmed == ["environment", "t2ibench"]


HONEST: list[tuple[dict[str, Any], set[str]]] = [
    (
        {"tasks": "t2iat_career_family,vibex_training", "times": 0.3,
         "guided_images_per_prompt": 2},
        {"images", "texts", "answers"},
    ),
    (
        {"tasks": "weat_8_science_arts,weat_1_flowers_insects", "n_bootstrap": 20_000,
         "dtype": "float32"},
        {"texts"},
    ),
    (  # a judge that is named after an encoder
        {
            "tasks": "openbias_examples", "images_per_prompt": 2, "judge": "clip,toyland",
            "judge_args": {"margin": "0.2"}, "model_args": {"all.gender.female": "0.9"},
        },
        {"images", "answers"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("keywords", "parts"), HONEST)
def test_honest_runs_are_reproduced(
    keywords: dict[str, Any], parts: set[str], tmp_path: Path
) -> None:
    results = evaluate("toyland", output_dir=tmp_path, **keywords)
    (run,) = tmp_path.glob("toyland*")
    verdict = verify(packed_of(run), draw=3)
    assert (verdict.level, verdict.problems, verdict.not_regenerated) == (
        "reproduced",
        [],
        [],
    )
    assert verdict.tasks == len(results.tasks) and set(verdict.parts) == parts


def test_a_model_is_made_even_where_no_test_needs_its_images(tmp_path: Path) -> None:
    """Texts alone are the same whatever model is named beside them."""
    evaluate("toyland", "weat_8_science_arts", output_dir=tmp_path)
    run = tmp_path / "toyland"
    record(run, "generator", "settings", value={"steps": 500})
    assert "it states steps = 500" in refusal(packed_of(run), 1)
    record(run, "generator", "fingerprint", value="c" * 64)
    folder = packed_of(run)
    assert verify(folder).level == "recomputed"
    assert "has another fingerprint" in refusal(folder, 1)


def nudge_texts(run: Path) -> None:
    """Move every text a little towards one direction, which is enough to move a lean."""

    def nudge(_: list[str], rows: Any) -> Any:
        return (rows + 0.03) / np.linalg.norm(rows + 0.03, axis=1, keepdims=True)

    edit_embeddings(run, "texts", nudge)


def widen(run: Path) -> None:
    """Embeddings of another width than the encoder's."""

    def change(parts: Rows) -> None:
        for part in (part for part in parts if part["dtype"] == "float32"):
            rows = np.frombuffer(part["rows"], "<f4").reshape(-1, part["width"])
            wide = np.pad(rows, ((0, 0), (0, 3)))
            part |= {"rows": wide.tobytes(), "width": wide.shape[1]}

    edit_table(run, "embeddings", change)


def other_encoder(run: Path) -> None:
    rename_model(run, "encoder", "toyland", "b" * 64)
    record(run, "encoders", "toyland", "fingerprint", value="b" * 64)


def other_arguments(run: Path) -> None:
    for part in ("settings", "generator"):
        record(run, part, "model_args", value={"all.gender.female": "1.0"})


def stated(*place: str, value: Any) -> Callable[[Path], None]:
    """Say something else of the model."""
    return lambda run: record(run, "generator", *place, value=value)


FORGERIES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda run: random_embeddings(run, "images"), "does not look to toyland"),
    (nudge_texts, "embeds otherwise by toyland"),
    (widen, "embeds otherwise by toyland"),
    (other_encoder, "the encoder toyland here is not the one that was used"),
    (balanced_answers, "toyland says"),
    (call, "is called filtered, and the model makes it"),
    (other_arguments, "has another fingerprint"),
    (stated("settings", value={"steps": 500}), "it states steps = 500"),
    (stated("revision", value="world 9"), "it states revision = world 9"),
    (
        stated("effective_settings", "height", value=1024),
        "height = 1024; the model has 64",
    ),
]


@pytest.mark.parametrize(("forge", "message"), FORGERIES)
def test_a_consistent_forgery_is_detected_only_by_regenerating_images(
    forge: Callable[[Path], Any], message: str, copy: Path
) -> None:
    """What was recomputed before is said first, so each message means that all of it agreed."""
    forge(copy)
    assert message in refusal(packed_of(copy), 8)


def test_a_consistent_forgery_is_recomputed(copy: Path) -> None:
    random_embeddings(copy, "images")
    assert verify(packed_of(copy)).level == "recomputed"


def filter_programmers(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    """Make the model leave out every programmer."""
    honest = ToylandGenerator.generate

    def generate(model: Any, requests: Any) -> list[GeneratedImage]:
        without: Any = GeneratedImage(status, reason="a filter")  # type: ignore[arg-type]
        return [
            without if "programmer" in request.prompt else one
            for request, one in zip(requests, honest(model, requests), strict=True)
        ]

    monkeypatch.setattr(ToylandGenerator, "generate", generate)


def test_attempts_that_gave_no_image_are_tried_again(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(copy, which=lambda _, prompt: "programmer" in prompt) >= 3
    folder = packed_of(copy)
    filter_programmers(monkeypatch, "filtered")
    verdict = verify(folder, draw=3)
    assert verdict.level == "reproduced", verdict.problems
    # An attempt that gave no image counts as none on the board.
    assert verdict.n_images == verdict.totals["images"] > 0
    assert (
        verdict.parts["refused"] == 3
        and "3 attempts that gave no image" in verdict.notes[0]
    )
    filter_programmers(monkeypatch, "refused")
    assert "is called filtered, and when it is tried again it is refused" in refusal(
        folder, 3
    )
    filter_programmers(monkeypatch, "failed")
    verdict = verify(folder, draw=3)
    assert verdict.level == "partly reproduced"
    assert "3 images failed here" in verdict.not_regenerated[0]


def test_a_model_that_breaks_here_lowers_the_verdict(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Mock(side_effect=RuntimeError("no driver"))
    monkeypatch.setattr(ToylandGenerator, "effective_settings", broken)
    verdict = verify(packed, draw=2)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert "RuntimeError: no driver" in verdict.notes[-1]


def test_a_judge_on_a_server_is_not_called(copy: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        rename_judge(
            copy, "openai:gpt", {"base_url": address, "timeout": "1", "retries": "1"}
        )
        verdict = verify(packed_of(copy), draw=4)
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert verdict.level == "recomputed", verdict.problems
    assert "answers" not in verdict.parts and verdict.parts["images"] == 4
    assert (
        "openai:gpt is on a server, which is not called" in verdict.not_regenerated[0]
    )
    assert any("not made again: the judge openai:gpt" in note for note in verdict.notes)


@pytest.mark.parametrize("changed", [1, 50])
def test_answers_about_other_files_may_differ_a_little(
    changed: int, copy: Path
) -> None:
    """A level whose text says that all is the same is not given where answers differ."""
    invent_hashes(copy)
    classes: dict[int, list[str]] = {}

    def read(rows: Rows) -> None:
        classes.update({row["id"]: json.loads(row["classes"]) for row in rows})

    def change(rows: Rows) -> None:
        for row in rows[:changed]:
            others = {*classes[row["question"]]} - {row["answer"]}
            row["answer"] = min(others)

    edit_table(copy, "questions", read)
    edit_table(copy, "answers", change)
    verdict = verify(packed_of(copy), draw=10_000)
    if changed > 1:
        assert verdict.level == REFUSED and "the submission says" in verdict.problems[0]
        return
    assert (verdict.level, verdict.not_regenerated) == ("partly reproduced", [])
    total = verdict.totals["answers"]
    differing = f"1 of {total} answers of toyland differ, within what another machine's"
    assert any(note.startswith(differing) for note in verdict.notes)
    assert verdict.parts["answers"] == total - 1
    assert "or some of a judge's answers differ" in LEVELS[verdict.level]


def test_a_model_that_is_not_here_lowers_the_verdict_in_words(copy: Path) -> None:
    record(copy, "settings", "model", value="./nowhere")
    record(copy, "generator", "model", value="./nowhere")
    record(copy, "generator", "name", value="nowhere")
    verdict = verify(packed_of(copy), draw=6)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert "nowhere is a path of this machine" in verdict.not_regenerated[0]
    assert set(verdict.parts) == {"texts"}


OTHERS = [
    "vectors:/etc/passwd",
    "clip:/usr",
    "vectors:~/x.txt",
    "clip:../../models",
    "text_of:/",
]
NAMES = [
    "toyland",
    "clip:openai/clip-vit-base-patch32",
    "open_clip:hf-hub:laion/CLIP",
    "tests",
    "",
]


def test_a_submission_names_no_file_of_the_verifier() -> None:
    """What an encoder says of a file that is no model could be words of that file."""
    check_paths(*NAMES)
    for spec in OTHERS:
        with pytest.raises(
            T2IBenchError, match=f"{re.escape(spec)} is a path of this machine"
        ):
            check_paths("toyland", spec)


def test_drawn_images_are_unpredictable_but_repeatable_by_seed(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = ToylandGenerator.generate
    asked: list[Any] = []

    def generate(model: Any, requests: Any) -> list[GeneratedImage]:
        asked.extend((request.prompt, request.index) for request in requests)
        return honest(model, requests)

    monkeypatch.setattr(ToylandGenerator, "generate", generate)

    def draws(seed: int | None) -> list[Any]:
        asked.clear()
        verdict = verify(packed, draw=6, seed=seed)
        assert f"--seed {verdict.seed} chooses it again" in "\n".join(verdict.notes)
        return list(asked)

    drawn = draws(3)
    assert draws(3) == drawn
    assert draws(None) != draws(None)
    # distinct prompts are preferred
    assert len({prompt for prompt, _ in drawn}) == 6


def test_images_that_decide_are_drawn_as_often_as_guided_ones() -> None:
    """Guided images are of whom they name, whatever the model; a biased model betrays itself in
    the few others, even where a submitter asks for as many of each prompt."""
    plan = make_plan(load_tasks("occupations_t2iat"), Settings(images_per_prompt=3))
    attempts = [Attempt(request.key, request.seed, "ok") for request in plan.requests]
    chosen = sample_for_audit(attempts, plan, 20, random.Random(0))
    guided = [one for one in chosen if {"male", "female"} & set(one.prompt.split())]
    assert len(chosen) == 20 and len(guided) == 10


def test_random_weights_are_made_again(tmp_path: Path) -> None:
    given: dict[str, Any] = {"encoder": "toy-clip", "images_per_prompt": 2}
    given |= {"guided_images_per_prompt": 1}
    evaluate("toyland", "t2iat_science_arts", output_dir=tmp_path, **given)
    run = tmp_path / "toyland"
    verdict = verify(packed_of(run), draw=4)
    assert verdict.level == "reproduced" and verdict.parts["controls"] > 4, (
        verdict.problems
    )
    random_embeddings(run, "texts", "random:")
    assert "embeds otherwise by random:toy-clip" in refusal(packed_of(run), 1)
    record(run, "controls", value={})
    assert "has no control of random weights for toy-clip" in refusal(packed_of(run), 1)


def test_the_command_line_repeats_a_check(run: Path, tmp_path: Path, cli: Cli) -> None:
    board = tmp_path / "board"
    status, _, errors = cli("leaderboard", "add", run, "--to", board)
    assert status == 0 and "MB" in errors and "3 tasks, recomputed" in errors
    (folder,) = board.iterdir()
    kept = tmp_path / "kept"
    status, out, _ = cli(
        "leaderboard",
        "verify",
        board,
        "--draw",
        "3",
        "--seed",
        "11",
        "--verdicts",
        kept,
    )
    assert (
        status == 0
        and "reproduced (3 tasks)" in out
        and "--seed 11 chooses it again" in out
    )
    assert "as stated by the submitter: environment, t2ibench" in out
    assert "note: 2 of 3 tasks: 3 images a prompt, fewer" in out
    (said,) = (json.loads(one.read_text()) for one in kept.glob("*.json"))
    assert said["level"] == "reproduced" and said["parts"]["images"] == 3
    shutil.copytree(folder, board / "other")
    (board / "broken").mkdir()
    (board / "broken" / "submission.json").write_text("[" * 100_000)
    edit(folder, "results.json", set_in("limited", value=True))
    status, out, _ = cli("leaderboard", "verify", board)
    assert status == 1 and "refused" in out and "--limit" in out
    assert "broken: refused" in out and "other: recomputed" in out
