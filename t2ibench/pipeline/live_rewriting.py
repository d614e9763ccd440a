"""Further prompts for a stored run, rewritten as they come."""

from __future__ import annotations

from t2ibench.models.language import Rewriter
from t2ibench.models.protocols import Generator, ImageRequest
from t2ibench.models.rewriters import create_rewriter
from t2ibench.models.rewritten_generator import Rewritten, describe, rewritten
from t2ibench.pipeline.rewriting import parts_of, requests_of, row_of
from t2ibench.results.run import RunFolder
from t2ibench.store.database import Database
from t2ibench.store.images import image_seed
from t2ibench.store.locks import locked
from t2ibench.store.rewrites import RewriteStore, StoredRewriting


def rewriting_again(generator: Generator, run: RunFolder, device: str | None) -> Generator:
    """The model of a stored run, for further prompts: they are rewritten as they come."""
    recorded = run.record.generator
    if recorded is None or recorded.rewriter is None:
        return generator
    settings = run.record.settings
    rewriter = create_rewriter(
        settings.rewriter or recorded.rewriter.name,
        settings.rewriter_args,
        device=device,
        dtype=settings.dtype,
        recorded=True,
    )
    model = rewritten(generator, describe(rewriter, generator))
    assert isinstance(model, Rewritten)
    model.rewritings = Asking(run.database, rewriter, run.record.measurement.seed)
    return model


class Asking:
    """Rewritings of a run, and of further prompts as they come (see models.rewritten_generator).

    Args:
        database: The run's.
        rewriter: Who is asked for what is not there.
        seed: The run's seed.
    """

    def __init__(self, database: Database, rewriter: Rewriter, seed: int) -> None:
        self._rewriter, self._seed = rewriter, seed
        self._store = RewriteStore(database, rewriter.name, rewriter.fingerprint)

    def find(self, prompt: str, index: int) -> StoredRewriting | None:
        """The rewriting that an image is made from; asked for and stored where there is none."""
        image = ImageRequest(prompt, index, image_seed(self._seed, prompt, index))
        (request,) = requests_of([image], self._rewriter.per, self._seed)
        if not self._store.is_done(prompt, request.index):
            with locked(
                self._store.database.folder, "rewrites"
            ):  # nobody else asks for it meanwhile
                self._store.refresh()
                if not self._store.is_done(prompt, request.index):
                    for part in parts_of([request], self._rewriter):
                        self._store.add(row_of(request, one, self._rewriter) for _, one in part)
        return self._store.find(prompt, index)
