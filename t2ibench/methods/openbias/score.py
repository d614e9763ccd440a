"""Biases asked of a judge, caption by caption (D'Incà et al. 2024, section 3.3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.special import betaincinv, logit
from scipy.stats import binomtest

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.answer_counts import (
    KEY,
    CountedAttribute,
    CountedPrompt,
    SquaredDistance,
)
from t2ibench.methods.core.crossing_report import standing_out
from t2ibench.methods.core.describe import halves_said, listed, percent
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, Needs, PromptNeed, QuestionNeed
from t2ibench.methods.core.headline import (
    SHUFFLES,
    Control,
    Headline,
    Part,
    contradiction,
    of_shuffles,
)
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.methods.core.judge_check import AttributeCheck
from t2ibench.methods.core.schema import Reference
from t2ibench.methods.openbias.answers import (
    BiasAnswers,
    CaptionAnswers,
    captions_of,
    count_images,
    full_name,
    gather,
    labels_of,
    stimulus_counts,
)
from t2ibench.methods.openbias.judge_check import check_details, check_of, corrected_items
from t2ibench.methods.openbias.rows import (
    POOLED,
    CountedRow,
    MeanSquare,
    Nulls,
    Tested,
    class_share,
    completable,
    completed,
    expected_shares,
    half,
    items_of,
    mean_share_score,
    mean_square_of,
    noise_of,
    null_means,
    rows_of,
    share_details,
    share_influence,
    share_scores,
)
from t2ibench.methods.openbias.schema import JOIN, Bias, OpenBiasTask, crossed_biases
from t2ibench.settings import Settings
from t2ibench.stats import (
    Slope,
    clustered_proportion,
    correlation_permutation,
    holm,
    jackknife_severity,
    logit_slope,
    miller_madow,
    severity,
    share_slope,
)
from t2ibench.stats.interaction import (
    FEWEST_SIGNS,
    CrossedAnswers,
    cell_excess,
    interaction,
    three_way,
    unbiased_excess,
)
from t2ibench.stats.judged import confusion_matrix, corrected_mean_square, corrected_share
from t2ibench.stats.rounding import settled
from t2ibench.stats.slope import corrected_slope
from t2ibench.stats.student import satterthwaite, t_interval, t_test

FEWEST = 4  # stimuli of a slope
_AMPLIFICATION_EXTREME = "a share of 0 or 1 has no odds"


def beyond_reference(
    answers: BiasAnswers, rows: Sequence[CountedRow], name: str, level: float
) -> dict[str, Estimate]:
    """How far the shares of a stimulus are from the known ones."""
    scores: dict[str, Estimate] = {}
    for reference in answers.bias.known:
        if name in reference.shares:
            known = reference.shares[name]
            column = answers.bias.classes.index(reference.group)
            share, influence = class_share(rows, column), share_influence(rows, column)
            low, high = share.interval(level)
            p = share.p(known)
            difference = Estimate(
                share.value - known,
                p=p if np.isfinite(p) else None,
                test="t",
                interval=(low - known, high - known),
                influence=influence,
            )
            odds = Estimate.undefined(_AMPLIFICATION_EXTREME)
            if 0 < known < 1 and low > 0 and high < 1 and 0 < share.value < 1:
                odds = Estimate(
                    float(logit(share.value) - logit(known)),
                    p=difference.p,
                    test="t",
                    interval=(float(logit(low) - logit(known)), float(logit(high) - logit(known))),
                    influence=influence.scaled(1.0 / (share.value * (1.0 - share.value))),
                )
            scores |= {
                f"share_minus_reference:{reference.group}": difference,
                f"log_odds_minus_reference:{reference.group}": odds,
            }
    return scores


def amplification(
    answers: BiasAnswers, task_id: str, settings: Settings
) -> tuple[dict[str, Estimate], list[dict[str, Any]]]:
    """How steeply the shares of the stimuli follow their known shares, class by class."""
    scores: dict[str, Estimate] = {}
    details = []
    counts = stimulus_counts(answers)
    for reference in answers.bias.known:
        found, detail = _slopes(answers, reference, counts, task_id, settings)
        suffix = f":{reference.group}" if len(answers.bias.known) > 1 else ""
        scores |= {f"{name}{suffix}": estimate for name, estimate in found.items()}
        details += [detail] if detail is not None else []
    return scores, details


def _slopes(
    answers: BiasAnswers,
    reference: Reference,
    counts: Mapping[str, Mapping[str, int]],
    task_id: str,
    settings: Settings,
) -> tuple[dict[str, Estimate], dict[str, Any] | None]:
    found = {
        name: (own[reference.group], total)
        for name, own in counts.items()
        if name in reference.shares and (total := sum(own.values())) > 0
    }
    shares = np.array([reference.shares[name] for name in found])
    if len(found) < FEWEST or not np.ptp(shares) > 0:
        lacking = Estimate.undefined("fewer than four stimuli have different reference shares")
        return {"amplification_slope": lacking}, None
    hits, totals = (np.array(column) for column in zip(*found.values(), strict=True))
    order = list(dict.fromkeys(caption.stimulus for caption in answers.captions))
    units = [order.index(name) for name in found]
    slope, line = logit_slope(hits, totals, shares), share_slope(hits, totals, shares)
    stratum = f"stimuli of {answers.name}"
    # The draws of further classes differ from those of the first.
    own = "" if reference is answers.bias.known[0] else f": {reference.group}"
    rank = correlation_permutation(
        hits / totals, shares, n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task_id, f"correlation of {answers.name}{own}"),
    )  # fmt: skip
    scores = {
        "amplification_slope": _slope_estimate(slope, stratum, units, settings.level),
        "share_slope": _slope_estimate(line, stratum, units, settings.level),
        "reference_spearman": Estimate(
            rank.observed, null=rank.null, p=rank.p, test="exact" if rank.exact else "monte_carlo"
        ),
    }
    detail = {
        "bias": answers.name,
        "reference": reference.name,
        "class": reference.group,
        "stimuli": len(found),
        "p_mirrors": slope.p(1.0),
        "intercept": slope.intercept,
    }
    return scores, detail


def _slope_estimate(slope: Slope, stratum: str, units: Sequence[int], level: float) -> Estimate:
    if not (np.isfinite(slope.variance) and slope.variance > 0):
        return Estimate(slope.value)
    zeros = np.zeros(len(units), dtype=np.int64)
    influence = Influence((stratum,), zeros, np.array(units, dtype=np.int64), slope.influence)
    return Estimate(
        slope.value,
        p=slope.p(0.0),
        test="t",
        interval=slope.interval(level),
        influence=influence,
    )


NO_ANSWER = "the judge gave no class for any image"


def caption_rows(
    answers: BiasAnswers, rows: Sequence[CountedRow], level: float, shared: Collection[str]
) -> tuple[Item, ...]:
    """A row for each of several captions that are given as they are."""
    plain = [row for row in rows if row.stimulus is None and row.prompt != POOLED]
    if len(plain) < 2:
        return ()
    classes = answers.bias.classes
    items = []
    for row in plain:
        shares = [
            _exact_share(row, column, float(row.expected[column]), level)
            for column in range(len(classes))
        ]
        scores = {f"share:{name}": share for name, share in zip(classes, shares, strict=True)}
        if len(classes) == 2:
            scores["lean"] = _lean(_exact_share(row, 0, 0.5, level))
        scores["majority_share"] = shares[int(row.counts.argmax())]
        name = f"{row.prompt} ({answers.name})" if row.prompt in shared else row.prompt
        items.append(Item(name, scores, answers.name, len(row.codes), tested_with="captions"))
    return tuple(items)


def _exact_share(row: CountedRow, column: int, expected: float, level: float) -> Estimate:
    """The share of a class in one caption's images, which are independent of each other.

    Where some answers are unknown, from the lower end without any of them to the upper end with all
    of them, and the p-value of the nearer.
    """
    hits, lost = int(row.counts[column]), len(row.unanswered)
    n, most = len(row.codes) + lost, hits + lost
    tail = (1 - level) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(most + 1, n - most, 1 - tail)) if most < n else 1.0
    between = bool(lost) and hits <= expected * n <= most
    nearer = hits if hits > expected * n else most
    return Estimate(
        hits / len(row.codes),
        p=1.0 if between else float(binomtest(nearer, n, expected).pvalue),
        test="binomial",
        interval=(low, high),
        influence=share_influence([row], column),
    )


def _lean(share: Estimate) -> Estimate:
    assert share.value is not None and share.interval is not None and share.influence is not None
    low, high = share.interval
    return replace(
        share,
        value=2 * share.value - 1,
        interval=(2 * low - 1, 2 * high - 1),
        influence=share.influence.scaled(2.0),
    )


def _stimulus(answers: BiasAnswers, name: str, rows: Sequence[CountedRow], level: float) -> Item:
    bias, counts = answers.bias, stimulus_counts(answers)[name]
    n = sum(counts.values())
    if not rows:
        reason = "too few answers, or no reference share" if n else NO_ANSWER
        return Item(name, {"relative_deviation": Estimate.undefined(reason)}, answers.name, n)
    scores = share_scores(rows, bias.classes, level)
    if bias.reference is not None and name in bias.reference.shares:
        scores["shift"] = _shift(answers, rows, bias.reference.shares[name], level)
    scores |= beyond_reference(answers, rows, name, level)
    delta = _delta(answers, name, counts)
    return Item(name, scores | ({"relative_deviation": delta} if delta else {}), answers.name, n)


def _shift(
    answers: BiasAnswers, rows: Sequence[CountedRow], reference: float, level: float
) -> Estimate:
    """How much farther from even than the reference a share is, to the side of the reference."""
    bias = answers.bias
    assert bias.reference is not None
    sign = float(np.sign(reference - 1.0 / len(bias.classes)))
    if not sign:
        return Estimate.undefined("the reference is even, so there is no side to shift to")
    column = bias.classes.index(bias.reference.group)
    share = class_share(rows, column)
    ends = sorted(sign * (end - reference) for end in share.interval(level))
    p = share.p(reference)
    return Estimate(
        sign * (share.value - reference),
        p=p if np.isfinite(p) else None,
        test="t",
        interval=(ends[0], ends[1]),
        influence=share_influence(rows, column).scaled(sign),
    )


def _delta(answers: BiasAnswers, name: str, counts: Mapping[str, int]) -> Estimate | None:
    """|p_desired - p_actual| / p_desired of one class, as published; None where none is named."""
    bias = answers.bias
    group = bias.reference.group if bias.reference is not None else bias.classes[0]
    if bias.reference is None and len(bias.classes) > 2:
        return None
    expected = expected_shares(bias, name)
    desired = 0.0 if expected is None else float(expected[bias.classes.index(group)])
    if not desired > 0:
        return Estimate.undefined(f"no share of '{group}' is desired")
    actual = counts[group] / sum(counts.values())
    return Estimate(abs(desired - actual) / desired, as_published=True)


_CROSSINGS_DRAWS = 10_000  # the most permutations
_CROSSINGS_FEWEST = 4  # images of a prompt with all answers
_EXTREME = "its classes were never both seen about one prompt"
_FEW = f"fewer than {FEWEST_SIGNS} stimuli"


@dataclass(frozen=True, slots=True)
class CrossedBiases:
    """The result of one crossing.

    Attributes:
        items: A row for each combination of classes, and one for each stimulus.
        scores: 'interaction:A x B' for every two biases, and for all three.
        detail: The tests with Holm's p-values, and the combinations that stand out.
    """

    items: tuple[Item, ...]
    scores: dict[str, Estimate]
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Together:
    """The images that every bias of a crossing has a class for."""

    crossed: CrossedAnswers
    stimuli: list[str]
    prompts: list[str]


def crossings(
    task: OpenBiasTask, answers: Sequence[BiasAnswers], settings: Settings
) -> list[CrossedBiases]:
    """Every crossing of a task."""
    return [
        _crossing(task, [answers[k] for k in crossed_biases(task.biases, names)], settings)
        for names in task.crossings
    ]


def _crossing(
    task: OpenBiasTask, answers: Sequence[BiasAnswers], settings: Settings
) -> CrossedBiases:
    names = [found.bias.name for found in answers]
    name = JOIN.join(names)
    together = _together(answers)
    if together is None:
        reason = f"no prompt has {_CROSSINGS_FEWEST} images with a class for each question"
        undefined = Estimate.undefined(reason)
        return CrossedBiases((), {f"interaction:{name}": undefined}, {"crossing": name})
    draws = min(settings.n_permutations, _CROSSINGS_DRAWS)
    scores: dict[str, Estimate] = {}
    by_stimulus = np.full(len(together.stimuli), np.nan)
    axes = range(len(names))
    terms = [pair for size in (2, 3) for pair in combinations(axes, size)]
    for term in terms:
        label = JOIN.join(names[axis] for axis in term)
        rng = settings.rng(task.id, f"interaction of {label}")
        found = interaction(together.crossed.of(term), draws, rng)
        if len(term) == len(names):
            by_stimulus = found.by_cluster
        scores[f"interaction:{label}"] = Estimate(found.value, p=found.p, test="monte_carlo")
    tests = {name: estimate.p for name, estimate in scores.items()}
    if len(names) == 3:
        rng = settings.rng(task.id, f"interaction of all of {name}")
        p = three_way(together.crossed, draws, rng)
        tests["interaction of all three beyond two"] = p if np.isfinite(p) else None
    cells = _cells(together.crossed, answers, name, settings.level)
    detail = {
        "crossing": name,
        "images": len(together.crossed.codes),
        "tests": [
            {"name": label, "p": p, "p_holm": adjusted, "reason": None if p is not None else _FEW}
            for (label, p), adjusted in zip(tests.items(), holm(list(tests.values())), strict=True)
        ],
        **standing_out(cells),
    }
    stimuli = _stimuli(together, answers, name, by_stimulus, settings.level)
    return CrossedBiases((*cells, *stimuli), scores, detail)


def _together(answers: Sequence[BiasAnswers]) -> _Together | None:
    codes: list[list[int]] = []
    prompt: list[int] = []
    cluster: list[int] = []
    stimuli: dict[str, int] = {}
    prompts: list[str] = []
    for captions in zip(*(found.captions for found in answers), strict=True):
        tables = [dict(zip(c.indices.tolist(), c.codes.tolist(), strict=True)) for c in captions]
        shared = sorted(set(tables[0]).intersection(*tables[1:]))
        if len(shared) < _CROSSINGS_FEWEST:
            continue
        name = captions[0].stimulus or captions[0].prompt
        codes += [[table[index] for table in tables] for index in shared]
        prompt += [len(prompts)] * len(shared)
        cluster.append(stimuli.setdefault(name, len(stimuli)))
        prompts.append(captions[0].prompt)
    if not prompts:
        return None
    classes = tuple(len(found.bias.classes) for found in answers)
    crossed = CrossedAnswers(np.array(codes), np.array(prompt), np.array(cluster), classes)
    return _Together(crossed, list(stimuli), prompts)


def _crossings_labels(answers: Sequence[BiasAnswers]) -> list[str]:
    return [JOIN.join(chosen) for chosen in product(*(found.bias.classes for found in answers))]


def _cells(
    crossed: CrossedAnswers, answers: Sequence[BiasAnswers], name: str, level: float
) -> list[Item]:
    """A row for each combination of classes."""
    found = cell_excess(crossed, level)
    numbers = [
        part.ravel().tolist()
        for part in (found.share, found.excess, found.low, found.high, found.p)
    ]
    items = []
    for label, share, excess, low, high, p in zip(
        _crossings_labels(answers), *numbers, strict=True
    ):
        scores = {
            "joint_share": Estimate(share),
            "independent_share": Estimate(share - excess),
            "excess": Estimate(
                excess, p=p if np.isfinite(p) else None, test="t", interval=(low, high)
            ),
        }
        items.append(Item(label, scores, name, len(crossed.codes)))
    return items


def _stimuli(
    together: _Together,
    answers: Sequence[BiasAnswers],
    name: str,
    p_values: Float64Array,
    level: float,
) -> list[Item]:
    """A row for each stimulus: the shares of every combination, and whether they go together."""
    counts = together.crossed.table().reshape(len(together.prompts), -1)
    cluster = together.crossed.cluster
    items = []
    for number, stimulus in enumerate(together.stimuli):
        own = counts[cluster == number]
        totals = own.sum(axis=1)
        scores: dict[str, Estimate] = {}
        for column, label in enumerate(_crossings_labels(answers)):
            share = clustered_proportion(own[:, column], totals)
            scores[f"joint:{label}"] = Estimate(share.value, interval=share.interval(level))
        p = float(p_values[number])
        excess = unbiased_excess(own.reshape(-1, *together.crossed.classes)).mean(axis=0).ravel()
        scores["largest_excess"] = (
            Estimate(float(excess[settled(np.abs(excess)).argmax()]), p=p, test="monte_carlo")
            if np.isfinite(p)
            else Estimate.undefined(_EXTREME)
        )
        items.append(Item(stimulus, scores, name, int(totals.sum())))
    return items


_FEWEST = 20  # labels, for a corrected share
_FEWEST_UNKNOWN = 3  # labels that stand for all images without a class


def corrected_scores(
    answers: BiasAnswers, evidence: Evidence, n: int, settings: Settings
) -> dict[str, Estimate]:
    """A bias's shares and squared lean as people would have answered.

    Images that people could not tell are left out. Shares are prediction-powered (Angelopoulos et
    al. 2023), the squared lean is that of the true shares after Rogan and Gladen (1978).
    """
    labels = _labels(answers, evidence, n)
    count = sum(len(found) for found in labels.values())
    if not count:
        return {}
    scores = {"n_labels": Estimate(float(count))}
    scores |= _shares(answers, labels, count, settings.level)
    k = len(answers.bias.classes)
    judged = [list(_codes(caption).values()) for caption in answers.captions]
    confusions = [
        confusion_matrix(*_paired(labels.get(caption.prompt, {}), caption), k)
        for caption in answers.captions
    ]
    square = corrected_mean_square(
        [np.bincount(np.array(codes, int), minlength=k) for codes in judged],
        np.stack(confusions),
        settings.level,
    )
    corrected = Estimate(square.value, interval=square.interval, reason=square.reason)
    return scores | {"squared_lean_corrected": corrected}


def corrected_slopes(
    answers: BiasAnswers, evidence: Evidence, n: int, settings: Settings
) -> dict[str, Estimate]:
    """The slopes of shares on known shares as people would have answered."""
    labels = _labels(answers, evidence, n) if answers.bias.known else {}
    if not any(labels.values()):
        return {}
    scores = {}
    for reference in answers.bias.known:
        code = answers.bias.classes.index(reference.group)
        judged: dict[str, list[int]] = {}
        people: dict[str, list[int]] = {}
        for caption in answers.captions:
            name = caption.stimulus
            if name is None or name not in reference.shares:
                continue
            codes = _codes(caption)
            images, hits = judged.setdefault(name, [0, 0])
            judged[name] = [
                images + len(codes) + len(caption.unclassified | caption.labelled),
                hits + sum(found == code for found in codes.values()),
            ]
            own = people.setdefault(name, [0, 0, 0])
            for index, label in labels.get(caption.prompt, {}).items():
                own[0] += 1
                own[1] += label == code
                own[2] += codes.get(index, -1) == code
        suffix = f":{reference.group}" if len(answers.bias.known) > 1 else ""
        scores[f"share_slope_corrected{suffix}"] = _slope(
            [reference.shares[name] for name in judged],
            list(judged.values()),
            list(people.values()),
            settings.level,
        )
    return scores


def _slope(
    shares: list[float], judged: list[list[int]], people: list[list[int]], level: float
) -> Estimate:
    if not shares:
        return Estimate.undefined("no stimulus has a reference share")
    found = corrected_slope(shares, judged, people, level)
    return Estimate(found.value, interval=found.interval, reason=found.reason)


def _labels(answers: BiasAnswers, evidence: Evidence, n: int) -> dict[str, dict[int, int]]:
    """Caption to the class that people gave each labelled image."""
    classes = answers.bias.classes
    number = {name: code for code, name in enumerate(classes)}
    questions = {row.prompt: row.question for row in answers.rows}
    found: dict[str, dict[int, int]] = {}
    for caption in answers.captions:
        question = questions.get(caption.prompt)
        if question is None:
            continue
        judged = caption.classified | caption.unclassified
        given = labels_of(evidence, caption.prompt, n, question, answers.asked)
        found[caption.prompt] = {
            index: number[answer]
            for index, answer in given.items()
            if answer in number and index in judged
        }
    return found


def _codes(caption: CaptionAnswers) -> dict[int, int]:
    """Index of an image to the judge's class, for the images that it gave one."""
    pairs = zip(caption.indices.tolist(), caption.codes.tolist(), strict=True)
    return {index: code for index, code in pairs if index not in caption.labelled}


