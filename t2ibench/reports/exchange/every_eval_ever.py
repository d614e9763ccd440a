"""The writer `every-eval-ever`: a run as a record of the EvalEval coalition's schema 0.3.0.

The schema (evaleval/every_eval_ever, every_eval_ever/schemas/eval.schema.json) asks for strings in
every `additional_details`, for both ends of the scale where a score is continuous, and whether
lower is better.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

from t2ibench.reports.edit_counts import edits_counted, prompts_given
from t2ibench.reports.exchange.exported_tests import (
    exported_tests,
    omitted_tests,
    record_of,
    size_of,
    view_of,
)
from t2ibench.reports.files import digest
from t2ibench.reports.json import JsonWriter
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.schema import Results
from t2ibench.results.states import STATES

VERSION = "0.3.0"
_UNKNOWN = "unknown"
_SIZE = (
    "The distance of the signed lean from balance (0); the sign, which says to whom images lean, "
    "is in score_details.details."
)


class EveryEvalEverWriter(JsonWriter):
    """Writes a record for Every Eval Ever (see reports.writers.Writer)."""

    description = f"a record of Every Eval Ever, schema {VERSION}, in JSON"
    suffix = "json"

    def results(self, results: Results) -> str:
        """Return a run's record in the format Every Eval Ever, as JSON text."""
        record = run_record(results)
        # All else in ASCII: what is invisible stays escaped, and any reader reads it.
        return json.dumps(record, ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def run_record(results: Results) -> dict[str, Any]:
    """Return a run as the schema has it: who measured what, and a result for each test."""
    run = view_of(results)
    content = digest(results)
    name = results.model.name or results.title
    record: dict[str, Any] = {
        "schema_version": VERSION,
        # Of the content, so that the same results have the same id.
        "evaluation_id": f"t2ibench/{name.replace('/', '_')}/{content[:16]}",
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": _source(run),
        "eval_library": {
            "name": "t2ibench",
            "version": results.t2ibench,
            "additional_details": _texts({"results_json_sha256": content}),
        },
        "model_info": _model(results, name),
        "evaluation_results": [_result(task, results) for task in exported_tests(run)],
    }
    finished = _finished(results)
    if finished is not None:
        record["evaluation_timestamp"] = finished
    return record


def _finished(results: Results) -> str | None:
    """Return when the last call of a run ended, in seconds since 1970; None if unknown."""
    record = record_of(results)
    if record is None or not record.history:
        return None
    return str(int(record.history[-1].finished.timestamp()))


def _source(run: RunView) -> dict[str, Any]:
    """Return who measured, which a run does not know, and what was left out."""
    omitted = {f"left_out.{name}": reason for name, reason in omitted_tests(run)}
    details = {
        **omitted,
        "limited": run.results.limited,
        "missing": run.results.what_is_missing,
        "command": run.results.command,
    }
    return {
        "source_name": "t2ibench",
        "source_type": "evaluation_run",
        "source_organization_name": _UNKNOWN,
        "evaluator_relationship": "other",
        "additional_details": _texts(details),
    }


def _model(results: Results, name: str) -> dict[str, Any]:
    model = results.model
    details = {
        "revision": model.revision,
        "fingerprint": model.fingerprint,
        "rewriter": model.rewriter.name if model.rewriter else None,
        "libraries": model.libraries,
    }
    return {
        "name": name,
        "id": name,
        "additional_details": {
            **_texts(details),
            "deployment_type": _UNKNOWN,
            "model_availability": _UNKNOWN,
        },
    }


def _result(task: TaskView, results: Results) -> dict[str, Any]:
    """Return the result of one test."""
    measured = task.result
    source = {
        "version": measured.version,
        "task_sha256": measured.task_hash,
        "prompts": prompts_given(measured),
        "edits": edits_counted([measured]) or None,
        "images": measured.n_images,
        "citation": task.spec.citation if task.spec is not None else None,
    }
    sampling = {
        **results.model.settings,
        **results.model.effective_settings,
        "images_per_prompt": measured.settings.images_per_prompt,
        "seed": measured.settings.seed,
    }
    return {
        "evaluation_result_id": f"t2ibench.{task.id}",
        "evaluation_name": f"t2ibench.{task.id}",
        "source_data": {
            "dataset_name": task.id,
            "source_type": "other",
            "additional_details": _texts(source),
        },
        "metric_config": _metric(task),
        "score_details": _score(task),
        "generation_config": {"additional_details": _texts(sampling)},
    }


def _metric(task: TaskView) -> dict[str, Any]:
    mark = task.mark
    size = size_of(mark)
    name = f"size of the {mark.label}" if mark.signed else mark.label
    settings = task.result.settings
    details = {
        "family": task.result.family,
        "explanation": _SIZE if mark.signed else mark.scale.explanation,
        "encoders": settings.encoders,
        "judges": settings.judges,
    }
    return {
        "evaluation_description": task.result.title,
        "metric_id": f"t2ibench.{name.replace(' ', '_')}",
        "metric_name": name,
        "metric_kind": "bias",
        "lower_is_better": True,
        "score_type": "continuous",
        "min_score": _bound(size.least),
        "max_score": _bound(size.most),
        "additional_details": _texts(details),
    }


def _bound(end: float) -> float | str:
    """Return an end of a scale; the schema spells infinity as text."""
    if math.isfinite(end):
        return end
    return "Infinity" if end > 0 else "-Infinity"


def _score(task: TaskView) -> dict[str, Any]:
    """Return the number of a test with its interval, and what it means."""
    mark = task.mark
    head = task.result.headline
    size = size_of(mark)
    uncertainty: dict[str, Any] = {"num_samples": task.result.n_images}
    if size.low is not None and size.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": size.low,
            "upper": size.high,
            "confidence_level": task.result.settings.level,
            "method": f"t2ibench, about {(head.question or _UNKNOWN).replace('_', ' ')}",
        }
    details = {
        "shows": STATES[mark.state].word,
        "in_words": task.sentence,
        "value": mark.value,
        "ci_low": mark.low,
        "ci_high": mark.high,
        "fair_low": mark.fair_low,
        "fair_high": mark.fair_high,
        "p": head.p,
        "p_holm": head.p_holm,
        "excluded": task.result.excluded,
    }
    return {
        "score": size.value,
        "uncertainty": uncertainty,
        "details": _texts(details),
    }


def _texts(details: Mapping[str, object]) -> dict[str, str]:
    """Return details as the schema wants them, all texts; what is not known is left out."""
    texts = {}
    for name, value in details.items():
        if value is None or value in ("", {}, []):
            continue
        is_text = isinstance(value, str)
        texts[name] = str(value) if is_text else json.dumps(value, ensure_ascii=False)
    return texts


WRITER = EveryEvalEverWriter()
