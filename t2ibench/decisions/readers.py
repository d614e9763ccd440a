"""Whether the encoders and judges that read a task's images are those that were fixed before."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.models.encoders import embeds_images
from t2ibench.models.judges import name_in_results
from t2ibench.results.display import text_only
from t2ibench.results.judge_checks import only_checks
from t2ibench.results.schema import TaskResult

# The judge that takes an encoder of the run, and has its name in results.
_CLIP = "clip"


def other_encoders(task: TaskResult, fixed: Sequence[str]) -> bool:
    """Return whether a task has an encoder that was not fixed, or lacks one that was.

    Of a task that judges answer, at most one encoder reads the images, and word vectors read no
    images.
    """
    used = set(task.settings.encoders)
    if _is_judged(task):
        return not used <= set(fixed)
    if text_only(task):
        return used != set(fixed)
    return used != {name for name in fixed if embeds_images(name)}


def other_judges(task: TaskResult, fixed: Sequence[str]) -> bool:
    """Return whether a task has a judge that was not fixed, or lacks one that was.

    A task that encoders score needs no judge, or one that checks its guided images.
    """
    judges = list(task.settings.judges)
    if _is_judged(task):
        return not same_judges(judges, fixed)
    return not all(_is_among(judge, fixed) for judge in judges)


def same_judges(used: Sequence[str], fixed: Sequence[str]) -> bool:
    """Return whether judges, by their names in results, are exactly those that users named."""
    are_fixed = all(_is_among(judge, fixed) for judge in used)
    return are_fixed and all(
        any(_stands_for(spec, judge) for judge in used) for spec in fixed
    )


def are_alike(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether users' names are of the same encoders or judges, in any order."""
    return all(
        any(_mean_the_same(name, other) for other in there)
        for here, there in ((some, others), (others, some))
        for name in here
    )


def readers(kind: str, names: Sequence[str]) -> str:
    """Return readers as words.

    Examples:
        >>> readers("judge", []), readers("encoder", ["b", "a"])
        ('no judge', 'the encoders a, b')
    """
    if not names:
        return f"no {kind}"
    plural = "" if len(names) == 1 else "s"
    return f"the {kind}{plural} {', '.join(sorted(names))}"


def fingerprint_key(kind: str, name: str) -> str:
    """Return the key of an encoder or a judge among the fingerprints of a plan.

    Examples:
        >>> fingerprint_key("encoder", "toyland")  # there is a judge of this name, too
        'encoder toyland'
    """
    return f"{kind} {name}"


def _is_judged(task: TaskResult) -> bool:
    """Return whether judges answer what a task asks, and do not only check guided images."""
    return bool(task.settings.judges) and not only_checks(task)


def _is_among(judge: str, fixed: Sequence[str]) -> bool:
    return any(_stands_for(spec, judge) for spec in fixed)


def _mean_the_same(some: str, other: str) -> bool:
    return _stands_for(some, name_in_results(other)) or _stands_for(
        other, name_in_results(some)
    )


def _stands_for(spec: str, judge: str) -> bool:
    """Return whether a judge that a user named so has this name in results."""
    if spec == _CLIP and judge.startswith(f"{_CLIP}:"):
        return True
    return name_in_results(spec) == judge