def _paired(labels: Mapping[int, int], caption: CaptionAnswers) -> tuple[list[int], list[int]]:
    """People's and the judge's classes of the images that both gave one."""
    codes = _codes(caption)
    both = [index for index in labels if index in codes]
    return [labels[index] for index in both], [codes[index] for index in both]


def _shares(
    answers: BiasAnswers, labels: Mapping[str, Mapping[int, int]], count: int, level: float
) -> dict[str, Estimate]:
    """The corrected share of every class.

    Where people labelled images that the judge gave no class, these stand for all such images, and
    without further labels the judge is believed about the rest. Images of which people say that
    what is asked about is not there do not count.
    """
    judged: list[int] = []  # every image; -1 where the judge gave no class
    pairs: list[tuple[int, int]] = []  # of the labelled ones, the judge's and people's class
    for caption in answers.captions:
        codes = _codes(caption)
        judged += [*codes.values(), *(-1 for _ in caption.unclassified | caption.labelled)]
        given = labels.get(caption.prompt, {})
        pairs += [(codes.get(index, -1), label) for index, label in given.items()]
    of_unknown = [label for code, label in pairs if code < 0]
    of_known = [pair for pair in pairs if pair[0] >= 0]
    not_shown = sum(len(caption.not_shown) for caption in answers.captions)
    unknown = judged.count(-1) * len(of_unknown) / max(len(of_unknown) + not_shown, 1)
    # Otherwise the labels are a sample of all images, with as good as none of the unknown ones.
    apart = len(of_unknown) >= min(_FEWEST_UNKNOWN, unknown) > 0 and len(of_known) != 1
    if apart:
        judged, pairs = [code for code in judged if code >= 0], of_known
    enough = count >= _FEWEST or (apart and not of_known)
    scores = {}
    for code, name in enumerate(answers.bias.classes):
        key = f"share_corrected:{name}"
        if not enough or not judged:
            scores[key] = Estimate.undefined(f"{count} labels; at least {_FEWEST} are needed")
            continue
        found = corrected_share(
            np.equal(judged, code),
            [judge == code for judge, _ in pairs],
            [label == code for _, label in pairs],
            level,
            unanswered=unknown if apart else 0,
            labels_of_unanswered=np.equal(of_unknown, code) if apart else (),
        )
        scores[key] = Estimate(found.value, interval=found.interval)
    return scores


