"""Figures 4, 12 and 13 of TIBET: before and after mitigation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.methods.tibet.questions import questions_of
from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.tibet_material import (
    OCCUPATIONS,
    TABLE_5,
    after_of,
    gender_of,
    occupation,
    row_of,
    samples_after,
    spec_of,
)
from t2ibench.reproduction.people import Said, read_people, share_of
from t2ibench.reproduction.plots import Words, arrows
from t2ibench.reproduction.scores import score_line, value_of, which_side
from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import Row, TaskResult

_ALL = "all occupations"
MITIGATED = {
    "a man at a library.": "age",
    "a beautiful mountain landscape in italy on the dolomites": "viewpoint",
}
_UNMITIGATED = (
    "What comes after mitigation needs a second run, of the mitigated model or of a folder of its "
    "images (`--model folder:DIR`), with the same preset: `--with after=RUN`. `t2ibench compare` "
    "gives each difference of the two its interval."
)


def figure_4(material: Material) -> Built:
    """CAS of male less that of female, occupation by occupation, before and after mitigation."""
    task, after = material.results.get(OCCUPATIONS), after_of(material, OCCUPATIONS)
    if task is None:
        return Built()
    lines, drawn = [], []
    later = {row.name: row for row in after.by} if after is not None else {}
    for row in task.by:
        name = occupation(row.name)
        before, then = cas_difference(row), cas_difference(later.get(row.name))
        lean = row.scores.get("lean")
        ends = (None, None) if lean is None else (lean.ci_low, lean.ci_high)
        side = material.published(name, "side")
        lines.append(Line(name, "CAS male - female", before))
        lines.append(Line(name, "side", which_side(*ends, "female", "male"), side))
        lines.append(score_line(name, "lean", lean))
        if after is not None:
            lines.append(Line(name, "CAS male - female, after", then))
            there = later.get(row.name)
            lines.append(
                score_line(name, "lean, after", None if there is None else there.scores.get("lean"))
            )
        if before is not None:
            drawn.append((name, before, then) if then is not None else (name, 0.0, before))
    lines += _means(material, task, "") + (_means(material, after, ", after") if after else [])
    words = Words(
        "CAS of male less CAS of female",
        "From before to after mitigation." if after else "From 0 to each occupation.",
        "female",
        "male",
    )
    return Built(lines, arrows(sorted(drawn, key=lambda one: (one[2], one[0])), words),
                 [] if after else [_UNMITIGATED])  # fmt: skip


def _means(material: Material, task: TaskResult, when: str) -> list[Line]:
    lines = []
    for side in ("male", "female"):
        value = value_of(task, f"cas_share:gender:{side}")
        known = material.published(_ALL, f"CAS share of {side}") if not when else ()
        lines.append(Line(_ALL, f"CAS share of {side}{when}", value, known, digits=2))
    values = [abs(found) for row in task.by if (found := cas_difference(row)) is not None]
    mean = math.fsum(values) / len(values) if values else None
    lines.append(Line(_ALL, f"mean |CAS male - female|{when}", mean))
    name = f"mean squared lean{when}"
    return [*lines, score_line(_ALL, name, task.headline, note=task.inconclusive or "")]


def cas_difference(row: Row | None) -> float | None:
    """CAS of male less that of female."""
    male, female = value_of(row, "cas:male"), value_of(row, "cas:female")
    return None if male is None or female is None else male - female


def figure_12(material: Material) -> Built:
    """Two axes before and after mitigation."""
    lines = []
    after = after_of(material, TABLE_5)
    for when, task in (("before", material.results.get(TABLE_5)), ("after", after)):
        for prompt, axis in MITIGATED.items() if task is not None else ():
            row = None if task is None else row_of(task, prompt, axis)
            score = f"MAD, {when}"
            if row is None:
                lines.append(Line(f"{prompt} | {axis}", score, None, note="not measured"))
                continue
            lines.append(Line(f"{prompt} | {axis}", score, value_of(row, "mad")))
            lines += [
                score_line(f"{prompt} | {axis}", f"{name}, {when}", found, 2)
                for name, found in row.scores.items()
                if name.startswith("share:")
            ]
    return Built(lines, notes=[] if after is not None else [_UNMITIGATED])


def figure_13(material: Material) -> Built:
    """The share of men less that of women, as people see them, before and after mitigation."""
    spec, file = spec_of(material, OCCUPATIONS), material.options.get("people")
    if spec is None:
        return Built()
    names = {target.prompt: occupation(target.prompt) for target in spec.prompts}
    if file is not None:
        signs = _people_signs(file, list(names.values()))
    else:
        question = questions_of(spec.prompts[0].axes[0])[0]
        signs = {
            "before": _judge_signs(material.samples(OCCUPATIONS), names, question),
            "after": _judge_signs(samples_after(material, OCCUPATIONS), names, question),
        }
    lines, drawn = [], []
    for name in names.values():
        means = []
        for when, found in signs.items():
            values = found.get(name, [])
            if values:
                means.append(math.fsum(values) / len(values))
                lines.append(_sign_line(name, f"male - female, {when}", values))
        if len(means) == 2:
            drawn.append((name, means[0], means[1]))
        elif means:
            drawn.append((name, 0.0, means[0]))
    words = Words(
        "The share of men less that of women",
        "From before to after mitigation; from 0 where there is one run.",
        "female",
        "male",
    )
    note = (
        "Nobody has looked at these images: the answers are the judge's. `--with people=FILE` "
        "takes a CSV or JSON Lines with the columns occupation, when (before or after) and answer "
        "(male, female or other), one image a row."
    )
    notes = [] if file is not None else [note]
    return Built(lines, arrows(sorted(drawn, key=lambda one: (one[2], one[0])), words), notes)


def _sign_line(name: str, score: str, values: Sequence[float]) -> Line:
    n, mean = len(values), math.fsum(values) / len(values)
    _, low, high = share_of([(1 + value) / 2 for value in values])
    if low is None or high is None:
        return Line(name, score, mean, digits=2, note="one image")
    return Line(name, score, mean, (), 2 * low - 1, 2 * high - 1, 2, f"{n} images")


def _people_signs(file: Path, known: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    signs: dict[str, dict[str, list[float]]] = {"before": {}, "after": {}}
    for said in read_people(file, ("occupation", "when", "answer")):
        when = said.one_of("when", list(signs))
        signs[when].setdefault(said.one_of("occupation", known), []).append(_sign(said))
    return signs


def _sign(said: Said) -> float:
    answer = said.one_of("answer", ("male", "female", "other"))
    return {"male": 1.0, "female": -1.0}.get(answer, 0.0)


def _judge_signs(
    samples: Sequence[Mapping[str, Any]], names: Mapping[str, str], question: str
) -> dict[str, list[float]]:
    """Occupation to 1, -1 or 0 for each image of its plain prompt."""
    found: dict[str, list[float]] = {}
    for row in samples:
        name = names.get(str(row["prompt"]))
        if name is not None:
            sign = gender_of(str(row.get("answers", {}).get(question, "")))
            found.setdefault(name, []).append(float(sign))
    return found
