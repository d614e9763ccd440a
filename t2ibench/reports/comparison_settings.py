"""What two runs were made and measured with, setting by setting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from t2ibench.results.differences import flat_settings, value_in_words
from t2ibench.results.prompt_changes import request_of
from t2ibench.results.schema import GeneratorInfo, Results, TaskResult
from t2ibench.store.answers import who_judged

_LETTERS = 12  # of a checksum
NONE = "none"
_UNSET = "not set"
# Settings that repeat what another row says, or that only identify.
_ELSEWHERE = {"request"}


@dataclass(frozen=True, slots=True)
class ComparedSetting:
    """A setting in two runs, as text."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """Return whether the runs differ in it."""
        return self.first != self.second


def compared_settings(first: Results, second: Results) -> list[ComparedSetting]:
    """Return what both runs were made and measured with: model, prompts, images and readers."""
    before = dict(_settings(first, second))
    after = dict(_settings(second, first))
    return [
        ComparedSetting(name, before.get(name, _UNSET), after.get(name, _UNSET))
        for name in _in_common_order(list(before), list(after))
    ]


def _in_common_order(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return all names once; one of the others alone follows what it follows there."""
    ordered = list(names)
    place = 0
    for name in others:
        if name in ordered:
            place = ordered.index(name) + 1
        else:
            ordered.insert(place, name)
            place += 1
    return ordered


def _settings(results: Results, other: Results) -> Iterator[tuple[str, str]]:
    """Yield names and values of a run's settings; of tests, those that the other run has, too."""
    tasks = [task for name, task in results.tasks.items() if name in other.tasks]
    yield from _generation(results.model, request_of(results))
    yield "Tests", _tests(results, other)
    yield from _measurement(tasks)
    yield "t2ibench", results.t2ibench
    versions = {**results.environment, **results.model.libraries}
    yield from sorted(versions.items())
    yield "Checksum of the model", (results.model.fingerprint or "unknown")[:_LETTERS]


def _generation(model: GeneratorInfo, request: str | None) -> Iterator[tuple[str, str]]:
    """Yield what images were generated with."""
    name = model.name or "text encoders alone"
    yield "Model", f"{name} @ {model.revision}" if model.revision else name
    if model.rewriter is not None:
        yield "Rewriter of prompts", model.rewriter.name
        request = None
    else:
        yield "Rewriter of prompts", NONE
    yield "Added to every prompt", request or NONE
    settings = flat_settings(model.effective_settings or model.settings)
    for key, value in sorted(settings.items()):
        if key not in _ELSEWHERE:
            yield key, value_in_words(value)


def _measurement(tasks: Sequence[TaskResult]) -> Iterator[tuple[str, str]]:
    """Yield how many images were measured, and by whom."""
    settings = [task.settings for task in tasks]
    yield "Seed of the run", _each(str(used.seed) for used in settings)
    yield "Images a prompt", _each(_images_per_prompt(task) for task in tasks)
    yield "Images that count", f"{sum(task.n_images for task in tasks):,}"
    yield "Encoders", _readers(used.encoders for used in settings)
    yield "Answered by", _judges(used.judges for used in settings)
    limits = {used.limit for used in settings}
    if limits != {None}:
        yield "Stimuli (--limit)", _each(map(str, limits))


def _each(values: Iterable[str]) -> str:
    """Return the distinct values of a setting as text."""
    return ", ".join(sorted(set(values))) or NONE


def _images_per_prompt(task: TaskResult) -> str:
    count = task.settings.images_per_prompt
    return "as each test says" if count is None else str(count)


def _readers(of_tasks: Iterable[Mapping[str, str]]) -> str:
    readers = {pair for readers in of_tasks for pair in readers.items()}
    return _each(f"{name} {fingerprint[:_LETTERS]}" for name, fingerprint in readers)


def _judges(of_tasks: Iterable[Mapping[str, str]]) -> str:
    """Return who answered; people by name, models with the beginning of their checksum."""
    judges = {pair for judges in of_tasks for pair in who_judged(judges).items()}
    return _each(
        f"{name} {fingerprint[:_LETTERS]}".rstrip() for name, fingerprint in judges
    )


def _tests(results: Results, other: Results) -> str:
    alone = sorted(results.tasks.keys() - other.tasks.keys())
    shared = len(results.tasks) - len(alone)
    plural = "" if shared == 1 else "s"
    text = f"{shared} test{plural} in both"
    return f"{text}, and {', '.join(alone)}" if alone else text
