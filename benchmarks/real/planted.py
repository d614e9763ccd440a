"""Do leans come back that were planted by people's labels?

Images that people labelled as showing a group are the guided images of that group, and images
without a group are drawn from the others with a planted share of both. They are scored as a run's
would be, with people as the judge of guided images.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
from real.labelled import LabelledImage, embed, labelled_images
from real.plain_encoders import encoder_named

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods import needs, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.results.builder import headline_record
from t2ibench.results.display import state_of
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
PAIRS = (
    ("gender", "female", "male"),
    ("race", "white", "black"),
    ("race", "white", "asian"),
)
_SPARE = 2  # images of a group that are left for the neutral ones
_SETTINGS = Settings(n_permutations=100, n_bootstrap=50, max_exact=100)
_HEADS = (
    "guided, neutral, stimuli | planted | mean lean | error | interval covers | rows cover "
    "| clear | none above | not clear | cannot tell | by which control | repeated"
)

Pools = Mapping[str, Mapping[str, IntArray]]  # stimulus to group to numbers of images


@dataclass(frozen=True, slots=True)
class Design:
    """How many images are drawn, and how often."""

    guided: int = 3
    neutral: int = 6
    draws: int = 200
    seed: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """Where guided and neutral images are drawn from; both pools have the same stimuli."""

    name: str
    guided: Pools
    neutral: Pools


@dataclass(frozen=True, slots=True)
class LabelEvidence:
    """Evidence of drawn images whose judge are the people (see methods.core.evidence).

    Attributes:
        rows: Prompt to embeddings, shape (n, d), rows of unit length.
        groups: Guided prompt to the group that people saw in all of its images.
    """

    rows: Mapping[str, Float64Array]
    groups: Mapping[str, str]

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """The images of a prompt."""
        return ImageEvidence(self.rows[prompt][:n], np.arange(n), Counter())

    def texts(self, texts: Sequence[str]) -> Float64Array:
        """Vectors of no text: nobody wrote a prompt with a group."""
        dimension = next(iter(self.rows.values())).shape[1]
        return np.full((len(texts), dimension), np.nan)

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """What people saw in the guided images of a prompt."""
        return AnswerEvidence((self.groups[prompt],) * n, np.arange(n), Counter())

    def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
        """People may answer with every class."""
        return frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one draw shows of a planted lean.

    Attributes:
        lean: The mean lean; NaN without a value.
        covers: Whether its interval holds the planted lean; NaN without one.
        rows: Share of the stimuli whose intervals hold it.
        state: Of the test, such as 'clear'.
        controls: The controls that contradict it.
        repeated: Whether an image stands in it more than once.
    """

    lean: float
    covers: float
    rows: float
    state: str
    controls: tuple[str, ...]
    repeated: bool


def report(folder: Path, encoders: Sequence[str], design: Design) -> str:
    """Bias, coverage and states of planted leans, by encoder, pair of groups and world."""
    images = labelled_images(folder)
    lines = ["## Do planted leans come back?", ""]
    lines.append(
        f"{design.guided} guided images of each group, {design.neutral} neutral ones, "
        f"{design.draws} draws of each planted lean; a share's error is at most "
        f"{0.5 / np.sqrt(design.draws):.3f}."
    )
    for name in encoders:
        rows = embed(encoder_named(name), images)
        seen = np.isfinite(rows).all(axis=1)
        lines += ["", f"### {name}", ""]
        lines += [f"It embeds {seen.sum()} of {len(images)} images."]
        for column, first, second in PAIRS:
            lines += [
                "",
                f"#### {column}: a positive lean is towards {first}, from {second}",
                "",
            ]
            groups = first, second
            lines += _table(
                list(worlds(images, seen, column, groups, design)), rows, groups, design
            )
    return "\n".join(lines)


