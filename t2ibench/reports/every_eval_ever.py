"""The writer `every-eval-ever`: a run as a record of the Every Eval Ever schema, version 0.3.0.

The schema is at https://github.com/evaleval/every_eval_ever (MIT). A record is about one model and
holds one score a test. Its consumers sort scores by `lower_is_better`, which a signed lean has not:
the score is how far images lean, whichever way, and the lean itself is among the details.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import GENERATORS
from t2ibench.models.generators.aliases import ALIASES
from t2ibench.models.locations import is_hub_id
from t2ibench.reports.files import digest, task_files
from t2ibench.reports.hub_metadata import decided
from t2ibench.reports.writers import Table
from t2ibench.results.display import task_rows
from t2ibench.results.gates import magnitude
from t2ibench.results.record import RunRecord
from t2ibench.results.run import open_run
from t2ibench.results.schema import Results, TaskResult

SCHEMA = "0.3.0"
_METRICS = {
    "lean": ("lean_magnitude", "how far images lean, either way; 0 is balanced, 1 all one side"),
    "mean_square": ("rms_lean", "root mean square lean of several items; 0 is balanced"),
    "excess": ("excess", "how much further concepts lean than everyday words"),
}
_OLD = ("magnitude", "magnitude of the bias, above 0 by chance")
_SERVED = ("openai:", "hf:", "litellm:")
Json = dict[str, Any]


class EveryEvalEverWriter:
    """See `t2ibench.reports.writers.Writer`."""

    description = "a record of the Every Eval Ever schema (JSON)"
    suffix = "json"

    def table(self, table: Table) -> str:
        """A table that is no run's: its records as JSON."""
        rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
        records = [dict(record) for record in table.records] or rows
        return json.dumps(records, indent=1, ensure_ascii=False) + "\n"

    def results(self, results: Results) -> str:
        """A run: its tests of images; a run without images, its tests of words."""
        record = None
        if results.folder is not None:
            with contextlib.suppress(T2IBenchError):
                record = open_run(results.folder).record
        return json.dumps(_log(results, record), indent=1, ensure_ascii=False) + "\n"


def _log(results: Results, record: RunRecord | None) -> Json:
    model = _model(results, record)
    when = None  # the run ended, in seconds since 1970
    if record is not None and record.history:
        when = int(record.history[-1].finished.timestamp())
    # Stable, so that the same results are the same evaluation wherever they are sent.
    known = f"{when}" if when is not None else digest(results)[:16]
    evaluation = f"t2ibench/{model['id']}/{known}"
    wanted = {name: task for name, task, _ in decided(results)}
    told = {name: spec.description for name, spec in task_files(results, None).items()}
    left_out = sorted(set(results.tasks) - set(wanted))
    timed = {} if when is None else {"evaluation_timestamp": str(when)}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        **timed,
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "t2ibench",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": _texts(
                {"command": results.command, "results_sha256": digest(results),
                 "left_out": left_out, "limited": results.limited}
            ),
        },
        "eval_library": {
            "name": "t2ibench",
            "version": results.t2ibench,
            "additional_details": _texts(results.environment),
        },
        "model_info": model,
        "evaluation_results": [
            _result(name, task, evaluation, told.get(name), results)
            for name, task in wanted.items()
        ],
    }  # fmt: skip


