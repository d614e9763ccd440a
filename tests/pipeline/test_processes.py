"""Several processes on one run folder: they share the work, and none loses another's results."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from t2ibench.pipeline.plan import LARGEST_SHARD, SMALLEST_SHARD, make_plan
from t2ibench.results.record import GeneratorRecord, HistoryEntry
from t2ibench.results.run import RunFolder, open_run
from t2ibench.settings import Settings
from t2ibench.store.jsonl import read_rows
from t2ibench.store.locks import FOLDER, Claims
from t2ibench.tasks import load_tasks
from tests.processes import Process

BOTH = "t2iat_flowers_insects,openbias_examples"
SIZES = ("--limit", "3", "--images-per-prompt", "4", "--permutations", "200", "--bootstrap", "100")
WAIT = 120.0

# Slow enough that processes meet, and then as t2ibench itself. The first words are its own.
PROGRAM = """
import glob, os, sys, time
import t2ibench.results.write as write
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.judges.toyland import ToylandJudge
from t2ibench.models.encoders.toyland import ToylandEncoder

pause, between = float(sys.argv[1]), float(sys.argv[2])

def slow(function):
    def wrapped(*args, **kwargs):
        time.sleep(pause)
        return function(*args, **kwargs)
    return wrapped

# Processes that shall meet wait for each other before the call `arrive` of the generator.
arrive, count, calls, generate = int(sys.argv[3]), int(sys.argv[4]), 0, ToylandGenerator.generate

def met(*args):
    global calls
    calls += 1
    if calls == arrive:
        open(f"here-{os.getpid()}", "w").close()
        while len(glob.glob("here-*")) < count:
            time.sleep(0.01)
    return generate(*args)

ToylandGenerator.generate = met
ToylandGenerator.generate = slow(ToylandGenerator.generate)
ToylandJudge.answer = slow(ToylandJudge.answer)
ToylandEncoder.encode_images = slow(ToylandEncoder.encode_images)
stored = write.stored_results

def read(folder):
    found = stored(folder)
    time.sleep(between)
    return found

write.stored_results = read
{extra}
from t2ibench.cli import main
sys.exit(main(sys.argv[5:]))
"""

# The executor of the example of a plug-in.
SHUFFLED = f"""
sys.path.insert(0, {str(Path(__file__).parents[2] / "examples" / "plugin")!r})
from t2ibench_example.executor import EXECUTOR
from t2ibench.pipeline.executors import EXECUTORS
EXECUTORS.get = lambda name: EXECUTOR
"""
# Every third prompt fails.
FAILING = """
from t2ibench.models.protocols import Drawn
drawn = ToylandGenerator.generate

def failing(self, requests):
    bad, done = Drawn("failed", reason="no"), drawn(self, requests)
    return [one if len(asked.prompt) % 3 else bad for asked, one in zip(requests, done)]

