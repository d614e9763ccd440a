"""Regenerating images of a submission, chosen by whoever verifies it."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.claims import effective_problems, model_problems
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.apps.leaderboard.thumbs import shows, thumbnails
from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods import needs
from t2ibench.models.generators import GENERATORS, can_regenerate, create_generator
from t2ibench.models.locations import is_path
from t2ibench.models.protocols import Generator, ImageRequest, Releasable, ReportsSettings
from t2ibench.models.resolution import find_registered
from t2ibench.models.rewriters import REWRITERS, Rewriter, create_rewriter
from t2ibench.models.rewriters.file import FileRewriter
from t2ibench.models.rewritten_generator import Rewritten, rewritten
from t2ibench.models.servers import ServerArguments
from t2ibench.pipeline.generation import generate_batch, image_file
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.rewriting import parts_of, requests_of
from t2ibench.pipeline.scoring import Stores
from t2ibench.registry import Registry
from t2ibench.results.schema import Results
from t2ibench.settings import RunSettings, Settings
from t2ibench.store.images import Attempt, ImageStore, StoredImage
from t2ibench.store.rewrites import StoredRewriting
from t2ibench.tasks.loader import LoadedTask

REWRITINGS, FILE_REWRITER = "rewritings.jsonl", "file:"
_SHOWN = 5
_TOLD_APART = Settings(images_per_prompt=2, guided_images_per_prompt=1)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class RegeneratedImage:
    """An image that was generated again.

    Attributes:
        attempt: What the submission says of it.
        image: The image, as a run would store it.
    """

    attempt: Attempt
    image: StoredImage

    @property
    def same_file(self) -> bool:
        """Whether the file is the submission's, to the last byte."""
        return self.image.sha256 == self.attempt.sha256

    def __str__(self) -> str:
        return f"image {self.attempt.index} of '{self.attempt.prompt}'"


@dataclass(slots=True)
class Regeneration:
    """What making evidence again found.

    Attributes:
        problems: What came out otherwise.
        lacking: What could not be made here, and why.
        parts: Kind of evidence to how much of it was made again and is the same.
        compared: Keys of the images that were compared with anything the submission holds.
        confirmed: What was compared and is no longer the submitter's word alone.
        notes: What to know, in sentences.
        chosen: What was chosen to be made again.
    """

    problems: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    parts: dict[str, int] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    chosen: list[Attempt] = field(default_factory=list)

    def differ(self, lines: Sequence[str], what: str, of: int = 0) -> int:
        """Add problems of one kind, the first in full; how many of all are alike."""
        self.problems += lines[:_SHOWN]
        more = len(lines) - _SHOWN
        self.problems += [f"and {more} more {what}"] if more > 0 else []
        return of - len(lines)

    @contextmanager
    def tolerant(self, what: str) -> Iterator[None]:
        """What fails inside cannot be made here, which lowers the verdict and is no problem."""
        try:
            yield
        except T2IBenchError as error:
            self.lacking.append(f"{what}: {error}")

    def confirm(self, name: str, whether: bool = True) -> None:
        """Say that something was compared."""
        self.confirmed |= {name} if whether else set()

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
            attempt = min(left, key=lambda one: one.prompt in prompts)  # the first of a new prompt
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
        found.confirm("rewritings", any(one.revised_prompt is not None for one in chosen))
    images = _generate(generator, chosen, found)
    if images and isinstance(generator, ReportsSettings):
        stated = claims.results.model.effective_settings
        found.problems += effective_problems(stated, generator.effective_settings())
        found.confirm("effective_settings")
    if isinstance(generator, Releasable):
        generator.release()
    shown = [one for one in images if one.attempt.key in pictured]
    for one in shown:
        path = pictured[one.attempt.key]
        if shows(path, one.image.data()):
            found.compared.add(path.stem)
        else:
            found.problems.append(f"thumbs/{path.name} is not {one}, generated again")
    found.confirm("thumbnails", len(shown) == len(pictured))
    if len(shown) < len(pictured):
        found.notes.append(
            f"{len(shown)} of {len(pictured)} thumbnails were compared; the others are as the "
            "submitter gave them"
        )
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
    dtype, generator = results.model.settings.get("dtype"), None
    with found.tolerant("the model cannot be made here"):
        claims.check_paths(manifest.model, manifest.model_args.get("lora", ""))
        generator = create_generator(
            manifest.model,
            manifest.model_args,
            seed=claims.plan.settings.seed,
            dtype=dtype if isinstance(dtype, str) else claims.command.dtype,
            recorded=True,
        )
    if generator is None:
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
    found.confirm("revision")
    found.confirm("settings")
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
    size = max(1, generator.batch_size)
    with found.tolerant("the model cannot generate here"):
        for start in range(0, len(chosen), size):
            batch = chosen[start : start + size]
            requests = [ImageRequest(one.prompt, one.index, one.seed) for one in batch]
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
                    said = "there" if attempt.status == "ok" else attempt.status
                    here = f"when it is tried again it is {outcome.status}"
                    here += f" ({outcome.reason})" if outcome.reason else ""
                    here = "the model makes it" if outcome.status == "ok" else here
                    unlike.append(f"{where} is called {said}, and {here}")
                elif outcome.data is None:
                    found.count("refused", 1)
                else:
                    sha256, place = hashlib.sha256(outcome.data).hexdigest(), attempt.key
                    image = StoredImage(
                        place, sha256, attempt.prompt, attempt.index, content=outcome.data
                    )
                    images.append(RegeneratedImage(attempt, image))
    if failed:
        found.lacking.append(f"{len(failed)} images failed here, such as {failed[0]}")
    found.differ(unlike, "images")
    return images