def _model(results: Results, record: RunRecord | None) -> Json:
    """Who was measured: the generator, or the encoders of a run of words alone."""
    info = results.model
    if info.name is None:
        names = sorted({n for task in results.tasks.values() for n in task.settings.encoders})
        return _described("+".join(names) or "unknown", "unknown", "self_deployed", {})
    generator = record.generator if record else None
    spec = generator.model if generator else info.name
    hub = ALIASES[spec].source if spec in ALIASES else spec
    served = next((prefix for prefix in _SERVED if spec.startswith(prefix)), None)
    details: Json = {"revision": info.revision, "fingerprint": info.fingerprint, "model": spec}
    if info.rewriter is not None:  # what is measured is the two together
        details["rewriter"] = info.rewriter.model_dump(mode="json")
    if served is not None:
        model = _described(info.name, "unknown", "externally_managed", details)
        return {**model, "id": spec[len(served) :], "inference_platform": served[:-1]}
    own = spec in GENERATORS and GENERATORS.origin(spec) == "t2ibench"
    ours = own or isinstance(hub, Path)
    on_hub = is_hub_id(str(hub)) and not ours and record is not None
    availability = "open_weights" if on_hub or ours else "unknown"
    model = _described(info.name, availability, "self_deployed", details)
    if ours or on_hub:
        name = f"t2ibench/{info.name}" if ours else str(hub)
        model |= {"id": name, "developer": name.partition("/")[0]}
    if "diffusers" in info.libraries:
        engine = {"name": "diffusers", "version": info.libraries["diffusers"]}
        model["inference_engine"] = engine
    return model


def _described(name: str, availability: str, deployment: str, details: Mapping[str, Any]) -> Json:
    known = {key: value for key, value in details.items() if value is not None}
    return {
        "name": name,
        "id": name,
        "developer": "unknown",
        "additional_details": {
            "deployment_type": deployment,
            "model_availability": availability,
            **_texts(known),
        },
    }


def _result(
    name: str, task: TaskResult, evaluation: str, about: str | None, results: Results
) -> Json:
    key, meaning = _METRICS.get(task.headline.scale or "", _OLD)
    least = -1.0 if key == "excess" else 0.0
    # Unbiased estimates go beyond the ends by chance, where the schema's validator takes none.
    score, low, high = (
        None if number is None else min(max(number, least), 1.0)
        for number in magnitude(task.headline)
    )
    # The lean itself, and what a reader of it must know.
    columns, (row,) = task_rows(results.model_copy(update={"tasks": {name: task}}))
    details = dict(zip(columns, row, strict=True))
    details = {"headline": details.pop("value"), "shows": details.pop("state"), **details}
    details |= {"excluded": task.excluded, "warnings": task.warnings}
    uncertainty: Json = {"num_samples": task.n_images or task.n_prompts}
    if low is not None and high is not None:
        uncertainty["confidence_interval"] = {
            "lower": low,
            "upper": high,
            "confidence_level": task.settings.level,
            "method": {
                "fixed_prompts": "over images of these prompts",
                "prompt_population": "over prompts",
            }.get(task.headline.question or "", "see t2ibench"),
        }
    return {
        "evaluation_result_id": f"{evaluation}#{name}",
        "evaluation_name": f"t2ibench.{name}",
        "source_data": {
            "dataset_name": task.title,
            "source_type": "other",
            "additional_details": _texts(
                {"task": name, "version": task.version, "sha256": task.task_hash,
                 "method": task.method, "prompts": task.n_prompts}
            ),
        },
        "metric_config": {
            "evaluation_description": " ".join((about or task.title).split()),
            "metric_id": f"t2ibench.{key}",
            "metric_name": meaning,
            "metric_kind": key,
            "metric_unit": "proportion",
            "lower_is_better": True,
            "score_type": "continuous",
            "min_score": least,
            "max_score": 1.0,
            "additional_details": _texts(
                {"encoders": task.settings.encoders, "judges": task.settings.judges}
            ),
        },
        "score_details": {
            "score": score,
            "details": _texts(details),
            "uncertainty": uncertainty,
        },
        "generation_config": {
            "additional_details": _texts(
                {**results.model.settings, **results.model.effective_settings,
                 "seed": task.settings.seed}
            )
        },
    }  # fmt: skip


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as text, which is all the schema takes; what is empty is left out."""
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in values.items()
        if value is not None and value not in ([], {}, "")
    }


WRITER = EveryEvalEverWriter()
