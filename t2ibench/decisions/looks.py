"""Looks: the sizes at which a run is decided about, and their levels, fixed before the first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from t2ibench.decisions.profile import Profile
from t2ibench.decisions.spending import is_worth, look_levels
from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods import needs
from t2ibench.methods.core.schema import BaseTask
from t2ibench.results.fixed_before import Looks, LooksRecord
from t2ibench.settings import MOST_IMAGES, MOST_TIMES, Measurement, Settings

_MOST_LOOKS = 12
# Settings that say how many images a prompt has, before they are multiplied by `times`.
_NUMBERS = ("images_per_prompt", "guided_images_per_prompt")


def planned_looks(
    profile: Profile, first: int, most: int, measurement: Measurement
) -> LooksRecord:
    """Return the looks of a run: sizes that double, up to the largest, that can decide something.

    Args:
        profile: What is decided.
        first: Images of a prompt at the first look.
        most: The largest number of images of a prompt.
        measurement: How the first look measures; later ones have a multiple of its images.

    Raises:
        T2IBenchError: the largest number is below the first or too large, or there are no images.
    """
    if first < 1:
        raise T2IBenchError(
            "The tasks of the profile need no images, so that there is nothing to look at.",
            "Leave --max-images-per-prompt and --until-decided out.",
        )
    if most < first:
        raise T2IBenchError(
            f"--max-images-per-prompt {most} is below the first look, {first} images a prompt.",
            "Raise it, or lower --images-per-prompt.",
        )
    largest = int(min(first * MOST_TIMES / measurement.times, MOST_IMAGES * MOST_TIMES))
    if most > largest:
        raise T2IBenchError(
            f"--max-images-per-prompt {shown(most)} is too large: a run that begins at {first} "
            f"images a prompt may have at most {largest}.",
            "Lower it, or raise --images-per-prompt.",
        )
    sizes = [first]
    while 2 * sizes[-1] <= most and len(sizes) < _MOST_LOOKS:
        sizes.append(2 * sizes[-1])
    if sizes[-1] < most:
        # A last step of less than a quarter is not worth a look of its own.
        if most < 1.25 * sizes[-1] and len(sizes) > 1:
            sizes.pop()
        sizes.append(most)
    sizes = [size for size in sizes if is_worth(size / most)]
    levels = look_levels([size / most for size in sizes])
    return LooksRecord(
        profile_sha256=profile.sha256,
        images_per_prompt=sizes,
        levels=[float(f"{level:.6g}") for level in levels],
        measurements=[
            measurement.model_copy(update={"times": measurement.times * size / first})
            for size in sizes
        ],
    )


def check_looks(tasks: Iterable[BaseTask], measurement: Measurement) -> None:
    """Check that a run of some tasks may be looked at several times.

    Raises:
        T2IBenchError: one of them edits images.
    """
    for task in tasks:
        if needs(task, Settings.of(measurement)).edits:
            raise T2IBenchError(
                f"{task.id} edits images, and the error of several looks at edits is not known: "
                "their test of few source images is wider than the levels of looks assume.",
                "Fix the number of source images (--images-per-prompt), and decide once: "
                "`t2ibench decide`.",
            )


def level_of(looks: Looks, measured: Sequence[Measurement]) -> float | None:
    """Return the level of the look that results are of, by their size; None if they are of none.

    The record says how many looks there were, but not of which of them results.json is: a run
    that begins again stands at its first look, and another command may have made it larger.

    Args:
        looks: The looks that were fixed before the run.
        measured: How each task of the profile was measured.
    """
    for planned, level in zip(looks.measurements, looks.levels, strict=False):
        if all(_same_size(planned, settings) for settings in measured):
            return level
    return None


def of_no_look(looks: Looks) -> str:
    """Return a clause that says that results have the size of no look."""
    sizes = ", ".join(map(str, looks.images_per_prompt))
    return (
        f"its looks were fixed at {sizes} images a prompt, and these results are of another "
        "number"
    )


def _same_size(planned: Measurement, settings: Measurement) -> bool:
    same_numbers = all(
        getattr(planned, name) == getattr(settings, name) for name in _NUMBERS
    )
    return same_numbers and math.isclose(planned.times, settings.times)


def are_same(some: Looks, others: Looks) -> bool:
    """Return whether looks have the same profile, sizes and levels as others."""
    if some.profile_sha256 != others.profile_sha256:
        return False
    if some.images_per_prompt != others.images_per_prompt:
        return False
    if len(some.levels) != len(others.levels):
        return False
    if len(some.measurements) != len(others.measurements):
        return False
    same_levels = all(map(math.isclose, some.levels, others.levels))
    return same_levels and all(map(_same_size, some.measurements, others.measurements))


def check_same(before: LooksRecord | None, looks: LooksRecord) -> None:
    """Check that a run that was looked at before is looked at by the same design.

    Raises:
        T2IBenchError: its profile, sizes or levels are others.
    """
    if before is not None and not are_same(before, looks):
        sizes = ", ".join(map(str, before.images_per_prompt))
        raise T2IBenchError(
            f"This run was begun with looks at {sizes} images a prompt, or by another profile.",
            "Go on with the same command, or give another --name.",
        )
