"""Sentences on how a run differs from the study of a paper."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from t2ibench.apps.papers.paper import Paper
from t2ibench.models.generators import ALIASES
from t2ibench.results.schema import Results, TaskResult

# Settings that a model really used, by the name of the argument that asks for them.
_USED = {
    "steps": ("num_inference_steps",),
    "guidance": ("guidance_scale",),
    "size": ("height", "width"),
}
_READERS = ("encoder", "judge")


def differences(
    paper: Paper, results: Results, tasks: Mapping[str, TaskResult | None]
) -> list[str]:
    """Return sentences on how a run differs from its paper, in model, sizes and missing parts."""
    there = {name: task for name, task in tasks.items() if task is not None}
    lines = [*_model(paper, results), *_other_readers(paper, list(there.values()))]
    # Tasks may differ among themselves.
    lines += dict.fromkeys(
        line for task in there.values() for line in _sizes(paper, task)
    )
    missing = [name for name in tasks if name not in there]
    if missing:
        lines.append(f"Not measured here: {', '.join(missing)}.")
    for name, task in there.items():
        lines += _missing_parts(name, task)
    return [*lines, *paper.file.differs]


def _other_readers(paper: Paper, tasks: Collection[TaskResult]) -> Iterator[str]:
    """Yield a sentence for encoders, and one for judges, that are not those of the paper."""
    for kind in _READERS:
        wanted, here = _readers(paper, tasks, kind)
        if wanted and here and set(wanted) != set(here):
            named = f"{kind}s" if max(len(here), len(wanted)) > 1 else kind
            yield f"{named.capitalize()}: {', '.join(here)} here, {', '.join(wanted)} in the paper."


def _missing_parts(name: str, task: TaskResult) -> Iterator[str]:
    """Yield sentences on a task's missing score, excluded images and prompts without images."""
    if task.reason:
        yield f"{name} has no score: {task.reason}."
    if n_excluded := sum(task.excluded.values()):
        reasons = [
            f"{count} {status}"
            for status, count in sorted(task.excluded.items())
            if count
        ]
        yield f"{name} is without {n_excluded} images ({', '.join(reasons)})."
    if task.missing_prompts:
        yield f"{name} is without {len(task.missing_prompts)} of its prompts."


def incomparable(paper: Paper, tasks: Collection[TaskResult]) -> str:
    """Return a sentence on why a run's numbers cannot be compared with the paper's; "" if they can.

    Another model is what `reproduce` compares. Another encoder or judge measures in another unit,
    and other stimuli are another test.

    Args:
        paper: The paper.
        tasks: The results that an exhibit is built of.

    Returns:
        The sentence; empty where the numbers may be compared.
    """
    reasons = []
    for kind in _READERS:
        wanted, here = _readers(paper, tasks, kind)
        if wanted and here and set(wanted) != set(here):
            reasons.append(
                f"the images were read by {', '.join(here)}, not {', '.join(wanted)}"
            )
    limits = [task.settings.limit for task in tasks if task.settings.limit is not None]
    if limits:
        reasons.append(
            f"only the first {min(limits)} stimuli of each concept were taken"
        )
    if not reasons:
        return ""
    return f"No difference is taken, for the numbers are not on one scale: {'; '.join(reasons)}."


def _readers(
    paper: Paper, tasks: Collection[TaskResult], kind: str
) -> tuple[list[str], list[str]]:
    """Return the names of the paper's encoders or judges, then of those that the tasks used."""
    asked = paper.file.preset.settings.get(kind) or []
    wanted = [asked] if isinstance(asked, str) else list(asked)
    here = [name for task in tasks for name in getattr(task.settings, f"{kind}s")]
    return wanted, list(dict.fromkeys(here))


def _model(paper: Paper, results: Results) -> Iterator[str]:
    """Yield sentences on how the run's model and its settings differ from the paper's."""
    preset = paper.file.preset
    model = results.model
    alias = ALIASES.get(model.name or "")
    if preset.model not in {model.name, str(alias.source) if alias else None}:
        yield f"Model: {model.name} here, {preset.model} in the paper."
    asked = model.settings
    used = model.effective_settings
    for name, value in preset.model_args.items():
        # What was really used takes precedence over what was asked for.
        used_values = [used[key] for key in _USED.get(name, (name,)) if key in used]
        used_values = used_values or ([asked[name]] if name in asked else [])
        here = list(dict.fromkeys(map(_plain, used_values)))
        if not here:
            yield f"{name}: {value} in the paper; not known of this model."
        elif here != [_plain(value)]:
            yield f"{name}: {' x '.join(here)} here, {value} in the paper."


def _plain(value: object) -> str:
    """Return a setting as text, so that equal numbers such as 7 and 7.0 read the same."""
    try:
        return f"{float(str(value)):g}"
    except ValueError:
        return str(value)


def _sizes(paper: Paper, task: TaskResult) -> Iterator[str]:
    """Yield sentences on where numbers of images or permutations differ from the paper's."""
    measured = task.settings
    number = "that number" if measured.images_per_prompt else "the paper's number"
    if measured.images_per_prompt is not None:
        guided = measured.guided_images_per_prompt or measured.images_per_prompt
        also = (
            f", {guided} with an attribute"
            if guided != measured.images_per_prompt
            else ""
        )
        yield f"Images: {measured.images_per_prompt} of each prompt{also}."
    if measured.times != 1:
        yield f"Images: {measured.times:g} times {number}, rounded up."
    if measured.limit is not None:
        yield f"Only the first {measured.limit} stimuli of each concept."
    draws = paper.file.preset.settings.get("n_permutations")
    if draws not in {None, measured.n_permutations}:
        yield f"Permutations: {measured.n_permutations} here, {draws} in the paper."
