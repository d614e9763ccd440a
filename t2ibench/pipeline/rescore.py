"""`t2ibench score RUN`: scores again from what is stored, without any model."""

from __future__ import annotations

from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods import Settings
from t2ibench.pipeline.plan import make_plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.scoring import Stores, score_plan
from t2ibench.pipeline.writing import write_results
from t2ibench.results.schema import Results
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import ImageStore
from t2ibench.store.run import open_run
from t2ibench.tasks.registry import load_tasks


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
    settings = Settings(**folder.settings)
    existing = [item for item in folder.include_paths if Path(item).is_dir()]
    plan = make_plan(load_tasks(folder.tasks, existing), settings)
    images = None
    if folder.generator:
        images = ImageStore(folder.images, str(folder.generator["fingerprint"]))
    stores = Stores(
        {
            name: (EvidenceStore(folder.evidence, name, fingerprint), fingerprint, _sees(name))
            for name, fingerprint in folder.encoders.items()
        },
        {
            name: (AnswerStore(folder.evidence, name, fingerprint), fingerprint)
            for name, fingerprint in folder.judges.items()
        },
    )
    new, samples = score_plan(plan, images, stores, reporter)
    return write_results(folder, plan, stores, new, samples)


def _sees(name: str) -> bool:
    """Whether an encoder of this name embeds images; word vectors do not."""
    return not name.startswith("vectors:")