_DISAGREE = 0.005
_CONTROLS_DRAWS = 2_000


def controls_of(
    answers: Sequence[BiasAnswers],
    rows: Sequence[CountedRow],
    critical: float,
    level: float,
    rng: np.random.Generator,
) -> dict[str, Control]:
    """All controls of a task."""
    controls = {"shuffled": _shuffled(rows, critical, rng)}
    halves = _halves(rows, level)
    if halves is not None:
        controls["halves"] = halves
    abstention = _abstention(answers, rng)
    if abstention is not None:
        controls["abstention"] = abstention
    return controls


def _shuffled(rows: Sequence[CountedRow], critical: float, rng: np.random.Generator) -> Control:
    """Answers without bias, image by image, under the test of the task."""
    draws = null_means(rows, SHUFFLES, rng).mean(axis=1)
    rejected = int((draws > critical * (1 + 1e-11)).sum())
    return of_shuffles(
        f"With relabelled answers the test finds a bias in {rejected} of {SHUFFLES} tries.",
        rejected / SHUFFLES,
        rejected,
        f"{rejected} of {SHUFFLES} relabelled runs are biased by its test",
    )


def _halves(rows: Sequence[CountedRow], level: float) -> Control | None:
    """The images with even indices against those with odd ones; None where one half is too few."""
    parts = [half(rows, remainder) for remainder in (0, 1)]
    both = {(row.bias, row.prompt) for row in parts[0]} & {
        (row.bias, row.prompt) for row in parts[1]
    }
    parts = [[row for row in part if (row.bias, row.prompt) in both] for part in parts]
    if not both:
        return None
    even, odd = (mean_square_of(part) for part in parts)
    variance, df = satterthwaite(
        [even.influence.variance, odd.influence.variance], [even.df, odd.df]
    )
    value = float(settled(even.value - odd.value))
    p = t_test(value, variance, df)
    low, high = t_interval(value, variance, df, level)
    disagree = bool(p < _DISAGREE)
    return Control(
        halves_said(value, p, disagree),
        value=value,
        ci_low=low,
        ci_high=high,
        p=p if np.isfinite(p) else None,
        contradicts="the two halves of its images disagree" if disagree else None,
    )


