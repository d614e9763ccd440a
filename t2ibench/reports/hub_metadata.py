"""Results in the two forms that the Hugging Face hub shows on a model's page.

`.eval_results/*.yaml` (https://huggingface.co/docs/hub/eval-results) is the current form; each
entry belongs to a benchmark's dataset repository. `model-index`, in the front matter of a model's
README.md, needs no such repository.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from t2ibench.errors import T2IBenchError
from t2ibench.reports.markdown import MarkdownTables
from t2ibench.results.display import IntervalMark, displayed, in_two
from t2ibench.results.schema import Results, TaskResult

FRAMEWORK = "t2ibench"
_TASK = "text-to-image"
_DIGITS = 4
_SCALES = {
    "lean": "lean from -1 to 1, 0 is balanced",
    "rms lean": "root mean square lean from 0 to 1, 0 is balanced",
    "excess": "excess over unrelated words from -1 to 1",
}
_ABOUT = {
    "prompt_population": " about prompts like these", "fixed_prompts": " about these prompts"
}  # fmt: skip


def subject(results: Results) -> Results:
    """What a run says of its model: tests of words alone describe the encoder that read them."""
    images, texts = in_two(results)
    return texts if results.model.name is None else images


def decided(results: Results) -> Iterator[tuple[str, TaskResult, IntervalMark]]:
    """The tasks whose headline may stand alone on a model's page.

    Those of `subject` that have a headline and are not inconclusive.
    """
    for name, task in sorted(subject(results).tasks.items()):
        shown = displayed(task.headline)
        if shown.value is not None and not task.inconclusive:
            yield name, task, shown


def eval_results(results: Results, dataset: str, source: str | None = None) -> str:
    """Headlines as `.eval_results/*.yaml`."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = [
        EvalResultEntry(
            dataset_id=dataset,
            task_id=name,
            value=round(shown.value or 0.0, _DIGITS),
            source_url=source,
            source_name="t2ibench" if source else None,
            notes="; ".join(notes(task, shown)),
        )
        for name, task, shown in decided(results)
    ]
    if not entries:
        name = f"'{results.folder}'" if results.folder else "The run"
        raise T2IBenchError(f"{name} has no headline to show.")
    rows = eval_result_entries_to_yaml(entries)
    # huggingface_hub does not know this key of the format yet.
    framed = [{**row, "evaluation_framework": FRAMEWORK} for row in rows]
    return str(yaml.safe_dump(framed, sort_keys=False, allow_unicode=True))


def notes(task: TaskResult, shown: IntervalMark) -> Iterator[str]:
    """What a reader of a single number must know."""
    yield _SCALES.get(shown.label, "bias magnitude from 0 to 1")
    if shown.low is not None:
        which = _ABOUT.get(task.headline.question or "", "")
        level = f"{100 * task.settings.level:g}"
        yield f"{level} % CI [{shown.low:.3f}, {shown.high:.3f}]{which}"
    if shown.fair_low is not None:
        yield f"a fair model: [{shown.fair_low:.3f}, {shown.fair_high:.3f}]"
    yield f"{task.n_images} images"
    if task.headline.direction:
        yield task.headline.direction


class ModelIndexWriter(MarkdownTables):
    """Front matter for a model's README.md (see reports.writers.Writer)."""

    description = "`model-index` metadata for the README.md of a model on the Hugging Face hub"
    suffix = "yaml"

    def results(self, results: Results) -> str:
        """The front matter of a run."""
        from huggingface_hub import EvalResult, ModelCardData

        found = [
            EvalResult(
                task_type=_TASK,
                task_name="social bias",
                dataset_type=FRAMEWORK,
                dataset_name=task.title,
                dataset_config=name,
                dataset_revision=f"task version {task.version}",
                metric_type=shown.label.replace(" ", "_"),
                metric_name="; ".join(notes(task, shown)),
                metric_value=round(shown.value or 0.0, _DIGITS),
                verified=False,
            )
            for name, task, shown in decided(results)
        ]
        data = ModelCardData(
            pipeline_tag=_TASK, model_name=results.model.name or "", eval_results=found or None
        )
        return f"---\n{data.to_yaml()}\n---\n"


MODEL_INDEX = ModelIndexWriter()
