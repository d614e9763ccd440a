"""What of a run is damaged on disk: said in one line a store, and made again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from t2ibench.pipeline.progress import Reporter
from t2ibench.store.checksums import Damage
from t2ibench.store.database import Mendable
from t2ibench.store.files import remove_abandoned


def mend(folder: Path, stores: Iterable[Mendable | None], reporter: Reporter) -> None:
    """Begin to work on a run folder: say what is damaged, and remove what killed writers left."""
    remove_abandoned(folder)
    for store in stores:
        if store is not None and store.damage:
            reporter.warn(store.damage.mended())
            store.mend()


def warn_of(damages: Iterable[Damage], reporter: Reporter) -> bool:
    """Say what is damaged, where nothing is made again."""
    found = [damage for damage in damages if damage]
    for damage in found:
        reporter.warn(damage.found())
    return bool(found)
