"""The executor `local`: one shard after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable

from t2ibench.pipeline.job import Job, Stage


class LocalExecutor:
    """Works in this process (see pipeline.executors.Executor)."""

    description = "in this process, one shard after the other (the default)"

    def run(self, job: Job, stage: Stage, advance: Callable[[int], None]) -> None:
        """Do all shards of a stage.

        Args:
            job: The run.
            stage: Which kind of work.
            advance: Told how many items are done.
        """
        for number in job.order():
            job.run(stage, number, advance)


EXECUTOR = LocalExecutor()
