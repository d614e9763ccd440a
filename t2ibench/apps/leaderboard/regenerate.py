"""Regenerating images of a submission, chosen by whoever verifies it."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.apps.leaderboard.claims import effective_problems, model_problems
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.apps.leaderboard.thumbs import shows, thumbnails
from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods import needs
from t2ibench.models.generators import GENERATORS, can_regenerate, create_generator
from t2ibench.models.locations import is_path
from t2ibench.models.protocols import Generator, ImageRequest, Releasable, ReportsSettings
from t2ibench.models.resolution import find_registered
from t2ibench.models.rewritten_generator import Rewritten, rewritten
from t2ibench.models.servers import ServerArguments
from t2ibench.pipeline.generation import generate_batch, image_file
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import Stores
from t2ibench.registry import Registry
from t2ibench.results.schema import Results
from t2ibench.settings import RunSettings, Settings
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.pixels import read_image
from t2ibench.store.rewrites import StoredRewriting
from t2ibench.tasks.loader import LoadedTask

if TYPE_CHECKING:
    from PIL.Image import Image

_SHOWN = 5
_TOLD_APART = Settings(images_per_prompt=2, guided_images_per_prompt=1)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class RegeneratedImage:
    """An image that was generated again.

    Attributes:
        attempt: What the submission says of it.
        data: The bytes of its PNG file.
        image: The image as it is read from that file.
    """

    attempt: Attempt
    data: bytes
    image: Image

    @property
    def same_file(self) -> bool:
        """Whether the file is the submission's, to the last byte."""
        return hashlib.sha256(self.data).hexdigest() == self.attempt.sha256

    def __str__(self) -> str:
        return f"image {self.attempt.index} of '{self.attempt.prompt}'"


@dataclass(slots=True)
class Regeneration:
    """What making evidence again found.

    Attributes:
        problems: What came out otherwise.
        lacking: What could not be made here, and why.
        parts: Kind of evidence to how much of it was made again and is the same.
        thumbnails: Keys of the thumbnails that are those of images made again.
        compared: Keys of the images that were compared with anything the submission holds.
        model: Whether the model could be made, so that its settings were compared.
        effective: Whether its effective settings were compared.
        rewritten: Whether rewritten prompts were made again, all of them alike.
        chosen: What was chosen to be made again.
    """

    problems: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    parts: dict[str, int] = field(default_factory=dict)
    thumbnails: set[str] = field(default_factory=set)
    compared: set[str] = field(default_factory=set)
    model: bool = False
    effective: bool = False
    rewritten: bool = False
    chosen: list[Attempt] = field(default_factory=list)

    def differ(self, lines: Sequence[str], what: str) -> None:
        """Add problems of one kind: the first in full, the others as a number."""
        self.problems += lines[:_SHOWN]
        if len(lines) > _SHOWN:
            self.problems.append(f"and {len(lines) - _SHOWN} more {what}")

    def count(self, part: str, number: int) -> None:
        """Add to a part."""
        if number:
            self.parts[part] = self.parts.get(part, 0) + number


@dataclass(frozen=True, slots=True)
class Claims:
    """A submission, read.

    Attributes:
        folder: Where it is.
        manifest: submission.json.
        results: results.json.
        command: The settings that its command stands for.
        plan: What its tasks need.
        images: What became of each image.
        stores: Its evidence.
        local: Whether models may be read by paths of this machine.
    """

    folder: Path
    manifest: Manifest
    results: Results
    command: RunSettings
    plan: Plan
    images: ImageStore
    stores: Stores
    local: bool = False

    def check_paths(self, *names: str) -> None:
        """Refuse names of models that are paths: a stranger chooses no file of this machine."""
        for name in names if not self.local else ():
            parts = name.split(":")
            rest = (":".join(parts[number:]) for number in range(len(parts)))
            if any(is_path(one) and set("/\\~") & set(one) for one in rest):
                raise T2IBenchError(f"{shown(name)} is a path of this machine; --local reads it.")


def on_server(registry: Registry[Any], spec: str) -> bool:
    """Whether a name is of an adapter that calls a server, which a submission must not choose."""
    resolved = find_registered(registry, spec)
    return resolved is not None and issubclass(resolved.adapter.Args, ServerArguments)