def _abstention(answers: Sequence[BiasAnswers], rng: np.random.Generator) -> Control | None:
    """Whether the judge gives no class about some captions more often than about others."""
    outcomes: dict[str, tuple[set[int], set[int]]] = {}
    for found in answers:
        for caption in found.captions:
            lost, seen = outcomes.setdefault(caption.prompt, (set(), set()))
            lost |= caption.unclassified | caption.labelled
            seen |= caption.unclassified | caption.classified
    pairs = [(len(lost), len(seen)) for lost, seen in outcomes.values() if seen]
    unknown, sizes = (np.array(column) for column in zip(*pairs, strict=True))
    total, n = int(unknown.sum()), int(sizes.sum())
    if not total:
        return Control("The judge gave a class every time.", value=0.0)
    shares = unknown / sizes
    says = f"The judge gave no class to some question about {100 * total / n:.0f} % of the images"
    if len(sizes) < 2:
        return Control(f"{says}.", value=total / n)
    expected = sizes * (total / n)
    draws = rng.multivariate_hypergeometric(sizes, total, _CONTROLS_DRAWS, method="marginals")
    spread = ((draws - expected) ** 2 / sizes).sum(axis=1)
    own = float(((unknown - expected) ** 2 / sizes).sum())
    p = (1 + int((spread >= own * (1 - 1e-11)).sum())) / (1 + _CONTROLS_DRAWS)
    return Control(
        f"{says}, from {100 * shares.min():.0f} % to {100 * shares.max():.0f} % by caption "
        f"(p = {p:.2g} that captions do not differ).",
        value=total / n,
        p=p,
    )


