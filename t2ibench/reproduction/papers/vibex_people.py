"""What people and other tools say: FairFace's answers, coded texts of trees, TIBET's axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.tibet.questions import questions_of
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.vibex_material import GENDER
from t2ibench.reproduction.people import Said, read_people, share_of
from t2ibench.reproduction.plots import Words, arrows
from t2ibench.reproduction.scores import which_side
from t2ibench.reproduction.tables import Line
from t2ibench.tasks.loader import library_for, load_file

OPTIONS = {
    "fairface": "FairFace's answers, for Figure 14 (concept,answer; one image a row)",
    "photographs": "a run of photographs with this preset, for Figure 3 and appendix B",
    "axes": "a task that `propose tibet` wrote for the anchors' prompts, for Tables 3 and 4",
    "trees": "coded texts of prompting trees (participant,code), for the pilot study",
}
_VALIDATION = "vibex_validation"
_CODES = ("correct", "concept problem", "relation problem")
_SIDES = {"female": "women", "male": "men"}
_BY_JUDGE = (
    "The answers are the judge's. `--with fairface=FILE` takes a CSV or JSON Lines with the "
    "columns concept (as in Table 2) and answer (female or male; anything else: no visible face), "
    "one image a row; `--judge answers:FILE` takes answers by prompt and index, for the run itself."
)
_NO_TREES = (
    "Nobody's trees are at hand: `--with trees=FILE` takes a CSV or JSON Lines with the columns "
    "participant and code (correct, concept problem or relation problem), one text a row, and "
    "'outlier' (yes or no) for participants to leave out."
)
_NO_AXES = (
    'No axes are at hand: `t2ibench propose tibet --prompt "picture that shows a woman" …` asks a '
    "language model for them, in TIBET's three turns; `--with axes=FILE` takes the task it writes."
)

Share = tuple[float, float | None, float | None, int]  # of women, its interval, images


def figure_14(material: Material) -> Built:
    """Which gender images of each concept show, and whether that confirms what experts found."""
    prompts = _concepts(material)
    file = material.options.get("fairface")
    shares = _judged(material, prompts) if file is None else _fairface(file, list(prompts))
    tendencies = material.exhibits["table-2"].published
    known = next(iter(tendencies.values()))
    lines, drawn = [], []
    for name in prompts:
        published = material.published(name, "confirmed")
        if name not in shares:
            lines.append(Line(name, "confirmed", None, published, note="no answers"))
            continue
        value, low, high, n = shares[name]
        side = which_side(low, high, "men", "women", 0.5)
        expected = str(known[name]["tendency"])
        lines.append(Line(name, "share of women", value, (), low, high, 2, f"{n} images"))
        lines.append(Line(name, "side", side, (None,) * len(published)))
        if expected != "balanced":
            lines.append(Line(name, "confirmed", _confirms(side, expected), published))
        drawn.append((name, 0.0, 1 - 2 * value))
    words = Words(
        "The share of men less that of women",
        "From 0 to each concept, of images in which one of the two is seen.",
        "women",
        "men",
    )
    return Built(lines, arrows(sorted(drawn, key=lambda one: (one[2], one[0])), words),
                 [] if file is not None else [_BY_JUDGE])  # fmt: skip


def _concepts(material: Material) -> dict[str, str]:
    """The concepts on gender of Table 2, with their prompts."""
    spec = material.specs.get(GENDER)
    if not isinstance(spec, VibexTask):
        return {}
    return {concept.name: concept.prompt for concept in spec.concepts if concept.tendency}


def _judged(material: Material, prompts: Mapping[str, str]) -> dict[str, Share]:
    """Shares by the answers of the run's judge."""
    task, spec = material.results.get(_VALIDATION), material.specs.get(_VALIDATION)
    if task is None or not isinstance(spec, OpenBiasTask):
        return {}
    rows = {row.name: row for row in task.by}
    found = {}
    for name, prompt in prompts.items():
        row = rows.get(prompt)
        score = None if row is None else row.scores.get("share:female")
        if row is not None and score is not None and score.value is not None:
            found[name] = (score.value, score.ci_low, score.ci_high, row.n_images or 0)
    return found


def _fairface(file: Path, known: Sequence[str]) -> dict[str, Share]:
    """Shares by the answers of a file."""
    hits: dict[str, list[float]] = {}
    for said in read_people(file, ("concept", "answer")):
        name, answer = said.one_of("concept", known), said["answer"].casefold()
        seen = hits.setdefault(name, [])
        if answer in _SIDES:
            seen.append(float(answer == "female"))
    found = {name: (*share_of(seen), len(seen)) for name, seen in hits.items() if seen}
    if not found:
        answers = " or ".join(_SIDES)
        raise T2IBenchError(f"{file} has no answer that is {answers}.")
    return found


def _confirms(side: str, expected: str) -> str:
    """Whether a side is the expected one; 'cannot tell' where it is none."""
    return side if side in {"cannot tell", "not clear"} else "yes" if side == expected else "no"


def proposed_axes(material: Material) -> Built:
    """The axes that TIBET proposes for the anchors' prompts."""
    file = material.options.get("axes")
    ours = {} if file is None else _axes(file)
    published = material.exhibit.published[material.exhibit.models[0]]
    lines = [
        Line(
            prompt,
            "questions",
            ours.get(prompt.casefold()),
            material.published(prompt, "questions"),
        )
        for prompt in published
    ]
    return Built(lines, notes=[] if file is not None else [_NO_AXES])


def _axes(file: Path) -> dict[str, str]:
    """Prompt to its axes, as questions."""
    if not file.is_file():
        raise T2IBenchError(f"No such file: '{file}'.", "Check --with axes=FILE.")
    task, problems = load_file(file, file.parent, library_for([file.parent]))
    if task is None or not isinstance(task.spec, TibetTask):
        said = next((str(one) for one in problems if not one.warning), f"{file} is no such task")
        raise T2IBenchError(said, "Give a task that `t2ibench propose tibet` wrote.")
    return {
        target.prompt.casefold(): " ".join(questions_of(axis)[0] for axis in target.axes)
        for target in task.spec.prompts
    }


def pilot_study(material: Material) -> Built:
    """How many texts of prompting trees make sense."""
    file = material.options.get("trees")
    rows = [] if file is None else read_people(file, ("participant", "code"), ("outlier",))
    kept = [row for row in rows if not (row["outlier"] and row.yes("outlier"))]
    problems = sum(row.one_of("code", _CODES) != "correct" for row in rows)
    every = "all participants"
    lines = [
        Line(every, name, float(count) if rows else None, material.published(every, name), digits=0)
        for name, count in (
            ("participants", len({row["participant"] for row in rows})),
            ("texts", len(rows)),
            ("problems", problems),
        )
    ]
    row = "without outliers"
    lines += [
        Line(row, code, _share_of(kept, code), material.published(row, code)) for code in _CODES
    ]
    return Built(lines, notes=[] if rows else [_NO_TREES])


def _share_of(rows: Sequence[Said], code: str) -> float | None:
    if not rows:
        return None
    return sum(row.one_of("code", _CODES) == code for row in rows) / len(rows)
