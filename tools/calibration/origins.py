"""How often `where` says where leans come from rightly, in worlds where that is planted.

Every data set goes through the functions behind `score`, and through `where`. Planted are the
leans of the prompts' texts and of their images, and a rewriter that names groups.

python -m tools.calibration.origins --sets 400
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from tabulate import tabulate

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.stimulus_images import obeying
from t2ibench.methods.occupations.design import (
    collect,
    group_pairs,
    group_prompts,
    needs,
    neutral_prompts,
)
from t2ibench.methods.occupations.headline import headline_of
from t2ibench.methods.occupations.leans import pair_leans, pair_rows
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.results.contrast import Contrast
from t2ibench.results.paired import paired_task
from t2ibench.results.schema import Score
from t2ibench.results.task_across_runs import ComparedRun
from t2ibench.results.where import LeanSource, Where, where
from tools.calibration.cells import SETTINGS, simulated_task
from tools.calibration.command import add_workers, drawn_sets, worlds_parser
from tools.calibration.compare import record_of, run_of
from tools.calibration.verdicts import rate_text
from tools.calibration.worlds import Scene, Space, WorldEvidence

_ALPHA = 0.05
_LEVEL = 0.95
_TASK = "jobs"
# Of a quantity in one data set: error, covered or not, p-value, the same after Holm, truth.
_COLUMNS = 5
_SPACE = Space()
_GROUPS = ("male", "female")
# End of the names of quantities of the run behind a rewriter.
_BEHIND = "_behind"


@dataclass(frozen=True)
class Origin:
    """A world in which it is known where leans come from.

    Attributes:
        name: What it is.
        stimuli: How many.
        neutral: Images without a group of each.
        guided: Images of each group of each.
        text_spread: Half of the range of the texts' leans over stimuli.
        text_offset: How far all texts lie aside, which says nothing of images.
        mean: Lean of all images.
        slope: By how much leans of images follow those of texts.
        own: Half of the range of what each stimulus leans besides.
        named: Shares of the images behind the rewriter whose prompt names either group.
        named_every: The rewriter names them for every so many-th stimulus, 1 for all of them.
        keeps: What is left of the leans in images whose rewritten prompt names nobody.
        behind: Whether there is a run behind a rewriter.
        ignored: Share of the guided images that show either group alike, whatever was asked for.
        judge_errors: Share of a judge's answers about guided images that are wrong; None where
            nobody is asked.
    """

    name: str
    stimuli: int = 20
    neutral: int = 16
    guided: int = 5
    text_spread: float = 0.8
    text_offset: float = 0.4
    mean: float = 0.0
    slope: float = 0.0
    own: float = 0.0
    named: tuple[float, float] = (0.0, 0.0)
    named_every: int = 1
    keeps: float = 1.0
    behind: bool = False
    ignored: float = 0.0
    judge_errors: float | None = None

    @property
    def is_named(self) -> Float64Array:
        """1 for each stimulus that the rewriter names groups for, 0 for others."""
        is_named = np.arange(self.stimuli) % self.named_every == 0
        return np.asarray(is_named, dtype=np.float64)

    @property
    def task(self) -> OccupationsTask:
        """The task of this world."""
        prompts = {
            "neutral": "a photo of a {stimulus}",
            "guided": "a photo of a {attribute} {stimulus}",
        }
        if self.judge_errors is not None:
            prompts["question"] = "Who is shown?"
        return simulated_task(
            OccupationsTask,
            method="occupations",
            concept={
                "name": "jobs",
                "stimuli": [f"job{k}" for k in range(self.stimuli)],
            },
            groups=tuple({"name": name, "words": [name]} for name in _GROUPS),
            prompts=prompts,
            images_per_prompt=self.neutral,
            guided_images_per_prompt=self.guided,
        )


_MEN = "a rewriter that names men in .4"
_WITHOUT_LEAN = "words lean, images do not"
WORLDS = (
    Origin(_WITHOUT_LEAN),
    Origin(f"{_WITHOUT_LEAN}; 8 of 10 + 5", 8, 10, 5),
    Origin(f"{_WITHOUT_LEAN}; 20 of 40 + 20", 20, 40, 20),
    Origin(f"{_WITHOUT_LEAN}; 20 of 4 + 4", 20, 4, 4),
    Origin(f"{_WITHOUT_LEAN}; 30 of 16 + 5", 30),
    Origin(f"{_WITHOUT_LEAN}; 100 of 16 + 5", 100),
    Origin(
        f"{_WITHOUT_LEAN}; 20 of 16 + 10, a judge errs in .1, .1 not obeyed",
        guided=10,
        ignored=0.1,
        judge_errors=0.1,
    ),
    Origin("images follow the words (slope .6)", slope=0.6),
    Origin("images follow the words (slope .6); 8 of 10 + 5", 8, 10, 5, slope=0.6),
    Origin("images lean beside the words (± .8)", own=0.8),
    Origin("all images lean .4, whatever the words", mean=0.4),
    Origin("all three: .2, slope .4, ± .4", mean=0.2, slope=0.4, own=0.4),
    Origin("a rewriter that names nobody", slope=0.6, behind=True),
    Origin(
        "a rewriter that names both by a coin", slope=0.6, named=(0.5, 0.5), behind=True
    ),
    Origin(
        "a rewriter that names both by a coin, no lean before",
        named=(0.5, 0.5),
        behind=True,
    ),
    Origin("a rewriter that names both in .2", named=(0.2, 0.2), behind=True),
    Origin("a rewriter that names men in .1", named=(0.1, 0.0), behind=True),
    Origin(_MEN, named=(0.4, 0.0), behind=True),
    Origin("a rewriter that names men in .9", named=(0.9, 0.0), behind=True),
    Origin("a rewriter that names women in .4", named=(0.0, 0.4), behind=True),
    Origin(
        "a rewriter that names men in .8 of every other stimulus",
        named=(0.8, 0.0),
        named_every=2,
        behind=True,
    ),
    Origin(f"{_MEN}; 8 of 16 + 5", 8, named=(0.4, 0.0), behind=True),
    Origin(f"{_MEN}; 30 of 16 + 5", 30, named=(0.4, 0.0), behind=True),
    Origin(f"{_MEN}; 100 of 16 + 5", 100, named=(0.4, 0.0), behind=True),
    Origin(f"{_MEN}; 20 of 4 + 4", 20, 4, 4, named=(0.4, 0.0), behind=True),
    Origin(f"{_MEN}; 20 of 10 + 10", 20, 10, 10, named=(0.4, 0.0), behind=True),
    Origin(f"{_MEN}; 20 of 40 + 20", 20, 40, 20, named=(0.4, 0.0), behind=True),
    Origin(
        f"{_MEN}; 20 of 16 + 10, a judge errs in .1, .1 not obeyed",
        guided=10,
        named=(0.4, 0.0),
        behind=True,
        ignored=0.1,
        judge_errors=0.1,
    ),
    Origin(
        f"{_MEN}, images then lean besides (.3)",
        mean=0.3,
        named=(0.4, 0.0),
        behind=True,
    ),
)


def simulated(world: Origin, seed: int, number: int) -> list[list[float]]:
    """What one data set says: for each quantity its error, whether it is covered, and its p.

    All is NaN where `where` refuses it, as where the encoder hardly tells the groups apart.
    """
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), number])
    words = world.text_spread * rng.uniform(-1.0, 1.0, world.stimuli)
    own = world.own * rng.uniform(-1.0, 1.0, world.stimuli)
    leans = np.clip(world.mean + world.slope * words + own, -1.0, 1.0)
    before, _ = _run(world, rng, words, leans, named=(0.0, 0.0), name="before")
    runs = [before]
    samples: list[list[dict[str, Any]]] = [[]]
    leans_behind = leans * world.keeps
    if world.behind:
        after, rows = _run(world, rng, words, leans_behind, world.named, name="behind")
        runs.append(after)
        samples.append(rows)
    names = quantities(behind=world.behind)
    try:
        result = where(runs, _TASK, samples)
    except T2IBenchError:
        return [[np.nan] * _COLUMNS for _ in names]
    added = result.sources[-1].added
    left_out = () if added is None else added.left_out
    is_added = np.array([name not in left_out for name in world.task.concept.names])
    truths = _truths(world, words, leans, is_added)
    return [_judged(name, truths[name], result) for name in names]


def quantities(*, behind: bool) -> list[str]:
    """Names of the quantities that are checked."""
    names = ["mean", "slope", "slope_of_others", "common", "following", "beside"]
    if behind:
        names += ["mean_behind", "slope_behind", "beside_behind"]
        names += ["change_of_mean", "change_of_slope", "change_of_beside"]
        names += ["added_mean", "added"]
    return names


def _truths(
    world: Origin, words: Float64Array, leans: Float64Array, is_added: BoolArray
) -> dict[str, float]:
    """Return the true value of every quantity, of these prompts.

    What images add is of those prompts alone for which `is_added` is true.
    """
    before = _true_parts(words, leans)
    unnamed = 1.0 - sum(world.named) * world.is_named
    lean_of_names = (world.named[0] - world.named[1]) * world.is_named
    added = unnamed * world.keeps * leans
    after = _true_parts(words, lean_of_names + added)
    return {
        **before,
        "mean_behind": after["mean"],
        "slope_behind": after["slope"],
        "beside_behind": after["beside"],
        "slope_of_others": world.slope,
        "change_of_mean": after["mean"] - before["mean"],
        "change_of_slope": after["slope"] - before["slope"],
        "change_of_beside": after["beside"] ** 0.5 - before["beside"] ** 0.5,
        "added_mean": float(added[is_added].mean()),
        "added": float((added[is_added] ** 2).mean()),
    }


def _true_parts(words: Float64Array, leans: Float64Array) -> dict[str, float]:
    centred = words - words.mean()
    slope = float(centred @ leans) / float(centred @ centred)
    line = leans.mean() + slope * centred
    return {
        "mean": float(leans.mean()),
        "slope": slope,
        "common": float(leans.mean()) ** 2,
        "following": float(((slope * centred) ** 2).mean()),
        "beside": max(float(((leans - line) ** 2).mean()), 0.0),
    }


def _run(
    world: Origin,
    rng: np.random.Generator,
    words: Float64Array,
    leans: Float64Array,
    named: tuple[float, float],
    name: str,
) -> tuple[ComparedRun, list[dict[str, Any]]]:
    """Return a scored run, and a row of each image with its rewritten prompt."""
    task = world.task
    scenes: list[Scene] = []
    texts: dict[str, tuple[str, float]] = {}
    texts_of: dict[str, list[str]] = {}
    for stimulus, word, lean, is_named in zip(
        task.concept.names, words, leans, world.is_named, strict=True
    ):
        (prompt,) = neutral_prompts(task, stimulus)
        texts[prompt] = (stimulus, float(word) + world.text_offset)
        sides = _named_sides(rng, world.neutral, named if is_named else (0.0, 0.0))
        texts_of[prompt] = [_rewritten(stimulus, side) for side in sides]
        for named_side, shown in ((1, 1.0), (-1, -1.0), (0, float(lean))):
            count = sides.count(named_side)
            scenes.append(Scene(f"{prompt} {named_side}", count, stimulus, shown))
        for group, side in zip(task.groups, (1.0, -1.0), strict=True):
            (guided,) = group_prompts(task, stimulus, group)
            texts[guided] = (stimulus, side)
            scenes.append(Scene(guided, world.guided, stimulus, side, asked=side))
    space = replace(_SPACE, ignored=(world.ignored, world.ignored))
    checks = needs(task, SETTINGS).checks
    drawn = space.evidence(rng, scenes, texts, checks, world.judge_errors or 0.0)
    evidence = WorldEvidence(
        _joined(drawn.embeddings, texts_of), drawn.vectors, drawn.replies
    )
    result = _measured(task, evidence)
    record = record_of(task.method, _TASK, result, seed=0, level=_LEVEL)
    scores = {f"obedience:{group}": Score(value=1.0) for group in _GROUPS}
    record = record.model_copy(update={"scores": scores})
    run = ComparedRun(name, run_of({_TASK: record}), {_TASK: paired_task(result)})
    rows = [
        {"stimulus": stimulus, "prompt": prompt, "index": index, "revised_prompt": text}
        for stimulus, (prompt, revised) in zip(
            task.concept.names, texts_of.items(), strict=True
        )
        for index, text in enumerate(revised)
    ]
    return run, rows


def _measured(task: OccupationsTask, evidence: WorldEvidence) -> MethodResult:
    """Return headline and rows as `score` has them, without controls and published scores."""
    answers = {group: group for group in _GROUPS}
    collected = collect(task, ImageCollector(evidence), SETTINGS)
    _, n_guided = task.image_counts(SETTINGS)
    question = task.prompts.question
    images, _ = obeying(collected, evidence, n_guided, question, answers)
    (pair,) = group_pairs(task)
    leans = pair_leans(task, pair, images, evidence)
    items = [
        Item(stimulus, scores)
        for stimulus, scores in zip(
            task.concept.names, pair_rows(leans, _LEVEL), strict=True
        )
    ]
    return MethodResult(headline_of([leans], _LEVEL), by=items)


def _named_sides(
    rng: np.random.Generator, count: int, named: tuple[float, float]
) -> list[int]:
    """Return which group the rewritten prompt of each image names: 1, -1 or none, sorted."""
    places = rng.random(count)
    first = int((places < named[0]).sum())
    second = int((places >= 1 - named[1]).sum())
    return [1] * first + [-1] * second + [0] * (count - first - second)


def _rewritten(stimulus: str, side: int) -> str:
    words = {1: "male ", -1: "female ", 0: ""}
    return f"a detailed photo of a {words[side]}{stimulus}"


def _joined(
    embeddings: Mapping[str, Float64Array], texts_of: Mapping[str, Sequence[str]]
) -> dict[str, Float64Array]:
    """Return embeddings with those of all rewritings of a prompt as that prompt's images."""
    joined = {
        prompt: np.concatenate([embeddings[f"{prompt} {side}"] for side in (1, -1, 0)])
        for prompt in texts_of
    }
    parts = {f"{prompt} {side}" for prompt in texts_of for side in (1, -1, 0)}
    return joined | {
        prompt: rows for prompt, rows in embeddings.items() if prompt not in parts
    }


