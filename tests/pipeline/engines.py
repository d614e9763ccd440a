"""Runs of t2ibench in processes, for tests of engines."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from t2ibench.results.run import open_run
from t2ibench.store.database import Database
from tests import hand
from tests.processes import MAIN, Process

ROOT = Path(__file__).parents[2]
WAIT = 120.0
# Before a run: its workers are spawned, as those of users are; or forked, which costs no imports.
SPAWNED = ""
FORKED = "from tests.processes import fork_workers; fork_workers()"
IMAGES = 88  # that FLAGS ask for, in batches of 4
FLAGS = (
    *(
        "--model",
        "tests.pipeline.slow:Generator",
        "--encoder",
        "tests.pipeline.slow:Encoder",
    ),
    *("--judge", "tests.pipeline.slow:Judge", "--control-encoder", "none"),
    *("--tasks", "t2iat_flowers_insects,openbias_examples", "--limit", "1"),
    *("--images-per-prompt", "4", "--permutations", "200", "--bootstrap", "100"),
)
TWO = ("--workers", "2")
SMALL: dict[str, Any] = {
    "limit": 2, "images_per_prompt": 2, "n_permutations": 200, "n_bootstrap": 100,
}  # fmt: skip
SMALL_FLAGS = (
    *(
        "--limit",
        "2",
        "--images-per-prompt",
        "2",
        "--permutations",
        "200",
        "--bootstrap",
        "100",
    ),
)


def environment(**more: object) -> dict[str, str]:
    found = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return found | {name: str(value) for name, value in more.items()}


class Runs:
    """Starts runs in a folder, all with the same relative paths, so that commands are the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "runs" / "toyland"
        self.started: list[Process] = []
        folder.mkdir(parents=True, exist_ok=True)

    def start(
        self,
        *more: str,
        flags: tuple[str, ...] = FLAGS,
        before: str = FORKED,
        **env: object,
    ) -> Process:
        errors = self.folder / f"errors {len(self.started)}"
        program = f"{textwrap.dedent(before)}\n{MAIN}"
        process = Process(
            program, [*flags, *more], self.folder, errors, environment(**env)
        )
        self.started.append(process)
        return process

    def end(self, process: Process, status: int = 0) -> str:
        said = process.communicate(timeout=WAIT)[1]
        assert process.returncode == status, said
        return said

    def until(self, happens: Callable[[], object], wait: float = WAIT) -> None:
        end = time.monotonic() + wait
        while not happens():
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.01)

    def marked(self, what: str) -> set[int]:
        """Processes that have left a mark: here-, embeds- or asks- and their number."""
        return {int(path.name.split("-")[1]) for path in self.folder.glob(f"{what}-*")}

    def attempts(self) -> Counter[tuple[int, int]]:
        return Counter(Database(self.run).read("SELECT text, number FROM attempts"))

    def answers(self) -> Counter[tuple[str, int]]:
        return Counter(Database(self.run).read("SELECT image, question FROM answers"))

    def outputs(self) -> dict[str, bytes]:
        return hand.outputs(self.run)

    def equals(self, other: Runs) -> None:
        """Nothing is lost, nothing is there twice, and every number is the same."""
        assert self.outputs() == other.outputs()
        assert self.attempts() == other.attempts() and set(
            self.attempts().values()
        ) == {1}
        assert self.answers() == other.answers() and set(self.answers().values()) == {1}
        mine, theirs = (open_run(one.run).record.generator for one in (self, other))
        assert mine == theirs

    def kill(self) -> None:
        for process in self.started:
            process.kill()
            process.wait()


def alive(pid: int) -> bool:
    """Whether a process lives; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def parent_of(pid: int) -> int:
    """The process that started one that lives."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
