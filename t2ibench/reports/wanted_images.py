"""How many images and prompts a run's tests asked for, and how many images were not made."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.edit_report import edit_report
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.registry import needs
from t2ibench.reports.exclusions import excluded_of
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.run import open_images
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings
from t2ibench.store.distinct import REPEATED
from t2ibench.store.images import ImageStore

MISSING = "missing"
# What a model did instead of making an image.
_NOT_MADE = ("failed", "refused", "filtered")


@dataclass(frozen=True, slots=True)
class WantedImages:
    """Images that a run's tests asked for.

    Attributes:
        total: Number of images.
        not_made: How many of these there are not, by reason.
        once_a_test: Whether an image that several tests ask for is counted for each of them.
    """

    total: int
    not_made: Mapping[str, int] = field(default_factory=dict)
    once_a_test: bool = False

    @property
    def made(self) -> int:
        """Number of images that exist."""
        return self.total - sum(self.not_made.values())


def wanted_images(run: RunView) -> WantedImages:
    """Return how many images a run's tests asked for; those of several count for each of them.

    The results alone tell, as pages of the same results are the same. Only where an image of a
    single test may be missing, or may lack an answer or an embedding, the run's folder tells which.
    """
    if len(run.tasks) == 1:
        return _of_one_test(run)
    by_test = [_of_result(task.result) for task in run.tasks]
    not_made: Counter[str] = Counter()
    for wanted in by_test:
        not_made.update(wanted.not_made)
    total = sum(wanted.total for wanted in by_test)
    return WantedImages(total, not_made, once_a_test=len(by_test) > 1)


def n_prompts(run: RunView) -> int | None:
    """Return of how many prompts, or of tests on words how many texts, the results are.

    Those that several tests share count once; None where that cannot be told, or where images are
    edited rather than made from prompts alone.
    """
    tasks = run.tasks or run.texts
    if any(edit_report(task.result.details) is not None for task in tasks):
        return None
    if len(tasks) == 1:
        return tasks[0].result.n_prompts
    needed = [_needs(task) for task in tasks]
    prompts: set[str] = set()
    for need in needed:
        if need is None:
            return None
        prompts.update(need.images_by_prompt if run.tasks else need.texts)
    return len(prompts)


def _of_one_test(run: RunView) -> WantedImages:
    """Return the images of a run's only test; their total is that of its exclusions."""
    result = run.tasks[0].result
    wanted = _of_result(result)
    if MISSING not in wanted.not_made or result.questions:
        return wanted
    stored = _of_store(run)
    if stored is None or stored.total != wanted.total:
        return wanted
    return stored


def _of_result(result: TaskResult) -> WantedImages:
    """Return the images of one test by its result alone.

    Where people were asked, their questions say how many images there are. Elsewhere 'missing' is
    an image that does not exist, or one without an answer or an embedding.
    """
    total, _ = excluded_of(result)
    not_made = Counter({reason: result.excluded.get(reason, 0) for reason in _NOT_MADE})
    missing = result.excluded.get(MISSING, 0)
    if result.questions:
        distinct = max(question.images for question in result.questions)
        others = not_made.total() + result.excluded.get(REPEATED, 0)
        missing = max(0, total - distinct - others)
    not_made[MISSING] = missing
    return WantedImages(total, +not_made)


def _of_store(run: RunView) -> WantedImages | None:
    """Return the images of a run's only test, as the run's folder has them.

    It is None without the folder, where the test's file is unknown, and where images that the
    results rest on are no longer there: the results stay what they were.
    """
    (task,) = run.tasks
    needed = _needs(task)
    store = _store(run)
    if needed is None or store is None:
        return None
    counts = Counter(
        MISSING if attempt is None else attempt.status
        for prompt, count in needed.images_by_prompt.items()
        for attempt in store.first(prompt, count)
    )
    if counts["ok"] < task.result.n_images:
        return None
    not_made = {reason: counts[reason] for reason in (MISSING, *_NOT_MADE)}
    return WantedImages(counts.total(), +Counter(not_made))


def _needs(task: TaskView) -> Needs | None:
    """Return the evidence that a test asked for; None where its file does not tell."""
    if task.spec is None or task.spec.awaits is not None:
        return None
    with contextlib.suppress(T2IBenchError):
        return needs(task.spec, Settings.of(task.result.settings))
    return None


def _store(run: RunView) -> ImageStore | None:
    """Return the images of the run that results lie beside; None without one."""
    if run.results.folder is None:
        return None
    with contextlib.suppress(T2IBenchError):
        _, images = open_images(run.results.folder)
        return images
    return None
