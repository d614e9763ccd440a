"""Second generation of a submission's images, of a random sample, to verify them.

Nothing that a submission names is contacted: a judge on a server is not asked, and what names code
is not imported. What cannot be made here lowers the verdict; what comes out otherwise refuses it.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from t2ibench.apps.leaderboard.claims import model_problems
from t2ibench.apps.leaderboard.pictures import Picture
from t2ibench.apps.leaderboard.repeats import repeats
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.errors import T2IBenchError, shown
from t2ibench.identity import ImageKey
from t2ibench.methods import needs
from t2ibench.models.generators import GENERATORS, can_regenerate, create_generator
from t2ibench.models.locations import is_path
from t2ibench.models.protocols import (
    FixesBatchSize,
    Generator,
    ImageRequest,
    Releasable,
    ReportsSettings,
)
from t2ibench.models.resolution import find_registered
from t2ibench.models.servers import ServerArguments
from t2ibench.pipeline.generation import generate_batch, image_file
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.stores import Stores
from t2ibench.registry import Registry
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Results
from t2ibench.settings import RunSettings, Settings
from t2ibench.store.images import Attempt, ImageStore, StoredImage, in_order
from t2ibench.tasks.loader import LoadedTask

# What each level means, from the best to the worst.
LEVELS = {
    "reproduced": "Every score follows from the evidence, and some of each kind of evidence, "
    "chosen at random, was made again with the model, every encoder and every judge that the "
    "submission names: it is the same up to rounding, and no test is seen to move to one side. "
    "How much was made again, of how much, stands beside it, and a model's page says how small a "
    "tilt the check would have noticed.",
    "partly reproduced": "The same, but something beside the images, the encoders and the judges, "
    "such as a control of random weights, could not be made again, or some of a judge's answers "
    "differ, within what another machine's drawing explains; a model's page says what.",
    "recomputed": "Every score, interval and p-value follows from the evidence that was sent; "
    "that the evidence comes from the model, the encoders and the judges that the submission names "
    "was not checked for all of them.",
}
REFUSED = "refused"
# Singular and plural of each kind of evidence.
PARTS = {
    "images": ("image", "images"),
    "texts": ("embedding of a text", "embeddings of texts"),
    "answers": ("answer", "answers"),
    "controls": ("embedding by random weights", "embeddings by random weights"),
    "refused": ("attempt that gave no image", "attempts that gave no image"),
}
_SHOWN = 5
_LARGEST_BATCH = 64  # images at a time; a stranger's number may ask for all memory
_DISTINCT_COUNTS = Settings(images_per_prompt=2, guided_images_per_prompt=1)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class RegeneratedImage:
    """A regenerated image, with the submission's record of the original."""

    attempt: Attempt
    image: StoredImage

    @property
    def same_file(self) -> bool:
        """Whether the regenerated file has exactly the bytes of the submission's file."""
        return self.image.sha256 == self.attempt.sha256

    def __str__(self) -> str:
        return f"image {self.attempt.index} of '{self.attempt.prompt}'"


