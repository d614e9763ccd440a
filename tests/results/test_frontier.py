"""Five numbers of a remedy: what was planted by hand comes out, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.diversity import diversity_of, diversity_values
from t2ibench.methods.core.prompt_groups import is_guided
from t2ibench.methods.core.prompt_values import PromptValues, mean_over_prompts
from t2ibench.methods.core.text_image_alignment import PromptCosines
from t2ibench.reports.frontier_sentences import remedy_sentences, verdict_of
from t2ibench.results.frontier import Remedy, frontier
from t2ibench.results.over_correction import change_of_shares
from t2ibench.results.paired import dump_paired, load_paired, paired_task
from t2ibench.results.prompt_outcomes import PromptOutcomes, Rate
from t2ibench.results.schema import Score
from t2ibench.results.spill_over import mean_squared_shift
from t2ibench.results.task_across_runs import ComparedRun
from t2ibench.results.task_attributes import SEVERAL, attribute_of
from tests import hand

N = 24
JOBS = ("a nurse", "a chef", "a judge")
GROUPS = ("male", "female")


def sides(positive: int) -> list[float]:
    """What the images of a prompt show: +1 in so many of them."""
    return [1.0] * positive + [-1.0] * (N - positive)


def guided(job: str, group: str, values: Sequence[float]) -> PromptValues:
    return PromptValues(
        f"{group} {job}", group, np.arange(len(values)), np.array(values, float)
    )


def run(
    name: str,
    *,
    women: Sequence[int] = (20, 6, 20),
    sunny: int = 12,
    contradicting: int = 0,
    diversity: float = 0.5,
    cosine: float = 0.3,
    refused: int = 0,
    seed: int = 0,
) -> ComparedRun:
    """A run of a test about gender and one about weather, with what is planted in it."""
    rng = np.random.default_rng([seed, len(name)])
    jobs = hand.mean_square(dict(zip(JOBS, map(sides, women), strict=True)))
    weather = hand.mean_lean({"a field": sides(sunny), "a lake": sides(sunny)})
    noise = 0.05 * rng.standard_normal((len(JOBS), 2, N))
    values = [
        guided(job, group, diversity + noise[i, k])
        for i, job in enumerate(JOBS)
        for k, group in enumerate(GROUPS)
    ]
    vendi = [
        guided(job, group, [4 + 5 * diversity + noise[i, k, 0]] * N)
        for i, job in enumerate(JOBS)
        for k, group in enumerate(GROUPS)
    ]
    answers = [
        guided(job, group, [1.0] * wrong + [0.0] * (N - wrong))
        for job in JOBS
        for group, wrong in (("male", contradicting), ("female", 0))
    ]
    cosines = tuple(
        PromptCosines(
            job, "", job, np.arange(N), cosine + 0.01 * rng.standard_normal(N)
        )
        for job in JOBS
    )
    outcomes = [
        PromptOutcomes(group=group, n_prompts=3, refused=rate(count), filtered=rate(0))
        for group, count in (("male", 0), ("female", refused))
    ]
    scores = {f"obedience:{group}": Score(value=1.0) for group in GROUPS}
    of_weather = {
        f"obedience:{word} words": Score(value=1.0)
        for word in ("pleasant", "unpleasant")
    }
    judged = replace(
        paired_task(jobs),
        diversity={"toyland": tuple(values)},
        vendi={"toyland": tuple(vendi)},
        contradictions={"a judge": tuple(answers)},
        agreement={"toyland": cosines},
    )
    tasks = {
        "jobs": hand.record(
            jobs,
            scores=scores,
            prompt_outcomes=outcomes if refused else [],
            title="Jobs",
        ),
        "weather": hand.record(weather, scores=of_weather, title="Weather"),
    }
    paired = {"jobs": judged, "weather": paired_task(weather)}
    return ComparedRun(name, hand.results(name, **tasks), paired)


def rate(count: int) -> Rate:
    return Rate(
        count=count, total=3 * N, share=count / (3 * N), ci_low=0.0, ci_high=1.0
    )


def remedy(**planted: object) -> Remedy:
    """What a remedy that makes the three jobs fair changes besides."""
    fair = {"women": (12, 12, 12), **planted}
    return frontier([run("before"), run("after", **fair)]).remedies[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(("n_images", "is_said"), [(4, True), (10, False)])
def test_few_images_of_a_prompt_make_diversity_uncertain(
    n_images: int, *, is_said: bool
) -> None:
    runs = []
    for made in (run("before"), run("after")):
        jobs = made.paired["jobs"]
        thinned = tuple(
            replace(
                values,
                indices=values.indices[:n_images],
                values=values.values[:n_images],
            )
            for values in jobs.diversity["toyland"]
        )
        paired = replace(jobs, diversity={"toyland": thinned})
        runs.append(replace(made, paired={**made.paired, "jobs": paired}))
    notes = " ".join(frontier(runs).remedies[0].notes)
    assert ("as few as 4 guided images" in notes) == is_said


def test_records_of_rewritten_prompts_alone_are_no_refusals() -> None:
    """A run behind a rewriter has outcomes of its prompts, none of which was refused."""
    before, after = run("before"), run("after", women=(12, 12, 12))
    jobs = after.results.tasks["jobs"]
    outcomes = [
        PromptOutcomes(
            group=None, n_prompts=9, refused=rate(0), filtered=rate(0), revised=rate(72)
        )
    ]
    rewritten = jobs.model_copy(update={"prompt_outcomes": outcomes})
    tasks = {**after.results.tasks, "jobs": rewritten}
    behind = replace(after, results=after.results.model_copy(update={"tasks": tasks}))
    (made,) = frontier([before, behind]).remedies
    assert made.numbers["refusals"].change is None and made.refusals == ()
    assert verdict_of("refusals", made) == "none refused"


def test_a_remedy_that_only_removes_the_lean_costs_nothing() -> None:
    both = frontier([run("before"), run("after!", women=(12, 12, 12))])
    assert (both.task, both.attribute) == ("jobs", "gender")
    after = both.remedies[0]
    lean = after.numbers["lean"].change
    # (20 − 4) / 24 = 2/3, 6 of 24 is −1/2: the root of the mean square is .6, less noise.
    assert lean is not None and lean.high is not None and lean.high < -0.2
    assert after.clear_costs == []
    assert [cost.p for cost in after.costs][:3] == [1.0, 1.0, 1.0]
    assert after.numbers["refusals"].reason


@pytest.mark.parametrize(
    ("planted", "cost"),
    [
        ({"contradicting": 8}, "contradictions"),
        ({"women": (4, 18, 4)}, "turned"),
        ({"sunny": 22}, "spill_over"),
        ({"diversity": 0.4}, "diversity"),
        ({"cosine": 0.2}, "agreement"),
        ({"refused": 20}, "refusals"),
    ],
)
def test_each_cost_is_named_and_no_other(planted: dict[str, object], cost: str) -> None:
    assert remedy(**planted).clear_costs == [cost]


def test_a_lean_of_another_test_that_goes_away_is_no_cost() -> None:
    runs = [run("before", sunny=22), run("after", women=(12, 12, 12))]
    both = frontier(runs)
    (cell,) = both.remedies[0].spill_over
    assert cell.falls and cell.p_holm is not None and cell.p_holm < 0.05
    assert both.remedies[0].clear_costs == []
    sentences = list(remedy_sentences(both, both.remedies[0]))
    assert any(line.startswith("Leans of other tests fall, too") for line in sentences)


def test_what_costs_is_said_by_group_row_and_test() -> None:
    worse = remedy(
        women=(4, 18, 4), contradicting=8, sunny=22, diversity=0.4, refused=20
    )
    shares = {group.group: group for group in worse.contradictions}
    assert shares["male"].change.value == 1 / 3 and shares["female"].change.value == 0
    assert {row.row for row in worse.turned} == set(JOBS)
    (cell,) = worse.spill_over
    # 22 of 24 sunny is a lean of 5/6; its images show a variance, which is taken off the square.
    assert cell.attribute == "valence" and cell.shift.value == pytest.approx(
        0.83, abs=0.02
    )
    assert {group.group for group in worse.diversity} == set(GROUPS)
    refusing = {group.group: group.after.value for group in worse.refusals}
    assert refusing == {"male": 0.0, "female": 20 / 72}


def test_a_run_and_itself_differ_by_exactly_nothing() -> None:
    before = run("before")
    same = frontier([before, replace(before, name="again")]).remedies[0]
    for name in ("lean", "contradictions", "spill_over", "diversity", "agreement"):
        change = same.numbers[name].change  # type: ignore[index]
        assert change is not None
        assert (change.value, change.low, change.high, change.p) == (0, 0, 0, 1), name
    assert same.clear_costs == []


def test_without_influences_the_reason_is_said() -> None:
    runs = [replace(run(name), paired={}) for name in ("before", "after")]
    numbers = frontier(runs, "jobs").remedies[0].numbers
    assert numbers["lean"].change is not None
    assert "run.db" in numbers["contradictions"].reason
    assert "run.db" in numbers["diversity"].reason
    assert "no test about anything but" in numbers["spill_over"].reason


def test_wrong_requests_are_one_line() -> None:
    runs = [run("before"), run("after")]
    with pytest.raises(T2IBenchError, match="one before and one after"):
        frontier(runs[:1])
    with pytest.raises(T2IBenchError, match="Did you mean 'jobs'"):
        frontier(runs, "job")


@pytest.mark.parametrize("truth", [0.0, 0.2])
def test_an_interval_of_paired_shares_covers_as_often_as_it_says(truth: float) -> None:
    rng = np.random.default_rng(1)
    covers = []
    rejects = []
    for _ in range(1000):
        first = (rng.random(60) < 0.05).astype(float)
        second = np.maximum(first, rng.random(60) < truth / 0.95)
        runs = [[guided("j", "male", values)] for values in (first, second)]
        change = change_of_shares(*runs, 0.95)
        assert change is not None and change.low is not None
        assert change.high is not None and change.p is not None
        covers.append(change.low <= truth <= change.high)
        rejects.append(change.p < 0.05)
    # ± .014 at 1,000 data sets
    if truth:
        assert 0.93 < np.mean(covers) < 0.985 and np.mean(rejects) > 0.8
    else:
        assert np.mean(covers) == 1 and np.mean(rejects) == 0


def test_pseudo_values_have_the_diversity_as_their_mean() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((7, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    value, variance = diversity_of(rows)
    values = PromptValues("p", "", np.arange(7), diversity_values(rows))
    mean, mean_variance, df = mean_over_prompts([values])
    assert (mean, mean_variance, df) == pytest.approx((value, variance, 6))
    assert np.isnan(mean_over_prompts([guided("j", "male", [1.0])])[1])


def test_the_squared_shift_is_0_on_average_where_nothing_moved() -> None:
    rng = np.random.default_rng(3)
    squares = []
    rejected = 0
    for _ in range(400):
        tests = []
        for _test in range(3):
            shown = rng.choice([-1.0, 1.0], (2, 4, 20))
            before, after = (
                hand.leans({f"p{i}": row for i, row in enumerate(of_run)})
                for of_run in shown
            )
            renamed = [
                replace(
                    part,
                    influence=replace(part.influence, unit=part.influence.unit + 100),
                )
                for part in after
            ]
            tests.append(list(zip(before, renamed, strict=True)))
        square = mean_squared_shift(tests, 0.95)
        assert square is not None
        squares.append(square.value)
        rejected += square.p < 0.05
    # The mean of 400 has a standard error of about .002; ± .021 for the rate.
    assert abs(np.mean(squares)) < 0.008
    assert 0.02 < rejected / 400 < 0.08


def test_values_are_read_as_they_were_written() -> None:
    task = run("before").paired["jobs"]
    read = load_paired(dump_paired({"jobs": task}))["jobs"]
    for field in ("diversity", "vendi", "contradictions"):
        ours = getattr(task, field)
        theirs = getattr(read, field)
        assert ours.keys() == theirs.keys()
        for reader in ours:
            for mine, other in zip(ours[reader], theirs[reader], strict=True):
                assert (mine.prompt, mine.group) == (other.prompt, other.group)
                assert np.array_equal(mine.indices, other.indices)
                assert np.array_equal(mine.values, other.values)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["male", "female"], "gender"),
        (["young", "old"], "age"),
        (["dark skin", "light skin"], "skin tone"),
        (["pleasant words", "unpleasant words"], "valence"),
        (["rich", "poor"], "rich / poor"),
        (["an old man", "a young man"], SEVERAL),
    ],
)
def test_a_test_is_about_what_its_groups_name(groups: list[str], expected: str) -> None:
    scores = {f"obedience:{group}": Score(value=1.0) for group in groups}
    assert attribute_of(hand.task(scores=scores)) == expected
    assert is_guided(f"career, {groups[0]}", groups) and not is_guided("career", groups)


def test_vendi_scores_are_compared_by_group_and_no_cost_rests_on_them() -> None:
    """From 4 + 5 · .5 = 6.5 to 4 + 5 · .4 = 6, but for noise."""
    after = remedy(diversity=0.4)
    assert {change.group for change in after.vendi} == set(GROUPS)
    for change in after.vendi:
        assert change.change.value == pytest.approx(-0.5, abs=0.1)
        assert change.change.low is not None and change.change.high is not None
        assert change.change.low < -0.5 < change.change.high < 0
    assert "vendi" not in after.clear_costs


def test_vendi_scores_of_other_numbers_of_images_are_not_compared() -> None:
    before, after = run("before"), run("after")
    fewer = [
        replace(values, indices=values.indices[:-1], values=values.values[:-1])
        for values in after.paired["jobs"].vendi["toyland"]
    ]
    jobs = replace(after.paired["jobs"], vendi={"toyland": tuple(fewer)})
    changed = replace(after, paired={**after.paired, "jobs": jobs})
    assert frontier([before, changed]).remedies[0].vendi == ()
    same = replace(before, name="same")
    zero = frontier([before, same]).remedies[0].vendi
    assert [(each.change.value, each.change.low, each.change.p) for each in zero] == [
        (0, 0, 1),
        (0, 0, 1),
    ]
