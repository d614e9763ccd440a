"""Evidence that another run has gathered, for a run of some of the same images.

What was embedded and answered is stored by the content of texts and images, so it holds in any run:
a folder that has grown by one image a prompt is embedded and judged for these images alone.
"""

from __future__ import annotations

from collections.abc import Collection

from t2ibench.pipeline.missing_work import ObservationStores
from t2ibench.results.run import RunFolder
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore


def reuse_evidence(
    source: RunFolder, stores: ObservationStores, images: Collection[str]
) -> None:
    """Copy what a run knows of texts, and of these images, into the stores of another run.

    Args:
        source: A run that embedded and judged some of the same images.
        stores: The stores of the run that would do it again; what they have stays as it is.
        images: SHA-256 of the image files of that run.
    """
    for store in stores.embeddings:
        embedded = EvidenceStore(source.database, store.name, store.fingerprint)
        store.copy_from(embedded, images)
    for judge in stores.judges:
        answers = AnswerStore(source.database, judge.name, judge.fingerprint)
        judge.add(answer for answer in answers if answer.image in images)
