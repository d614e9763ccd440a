"""What runs were made and measured with, setting by setting: as a table, and as clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from t2ibench.errors import shown
from t2ibench.methods.core.describe import listed
from t2ibench.results.differences import flat_settings, value_in_words
from t2ibench.results.prompt_changes import request_of
from t2ibench.results.schema import GeneratorInfo, Results, TaskResult
from t2ibench.store.answers import who_judged

_LETTERS = 12  # of a checksum
NONE = "none"
_UNSET = "not set"
# Settings that repeat what another row says, or that only identify.
_ELSEWHERE = {"request"}
_MODEL = "Model"
_TESTS = "Tests"
_IMAGES = "Images that count"
_CHECKSUM = "Checksum of the model"
# What follows from the settings, or is in the table of tests: no clause is about it.
_NO_CLAUSE = {_TESTS, _IMAGES, _CHECKSUM}
# Runs that a clause names; of others it says how many they are.
_NAMED = 4
# Characters of a name in a clause.
_WIDTH = 40


@dataclass(frozen=True, slots=True)
class ComparedSetting:
    """A setting in several runs, as text.

    Attributes:
        name: What it is called.
        values: Its value in each run.
    """

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Return whether the runs differ in it."""
        return len(set(self.values)) > 1


def compared_settings(runs: Sequence[Results]) -> list[ComparedSetting]:
    """Return what runs were made and measured with: model, prompts, images and readers."""
    settings_of_runs = [dict(_settings(results, runs)) for results in runs]
    names: Sequence[str] = reduce(_in_common_order, map(list, settings_of_runs))
    return [
        ComparedSetting(
            name, tuple(settings.get(name, _UNSET) for settings in settings_of_runs)
        )
        for name in names
    ]


def setting_clauses(runs: Sequence[Results], names: Sequence[str]) -> Iterator[str]:
    """Yield a clause for each setting in which runs differ, with its value in each of them.

    Args:
        runs: The runs.
        names: What they are called, in the same order.

    Yields:
        Such as 'steps: 4 in first and second; 8 in third'.
    """
    libraries = {name for results in runs for name in _versions(results)}
    for setting in compared_settings(runs):
        # The names of the runs may be those of the models.
        is_said = setting.name == _MODEL and setting.values == tuple(names)
        if not setting.differs or setting.name in _NO_CLAUSE or is_said:
            continue
        runs_by_value: dict[str, list[str]] = {}
        for name, value in zip(names, setting.values, strict=True):
            # A model behind a service has no libraries: that is no other version.
            if not (setting.name in libraries and value == _UNSET):
                runs_by_value.setdefault(value, []).append(shown(name, _WIDTH))
        if len(runs_by_value) > 1:
            clauses = [
                f"{value} in {listed(members, _NAMED)}"
                for value, members in runs_by_value.items()
            ]
            yield f"{setting.name}: {'; '.join(clauses)}"


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


def _settings(results: Results, runs: Sequence[Results]) -> Iterator[tuple[str, str]]:
    """Yield names and values of a run's settings.

    Of tests, those count that another run has, too; all of them where it shares none.
    """
    # A run may be compared with itself: then the other one is the same object.
    counts = Counter(name for run in runs for name in run.tasks)
    shared = [task for name, task in results.tasks.items() if counts[name] > 1]
    tasks = shared or list(results.tasks.values())
    yield from _generation(results.model, request_of(results))
    yield _TESTS, _tests(results, runs)
    yield from _measurement(tasks)
    yield "t2ibench", results.t2ibench
    yield from sorted(_versions(results).items())
    yield _CHECKSUM, (results.model.fingerprint or "unknown")[:_LETTERS]


def _versions(results: Results) -> dict[str, str]:
    """Return the versions of the libraries of a run."""
    return {**results.environment, **results.model.libraries}


def _generation(model: GeneratorInfo, request: str | None) -> Iterator[tuple[str, str]]:
    """Yield what images were generated with."""
    yield _MODEL, shown(model.name or "text encoders alone")
    if model.revision:
        yield "Weights", shown(model.revision)
    if model.rewriter is not None:
        yield "Rewriter of prompts", model.rewriter.name
        request = None
    else:
        yield "Rewriter of prompts", NONE
    yield "Added to every prompt", request or NONE
    settings = flat_settings(model.effective_settings or model.settings)
    for key, value in sorted(settings.items()):
        if key not in _ELSEWHERE:
            yield shown(key, _WIDTH), value_in_words(value)


def _measurement(tasks: Sequence[TaskResult]) -> Iterator[tuple[str, str]]:
    """Yield how many images were measured, and by whom."""
    settings = [task.settings for task in tasks]
    yield "Seed of the run", _each(str(used.seed) for used in settings)
    yield "Images a prompt", _each(_images_per_prompt(task) for task in tasks)
    yield "Confidence level", _each(f"{100 * used.level:g} %" for used in settings)
    yield _IMAGES, f"{sum(task.n_images for task in tasks):,}"
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


def _tests(results: Results, runs: Sequence[Results]) -> str:
    """Return how many tests all runs have, and which others this one has."""
    shared = set.intersection(*(set(run.tasks) for run in runs))
    alone = sorted(results.tasks.keys() - shared)
    plural = "" if len(shared) == 1 else "s"
    where = "in both" if len(runs) == 2 else "in every run"
    text = f"{len(shared)} test{plural} {where}"
    return f"{text}, and {', '.join(alone)}" if alone else text