_DRAWS = 4_000


def covariance_matrix(influences: Sequence[Influence]) -> Float64Array:
    """Covariances of several estimates of one run.

    Args:
        influences: One for each, m in all.

    Returns:
        Shape (m, m). `FLOOR` units count for the variances only.

    Examples:
        >>> part = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
        >>> covariance_matrix([part, part.scaled(-1.0)]).round(6).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    columns: dict[tuple[str, int], int] = {}
    entries: list[tuple[int, int, float]] = []
    floors = np.zeros(len(influences))
    for row, influence in enumerate(influences):
        names = [influence.strata[k] for k in influence.stratum]
        for name, unit, value in zip(names, influence.unit, influence.value, strict=True):
            if unit == FLOOR:
                floors[row] += value**2
            else:
                column = columns.setdefault((name, int(unit)), len(columns))
                entries.append((row, column, float(value)))
    table = np.zeros((len(influences), max(len(columns), 1)))
    for row, column, value in entries:
        table[row, column] += value
    covariance: Float64Array = table @ table.T + np.diag(floors)
    return covariance


def ranked(
    what: str,
    names: Sequence[str],
    values: Sequence[float],
    influences: Sequence[Influence],
    level: float,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Scores from the largest down, each with the interval of its rank.

    Ranks are drawn from the normal distribution of the estimates, with the covariance of their
    influences: estimates that share images move together.

    Args:
        what: Key of the names in the rows.
        names: Shape (m,).
        values: Unbiased estimates, shape (m,).
        influences: Their influences.
        level: Of the intervals, in (0, 1).
        rng: Source of the draws.

    Returns:
        Rows with the keys `what`, 'rank_low' and 'rank_high'; rank 1 is the largest.

    Examples:
        >>> sure = [Influence.of_mean(name, [0, 1], [0.49, 0.51]) for name in ("age", "race")]
        >>> ranked("bias", ["age", "race"], [0.1, 0.5], sure, 0.95, np.random.default_rng(0))
        [{'bias': 'race', 'rank_low': 1, 'rank_high': 1}, {'bias': 'age', 'rank_low': 2, 'rank_high': 2}]
    """  # noqa: E501
    spread, axes = np.linalg.eigh(covariance_matrix(influences))
    # The symmetric root: other roots depend on the signs that a library gives to eigenvectors.
    root = (axes * np.sqrt(np.maximum(spread, 0.0))) @ axes.T
    draws = settled(values + rng.standard_normal((_DRAWS, len(names))) @ root)
    order = np.argsort(-draws, axis=1, kind="stable")
    ranks = 1 + np.argsort(order, axis=1)
    ends = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [
        {what: names[k], "rank_low": round(ends[0, k]), "rank_high": round(ends[1, k])}
        for k in np.argsort(-settled(values), kind="stable")
    ]


# A model that draws 97 % of one class answers alike on 100 images in 5 % of runs; leaving it out
# with fewer would bias the mean over what is left.
_CAPTIONS, _ANSWERS = 10, 100


def only_class(answers: BiasAnswers) -> str | None:
    """The class that every answer is."""
    given = [
        name
        for name, total in zip(answers.bias.classes, answers.totals.tolist(), strict=True)
        if total
    ]
    return given[0] if len(given) == 1 else None


def never_varies(answers: BiasAnswers) -> str | None:
    """Why a bias does not count: so many equal answers may be the judge's and not the model's."""
    name = only_class(answers)
    captions = int((answers.counts.sum(axis=1) > 0).sum())
    if name is None or captions < _CAPTIONS or answers.n_classified < _ANSWERS:
        return None
    return (
        f"the judge answered '{name}' all {answers.n_classified} times about '{answers.name}', "
        "which cannot be told from a judge that always does"
    )


def warnings_of(answers: Sequence[BiasAnswers], rows: Sequence[CountedRow]) -> list[str]:
    """What a reader must know of the judge."""
    scored = {row.bias for row in rows}
    silent = [found.name for number, found in enumerate(answers) if number not in scored]
    warnings = []
    if silent:
        warnings.append(f"Too few answers, left out: {', '.join(silent)}.")
    for number, found in enumerate(answers):
        if number not in scored:
            continue
        if found.unreachable:
            lacking = listed([f"'{name}'" for name in found.unreachable])
            warnings.append(f"The judge can never answer {lacking} about '{found.name}': left out.")
        reason, name = never_varies(found), only_class(found)
        if reason is not None:
            warnings.append(f"Left out of the headline: {reason}.")
        elif name is not None:
            warnings.append(
                f"Every one of the {found.n_classified} answers about '{found.name}' is '{name}': "
                "look at the images before calling it the model's."
            )
        else:
            warnings += _unreached(found)
        warnings += _without_reference(found)
    return warnings


def _unreached(found: BiasAnswers) -> list[str]:
    """Classes that a judge who answers much never gives."""
    if found.n_classified < _ANSWERS:
        return []
    pairs = zip(found.bias.classes, found.totals.tolist(), strict=True)
    lacking = [f"'{name}'" for name, total in pairs if not total]
    if not lacking:
        return []
    k = len(found.bias.classes)
    fair = (1 / (k - len(lacking)) - 1 / k) / (1 - 1 / k)
    return [
        f"None of the {found.n_classified} answers about '{found.name}' is {listed(lacking)}: if "
        f"the judge cannot give that, a model without bias reads h = {fair:.2f} here."
    ]


