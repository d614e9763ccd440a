"""`t2ibench score RUN`: scores again from what is stored, without any model."""

from __future__ import annotations

from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.plan import Plan, make_plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.scoring import open_stores, score_plan
from t2ibench.pipeline.writing import write_results
from t2ibench.results.schema import Results
from t2ibench.settings import Settings
from t2ibench.store.images import ImageStore
from t2ibench.store.run import RunFolder, open_run
from t2ibench.tasks.index import load_tasks


def rescore(path: Path, reporter: Reporter) -> Results:
    """Score the latest run of a folder again and write its results.

    Raises:
        T2IBenchError: it is no run folder, or no evidence is stored.
    """
    folder = open_run(path)
    if not folder.encoders and not folder.judges:
        raise T2IBenchError(
            f"{path} holds images but no evidence yet.",
            "Run the original command without --generate-only.",
        )
    plan = stored_plan(folder)
    images = None
    if folder.generator:
        images = ImageStore(folder.images, str(folder.generator["fingerprint"]))
    stores = open_stores(folder.evidence, folder.encoders, folder.judges)
    new, samples = score_plan(plan, images, stores, reporter)
    return write_results(folder, plan, stores, new, samples)


def stored_plan(folder: RunFolder) -> Plan:
    """The plan of a folder's latest run."""
    existing = [item for item in folder.include_paths if Path(item).is_dir()]
    return make_plan(load_tasks(folder.tasks, existing), Settings(**folder.settings))
