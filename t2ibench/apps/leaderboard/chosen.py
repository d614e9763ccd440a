"""Who chose what a submission measured: whether it keeps to a plan, and its seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from t2ibench.apps.leaderboard.bounds import read_json
from t2ibench.apps.leaderboard.regenerate import on_server
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.decisions.departures import departures
from t2ibench.decisions.plan import read_plan
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import GENERATORS, can_regenerate
from t2ibench.results.schema import Results
from t2ibench.settings import derived_seed

PLAN = "plan.json"
CHOSEN_BY_SUBMITTER = "settings chosen by the submitter"
# Some servers take no seed, and what one does with it cannot be seen from its images.
SEED_OF_SERVER = "a seed was asked for; whether the server used it is not known"


def choice_of_settings(manifest: Manifest, results: Results) -> str:
    """Return who chose what was measured: a plan that the results keep to, or the submitter.

    When a plan was written is not known here: it names no model, and a run in an empty folder
    keeps to a plan that was written for the best of many runs.
    """
    registered = results.registered_plan
    if PLAN not in manifest.files or registered is None:
        return CHOSEN_BY_SUBMITTER
    return f"keeps to plan {registered.sha256[:12]}; when it was written is not checked"


def choice_of_seed(manifest: Manifest, results: Results) -> str:
    """Return where the seed of a submission's images comes from."""
    if not can_regenerate(manifest.model):
        return "images that existed already: their seeds are not known"
    if on_server(GENERATORS, manifest.model):
        return SEED_OF_SERVER
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