ToylandGenerator.generate = failing
"""


class Runs:
    """Starts runs in a folder, all with the same relative paths, so that commands are the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "runs" / "toyland"
        self.started: list[Process] = []
        self.count = 0
        folder.mkdir(parents=True, exist_ok=True)

    def start(
        self,
        tasks: str = BOTH,
        *more: str,
        pause: float = 0.02,
        between: float = 0.0,
        extra: str = "",
        meet: tuple[int, int] = (0, 0),
        verb: Sequence[str] | None = None,
    ) -> Process:
        words = verb or ("--model", "toyland", "--tasks", tasks, *SIZES, *more)
        program = PROGRAM.replace("{extra}", textwrap.dedent(extra))
        self.count += 1
        errors = self.folder / f"errors {self.count}"
        arguments = [*map(str, (pause, between, *meet)), *words]
        process = Process(program, arguments, self.folder, errors)
        self.started.append(process)
        return process

    def end(self, *expected: int) -> list[str]:
        """Wait for all; what each wrote to standard error."""
        said = [process.communicate(timeout=WAIT)[1] for process in self.started]
        statuses = [process.returncode for process in self.started]
        assert statuses == list(expected or (0,) * len(said)), said
        self.started.clear()
        return said

    def attempts(self) -> Counter[str]:
        rows = [row for path in self.run.glob("images/*.jsonl") for row in read_rows(path)]
        return Counter(row["key"] for row in rows)

    def by_process(self) -> list[int]:
        return [len(list(read_rows(path))) for path in sorted(self.run.glob("images/*.jsonl"))]

    def answers(self) -> Counter[tuple[str, str]]:
        rows = [row for path in self.run.glob("evidence/*/*.jsonl") for row in read_rows(path)]
        return Counter((row["image"], row["question"]) for row in rows)

    def outputs(self) -> dict[str, bytes]:
        files = ["results.json", "results.md", *(f"samples/{p.name}" for p in self.samples())]
        return {name: (self.run / name).read_bytes() for name in files}

    def samples(self) -> list[Path]:
        return sorted((self.run / "samples").iterdir())

    def until(self, happens: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT
        while not happens():
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.005)

    def claims(self) -> list[Path]:
        return list(self.run.glob(f"{FOLDER}/claim-*.lock"))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    found = Runs(tmp_path / "several")
    yield found
    for process in found.started:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What one process gives."""
    one = Runs(tmp_path_factory.mktemp("one"))
    one.start(pause=0.0)
    one.end()
    return one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "staggered", "extra"),
    [
        (2, False, ""),
        (2, True, ""),
        pytest.param(4, True, "", marks=pytest.mark.slow),
        pytest.param(2, False, SHUFFLED, marks=pytest.mark.slow),
    ],
    ids=["two", "two, staggered", "four, staggered", "two, shuffled"],
)
def test_processes_of_one_command_share_its_work(
    runs: Runs, alone: Runs, count: int, staggered: bool, extra: str
) -> None:
    if staggered:
        runs.start(meet=(2, count))
        runs.until(lambda: bool(runs.attempts()))
    for _ in range(count - staggered):
        runs.start(meet=(1, count), extra=extra)
    said = runs.end()
    assert runs.outputs() == alone.outputs()
    assert runs.attempts() == alone.attempts() and set(runs.attempts().values()) == {1}
    assert runs.answers() == alone.answers() and set(runs.answers().values()) == {1}
    shares = runs.by_process()
    assert len(shares) == count
    history = open_run(runs.run).record.history
    assert len(history) == count
    assert sorted(sum(entry.generated.values()) for entry in history) == sorted(shares)
    assert all("by other processes" in text for text in said)
    assert not runs.claims()


@pytest.mark.slow
def test_different_tasks_at_once_are_all_kept(runs: Runs, alone: Runs) -> None:
    tasks = BOTH.split(",")
    for name in tasks:
        runs.start(name, between=0.5)
    runs.end()
    kept = json.loads((runs.run / "results.json").read_text())
    one = json.loads((alone.run / "results.json").read_text())
    assert len(kept["tasks"]) == len(kept["earlier"]) == 1  # those of the command that ended last
    both = {**kept["tasks"], **kept["earlier"]}
    assert {name: task["by"] for name, task in both.items()} == {
        name: task["by"] for name, task in one["tasks"].items()
    }
    table = (runs.run / "results.md").read_text()
    assert all(name in table for name in tasks)
    assert {path.name: path.read_bytes() for path in runs.samples()} == {
        path.name: path.read_bytes() for path in alone.samples()
    }
    influences = "influences.safetensors"
    assert (runs.run / influences).read_bytes() == (alone.run / influences).read_bytes()
    assert len(open_run(runs.run).record.history) == len(tasks)
    runs.start(BOTH)
    runs.end()
    again = json.loads((runs.run / "results.json").read_text())
    assert again["tasks"] == one["tasks"] and not again["earlier"]


@pytest.mark.slow
def test_work_of_a_killed_process_is_taken_over(runs: Runs, alone: Runs) -> None:
    killed = runs.start(meet=(2, 9))  # holds a claim, and waits for ever
    runs.until(lambda: bool(runs.attempts()) and bool(list(runs.folder.glob("here-*"))))
    other = runs.start()
    runs.until(lambda: len(runs.attempts()) >= len(alone.attempts()) - SMALLEST_SHARD)
    runs.until(lambda: len(runs.claims()) == 1)  # the other's last one is given up after its rows
    assert other.poll() is None
    killed.send_signal(signal.SIGKILL)
    runs.end(-signal.SIGKILL, 0)
    assert runs.outputs() == alone.outputs()
    assert runs.attempts() == alone.attempts()
    assert not runs.claims()


@pytest.mark.slow
def test_a_process_without_progress_is_not_waited_for(runs: Runs, alone: Runs) -> None:
    stuck = runs.start(meet=(2, 2))
    runs.until(lambda: bool(runs.attempts()) and bool(list(runs.folder.glob("here-*"))))
    stuck.send_signal(signal.SIGSTOP)
    other = runs.start(
        extra="""
        import t2ibench.pipeline.sharing as sharing
        sharing.PATIENCE = sharing.LEAST_PATIENCE = 0.5
        sharing._TIMES = 0
        """
    )
    said = other.communicate(timeout=WAIT)[1]
    assert other.returncode == 0 and f"No progress of process {stuck.pid} on" in said
    assert runs.outputs() == alone.outputs()
    (runs.folder / "here-too").touch()
    stuck.send_signal(signal.SIGCONT)
    stuck.communicate(timeout=WAIT)
    assert stuck.returncode == 0
    assert runs.outputs() == alone.outputs()
    assert len(open_run(runs.run).record.history) == 2


@pytest.mark.slow
def test_images_that_fail_are_tried_once_by_all_processes_together(runs: Runs) -> None:
    for _ in range(2):
        runs.start(meet=(1, 2), extra=FAILING)
    said = runs.end(3, 3)
    assert all("failed" in text for text in said)
    assert set(runs.attempts().values()) == {1}
    runs.start(extra=FAILING)  # the same command again tries them again, till it gives up
    assert "images all failed" in runs.end(1)[0]
    assert set(runs.attempts().values()) == {1, 2}


@pytest.mark.slow
def test_claims_that_are_deleted_cost_only_time(runs: Runs, alone: Runs) -> None:
    processes = [runs.start(), runs.start()]
    deleted = 0
    while any(process.poll() is None for process in processes):
        if runs.claims():
            shutil.rmtree(runs.run / FOLDER, ignore_errors=True)
            deleted += 1
        time.sleep(0.02)
    runs.end()
    assert deleted
    assert runs.outputs() == alone.outputs()
    assert runs.attempts().keys() == alone.attempts().keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "extra",
    [
        # A file system that has no locks of any kind.
        """
        import filelock
        def acquire(self, *args, **kwargs):
            raise OSError(37, "No locks available")
        filelock.BaseFileLock.acquire = acquire
        """,
        # One without flock, where the existence of a file is the lock.
        """
        import filelock
        filelock.FileLock = filelock.SoftFileLock
        """,
    ],
    ids=["no locks", "soft locks"],
)
def test_file_systems_without_locks(runs: Runs, alone: Runs, extra: str) -> None:
    runs.start(extra=extra)
    runs.start(extra=extra)
    said = runs.end()
    assert runs.attempts().keys() == alone.attempts().keys()
    assert runs.outputs() == alone.outputs()
    if "No locks" in extra:
        assert all(text.count("cannot be locked (No locks available)") == 1 for text in said)
    else:
        assert set(runs.attempts().values()) == {1}


@pytest.mark.slow
def test_a_soft_lock_of_a_dead_process_is_broken(runs: Runs, alone: Runs) -> None:
    extra = "import filelock; filelock.FileLock = filelock.SoftFileLock"
    killed = runs.start(extra=extra, meet=(2, 9))
    runs.until(lambda: bool(runs.attempts()) and bool(list(runs.folder.glob("here-*"))))
    killed.kill()
    killed.communicate()
    runs.started.clear()
    assert runs.claims()
    runs.start(extra=extra)
    runs.end()
    assert runs.outputs() == alone.outputs()


@pytest.mark.slow
def test_scoring_while_a_run_is_going(runs: Runs, alone: Runs) -> None:
    first, second = BOTH.split(",")
    runs.start(second)
    runs.end()
    run = runs.start(BOTH, pause=0.05)
    runs.until(
        lambda: open_run(runs.run).record.tasks == sorted(BOTH.split(",")) or bool(runs.claims())
    )
    while run.poll() is None:
        subprocess.run(
            [sys.executable, "-m", "t2ibench", "score", "runs/toyland"],
            cwd=runs.folder,
            capture_output=True,
            check=False,
        )
    runs.end()
    kept = json.loads((runs.run / "results.json").read_text())
    assert kept["tasks"] == json.loads((alone.run / "results.json").read_text())["tasks"]
    assert first in kept["tasks"]


@pytest.mark.slow
def test_scoring_sees_the_evidence_that_is_there_when_it_writes(runs: Runs, alone: Runs) -> None:
    """`score` read little evidence, then a run ended: what it read must not replace the run's."""
    run = runs.start(pause=0.1)
    runs.until(lambda: bool(runs.by_process()))
    runs.started.remove(run)
    score = runs.start(
        verb=("score", "runs/toyland"),
        extra="""
        import t2ibench.pipeline.rescore as rescore
        plain = rescore.open_stores
        def late(*args):
            found = plain(*args)
            time.sleep(3)
            return found
        rescore.open_stores = late
        """,
    )
    assert run.communicate(timeout=WAIT) and run.returncode == 0
    score.communicate(timeout=WAIT)
    assert runs.outputs() == alone.outputs()