def _judged(name: str, truth: float, result: Where) -> list[float]:
    """Return the error, whether the interval holds the truth, p, and p after Holm."""
    first, last = result.sources[0], result.sources[-1]
    estimate = _estimate(name, first, last)
    corrected = {
        finding.name: finding.p_holm for finding in (*first.findings, *last.changes)
    }
    corrected |= {
        f"{finding.name}{_BEHIND}": finding.p_holm for finding in last.findings
    }
    holm = corrected.get(name)
    if isinstance(estimate, Score):
        value, low, high = estimate.value, estimate.ci_low, estimate.ci_high
    else:
        value, low, high = estimate.value, estimate.low, estimate.high
    holds = np.nan
    if low is not None and high is not None:
        holds = float(low - 1e-9 <= truth <= high + 1e-9)
    p_values = [np.nan if p is None else p for p in (estimate.p, holm)]
    return [(np.nan if value is None else value) - truth, holds, *p_values, truth]


def _estimate(name: str, first: LeanSource, last: LeanSource) -> Score | Contrast:
    if name.startswith("change_of_"):
        assert last.change is not None
        estimate: Contrast = getattr(last.change, name.removeprefix("change_of_"))
        return estimate
    if name.startswith("added"):
        if last.added is None:
            return Score()
        return last.added.mean if name == "added_mean" else last.added.square
    split = last.split if name.endswith(_BEHIND) else first.split
    part: Score | Contrast = getattr(split, name.removesuffix(_BEHIND))
    return part


