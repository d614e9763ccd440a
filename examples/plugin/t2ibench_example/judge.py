"""A judge: is an image bright or dark?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from t2ibench.plugins import Adapter, Answer, Arguments, Query, Request, Share


class BrightnessArguments(Arguments):
    """What --judge-args takes; several judges share the flag, each takes what it knows."""

    threshold: Share = 0.45


class BrightnessJudge:
    """Has the members of `t2ibench.plugins.Judge`."""

    def __init__(self, threshold: float) -> None:
        self.name = "brightness"
        self.fingerprint = hashlib.sha256(
            f"brightness 1\0{threshold}".encode()
        ).hexdigest()
        self.batch_size = 64
        self._threshold = threshold

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """One answer for each query: a class, 'unknown', or None with a reason."""
        return [self._answer(query) for query in queries]

    def _answer(self, query: Query) -> Answer:
        mean = float(np.asarray(query.image.convert("L")).mean()) / 255
        word = "bright" if mean >= self._threshold else "dark"
        if query.classes and word not in query.classes:
            return Answer("unknown", f"{mean:.3f}")
        return Answer(word, f"{mean:.3f}")


def create(request: Request[BrightnessArguments]) -> BrightnessJudge:
    """Load weights here, on `request.device`."""
    return BrightnessJudge(request.args.threshold)


ADAPTER = Adapter(
    create=create,
    form="brightness",
    description="'bright' or 'dark', from the pixels; threshold=SHARE",
    Args=BrightnessArguments,
)
