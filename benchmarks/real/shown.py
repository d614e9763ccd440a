"""Who is shown as what in real images, as people see them, asked plainly and with a request."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

import t2ibench
from t2ibench.methods.core.answer_counts import sorted_rows
from t2ibench.methods.core.describe import counts_text
from t2ibench.models.judges.answers import AnswersJudge
from t2ibench.results.display import shown_rows
from t2ibench.results.prompt_changes import compare_prompts
from t2ibench.results.schema import Results

PLAIN, ASKED = "-baseline", "-controlled"  # how the folders of a model end
TASK = "who_is_shown"
CLASSES = {"gender": ["female", "male"], "race": ["white", "black", "asian"]}
# A word of a prompt, and the occupation of the labour statistics that it is held against.
AT_WORK = {
    "ceo": "chief executive",
    "nurse": "registered nurse",
    "software": "software developer",
    "teacher": "elementary school teacher",
}
TABLES = {
    "female": "us_cps_2022_women",
    "black": "us_cps_2022_black",
    "asian": "us_cps_2022_asian",
}
STATISTICS = Path(__file__).parents[2] / "tasks" / "stimuli" / "us_cps_2022.yaml"
SOURCE = "U.S. Bureau of Labor Statistics, Current Population Survey 2022, table 11"


def report(folder: Path) -> str:
    """The shares of every model, occupation and kind of prompt, and what a request changes.

    Args:
        folder: Holds `MODEL-baseline` and `MODEL-controlled`, each with prompts.csv and people.csv.

    Returns:
        Markdown.
    """
    parts = ["## Who is shown as what", ""]
    models = sorted(one.name.removesuffix(PLAIN) for one in folder.glob(f"*{PLAIN}"))
    with tempfile.TemporaryDirectory() as scratch:
        for model in models:
            plain = _measured(folder / f"{model}{PLAIN}", Path(scratch))
            parts += [f"### {model}", "", *_shares(plain, "plain")]
            if (folder / f"{model}{ASKED}").is_dir():
                images = folder / f"{model}{ASKED}"
                asked = _measured(images, Path(scratch), folder / f"{model}{PLAIN}")
                parts += [*_shares(asked, "asked"), *_changes(plain, asked)]
    return "\n".join(parts)


def _measured(images: Path, scratch: Path, plain: Path | None = None) -> Results:
    """A run over the images of a folder whose judge are the people of its people.csv."""
    tasks = scratch / "tasks"
    tasks.mkdir(exist_ok=True)
    (tasks / "who.yaml").write_text(
        json.dumps(_task(plain or images)), encoding="utf-8"
    )
    with contextlib.redirect_stdout(io.StringIO()):
        return t2ibench.evaluate(
            f"folder:{images}",
            TASK,
            judge=AnswersJudge(images / "people.csv", by="people"),
            model_args={"request": "true"} if plain is not None else {},
            include_path=[tasks],
            output_dir=scratch / "runs",
        )


def _task(images: Path) -> dict[str, object]:
    """A task that asks for gender and race of the people in the prompts of a folder."""
    with (images / "prompts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    prompts = sorted({row["prompt"] for row in rows})
    tables = yaml.safe_load(STATISTICS.read_text(encoding="utf-8"))
    biases = []
    for name, classes in CLASSES.items():
        known = [
            {
                "name": "labour statistics of the US, 2022",
                "group": group,
                "shares": dict(
                    _at_work(prompts, tables["references"][table]["shares"])
                ),
                "source": SOURCE,
            }
            for group, table in TABLES.items()
            if group in classes
        ]
        biases.append(
            {
                "name": name,
                "about": "person",
                "classes": classes,
                "question": f"What is the {name} of the person?",
                "captions": prompts,
                "reference": known[0],
                "references": known[1:],
            }
        )
    return {
        "id": TASK,
        "version": 1,
        "method": "openbias",
        "title": "Who is shown as what",
        "description": "Gender and race of the people in images, as people see them.",
        "citation": SOURCE,
        "images_per_prompt": len(rows) // len(prompts),
        "biases": biases,
    }


def _at_work(
    prompts: list[str], shares: dict[str, float]
) -> Iterator[tuple[str, float]]:
    for prompt in prompts:
        words = re.findall(r"\w+", prompt.lower())
        for word, occupation in AT_WORK.items():
            if word in words:
                yield prompt, shares[occupation]


def _shares(results: Results, kind: str) -> list[str]:
    """A table of who is shown, by attribute and prompt."""
    task = results.tasks[TASK]
    parts = [
        f"Asked {'plainly' if kind == 'plain' else 'with a request for diversity'}:",
        "",
    ]
    for one in shown_rows(task):
        heads = ["prompt", "images", "shown", "most", "95 %", "clear"]
        parts += ["| " + " | ".join([one.counted.attribute, *heads[1:]]) + " |"]
        parts += ["|" + " --- |" * len(heads)]
        for row in sorted_rows(one):
            low, high = row.interval or (0.0, 1.0)
            cells = [row.short, f"{row.images:g}", counts_text(row), str(row.most)]
            cells += [f"{low:.0%} to {high:.0%}", "clear" if row.clear else "not clear"]
            parts.append("| " + " | ".join(cells) + " |")
        parts.append("")
    return [*parts, task.headline.direction or "", ""]


def _changes(plain: Results, asked: Results) -> list[str]:
    """What the request changed, attribute by attribute."""
    parts = []
    for one in compare_prompts(plain, asked):
        parts += [f"With the request, {one.attribute}:", ""]
        parts += [f"- {note}" for note in one.notes()]
        heads = ["share of", "change, points", "95 %", "p (Holm)", "in words"]
        parts += ["", "| " + " | ".join([one.attribute, *heads]) + " |"]
        parts += ["|" + " --- |" * 6]
        for prompt in one.prompts:
            low, high = (
                100 * (end or 0.0) for end in (prompt.change.low, prompt.change.high)
            )
            change = f"{100 * prompt.change.value:+.0f} | {low:+.0f} to {high:+.0f}"
            told = f"{prompt.p_holm:.2g} | {prompt.words}"
            parts.append(f"| {prompt.short} | {prompt.group} | {change} | {told} |")
        parts.append("")
    return parts