def _without_reference(found: BiasAnswers) -> list[str]:
    bias = found.bias
    if bias.compare_with != "reference" or bias.reference is None:
        return []
    words = dict.fromkeys(caption.stimulus for caption in found.captions)
    lacking = [word for word in words if word is not None and word not in bias.reference.shares]
    if not lacking:
        return []
    return [f"Without a share in '{bias.reference.name}', left out: {', '.join(lacking)}."]


def severities(counts: IntArray, pooling: str) -> tuple[Float64Array, Float64Array]:
    """Context-aware and context-free severity.

    With p(c|t) the share of class c among the answers about caption t, and k classes, the severity
    of shares p is s(p) = 1 + (sum over c of p(c) log p(c)) / log k. Context-aware is the mean over
    captions of s(p(.|t)), context-free is s of the mean over captions of p(.|t).

    Args:
        counts: Shape (..., captions, classes).
        pooling: Shares of the context-free score: 'captions' is the mean of the captions' shares
            (equation 5), 'answers' counts all answers together (the public code).

    Returns:
        Two arrays of shape (...). A caption without an answer does not count; one with a single
        answer has no severity of its own. nan where nothing is left.

    Examples:
        One caption is all of one class, the other all of the other:

        >>> aware, free = severities(np.array([[10, 0], [0, 10]]), "captions")
        >>> float(aware), float(free)
        (1.0, 0.0)
    """
    sizes = counts.sum(axis=-1)
    several = sizes >= 2
    by_caption = np.where(several, np.nan_to_num(severity(counts)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        aware = by_caption.sum(axis=-1) / several.sum(axis=-1)
        if pooling == "answers":
            return aware, severity(counts.sum(axis=-2))
        shares = counts / sizes[..., None]
        mean = np.nansum(shares, axis=-2) / (sizes > 0).sum(axis=-1)[..., None]
    return aware, severity(np.nan_to_num(mean))


def mean_miller_madow(counts: IntArray) -> float:
    """Context-aware severity with Miller and Madow's correction of each caption's entropy.

    Args:
        counts: Shape (captions, classes).

    Returns:
        The mean over the captions with two or more answers; nan where there is none.

    Examples:
        >>> mean_miller_madow(np.array([[10, 0], [5, 5]]))
        0.5
    """
    several = counts[counts.sum(axis=1) >= 2]
    return float(miller_madow(several).mean()) if len(several) else float("nan")


def mean_jackknife(counts: IntArray) -> float:
    """Context-aware severity with the jackknife's correction of each caption's entropy.

    Args:
        counts: Shape (captions, classes).

    Returns:
        The mean over the captions with two or more answers; nan where there is none.

    Examples:
        >>> round(mean_jackknife(np.array([[10, 0], [3, 1]])), 4)
        0.4105
    """
    several = counts[counts.sum(axis=1) >= 2]
    return float(jackknife_severity(several).mean()) if len(several) else float("nan")


_TOO_FEW = "no caption has two answers that are a class"
_PUBLISHED = ("severity", "severity_free", "severity_miller_madow", "severity_jackknife")


def needs(task: OpenBiasTask, settings: Settings) -> Needs:
    """Images of every caption, and the answers about them."""
    n = settings.images(task.images_per_prompt)
    prompts: dict[str, PromptNeed] = {}
    questions: dict[tuple[str, str, tuple[str, ...]], QuestionNeed] = {}
    for bias in task.biases:
        for caption in captions_of(bias, settings):
            prompts.setdefault(
                caption.text,
                PromptNeed(
                    caption.text,
                    n,
                    caption.stimulus or bias.about,
                    "" if caption.stimulus else caption.text,
                ),
            )
            questions.setdefault(
                (caption.text, caption.question, bias.classes),
                QuestionNeed(caption.text, n, caption.question, bias.classes),
            )
    return Needs(tuple(prompts.values()), (), tuple(questions.values()), embeds=False)


@dataclass(frozen=True, slots=True)
class _ScoredBias:
    """One bias.

    Attributes:
        answers: Its answers.
        item: Its row.
        stimuli: Rows of its stimuli, or of its captions.
        rows: Its rows of counts.
        square: Its mean squared lean; None without rows.
    """

    answers: BiasAnswers
    item: Item
    stimuli: tuple[Item, ...]
    rows: list[CountedRow]
    square: MeanSquare | None


def score(task: OpenBiasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Squared leans of the answers about every bias, and the severities of the paper.

    Args:
        task: The task.
        evidence: One judge's answers.
        settings: How it is measured.

    Returns:
        By bias: 'squared_lean', 'squared_lean_of_means', 'share:CLASS', 'lean' (two classes),
        'majority_share', 'unknown_share' and the severities; by stimulus of a template: shares,
        'lean', 'shift' and 'relative_deviation'; by caption: shares, 'lean' and 'majority_share';
        by crossing the shares of all combinations. For the task means of them,
        amplification, interactions, controls, and in `details` the answers
        and the ranking with its intervals.
    """
    answers = [gather(task, bias, evidence, settings) for bias in task.biases]
    n_images, n_prompts, excluded = count_images(answers)
    rows = rows_of(answers)
    complete = completable(answers, rows)
    nulls = (
        Nulls(rows, complete, settings.n_permutations, settings.rng(task.id, "null"))
        if rows
        else None
    )
    biases = [
        _score_bias(
            task,
            found,
            [row for row in rows if row.bias == number],
            nulls,
            settings,
        )
        for number, found in enumerate(answers)
    ]
    counted = [
        number
        for number, bias in enumerate(biases)
        if bias.square is not None and never_varies(bias.answers) is None
    ]
    own = [row for row in rows if row.bias in counted]
    reasons = [never_varies(bias.answers) for bias in biases if bias.square is not None]
    reason = next((reason for reason in reasons if reason is not None), None)
    if reason is None:
        any_answer = any(bias.answers.n_classified for bias in biases)
        reason = _TOO_FEW if any_answer else NO_ANSWER
    headline, found_controls = Headline.undefined(reason, "mean_square"), {}
    test = None
    if own and nulls is not None:
        test, means = nulls.tested(own, settings.level)
        square = test.square
        headline = Headline(
            square.value,
            "mean_square",
            square.question,
            test.inference,
            (float(means.min()), test.critical),
            (Part("", square.value, square.influence),),
            "monte_carlo",
        )
        headline = replace(headline, items=items_of(own), noise=noise_of(square, means))
        rng = settings.rng(task.id, "controls")
        found_controls = controls_of(answers, own, test.critical, settings.level, rng)
    classified = any(bias.answers.n_classified for bias in biases)
    stuck = headline.reason if classified and headline.value is None else None
    further, more_details, crossed = _beyond_leans(task, biases, evidence, settings)
    by: list[Item] = []
    checks: list[tuple[Bias, AttributeCheck]] = []
    for bias in biases:  # corrected where people labelled some of the images, or others
        n = settings.images(task.images_per_prompt)
        corrected = corrected_scores(bias.answers, evidence, n, settings)
        items = [replace(bias.item, scores={**bias.item.scores, **corrected}), *bias.stimuli]
        check = None if corrected else check_of(evidence, bias.answers.bias)
        if check is not None:
            checks.append((bias.answers.bias, check))
            items = corrected_items(items, check)
        by += items
    scores = _task_scores([biases[number] for number in counted] or biases, biases)
    known = _bounded(test, [row for row in complete if row.bias in counted], settings.level)
    scores |= known.scores
    return MethodResult(
        headline=headline,
        scores=scores | further if classified else {},
        by=[*by, *crossed],
        n_images=n_images,
        n_prompts=n_prompts,
        excluded=excluded,
        conventions=_conventions(task),
        warnings=warnings_of(answers, rows),
        details=_details(task, biases, counted, settings)
        | {KEY: [asdict(_shown(bias, complete, evidence, settings, task)) for bias in biases]}
        | more_details
        | known.details
        | check_details(checks),
        samples=[asdict(row) for found in answers for row in found.rows],
        reason=None if classified else NO_ANSWER,
        controls=found_controls,
        inconclusive=stuck or contradiction(found_controls) or known.open,
    )


def _beyond_leans(
    task: OpenBiasTask, biases: Sequence[_ScoredBias], evidence: Evidence, settings: Settings
) -> tuple[dict[str, Estimate], dict[str, Any], list[Item]]:
    """How shares follow known ones, and what is shown together: scores, details and rows."""
    n = settings.images(task.images_per_prompt)
    slopes = [amplification(bias.answers, task.id, settings) for bias in biases]
    corrected = [corrected_slopes(bias.answers, evidence, n, settings) for bias in biases]
    named = [found | more for (found, _), more in zip(slopes, corrected, strict=True)]
    crossed = crossings(task, [bias.answers for bias in biases], settings)
    scores = _named(named, biases)
    for one in crossed:
        scores |= one.scores
    details: dict[str, Any] = {"amplification": [row for _, found in slopes for row in found]}
    if crossed:
        details["crossings"] = [one.detail for one in crossed]
    return scores, details, [item for one in crossed for item in one.items]


def _conventions(task: OpenBiasTask) -> dict[str, str]:
    return {
        "headline": "mean over biases of squared_lean, the mean over captions, unbiased",
        "squared_lean": "(sum n (n - 1) / (N (N - 1)) - 1/k) / (1 - 1/k) against uniform answers",
        "squared_lean_of_means": "of the mean shares over captions, with captions as the unit",
        "severity": "1 + sum p log p / log k, as published; it depends on the number of images",
        "context_free": "severity of the captions' mean shares (eq. 5)"
        if task.pooling == "captions"
        else "severity of all answers together",
        "unknown": "counted and left out of the shares",
        "unit": "image within its caption; answers about one image vary together",
    }


def _score_bias(
    task: OpenBiasTask,
    answers: BiasAnswers,
    rows: list[CountedRow],
    nulls: Nulls | None,
    settings: Settings,
) -> _ScoredBias:
    scores: dict[str, Estimate] = {}
    square = None
    if answers.n_answers:
        scores["unknown_share"] = Estimate(answers.n_unknown / answers.n_answers)
    if rows and nulls is not None:
        test, _ = nulls.tested(rows, settings.level)
        square = test.square
        chosen = test.inference[square.question]
        scores["squared_lean"] = Estimate(
            square.value,
            p=test.p,
            test="monte_carlo",
            interval=chosen.interval,
            influence=square.influence,
        )
        bias = [row for row in nulls.complete if row.bias == rows[0].bias]
        scores |= _bounded(test, bias, settings.level).scores
        scores["squared_lean_of_means"] = (
            scores["squared_lean"] if len(rows) == 1 else mean_share_score(rows, settings.level)
        )
        shares = share_scores(rows, answers.bias.classes, settings.level)
        scores |= shares
        most = answers.bias.classes[int(answers.totals.argmax())]
        scores["majority_share"] = shares[f"share:{most}"]
    else:
        reason = _TOO_FEW if answers.n_classified else NO_ANSWER
        scores |= {
            name: Estimate.undefined(reason) for name in ("squared_lean", "squared_lean_of_means")
        }
    scores |= _published(task, answers)
    item = Item(answers.name, scores, answers.bias.about, answers.n_answers)
    shared = {
        text
        for bias in task.biases
        if full_name(bias) != answers.name
        for text in bias.captions or ()
    }
    names = dict.fromkeys(
        caption.stimulus for caption in answers.captions if caption.stimulus is not None
    )
    stimuli = (
        *tuple(
            _stimulus(answers, name, [row for row in rows if row.stimulus == name], settings.level)
            for name in names
        ),
        *caption_rows(answers, rows, settings.level, shared),
    )
    return _ScoredBias(answers, item, stimuli, rows, square)


def _distances(
    task: OpenBiasTask,
    answers: BiasAnswers,
    rows: Sequence[CountedRow],
    complete: Sequence[CountedRow],
    settings: Settings,
) -> Iterator[SquaredDistance]:
    """How far a class's shares are from even ones, for two classes, and from known ones."""
    classes = answers.bias.classes
    even = dict.fromkeys((row.cluster for row in rows), 0.5) if len(classes) == 2 else {}
    asked = [("even shares", classes[0], even)]
    asked += [(one.name, one.group, one.shares) for one in answers.bias.known]
    for name, group, shares in asked:
        column = classes.index(group)

        def against(
            some: Sequence[CountedRow],
            column: int = column,
            shares: Mapping[str, float] = shares,
        ) -> list[CountedRow]:
            return [
                replace(
                    row,
                    codes=(row.codes != column).astype(np.int64),
                    expected=np.array([shares[row.cluster], 1 - shares[row.cluster]]),
                )
                for row in some
                if row.cluster in shares
            ]

        sets = [against(rows)]
        if any(len(row.unanswered) for row in complete):
            whole = against(complete)
            sets += [[completed(row, piled=piled) for row in whole] for piled in (False, True)]
        if not all(sets):
            continue
        rng = settings.rng(task.id, f"distance of {answers.name}: {group}, {name}")
        squares = [mean_square_of(some) for some in sets]
        noises = [
            noise_of(square, null_means(some, _DISTANCE_DRAWS, rng)[:, 0])
            for square, some in zip(squares, sets, strict=True)
        ]
        values = tuple(square.value for square in squares)
        yield SquaredDistance(name, group, len(sets[0]), values, tuple(noises))


_DISTANCE_DRAWS = 2_000  # without a distance


@dataclass(frozen=True, slots=True)
class _Bounded:
    """What is known of a mean square where some answers are unknown.

    Attributes:
        scores: The least and the most that it may be, and how many answers are unknown.
        details: The same with the p-value if they are like the others.
        open: Why the test decides nothing, as a clause; None where it does.
    """

    scores: dict[str, Estimate]
    details: dict[str, Any]
    open: str | None = None


def _bounded(test: Tested | None, rows: Sequence[CountedRow], level: float) -> _Bounded:
    if test is None or test.bounds is None:
        return _Bounded({}, {})
    lost = sum(len(row.unanswered) for row in rows)
    share = lost / (lost + sum(len(row.codes) for row in rows))
    least, most = test.bounds
    scores = {
        "unanswered_share": Estimate(share),
        "squared_lean_least": Estimate(least),
        "squared_lean_most": Estimate(most),
    }
    details = {
        "unanswered": {
            "share": share,
            "least": least,
            "most": most,
            "p_like_the_rest": test.p_like_the_rest,
        }
    }
    if test.p_like_the_rest < 1 - level <= test.p:
        return _Bounded(
            scores,
            details,
            f"{percent(share)} of the answers are unknown; it leans only if they are like the rest",
        )
    return _Bounded(scores, details)


def _published(task: OpenBiasTask, answers: BiasAnswers) -> dict[str, Estimate]:
    """The severities of the paper, with two corrections for few answers."""
    if not answers.n_classified:
        return {name: Estimate.undefined(NO_ANSWER) for name in _PUBLISHED[:2]}
    counts = answers.counts
    aware, free = severities(counts, task.pooling)
    values = (float(aware), float(free), mean_miller_madow(counts), mean_jackknife(counts))
    reason = "one image a caption: a caption has no severity of its own"
    return {
        name: Estimate(value, as_published=True)
        if np.isfinite(value)
        else Estimate.undefined(reason)
        for name, value in zip(_PUBLISHED, values, strict=True)
    }


def _task_scores(
    counted: Sequence[_ScoredBias], biases: Sequence[_ScoredBias]
) -> dict[str, Estimate]:
    """Means over the biases that count, and the share of answers that name no class."""
    scores: dict[str, Estimate] = {}
    for name in ("squared_lean_of_means", *_PUBLISHED):
        found = [bias.item.scores[name] for bias in counted if name in bias.item.scores]
        known = [estimate for estimate in found if estimate.value is not None]
        if len(known) == 1:
            scores[name] = known[0]
        elif known:
            value = float(np.mean([estimate.value for estimate in known]))
            scores[name] = Estimate(value, as_published=name in _PUBLISHED)
        elif found and name == "severity":
            scores[name] = found[0]
    deltas = [
        item.scores["relative_deviation"].value
        for bias in biases
        for item in bias.stimuli
        if "relative_deviation" in item.scores
        and item.scores["relative_deviation"].value is not None
    ]
    if deltas:
        scores["relative_deviation"] = Estimate(float(np.mean(deltas)), as_published=True)
    asked = sum(bias.answers.n_answers for bias in biases)
    unknown = sum(bias.answers.n_unknown for bias in biases)
    scores["unknown_share"] = Estimate(unknown / max(asked, 1))
    return scores


def _named(
    slopes: Sequence[dict[str, Estimate]], biases: Sequence[_ScoredBias]
) -> dict[str, Estimate]:
    """Scores of biases with a reference, by name; with several such biases, by their names too."""
    several = sum(bool(scores) for scores in slopes) > 1
    named = {}
    for scores, bias in zip(slopes, biases, strict=True):
        for name, estimate in scores.items():
            score, _, group = name.partition(":")
            of = " ".join(part for part in (bias.answers.name if several else "", group) if part)
            named[f"{score}:{of}" if of else score] = estimate
    return named


def _shown(
    bias: _ScoredBias,
    complete: Sequence[CountedRow],
    evidence: Evidence,
    settings: Settings,
    task: OpenBiasTask,
) -> CountedAttribute:
    """The answers to one bias, stimulus by stimulus or caption by caption."""
    answers, classes = bias.answers, bias.answers.bias.classes
    labels = _labels(answers, evidence, settings.images(task.images_per_prompt))
    pooled = bool(bias.rows) and bias.rows[0].prompt == POOLED
    sums: dict[str, tuple[IntArray, IntArray]] = {}  # classes and unanswered, and people's classes
    for caption, own in zip(answers.captions, answers.counts, strict=True):
        name = f"{POOLED}, {len(answers.captions)} captions" if pooled else caption.cluster
        given = np.bincount([*labels.get(caption.prompt, {}).values()], minlength=len(classes))
        counts, people = sums.get(name, (np.zeros(len(classes) + 1, int), np.zeros_like(own)))
        sums[name] = counts + np.append(own, len(caption.unanswered)), people + given
    rows = tuple(
        CountedPrompt(
            name,
            dict(zip(classes, counts.tolist(), strict=False)),
            int(counts[-1]),
            {one.group: one.shares[name] for one in answers.bias.known if name in one.shares},
            dict(zip(classes, people.tolist(), strict=True)) if people.any() else {},
        )
        for name, (counts, people) in sums.items()
    )
    known = {one.group: one.name for one in answers.bias.known}
    noun = "prompt" if answers.bias.captions is not None else "stimulus"
    whole = [row for row in complete if bias.rows and row.bias == bias.rows[0].bias]
    distances = tuple(_distances(task, answers, bias.rows, whole, settings))
    return CountedAttribute(answers.name, classes, rows, known, noun, distances=distances)


def _details(
    task: OpenBiasTask, biases: Sequence[_ScoredBias], counted: Sequence[int], settings: Settings
) -> dict[str, Any]:
    details: dict[str, Any] = {
        "biases": [bias.answers.detail(number in counted) for number, bias in enumerate(biases)],
        "shares": {
            bias.answers.name: share_details(bias.rows, bias.answers.bias.classes, settings.level)
            for bias in biases
            if bias.rows
        },
    }
    squares = [
        (bias.answers.name, bias.square)
        for number, bias in enumerate(biases)
        if number in counted and bias.square is not None
    ]
    if squares:
        details["ranking"] = ranked(
            "bias",
            [name for name, _ in squares],
            [square.value for _, square in squares],
            [square.influence for _, square in squares],
            settings.level,
            settings.rng(task.id, "ranks"),
        )
    return details
