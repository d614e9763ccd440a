"""What a submission states, compared with its evidence or marked as stated only."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.submission import Manifest, without_path
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.generators import can_regenerate
from t2ibench.pipeline.plan import Plan
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.schema import Results, TaskResult
from t2ibench.settings import (
    DERIVED,
    Measurement,
    RunSettings,
    Settings,
    flag_name,
    flags,
    read_settings,
)
from t2ibench.store.answers import ANSWERS_BY, AnswerStore, by_people
from t2ibench.store.images import Attempt, ImageStore

# What only the submitter states: no verification, or only loading the model, can confirm it.
UNCONFIRMED = ("environment", "t2ibench", "revision", "settings", "effective_settings")
_LONGEST_COMMAND = 20_000  # characters
_SHOWN = 5
# At least ten times the differences between processors and versions of numpy and scipy, and one
# Monte Carlo draw that falls on the other side (leaderboard/README.md).
_RELATIVE = 1e-6
_ABSOLUTE = 1e-7
_OF_P = 2e-4
_P_VALUES = frozenset({"p", "p_holm", "p_bh"})
# What is compared of a task. The board shows every other part as the evidence gives it here:
# sentences, what is named among ties, and details, are nobody's claim.
_COMPARED = (
    "headline",
    "scores",
    "by",
    "by_encoder",
    "controls",
    "inconclusive",
    "excluded",
    "n_images",
    "n_prompts",
    "text_image_alignment",
    "prompt_outcomes",
)
_SENTENCES = frozenset({"direction", "reason", "says"})


def settings_of(command: Sequence[str]) -> RunSettings:
    """Return the settings in a stored command, which must read exactly as t2ibench writes it."""
    words = list(command)
    unlike = T2IBenchError(
        f"its command is not one that t2ibench writes: {_short(' '.join(words))}",
        "Pack the run again: `t2ibench leaderboard add RUN`.",
    )
    if words[:2] != ["t2ibench", "run"] or sum(map(len, words)) > _LONGEST_COMMAND:
        raise unlike
    fields = {
        flag_name(name): (name, flag) for name, _, flag in flags() if flag.decides
    }
    values: dict[str, Any] = {}
    remaining = iter(words[2:])
    for word in remaining:
        option, joined, text = word.partition("=")
        name, flag = fields.get(option, ("", None))
        if flag is None or name in values or name == "include_path":
            raise unlike
        if not flag.metavar and not joined:
            values[name] = True
            continue
        values[name] = text if joined else next(remaining, "")
        try:
            values[name] = _number_of(name)(values[name])
        except ValueError:
            raise unlike from None
    settings = read_settings(values, "its command: ")
    if settings.command() != words:
        raise unlike
    return settings


def _number_of(name: str) -> Callable[[str], Any]:
    """Return what makes the value of a setting from its text: of measurements, a number."""
    if name == "batch_size":
        return int
    if name == "seed":
        return _seed
    field = Measurement.model_fields.get(name)
    if field is None:
        return str
    return float if isinstance(field.default, float) else int


def _seed(text: str) -> int | str:
    return text if text == DERIVED else int(text)


def command_problems(
    command: RunSettings, manifest: Manifest, results: Results, settings: Settings
) -> Iterator[str]:
    """Yield a message for each contradiction between the command and the rest of a submission."""
    if command.model != manifest.model or command.model_args != manifest.model_args:
        yield "its command names another model, or other arguments, than submission.json"
    for kind, named, in_manifest in (
        ("encoder", command.encoder, manifest.encoders),
        ("judge", command.judge, manifest.judges),
    ):
        # A judge may get a longer name than was asked for, and a path becomes its last part.
        if sorted(map(_kind, named)) != sorted(map(_kind, in_manifest)):
            yield f"its command names other {kind}s than submission.json"
    for field in Measurement.model_fields:
        in_command = getattr(command, field)
        in_results = getattr(settings, field)
        # A model may have numbers of images of its own, which its command does not say.
        if in_command != in_results and (
            in_command is not None or not field.endswith("images_per_prompt")
        ):
            yield f"its command says {field} = {in_command}, its results say {in_results}"
    yield from _further_problems(command, results)
    if (results.model.rewriter is None) != (command.rewriter is None):
        yield "its command names another rewriter than results.json"


def _further_problems(command: RunSettings, results: Results) -> Iterator[str]:
    """Yield a message for each further setting of which command and results say other values."""
    further = results.further_settings
    if further is None:
        return
    judged = any(task.settings.judges for task in results.tasks.values())
    for field in FurtherSettings.model_fields:
        if field not in RunSettings.model_fields:
            continue
        # The command leaves out arguments that no judge got.
        if field == "judge_args" and not judged:
            continue
        in_command, in_results = getattr(command, field), getattr(further, field)
        if in_command != in_results:
            yield (
                f"its command says {field} = {_short(in_command)}, its results say "
                f"{_short(in_results)}"
            )
    if len(command.judge_check) != len(further.judge_checks):
        yield "its command names another number of checks of judges than its results"


def _kind(name: str) -> str:
    return "answers" if name.startswith(ANSWERS_BY) else name.partition(":")[0]


def manifest_problems(manifest: Manifest, results: Results) -> Iterator[str]:
    """Yield a message for each contradiction about the model in a submission's two JSON files."""
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