def sample_for_audit(
    attempts: Sequence[Attempt],
    plan: Plan,
    count: int,
    rng: random.Random,
    shown: Collection[str] = (),
) -> list[Attempt]:
    """Choose images so that every task, and every group of its prompts, has its turn.

    A group is the prompts of a task that take one setting for their number of images, such as the
    guided ones, whatever numbers the submitter chose: few images may decide a task. Any image of a
    group may be chosen; prompts that were not chosen yet are preferred. Those that thumbnails show
    are a group of their own.
    """
    by_prompt: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: (one.prompt, one.index)):
        by_prompt.setdefault(attempt.prompt, []).append(attempt)
    tasks = [_groups(task, plan.needs[task.id].images_by_prompt, by_prompt) for task in plan.tasks]
    pictured = [one for found in by_prompt.values() for one in found if one.key in shown]
    strata = [[group for group in groups if group] for groups in (*tasks, [pictured])]
    for groups in strata:
        rng.shuffle(groups)
        for group in groups:
            rng.shuffle(group)
    rng.shuffle(strata)
    turns = [group for turn in zip_longest(*strata) for group in turn if group]
    chosen: dict[str, Attempt] = {}
    prompts: set[str] = set()
    missed = 0
    for group in cycle(turns):
        if len(chosen) >= count or missed >= len(turns):
            break
        left = [attempt for attempt in group if attempt.key not in chosen]
        missed = 0 if left else missed + 1
        if left:
            attempt = next((one for one in left if one.prompt not in prompts), left[0])
            chosen[attempt.key] = attempt
            prompts.add(attempt.prompt)
    return list(chosen.values())


def _groups(
    task: LoadedTask, needed: Mapping[str, int], by_prompt: Mapping[str, list[Attempt]]
) -> list[list[Attempt]]:
    """The images of a task, by the setting that says how many of a prompt there are."""
    kinds = needs(task.spec, _TOLD_APART).images_by_prompt
    groups: dict[int, list[Attempt]] = {}
    for prompt, count in sorted(needed.items()):
        usable = [attempt for attempt in by_prompt.get(prompt, ()) if attempt.index < count]
        groups.setdefault(kinds.get(prompt, 0), []).extend(usable)
    return list(groups.values())


def regenerate(
    claims: Claims, count: int, seed: int, found: Regeneration
) -> list[RegeneratedImage]:
    """Generate images again with the model that a submission names, and compare its thumbnails."""
    generator = _generator(claims, found)
    if generator is None or found.problems:
        return []
    pictured = {path.stem: path for path in thumbnails(claims.folder)}
    rng = random.Random(seed)
    attempts = list(claims.images.all_attempts())
    given = [attempt for attempt in attempts if attempt.status == "ok"]
    without = [attempt for attempt in attempts if attempt.status != "ok"]
    found.chosen = sample_for_audit(given, claims.plan, count, rng, pictured)
    found.chosen += sample_for_audit(without, claims.plan, count, rng)
    chosen = found.chosen
    if isinstance(generator, Rewritten):
        # What the rewriter refused never came to the model.
        chosen = [one for one in chosen if one.status == "ok" or one.revised_prompt is not None]
    else:
        found.rewritten = any(one.revised_prompt is not None for one in chosen)
    images = _generate(generator, chosen, found)
    if images and isinstance(generator, ReportsSettings):
        stated = claims.results.model.effective_settings
        found.problems += effective_problems(stated, generator.effective_settings())
        found.effective = True
    if isinstance(generator, Releasable):
        generator.release()
    for one in images:
        path = pictured.get(one.attempt.key)
        if path is not None and shows(path, one.data):
            found.thumbnails.add(path.stem)
            found.compared.add(one.attempt.key)
        elif path is not None:
            found.problems.append(f"thumbs/{path.name} is not {one}, generated again")
    return images


