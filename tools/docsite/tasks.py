"""A page for every task that ships, made from its file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from docsite.text import code, escaped, folded, listed, table
from t2ibench.methods import METHODS, needs
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.schema import ImageTask
from t2ibench.methods.registry import presentation
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import ImageRequest
from t2ibench.settings import Settings
from t2ibench.store.images import image_seed
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask

_FIRST = 8  # prompts that are shown before the rest is folded
_DRAWN = 6  # prompts with a picture
_MOST = 400  # texts that are listed


def pages() -> dict[str, str | bytes]:
    """The page of each task, and the page of all."""
    loaded = load_tasks()
    made: dict[str, str | bytes] = {}
    for task in loaded:
        drawn = _drawn(task)
        made |= {f"tasks/{name}": data for name, (_, data) in drawn.items()}
        told = {name: prompt for name, (prompt, _) in drawn.items()}
        made[f"tasks/{task.id}.md"] = _page(task, told)
    made["tasks/index.md"] = _index(loaded)
    made["methods/index.md"] = _methods(loaded)
    return made


def _drawn(task: LoadedTask) -> dict[str, tuple[str, bytes]]:
    """File to prompt and picture, of prompts over the whole task that the drawn world knows."""
    prompts = list(needs(task.spec, Settings()).images_by_prompt)
    some = [
        prompts[place * len(prompts) // _DRAWN]
        for place in range(min(_DRAWN, len(prompts)))
    ]
    asked = [
        ImageRequest(prompt, 0, image_seed(0, prompt, 0))
        for prompt in dict.fromkeys(some)
    ]
    found = {}
    for number, (one, result) in enumerate(
        zip(asked, create_generator("toyland", {}).generate(asked), strict=True)
    ):
        if result.image is not None:
            file = io.BytesIO()
            result.image.save(file, "PNG", optimize=True)
            found[f"pictures/{task.id}-{number}.png"] = (one.prompt, file.getvalue())
    return found


def in_nav(nav: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The navigation with the tasks below the section 'Tasks', one section a family."""
    families = [
        {
            METHODS.get(family).title: [
                {task.id: f"tasks/{task.id}.md"} for task in tasks
            ]
        }
        for family, tasks in _families(load_tasks())
    ]
    return [
        {"Tasks": [*one["Tasks"], *families]} if "Tasks" in one else one for one in nav
    ]


def _families(loaded: list[LoadedTask]) -> list[tuple[str, list[LoadedTask]]]:
    """Families of tasks; those on words alone come last."""
    found = {
        name: [task for task in loaded if task.spec.method == name]
        for name in METHODS.names()
    }
    names = sorted(
        found, key=lambda name: not issubclass(METHODS.get(name).Task, ImageTask)
    )
    return [(name, found[name]) for name in names if found[name]]


def _index(loaded: list[LoadedTask]) -> str:
    parts = [
        "---\ntitle: All tasks\nhide: [toc]\n---\n# Tasks",
        f"{len(loaded)} tasks ship with t2ibench. Each page is made from the task’s own file. "
        "Families measure different things; there is no score over all of them.",
    ]
    for family, tasks in _families(loaded):
        parts.append(f"## {METHODS.get(family).title}")
        parts.append(
            f"How it measures: [{METHODS.get(family).title}](../methods/{family}.md)."
        )
        rows = [
            [f"[{code(task.id)}]({task.id}.md)", escaped(task.spec.title), _cost(task)]
            for task in tasks
        ]
        parts.append(table(["Task", "What it asks", "Cost"], rows))
    return "\n\n".join(parts)


def _cost(task: LoadedTask) -> str:
    asked = needs(task.spec, Settings())
    if not asked.n_images:
        return f"{len(asked.texts):,} texts, no image"
    answers = sum(need.images for need in asked.questions)
    return f"{asked.n_images:,} images" + (f", {answers:,} answers" if answers else "")


def _methods(loaded: list[LoadedTask]) -> str:
    rows = [
        [
            f"[{METHODS.get(family).title}]({family}.md)",
            escaped(METHODS.get(family).estimand),
            str(len(tasks)),
        ]
        for family, tasks in _families(loaded)
    ]
    return "\n\n".join(
        [
            "---\ntitle: All methods\n---\n# Methods",
            "A method says which images a task needs and what its headline estimates. Each page "
            "has the formula, a case worked by hand, the controls, and what the method does not "
            "show.",
            table(["Method", "What its headline estimates", "Tasks"], rows),
        ]
    )


