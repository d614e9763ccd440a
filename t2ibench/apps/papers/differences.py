"""What differs between a run and its paper, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from t2ibench.apps.papers.paper import Paper
from t2ibench.models.generators import ALIASES
from t2ibench.results.schema import Results, TaskResult

# Settings that a model really used, by the name of the argument that asks for them.
_USED = {
    "steps": ("num_inference_steps",),
    "guidance": ("guidance_scale",),
    "size": ("height", "width"),
}


def differences(
    paper: Paper, results: Results, tasks: Mapping[str, TaskResult | None]
) -> list[str]:
    """What differs."""
    there = {name: task for name, task in tasks.items() if task is not None}
    lines = [
        *_model(paper, results),
        *_readers(paper, there),
        *_sizes(paper, there),
        *_lacking(paper, tasks),
    ]
    return [*lines, *paper.file.differs]


def _model(paper: Paper, results: Results) -> list[str]:
    preset, model = paper.file.preset, results.model
    lines = []
    alias = ALIASES.get(model.name or "")
    if preset.model not in {model.name, str(alias.source) if alias else None}:
        lines.append(f"Model: {model.name} here, {preset.model} in the paper.")
    asked, used = model.settings, model.effective_settings
    for name, value in preset.model_args.items():
        # What was really used stands before what was asked for.
        found = [used[key] for key in _USED.get(name, (name,)) if key in used]
        if not found and name in asked:
            found = [asked[name]]
        here = list(dict.fromkeys(map(_plain, found)))
        if not here:
            lines.append(f"{name}: {value} in the paper; not known of this model.")
        elif here != [_plain(value)]:
            lines.append(f"{name}: {' x '.join(here)} here, {value} in the paper.")
    return lines


def _plain(value: object) -> str:
    """A setting as text; numbers are alike however they are written."""
    try:
        return f"{float(str(value)):g}"
    except ValueError:
        return str(value)


def _readers(paper: Paper, tasks: Mapping[str, TaskResult]) -> list[str]:
    """Encoders and judges that are not the paper's."""
    lines = []
    for kind, plural in (("encoder", "encoders"), ("judge", "judges")):
        asked = paper.file.preset.settings.get(kind)
        here = list(dict.fromkeys(n for t in tasks.values() for n in getattr(t.settings, plural)))
        wanted = [asked] if isinstance(asked, str) else list(asked or ())
        if wanted and here and set(wanted) != set(here):
            named = plural if max(len(here), len(wanted)) > 1 else kind
            lines.append(
                f"{named.capitalize()}: {', '.join(here)} here, {', '.join(wanted)} in the paper."
            )
    return lines


def _sizes(paper: Paper, tasks: Mapping[str, TaskResult]) -> list[str]:
    """Other numbers of images or draws than the preset's; tasks may differ among themselves."""
    lines: list[str] = []
    for task in tasks.values():
        measured = task.settings
        number = "that number" if measured.images_per_prompt else "the paper's number"
        if measured.images_per_prompt is not None:
            guided = measured.guided_images_per_prompt or measured.images_per_prompt
            also = f", {guided} with an attribute" if guided != measured.images_per_prompt else ""
            lines.append(f"Images: {measured.images_per_prompt} of each prompt{also}.")
        if measured.times != 1:
            lines.append(f"Images: {measured.times:g} times {number}, rounded up.")
        if measured.limit is not None:
            lines.append(f"Only the first {measured.limit} stimuli of each concept.")
        draws = paper.file.preset.settings.get("n_permutations")
        if draws is not None and draws != measured.n_permutations:
            lines.append(f"Permutations: {measured.n_permutations} here, {draws} in the paper.")
    return list(dict.fromkeys(lines))


def _lacking(paper: Paper, tasks: Mapping[str, TaskResult | None]) -> list[str]:
    """Tasks without a result, and images that are left out."""
    lines = []
    missing = [name for name, task in tasks.items() if task is None]
    if missing:
        lines.append(f"Not measured here: {', '.join(missing)}.")
    for name, task in tasks.items():
        if task is None:
            continue
        if task.reason:
            lines.append(f"{name} has no score: {task.reason}.")
        lost = sum(task.excluded.values())
        if lost:
            what = ", ".join(f"{n} {status}" for status, n in sorted(task.excluded.items()) if n)
            lines.append(f"{name} is without {lost} images ({what}).")
        if task.missing_prompts:
            lines.append(f"{name} is without {len(task.missing_prompts)} of its prompts.")
    return lines
