"""Scores on several cores and scores that were kept: the same bytes, and never stale ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import t2ibench.pipeline.kept as kept
from t2ibench import evaluate
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline import scoring
from t2ibench.pipeline.forks import cores, each_of
from t2ibench.pipeline.rescore import stored_plan
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
def test_the_number_of_processes_decides_no_number(run: Path) -> None:
    scored(run, workers=1)
    alone = said(run)
    scored(run, workers=3)
    assert said(run) == alone and len(json.loads(alone)) == len(TASKS)


def test_what_has_not_changed_is_read_and_is_what_would_be_computed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(run, workers=1)
    computed = said(run)
    store = kept.KeptScores(run)
    assert scored(run, monkeypatch, workers=1, kept=store) == []
    assert said(run) == computed
    anew = kept.KeptScores(run, reuse=False)
    assert scored(run, monkeypatch, workers=1, kept=anew) == sorted(TASKS)


def damage_a_result(run: Path) -> None:
    file = run / kept.FOLDER / "mcas_objects.json"
    content = json.loads(file.read_text())
    content["result"]["headline"]["value"] = 0.99
    file.write_text(json.dumps(content))


def swap_the_influences(run: Path) -> None:
    folder = run / kept.FOLDER
    shutil.copy(folder / f"{TASKS[0]}.safetensors", folder / "mcas_objects.safetensors")


def cut_it_short(run: Path) -> None:
    file = run / kept.FOLDER / "mcas_objects.json"
    file.write_bytes(file.read_bytes()[:-20])


@pytest.mark.parametrize("damage", [damage_a_result, swap_the_influences, cut_it_short])
def test_damaged_kept_scores_are_computed_again(
    damage: Callable[[Path], None], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(run, workers=1)
    computed = said(run)
    damage(run)
    store = kept.KeptScores(run)
    assert scored(run, monkeypatch, workers=1, kept=store) == ["mcas_objects"]
    assert said(run) == computed


@pytest.mark.slow
def test_other_evidence_other_code_and_other_settings_are_never_taken_for_the_same(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = kept.KeptScores(run)
    part = max((run / "evidence").rglob("images-*.safetensors"), key=lambda path: path.name)
    gone = part.read_bytes()
    part.unlink()
    assert scored(run, monkeypatch, workers=1, kept=store)  # fewer embeddings
    part.write_bytes(gone)
    assert scored(run, monkeypatch, workers=1, kept=store) == []  # what lacks some is not kept
    monkeypatch.setattr(kept, "_code", lambda: "another version")
    assert scored(run, monkeypatch, workers=1, kept=store) == sorted(TASKS)
    record = json.loads((run / "run.json").read_text())
    record.pop("checksum", None)
    record["measurement"]["level"] = 0.9
    (run / "run.json").write_text(json.dumps(record))
    assert scored(run, monkeypatch, workers=1, kept=store) == sorted(TASKS)


@pytest.mark.slow
def test_a_second_run_writes_the_same_files(whole: Path, run: Path, cli: Cli) -> None:
    before = {
        path.name: path.read_bytes()
        for path in (run / "results.json", *sorted((run / "samples").iterdir()))
    }
    status, _, errors = cli("score", run)
    assert status == 0, errors
    assert {name: next(run.rglob(name)).read_bytes() for name in before} == before


def test_a_process_that_dies_costs_nothing() -> None:
    here = os.getpid()

    def dies(number: int) -> int:
        if number == 2 and os.getpid() != here:
            os._exit(9)
        return number * number

    done: list[None] = []
    assert each_of(range(6), dies, 2, lambda: done.append(None)) == [0, 1, 4, 9, 16, 25]
    assert len(done) == 6


@pytest.mark.slow
def test_copies_end_with_a_process_that_is_killed() -> None:
    program = (
        "import sys, time\n"
        "from t2ibench.pipeline.forks import each_of\n"
        "def work(number):\n"
        "    sys.stderr.write('at work')\n"
        "    sys.stderr.flush()\n"
        "    time.sleep(600)\n"
        "each_of([0, 1], work, 2)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.read(7) == b"at work"
    process.kill()
    process.communicate(timeout=60)  # its copies hold standard error open


def test_an_error_of_one_item_is_raised_here() -> None:
    def fails(number: int) -> int:
        if number == 1:
            raise T2IBenchError("one is not two")
        return number

    for workers in (1, 2):
        with pytest.raises(T2IBenchError, match="one is not two"):
            each_of([0, 1, 2], fails, workers)
    assert cores() >= 1 and each_of([], fails) == []