@pytest.mark.slow
def test_labels_imported_at_once_are_all_kept(runs: Runs) -> None:
    program = """
    import sys, time
    from pathlib import Path
    import t2ibench.store.labels as labels
    rows = labels.write_rows
    def late(*args, **keywords):
        time.sleep(0.3)
        rows(*args, **keywords)
    labels.write_rows = late
    who = sys.argv[1]
    store = labels.LabelStore(Path("evidence"))
    store.add([labels.Label("Who?", ("a", "b"), "0" * 64, who, "a")])
    """
    processes = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), who], cwd=runs.folder)
        for who in ("anna", "ben", "cleo")
    ]
    assert [process.wait(WAIT) for process in processes] == [0, 0, 0]
    rows = read_rows(runs.folder / "evidence" / "labels.jsonl")
    found = {row["labeller"] for row in rows if "labeller" in row}
    assert found == {"anna", "ben", "cleo"}


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--until-precise", "0.5"), ("--budget", "150")])
def test_rounds_of_two_processes(runs: Runs, tmp_path: Path, more: tuple[str, ...]) -> None:
    one = Runs(tmp_path / "one")
    for where, count in ((one, 1), (runs, 2)):
        for _ in range(count):
            where.start("t2iat_flowers_insects", *more)
        where.end(*[0] * count)
    assert runs.outputs() == one.outputs()
    assert runs.attempts() == one.attempts()