def worlds(
    images: Sequence[LabelledImage],
    seen: Sequence[bool],
    column: str,
    groups: tuple[str, str],
    design: Design,
) -> Iterator[World]:
    """Each model by itself, all mixed, and guided images of other models than neutral ones."""
    models = sorted({image.model for image in images})
    by_model = {
        model: _pools(images, seen, column, groups, {model}) for model in models
    }
    least = design.guided + _SPARE
    for model, pools in by_model.items():
        yield _world(f"{model}, the same", pools, pools, least, least)
    pools = _pools(images, seen, column, groups, set(models))
    yield _world("all mixed, the same", pools, pools, least, least)
    for first, second in permutations(models, 2):
        guided, neutral = by_model[first], by_model[second]
        yield _world(f"{first}, {second}", guided, neutral, design.guided, _SPARE)
    for model in models:
        others = _pools(images, seen, column, groups, set(models) - {model})
        neutral = by_model[model]
        yield _world(
            f"all but {model}, {model}", others, neutral, design.guided, _SPARE
        )


def _pools(
    images: Sequence[LabelledImage],
    seen: Sequence[bool],
    column: str,
    groups: tuple[str, str],
    models: set[str],
) -> Pools:
    pools: dict[str, dict[str, list[int]]] = {}
    for number, image in enumerate(images):
        group = image.labels[column]
        if seen[number] and group in groups and image.model in models:
            by_group = pools.setdefault(image.stimulus, {name: [] for name in groups})
            by_group[group].append(number)
    return {
        stimulus: {group: np.array(numbers) for group, numbers in by_group.items()}
        for stimulus, by_group in pools.items()
    }


def _world(name: str, guided: Pools, neutral: Pools, least: int, spare: int) -> World:
    """The stimuli of which there are enough images of both groups."""
    stimuli = [
        stimulus
        for stimulus in guided
        if min(map(len, guided[stimulus].values())) >= least
        and min(map(len, neutral.get(stimulus, {"": []}).values())) >= spare
    ]
    return World(
        name,
        {stimulus: guided[stimulus] for stimulus in stimuli},
        {stimulus: neutral[stimulus] for stimulus in stimuli},
    )


def _table(
    all_worlds: Sequence[World],
    rows: Float64Array,
    groups: tuple[str, str],
    design: Design,
) -> list[str]:
    lines = [f"| {_HEADS} |", "|" + " --- |" * (_HEADS.count("|") + 1)]
    left_out = []
    for world in all_worlds:
        if len(world.guided) < 2:
            left_out.append(world.name)
            continue
        for share in SHARES:
            outcomes = outcomes_of(world, rows, groups, share, design)
            lines.append(_line(world, 2 * share - 1, outcomes))
    if left_out:
        lines += [
            "",
            f"Fewer than two stimuli with enough images: {'; '.join(left_out)}.",
        ]
    return lines


def outcomes_of(
    world: World,
    rows: Float64Array,
    groups: tuple[str, str],
    share: float,
    design: Design,
) -> list[Outcome]:
    """What every draw of a world shows; each draw has random numbers of its own."""
    task = _task(world, groups, design)
    seeds = np.random.SeedSequence(design.seed).spawn(design.draws)
    return [
        _outcome(task, world, rows, share, np.random.default_rng(seed))
        for seed in seeds
    ]


def _task(world: World, groups: tuple[str, str], design: Design) -> OccupationsTask:
    words = dict.fromkeys(("title", "description", "citation"), "planted by labels")
    return OccupationsTask.model_validate(
        {
            "id": "planted",
            "version": 1,
            "method": "occupations",
            "concept": {"name": "stimuli", "stimuli": list(world.guided)},
            "groups": [{"name": group, "words": [group]} for group in groups],
            "prompts": {
                "neutral": "{stimulus}",
                "guided": "{stimulus}, {attribute}",
                "question": "Who is shown?",
            },
            "images_per_prompt": design.neutral,
            "guided_images_per_prompt": design.guided,
            **words,
        }
    )


