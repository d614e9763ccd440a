"""D'Incà et al. (2024): OpenBias."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.apps.papers.exhibits import Draft, value_of
from t2ibench.apps.papers.figures import Group, Series, grouped_bars, scatter
from t2ibench.apps.papers.paper import read_paper
from t2ibench.apps.papers.people import share_of
from t2ibench.apps.papers.run import Run
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.results.schema import Row
from t2ibench.stats import cohens_kappa, kl_divergence, macro_f1
from t2ibench.stats.clusters import Proportion, pooled_proportion
from t2ibench.stats.correlation import kendall_tau

_EXAMPLES, _PROFESSIONS, _METHOD = "openbias_examples", "openbias_winobias", "openbias"
_POOLS = {"flickr": "Flickr30k", "coco": "COCO"}
_MODELS = {"sd2": "SD-2", "sd15": "SD-1.5"}
_ATTRIBUTES = ("gender", "age", "race")
_ALL, _ALL_PROFESSIONS, _NONE = "all biases", "all professions", "no bias"
_SHOWN = "most images show"
_HALF = 0.5  # of an answer, in every class: an unused one must not make a divergence infinite
_FEWEST = 3  # biases of a rank correlation

Answers = Mapping[tuple[str, int], str]


def spelt(name: object) -> str:
    """The name of a bias, in the paper's spelling.

    Examples:
        >>> spelt("Train colour")
        'train color'
    """
    return str(name).lower().replace("colour", "color")


@dataclass(frozen=True, slots=True)
class FoundBias:
    """A bias that was measured.

    Attributes:
        name: As the paper writes it, such as 'person gender'.
        row: Its scores.
        detail: What the details say of it.
    """

    name: str
    row: Row
    detail: Mapping[str, Any]

    def value(self, score: str) -> float | None:
        """A score."""
        return value_of(self.row, score)


Biases = Mapping[str, FoundBias]


def _pool(draft: Draft, file: str | None) -> tuple[Run, list[str]] | None:
    """The run and tasks of a pool of captions, or of the printed ones where no pool is named."""
    run = None if file is None else draft.run(file)
    if file is not None and run is not None:
        tasks = [name for name, task in run.results.tasks.items() if task.method == _METHOD]
        if not tasks:
            raise T2IBenchError(
                f"{draft.files[file]} has no task of the method '{_METHOD}'.",
                "`t2ibench propose openbias --captions …` writes one.",
            )
        return run, tasks
    task = _EXAMPLES if file is None else draft.paper.files[file].task
    return (draft.own, [draft.ran[task]]) if task is not None and task in draft.results else None


def _biases(draft: Draft, file: str | None) -> dict[str, FoundBias] | None:
    """The biases of a pool by their names; None where it was not measured."""
    pool = _pool(draft, file)
    if pool is None:
        return None
    found: dict[str, FoundBias] = {}
    for task in map(pool[0].results.tasks.__getitem__, pool[1]):
        rows = {row.name: row for row in task.by if {"unknown_share", "severity"} & {*row.scores}}
        for detail in task.details.get("biases") or []:
            row, name = rows.get(detail["bias"]), spelt(detail["bias"])
            if row is not None:
                found.setdefault(name, FoundBias(name, row, detail))
    return found


def _pool_or_examples(draft: Draft, file: str) -> dict[str, FoundBias]:
    found = _biases(draft, file)
    return (_biases(draft, None) or {}) if found is None else found


@dataclass(frozen=True, slots=True)
class BiasAgreement:
    """Two sets of answers about one bias, on the images that both have a class for.

    Attributes:
        n: Number of those images.
        accuracy: Share of equal answers, of captions like these.
        captions: Number of captions.
        macro_f1: Mean F1 over the classes; None without images.
        kappa: Cohen's kappa; None where it is not defined.
        divergence: KL divergence of the class shares of the reference from those of the judge.
    """

    n: int
    accuracy: Proportion
    captions: int
    macro_f1: float | None
    kappa: float | None
    divergence: float | None


def agreement(judge: Answers, reference: Answers, classes: Sequence[str]) -> BiasAgreement:
    """How far a judge agrees with a reference about one bias.

    Examples:
        >>> ours = {("a doctor", 0): "male", ("a doctor", 1): "male", ("a nurse", 0): "female"}
        >>> theirs = {**ours, ("a doctor", 1): "female"}
        >>> found = agreement(ours, theirs, ("male", "female"))
        >>> found.n, round(found.accuracy.value, 3), found.captions
        (3, 0.667, 2)
    """
    known = {name.casefold() for name in classes}
    both = sorted(
        key
        for key in judge.keys() & reference.keys()
        if judge[key].casefold() in known and reference[key].casefold() in known
    )
    first = [judge[key].casefold() for key in both]
    second = [reference[key].casefold() for key in both]
    totals = Counter(caption for caption, _ in both)
    pairs = zip(both, first, second, strict=True)
    hits = Counter(caption for (caption, _), a, b in pairs if a == b)
    share = pooled_proportion([hits[name] for name in totals], list(totals.values()))
    if not both:
        return BiasAgreement(0, share, 0, None, None, None)
    p, q = (np.array([side.count(name) + _HALF for name in known]) for side in (first, second))
    f1, kappa = (
        float(value) if np.isfinite(value) else None
        for value in (macro_f1(first, second), cohens_kappa(first, second))
    )
    return BiasAgreement(len(both), share, len(totals), f1, kappa, float(kl_divergence(p, q)))


def _agreement(draft: Draft, pool: str | None, file: str, attribute: str) -> BiasAgreement | None:
    """The agreement about one attribute of people; None without answers."""
    name, biases, measured = f"person {attribute}", _biases(draft, pool), _pool(draft, pool)
    if file not in draft.files or biases is None or measured is None or name not in biases:
        return None
    run, tasks = measured
    ours = {
        (str(row["prompt"]), int(row["index"])): str(row["answer"])
        for task in tasks
        for row in run.samples(task)
        if spelt(row.get("bias", "")) == name and row.get("answer") != UNKNOWN
    }
    theirs = {}
    for said in draft.answers(file):
        key = (said["prompt"], int(said.number("index", 0, 10**9)))
        if spelt(said["bias"]) == name:
            theirs[key] = said["answer"]
    found = agreement(ours, theirs, tuple(biases[name].detail["counts"]))
    return found if found.n else None


def accuracy(draft: Draft, pool: str, file: str = "fairface", printed: bool = True) -> None:
    """Accuracy and F1 of the judge, against answers of a file (Tables 1, 3, 4 and appendix C)."""
    source = pool if draft.has(pool) or not printed else None
    for row in draft.known:
        attribute, _, other = row.partition(", ")  # another judge of the paper's
        found = None if other else _agreement(draft, source, file, attribute)
        if found is None:
            draft.line(row, "accuracy", None, 2)
            draft.line(row, "F1", None, 2)
            continue
        ends: tuple[float | None, float | None] = (None, None)
        if found.captions > 1:
            low, high = found.accuracy.interval()
            ends = (100 * low, 100 * high)
        note = f"{found.n} images of {found.captions} captions"
        draft.line(row, "accuracy", 100 * found.accuracy.value, 2, note, ends)
        draft.line(row, "F1", None if found.macro_f1 is None else 100 * found.macro_f1, 2)
        draft.line(row, "Cohen's kappa", found.kappa, 2)


def table_2(draft: Draft) -> None:
    """KL divergence between the judge's and a classifier's shares."""
    for pool, label in _POOLS.items():
        for attribute in _ATTRIBUTES:
            row = f"{label}, {attribute}"
            found = _agreement(draft, pool, "fairface", attribute)
            value, note = (None, "") if found is None else (found.divergence, f"{found.n} images")
            draft.line(row, "KL", value, note=note)
            real = _agreement(draft, f"{pool}_real", "fairface_real", attribute)
            if real is not None:
                draft.line(row, "KL, real images", real.divergence, note=f"{real.n} images")
    for attribute in () if any(map(draft.has, _POOLS)) else _ATTRIBUTES:
        found = _agreement(draft, None, "fairface", attribute)
        if found is not None:
            row = f"printed captions, {attribute}"
            draft.line(row, "KL", found.divergence, note=f"{found.n} images")


def table_5(draft: Draft) -> None:
    """How far from even the genders of 36 professions are."""
    task = draft.results.get(_PROFESSIONS)
    if task is None:
        return
    rows = {row.name.casefold(): row for row in task.by}
    own, other = (draft.entry.published[model] for model in draft.entry.models)
    points, beside = [], []
    for name in own:
        if name == _ALL_PROFESSIONS:
            continue
        row = rows.get(name.casefold())
        delta = None if row is None else row.scores.get("relative_deviation")
        value = None if delta is None else delta.value
        draft.line(name, "delta", value, 2, "not measured" if delta is None else delta.reason or "")
        share = None if row is None else row.scores.get("share:female")
        if share is not None:
            draft.score(name, "share of women", share, 2)
        if value is not None:
            points.append((name, float(own[name]["delta"] or 0.0), value))
            beside.append(abs(value - float(other[name]["delta"] or 0.0)))
    draft.line(_ALL_PROFESSIONS, "mean delta", value_of(task, "relative_deviation"), 2)
    mean = math.fsum(beside) / len(beside) if beside else None
    note = f"{len(beside)} professions" if beside else ""
    draft.line(_ALL_PROFESSIONS, "mean difference", mean, 2, note)
    draft.figure = scatter([Series("professions", points, named=True)], draft.words())


def _by_severity(biases: Biases, score: str) -> list[FoundBias]:
    """Biases with a severity, the most severe first."""
    known = [bias for bias in biases.values() if bias.value(score) is not None]
    return sorted(known, key=lambda bias: (-(bias.value(score) or 0.0), bias.name))


def _without_severity(draft: Draft, biases: Biases) -> None:
    """Biases that have no severity, each with the reason."""
    for bias in biases.values():
        if bias.value("severity") is None:
            draft.score(bias.name, "severity", bias.row.scores.get("severity"), 2)


def ranking(draft: Draft, pool: str) -> None:
    """Biases from the most to the least severe (Figures 3 and 4)."""
    biases = _pool_or_examples(draft, pool)
    others = {
        label: found
        for file, label in _MODELS.items()
        if (found := _biases(draft, file)) is not None
    }
    groups = []
    ranked = _by_severity(biases, "severity")
    for place, bias in enumerate(ranked, start=1):
        fair = bias.detail.get("severity_fair")
        note = f"rank {place} of {len(ranked)}"
        note += "" if fair is None else f"; {fair:.2f} without any bias"
        draft.line(bias.name, "severity", bias.value("severity"), 2, note)
        draft.score(bias.name, "squared lean", bias.row.scores.get("squared_lean"), 2)
        draft.line(bias.name, "majority", bias.detail["majority"])
        bars = [("this model", bias.value("severity"))]
        for label, found in others.items():
            there = found.get(bias.name)
            bars.append((label, None if there is None else there.value("severity")))
            draft.line(bias.name, f"severity, {label}", bars[-1][1], 2)
        groups.append(Group(bias.name, [(name, x) for name, x in bars if x is not None]))
    _without_severity(draft, biases)
    draft.figure = grouped_bars(groups, draft.words())


def figure_9(draft: Draft) -> None:
    """Severities within captions, and over all captions."""
    biases = _pool_or_examples(draft, "coco")
    orders = [_by_severity(biases, score) for score in ("severity", "severity_free")]
    places = [{bias.name: k for k, bias in enumerate(found, start=1)} for found in orders]
    points = []
    for bias in orders[0]:
        aware, free = bias.value("severity"), bias.value("severity_free")
        notes = [f"rank {place[bias.name]}" if bias.name in place else "" for place in places]
        draft.line(bias.name, "context-aware", aware, 2, notes[0])
        draft.line(bias.name, "context-free", free, 2, notes[1])
        if aware is not None and free is not None:
            said = "higher" if aware > free + 1e-9 else "no higher"
            draft.line(bias.name, "within captions", said)
            points.append((bias.name, aware, free))
        draft.score(bias.name, "squared lean within", bias.row.scores.get("squared_lean"), 2)
        draft.score(
            bias.name, "squared lean over all", bias.row.scores.get("squared_lean_of_means"), 2
        )
    _without_severity(draft, biases)
    score = "Kendall's tau of both"
    if len(points) >= _FEWEST:
        tau = kendall_tau([x for _, x, _ in points], [y for _, _, y in points]).tau
        draft.line(_ALL, score, tau if math.isfinite(tau) else None, 2)
    else:
        draft.line(_ALL, score, None, note="fewer than 3 biases")
    for name in draft.known:
        if name not in {one for one, _, _ in points}:
            note = "" if name in biases else "not asked about these captions"
            draft.line(name, "within captions", None, note=note)
    draft.figure = scatter([Series("biases", points, named=True)], draft.words())


def real_images(draft: Draft, pool: str) -> None:
    """Biases of real images, beside generated ones of the same captions (Figures 12 and 13)."""
    generated, real = _pool_or_examples(draft, pool), _biases(draft, f"{pool}_real")
    if real is not None:
        _beside(draft, real, generated, ("real", "generated"))
        return
    for bias in _by_severity(generated, "severity_free"):
        draft.line(bias.name, "severity, generated", bias.value("severity_free"), 2)


def figure_14(draft: Draft) -> None:
    """Biases of an unconditional generator beside those of the images it learned from."""
    training, generated = _biases(draft, "training"), _biases(draft, "unconditional")
    if training is not None and generated is not None:
        _beside(draft, training, generated, ("training", "generator"))
        return
    for name in draft.known:
        draft.line(name, "generated", None)


def _beside(draft: Draft, first: Biases, second: Biases, labels: tuple[str, str]) -> None:
    """Context-free severities of two runs; captions of single images have no other."""
    groups = []
    for bias in _by_severity(first, "severity_free"):
        other = second.get(bias.name)
        theirs = None if other is None else other.value("severity_free")
        pair = (bias.value("severity_free"), theirs)
        bars = [(label, x) for label, x in zip(labels, pair, strict=True) if x is not None]
        groups.append(Group(bias.name, bars))
        for label, value in zip(labels, pair, strict=True):
            draft.line(bias.name, f"severity, {label}", value, 2)
        draft.score(
            bias.name, f"squared lean, {labels[0]}", bias.row.scores.get("squared_lean_of_means"), 2
        )
        if other is None or pair[0] is None or pair[1] is None:
            continue
        draft.score(
            bias.name,
            f"squared lean, {labels[1]}",
            other.row.scores.get("squared_lean_of_means"),
            2,
        )
        said = "amplified" if pair[1] > pair[0] else "not amplified"
        draft.line(bias.name, "generated", said)
    absent = sorted(set(first) - set(second))
    if absent:
        draft.notes.append(f"Only in the first: {', '.join(absent)}.")
    draft.figure = grouped_bars(groups, draft.words())


def figure_5(draft: Draft) -> None:
    """The severity of every bias, and the intensity that people see."""
    biases = _pool_or_examples(draft, "coco")
    spellings = [str(bias.detail["bias"]) for bias in biases.values()]
    seen: dict[str, list[tuple[str, float]]] = {}
    for said in draft.answers("ratings"):
        name = spelt(said.one_of("bias", [*biases, *spellings]))
        answer = said.one_of("answer", [*biases[name].detail["counts"], _NONE]).casefold()
        # 'No bias' is an intensity of 0, whatever else stands there.
        strength = 0.0 if answer == _NONE else said.number("intensity", 0, 10) / 10
        seen.setdefault(name, []).append((answer, strength))
    points, differences, agree = [], [], []
    for name, bias in biases.items():
        severity, people = bias.value("severity"), seen.get(name)
        draft.score(name, "severity", bias.row.scores.get("severity"), 2)
        if people is None or severity is None:
            continue
        intensity = math.fsum(strength for _, strength in people) / len(people)
        draft.line(name, "intensity, people", intensity, 2, f"{len(people)} answers")
        points.append((name, intensity, severity))
        differences.append(abs(severity - intensity))
        first, *others = Counter(answer for answer, _ in people).most_common(2)
        if first[0] != _NONE and (not others or others[0][1] < first[1]):
            agree.append(float(first[0] == str(bias.detail["majority"]).casefold()))
    mean = math.fsum(differences) / len(differences) if differences else None
    draft.line(_ALL, "AME", mean, 2, f"{len(differences)} biases" if differences else "")
    value, *ends = share_of(agree) if agree else (None, None, None)
    note = f"{len(agree)} biases" if agree else ""
    draft.line(_ALL, "majority agrees", value, 2, note, (ends[0], ends[1]))
    draft.figure = scatter([Series("biases", points, named=True)], draft.words())


def captioned(draft: Draft, beside: bool = False) -> None:
    """Images of a caption of each bias, and what the judge sees in most of them."""
    spec = draft.spec(_EXAMPLES, OpenBiasTask)
    captions = {
        spelt(f"{bias.about} {bias.name}"): bias.captions[0]
        for bias in (spec.biases if spec is not None else ())
        if bias.captions
    }
    runs = [("", draft.own, draft.samples(_EXAMPLES))]
    for file, label in _MODELS.items() if beside else ():
        run = draft.run(file)
        if run is not None:
            runs.append((f", {label}", run, run.samples(_EXAMPLES)))
    for name in draft.known:
        caption = captions.get(name, "")
        for label, one, samples in runs:
            answers = [
                str(row["answer"])
                for row in samples
                if row["prompt"] == caption and spelt(row.get("bias", "")) == name
            ]
            counts = Counter(answer for answer in answers if answer != UNKNOWN)
            most = max(counts.values(), default=0)
            shown = " or ".join(sorted(said for said, count in counts.items() if count == most))
            why = "the judge gave no class for any image" if answers else "not measured"
            note = f"{most} of {len(answers)} images" if counts else why
            draft.line(name, f"{_SHOWN}{label}", shown or None, note=note)
            title = f"{name}{label}: “{caption}”"
            draft.strip(title, [caption] if caption else [], run=one)


PAPER = read_paper(
    Path(__file__).with_suffix(".yaml"),
    *(accuracy, table_2, table_5, ranking, figure_5, captioned, figure_9, real_images, figure_14),
)
