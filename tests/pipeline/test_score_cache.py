"""Scores on several cores and scores that were kept: the same bytes, and never stale ones."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import t2ibench
from t2ibench import evaluate, worker_pool
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import ImageEvidence
from t2ibench.pipeline import rescoring, scoring
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.score_cache import ScoreCache
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.stores import open_stores
from t2ibench.reports import files as report_files
from t2ibench.reports.html import run_page as html_run_page
from t2ibench.results.run import open_run
from t2ibench.store import held_parts
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore
from tests import hand

pytestmark = pytest.mark.usefixtures("few_words")

TASKS = [
    "t2iat_judaism_christianity",
    "mcas_objects",
    "weat_7_math_arts",
    "openbias_examples",
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    # So many images a prompt that all of the run are more than one task has rows.
    few: dict[str, Any] = {"limit": 3, "images_per_prompt": 8}
    draws: dict[str, Any] = {"n_permutations": 500, "n_bootstrap": 100}
    evaluate("toyland", TASKS, encoder="toyland", output_dir=folder, **few, **draws)
    return next(path.parent for path in folder.rglob("run.db"))


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / whole.name))


@pytest.fixture
def scored(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[list[str], str]]:
    """Score what is stored, in this process; the tasks that were computed, and the results."""
    real, computed = scoring.score_task, []

    def counted(task: Any, *arguments: Any, **options: Any) -> Any:
        computed.append(task.id)
        return real(task, *arguments, **options)

    def score(**how: Any) -> tuple[list[str], str]:
        folder = open_run(run)
        record, database = folder.record, folder.database
        images = ImageStore(database, record.generator.fingerprint)
        stores = open_stores(database, record.encoders, record.judges, record.controls)
        computed.clear()
        plan = stored_plan(folder)
        found = scoring.score_plan(
            plan, images, stores, SilentReporter(), **{"workers": 1, **how}
        )
        results = {
            name: one.result.model_dump(mode="json") for name, one in found.items()
        }
        return sorted(computed), json.dumps(results)

    monkeypatch.setattr(scoring, "score_task", counted)
    return score


def test_processes_write_what_one_process_writes(
    scored: Callable[..., tuple[list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, alone = scored()
    assert computed == sorted(TASKS) and len(json.loads(alone)) == len(TASKS)
    monkeypatch.setattr(worker_pool, "WORTH", 0.0)
    computed, shared = scored(workers=2)
    assert len(computed) < len(TASKS) and shared == alone  # the others elsewhere


def test_scoring_reads_every_embedding_of_a_task_once(
    scored: Callable[..., tuple[list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores, agreement with prompts and diversity are measured of one reading."""
    read: Counter[str] = Counter()
    real = StoredEvidence.images

    def images(self: StoredEvidence, prompt: str, n: int) -> ImageEvidence:
        read[prompt] += 1
        return real(self, prompt, n)

    monkeypatch.setattr(StoredEvidence, "images", images)
    scored()
    assert read and max(read.values()) == 1


