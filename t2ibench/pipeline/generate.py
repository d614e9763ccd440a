"""Drawing what the plan needs and the store lacks. Idempotent: a second call does nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Drawn, Generator, ImageRequest
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.store.images import Attempt, ImageStore

# So many failures at the start, without one success, are the set-up's fault, not the images'.
_HOPELESS = 8


def pending(plan: Plan, store: ImageStore) -> list[ImageRequest]:
    """The images that have to be drawn."""
    return [
        request for request in plan.requests if not store.is_done(request.prompt, request.index)
    ]


def generate(
    plan: Plan,
    generator: Generator,
    store: ImageStore,
    reporter: Reporter,
    batch_size: int | None = None,
) -> Counter[str]:
    """Draw everything that is missing.

    Returns:
        Number of attempts by status.

    Raises:
        T2IBenchError: the generator cannot work at all, or the disk is full. What was drawn
            before is kept.
    """
    todo = len(pending(plan, store))
    counts: Counter[str] = Counter()
    if not todo:
        return counts
    with reporter.stage("Drawing images", todo, "images") as ticker:

        def note(attempts: Sequence[Attempt]) -> None:
            counts.update(attempt.status for attempt in attempts)
            ticker.advance(len(attempts))
            if counts["failed"] >= _HOPELESS and counts["failed"] == counts.total():
                reason = (attempts[-1].reason or "unknown").rstrip(".")
                raise T2IBenchError(
                    f"The first {counts['failed']} images all failed; the last reason: {reason}.",
                    "Mend the cause and run the same command again.",
                )

        for number in range(plan.n_shards):
            run_shard(plan, number, generator, store, batch_size=batch_size, note=note)
    return counts


def run_shard(
    plan: Plan,
    number: int,
    generator: Generator,
    store: ImageStore,
    *,
    batch_size: int | None = None,
    note: Callable[[Sequence[Attempt]], None] = lambda _: None,
) -> None:
    """Draw what is missing of one shard; workers of any kind call this.

    Args:
        plan: The plan.
        number: Which shard.
        generator: The model.
        store: Where images go.
        batch_size: Images at once; None for the generator's own choice.
        note: Told of every batch, once it is stored.
    """
    missing = [
        request
        for request in plan.shard(number)
        if not store.is_done(request.prompt, request.index)
    ]
    size = batch_size or generator.batch_size
    for start in range(0, len(missing), size):
        batch = missing[start : start + size]
        attempts = [
            _keep(request, drawn, store)
            for request, drawn in zip(batch, draw_batch(generator, batch), strict=True)
        ]
        store.record(attempts)
        note(attempts)


def draw_batch(generator: Generator, batch: Sequence[ImageRequest]) -> list[Drawn]:
    """Draw a batch; where it fails as a whole, one image after the other."""
    try:
        return generator.generate(batch)
    except T2IBenchError:
        raise
    except Exception as error:  # any failure of a model must not lose the other images
        if len(batch) == 1:
            return [Drawn("failed", reason=f"{type(error).__name__}: {error}"[:500])]
    return [draw_batch(generator, [request])[0] for request in batch]


def _keep(request: ImageRequest, drawn: Drawn, store: ImageStore) -> Attempt:
    at = (request.prompt, request.index, request.seed)
    if drawn.status == "ok" and drawn.image is not None:
        if not drawn.image.convert("L").getbbox():
            return store.add_missing(*at, "filtered", "the image is all black")
        return store.add_image(*at, drawn.image)
    if drawn.status == "ok" and drawn.path is not None:
        return store.add_file(*at, drawn.path)
    status = "failed" if drawn.status == "ok" else drawn.status
    return store.add_missing(*at, status, drawn.reason or "no reason was given")
