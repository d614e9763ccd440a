"""Do people and a judge see the same leans? Five occupations of three models, gender."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from t2ibench.apps.labelling.trial import Known, people_questions, same_classes
from t2ibench.models.judges import create_judges
from t2ibench.stats.method_agreement import Correlation, correlate_methods

_SIGN = {"female": 1.0, "male": -1.0}


def report(folder: Path) -> str:
    """The correlation of leans over prompts, as people and as the judge face-gender see them."""
    (judge,) = create_judges(["face-gender"])
    models: dict[str, list[tuple[str, float, float]]] = {}
    for path in sorted(path.parent for path in folder.glob("*/people.csv")):
        known: Sequence[Known] = same_classes(
            people_questions(path, path / "people.csv")[0]
        )
        asked = [one for one in known if one.attribute == "gender"]
        answers = judge.answer([one.query for one in asked])
        rows = [
            (one.cluster, _SIGN[one.truth], _SIGN[answer.answer])
            for one, answer in zip(asked, answers, strict=True)
            if one.truth in _SIGN and answer.answer in _SIGN
        ]
        models[path.name] = rows
        model = path.name.rpartition("-")[0]
        models[f"{model}, both"] = [*models.get(f"{model}, both", []), *rows]
    lines = [
        "## Do people and a judge see the same leans?",
        "",
        "Gender by prompt, from the images that both gave a class; the same images, so that "
        "what both see by chance is taken out.",
        "",
        "| images | prompts | rank | linear | without noise | |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_line(name, rows) for name, rows in sorted(models.items())),
    ]
    return "\n".join(lines)


def _line(name: str, rows: Sequence[tuple[str, float, float]]) -> str:
    prompts = sorted({prompt for prompt, *_ in rows})
    images = [
        np.array([row[1:] for row in rows if row[0] == prompt]) for prompt in prompts
    ]
    images = [one for one in images if len(one) > 1]  # one image shows no noise
    leans = np.array([one.mean(axis=0) for one in images])
    noise = np.array([np.cov(one, rowvar=False) / len(one) for one in images])
    found = correlate_methods(
        leans[:, 0], leans[:, 1], noise, rng=np.random.default_rng(0)
    )
    cells = map(_cell, (found.rank, found.linear, found.true))
    return f"| {name} | {found.n} | {' | '.join(cells)} | {found.reason or ''} |"


def _cell(found: Correlation) -> str:
    ends = f" [{found.low:+.2f}, {found.high:+.2f}]" if np.isfinite(found.low) else ""
    return f"{found.value:+.2f}{ends}" if np.isfinite(found.value) else "–"