@dataclass(slots=True)
class Verdict:
    """The outcome of verifying a submission: its level, the problems found, and what was compared.

    Attributes:
        level: One of `LEVELS`, or 'refused'.
        problems: A line for each contradiction.
        notes: Lines for the submitter and for the model's page.
        tasks: How many tasks were recomputed.
        parts: How many regenerated pieces of evidence are the same, by kind.
        totals: How many pieces of evidence the submission holds, by kind.
        same_files: How many regenerated images have the bytes of the submission's.
        not_asked: The encoders and judges that read nothing again here.
        not_regenerated: What could not be regenerated here, with the reason.
        differing: What came out otherwise here, within what another machine's drawing explains.
        at_random: The keys of the images that were chosen at random, by no rule that a submitter
            knows.
        compared: The keys of the regenerated images of which anything is the same.
        otherwise: The keys of those of which an answer differs within what is explained.
        unconfirmed: What the submitter states and nothing here confirms.
        confirmed: What regenerating confirmed of it.
        seed: Chose what was regenerated.
        results: What the evidence gives here, which alone may be shown; None where nothing was
            recomputed.
        pictures: The pictures that the submission shows, encoded here.
        checked_pictures: The SHA-256 of those whose image was made again and looks like them.
        tilt_check: What the check for tilted embeddings could have noticed; empty where nothing
            was made again that an encoder reads.
        n_images: Distinct images of the submission, of which its tasks share some.
        paired: By task id, what the evidence gives here for comparisons of models in pairs.
    """

    level: str
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tasks: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    same_files: int = 0
    not_asked: list[str] = field(default_factory=list)
    not_regenerated: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    at_random: set[str] = field(default_factory=set)
    compared: set[str] = field(default_factory=set)
    otherwise: set[str] = field(default_factory=set)
    unconfirmed: list[str] = field(default_factory=list)
    confirmed: set[str] = field(default_factory=set)
    seed: int | None = None
    results: Results | None = None
    pictures: list[Picture] = field(default_factory=list)
    checked_pictures: list[str] = field(default_factory=list)
    tilt_check: str = ""
    n_images: int = 0
    paired: dict[str, PairedTask] = field(default_factory=dict)

    def differ(self, lines: Sequence[str], what: str) -> None:
        """Add problems of one kind to the verdict: the first five in full, then how many more."""
        self.problems += lines[:_SHOWN]
        more = len(lines) - _SHOWN
        self.problems += [f"and {more} more {what}"] if more > 0 else []

    @contextmanager
    def tolerant(self, what: str) -> Iterator[None]:
        """Context in which an error is noted as a part that could not be checked here."""
        try:
            yield
        except T2IBenchError as error:
            self.not_regenerated.append(f"{what}: {error}")

    def regenerated_parts(self) -> list[str]:
        """Return what was made again and is the same, each with how much of it there is."""
        return [self._regenerated_part(part) for part in PARTS if part in self.parts]

    def _regenerated_part(self, part: str) -> str:
        singular, several = PARTS[part]
        number = self.parts[part]
        words = f"{number:,} {singular if number == 1 else several}"
        total = self.totals.get(part, number)
        words += f" of {total:,}" if total > number else ""
        if part == "images":
            words += f" ({self.same_files:,} byte for byte)"
        return words

    def count(self, part: str, number: int) -> None:
        """Add `number` to how many items of one kind of evidence were found to be the same."""
        if number:
            self.parts[part] = self.parts.get(part, 0) + number


@dataclass(frozen=True, slots=True)
class Claims:
    """The content of a submission as objects: its settings, its plan and its evidence.

    Attributes:
        manifest: What the submission says of itself.
        results: Its results as they were sent.
        command: The settings of its command.
        plan: What its tasks need.
        images: Its records of images.
        stores: Its embeddings and answers.
        attempts: All of `images`, read once.
    """

    manifest: Manifest
    results: Results
    command: RunSettings
    plan: Plan
    images: ImageStore
    stores: Stores
    attempts: Sequence[Attempt]


def check_paths(*names: str) -> None:
    """Raise an error if a model's name is a path, so that a submission reads no local files."""
    for name in names:
        parts = name.split(":")
        tails = (":".join(parts[number:]) for number in range(len(parts)))
        if any(is_path(tail) and set("/\\~") & set(tail) for tail in tails):
            raise T2IBenchError(f"{shown(name)} is a path of this machine.")


def on_server(registry: Registry[Any], spec: str) -> bool:
    """Return whether the named adapter calls a server, which verification must not do."""
    resolved = find_registered(registry, spec)
    return resolved is not None and issubclass(resolved.adapter.Args, ServerArguments)


