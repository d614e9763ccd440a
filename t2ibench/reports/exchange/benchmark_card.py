"""A benchmark card of a task: what its file says, in the order in which readers ask.

Nothing is added to the file and to its method's own description; what neither says is named as
such.
"""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.errors import T2IBenchError, visible_lines
from t2ibench.methods import METHODS, needs
from t2ibench.methods.core.edit_evidence import PairQuestion
from t2ibench.methods.core.evidence import Needs, QuestionNeed
from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.settings import Settings
from t2ibench.tasks.folders import bundled_tasks, shipped_tasks
from t2ibench.tasks.loader import LoadedTask
from t2ibench.tasks.named_sets import set_lines
from t2ibench.version import __version__

_FIRST = 12  # words of a set, and prompts, that a card shows
_TO_JUDGE = "Questions to the judge:"
_LICENCE = "Apache-2.0"  # of pyproject.toml; a test compares them
_NOT_IN_FILE = "not stated in the task's file"


def benchmark_card(task: LoadedTask) -> str:
    """Return the card of a task in Markdown, which ends in a newline."""
    spec = task.spec
    asked = _needs(spec)
    sections = {
        "Purpose": [escape(_one_space(spec.description)), *_kind(spec)],
        "Method": _method(spec),
        "Data": _data(spec, asked),
        "Groups and words": _bullets(set_lines(spec, _FIRST)),
        "Published values": _published(spec),
        "Limits": _bullets(list(spec.notes)),
        "Licence": [_licence(task)],
        "Citation": [escape(_one_space(spec.citation))],
        "Identity": [
            f"`{spec.id}`, version {spec.version}, method `{spec.method}`, described by t2ibench "
            f"{__version__}. SHA-256 over everything that decides a score: `{task.hash}`."
        ],
    }
    parts = [f"# {escape(spec.title)}"]
    for heading, paragraphs in sections.items():
        parts += [f"## {heading}", *(paragraphs or ["None in the task's file."])]
    return visible_lines("\n\n".join(parts) + "\n")


def _needs(spec: BaseTask) -> Needs | None:
    """Return what a task needs by default; None if that depends on the captions it is given."""
    if spec.awaits is not None:
        return None
    try:
        return needs(spec, Settings())
    except T2IBenchError:  # of a method whose package is not installed here
        return None


def _kind(spec: BaseTask) -> list[str]:
    if spec.control:
        return [
            "It is a positive control: every working encoder passes it. No finding."
        ]
    return []


def _method(spec: BaseTask) -> list[str]:
    """Return what the headline estimates, and the templates of prompts."""
    if spec.method not in METHODS:
        return [f"`{spec.method}`, of a package that is not installed here."]
    method = METHODS.get(spec.method)
    paragraphs = [
        f"{escape(method.title)}. The headline estimates: {escape(_one_space(method.estimand))}"
    ]
    if isinstance(spec, GuidedTask):
        rows = [
            (wording.neutral, wording.guided, wording.language or "–")
            for wording in spec.prompts.wordings
        ]
        heads = ("Neutral prompt", "Prompt with an attribute", "Language")
        paragraphs.append(github(heads, rows))
    return paragraphs


def _data(spec: BaseTask, asked: Needs | None) -> list[str]:
    """Return what the task generates, asks and reads; it has no images of its own."""
    if asked is None:
        pool = spec.awaits
        flag = f" ({pool.flag})" if pool is not None else ""
        return [
            f"Prompts and images are decided by captions that a run is given{flag}."
        ]
    if asked.edits:
        instructions = dict.fromkeys(edit.instruction for edit in asked.edits)
        return [
            "It has no images of its own: a run edits source images, which it generates first or "
            "is given, with these instructions:",
            *_bullets(list(instructions)[:_FIRST]),
            *_listed_questions(_TO_JUDGE, asked.pair_questions),
        ]
    if not asked.n_images:
        return [f"No images: {len(asked.texts):,} texts, read by a text encoder."]
    prompts = asked.images_by_prompt
    readers = ["an encoder"] if asked.embeds else []
    readers += ["a judge"] if asked.is_judged else []
    paragraphs = [
        f"It has no images of its own: a run generates {asked.n_images:,} with the model under "
        f"test, of {len(prompts):,} prompts, read by {' and '.join(readers)}. The first prompts:",
        *_bullets(
            [f"{count} × {prompt}" for prompt, count in prompts.items()][:_FIRST]
        ),
    ]
    paragraphs += _listed_questions(_TO_JUDGE, asked.questions)
    paragraphs += _listed_questions(
        "A judge, if the run has one, checks with this what images show:", asked.checks
    )
    return paragraphs


def _listed_questions(
    title: str, questions: Sequence[QuestionNeed | PairQuestion]
) -> list[str]:
    """Return a title with the first distinct questions; nothing without questions."""
    texts = dict.fromkeys(map(_question_text, questions))
    return [title, *_bullets(list(texts)[:_FIRST])] if texts else []


def _question_text(need: QuestionNeed | PairQuestion) -> str:
    return f"{need.question} ({', '.join(need.classes) or 'in its own words'})"


def _published(spec: BaseTask) -> list[str]:
    rows = [
        (entry.model, name, f"{value:g}", entry.source)
        for entry in spec.published
        for name, value in entry.scores.items()
    ]
    return [github(("Model", "Score", "Value", "Source"), rows)] if rows else []


def _licence(task: LoadedTask) -> str:
    """Return the licence of a shipped file; a task's file has no field for one."""
    shipped = (shipped_tasks([task.path]).resolve(), bundled_tasks().resolve())
    if not any(task.path.resolve().is_relative_to(folder) for folder in shipped):
        return f"{_NOT_IN_FILE.capitalize()}."
    return (
        f"The file is part of t2ibench ({_LICENCE}). Terms of the publications that its words come "
        f"from: {_NOT_IN_FILE}."
    )


def _bullets(lines: list[str]) -> list[str]:
    """Return lines as one Markdown list; nothing for no lines."""
    items = "\n".join(f"- {escape(_one_space(line))}" for line in lines)
    return [items] if items else []


def _one_space(text: str) -> str:
    return " ".join(text.split())
