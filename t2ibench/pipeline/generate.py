"""Drawing what the plan needs and the store lacks. Idempotent: a second call does nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Drawn, Generator, ImageRequest
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter, Ticker
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
        for number in range(plan.n_shards):
            counts += run_shard(plan, number, generator, store, ticker, batch_size)
            if counts["failed"] >= _HOPELESS and counts["failed"] == counts.total():
                raise T2IBenchError(
                    f"The first {counts['failed']} images all failed; the last reason: "
                    f"{_last_reason(plan, store)}.",
                    "Mend the cause and run the same command again.",
                )
    return counts


def _last_reason(plan: Plan, store: ImageStore) -> str:
    attempts = (store.get(request.prompt, request.index) for request in plan.requests)
    reasons = [one.reason for one in attempts if one and one.status == "failed" and one.reason]
    return reasons[-1].rstrip(".") if reasons else "unknown"


def run_shard(
    plan: Plan,
    number: int,
    generator: Generator,
    store: ImageStore,
    ticker: Ticker,
    batch_size: int | None = None,
) -> Counter[str]:
    """Draw what is missing of one shard; workers of any kind call this."""
    missing = [
        request
        for request in plan.shard(number)
        if not store.is_done(request.prompt, request.index)
    ]
    size = batch_size or generator.batch_size
    counts: Counter[str] = Counter()
    for start in range(0, len(missing), size):
        batch = missing[start : start + size]
        attempts = [
            _keep(request, drawn, store)
            for request, drawn in zip(batch, draw_batch(generator, batch), strict=True)
        ]
        store.record(attempts)
        counts.update(attempt.status for attempt in attempts)
        ticker.advance(len(batch))
    return counts


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
