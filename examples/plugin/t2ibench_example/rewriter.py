"""A rewriter: the same words after every prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from t2ibench.plugins import (
    Adapter,
    Arguments,
    Per,
    Request,
    RewriteRequest,
    Rewriting,
)


class AppendingRewriter:
    """Has the members of `t2ibench.plugins.Rewriter`."""

    # 'image' where each image of a prompt gets a rewriting of its own
    per: Per = "prompt"

    def __init__(self, words: str) -> None:
        self.name = "at-night"
        self.settings = {"words": words}
        self.fingerprint = hashlib.sha256(f"at-night 1\0{words}".encode()).hexdigest()
        self._words = words

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[Rewriting]:
        """One rewriting for each request, in their order."""
        return [
            Rewriting("ok", f"{request.prompt} {self._words}") for request in requests
        ]


class AppendingArguments(Arguments):
    """What --rewriter-args takes."""

    words: str = "at night"


def create(request: Request[AppendingArguments]) -> AppendingRewriter:
    """Leave weights for the first call of `rewrite`."""
    return AppendingRewriter(request.args.words)


ADAPTER = Adapter(
    create=create,
    form="at-night",
    description="the same words after every prompt",
    Args=AppendingArguments,
)
