"""What a submission claims: compared with its evidence where it can be, else marked as stated."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.submission import Manifest, without_path
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.pools import same_but_for_captions
from t2ibench.models.adapter import Sizes
from t2ibench.models.generators import ALIASES, GENERATORS, can_regenerate
from t2ibench.models.protocols import Generator
from t2ibench.models.rewriters import REWRITERS
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import Stores
from t2ibench.results.schema import Results, TaskResult
from t2ibench.settings import Measurement, RunSettings, Settings, flag_name, flags, read_settings
from t2ibench.store.answers import ANSWERS_BY, by_people
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import LOOKS, Attempt, ImageStore, image_seed
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask
from t2ibench.tasks.run_tasks import kept_task
from t2ibench.version import __version__

# The submitter's word alone: what no verification can tell, and what only the model can.
STATED = ("environment", "t2ibench", "revision", "settings", "effective_settings")
_LONGEST_COMMAND = 20_000  # characters
_SHOWN = 5
# Ten times and more of what was seen between processors and versions of numpy and scipy, and one
# Monte Carlo draw that falls on the other side (leaderboard/README.md).
_RELATIVE, _ABSOLUTE, _OF_P = 1e-6, 1e-7, 2e-4
_P_VALUES = frozenset({"p", "p_holm", "p_bh"})
# What is compared of a task. The board shows every other part as the evidence gives it here:
# sentences, what is named among ties, and details, are nobody's claim.
_COMPARED = (
    "headline", "scores", "by", "by_encoder", "controls", "inconclusive", "excluded", "n_images",
    "n_prompts", "text_image_alignment", "prompt_outcomes",
)  # fmt: skip
_SENTENCES = frozenset({"direction", "reason", "says"})


def settings_of(command: Sequence[str]) -> RunSettings:
    """Read a stored command, which must be spelt as t2ibench spells it."""
    words = list(command)
    unlike = T2IBenchError(
        f"its command is not one that t2ibench writes: {_short(' '.join(words))}",
        "Pack the run again: `t2ibench leaderboard add RUN`.",
    )
    if words[:2] != ["t2ibench", "run"] or sum(map(len, words)) > _LONGEST_COMMAND:
        raise unlike
    fields = {flag_name(name): name for name, _, flag in flags() if flag.decides}
    values: dict[str, Any] = {}
    rest = iter(words[2:])
    for word in rest:
        option, joined, text = word.partition("=")
        name = fields.get(option, "")
        if not name or name in values or name == "include_path":
            raise unlike
        values[name] = text if joined else next(rest, "")
        if field := Measurement.model_fields.get(name):  # every measurement is a number
            try:
                values[name] = (float if isinstance(field.default, float) else int)(values[name])
            except ValueError:
                raise unlike from None
    settings = read_settings(values, "its command: ")
    if settings.command() != words:
        raise unlike
    return settings


def command_problems(
    command: RunSettings, manifest: Manifest, results: Results, settings: Settings
) -> Iterator[str]:
    """What the command says otherwise than the rest of the submission."""
    tasks, sizes = set(results.tasks), _sizes_of(manifest.model)
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
    if more := tasks - named_tasks:
        yield f"its command does not name {min(more)}, which it was scored on"
    absent = named_tasks - tasks
    if absent and manifest.t2ibench == __version__:
        first = min(absent)
        yield f"its command names {len(absent)} tasks that it has no results of, such as {first}"
    yield from _rewriter_problems(command, results)


def _rewriter_problems(command: RunSettings, results: Results) -> Iterator[str]:
    """What the command says otherwise of a rewriter than the results."""
    spec, info = command.rewriter or "", results.model.rewriter
    own = _kind(spec) in REWRITERS and REWRITERS.origin(_kind(spec)) == "t2ibench"
    if (info is not None) != bool(spec) or (info is not None and own and info.name != spec):
        yield "its command names another rewriter than results.json"


def with_captions(shipped: LoadedTask, folder: Path, result: TaskResult) -> LoadedTask | str:
    """A task that ships no captions, with those that a submission keeps."""
    kept = kept_task(shipped, folder)
    if kept is None or not same_but_for_captions(kept.spec, shipped.spec):
        return f"{shipped.id} lacks its captions, or they are of another version of the task"
    if result.pool != kept.spec.drawn_from:
        return f"{shipped.id} names other captions than the file of its own that it is sent with"
    return kept


def _kind(name: str) -> str:
    return "answers" if name.startswith(ANSWERS_BY) else name.partition(":")[0]


def _sizes_of(model: str) -> Sizes | None:
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
    if results.t2ibench != manifest.t2ibench:
        yield "results.json and submission.json name different versions of t2ibench"
    answered = by_people(manifest.judges, manifest.encoders)
    if without_path(manifest.model) != manifest.model:
        yield f"'{manifest.model}' is a path; a submission names a folder's name alone"
    if not can_regenerate(manifest.model) and not answered:
        yield f"'{manifest.model}' is not a model: where its images come from is not known"
    if sum(map(len, (*results.environment, *results.environment.values()))) > 5000:
        yield "its environment is too long"


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
    return visible(value if isinstance(value, str) else json.dumps(value), 120)


def model_row_problems(database: Database, manifest: Manifest) -> Iterator[str]:
    """Evidence of models that submission.json does not name."""
    encoders = [*manifest.encoders.items()]
    encoders += [(one.name, one.fingerprint) for one in manifest.controls.values()]
    known = {("generator", "", manifest.fingerprint)}
    known |= {("encoder", *one) for one in [*encoders, LOOKS]}
    known |= {("judge", *one) for one in manifest.judges.items()}
    for row in database.read("SELECT role, name, fingerprint FROM models ORDER BY role, name"):
        if row not in known:
            yield f"its evidence is of the {row[0]} '{row[1]}', which submission.json does not name"


def attempt_problems(plan: Plan, images: ImageStore) -> Iterator[str]:
    """Images that a task needs and the submission lacks, that none needs, or of a chosen seed."""
    lacking = Counter[str]()
    for request in plan.requests:
        attempt = images.get(request.prompt, request.index)
        if attempt is None:
            lacking[request.prompt] += 1
        elif attempt.seed != image_seed(plan.settings.seed, request.prompt, request.index):
            yield f"image {request.index} of '{request.prompt}' does not have the required seed"
            return
    for prompt, count in islice(lacking.items(), _SHOWN):
        yield f"{count} images of '{prompt}' are missing"
    needed = {(request.prompt, request.index) for request in plan.requests}
    extra = [one for one in images.all_attempts() if (one.prompt, one.index) not in needed]
    if extra:
        yield f"{len(extra)} images belong to no task, such as '{extra[0].prompt}'"


def evidence_problems(plan: Plan, images: ImageStore, stores: Stores) -> Iterator[str]:
    """Evidence that a task needs and the submission lacks, or that cannot be."""
    for request in plan.requests:
        attempt = images.get(request.prompt, request.index)
        if attempt is not None and attempt.sha256:
            yield from _image_problems(plan, attempt, stores)
    for name, one in [*stores.encoders.items(), *stores.controls.items()]:
        control = one is stores.controls.get(name)
        texts = plan.controlled_texts if control else plan.texts_for(one.embeds_images)
        if absent := one.missing("texts", map(text_key, texts)):
            by = f"the control of {name}" if control else name
            yield f"{len(absent)} texts have no embedding by {by}"


def _image_problems(plan: Plan, attempt: Attempt, stores: Stores) -> Iterator[str]:
    where = f"image {attempt.index} of '{attempt.prompt}'"
    sha = attempt.sha256 or ""
    readers: dict[str, EvidenceStore] = {}
    if attempt.index < plan.embedded.get(attempt.prompt, 0):
        readers |= {name: one for name, one in stores.encoders.items() if one.embeds_images}
    if attempt.index < plan.controlled.get(attempt.prompt, 0):
        readers |= {f"the control of {name}": one for name, one in stores.controls.items()}
    for name, encoder in readers.items():
        if not encoder.has("images", sha):
            yield f"{where} has no embedding by {name}"
    for (question, classes), count in plan.questions.get(attempt.prompt, {}).items():
        if attempt.index >= count:
            continue
        for name, judge in stores.judges.items():
            answer = judge.get(sha, question, classes)
            if answer is None:
                yield f"{name} has no answer to '{question}' about {where}"
            elif classes and answer.answer not in {*classes, UNKNOWN}:
                yield f"{name} answers '{question}' about {where} with none of its classes"


def differences(results: Results, recomputed: Mapping[str, TaskResult]) -> list[str]:
    """Numbers of a submission that do not follow from its evidence."""
    lines = []
    for name, task in results.tasks.items():
        claimed, computed = task.model_dump(mode="json"), recomputed[name].model_dump(mode="json")
        for part in _COMPARED:
            lines += [f"{name}: {one}" for one in _mismatches(claimed[part], computed[part], part)]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return lines[:_SHOWN] + more


def _mismatches(claimed: Any, computed: Any, where: str) -> Iterator[str]:
    key = where.rpartition(".")[2]
    if key in _SENTENCES:
        return
    if key in {"contradicts", "inconclusive"}:
        # Which control contradicts is a sentence; that one does is a state.
        claimed, computed = bool(claimed), bool(computed)
    if isinstance(claimed, dict) and isinstance(computed, dict):
        for inner in dict.fromkeys([*claimed, *computed]):
            yield from _mismatches(claimed.get(inner), computed.get(inner), f"{where}.{inner}")
    elif isinstance(claimed, list) and isinstance(computed, list) and len(claimed) == len(computed):
        for index, (left, right) in enumerate(zip(claimed, computed, strict=True)):
            yield from _mismatches(left, right, f"{where}[{index}]")
    elif not _same(claimed, computed, key):
        yield f"{where} says {_excerpt(claimed)}, the evidence gives {_excerpt(computed)}"


def _same(claimed: Any, computed: Any, key: str) -> bool:
    """Whether two values are equal; numbers with a point, nearly."""
    numbers = isinstance(claimed, float | int) and isinstance(computed, float | int)
    if not numbers or float not in {type(claimed), type(computed)}:
        return bool(claimed == computed)
    absolute = _OF_P if key in _P_VALUES else _ABSOLUTE
    return math.isclose(claimed, computed, rel_tol=_RELATIVE, abs_tol=absolute)


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