def test_shards_suit_the_plan() -> None:
    sizes = {}
    for images in (1, 4, 16, 400):
        plan = make_plan(load_tasks("t2iat_flowers_insects"), Settings(images_per_prompt=images))
        assert plan.shard_size % SMALLEST_SHARD == 0 and plan.shard_size <= LARGEST_SHARD
        assert sum(len(plan.shard(k)) for k in range(plan.n_shards)) == len(plan.requests)
        sizes[len(plan.requests)] = plan.n_shards
    assert all(shards >= 4 for images, shards in sizes.items() if images > 3 * SMALLEST_SHARD)


def test_one_process_begins_at_the_beginning_and_others_elsewhere(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    assert claims.start() == 0.0
    with claims.take("embed-3") as mine:
        assert mine
        found = subprocess.run(
            [
                *(sys.executable, "-c"),
                "from pathlib import Path; from t2ibench.store.locks import Claims\n"
                f"claims = Claims(Path({str(tmp_path)!r}))\n"
                "with claims.take('embed-3') as mine, claims.take('embed-4') as other:\n"
                "    print(claims.start(), mine, other, claims.owner('embed-3'))",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split(maxsplit=3)
        assert 0 < float(found[0]) < 1 and found[1:3] == ["False", "True"]
        assert found[3].startswith(f"process {os.getpid()} on ")
    assert claims.start() == 0.0 and not list(tmp_path.glob(f"{FOLDER}/claim-*"))


@pytest.mark.slow
def test_history_has_every_call(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from t2ibench.results.record import HistoryEntry\n"
        "from t2ibench.results.run import RunFolder\n"
        "folder = RunFolder(Path(sys.argv[1]))\n"
        "for number in range(10):\n"
        "    entry = HistoryEntry(command=f'{sys.argv[2]} {number}', started='x', finished='y')\n"
        "    folder.change(lambda record: {'history': [*record.history, entry]})\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(who)])
        for who in range(3)
    ]
    assert [process.wait(WAIT) for process in processes] == [0, 0, 0]
    commands = [entry.command for entry in open_run(tmp_path).record.history]
    assert sorted(commands) == sorted(f"{who} {n}" for who in range(3) for n in range(10))
    for who in range(3):
        assert [c for c in commands if c[0] == str(who)] == [f"{who} {n}" for n in range(10)]


def test_a_record_keeps_what_others_wrote_and_what_this_call_set(tmp_path: Path) -> None:
    def generator(**more: object) -> GeneratorRecord:
        return GeneratorRecord(name="g", model="g", fingerprint="a" * 64, **more)  # type: ignore[arg-type]

    mine, other = RunFolder(tmp_path), RunFolder(tmp_path)
    mine.update(tasks=["a"], generator=generator(), status="running")
    other.update(tasks=["b"], status="running")
    other.update(generator=generator(libraries={"torch": "2"}), history=[entry("b")])
    assert open_run(tmp_path).record.tasks == ["b"]
    mine.change(lambda record: {"status": "complete", "history": [*record.history, entry("a")]})
    record = open_run(tmp_path).record
    assert record.tasks == ["a"] == mine.record.tasks
    assert [one.command for one in record.history] == ["b", "a"]
    assert record.generator is not None and record.generator.libraries == {"torch": "2"}
    (tmp_path / "run.json").write_text("{")
    mine.update(status="incomplete")
    assert open_run(tmp_path).record == mine.record.model_copy(update={"status": "incomplete"})


def entry(command: str) -> HistoryEntry:
    return HistoryEntry(command=command, started="x", finished="y")
