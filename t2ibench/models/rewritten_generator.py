"""Combine a rewriter and a generator into one model, whose images depend on both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from t2ibench.identity import ImageKey
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Rewriter
from t2ibench.models.protocols import (
    Charges,
    FixesBatchSize,
    GeneratedImage,
    GeneratesInParts,
    Generator,
    HasPrice,
    ImageRequest,
    MakesTrials,
    Releasable,
    ReportsSettings,
    ReportsUnread,
    ReportsWaits,
)
from t2ibench.models.resolution import members_of
from t2ibench.models.rewriter_info import RewriterInfo
from t2ibench.store.rewrites import RewriteStore, StoredRewriting


@dataclass(frozen=True, slots=True)
class FoundRewritings:
    """The rewritings of the prompts of a few images, keyed by image."""

    rows: Mapping[ImageKey, StoredRewriting]

    def find(self, image: ImageKey) -> StoredRewriting | None:
        """Return the rewriting from which `image` is generated; None if there is none."""
        return self.rows.get(image)


def describe(rewriter: Rewriter, generator: Generator) -> RewriterInfo:
    """Return the description of a rewriter for the record of a run."""
    return RewriterInfo(
        name=rewriter.name,
        fingerprint=rewriter.fingerprint,
        per=rewriter.per,
        settings=dict(rewriter.settings),
        generator=generator.fingerprint,
        generator_name=generator.name,
    )


class Rewritten:
    """A generator that gets rewritten prompts (see models.protocols.Generator); see `rewritten`.

    `rewritings` is None until the run's folder is known.
    """

    def __init__(self, generator: Generator, info: RewriterInfo) -> None:
        self.inner = generator
        self.info = info
        self.rewritings: RewriteStore | FoundRewritings | None = None
        self.name = f"{generator.name}+{info.name}"
        self.settings: Mapping[str, Any] = generator.settings
        self.revision = generator.revision
        # The fingerprint of the rewriter stands for its rewritings; those of a server, which may
        # change, are stored in run.db, and every image's row has the text that was used.
        self.fingerprint = fingerprint(
            adapter="rewritten 1",
            generator=generator.fingerprint,
            rewriter=info.fingerprint,
            per=info.per,
        )

    @property
    def batch_size(self) -> int:
        """The batch size of the generator."""
        return self.inner.batch_size

    def available(self, prompt: str) -> int | None:
        """Return how many images of a prompt the generator can generate; None for any number."""
        return self.inner.available(prompt)

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return images of the rewritten prompts, generated with the original prompts' seeds."""
        results, asked = self._rewritten(requests)
        outcomes = (
            self.inner.generate([request for _, request in asked]) if asked else []
        )
        if len(outcomes) != len(asked):
            raise ValueError(f"{len(outcomes)} images for {len(asked)} requests")
        for (number, request), outcome in zip(asked, outcomes, strict=True):
            results[number] = _noted(outcome, request)
        return [results[number] for number in range(len(requests))]

    def _rewritten(
        self, requests: Sequence[ImageRequest]
    ) -> tuple[dict[int, GeneratedImage], list[tuple[int, ImageRequest]]]:
        """Return failures, by index, of requests without a rewriting; and the others, rewritten."""
        results: dict[int, GeneratedImage] = {}
        asked: list[tuple[int, ImageRequest]] = []
        for number, request in enumerate(requests):
            rewriting = self.rewriting(request.key)
            if rewriting is not None and rewriting.rewritten is not None:
                asked.append((number, replace(request, prompt=rewriting.rewritten)))
            elif rewriting is not None and rewriting.status == "refused":
                reason = f"the rewriter refused the prompt: {rewriting.reason}"
                results[number] = GeneratedImage("refused", reason=reason)
            else:
                why = (
                    rewriting.reason
                    if rewriting is not None
                    else "there is no rewriting of it"
                )
                results[number] = GeneratedImage(
                    "failed", reason=f"{NOT_REWRITTEN}: {why}"
                )
        return results, asked

    def rewriting(self, image: ImageKey) -> StoredRewriting | None:
        """Return the rewriting from which `image` is generated; None if there is none."""
        return None if self.rewritings is None else self.rewritings.find(image)


NOT_REWRITTEN = "the prompt could not be rewritten"


def _noted(outcome: GeneratedImage, request: ImageRequest) -> GeneratedImage:
    """Return an image's outcome with the prompt used: the generator's own or the rewritten one."""
    if not isinstance(outcome, GeneratedImage) or outcome.revised_prompt is not None:
        return outcome
    return replace(outcome, revised_prompt=request.prompt)


class _InParts(Rewritten):
    inner: Any

    def generate_in_parts(
        self, requests: Sequence[ImageRequest]
    ) -> Iterator[list[tuple[int, GeneratedImage]]]:
        """Yield images, with the indexes of their requests, as soon as they are ready.

        See models.protocols.GeneratesInParts.
        """
        results, asked = self._rewritten(requests)
        if results:
            yield list(results.items())
        if not asked:
            return
        for part in self.inner.generate_in_parts([request for _, request in asked]):
            yield [(asked[k][0], _noted(outcome, asked[k][1])) for k, outcome in part]


_PASSED_ON = (
    Charges,
    FixesBatchSize,
    HasPrice,
    MakesTrials,
    ReportsSettings,
    ReportsUnread,
    Releasable,
    ReportsWaits,
)


def _of_inner(name: str) -> property:
    return property(
        lambda self: getattr(self.inner, name),
        lambda self, value: setattr(self.inner, name, value),
    )


def rewritten(generator: Generator, info: RewriterInfo) -> Generator:
    """Return a generator that gets rewritten prompts and has `generator`'s optional members."""
    has = [protocol for protocol in _PASSED_ON if isinstance(generator, protocol)]
    members = {
        name: _of_inner(name) for protocol in has for name in members_of(protocol)
    }
    base = _InParts if isinstance(generator, GeneratesInParts) else Rewritten
    kind = type("Rewritten", (base,), members)
    model: Generator = kind(generator, info)
    return model
