"""An executor: the shards of a run in random order, which changes nothing but the order."""

from __future__ import annotations

import random
from collections.abc import Callable

from t2ibench.pipeline.job import Job, Stage


class ShuffledExecutor:
    """Has the members of `t2ibench.pipeline.executors.Executor`; it inherits nothing."""

    description = "in this process, shards in random order"

    def run(self, job: Job, stage: Stage, advance: Callable[[int], None]) -> None:
        """Do all shards of a stage; `job.run` does one and is idempotent."""
        numbers = list(range(job.n_shards))
        random.shuffle(numbers)
        for number in numbers:
            job.run(stage, number, advance)


EXECUTOR = ShuffledExecutor()
