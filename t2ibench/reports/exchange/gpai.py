"""The writer `gpai`: what a run can say in the EU's documentation form for GPAI models.

The form belongs to the Code of Practice for General-Purpose AI Models (transparency chapter,
measure 1.1). Most of it only the provider knows; here every field has its source in the run, or
says that t2ibench does not know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from t2ibench.methods.core.edit_report import edit_report
from t2ibench.reports.card import METHOD_NOTE, limit_lines, measured_with, tests_table
from t2ibench.reports.edit_counts import edits_counted, prompts_given
from t2ibench.reports.exchange.exported_tests import (
    record_of,
    unfinished_notes,
    view_of,
)
from t2ibench.reports.files import digest
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.markdown.writer import MarkdownTables
from t2ibench.results.record import RunRecord
from t2ibench.results.schema import Results

UNKNOWN = "not known to t2ibench"
_HEADS = ("Field", "What the run says", "Where it comes from")
_TITLE = "# Model documentation form for general-purpose AI models: what a t2ibench run knows"
_OPENING = (
    "The fields of the form of the EU's Code of Practice (transparency chapter, measure 1.1) in "
    "its seven parts. The provider of the model fills in the form and answers for it; this is "
    "what a measurement of outputs can add. It is no statement of compliance."
)
_NOT_SEEN = "The field is about training data, which t2ibench has not seen."
_BIASES = (
    f"{_NOT_SEEN} What follows was measured in "
    "images that the model generated. Outputs are indirect evidence of biases in training data: a "
    "lean can also come from the text encoder, from fine-tuning, from filters, from rewritten "
    "prompts or from the reading of the images, and a lean that is absent here can be present in "
    "the data."
)
_NOT_MEASURED = (
    "Not measured: groups, prompts and languages other than those of these tests; quality, safety "
    "and legality of training data; uses of the model with other settings than those of this run."
)


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form.

    Attributes:
        name: Its heading in the form.
        content: What the run says about it.
        source: The record that says it; empty where the run does not know.
    """

    name: str
    content: str = UNKNOWN
    source: str = ""


class GpaiWriter(MarkdownTables):
    """Writes the fields of the form that a run can fill (see reports.writers.Writer)."""

    description = "the EU's documentation form for GPAI models, as far as a run knows"
    suffix = "md"

    def results(self, results: Results) -> str:
        """Return the form of a run, part by part."""
        parts = [_TITLE, _OPENING, *unfinished_notes(results)]
        for title, fields in form_parts(results).items():
            parts += [f"## {title}", _table(fields)]
            if title.startswith("6"):
                parts += _bias_section(results)
        parts.append(f"SHA-256 of results.json: `{digest(results)}`")
        return "\n\n".join(parts) + "\n"


def form_parts(results: Results) -> dict[str, list[FormField]]:
    """Return the fields of the form by the titles of its seven parts."""
    record = record_of(results)
    return {
        "1. General information": list(_general(results, record)),
        "2. Model properties": list(_properties(results)),
        "3. Methods of distribution and licences": _unknown(
            "Distribution channels", "Licence"
        ),
        "4. Use": [
            *_unknown(
                "Acceptable use policy",
                "Intended or restricted uses",
                "Kinds of AI systems the model can be integrated into",
                "Technical means of integration",
                "Required hardware",
            ),
            _software(results),
        ],
        "5. Training process": _unknown(
            "Design specifications of the training process", "Decision rationale"
        ),
        "6. Data used for training, testing and validation": [
            *_unknown(
                "Data type",
                "Provenance of the data",
                "How the data were obtained and selected",
                "Number of data points",
                "Scope and main characteristics",
                "Curation",
                "Measures to detect unsuitable sources",
            ),
            _measures_against_bias(results),
        ],
        "7. Computational resources and energy": [
            *_unknown("Training time", "Amount of computation for training", "Energy"),
            _inference(record),
        ],
    }


def _unknown(*names: str) -> list[FormField]:
    return [FormField(name) for name in names]


def _table(fields: Sequence[FormField]) -> str:
    return github(
        _HEADS, [(field.name, field.content, field.source or "–") for field in fields]
    )