def sample_for_audit(
    attempts: Sequence[Attempt],
    plan: Plan,
    count: int,
    rng: random.Random,
) -> list[Attempt]:
    """Return up to `count` random images that represent every task and its groups of prompts.

    A group is the prompts of a task that take one setting for their number of images, such as the
    guided ones, whatever numbers the submitter chose: few images may decide a task. Prompts that
    were not chosen yet are preferred.
    """
    ordered = in_order(attempts)
    groups = [
        group for task in plan.tasks for group in prompt_groups(plan, task, ordered)
    ]
    groups = [rng.sample(group, len(group)) for group in groups]
    rng.shuffle(groups)
    chosen: dict[ImageKey, Attempt] = {}
    prompts: set[str] = set()
    while groups and len(chosen) < count:
        left = [attempt for attempt in groups.pop(0) if attempt.key not in chosen]
        if left:
            # the first of a new prompt
            attempt = min(left, key=lambda candidate: candidate.prompt in prompts)
            chosen[attempt.key] = attempt
            prompts.add(attempt.prompt)
            groups.append(left)
    return list(chosen.values())


def prompt_groups(
    plan: Plan, task: LoadedTask, attempts: Sequence[Attempt]
) -> list[list[Attempt]]:
    """Return a task's images in groups of prompts that take one setting for their number."""
    by_prompt = defaultdict(list)
    for attempt in attempts:
        by_prompt[attempt.prompt].append(attempt)
    kinds = needs(task.spec, _DISTINCT_COUNTS).images_by_prompt
    of_kind: dict[int, list[Attempt]] = defaultdict(list)
    for prompt, needed in sorted(plan.needs[task.id].images_by_prompt.items()):
        usable = [
            attempt for attempt in by_prompt.get(prompt, ()) if attempt.index < needed
        ]
        of_kind[kinds.get(prompt, 0)] += usable
    return list(of_kind.values())


def regenerate(
    claims: Claims, count: int, seed: int, verdict: Verdict
) -> list[RegeneratedImage]:
    """Generate a random sample of images again, compare outcomes, and return the new images.

    The model is made even where no test needs an image, since the submission names it.
    """
    generator = _generator(claims, verdict)
    if generator is None or verdict.problems:
        return []
    chosen = _drawn(claims, count, random.Random(seed), verdict)
    images = _generate(generator, chosen, verdict)
    if images and isinstance(generator, ReportsSettings):
        claimed = claims.results.model.effective_settings
        verdict.problems += model_problems(claimed, generator.effective_settings())
        verdict.confirmed.add("effective_settings")
    if isinstance(generator, Releasable):
        generator.release()
    return images


def _drawn(
    claims: Claims, count: int, rng: random.Random, verdict: Verdict
) -> list[Attempt]:
    """Return the attempts that are repeated: at random, and what a random sample hardly meets.

    Which images were chosen at random is noted on `verdict`.
    """
    attempts = claims.attempts
    given = [attempt for attempt in attempts if attempt.status == "ok"]
    without = [attempt for attempt in attempts if attempt.status != "ok"]
    chosen = sample_for_audit(given, claims.plan, count, rng)
    verdict.at_random = {attempt.file_key for attempt in chosen}
    chosen += sample_for_audit(without, claims.plan, count, rng)
    # What is shown is drawn again as well, since a random sample would hardly ever meet it.
    shown_files = {picture.sha256 for picture in verdict.pictures}
    keys = {attempt.key for attempt in chosen}
    pictured = [
        attempt
        for attempt in given
        if attempt.sha256 in shown_files and attempt.key not in keys
    ]
    chosen += rng.sample(pictured, min(count, len(pictured)))
    # An image that repeats another counts in no score: so it is tried beside the one it repeats.
    pairs = repeats(given, claims.images)
    drawn_pairs = rng.sample(pairs, min(count, len(pairs)))
    chosen += [attempt for pair in drawn_pairs for attempt in pair]
    return list({attempt.key: attempt for attempt in chosen}.values())


