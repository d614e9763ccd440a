"""Pictures that a submission may show: chosen by a rule, small, decoded by a limited process.

A submitter can show pictures or none, and never choose of which images. They are JPEGs of at most
256 pixels a side, named by the SHA-256 of the image that they are said to show. Whether they do is
checked where the image is made again, and the site says of all others that it was not. It never
passes on a stranger's file: a process with bounds on its memory and time decodes each, and
what is shown is encoded anew.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.apps.leaderboard.bounded_process import answer_of
from t2ibench.apps.leaderboard.picture_encoding import QUALITY, SIDE
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import can_regenerate
from t2ibench.pipeline.plan import Plan
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.pixels import (
    looks_like_one,
    perceptual_hash,
    read_image,
    thumbnail,
)

if TYPE_CHECKING:
    from t2ibench.apps.leaderboard.regenerate import RegeneratedImage

MOST = 24  # pictures of a submission
LARGEST = 60_000  # bytes of a file
FOLDER = "pictures"
RULE = f"up to {MOST} of all images, drawn test by test by a hash of the model"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a submission, encoded by this process.

    Attributes:
        sha256: SHA-256 of the image that it is said to show, as the submission records it.
        prompt: What the image was made from.
        tasks: The ids of the tests that use the image.
        data: The bytes of a JPEG.
    """

    sha256: str
    prompt: str
    tasks: tuple[str, ...]
    data: bytes


def file_on_site(submission: str, sha256: str) -> str:
    """Return where a picture of a submission is, below the folder of the leaderboard's site."""
    return f"{FOLDER}/{submission}/{sha256}.jpg"


def file_of(sha256: str) -> str:
    """Return the file in which a submission holds the picture of an image."""
    return f"{FOLDER}/{sha256}.jpg"


def chosen(plan: Plan, images: ImageStore, fingerprint: str) -> dict[str, Attempt]:
    """Return the images of which a submission shows pictures, by their SHA-256.

    Every test gives an image in turn, in an order that a hash of the model and of the image
    decides.
    """
    queues = []
    for task in plan.tasks:
        counts = plan.needs[task.id].images_by_prompt
        attempts = [
            attempt
            for prompt, count in counts.items()
            for attempt in images.first(prompt, count)
            if attempt is not None and attempt.status == "ok"
        ]
        queues.append(
            sorted(attempts, key=lambda attempt: _place(attempt, fingerprint))
        )
    by_sha256: dict[str, Attempt] = {}
    for round_of_tests in zip_longest(*queues):
        for attempt in round_of_tests:
            if len(by_sha256) == MOST:
                return by_sha256
            if attempt is not None and attempt.sha256:
                by_sha256.setdefault(attempt.sha256, attempt)
    return by_sha256


def _place(attempt: Attempt, fingerprint: str) -> str:
    text = f"picture\0{fingerprint}\0{attempt.index}\0{attempt.prompt}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def pack_pictures(
    plan: Plan, images: ImageStore, fingerprint: str, target: Path
) -> list[str]:
    """Write the pictures of a run into a submission's folder, and return their names.

    Raises:
        T2IBenchError: the file of an image is missing.
    """
    names = []
    (target / FOLDER).mkdir(parents=True, exist_ok=True)
    for sha256, attempt in chosen(plan, images, fingerprint).items():
        name = file_of(sha256)
        try:
            data = thumbnail(images.image(attempt).data(), SIDE, QUALITY)
        except (OSError, UnreadableImageError) as error:
            raise T2IBenchError(
                f"The image {attempt.index} of '{attempt.prompt}' cannot be shown: {error}.",
                "Leave --pictures out, or complete the run.",
            ) from None
        (target / name).write_bytes(data)
        names.append(name)
    return names


def read_pictures(
    folder: Path, manifest: Manifest, plan: Plan, images: ImageStore
) -> list[Picture]:
    """Return a submission's pictures, encoded anew; none where it shows none.

    Raises:
        T2IBenchError: it may not show any, it shows others than the rule chooses, or one of them
            is not a small JPEG.
    """
    names = sorted(name for name in manifest.files if name.startswith(f"{FOLDER}/"))
    if not names:
        return []
    wanted = chosen(plan, images, manifest.fingerprint)
    _check_permission(manifest)
    if names != sorted(map(file_of, wanted)):
        raise T2IBenchError(
            "its pictures are not those that the rule chooses: pack the run again"
        )
    for name in names:
        if (folder / name).stat().st_size > LARGEST:
            raise T2IBenchError(f"{name} has more than {LARGEST:,} bytes")
    try:
        encode = "t2ibench.apps.leaderboard.picture_encoding:encode"
        answered = answer_of(encode, folder, names)
    except T2IBenchError as error:
        raise T2IBenchError(f"a picture {error}") from None
    if isinstance(answered, str):
        raise T2IBenchError(answered)
    tests = _tests_of(plan)
    return [
        Picture(
            sha256=sha256,
            prompt=attempt.prompt,
            tasks=tests.get(attempt.prompt, ()),
            data=base64.b64decode(answered[file_of(sha256)]),
        )
        for sha256, attempt in wanted.items()
    ]


def _check_permission(manifest: Manifest) -> None:
    """Raise an error if a submission does not say who may see its pictures."""
    if manifest.card.pictures is None:
        raise T2IBenchError(
            "it has pictures and names no licence for them (--pictures LICENCE)"
        )
    if not can_regenerate(manifest.model):
        raise T2IBenchError(
            "it has pictures of images that no model made here: who is in them, and whether they "
            "agreed, is not known"
        )


def _tests_of(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """Return the ids of the tests that use the images of each prompt."""
    tests: dict[str, tuple[str, ...]] = {}
    for task in plan.tasks:
        for prompt in plan.needs[task.id].images_by_prompt:
            tests[prompt] = (*tests.get(prompt, ()), task.id)
    return tests


def regenerated_pictures(
    pictures: Sequence[Picture], images: Sequence[RegeneratedImage]
) -> Iterator[tuple[Picture, RegeneratedImage]]:
    """Yield each picture of which the image was made again, with that image."""
    by_sha256 = {picture.sha256: picture for picture in pictures}
    for image in images:
        picture = by_sha256.get(image.attempt.sha256 or "")
        if picture is not None:
            yield picture, image


def unlike_pictures(
    pictures: Sequence[Picture], images: Sequence[RegeneratedImage]
) -> Iterator[str]:
    """Yield a message for each picture that shows something else than the model makes."""
    for picture, image in regenerated_pictures(pictures, images):
        here = thumbnail(image.image.data(), SIDE, QUALITY)
        row, shown_row = (
            perceptual_hash(read_image(data)) for data in (here, picture.data)
        )
        if not looks_like_one(shown_row, row[None]):
            yield f"the picture of {image} shows something else than the model makes here"