def _quoted(revised_prompt: str | None) -> str:
    return "as it is" if revised_prompt is None else f"'{shown(revised_prompt)}'"


def rewrite_again(claims: Claims, attempts: Sequence[Attempt], found: Regeneration) -> None:
    """Rewrite the prompts of some images again; what is another rewriting is not verified.

    The text of a language model may differ between processors, so another one lowers the verdict;
    the rewritings of a file are the submission's own, and have to be the same.
    """
    info = claims.results.model.rewriter
    assert info is not None
    with found.tolerant(f"prompts were not rewritten again by {info.name}"):
        rewriter = _rewriter(claims)
        if rewriter.fingerprint != info.fingerprint:
            raise T2IBenchError("the one here has other weights, settings or words.")
        of_file = isinstance(rewriter, FileRewriter)
        name = claims.command.rewriter if of_file else rewriter.name
        # What a file is called is no part of what it says.
        own, stated = ({**one, "file": None} for one in (rewriter.settings, info.settings))
        if (name, rewriter.per, own) != (info.name, info.per, stated):
            found.problems.append("it describes its rewriter otherwise than the rewriter itself")
            return
        asked = [ImageRequest(one.prompt, one.index, one.seed) for one in attempts]
        requests = requests_of(asked, rewriter.per, claims.plan.settings.seed)
        known = {
            (requests[number].prompt, requests[number].index): made
            for part in parts_of(requests, rewriter)
            for number, made in part
        }
        if isinstance(rewriter, Releasable):
            rewriter.release()
        unlike = []
        for one in attempts:
            rewriting = known[one.prompt, one.index if rewriter.per == "image" else None]
            if rewriting.text != one.revised_prompt or rewriting.status == "failed":
                unlike.append(f"image {one.index} of '{one.prompt}' is of another rewriting")
        found.count("rewritings", len(attempts) - len(unlike))
        if of_file:
            found.differ(unlike, "rewritings")
        elif unlike:
            found.lacking.append(f"{len(unlike)} of {len(attempts)} rewritings are others here")
        found.confirm("rewritings", not unlike)


def _rewriter(claims: Claims) -> Rewriter:
    """The rewriter that the submission names; nothing is read that it could choose."""
    spec, args = str(claims.command.rewriter), claims.command.rewriter_args
    if on_server(REWRITERS, spec):
        raise T2IBenchError("it is on a server, which is not called.")
    if any(value.startswith("@") for value in args.values()):
        raise T2IBenchError("what it was asked is in a file that the submission does not hold.")
    if spec.startswith(FILE_REWRITER):
        file = claims.folder / REWRITINGS
        if not file.is_file():
            raise T2IBenchError("the submission does not hold them.")
        return create_rewriter(f"{FILE_REWRITER}{file}", args)
    claims.check_paths(spec)
    return create_rewriter(spec, args, dtype=claims.command.dtype, recorded=True)