def test_a_part_of_a_large_run_is_not_read_for_every_prompt(
    run: Path,
    scored: Callable[..., tuple[list[str], str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even where every prompt got one image before any got two: then each part has some."""
    folder = open_run(run)
    record, database = folder.record, folder.database
    stores = open_stores(database, record.encoders, record.judges, record.controls)
    store = stores.encoders["toyland"]
    keys = store.keys("images")
    rows = store.rows("images", keys).astype(np.float32)
    _, before = scored()
    ((last,),) = database.read("SELECT max(part) FROM embeddings")
    for first in range(9):
        store.add("images", keys[first::9], rows[first::9])
    hand.damage(run, f"DELETE FROM embeddings WHERE kind = 'images' AND part <= {last}")
    plan = stored_plan(folder)
    monkeypatch.setattr(scoring, "_MANY", 1)
    tasks = [needs for needs in plan.needs.values() if needs.embeds and needs.prompts]
    most_rows = max(
        needs.n_images + len({*needs.texts, *needs.images_by_prompt}) for needs in tasks
    )
    assert most_rows < len(keys)
    monkeypatch.setattr(held_parts, "MOST_ROWS", most_rows)
    read: Counter[int] = Counter()
    real = Database.read

    def counted(self: Database, query: str, *values: Any) -> list[tuple[Any, ...]]:
        if query.startswith("SELECT width, dtype") and values[0] > last:
            read[values[0]] += 1
        return real(self, query, *values)

    monkeypatch.setattr(Database, "read", counted)
    _, after = scored()
    n_prompts = sum(needs.n_prompts for needs in tasks)
    assert len(read) == 9 and max(read.values()) < n_prompts / 4
    assert after == before


@pytest.mark.slow
def test_processes_that_start_before_the_records_are_opened_change_no_byte(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = run / "results.json"
    rescoring.rescore(run, SilentReporter())
    alone = results.read_bytes()
    started: list[int | None] = []
    real = ImageStore.refresh

    def refresh(self: ImageStore) -> None:
        started.extend(child.pid for child in multiprocessing.active_children())
        real(self)

    monkeypatch.setattr(scoring, "_MANY", 1)
    monkeypatch.setattr(worker_pool, "cores", lambda: 2)
    monkeypatch.setattr(ImageStore, "refresh", refresh)
    results.unlink()
    rescoring.rescore(run, SilentReporter())
    assert len(set(started)) == 1
    assert results.read_bytes() == alone


def test_no_more_processes_start_ahead_than_a_run_has_tasks(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []

    def ahead(_: str, workers: int | None = None) -> AbstractContextManager[None]:
        asked.append(workers)
        return nullcontext()

    monkeypatch.setattr(scoring, "_MANY", 1)
    monkeypatch.setattr(scoring, "processes_ahead", ahead)
    monkeypatch.setattr(scoring, "cores", lambda: 64)
    with scoring.scoring_processes(stored_plan(open_run(run))):
        pass
    assert asked == [len(TASKS)]


@pytest.fixture
def parts(run: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What another process is sent of each task."""
    sent: dict[str, bytes] = {}

    def send(tasks: Sequence[Any], work: Any, *_: Any, part_of: Any, **__: Any) -> None:
        for task in tasks:
            sent[task.id] = pickle.dumps(part_of(task))
        raise InterruptedError

    monkeypatch.setattr(scoring, "each_of", send)
    record, database = open_run(run).record, Database(run)
    images = ImageStore(database, record.generator.fingerprint)
    stores = open_stores(database, record.encoders, record.judges, record.controls)
    with pytest.raises(InterruptedError):
        scoring.score_plan(stored_plan(open_run(run)), images, stores, SilentReporter())
    return sent


def test_a_process_gets_the_records_of_its_own_task_alone(
    run: Path, parts: dict[str, bytes]
) -> None:
    needs = stored_plan(open_run(run)).needs
    record = open_run(run).record
    attempts = ImageStore(Database(run), record.generator.fingerprint).attempts()
    assert len(parts) == len(TASKS) and attempts
    for task, sent in parts.items():
        counts = needs[task].images_by_prompt
        for attempt in attempts:
            is_needed = attempt.index < counts.get(attempt.prompt, 0)
            assert ((attempt.sha256 or "").encode() in sent) == is_needed


SCORE_ALONE = """
import json, pickle, sys
scored = pickle.load(sys.stdin.buffer)()
print(json.dumps([scored.result.n_images, list(sys.modules)]))
"""


def test_a_process_scores_without_libraries_that_are_slow_to_import(
    parts: dict[str, bytes],
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCORE_ALONE],
        input=parts["t2iat_judaism_christianity"],
        capture_output=True,
        check=True,
    )
    n_images, modules = json.loads(done.stdout)
    assert n_images > 0
    slow = {"torch", "transformers", "diffusers", "open_clip", "scipy.stats"}
    assert not slow & set(modules)


def test_unchanged_scores_are_read_and_changed_ones_computed(
    run: Path,
    scored: Callable[..., tuple[list[str], str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, alone = scored()
    store = ScoreCache(Database(run))
    assert scored(cache=store) == ([], alone)
    assert scored(cache=ScoreCache(Database(run), reuse=False)) == (
        sorted(TASKS),
        alone,
    )
    # Other evidence, other code and other settings are never taken for the same.
    whole = (run / "run.db").read_bytes()
    hand.damage(
        run, "DELETE FROM embeddings WHERE part = (SELECT max(part) FROM embeddings)"
    )
    assert scored(cache=store)[0]  # fewer embeddings
    store = ScoreCache(Database(run))
    (run / "run.db").write_bytes(whole)
    assert scored(cache=store) == ([], alone)  # what lacks some is not kept
    monkeypatch.setattr(
        "t2ibench.pipeline.score_cache._code", lambda: "another version"
    )
    assert scored(cache=store)[0] == sorted(TASKS)
    hand.edit_record(run, lambda data: data["measurement"].update(level=0.9))
    assert scored(cache=store)[0] == sorted(TASKS)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["score_plan", "run_view", "run_page"])
def test_a_run_that_is_moved_while_it_is_scored_leaves_no_stray_folder(
    stage: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {
        "score_plan": rescoring,
        "run_view": report_files,
        "run_page": html_run_page,
    }[stage]
    work = getattr(place, stage)
    new_place = run.with_name("moved")

    def moving(*arguments: Any, **options: Any) -> Any:
        made = work(*arguments, **options)
        run.rename(new_place)
        return made

    before = (run / "results.json").read_bytes()
    monkeypatch.setattr(place, stage, moving)
    with pytest.raises(T2IBenchError, match="was moved or removed while"):
        t2ibench.score(run)
    assert not run.exists()
    monkeypatch.undo()
    t2ibench.score(new_place)
    assert (new_place / "results.json").read_bytes() == before