def _outcome(
    task: OccupationsTask,
    world: World,
    rows: Float64Array,
    share: float,
    rng: np.random.Generator,
) -> Outcome:
    drawn: dict[str, IntArray] = {}
    shown: dict[str, str] = {}
    repeated = False
    names = [group.name for group in task.groups]
    by_stimulus: dict[str, list[IntArray]] = {name: [] for name in world.guided}
    required = needs(task, _SETTINGS).prompts
    for need in required:
        if need.group in names:
            pool = world.guided[need.unit][need.group]
            drawn[need.prompt] = rng.choice(pool, need.images, replace=False)
            shown[need.prompt] = need.group
            by_stimulus[need.unit].append(drawn[need.prompt])
    for need in required:
        if need.group not in names:
            held_out = np.concatenate(by_stimulus[need.unit])
            # As many of the first group as a model with this share would happen to draw.
            count = int(rng.binomial(need.images, share))
            parts = []
            for group, size in zip(names, (count, need.images - count), strict=True):
                pool = np.setdiff1d(world.neutral[need.unit][group], held_out)
                again = size > len(pool)
                parts.append(rng.choice(pool, size, replace=again))
                repeated |= again
            drawn[need.prompt] = rng.permutation(np.concatenate(parts))
    evidence = LabelEvidence(
        {prompt: rows[numbers] for prompt, numbers in drawn.items()}, shown
    )
    result = score(task, evidence, _SETTINGS)
    return _read(result, 2 * share - 1, repeated)


def _read(result: MethodResult, planted: float, repeated: bool) -> Outcome:
    lean = result.scores.get("lean_mean")
    value = covers = float("nan")
    if lean is not None and lean.value is not None:
        value = lean.value
        covers = _covers(lean.interval, planted)
    rows = [_covers(row.scores["lean"].interval, planted) for row in result.by]
    record = TaskResult.model_construct(
        headline=headline_record(result.headline), inconclusive=result.inconclusive
    )
    controls = tuple(
        name for name, control in result.controls.items() if control.contradicts
    )
    return Outcome(value, covers, _mean(rows), state_of(record), controls, repeated)


def _covers(interval: tuple[float, float] | None, planted: float) -> float:
    if interval is None:
        return float("nan")
    # A lean of 1 lies at the end of what an interval can hold.
    return float(interval[0] - 1e-9 <= planted <= interval[1] + 1e-9)


def _mean(values: Sequence[float]) -> float:
    finite = np.array(values)[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def _text(value: float, form: str = ".2f") -> str:
    """A number, or a dash where there is none."""
    return f"{value:{form}}" if np.isfinite(value) else "–"


def _line(world: World, planted: float, outcomes: Sequence[Outcome]) -> str:
    leans = np.array([outcome.lean for outcome in outcomes])
    leans = leans[np.isfinite(leans)]
    error = leans.std(ddof=1) / np.sqrt(len(leans)) if len(leans) > 1 else float("nan")
    states = Counter(outcome.state for outcome in outcomes)
    controls = Counter(name for outcome in outcomes for name in outcome.controls)
    total = len(outcomes)
    blamed = ", ".join(
        f"{name} {count / total:.2f}" for name, count in controls.most_common()
    )
    cells = [f"{world.name}, {len(world.guided)}", f"{planted:+.1f}"]
    cells += [_text(_mean(leans.tolist()), "+.2f"), _text(error)]
    cells += [_text(_mean([outcome.covers for outcome in outcomes]))]
    cells += [_text(_mean([outcome.rows for outcome in outcomes]))]
    for state in ("clear", "none_above", "not_clear", "cannot_tell"):
        cells.append(f"{states[state] / total:.2f}")
    repeated = _mean([float(outcome.repeated) for outcome in outcomes])
    return f"| {' | '.join([*cells, blamed or '–', f'{repeated:.2f}'])} |"
