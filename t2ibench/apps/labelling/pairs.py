"""Pairs of a source image and an edit for people to label: where each is, and where labels go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from t2ibench.apps.labelling.sample import Item, asked_edits, item_of
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.computed_edits import computed_edit
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.source_images import source_folder
from t2ibench.results.run import RunFolder
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import Label, LabelStore, Place, place_of


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run whose images people label, with the run inside it that made its source images.

    Attributes:
        database: Of the run.
        images: Its images.
        source_database: Of the source images; None for a run without edits.
        source_images: The source images.
    """

    database: Database
    images: ImageStore
    source_database: Database | None = None
    source_images: ImageStore | None = None

    @classmethod
    def of(cls, folder: RunFolder, images: ImageStore) -> LabelledRun:
        """Return a run with its source images, if it has any."""
        sources = source_folder(folder.path)
        if sources is None or sources.record.generator is None:
            return cls(folder.database, images)
        fingerprint = sources.record.generator.fingerprint
        of_sources = ImageStore(sources.database, fingerprint)
        return cls(folder.database, images, sources.database, of_sources)

    def images_with(self, *, of_source: bool) -> ImageStore:
        """Return the store of source images, or that of the run's own."""
        if of_source and self.source_images is not None:
            return self.source_images
        return self.images

    def label_stores(self) -> list[tuple[LabelStore, frozenset[str]]]:
        """Return each store of labels with the SHA-256 of the images that it has labels of."""
        stores = [(LabelStore(self.database), _files_of(self.images))]
        if self.source_database is not None and self.source_images is not None:
            of_sources = LabelStore(self.source_database)
            stores.append((of_sources, _files_of(self.source_images)))
        return stores

    def items_before(self, plan: Plan) -> dict[str, Item]:
        """Return the source image of each edit that is asked about before and after, by edit."""
        if self.source_images is None:
            return {}
        return dict(_items_before(plan, self.images, self.source_images))


def add_labels(
    stores: Sequence[tuple[LabelStore, frozenset[str]]], labels: Iterable[Label]
) -> None:
    """Store labels with the run that has the image; with both where an edit returned its source.

    A label of an image that neither has any more, such as one that was generated again meanwhile,
    is stored with the first: no label of a person is dropped.

    Args:
        stores: As `LabelledRun.label_stores` gives them.
        labels: The labels.

    Raises:
        T2IBenchError: a store cannot be written; the others have their labels.
        OSError: as above.
    """
    given = list(labels)
    errors: list[Exception] = []
    files_of_any = frozenset[str]().union(*(files for _, files in stores))
    homeless = [label for label in given if label.image not in files_of_any]
    for number, (store, files) in enumerate(stores):
        of_store = [label for label in given if label.image in files]
        if number == 0:
            of_store += homeless
        if of_store:
            try:
                store.add(of_store)
            except (T2IBenchError, OSError) as error:
                errors.append(error)  # the other store gets its labels all the same
    if errors:
        raise errors[0]


def labelled_places(
    stores: Iterable[tuple[LabelStore, frozenset[str]]],
) -> set[Place]:
    """Return what people have answered, each question about an image once for each of them.

    A label that two stores have, since an edit returned its source image, counts once.
    """
    return {place_of(label) for store, _ in stores for label in store.all()}


def _files_of(images: ImageStore) -> frozenset[str]:
    return frozenset(
        attempt.sha256 for attempt in images.all_attempts() if attempt.sha256
    )


def _items_before(
    plan: Plan, images: ImageStore, sources: ImageStore
) -> Iterator[tuple[str, Item]]:
    """Yield the identifier of each edit and question with the item of its source image.

    A question counts as asked before where any task of the run asks it about source images: another
    task's edits with the same question are then paired, too. What the benchmark itself saved again
    is no pair to ask people about.
    """
    asked_before = plan.questions_before_and_after
    attempts = {attempt.sha256: attempt for attempt in sources.all_attempts()}
    for edit, request in asked_edits(plan, DistinctImages(images)):
        if (edit.question, edit.classes) not in asked_before:
            continue
        if request.source is None or computed_edit(request.prompt) is not None:
            continue
        attempt = attempts.get(request.source.sha256)
        item = item_of(attempt, edit.question, edit.classes, of_source=True)
        if item is not None:
            yield edit.id, item
