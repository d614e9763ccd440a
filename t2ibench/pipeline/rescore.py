"""`t2ibench score RUN`: scores again from what is stored, without any model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.plan import Plan, make_plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.scoring import open_stores, score_plan
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import Results
from t2ibench.results.write import stored_results, write_results
from t2ibench.settings import Settings
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.tasks.index import load_tasks


def rescore(path: Path, reporter: Reporter) -> Results:
    """Score the latest run of a folder again and write its results.

    Args:
        path: The run folder.
        reporter: Shows progress.

    Returns:
        What results.json holds now.

    Raises:
        T2IBenchError: it is not a run folder, or no evidence is stored.
    """
    folder = open_run(path)
    record = folder.record
    if not record.encoders and not record.judges:
        raise T2IBenchError(
            f"{path} holds images but no evidence yet.",
            "Run the original command without --generate-only.",
        )
    plan = stored_plan(folder)
    for line in stored_results(folder)[1]:
        reporter.warn(line)
    images = None
    if record.generator:
        images = ImageStore(folder.images, record.generator.fingerprint)
        gone = sum(images.get(r.prompt, r.index) is None for r in plan.requests) - sum(
            images.recorded(r.prompt, r.index) is None for r in plan.requests
        )
        if gone:
            reporter.warn(f"{gone} image files are gone; what was observed of them is scored.")
    stores = open_stores(folder.evidence, record.encoders, record.judges, record.controls)
    recorded = None if images is None else Recorded(images)
    scored = score_plan(plan, recorded, stores, reporter)
    results = write_results(
        folder, record.repeatable(), scored.results, scored.samples, scored.paired
    )
    return results.in_folder(folder.path)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The outcome of every attempt, as recorded: evidence outlives the files of images.

    Attributes:
        store: The run's images.
    """

    store: ImageStore

    def get(self, prompt: str, index: int) -> Attempt | None:
        """What was recorded of an image.

        Args:
            prompt: What it was generated for.
            index: Which sample of the prompt, from 0.

        Returns:
            The attempt, or None if nothing was tried.
        """
        return self.store.recorded(prompt, index)


def stored_plan(folder: RunFolder) -> Plan:
    """The plan of a folder's latest run.

    Args:
        folder: The run folder.

    Returns:
        The plan; folders of further tasks that no longer exist are ignored.

    Raises:
        T2IBenchError: a task of that run is unknown.
    """
    record = folder.record
    existing = [item for item in record.include_path if Path(item).is_dir()]
    loaded = load_tasks(record.tasks, existing, on_left_out=lambda _: None)
    return make_plan(loaded, Settings.of(record.measurement))