def table_rows(world: Origin, judged: Float64Array) -> list[list[str]]:
    """Return the rows of one world; `judged` has the shape (sets, quantities, 5).

    Sets that `where` refuses are left out, and counted beside the name of the world.
    """
    names = quantities(behind=world.behind)
    is_refused = np.isnan(judged).all(axis=(1, 2))
    judged = judged[~is_refused]
    refused = f" ({is_refused.sum()} refused)" if is_refused.any() else ""
    rows = []
    for place, name in enumerate(names):
        errors, holds, p, holm, truths = judged[:, place].T
        rows.append(
            [
                f"{world.name}{refused}" if place == 0 else "",
                name,
                f"{truths.mean():+.3f}",
                _mean_with_error(errors),
                rate_text(holds),
                rate_text(np.where(np.isnan(p), np.nan, p < _ALPHA)),
                rate_text(np.where(np.isnan(holm), np.nan, holm < _ALPHA)),
            ]
        )
    return rows + _false_claims(world, judged, names)


def _false_claims(
    world: Origin, judged: Float64Array, names: Sequence[str]
) -> list[list[str]]:
    """Return how often any finding is clear whose true value is 0."""
    null = [
        place
        for place in range(len(names))
        if np.abs(judged[:, place, 4]).max() < 1e-9
        and np.isfinite(judged[:, place, 3]).any()
    ]
    if not null:
        return []
    claimed = (np.nan_to_num(judged[:, null, 3], nan=1.0) < _ALPHA).any(axis=1)
    listed = ", ".join(names[place] for place in null)
    return [["", f"any of: {listed}", "", "", "", "", rate_text(claimed.astype(float))]]


def _mean_with_error(errors: Float64Array) -> str:
    """Return the mean error over data sets with its standard error, from the sets themselves."""
    defined = errors[np.isfinite(errors)]
    if len(defined) < 2:
        return "–"
    error_of_mean = defined.std(ddof=1) / np.sqrt(len(defined))
    return f"{defined.mean():+.3f} ± {error_of_mean:.3f}"


HEADS = (
    "world",
    "quantity",
    "truth",
    "bias ± its standard error",
    "covers",
    "p < .05",
    "clear after Holm",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate every world and print the table."""
    parser = worlds_parser("origins", __doc__)
    add_workers(parser)
    arguments = parser.parse_args(argv)
    rows: list[list[str]] = []
    for world in WORLDS:
        if arguments.world in world.name:
            judged = drawn_sets(
                world.name, partial(simulated, world, arguments.seed), arguments
            )
            rows += table_rows(world, judged)
    print(tabulate(rows, headers=HEADS, tablefmt="github"))
    return 0


if __name__ == "__main__":
    from tools.calibration import origins  # so that other processes find it

    sys.exit(origins.main())
