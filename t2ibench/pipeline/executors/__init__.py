"""Executors: who does the shards of a job. Correctness lives in the shards, not here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from t2ibench.pipeline.job import Job, Stage
from t2ibench.registry import Registry


class Executor(Protocol):
    """Has every shard of one stage done, in any order, in this process and one at a time.

    Attributes:
        description: One line, for `t2ibench ls executors`.
    """

    description: str

    def run(self, job: Job, stage: Stage, advance: Callable[[int], None]) -> None:
        """Do all shards of a stage.

        Args:
            job: The run; `job.run(stage, number, advance)` does one shard and is idempotent. A
                shard that another process is at is left to it: the run comes back to it at the end.
            stage: 'generate', 'embed' or 'ask'.
            advance: Told how many items are done.
        """
        ...


EXECUTORS: Registry[Executor] = Registry(
    "executor",
    {"local": "t2ibench.pipeline.executors.local:EXECUTOR"},
    members=("description", "run"),
)
