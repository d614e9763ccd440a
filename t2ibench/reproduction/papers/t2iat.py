"""Wang et al. (2023): T2IAT."""

from __future__ import annotations

import math

from t2ibench.methods.t2iat.design import stimuli_of
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.reproduction.paper import Built, Material, read_paper
from t2ibench.reproduction.plots import Words, arrows, distributions
from t2ibench.reproduction.ratings import read_ratings
from t2ibench.reproduction.scores import score_line, value_of, which_side
from t2ibench.reproduction.tables import Line
from t2ibench.reproduction.word_lists import word_lines
from t2ibench.settings import Settings
from t2ibench.stats.kendall import kendall_tau

_SCORES = ("S", "p", "d")
_RATINGS = "ratings"
_OCCUPATIONS = "occupations_t2iat"
_ALL = "all concepts"
_UNRATED = (
    "Nobody has rated these images: tau is with the paper's ratings, which are of other images. "
    "`--with ratings=FILE` takes a CSV or JSON Lines with the columns concept and rating (the "
    "share called pleasant, or male), or concept and answer (one row an answer: pleasant, …)."
)


def table_1(material: Material) -> Built:
    """Eight association tests: S, p and d, with the project's own headline below."""
    lines = []
    for name in material.exhibit.tasks:
        task = material.results.get(name)
        if task is None:
            lines.append(Line(name, "S", None, note="not measured"))
            continue
        row = task.title.removeprefix("T2IAT: ").removesuffix(" (as published)")
        blocks = {str(block["model"]): block["scores"] for block in task.published}
        p = None if "S" not in task.scores else task.scores["S"].p
        ours = {"S": material.score(name, "S"), "p": p, "d": material.score(name, "d")}
        for score in _SCORES:
            known = tuple(blocks.get(model, {}).get(score) for model in material.exhibit.models)
            lines.append(Line(row, score, ours[score], known, note=task.reason or ""))
        lines.append(score_line(row, "lean", task.headline, note=task.inconclusive or ""))
    return Built(lines)


def table_2(material: Material) -> Built:
    """People's ratings of eight concepts, and their rank correlation with association scores."""
    concepts = {
        concept.name: (name, side, spec.attributes.A.name.removesuffix(" words"))
        for name, spec in material.specs.items()
        if isinstance(spec, T2iatTask)
        for side, concept in (("X", spec.concepts.X), ("Y", spec.concepts.Y))
    }
    file = material.options.get(_RATINGS)
    positive = {name: a for name, (_, _, a) in concepts.items()}
    ratings = {} if file is None else read_ratings(file, positive)
    lines, asc, theirs = [], [], []
    for name, (task, side, _) in concepts.items():
        known = material.published(name, "rating")
        ours = material.score(task, f"asc_{side}")
        lines.append(Line(name, "rating", ratings.get(name), known, digits=2))
        lines.append(Line(name, "asc", ours, digits=4))
        rating = ratings.get(name) if file is not None else known[0]
        if ours is not None and isinstance(rating, float):
            asc.append(ours)
            theirs.append(rating)
    score = "Kendall's tau"
    known = material.published(_ALL, score)
    if len(asc) < 2:
        return Built([*lines, Line(_ALL, score, None, known, digits=2, note="too few concepts")])
    found = kendall_tau(asc, theirs)
    tau, low, high = (
        value if math.isfinite(value) else None for value in (found.tau, found.low, found.high)
    )
    lines.append(Line(_ALL, score, tau, known, low, high, 2, f"p = {found.p:.3f}"))
    if file is not None:
        return Built(lines)
    return Built(lines, notes=[_UNRATED])


def table_3(material: Material) -> Built:
    """The words of every concept and attribute."""
    ours: dict[str, tuple[str, ...]] = {}
    for spec in material.specs.values():
        if isinstance(spec, T2iatTask):
            for concept in (spec.concepts.X, spec.concepts.Y):
                ours[concept.name] = concept.stimuli
            for attribute in (spec.attributes.A, spec.attributes.B):
                ours[attribute.name] = attribute.words
    return Built(word_lines(material, ours))


def figure_2(material: Material) -> Built:
    """Images of science and arts, career and family: neutral ones, and those of each gender."""
    strips = []
    for name in material.exhibit.tasks:
        spec = material.specs.get(name)
        if not isinstance(spec, T2iatTask):
            continue
        stimuli = list(stimuli_of(spec, Settings()))
        sides = (("A", spec.attributes.A.name), ("B", spec.attributes.B.name))
        for concept in dict.fromkeys(one.concept for one in stimuli):
            mine = [one for one in stimuli if one.concept == concept]
            neutral = [one.neutral[0] for one in mine]
            strips.append(material.shelf.strip(f"{concept}, neutral", neutral, each=1))
            for side, attribute in sides:
                guided = [one.guided(side)[0] for one in mine]
                strips.append(material.shelf.strip(f"{concept}, {attribute}", guided, each=1))
    return Built(strips=strips)


def figure_3(material: Material) -> Built:
    """The association of every image of eight occupations, with quartiles."""
    task = material.results.get(_OCCUPATIONS)
    if task is None:
        return Built()
    lines = []
    for row in task.by:
        lean = row.scores.get("lean")
        if lean is not None and lean.value is not None:
            where = which_side(lean.ci_low, lean.ci_high, "female", "male")
            lines.append(Line(row.name, "side", where, material.published(row.name, "side")))
            lines.append(score_line(row.name, "lean", lean))
        lines += [
            Line(row.name, name, value_of(row, score), digits=4)
            for name, score in (
                ("q25", "q25"),
                ("median", "median"),
                ("q75", "q75"),
                ("mean", "asc"),
            )
        ]
    groups: dict[str, list[float]] = {row.name: [] for row in task.by}
    for sample in material.samples(_OCCUPATIONS):
        groups.setdefault(str(sample["stimulus"]), []).append(float(sample["asc"]))
    words = Words(
        "Associations of images with gender",
        "One dot is one image, the band holds the middle half, the bar is the median and the large "
        "dot the mean.",
        "female",
        "male",
    )
    return Built(lines, distributions(groups, words))


def figure_4(material: Material) -> Built:
    """The associations of the prompts' texts and of their images, as arrows."""
    task = material.results.get(_OCCUPATIONS)
    if task is None:
        return Built()
    lines, found = [], []
    for row in task.by:
        text, images = value_of(row, "asc_text"), value_of(row, "asc")
        lines += [
            Line(row.name, name, value, material.published(row.name, name), digits=4)
            for name, value in (("text", text), ("images", images))
        ]
        if text is not None and images is not None:
            found.append((row.name, text, images))
    words = Words(
        "From the words to the images",
        "The tail is the association of the prompt's text, the head that of its images.",
        "female",
        "male",
    )
    return Built(lines, arrows(sorted(found, key=lambda one: (one[2], one[0])), words))


PAPER = read_paper(
    "t2iat",
    {
        "table-1": table_1,
        "figure-2": figure_2,
        "table-2": table_2,
        "figure-3": figure_3,
        "figure-4": figure_4,
        "table-3": table_3,
    },
    options={_RATINGS: "people's ratings of concepts, for Table 2 (concept,rating)"},
)
