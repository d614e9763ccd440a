"""--workers and --engine: whoever works, dies or comes later, the results are the same."""

from __future__ import annotations

import os
import pickle
import re
import signal
from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.executors.fork_server import can_fork
from t2ibench.pipeline.executors.pool import MOST_RESTARTS, sendable
from t2ibench.pipeline.executors.processes import Processes, visible_gpus
from tests.conftest import Cli
from tests.pipeline.engines import (
    FORKED,
    IMAGES,
    SMALL,
    SMALL_FLAGS,
    SPAWNED,
    TWO,
    Runs,
    alive,
    parent_of,
)
from tests.pipeline.slow import Generator
from tests.processes import forked_worker

TASK = "t2iat_flowers_insects"


def test_workers_share_every_stage(runs: Runs, alone: Runs) -> None:
    process = runs.start(*TWO, before=SPAWNED, T2I_MEET=2, T2I_PAUSE=0.05)
    said = runs.end(process)
    runs.equals(alone)
    assert "2 workers with 1 thread each.\n" in said
    assert f"Generated now: {IMAGES} ok (of {IMAGES} images)." in said
    # Not the leader: it has no models.
    for what in ("here", "embeds", "asks"):
        assert len(runs.marked(what)) == 2 and process.pid not in runs.marked(what)
    assert "Nothing to do" in runs.end(runs.start(*TWO))
    runs.equals(alone)


PATIENT = f"""
    import t2ibench.pipeline.executors.pool as pool
    pool.LEAST_PATIENCE = pool.FIRST_PATIENCE = 1.0
    pool.SILENCES = 0
    {FORKED}
    """
# Workers of the fork server that a run has where its models' libraries are slow to import.
SERVED = """
    from t2ibench.pipeline import engines
    engines.shared_imports = lambda *_, **__: ("tests.pipeline.slow",)
    """
LINUX = pytest.mark.skipif(not can_fork(), reason="workers are forked on Linux alone")


@pytest.mark.parametrize(
    ("number", "before"),
    [
        pytest.param(signal.SIGKILL, SPAWNED, id="spawned", marks=pytest.mark.nightly),
        # It is suspended by the test, and ended by SIGKILL when the leader has no patience left.
        pytest.param(signal.SIGSTOP, PATIENT, id="suspended"),
        pytest.param(signal.SIGKILL, SERVED, id="served", marks=LINUX),
    ],
)
def test_a_worker_that_is_ended_or_suspended_is_replaced(
    number: signal.Signals, before: str, runs: Runs, alone: Runs
) -> None:
    process = runs.start(*TWO, before=before, T2I_MEET=2, T2I_PAUSE=0.1)
    runs.until(lambda: len(runs.attempts()) > 20)
    os.kill(min(runs.marked("here")), number)
    said = runs.end(process)
    runs.equals(alone)
    assert ("has said nothing for" in said) == (number == signal.SIGSTOP)
    ended = r"was ended by SIGKILL.*; others do its work, and it starts again \(1 of"
    assert re.search(ended, said)


@pytest.mark.parametrize(
    ("workers", "before"),
    [
        pytest.param(1, SPAWNED, id="one", marks=pytest.mark.nightly),
        pytest.param(2, FORKED, id="two"),
        pytest.param(2, SERVED, id="served", marks=LINUX),
    ],
)
def test_workers_end_with_a_leader_that_is_killed(
    workers: int, before: str, runs: Runs, alone: Runs
) -> None:
    flags = ("--workers", str(workers))
    process = runs.start(*flags, before=before, T2I_MEET=workers, T2I_PAUSE=0.1)
    runs.until(lambda: len(runs.attempts()) > 20)
    working = runs.marked("here")
    assert len(working) == workers and all(map(alive, working))
    if before == SERVED:
        servers = {parent_of(worker) for worker in working}
        assert len(servers) == 1 and process.pid not in servers
        working |= servers
    process.kill()
    runs.until(lambda: not any(map(alive, working)))
    runs.end(runs.start(*flags))
    runs.equals(alone)


def test_a_second_command_waits_and_says_for_whom(runs: Runs, alone: Runs) -> None:
    first = runs.start(T2I_MEET=1, T2I_PAUSE=0.1)
    runs.until(lambda: len(runs.attempts()) > 4)
    second = runs.start(T2I_MEET=1)
    said = [runs.end(process) for process in (first, second)]
    runs.equals(alone)
    assert f"is in use: waiting for process {first.pid} on" in said[1]
    assert "Nothing to do" in said[1] and "waiting" not in said[0]


@pytest.mark.parametrize(
    ("workers", "number"),
    [
        ("1", signal.SIGTERM),
        pytest.param("2", signal.SIGTERM, marks=pytest.mark.nightly),
        ("2", signal.SIGINT),
    ],
)
def test_a_run_that_is_asked_to_stop(
    runs: Runs, alone: Runs, workers: str, number: signal.Signals
) -> None:
    process = runs.start("--workers", workers, T2I_MEET=workers, T2I_PAUSE=0.1)
    runs.until(lambda: len(runs.attempts()) > 8)
    process.send_signal(number)
    said = runs.end(process, 130)
    assert "interrupted. Everything done so far is kept." in said
    assert not any(map(alive, runs.marked("here")))
    stored = len(runs.attempts())
    assert 8 < stored < IMAGES
    # The batch in hand was stored, and none was begun after it.
    assert stored % 4 == 0 and stored == len(list(runs.run.glob("images/*/*.png")))
    runs.end(runs.start("--workers", workers))
    runs.equals(alone)