def _generator(claims: Claims, verdict: Verdict) -> Generator | None:
    """Return the model that the submission names; None, with a note, if it cannot be used here."""
    manifest = claims.manifest
    results = claims.results
    if on_server(GENERATORS, manifest.model):
        verdict.not_regenerated.append(
            f"{manifest.model} is on a server, which is not called"
        )
        return None
    if not can_regenerate(manifest.model):  # a stranger's path is never opened here
        verdict.not_regenerated.append("the images exist already, and were not sent")
        return None
    if rewriter := results.model.rewriter:
        verdict.not_regenerated.append(
            f"prompts were rewritten by {rewriter.name}, which is not asked again"
        )
        return None
    dtype = results.model.settings.get("dtype")
    generator = None
    with verdict.tolerant("the model cannot be made here"):
        check_paths(manifest.model, manifest.model_args.get("lora", ""))
        generator = create_generator(
            manifest.model,
            manifest.model_args,
            # A seed that is derived from a model is not known when the model is made.
            seed=Settings().seed,
            dtype=dtype if isinstance(dtype, str) else claims.command.dtype,
            deterministic=results.model.settings.get("deterministic") is True,
            recorded=True,
        )
    if generator is None:
        return None
    if generator.fingerprint != manifest.fingerprint:
        # Only a model of the hub has commits, and may be here in another one.
        revisions = (generator.revision or "", manifest.revision or "")
        are_commits = all(map(_COMMIT.fullmatch, revisions))
        if are_commits and generator.revision != manifest.revision:
            verdict.not_regenerated.append(
                f"the weights of {manifest.model} here are of revision {generator.revision}; it "
                f"names {manifest.revision}"
            )
        else:
            verdict.problems.append(
                f"{manifest.model}, made here with the arguments of the submission, has another "
                f"fingerprint ({generator.fingerprint[:12]}) than it names "
                f"({manifest.fingerprint[:12]}): its weights or settings are others"
            )
        return None
    size = results.model.batch_size
    if isinstance(generator, FixesBatchSize) and size is not None:
        if size > _LARGEST_BATCH:
            verdict.not_regenerated.append(
                f"its images were generated {size:,} at a time; {_LARGEST_BATCH} are the most here"
            )
            return None
        generator.fix_batch_size(size, recorded=True)
    verdict.confirmed |= {"revision", "settings"}
    claimed = {**results.model.settings, "revision": results.model.revision}
    made_here = {**generator.settings, "revision": generator.revision}
    verdict.problems += model_problems(claimed, made_here)
    return generator


def _generate(
    generator: Generator, chosen: Sequence[Attempt], verdict: Verdict
) -> list[RegeneratedImage]:
    """Generate images again and return them; outcomes that differ are noted on `verdict`."""
    images: list[RegeneratedImage] = []
    unlike: list[str] = []
    failed: list[str] = []
    size = max(1, generator.batch_size)
    with verdict.tolerant("the model cannot generate here"):
        for start in range(0, len(chosen), size):
            batch = chosen[start : start + size]
            requests = [
                ImageRequest(attempt.prompt, attempt.index, attempt.seed)
                for attempt in batch
            ]
            outcomes = map(image_file, requests, generate_batch(generator, requests))
            for attempt, outcome in zip(batch, outcomes, strict=True):
                where = f"image {attempt.index} of '{attempt.prompt}'"
                if outcome.status == "failed":
                    failed.append(f"{where} ({outcome.reason})")
                elif outcome.revised_prompt != attempt.revised_prompt:
                    unlike.append(
                        f"{where} is said to be of the prompt {_quoted(attempt.revised_prompt)}; "
                        f"made here, it is of {_quoted(outcome.revised_prompt)}"
                    )
                elif outcome.status != attempt.status:
                    claimed_status = (
                        "there" if attempt.status == "ok" else attempt.status
                    )
                    here = f"when it is tried again it is {outcome.status}"
                    here += f" ({outcome.reason})" if outcome.reason else ""
                    here = "the model makes it" if outcome.status == "ok" else here
                    unlike.append(f"{where} is called {claimed_status}, and {here}")
                elif outcome.data is None:
                    verdict.count("refused", 1)
                else:
                    sha256 = hashlib.sha256(outcome.data).hexdigest()
                    place = attempt.file_key
                    image = StoredImage(
                        place, sha256, attempt.key, content=outcome.data
                    )
                    images.append(RegeneratedImage(attempt, image))
    if failed:
        verdict.not_regenerated.append(
            f"{len(failed)} images failed here, such as {failed[0]}"
        )
    verdict.differ(unlike, "images")
    return images


def _quoted(revised_prompt: str | None) -> str:
    return "as it is" if revised_prompt is None else f"'{shown(revised_prompt)}'"
