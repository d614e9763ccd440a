"""Generating images of a submission again, and attempts that gave none."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Sequence

from t2ibench.apps.leaderboard.choosing import choose
from t2ibench.apps.leaderboard.made import Again, Claimed, Made, on_server
from t2ibench.apps.leaderboard.stated import effective_problems, model_problems
from t2ibench.apps.leaderboard.thumbs import shows, thumbnails
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import GENERATORS, create_generator
from t2ibench.models.protocols import (
    Drawn,
    Generator,
    ImageRequest,
    Releasable,
    ReportsSettings,
)
from t2ibench.models.rewritten import Rewritten, rewritten
from t2ibench.pipeline.generation import generate_batch
from t2ibench.store.images import Attempt
from t2ibench.store.pixels import read_image
from t2ibench.store.rewrites import StoredRewriting

_COMMIT = re.compile(r"[0-9a-f]{40}")


def redraw(claimed: Claimed, count: int, seed: int, again: Again) -> list[Made]:
    """Generate images again with the model that a submission names."""
    generator = _generator(claimed, again)
    if generator is None or again.problems:
        return []
    made = _draw(claimed, generator, count, random.Random(seed), again)
    _compare_thumbnails(claimed, made, again)
    return made


def _generator(claimed: Claimed, again: Again) -> Generator | None:
    """The model that the submission names, if it can be made here."""
    manifest, results = claimed.manifest, claimed.results
    if on_server(GENERATORS, manifest.model):
        again.lacking.append(f"{manifest.model} is on a server, which is not called")
        return None
    dtype = results.model.settings.get("dtype")
    try:
        generator = create_generator(
            manifest.model,
            manifest.model_args,
            seed=claimed.plan.settings.seed,
            dtype=dtype if isinstance(dtype, str) else claimed.command.dtype,
            recorded=True,
        )
    except T2IBenchError as error:
        again.lacking.append(f"the model cannot be made here: {error}")
        return None
    generator = _behind_rewriter(generator, claimed)
    if generator.fingerprint != manifest.fingerprint:
        if generator.revision != manifest.revision and _COMMIT.fullmatch(manifest.revision or ""):
            again.lacking.append(
                f"the weights of {manifest.model} here are of revision {generator.revision}; it "
                f"names {manifest.revision}"
            )
        else:
            again.problems.append(
                f"{manifest.model}, made here with the arguments of the submission, has another "
                f"fingerprint ({generator.fingerprint[:12]}) than it names "
                f"({manifest.fingerprint[:12]}): its weights or settings are others"
            )
        return None
    again.model = True
    again.problems += model_problems(results, generator)
    return generator


class _FromAttempts:
    """What prompts were rewritten to, as the rows of a submission say it."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self._attempts = {(one.prompt, one.index): one for one in attempts}

    def find(self, prompt: str, index: int) -> StoredRewriting | None:
        """The rewriting that an image is said to be made from."""
        known = self._attempts.get((prompt, index))
        if known is None or known.revised_prompt is None:
            return None
        return StoredRewriting(prompt, index, "ok", known.revised_prompt)


def _behind_rewriter(generator: Generator, claimed: Claimed) -> Generator:
    """The model with the rewriter that a submission names; nobody is asked to rewrite."""
    info = claimed.results.model.rewriter
    if info is None:
        return generator
    model = rewritten(generator, info)
    assert isinstance(model, Rewritten)
    model.rewritings = _FromAttempts(claimed.attempts)
    return model


def _draw(
    claimed: Claimed, generator: Generator, count: int, rng: random.Random, again: Again
) -> list[Made]:
    """Generate images again, and attempts that gave none."""
    shown = {path.stem for path in thumbnails(claimed.folder)}
    given = [attempt for attempt in claimed.attempts if attempt.status == "ok"]
    absent = [attempt for attempt in claimed.attempts if attempt.status != "ok"]
    if isinstance(generator, Rewritten):
        unasked = [attempt for attempt in absent if attempt.revised_prompt is None]
        absent = [attempt for attempt in absent if attempt.revised_prompt is not None]
        if unasked:
            again.lacking.append(
                f"{len(unasked)} prompts were refused by the rewriter, which is not asked again"
            )
    chosen = choose(given, claimed.plan, count, rng, shown)
    chosen += choose(absent, claimed.plan, count, rng)
    made: list[Made] = []
    unlike: list[str] = []
    failed: list[str] = []
    refused = 0
    size = max(1, generator.batch_size)
    try:
        for start in range(0, len(chosen), size):
            batch = chosen[start : start + size]
            requests = [ImageRequest(one.prompt, one.index, one.seed) for one in batch]
            outcomes = generate_batch(generator, requests)
            for attempt, outcome in zip(batch, outcomes, strict=True):
                where = f"image {attempt.index} of '{attempt.prompt}'"
                if outcome.status == "failed":
                    failed.append(f"{where} ({outcome.reason})")
                elif outcome.status != attempt.status:
                    unlike.append(_other_status(where, attempt, outcome))
                elif outcome.status == "ok":
                    made.append(_made(attempt, outcome))
                else:
                    refused += 1
    except T2IBenchError as error:
        again.lacking.append(f"the model cannot generate here: {error}")
    if failed:
        again.lacking.append(f"{len(failed)} images failed here, such as {failed[0]}")
    again.differ(unlike, "images")
    again.count("refused", refused)
    if made and isinstance(generator, ReportsSettings):
        stated, own = claimed.results.model.effective_settings, generator.effective_settings()
        again.problems += effective_problems(stated, own)
        again.effective = True
    if isinstance(generator, Releasable):
        generator.release()
    return made


def _other_status(where: str, attempt: Attempt, outcome: Drawn) -> str:
    if outcome.status == "ok":
        return f"{where} is called {attempt.status}, and the model makes it"
    reason = f" ({outcome.reason})" if outcome.reason else ""
    said = "there" if attempt.status == "ok" else attempt.status
    return f"{where} is called {said}, and when it is tried again it is {outcome.status}{reason}"


def _made(attempt: Attempt, outcome: Drawn) -> Made:
    """An image as a run stores and reads it."""
    if outcome.image is None:
        assert outcome.path is not None
        data = outcome.path.read_bytes()
    else:
        buffer = io.BytesIO()
        outcome.image.save(buffer, format="PNG", compress_level=4)
        data = buffer.getvalue()
    return Made(attempt, data, read_image(data))


def _compare_thumbnails(claimed: Claimed, made: Sequence[Made], again: Again) -> None:
    """Compare thumbnails with the images that were made."""
    by_key = {path.stem: path for path in thumbnails(claimed.folder)}
    for one in made:
        path = by_key.get(one.attempt.key)
        if path is None:
            continue
        if shows(path, one.data):
            again.thumbnails.add(path.stem)
            again.compared.add(one.attempt.key)
        else:
            again.problems.append(f"thumbs/{path.name} is not {one}, generated again")
