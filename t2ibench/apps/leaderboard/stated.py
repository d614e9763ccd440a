"""What a submission states of how it was made: compared where it can be, else marked as stated."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.pools import same_but_for_captions
from t2ibench.models.adapter import Sizes
from t2ibench.models.generators import ALIASES, GENERATORS, can_regenerate
from t2ibench.models.protocols import Generator
from t2ibench.results.schema import Results, TaskResult
from t2ibench.settings import Measurement, RunSettings, Settings, flag_names, flags, read_settings
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.kept import kept_task
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

# What no verification can tell, and what only the model can.
ALWAYS_STATED = ("environment", "t2ibench")
OF_THE_MODEL = ("revision", "settings", "effective_settings")
_LONGEST_COMMAND = 20_000  # characters


def settings_of(command: Sequence[str]) -> RunSettings:
    """Read a stored command, which must be spelt as t2ibench spells it."""
    words = list(command)
    unlike = T2IBenchError(
        f"its command is not one that t2ibench writes: {_short(' '.join(words))}",
        "Pack the run again: `t2ibench leaderboard add RUN`.",
    )
    if words[:2] != ["t2ibench", "run"] or sum(map(len, words)) > _LONGEST_COMMAND:
        raise unlike
    fields = {flag_names(name, flag)[0]: name for name, _, flag in flags() if flag.decides}
    values: dict[str, Any] = {}
    rest = iter(words[2:])
    for word in rest:
        option, joined, text = word.partition("=")
        name = fields.get(option)
        if name is None or name in values or name == "include_path":
            raise unlike
        text = text if joined else next(rest, "")
        try:
            values[name] = _typed(name, text)
        except ValueError:
            raise unlike from None
    settings = read_settings(values, "its command: ")
    if settings.command() != words:
        raise unlike
    return settings


def _typed(name: str, text: str) -> Any:
    """A word of a command as its setting takes it; every measurement is a number."""
    field = Measurement.model_fields.get(name)
    if field is None:
        return text
    return float(text) if isinstance(field.default, float) else int(text)


def command_problems(
    command: RunSettings,
    manifest: Manifest,
    tasks: Collection[str],
    settings: Settings,
    sizes: Sizes | None,
) -> Iterator[str]:
    """What the command says otherwise than the rest of the submission."""
    if command.model != manifest.model or command.model_args != manifest.model_args:
        yield "its command names another model, or other arguments, than submission.json"
    for kind, named, known in (
        ("encoder", command.encoder, manifest.encoders),
        ("judge", command.judge, manifest.judges),
    ):
        # A judge may get a longer name than was asked for, and a path becomes its last part.
        if sorted(map(_kind, named)) != sorted(map(_kind, known)):
            yield f"its command names other {kind}s than submission.json"
    if command.judge_args and not command.judge:
        yield "its command gives arguments to judges that it does not name"
    if command.control_encoder == "none" and manifest.controls:
        yield "its command leaves out the control of random weights, and submission.json has one"
    for field in Measurement.model_fields:
        said, done = getattr(command, field), getattr(settings, field)
        if said is None and field.endswith("images_per_prompt") and not command.images_per_prompt:
            if sizes is None:
                continue
            said = getattr(sizes, field) if sizes.images_per_prompt else None
        if said != done:
            yield f"its command says {field} = {said}, its results say {done}"
    named_tasks = {
        task.id
        for task in load_tasks(command.tasks, ())
        if task.spec.awaits is None or task.spec.awaits.name in command.captions
    }
    if set(tasks) - named_tasks:
        yield f"its command does not name {min(set(tasks) - named_tasks)}, which it was scored on"
    absent = named_tasks - set(tasks)
    if absent and manifest.t2ibench == __version__:
        yield f"its command names {len(absent)} tasks that it has no results of, such as " + min(
            absent
        )


def with_captions(shipped: LoadedTask, folder: Path, result: TaskResult) -> LoadedTask | str:
    """A task that ships no captions, with those that a submission keeps."""
    kept = kept_task(shipped, folder)
    if kept is None or not same_but_for_captions(kept.spec, shipped.spec):
        return f"{shipped.id} lacks its captions, or they are of another version of the task"
    if result.pool != kept.spec.drawn_from:
        return f"{shipped.id} names other captions than the file of its own that it is sent with"
    return kept


def _kind(name: str) -> str:
    return name.partition(":")[0]


def sizes_of(model: str) -> Sizes | None:
    """How many images a model makes by default, where that is known without making it."""
    name = model.removeprefix("diffusers:")
    if model not in GENERATORS and name in ALIASES:
        return ALIASES[name].sizes
    kind = _kind(model)
    if kind in GENERATORS:
        return Sizes() if GENERATORS.origin(kind) == "t2ibench" else None
    return None if ":" in model else Sizes()


def manifest_problems(manifest: Manifest, results: Results) -> Iterator[str]:
    """What submission.json and results.json say differently of the model, and of themselves."""
    model = results.model
    if model.fingerprint != manifest.fingerprint or model.name != manifest.name:
        yield "results.json and submission.json name different models"
    if model.revision != manifest.revision:
        yield "results.json and submission.json name different revisions of the model"
    named = any(word.partition("=")[0] == "--rewriter" for word in results.command)
    if named != (model.rewriter is not None):
        yield "its command and results.json disagree on whether prompts were rewritten"
    if results.t2ibench != manifest.t2ibench:
        yield "results.json and submission.json name different versions of t2ibench"
    if not can_regenerate(manifest.model):
        yield f"'{manifest.model}' is not a model: where its images come from is not known"
    if sum(map(len, (*results.environment, *results.environment.values()))) > 5000:
        yield "its environment is too long"


def task_problems(results: Results, tasks: Mapping[str, LoadedTask]) -> Iterator[str]:
    """What results say of a task that its file says otherwise; nothing is recomputed."""
    for name, task in results.tasks.items():
        spec = tasks[name].spec
        published = [value.model_dump(mode="json") for value in spec.published]
        said = (task.method, task.family, task.title, task.notes, task.published)
        if said != (spec.method, spec.method, spec.title, list(spec.notes), published):
            yield f"{name} is described otherwise than its task file does"


def model_problems(results: Results, generator: Generator) -> Iterator[str]:
    """What a submission states of its model, and the model, made here, says otherwise."""
    if results.model.revision != generator.revision:
        yield (
            f"it names revision {results.model.revision} of the model; its fingerprint is that of "
            f"{generator.revision}"
        )
    own = json.loads(json.dumps(dict(generator.settings)))
    if results.model.settings != own:
        yield f"it names the settings {_short(results.model.settings)}; the model has {_short(own)}"


def effective_problems(stated: Mapping[str, Any], effective: Mapping[str, Any]) -> Iterator[str]:
    """Settings that a model used here otherwise than a submission states."""
    own = json.loads(json.dumps(dict(effective)))
    for key, value in stated.items():
        if key not in own or own[key] != value:
            yield f"it states {key} = {_short(value)}; the model uses {_short(own.get(key))}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    return printable if len(printable) <= 120 else printable[:117] + "..."
