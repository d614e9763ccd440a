"""Scores on several cores and scores that were kept: the same bytes, and never stale ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import t2ibench.pipeline.score_cache as score_cache
from t2ibench import evaluate, worker_pool
from t2ibench.pipeline import scoring
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.results.run import open_run
from t2ibench.store.images import ImageStore

Cli = Callable[..., tuple[int, str, str]]
TASKS = ["t2iat_judaism_christianity", "mcas_objects", "weat_7_math_arts", "openbias_examples"]


class Silent:
    """A reporter that says nothing."""

    def advance(self, count: int) -> None: ...
    def say(self, text: str) -> None: ...
    def warn(self, text: str) -> None: ...
    def stage(self, *_: object) -> Silent:
        return self

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    evaluate("toyland", TASKS, encoder="toyland", limit=4, n_bootstrap=200, output_dir=folder)
    return next(path.parent for path in folder.rglob("run.json"))


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / whole.name))


def scored(run: Path, monkeypatch: pytest.MonkeyPatch | None = None, **how: Any) -> list[str]:
    """Score what is stored, in this process; the tasks that were computed."""
    folder, computed = open_run(run), []
    if monkeypatch is not None:
        real = scoring.score_task

        def counted(task: Any, *rest: Any) -> Any:
            computed.append(task.id)
            return real(task, *rest)

        monkeypatch.setattr(scoring, "score_task", counted)
    record = folder.record
    assert record.generator is not None
    images = ImageStore(folder.images, record.generator.fingerprint)
    stores = scoring.open_stores(folder.evidence, record.encoders, record.judges, record.controls)
    found = scoring.score_plan(stored_plan(folder), images, stores, Silent(), **how)
    text = json.dumps(
        {name: [one.model_dump(mode="json"), found.samples[name]] for name, one in
         found.results.items()}
    )  # fmt: skip
    (run / "said.json").write_text(text)
    return sorted(computed)


def said(run: Path) -> str:
    return (run / "said.json").read_text()


@pytest.mark.slow
def test_processes_write_what_one_process_writes(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scored(run, monkeypatch, workers=1) == sorted(TASKS)
    alone = said(run)
    monkeypatch.setattr(worker_pool, "WORTH", 0.0)
    assert len(scored(run, monkeypatch, workers=2)) < len(TASKS)  # the others elsewhere
    assert said(run) == alone and len(json.loads(alone)) == len(TASKS)


def test_what_has_not_changed_is_read_and_is_what_would_be_computed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(run, workers=1)
    computed = said(run)
    store = score_cache.ScoreCache(run)
    assert scored(run, monkeypatch, workers=1, kept=store) == []
    assert said(run) == computed
    anew = score_cache.ScoreCache(run, reuse=False)
    assert scored(run, monkeypatch, workers=1, kept=anew) == sorted(TASKS)


def damage_a_result(run: Path) -> None:
    file = run / score_cache.FOLDER / "mcas_objects.json"
    content = json.loads(file.read_text())
    content["result"]["headline"]["value"] = 0.99
    file.write_text(json.dumps(content))


def swap_the_influences(run: Path) -> None:
    folder = run / score_cache.FOLDER
    shutil.copy(folder / f"{TASKS[0]}.safetensors", folder / "mcas_objects.safetensors")


def cut_it_short(run: Path) -> None:
    file = run / score_cache.FOLDER / "mcas_objects.json"
    file.write_bytes(file.read_bytes()[:-20])


@pytest.mark.parametrize("damage", [damage_a_result, swap_the_influences, cut_it_short])
def test_damaged_kept_scores_are_computed_again(
    damage: Callable[[Path], None], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(run, workers=1)
    computed = said(run)
    damage(run)
    store = score_cache.ScoreCache(run)
    assert scored(run, monkeypatch, workers=1, kept=store) == ["mcas_objects"]
    assert said(run) == computed


def test_other_evidence_other_code_and_other_settings_are_never_taken_for_the_same(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = score_cache.ScoreCache(run)
    part = max((run / "evidence").rglob("images-*.safetensors"), key=lambda path: path.name)
    gone = part.read_bytes()
    part.unlink()
    assert scored(run, monkeypatch, workers=1, kept=store)  # fewer embeddings
    part.write_bytes(gone)
    assert scored(run, monkeypatch, workers=1, kept=store) == []  # what lacks some is not kept
    monkeypatch.setattr(score_cache, "_code", lambda: "another version")
    assert scored(run, monkeypatch, workers=1, kept=store) == sorted(TASKS)
    record = json.loads((run / "run.json").read_text())
    record.pop("checksum", None)
    record["measurement"]["level"] = 0.9
    (run / "run.json").write_text(json.dumps(record))
    assert scored(run, monkeypatch, workers=1, kept=store) == sorted(TASKS)


def test_a_second_run_writes_the_same_files(whole: Path, run: Path, cli: Cli) -> None:
    before = {
        path.name: path.read_bytes()
        for path in (run / "results.json", *sorted((run / "samples").iterdir()))
    }
    status, _, errors = cli("score", run)
    assert status == 0, errors
    assert {name: next(run.rglob(name)).read_bytes() for name in before} == before
