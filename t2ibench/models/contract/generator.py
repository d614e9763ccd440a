"""The contract of a generator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.models.contract.common import (
    BATCHES,
    ODD_TEXTS,
    Findings,
    Trial,
    call_together,
    is_json,
    is_reordered,
    make_two,
)
from t2ibench.models.protocols import (
    GeneratedImage,
    Generator,
    ImageRequest,
    Releasable,
    ReportsSettings,
)
from t2ibench.store.pixels import read_image

PROMPTS = ("a photo of a nurse", "a photo of a rose", "a person", "a photo of an ant, war")
_STATUSES = ("ok", "refused", "filtered", "failed")
_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "fingerprint": (str,),
    "revision": (str, type(None)),
    "images_per_prompt": (int, type(None)),
    "guided_images_per_prompt": (int, type(None)),
    "batch_size": (int,),
}
_OWN_REQUEST = "an image must depend on its own request only, never on the others in its batch"
Pixels = npt.NDArray[np.int16]


def check_generator(
    make: Callable[[], Generator],
    *,
    make_other: Callable[[], Generator] | None = None,
    prompts: Sequence[str] = PROMPTS,
    pixel_tolerance: int = 0,
) -> list[str]:
    """Try a generator against its contract.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide images; None where there are none.
        prompts: What to generate; for images that exist, prompts that have some.
        pixel_tolerance: Levels of 255 by which an image may differ between batch sizes. 0 compares
            to the byte; 1 allows for neural networks, whose matrix products round differently with
            the number of rows.

    Returns:
        A line for everything that is wrong.
    """
    findings = Findings()
    generator, second = make_two(findings, make, make_other, Generator, _TYPES)
    if generator is None:
        return findings.lines
    findings.require(
        is_json(dict(generator.settings)),
        f"settings is {generator.settings!r}; expected a mapping of JSON values",
    )
    for name in ("images_per_prompt", "guided_images_per_prompt"):
        value = getattr(generator, name)
        findings.require(value is None or value >= 1, f"{name} is {value}; expected 1 or more")
    requests = _requests(findings, generator, prompts)
    if not requests:
        findings.add("no image can be tried: it has none of the prompts (give some with --prompt)")
        return findings.lines
    singly = [_generate(findings, generator, [request], "alone") for request in requests]
    images = [found[0] if found else None for found in singly]
    findings.require(
        any(image is not None for image in images), "none of the prompts gives an image"
    )
    call_together(
        requests,
        lambda part, how: _generate(findings, generator, part, how),
        lambda found, where: _compare(findings, images, found, where, pixel_tolerance),
        "requests",
    )
    _check_odd_prompts(findings, generator)
    if second is not None:
        again = _generate(findings, second, requests[:1], "by a second instance")
        where = "a second instance, made in the same way,"
        _compare(findings, images[:1], again or [], where, 0)
    _check_extras(findings, generator, requests[0], images[0])
    return findings.lines


def _requests(
    findings: Findings, generator: Generator, prompts: Sequence[str]
) -> list[ImageRequest]:
    """Eight requests at most, two samples of each prompt where there are as many."""
    requests = []
    for prompt in prompts:
        number = findings.attempt(f"available({prompt!r})", lambda: generator.available(prompt))  # noqa: B023
        fits = number is None or (isinstance(number, int) and number >= 0)
        if not findings.require(fits, f"available() is {number!r}; expected None or a number"):
            continue
        for index in range(2 if number is None else min(2, number)):
            digest = hashlib.sha256(f"{prompt}\0{index}".encode()).digest()
            requests.append(ImageRequest(prompt, index, int.from_bytes(digest[:6], "big")))
    return requests[: BATCHES[-1]]


def _generate(
    findings: Findings, generator: Generator, requests: list[ImageRequest], how: str
) -> list[Pixels | None] | None:
    """Images of a call, where its results have the right number and types."""
    trial = Trial(findings, "generate", generator.generate, GeneratedImage, "requests", "results")
    results = trial.of(requests, how)
    if results is None:
        return None
    for result in results:
        findings.require(
            result.status in _STATUSES,
            f"status is {result.status!r}; expected one of {', '.join(_STATUSES)}",
        )
        findings.require(
            result.status == "ok" or bool(result.reason),
            f"a result is '{result.status}' without a reason",
        )
    return [_pixels(findings, result) for result in results]


def _pixels(findings: Findings, result: GeneratedImage) -> Pixels | None:
    """The image of a result, shape (h, w, 3); None where there is none."""
    from PIL import Image

    if result.status != "ok":
        return None
    if result.path is not None:
        path = Path(result.path)
        opened = findings.attempt(f"opening {path}", lambda: read_image(path))
        return None if opened is None else np.asarray(opened, dtype=np.int16)
    if not findings.require(
        isinstance(result.image, Image.Image),
        f"a result is 'ok' and its image is a {type(result.image).__name__}; expected a PIL image "
        "or a path",
    ):
        return None
    assert result.image is not None
    findings.require(
        result.image.mode == "RGB", f"an image has the mode {result.image.mode}; expected RGB"
    )
    return np.asarray(result.image.convert("RGB"), dtype=np.int16)


def _compare(
    findings: Findings,
    expected: Sequence[Pixels | None],
    actual: Sequence[Pixels | None],
    where: str,
    tolerance: int,
) -> None:
    """Whether images are the same, and what is wrong where they are not."""
    worst = 0
    for left, right in zip(expected, actual, strict=False):
        if (left is None) != (right is None) or (
            left is not None and right is not None and left.shape != right.shape
        ):
            worst = 256
        elif left is not None and right is not None:
            worst = max(worst, int(np.abs(left - right).max(initial=0)))
    if worst <= tolerance:
        return
    if is_reordered([_key(pixels) for pixels in expected], [_key(pixels) for pixels in actual]):
        findings.add(f"results are not in the order of the requests ({where})")
        return
    size = "are others" if worst > 255 else f"differ by up to {worst} of 255 levels"
    hint = (
        "; if it is a neural network, whose last bit depends on the batch, name 'torch' in the "
        "adapter's libraries"
        if worst == 1
        else ""
    )
    findings.add(f"images in {where} {size} from those made alone: {_OWN_REQUEST}{hint}")


def _key(image: Pixels | None) -> Any:
    return None if image is None else hashlib.sha256(image.tobytes()).hexdigest()


def _check_odd_prompts(findings: Findings, generator: Generator) -> None:
    for what, prompt in ODD_TEXTS.items():
        number = findings.attempt(f"available() for {what}", lambda: generator.available(prompt))  # noqa: B023
        request = ImageRequest(prompt, 0, 7)
        for image in _generate(findings, generator, [request], f"for {what}") or ():
            findings.require(
                number != 0 or image is None,
                f"available() says that no image exists for {what}, but generate() returns one",
            )


def _check_extras(
    findings: Findings, generator: Generator, request: ImageRequest, image: Pixels | None
) -> None:
    """Optional members, where it has them."""
    if isinstance(generator, ReportsSettings):
        used = findings.attempt("effective_settings()", generator.effective_settings)
        if used is not None:
            findings.require(
                is_json(dict(used)), f"effective_settings() is {used!r}; expected JSON values"
            )
    if isinstance(generator, Releasable):
        findings.attempt("release()", generator.release)
        again = _generate(findings, generator, [request], "after release()")
        _compare(findings, [image], again or [], "a call after release()", 0)
