"""Who chose what a submission measured: a plan that was fixed before the run, and the seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from t2ibench.apps.leaderboard.bounds import read_json
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.decisions.plan import departures, read_plan
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import can_regenerate
from t2ibench.results.schema import Results
from t2ibench.store.images import derived_seed

PLAN = "plan.json"
CHOSEN_BY_SUBMITTER = "settings chosen by the submitter"


def choice_of_settings(manifest: Manifest, results: Results) -> str:
    """Return who chose what was measured: a plan that came before the images, or the submitter."""
    registered = results.registered_plan
    if PLAN not in manifest.files or registered is None:
        return CHOSEN_BY_SUBMITTER
    return f"plan registered before the images ({registered.sha256[:12]})"


def choice_of_seed(manifest: Manifest, results: Results) -> str:
    """Return where the seed of a submission's images comes from."""
    if not can_regenerate(manifest.model):
        return "images that existed already: their seeds are not known"
    seeds = {task.settings.seed for task in results.tasks.values()}
    if seeds == {derived_seed(manifest.fingerprint)}:
        return "seed derived from the model"
    return f"seed {min(seeds, default=0)} of every model, not derived from this one"


def plan_problems(folder: Path, manifest: Manifest, results: Results) -> Iterator[str]:
    """Yield a message for each reason why a submission must not be shown as planned."""
    if PLAN not in manifest.files:
        return
    registered = results.registered_plan
    if registered is None:
        yield f"it holds {PLAN}, and its results were not made by a plan (run --plan)"
        return
    try:
        read_json(folder / PLAN)
        plan = read_plan(folder / PLAN)
    except (OSError, ValueError) as error:
        yield f"{PLAN} is not a plan: {error}"
        return
    except T2IBenchError as error:
        yield str(error).replace(str(folder / PLAN), PLAN)
        return
    if registered.images_before:
        yield (
            f"its folder held {registered.images_before:,} images before it was run by {PLAN}: "
            "the plan was not fixed before the images"
        )
    if extra := sorted(results.tasks.keys() - plan.tasks.keys()):
        yield f"{PLAN} does not have the task {extra[0]}"
    for clause in departures(plan, plan.profile, results, results.looks):
        yield f"it departs from {PLAN}: {clause}"
