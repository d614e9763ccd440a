"""Which settings differ between several runs, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from t2ibench.errors import shown
from t2ibench.methods.core.describe import listed
from t2ibench.results.differences import flat_settings, value_in_words
from t2ibench.results.schema import Results

# Runs that a sentence names; of others it says how many they are.
_NAMED = 4
# Characters of a name in a sentence.
_WIDTH = 40


def setting_differences(runs: Sequence[Results], names: Sequence[str]) -> Iterator[str]:
    """Yield a clause for each setting in which runs differ, with its value in each of them.

    Args:
        runs: The runs.
        names: What they are called, in the same order.

    Yields:
        Such as 'steps: 4 in first and second; 8 in third'.
    """
    settings_of_runs = [_settings_of(results) for results in runs]
    if [settings["model"] for settings in settings_of_runs] == list(names):
        # The names of the runs say it.
        for settings in settings_of_runs:
            settings.pop("model")
    keys = dict.fromkeys(key for settings in settings_of_runs for key in settings)
    for key in keys:
        values = [settings.get(key) for settings in settings_of_runs]
        yield from _clause(key, values, names)
    yield from _library_differences(runs, names)


def _library_differences(
    runs: Sequence[Results], names: Sequence[str]
) -> Iterator[str]:
    """Yield a clause for each library of which runs with it have different versions."""
    libraries = [results.model.libraries for results in runs]
    for library in sorted({name for versions in libraries for name in versions}):
        having = [
            number for number, versions in enumerate(libraries) if library in versions
        ]
        versions = [libraries[number][library] for number in having]
        named = [names[number] for number in having]
        yield from _clause(f"version of {library}", versions, named)


def _clause(name: str, values: Sequence[object], runs: Sequence[str]) -> Iterator[str]:
    """Yield a clause on a setting if its values differ between runs."""
    runs_by_value: dict[str, list[str]] = {}
    for run, value in zip(runs, values, strict=True):
        words = value_in_words(value)
        runs_by_value.setdefault(words, []).append(shown(run, _WIDTH))
    if len(runs_by_value) > 1:
        clauses = [
            f"{words} in {listed(members, _NAMED)}"
            for words, members in runs_by_value.items()
        ]
        yield f"{name}: {'; '.join(clauses)}"


def _settings_of(results: Results) -> dict[str, object]:
    """Return the settings of a run that may change what its images show or how they are read."""
    model = results.model
    rewriter = model.rewriter
    tasks = results.tasks.values()
    measured = [task.settings for task in tasks]
    return {
        "model": model.name,
        "weights": model.revision,
        "rewriter": None if rewriter is None else rewriter.name,
        **flat_settings(model.settings),
        "images a prompt": _joined(task.images_per_prompt for task in measured),
        "limit": _joined(task.limit for task in measured),
        "seed of the statistics": _joined(task.seed for task in measured),
        "confidence level": _joined(task.level for task in measured),
        "encoders": _joined(name for task in measured for name in task.encoders),
        "judges": _joined(name for task in measured for name in task.judges),
        "version of t2ibench": results.t2ibench,
    }


def _joined(values: Iterable[object]) -> str | None:
    """Return the distinct values as text; None where there is none, or only None."""
    texts = sorted({str(value) for value in values if value is not None})
    return ", ".join(texts) or None