def test_an_interrupt_waits_until_results_are_stored() -> None:
    stored = []
    with pytest.raises(KeyboardInterrupt), stop_request.held():
        os.kill(os.getpid(), signal.SIGINT)
        stored.append("a part")
    assert stored == ["a part"]


def test_workers_that_only_die_end_the_run(runs: Runs) -> None:
    said = runs.end(runs.start(*TWO, T2I_DIE="always"), 1)
    assert said.count("it starts again (") == 2 * MOST_RESTARTS
    assert re.search(
        r"t2ibench: No worker is left: worker \d .*SIGKILL.*--workers", said
    )


def test_an_error_of_a_worker_is_one_line(runs: Runs) -> None:
    said = runs.end(runs.start(*TWO, "--encoder", "tests.pipeline.slow:Nobody"), 1)
    *before, last = said.splitlines()
    assert last.startswith("t2ibench: ") and "Nobody" in last
    assert not [line for line in before if line.startswith(("t2ibench: ", "Traceback"))]


def test_damaged_images_are_mended_by_the_workers(runs: Runs, alone: Runs) -> None:
    runs.end(runs.start("--generate-only"))
    images = sorted(runs.run.glob("images/*/*.png"))
    for image in images[:3]:
        image.write_bytes(b"no image")
    said = runs.end(runs.start(*TWO), 3)
    assert said.count("regenerates it") == 3
    process = runs.start(*TWO)
    runs.end(process)
    assert runs.outputs() == alone.outputs()
    assert process.pid not in {
        int(path.name.split("-")[1]) for path in runs.folder.glob("*s-*")
    }


def test_workers_take_no_objects(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match=r"Name each as package\.module:factory"):
        evaluate(Generator(), TASK, output_dir=tmp_path / "a", workers=2, **SMALL)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--engine", "rey"), "--engine: expected 'local' or 'ray', found 'rey'."),
        (
            ("--workers", "2", "--engine-args", "threads=1"),
            "--engine-args go to --engine ray",
        ),
        (("--engine", "ray", "--engine-args", "gpus=1"), "Did you mean 'num_gpus'?"),
        (("--no-score", "--until-precise", ".1"), "leave --no-score out"),
        (("--shard", "4/3"), "expected I/N, the I-th of N parts"),
        (("--shard", "0/3"), "expected I/N, the I-th of N parts"),
        (("--shard", "1/3", "--until-precise", ".1"), "leave --shard 1/3 out"),
    ],
)
def test_wrong_engines_and_parts_are_one_line(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], line: str
) -> None:
    status, _, said = cli(
        "--model", "toyland", "--tasks", TASK, "--output-dir", tmp_path, *words
    )
    assert status == 1 and said.count("\n") == 1 and line in said


def test_workers_share_gpus_and_threads_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
    assert visible_gpus() == ["3", "5"]
    for none in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", none)
        assert visible_gpus() == []
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    workers = Processes.__new__(Processes)
    workers._gpus, workers._threads = ["3", "5"], 4
    for hand, gpu in enumerate(("3", "5", "3")):
        found = {
            "CUDA_VISIBLE_DEVICES": gpu,
            "OMP_NUM_THREADS": "4",
            "MKL_NUM_THREADS": "4",
        }
        assert found.items() <= workers._environment(hand).items()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # fewer, by the user's own wish
    assert workers._environment(0)["OMP_NUM_THREADS"] == "2"


def test_errors_of_any_kind_come_back() -> None:
    class Local(Exception):
        pass

    found = pickle.loads(pickle.dumps(sendable(Local("no"))))
    assert isinstance(found, RuntimeError) and str(found) == "Local: no"
    assert "Local: no" in str(found.__cause__)
    known = pickle.loads(pickle.dumps(sendable(T2IBenchError("What.", "Then."))))
    assert (known.message, known.hint) == ("What.", "Then.")


def test_workers_make_the_model_that_the_seed_is_derived_from(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fingerprint depends on the seed that it is made with, before that is derived."""
    monkeypatch.setattr(Processes, "_spawned", forked_worker)
    words = ("--model", "toyland", "--tasks", TASK, *SMALL_FLAGS, "--seed", "derived")
    status, _, said = cli(*words, "--workers", "2", "--output-dir", tmp_path)
    assert status == 0, said
    status, _, said = cli(*words, "--output-dir", tmp_path)
    assert status == 0 and "Nothing to do" in said


def test_the_engine_is_no_part_of_the_results(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "_spawned", forked_worker)
    words = (
        "--model",
        "toyland",
        "--tasks",
        TASK,
        *SMALL_FLAGS,
        "--output-dir",
        str(tmp_path),
    )
    run = tmp_path / "toyland"
    status, _, said = cli(*words, "--engine", "local", "--workers", "2", "--no-score")
    assert status == 0 and f"Not scored yet: t2ibench score {run}" in said
    assert not (run / "results.json").exists() and cli("score", run)[0] == 0
    scored = (run / "results.json").read_bytes()
    assert b'"workers"' not in scored and b'"engine"' not in scored
    assert cli(*words, "--workers", "auto")[0] == 0
    assert (run / "results.json").read_bytes() == scored