def model_problems(
    claimed: Mapping[str, Any], loaded: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a message for each property of a model that differs between `claimed` and `loaded`."""
    loaded = json.loads(json.dumps(dict(loaded)))
    for key, value in claimed.items():
        if key not in loaded or loaded[key] != value:
            yield f"it states {key} = {_short(value)}; the model has {_short(loaded.get(key))}"


def _short(value: Any) -> str:
    return visible(value if isinstance(value, str) else json.dumps(value), 120)


def seed_problems(plan: Plan, images: ImageStore) -> Iterator[str]:
    """Yield a message for the first image whose seed is not the one that the plan requires."""
    for request in plan.requests:
        attempt = images.get(request.key)
        if attempt and attempt.seed != request.seed:
            yield f"image {request.index} of '{request.prompt}' does not have the required seed"
            return


def excess_problems(
    plan: Plan, attempts: Sequence[Attempt], judges: Mapping[str, AnswerStore]
) -> Iterator[str]:
    """Yield a message for evidence that no test uses, which would swell what is counted."""
    needed = {request.key for request in plan.requests}
    others = [attempt for attempt in attempts if attempt.key not in needed]
    if others:
        yield (
            f"it holds images that none of its tests uses ({len(others):,}), such as image "
            f"{others[0].index} of '{shown(others[0].prompt)}'"
        )
    asked = {
        (attempt.sha256, *question)
        for attempt in attempts
        for question in plan.questions_about(attempt.key)
    }
    for name, answers in judges.items():
        excess = sum(
            1
            for answer in answers
            if (answer.image, answer.question, answer.classes) not in asked
        )
        if excess:
            yield f"it holds answers of {name} that none of its tests uses ({excess:,})"


def differences(results: Results, recomputed: Mapping[str, TaskResult]) -> list[str]:
    """Return messages about numbers that differ from the recomputed ones: five, then a count."""
    lines = []
    for name, task in results.tasks.items():
        claimed = task.model_dump(mode="json")
        computed = recomputed[name].model_dump(mode="json")
        for part in _COMPARED:
            lines += [
                f"{name}: {mismatch}"
                for mismatch in _mismatches(claimed[part], computed[part], part)
            ]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return lines[:_SHOWN] + more


def _mismatches(claimed: Any, computed: Any, where: str) -> Iterator[str]:
    key = where.rpartition(".")[2]
    if key in _SENTENCES:
        return
    if key in {"contradicts", "inconclusive"}:
        # Which control contradicts is a sentence; that one does is a state.
        claimed = bool(claimed)
        computed = bool(computed)
    if isinstance(claimed, dict) and isinstance(computed, dict):
        for inner in dict.fromkeys([*claimed, *computed]):
            yield from _mismatches(
                claimed.get(inner), computed.get(inner), f"{where}.{inner}"
            )
    elif (
        isinstance(claimed, list)
        and isinstance(computed, list)
        and len(claimed) == len(computed)
    ):
        for index, (left, right) in enumerate(zip(claimed, computed, strict=True)):
            yield from _mismatches(left, right, f"{where}[{index}]")
    elif not _same(claimed, computed, key):
        yield f"{where} says {_excerpt(claimed)}, the evidence gives {_excerpt(computed)}"


def _same(claimed: Any, computed: Any, key: str) -> bool:
    """Return whether a stated value equals the recomputed one, but for rounding errors."""
    numbers = isinstance(claimed, float | int) and isinstance(computed, float | int)
    if not numbers or float not in {type(claimed), type(computed)}:
        return bool(claimed == computed)
    absolute = _OF_P if key in _P_VALUES else _ABSOLUTE
    return math.isclose(claimed, computed, rel_tol=_RELATIVE, abs_tol=absolute)


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
