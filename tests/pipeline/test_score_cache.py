"""Scores on several cores and scores that were kept: the same bytes, and never stale ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import t2ibench.pipeline.score_cache as score_cache
from t2ibench import evaluate, worker_pool
from t2ibench.pipeline import scoring
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.results.run import open_run
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore
from tests import hand

TASKS = ["t2iat_judaism_christianity", "mcas_objects", "weat_7_math_arts", "openbias_examples"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    evaluate("toyland", TASKS, encoder="toyland", limit=4, n_bootstrap=200, output_dir=folder)
    return next(path.parent for path in folder.rglob("run.db"))


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
    images = ImageStore(folder.database, record.generator.fingerprint)
    stores = scoring.open_stores(folder.database, record.encoders, record.judges, record.controls)
    found = scoring.score_plan(stored_plan(folder), images, stores, SilentReporter(), **how)
    text = json.dumps({name: one.result.model_dump(mode="json") for name, one in found.items()})
    (run / "said.json").write_text(text)
    return sorted(computed)


def said(run: Path) -> str:
    return (run / "said.json").read_text()


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
    store = score_cache.ScoreCache(Database(run))
    assert scored(run, monkeypatch, workers=1, kept=store) == []
    assert said(run) == computed
    anew = score_cache.ScoreCache(Database(run), reuse=False)
    assert scored(run, monkeypatch, workers=1, kept=anew) == sorted(TASKS)


def test_other_evidence_other_code_and_other_settings_are_never_taken_for_the_same(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = score_cache.ScoreCache(Database(run))
    whole = (run / "run.db").read_bytes()
    hand.damage(run, "DELETE FROM embeddings WHERE part = (SELECT max(part) FROM embeddings)")
    assert scored(run, monkeypatch, workers=1, kept=store)  # fewer embeddings
    store = score_cache.ScoreCache(Database(run))
    (run / "run.db").write_bytes(whole)
    assert scored(run, monkeypatch, workers=1, kept=store) == []  # what lacks some is not kept
    monkeypatch.setattr(score_cache, "_code", lambda: "another version")
    assert scored(run, monkeypatch, workers=1, kept=store) == sorted(TASKS)
    hand.edit_record(run, lambda data: data["measurement"].update(level=0.9))
    assert scored(run, monkeypatch, workers=1, kept=store) == sorted(TASKS)
