"""Pairs of two runs' images, and whether prompts and seeds are the same, by the runs' records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from t2ibench.identity import ImageKey
from t2ibench.models.generators import can_regenerate
from t2ibench.results.record import GeneratorRecord
from t2ibench.results.run import RunFolder
from t2ibench.store.images import Attempt, ImageStore, in_order

Seeds = Literal["same", "different", "unknown"]


@dataclass(frozen=True, slots=True)
class RecordedImages:
    """The records of one run's images.

    Attributes:
        name: What sentences call the run.
        attempts: Each image that was made, by key, whether or not its file still exists.
        why_unknown: Why nobody knows the seeds of its images; empty where they are recorded.
    """

    name: str
    attempts: Mapping[ImageKey, Attempt]
    why_unknown: str = ""


def recorded_images(name: str, run: RunFolder, store: ImageStore) -> RecordedImages:
    """Return the records of a run's images; `name` is what sentences call the run."""
    attempts = {
        attempt.key: attempt
        for attempt in store.all_attempts()
        if attempt.status == "ok"
    }
    return RecordedImages(name, attempts, why_seeds_are_unknown(run.record.generator))


def why_seeds_are_unknown(generator: GeneratorRecord | None) -> str:
    """Return why the stored seeds say nothing about a generator's images; "" where they do.

    Every image has the seed that the plan gave it. A folder of images never saw that seed, and a
    server may have been asked without it.
    """
    if generator is None or not can_regenerate(generator.model):
        return "existing images"
    used = str(generator.effective_settings.get("seed", ""))
    if generator.settings.get("seed") is False or used.startswith("none"):
        return "a server that got no seed"
    return ""


@dataclass(frozen=True, slots=True)
class ImagePair:
    """An image of each of two runs, of one prompt of a task and with one number.

    Attributes:
        first: The image of the first run.
        second: That of the second.
        seeds: Whether both were made from one seed.
    """

    first: Attempt
    second: Attempt
    seeds: Seeds

    @property
    def same_prompt(self) -> bool:
        """Return whether both models were given the same text, spaces aside."""
        return _given_prompt(self.first).split() == _given_prompt(self.second).split()

    @property
    def same_start(self) -> bool:
        """Return whether prompt and seed are the same, so that only the models differ."""
        return self.same_prompt and self.seeds == "same"

    @property
    def same_file(self) -> bool:
        """Return whether both are the very same image."""
        return self.first.sha256 == self.second.sha256


def _given_prompt(attempt: Attempt) -> str:
    """Return the text that a model was given, as far as it is recorded."""
    return attempt.revised_prompt or attempt.prompt


def pair_images(first: RecordedImages, second: RecordedImages) -> list[ImagePair]:
    """Return the images that two runs share by prompt and number, in that order."""
    is_known = not (first.why_unknown or second.why_unknown)
    shared = [
        first.attempts[key] for key in first.attempts.keys() & second.attempts.keys()
    ]
    pairs = []
    for attempt in in_order(shared):
        other = second.attempts[attempt.key]
        seeds: Seeds = "unknown"
        if is_known:
            seeds = "same" if attempt.seed == other.seed else "different"
        pairs.append(ImagePair(attempt, other, seeds))
    return pairs


def pairs_in_words(
    pairs: Sequence[ImagePair], first: RecordedImages, second: RecordedImages
) -> str:
    """Return sentences on what the images of pairs share besides the prompt of the task."""
    if not pairs:
        return "No image of one has the prompt and the number of an image of the other."
    other_prompts = sum(not pair.same_prompt for pair in pairs)
    other_seeds = sum(pair.seeds == "different" for pair in pairs)
    names_by_reason: dict[str, list[str]] = {}
    for images in (first, second):
        if images.why_unknown:
            names_by_reason.setdefault(images.why_unknown, []).append(images.name)
    why = "; ".join(
        f"{reason}: {' and '.join(names)}" for reason, names in names_by_reason.items()
    )
    sentences = [_prompts_and_seeds(len(pairs), other_prompts, other_seeds, why)]
    same_files = sum(pair.same_file for pair in pairs)
    if same_files:
        where = f"{same_files:,} of {len(pairs):,} pairs"
        if same_files == len(pairs):
            where = "every pair"
        sentences.append(f"In {where} both are the very same image.")
    return " ".join(sentences)


def _prompts_and_seeds(
    count: int, other_prompts: int, other_seeds: int, why: str
) -> str:
    """Return a sentence on prompts and seeds of pairs; `why` seeds are unknown, if they are."""
    seeds = "same seeds"
    if why:
        seeds = f"matched by number; seeds not known ({why})"
    elif other_seeds == count:
        seeds = "other seeds: matched by number"
    elif other_seeds:
        seeds = f"other seeds for {other_seeds:,} of {count:,} pairs"
    if not other_prompts:
        return f"Same prompts, {seeds}."
    share = (
        "every pair"
        if other_prompts == count
        else f"{other_prompts:,} of {count:,} pairs"
    )
    return f"The models were given different texts for {share}; {seeds}."