def _generator(claims: Claims, found: Regeneration) -> Generator | None:
    """The model that the submission names, if it can be made here."""
    manifest, results = claims.manifest, claims.results
    if on_server(GENERATORS, manifest.model):
        found.lacking.append(f"{manifest.model} is on a server, which is not called")
        return None
    if not can_regenerate(manifest.model):  # a stranger's path is never opened here
        found.lacking.append("the images exist already, and were not sent")
        return None
    dtype = results.model.settings.get("dtype")
    try:
        claims.check_paths(manifest.model, manifest.model_args.get("lora", ""))
        generator = create_generator(
            manifest.model,
            manifest.model_args,
            seed=claims.plan.settings.seed,
            dtype=dtype if isinstance(dtype, str) else claims.command.dtype,
            recorded=True,
        )
    except T2IBenchError as error:
        found.lacking.append(f"the model cannot be made here: {error}")
        return None
    if (rewriter := results.model.rewriter) is not None:
        model = rewritten(generator, rewriter)
        assert isinstance(model, Rewritten)
        model.rewritings = _StatedRewritings(claims.images)
        if (rewriter.generator, rewriter.generator_name) != (generator.fingerprint, generator.name):
            found.problems.append("it names another model behind its rewriter than it was run on")
        generator = model
    if generator.fingerprint != manifest.fingerprint:
        if generator.revision != manifest.revision and _COMMIT.fullmatch(manifest.revision or ""):
            found.lacking.append(
                f"the weights of {manifest.model} here are of revision {generator.revision}; it "
                f"names {manifest.revision}"
            )
        else:
            found.problems.append(
                f"{manifest.model}, made here with the arguments of the submission, has another "
                f"fingerprint ({generator.fingerprint[:12]}) than it names "
                f"({manifest.fingerprint[:12]}): its weights or settings are others"
            )
        return None
    found.model = True
    found.problems += model_problems(results, generator)
    return generator


@dataclass(frozen=True, slots=True)
class _StatedRewritings:
    """What prompts were rewritten to, as the rows of a submission say it."""

    images: ImageStore

    def find(self, prompt: str, index: int) -> StoredRewriting | None:
        """The rewriting that an image is said to be made from."""
        known = self.images.get(prompt, index)
        if known is None or known.revised_prompt is None:
            return None
        return StoredRewriting(prompt, index, "ok", known.revised_prompt)


def _generate(
    generator: Generator, chosen: Sequence[Attempt], found: Regeneration
) -> list[RegeneratedImage]:
    """Generate images; what has another outcome than the submission says is a problem."""
    images: list[RegeneratedImage] = []
    unlike: list[str] = []
    failed: list[str] = []
    refused = 0
    size = max(1, generator.batch_size)
    try:
        for start in range(0, len(chosen), size):
            batch = chosen[start : start + size]
            requests = [ImageRequest(one.prompt, one.index, one.seed) for one in batch]
            outcomes = map(image_file, requests, generate_batch(generator, requests))
            for attempt, outcome in zip(batch, outcomes, strict=True):
                where = f"image {attempt.index} of '{attempt.prompt}'"
                reason = f" ({outcome.reason})" if outcome.reason else ""
                if outcome.status == "failed":
                    failed.append(f"{where} ({outcome.reason})")
                elif outcome.revised_prompt != attempt.revised_prompt:
                    unlike.append(
                        f"{where} is said to be of the prompt {_quoted(attempt.revised_prompt)}; "
                        f"made here, it is of {_quoted(outcome.revised_prompt)}"
                    )
                elif outcome.status == attempt.status and outcome.data is not None:
                    image = read_image(outcome.data)  # as a run reads it
                    images.append(RegeneratedImage(attempt, outcome.data, image))
                elif outcome.status == attempt.status:
                    refused += 1
                elif outcome.status == "ok":
                    unlike.append(f"{where} is called {attempt.status}, and the model makes it")
                else:
                    said = "there" if attempt.status == "ok" else attempt.status
                    unlike.append(
                        f"{where} is called {said}, and when it is tried again it is "
                        f"{outcome.status}{reason}"
                    )
    except T2IBenchError as error:
        found.lacking.append(f"the model cannot generate here: {error}")
    if failed:
        found.lacking.append(f"{len(failed)} images failed here, such as {failed[0]}")
    found.differ(unlike, "images")
    found.count("refused", refused)
    return images


def _quoted(revised_prompt: str | None) -> str:
    return "as it is" if revised_prompt is None else f"'{shown(revised_prompt)}'"
