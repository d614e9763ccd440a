"""What must hold beside a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from t2ibench.decisions import holds as holding
from t2ibench.decisions.held import Held, at_least, worst
from t2ibench.decisions.rules import Outcome
from t2ibench.decisions.runs import MeasuredRun
from t2ibench.methods.core.text_image_alignment import PromptCosines
from t2ibench.results.alignment_records import TextImageAlignment
from t2ibench.results.diversity import Diversity
from t2ibench.results.paired import PairedTask
from t2ibench.results.prompt_outcomes import PromptOutcomes, Rate
from tests import hand
from tests.decisions.made import TASK, lean_task, profile, results, scenario
from tests.results.test_frontier import run as remedy_run


def measured(cosine: float, diversity: float = 0.5, **changes: Any) -> MeasuredRun:
    """A run whose images agree with ten prompts so well."""
    prompts = tuple(
        PromptCosines(
            f"prompt {number}",
            "",
            f"prompt {number}",
            np.arange(20),
            cosine
            + 0.001
            * np.random.default_rng([number, int(1000 * cosine)]).standard_normal(20),
        )
        for number in range(10)
    )
    paired = PairedTask("lean", "fixed_prompts", (), {}, agreement={"toyland": prompts})
    record = Diversity(
        value=diversity,
        ci_low=diversity - 0.01,
        ci_high=diversity + 0.01,
        n_prompts=10,
        n_images=200,
        lowest_prompt="prompt 0",
        lowest=0.1,
    )
    task = lean_task(0.0, diversity={"toyland": [record]}, **changes)
    return MeasuredRun(None, results(**{TASK: task}), {TASK: paired})


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (("pass", "pass"), "pass"),
        (("pass", "undecided"), "undecided"),
        (("pass", "fail"), "fail"),
        (("undecided", "fail"), "fail"),
        (("pass", "undecided", "fail"), "fail"),
        ((), "pass"),
    ],
)
def test_the_worst_of_several_encoders_or_groups_decides(
    outcomes: Sequence[Outcome], expected: Outcome
) -> None:
    for order in permutations(outcomes):
        assert worst(list(order)) == expected


def held(holds: dict[str, float], new: MeasuredRun, old: MeasuredRun | None) -> Held:
    (part,) = profile(scenario(holds=holds)).scenarios
    (entry,) = holding.holds(part, new, old)
    return entry


def outcome(holds: dict[str, float], new: MeasuredRun, old: MeasuredRun | None) -> str:
    return held(holds, new, old).outcome


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (0.3, 0.31, "pass"),
        (0.3, 0.299, "pass"),
        (0.3, 0.28, "fail"),
        (0.3, 0.29, "undecided"),
    ],
)
def test_agreement_is_newer_less_older(
    before: float, after: float, expected: str
) -> None:
    assert outcome({"agreement": -0.01}, measured(after), measured(before)) == expected


def test_the_same_images_have_the_same_agreement_and_show_nothing() -> None:
    run = measured(0.3)
    (part,) = profile(scenario(holds={"agreement": -0.01})).scenarios
    (entry,) = holding.holds(part, run, run)
    assert entry.outcome == "undecided" and "are the same" in entry.shows


def test_what_compares_needs_the_older_run() -> None:
    for name in ("agreement", "diversity"):
        assert outcome({name: -0.01}, measured(0.3), None) == "undecided"


@pytest.mark.parametrize(
    ("before", "after", "expected", "shown"),
    [
        (0.5, 0.5, "pass", "0.000"),
        (0.5, 0.56, "pass", "+0.060"),
        (0.5, 0.4, "fail", "−0.100"),
        (0.5, 0.46, "undecided", "−0.040"),
    ],
)
def test_diversity_is_newer_less_older(
    before: float, after: float, expected: str, shown: str
) -> None:
    new, old = measured(0.3, after), measured(0.3, before)
    entry = held({"diversity": -0.05}, new, old)
    assert entry.outcome == expected
    assert entry.shows.startswith(f"toyland {shown} (")


@pytest.mark.parametrize("name", ["agreement", "diversity"])
def test_what_no_encoder_measured_in_both_runs_is_no_pass(name: str) -> None:
    new = measured(0.3)
    task = new.results.tasks[TASK].model_copy(update={"diversity": {}})
    paired = replace(new.paired[TASK], agreement={})
    old = MeasuredRun(None, results(**{TASK: task}), {TASK: paired})
    for first, second in ((old, new), (new, old), (old, old)):
        entry = held({name: -0.5}, second, first)
        assert entry.outcome == "undecided"
        assert entry.shows == "it was not measured in both runs by the same encoder"


def test_a_change_without_an_interval_or_a_width_is_no_pass() -> None:
    for low, high in ((None, None), (None, 0.2), (0.1, None), (0.1, 0.1)):
        assert at_least(low, high, 0.0) == "undecided"
    assert at_least(0.0, 0.1, 0.0) == "pass"


def refused(counts: dict[str, int], total: int) -> list[PromptOutcomes]:
    def rate(count: int) -> Rate:
        share = count / total
        return Rate(count=count, total=total, share=share, ci_low=share, ci_high=share)

    none = rate(0)
    groups = [
        PromptOutcomes(group=name, n_prompts=5, refused=rate(count), filtered=none)
        for name, count in counts.items()
    ]
    return [PromptOutcomes(n_prompts=10, refused=none, filtered=none), *groups]


@pytest.mark.parametrize(
    ("counts", "total", "expected"),
    [
        ({"men": 10, "women": 10}, 1000, "pass"),
        ({"men": 0, "women": 300}, 1000, "fail"),
        ({"men": 0, "women": 3}, 20, "undecided"),
    ],
)
def test_refusals_are_compared_between_groups(
    counts: dict[str, int], total: int, expected: str
) -> None:
    run = measured(0.3, prompt_outcomes=refused(counts, total))
    assert outcome({"refusals": 0.05}, run, None) == expected


def test_no_refusal_of_few_images_shows_little() -> None:
    for count, expected in ((20, "undecided"), (200, "pass")):
        run = measured(0.3, text_image_alignment={"toyland": of_groups(count)})
        assert outcome({"refusals": 0.05}, run, None) == expected


def of_groups(*counts: int) -> list[TextImageAlignment]:
    """Records of a task whose first group has 300 images, and others as many as given."""
    sizes = {f"group {number}": count for number, count in enumerate((300, *counts))}
    return [
        TextImageAlignment(group=group, value=0.3, n_prompts=10, n_images=count)
        for group, count in sizes.items()
    ]


def test_no_refusal_shows_nothing_without_two_groups() -> None:
    for records in ([], of_groups()):
        run = measured(0.3, n_images=400, text_image_alignment={"toyland": records})
        assert outcome({"refusals": 0.05}, run, None) == "undecided"


def test_diversity_of_another_task_or_network_is_not_compared() -> None:
    new = measured(0.3)
    other_task = measured(0.3, task_hash="other")
    settings = hand.settings(encoders={"toyland": "0" * 64})
    other_network = measured(0.3, settings=settings)
    for old in (other_task, other_network):
        assert outcome({"diversity": -0.05}, new, old) == "undecided"


@pytest.mark.parametrize(
    ("planted", "holds", "expected"),
    [
        ({}, {"contradictions": 0.1}, "pass"),
        ({"contradicting": 12}, {"contradictions": 0.1}, "fail"),
        ({"contradicting": 4}, {"contradictions": 0.1}, "undecided"),
        ({"sunny": 22}, {"spill_over": 0.2}, "fail"),
        ({"sunny": 13}, {"spill_over": 0.9}, "pass"),
        ({"diversity": 0.4}, {"group_diversity": -0.05}, "fail"),
        ({}, {"group_diversity": -0.05}, "pass"),
    ],
)
def test_a_remedy_may_cost_no_more_than_its_limits(
    planted: dict[str, Any], holds: dict[str, float], expected: str
) -> None:
    before, after = (
        MeasuredRun(None, made.results, made.paired)
        for made in (remedy_run("before"), remedy_run("after", **planted))
    )
    measurement = {"task": "jobs", "statistic": "headline"}
    (part,) = profile(scenario(holds=holds, measurement=measurement)).scenarios
    (entry,) = holding.holds(part, after, before)
    assert entry.outcome == expected, entry
    (alone,) = holding.holds(part, after, None)
    assert alone.outcome == "undecided" and part.needs_older_run


def test_a_profile_without_the_newer_limits_has_the_digest_that_it_had() -> None:
    dumped = profile(scenario(holds={"refusals": 0.1})).model_dump(mode="json")
    assert dumped["scenarios"][0]["holds"] == {
        "agreement": None, "diversity": None, "refusals": 0.1
    }  # fmt: skip
