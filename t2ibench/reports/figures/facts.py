"""What the figure of a run or test rests on, in a line: who read how many images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from t2ibench.methods.core.answer_counts import ShownAttribute
from t2ibench.methods.core.describe import listed
from t2ibench.reports.edit_counts import edits_counted
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.judge_checks import readable_judge
from t2ibench.results.schema import Results, TaskResult

_NAMED = 3  # encoders or judges


def facts_of_run(run: RunView) -> str:
    """Return who read the images of a run, and how many tests it has."""
    tests = len(run.tasks)
    plural = "" if tests == 1 else "s"
    readers = _readers(task.result for task in run.tasks)
    return " · ".join([*readers, f"{tests} test{plural}"])


def facts_of_task(task: TaskView) -> str:
    """Return who read the images of a test, and how many images and prompts it has."""
    return " · ".join([*_readers([task.result]), _size(task.result)])


def facts_of_answers(task: TaskView, shown: ShownAttribute) -> str:
    """Return who answered one question of a test, about how many images of how many prompts."""
    images = sum(row.images for row in shown.rows)
    rows = len(shown.rows)
    noun = shown.counted.noun
    judges = [readable_judge(name) for name in task.result.settings.judges]
    answered = [f"answered by {listed(judges, _NAMED)}"] if judges else []
    if rows != 1:
        noun = {"stimulus": "stimuli"}.get(noun, f"{noun}s")
    return " · ".join([*answered, f"{round(images):,} images of {rows} {noun}"])


def facts_of_results(results: Results) -> str:
    """Return who read the images of a run, whatever its tests are."""
    return " · ".join(_readers(results.tasks.values()))


def facts_of_runs(runs: Sequence[Results]) -> str:
    """Return who read the images of several runs, and how many runs there are."""
    tasks = [task for results in runs for task in results.tasks.values()]
    return " · ".join([*_readers(tasks), f"{len(runs)} runs"])


def _readers(results: Iterable[TaskResult]) -> list[str]:
    encoders: dict[str, None] = {}
    judges: dict[str, None] = {}
    for result in results:
        encoders.update(dict.fromkeys(result.settings.encoders))
        judges.update(dict.fromkeys(map(readable_judge, result.settings.judges)))
    return [*_named("encoder", list(encoders)), *_named("judge", list(judges))]


def _named(role: str, names: Sequence[str]) -> list[str]:
    """Return a part that names encoders or judges; none if there are none."""
    if not names:
        return []
    plural = "" if len(names) == 1 else "s"
    return [f"{role}{plural} {listed(names, _NAMED)}"]


def _size(result: TaskResult) -> str:
    plural = "" if result.n_prompts == 1 else "s"
    if not result.n_images:
        return f"{result.n_prompts} text{plural}, no image"
    edits = edits_counted([result])
    if edits:
        return f"{result.n_images:,} images: {edits}"
    return f"{result.n_images:,} images of {result.n_prompts} prompt{plural}"
