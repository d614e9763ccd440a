"""What of a plan still needs an attempt."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.plan import Plan
from t2ibench.store.images import ImageStore


def unfinished(requests: Sequence[ImageRequest], store: ImageStore) -> list[ImageRequest]:
    """The requests that have no outcome, or whose image has no file any more."""
    return [request for request in requests if not store.is_done(request.prompt, request.index)]


def pending_images(plan: Plan, store: ImageStore) -> list[ImageRequest]:
    """The requests of the plan that have no outcome, or whose image has no file any more."""
    return unfinished(plan.requests, store)