def _general(results: Results, record: RunRecord | None) -> Iterator[FormField]:
    model = results.model
    yield FormField("Legal name of the model provider")
    revision = f", revision {model.revision}" if model.revision else ""
    source = (
        "results.json: model.name, model.revision; as the person who ran it named it"
    )
    if model.name:
        yield FormField("Model name and versions", f"{model.name}{revision}", source)
    else:
        yield FormField("Model name and versions")
    if model.fingerprint:
        yield FormField(
            "Model authenticity",
            f"SHA-256 {model.fingerprint} over everything that decides an image besides prompt and "
            "index. It identifies what was measured; it is no signature of the provider.",
            "results.json: model.fingerprint",
        )
    else:
        yield FormField("Model authenticity")
    yield from _unknown("Release date", "Union market release date")
    yield _dependencies(results, record)


def _dependencies(results: Results, record: RunRecord | None) -> FormField:
    """Return what was added to the model in the run; what it was trained from is not known."""
    additions = []
    sources = []
    generator = record.generator if record is not None else None
    adapter = generator.model_args.get("lora") if generator is not None else None
    if adapter:
        additions.append(f"LoRA weights: {adapter}")
        sources.append("run.db: generator.model_args.lora")
    if results.model.rewriter is not None:
        rewriter = results.model.rewriter.name
        additions.append(f"prompts rewritten before the model got them: {rewriter}")
        sources.append("results.json: model.rewriter")
    if not additions:
        return FormField("Model dependencies")
    content = f"{'; '.join(additions)}. Which models it was trained from: {UNKNOWN}."
    return FormField("Model dependencies", content, "; ".join(sources))


def _properties(results: Results) -> Iterator[FormField]:
    settings = {**results.model.settings, **results.model.effective_settings}
    yield from _unknown("Model architecture", "Design specifications")
    with_images = [task for task in results.tasks.values() if task.n_images]
    edited = edits_counted(task for task in with_images if edit_report(task.details))
    prompts = sum(map(prompts_given, with_images))
    given = [f"Text: {prompts:,} prompts were given"] if prompts or not edited else []
    if edited:
        given.append(f"Text and image: {edited} were asked for")
    images = sum(task.n_images for task in results.tasks.values())
    if not images:
        yield from _unknown("Input modalities", "Output modalities")
    else:
        yield FormField(
            "Input modalities",
            f"{'; '.join(given)}, summed over tests. Maximum size: {UNKNOWN}.",
            "results.json: n_prompts of each task"
            + ("; details.edits of tests about edits" if edited else ""),
        )
        sizes = [str(settings.get(side)) for side in ("width", "height")]
        measured = f" of {' × '.join(sizes)} pixels" if "None" not in sizes else ""
        yield FormField(
            "Output modalities",
            f"Images{measured}, as measured in this run: {images:,}, summed over tests. "
            f"Maximum size: {UNKNOWN}.",
            "results.json: n_images of each task, model.effective_settings",
        )
    yield FormField("Total model size (parameters)")


def _software(results: Results) -> FormField:
    libraries = results.model.libraries
    if not libraries:
        return FormField("Required software")
    return FormField(
        "Required software",
        f"Used in this run: {_versions(libraries)}. What is required: {UNKNOWN}.",
        "results.json: model.libraries",
    )


def _versions(libraries: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in libraries.items())


def _measures_against_bias(results: Results) -> FormField:
    run = view_of(results)
    if not run.tests:
        return FormField("Measures to detect identifiable biases")
    clear = run.counts()["clear"]
    tests = "1 test" if len(run.tests) == 1 else f"{len(run.tests)} tests"
    lean = "leans" if clear == 1 else "lean"
    return FormField(
        "Measures to detect identifiable biases",
        f"Indirect evidence from outputs: {tests} on generated images, of which {clear} {lean} "
        f"clearly; see below. Measures taken on the data: {UNKNOWN}.",
        f"results.json: headline of each task ({measured_with(run)})",
    )


def _inference(record: RunRecord | None) -> FormField:
    speed = record.speed() if record is not None else None
    if not speed:
        return FormField("Benchmarked amount of computation for inference")
    return FormField(
        "Benchmarked amount of computation for inference",
        f"{1 / speed:.3g} seconds an image, scoring included. Hardware and operations: {UNKNOWN}.",
        "run.db: the latest call with enough images",
    )


def _bias_section(results: Results) -> list[str]:
    """Return what the tests show, with judges' errors, limits and what was not measured."""
    run = view_of(results)
    if not run.tests:
        return [
            _NOT_SEEN,
            f"Biases in outputs: {UNKNOWN}; the run has no test on images.",
        ]
    return [
        "### Biases in outputs, as indirect evidence",
        _BIASES,
        f"Measured with {escape(measured_with(run))}.",
        tests_table(run),
        METHOD_NOTE,
        limit_lines(run),
        _NOT_MEASURED,
    ]


WRITER = GpaiWriter()
