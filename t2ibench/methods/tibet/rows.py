"""The rows of a TIBET result: the scores of each prompt along each axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.answer_counts import CountedAttribute, CountedPrompt
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import UNSEEN
from t2ibench.methods.tibet.axis_shares import AxisShares, axis_shares
from t2ibench.methods.tibet.image_sets import FeatureSet, ImageSet, PromptSets
from t2ibench.methods.tibet.named_answers import answers_about, reason_for_no_names
from t2ibench.methods.tibet.obedience import Obedience, obedience
from t2ibench.methods.tibet.published import MAD, published_scores
from t2ibench.methods.tibet.schema import Axis, TibetPrompt, TibetTask, questions_of
from t2ibench.methods.tibet.share_estimates import share_estimates
from t2ibench.settings import Settings

# Rows that a warning names.
_MOST_NAMED = 5
# Answers along an axis, beside its counterfactuals' names, that are counted by themselves.
_MOST_CLASSES = 4
ANOTHER = "another answer"


@dataclass(frozen=True, slots=True)
class AxisRow:
    """One prompt along one axis, with its scores, its mixture and the judge's answers.

    Attributes:
        prompt: The prompt.
        axis: The axis.
        item: The row of the result.
        shares: The mixture, or why there is none.
        obeyed: What the answers about the counterfactuals' images name.
        answers: How many of the prompt's images got each answer; see `answers_about`.
        unanswered: Number of the prompt's images without an answer, although what they show may be
            why.
    """

    prompt: str
    axis: Axis
    item: Item
    shares: AxisShares | str
    obeyed: Sequence[Obedience]
    answers: Counter[str]
    unanswered: int

    @property
    def reason(self) -> str | None:
        """Why the row is inconclusive; None if it is not."""
        return self.shares if isinstance(self.shares, str) else self.shares.reason


def row_of(
    task: TibetTask,
    target: TibetPrompt,
    axis: Axis,
    sets: PromptSets,
    settings: Settings,
) -> AxisRow:
    """Return the row of one prompt along one axis, with its shares and the paper's scores."""
    start = sets.sets[target.prompt]
    changed = [sets.sets[other.prompt] for other in axis.counterfactuals]
    names = [counterfactual.name for counterfactual in axis.counterfactuals]
    row_name = f"{target.prompt} | {axis.name}"
    features = [
        sets.features(image_set, questions_of(axis)) for image_set in (start, *changed)
    ]
    obeyed = obedience(axis, sets.names, features[1:])
    n_unseen = sum(start.excluded[reason] for reason in UNSEEN)
    n_unanswered = len(start) - len(features[0].units) + n_unseen
    shares = _reason_for_no_mixture(axis, sets, features, settings) or axis_shares(
        row_name,
        names,
        features,
        [answers.off_target for answers in obeyed],
        n_unanswered,
    )
    rng = settings.rng(task.id, f"null {target.prompt} {axis.name}")
    item = Item(
        name=row_name,
        scores=share_estimates(shares, names, settings.level)
        | _published_or_undefined(start, changed, names, settings.n_permutations, rng),
        group=axis.name,
        n_images=len(start) + sum(map(len, changed)),
    )
    return AxisRow(
        prompt=target.prompt,
        axis=axis,
        item=item,
        shares=shares,
        obeyed=[] if axis.named else obeyed,
        answers=answers_about(axis, sets, start, features[0]),
        unanswered=n_unanswered,
    )


def _reason_for_no_mixture(
    axis: Axis,
    sets: PromptSets,
    features: Sequence[FeatureSet],
    settings: Settings,
) -> str | None:
    """Return why the prompt's words or the answers allow no mixture; None if they do allow one."""
    if axis.named:
        return f"the prompt itself names its {axis.name}"
    if any(len(image_set.units) < 2 for image_set in features):
        return None
    start, *changed = features
    return reason_for_no_names(axis, sets, start, changed, settings.level)


def _published_or_undefined(
    start: ImageSet,
    changed: Sequence[ImageSet],
    names: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """Return the paper's scores of a row, or an undefined MAD alone if answers are missing."""
    without_answers = [part.prompt for part in (start, *changed) if not len(part)]
    if without_answers:
        reason = f"no answered image of: {', '.join(without_answers)}"
        return {MAD: Estimate.undefined(reason)}
    return published_scores(start, changed, names, n_draws, rng)


def counted_answers(rows: Sequence[AxisRow]) -> Iterator[CountedAttribute]:
    """Yield, for each axis, how often the judge gave each answer about each prompt's images.

    Axes that a prompt itself names are left out: its images show what they were asked for.
    """
    open_rows = [row for row in rows if not row.axis.named]
    for name in dict.fromkeys(row.axis.name for row in open_rows):
        along_axis = [row for row in open_rows if row.axis.name == name]
        classes = _classes(along_axis)
        counted = [
            CountedPrompt(row.prompt, _in_classes(row.answers, classes), row.unanswered)
            for row in along_axis
            if row.answers or row.unanswered
        ]
        if any(prompt.counts for prompt in counted):
            yield CountedAttribute(name, classes, tuple(counted), test="squared_lean")


def _classes(rows: Sequence[AxisRow]) -> tuple[str, ...]:
    """Return the answers to count along an axis: counterfactuals' names, then frequent others."""
    totals: Counter[str] = Counter()
    for row in rows:
        totals += row.answers
    names = {
        counterfactual.name: None
        for row in rows
        for counterfactual in row.axis.counterfactuals
        if totals[counterfactual.name]
    }
    others = [answer for answer in totals if answer not in names]
    others.sort(key=lambda answer: (-totals[answer], answer))
    if len(others) > _MOST_CLASSES:
        others = [*others[: _MOST_CLASSES - 1], ANOTHER]
    return (*names, *others)


def _in_classes(answers: Counter[str], classes: Sequence[str]) -> dict[str, float]:
    """Return the number of answers in each class that has any."""
    counts = Counter[str]()
    for answer, count in answers.items():
        counts[answer if answer in classes else ANOTHER] += count
    return {name: counts[name] for name in classes if counts[name]}


def warnings_of(rows: Sequence[AxisRow]) -> list[str]:
    """Return warnings that name the rows excluded from the headline, if it has other rows.

    Rows of axes that a prompt itself names were never to be in it, and are not warned of.
    """
    open_rows = [row for row in rows if not row.axis.named]
    causes = {
        "the answers do not tell their counterfactuals apart": [
            row.item.name
            for row in open_rows
            if isinstance(row.shares, AxisShares) and row.shares.reason
        ],
        "of their missing images, or of what the judge answered (each row has its reason)": [
            row.item.name for row in open_rows if isinstance(row.shares, str)
        ],
    }
    if all(row.reason for row in open_rows):
        return []
    return [
        f"{len(names)} of {len(open_rows)} rows are not in the headline, because {cause}: "
        f"{_first_names(names)}."
        for cause, names in causes.items()
        if names
    ]


def _first_names(names: Sequence[str]) -> str:
    """Return the first few row names in quotes, and how many more there are."""
    quoted = [f"'{name}'" for name in names]
    return listed(quoted, _MOST_NAMED)
