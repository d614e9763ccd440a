"""The writer `model-index`: results as the metadata of a model card on the Hugging Face hub.

`huggingface_hub` makes the metadata, so that it is what the hub reads.
"""

from __future__ import annotations

from typing import Any

import yaml

from t2ibench.errors import visible
from t2ibench.reports.exchange.exported_tests import exported_tests, size_of, view_of
from t2ibench.reports.view import TaskView
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results
from t2ibench.results.states import STATES


class ModelIndexWriter:
    """Writes YAML for the top of a model card (see reports.writers.Writer)."""

    description = "model-index, the metadata of a model card of the hub, in YAML"
    suffix = "yaml"

    def table(self, table: Table) -> str:
        """Return the rows of a table and its notes."""
        rows: list[Any] = [dict(record) for record in table.records]
        if not rows:
            rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
        content = {"rows": rows, "notes": list(table.notes)}
        return _yaml(content)

    def results(self, results: Results) -> str:
        """Return the `model-index` of a run."""
        from huggingface_hub.repocard_data import eval_results_to_model_index

        run = view_of(results)
        rows = [_eval_result(task, results) for task in exported_tests(run)]
        name = results.model.name or results.title
        return _yaml({"model-index": eval_results_to_model_index(name, rows)})


def _eval_result(task: TaskView, results: Results) -> Any:
    """Return one test as huggingface_hub's `EvalResult`."""
    from huggingface_hub import EvalResult

    mark = task.mark
    measured = task.result
    size = size_of(mark)
    conditions = {
        "ci_low": size.low,
        "ci_high": size.high,
        "level": measured.settings.level,
        "p_holm": measured.headline.p_holm,
        "shows": STATES[mark.state].word,
        "in_words": task.sentence,
        "images": measured.n_images,
        "encoders": sorted(measured.settings.encoders),
        "judges": sorted(measured.settings.judges),
        "t2ibench": results.t2ibench,
        "limited": results.limited or None,
        "missing": results.what_is_missing or None,
    }
    known_conditions = {
        key: value for key, value in conditions.items() if value not in (None, [], "")
    }
    name = f"size of the {mark.label}" if mark.signed else mark.label
    return EvalResult(
        task_type="text-to-image",
        dataset_type="t2ibench",
        dataset_name=measured.title,
        dataset_config=task.id,
        dataset_revision=measured.task_hash,
        metric_type=name.replace(" ", "_"),
        metric_name=f"{name}, 0 is balanced",
        metric_value=size.value,
        metric_args=known_conditions,
    )


def _yaml(content: Any) -> str:
    """Return YAML of plain data, in the order given."""
    return yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )


class _Dumper(yaml.SafeDumper):
    """Quotes text with invisible characters, so that their escapes are read back as such."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Return text as a node, in double quotes where it will be escaped."""
        style = None if visible(data) == data else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)

WRITER = ModelIndexWriter()