def _page(task: LoadedTask, pictures: Mapping[str, str]) -> str:
    spec, shown = task.spec, presentation(task.spec)
    method = METHODS.get(spec.method)
    tags = ", ".join(code(f"tag:{tag}") for tag in spec.tags)
    asked = needs(spec, Settings())
    parts = [
        f"---\ntitle: {task.id}\n---\n# {escaped(spec.title)}",
        f"{code(task.id)} · version {spec.version} · [{method.title}](../methods/{spec.method}.md)"
        + (f" · {tags}" if tags else ""),
        "## The question",
        escaped(spec.description),
        f"```\nt2ibench --model toy --tasks {task.id}\n```",
        *_pictures(pictures),
        "## What the number says",
        *_says(shown),
        f"**Estimand.** {escaped(method.estimand)} "
        f"[More on the method](../methods/{spec.method}.md).",
        "## Size and cost",
        _size(task, asked),
        "## Prompts and words",
        *_prompts(asked),
        "## Published values",
        _published(task),
        "## Caveats",
        listed(map(escaped, spec.notes))
        or "The file has no notes of its own; the method’s hold.",
        "## Cite",
        escaped(spec.citation),
        "## The file",
        f"SHA-256 over all that decides a score: {code(task.hash)}",
        f"```yaml\n{task.path.read_text(encoding='utf-8').rstrip()}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _pictures(pictures: Mapping[str, str]) -> Iterator[str]:
    if pictures:
        figures = "".join(
            f'<figure><img src="{name}" alt="" width="128" height="128" loading="lazy">'
            f"<figcaption>{escaped(prompt)}</figcaption></figure>"
            for name, prompt in pictures.items()
        )
        yield f'<div class="drawn">{figures}</div>'
        yield "Prompts of the task, as [toyland](../models/toyland.md), a drawn world, shows them."


def _says(shown: Any) -> Iterator[str]:
    if shown.axis is not None:
        yield table(
            ["Headline", "In words"],
            [
                ["+1", f"all {escaped(shown.axis.high)}"],
                ["0", "neither way"],
                ["−1", f"all {escaped(shown.axis.low)}"],
            ],
        )
    else:
        yield "The headline has a size and no direction: 0 is even, 1 is as one-sided as can be."
    if shown.formula:
        yield f"**Formula.** {escaped(shown.formula)}."
    if shown.source:
        yield f"**Source.** {escaped(shown.source)}."


def _size(task: LoadedTask, asked: Needs) -> str:
    answers = sum(need.images for need in asked.questions)
    rows = [
        ["Prompts", f"{asked.n_prompts:,}"],
        ["Images, with the task’s own numbers", f"{asked.n_images:,}"],
        ["Texts that an encoder reads", f"{len(asked.texts):,}"],
        ["Answers of a judge", f"{answers:,}"],
        ["Who reads the images", _reader(asked)],
    ]
    return table(["What", "How much"], rows) + (
        f"\n`t2ibench --model sdxl --tasks {task.id} --dry-run` says how long that takes and what "
        "is stored already; an image that another task needs too is generated once.\n"
        if asked.n_images
        else ""
    )


def _reader(asked: Needs) -> str:
    if not asked.n_images:
        return "nobody: it describes the text encoder, not the generator"
    readers = ["an encoder"] if asked.embeds else []
    return " and ".join(readers + (["a judge"] if asked.questions else []))


def _prompts(asked: Needs) -> Iterator[str]:
    if asked.images_by_prompt:
        counts = asked.images_by_prompt.items()
        yield from _begun(
            [f"{code(prompt)}: {n} images" for prompt, n in counts], "prompts"
        )
    questions = list(
        dict.fromkeys((need.question, need.classes) for need in asked.questions)
    )
    if questions:
        yield "A judge is asked, and can always answer “unknown”:"
        yield from _begun(
            [_question(text, classes) for text, classes in questions], "questions"
        )
    if asked.texts:
        texts = list(asked.texts)
        more = f", of which {_MOST} are here" if len(texts) > _MOST else ""
        body = " · ".join(map(escaped, texts[:_MOST]))
        yield folded(
            f"{len(texts):,} texts that an encoder reads{more}", f"<p>{body}</p>"
        )


def _begun(lines: list[str], what: str) -> Iterator[str]:
    """The first lines of a list, and the rest folded."""
    yield listed(lines[:_FIRST])
    if lines[_FIRST:]:
        rest = "".join(f"<li>{line}</li>" for line in lines[_FIRST:])
        yield folded(f"{len(lines) - _FIRST:,} more {what}", f"<ul>{rest}</ul>")


def _question(text: str, classes: tuple[str, ...]) -> str:
    answers = escaped(" · ".join(classes)) or "in its own words"
    return f"{escaped(text)} <span class='answers'>{answers}</span>"


def _published(task: LoadedTask) -> str:
    rows = [
        [escaped(one.model), code(name), f"{value:g}", escaped(one.source)]
        for one in task.spec.published
        for name, value in one.scores.items()
    ]
    if not rows:
        return "None that was measured with these prompts."
    return (
        "As printed, never used in a score: other images, often another encoder.\n\n"
        + table(["Model", "Score", "Published", "Source"], rows)
    )
