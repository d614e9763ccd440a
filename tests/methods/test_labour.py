"""Generated shares beside labour statistics: slopes and distances, by judge and by encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.occupations.design import needs
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand
from tools.calibration.worlds import Space, read_needs

SETTINGS = Settings(n_permutations=200, n_bootstrap=100)


def reference(group: str, shares: Mapping[str, float]) -> dict[str, Any]:
    return {
        "name": f"share of {group}",
        "group": group,
        "shares": shares,
        "source": "s",
    }


def judged_task(
    stimuli: Sequence[str], classes: Sequence[str], images: int = 10, **more: Any
) -> OpenBiasTask:
    bias = {
        "name": "race",
        "about": "person",
        "classes": list(classes),
        "question": "Which?",
        "stimuli": list(stimuli),
        "templates": ["a {stimulus}", "one {stimulus}"],
    }
    return task_by_hand(
        OpenBiasTask, "openbias", biases=[bias | more], images_per_prompt=images
    )


def answers(task: OpenBiasTask, counts: Mapping[str, str]) -> HandEvidence:
    """The same answers about both templates, such as 'aab'."""
    return HandEvidence(
        answers={
            f"{opening} {word}": {"Which?": list(text)}
            for word, text in counts.items()
            for opening in ("a", "one")
        }
    )


JOBS = {
    "cook": "aaaabbbbbc",
    "guard": "aabbbbbbcc",
    "nurse": "bbbbbbbbbb",
    "tailor": "aaaaaabbcc",
}
KNOWN_A = {"cook": 0.3, "guard": 0.1, "nurse": 0.2, "tailor": 0.5}
KNOWN_B = {"cook": 0.4, "guard": 0.6, "nurse": 0.7, "tailor": 0.3}


def test_each_group_is_compared_with_its_own_reference() -> None:
    references = [reference("a", KNOWN_A), reference("b", KNOWN_B)]
    task = judged_task(list(JOBS), "abc", references=references)
    result = score(task, answers(task, JOBS), SETTINGS)
    rows = {row.name: row.scores for row in result.by}
    cook = rows["cook"]
    assert cook["share_minus_reference:a"].value == pytest.approx(0.4 - 0.3)
    assert cook["share_minus_reference:b"].value == pytest.approx(0.5 - 0.4)
    low, high = cook["share_minus_reference:a"].interval
    assert low < 0 < high and cook["share_minus_reference:a"].p > 0.05
    # Nobody of a among the nurses: far from .2.
    assert rows["nurse"]["share_minus_reference:a"].p < 0.05
    assert {"amplification_slope:a", "amplification_slope:b"} <= set(result.scores)


def test_a_list_of_one_reference_equals_a_single_reference() -> None:
    one = judged_task(list(JOBS), "abc", reference=reference("a", KNOWN_A))
    listed = judged_task(list(JOBS), "abc", references=[reference("a", KNOWN_A)])
    found = [
        score(task, answers(task, JOBS), SETTINGS).scores for task in (one, listed)
    ]
    first, second = (one["amplification_slope"] for one in found)
    assert first.interval == second.interval
    assert "references" not in one.model_dump()["biases"][0]
    assert len(listed.model_dump()["biases"][0]["references"]) == 1


@pytest.mark.parametrize(
    ("groups", "message"), [("d", "unknown class 'd'"), ("aa", "more than once: 'a'")]
)
def test_references_are_checked(groups: str, message: str) -> None:
    known = [reference(group, KNOWN_A) for group in groups]
    findings = check(judged_task(list(JOBS), "abc", references=known))
    assert any(message in finding.message for finding in findings)


def test_an_encoder_gives_shares_beside_the_statistics() -> None:
    jobs = [f"job{number}" for number in range(24)]
    known = dict(zip(jobs, np.linspace(0.1, 0.9, 24).tolist(), strict=True))
    task = task_by_hand(
        OccupationsTask,
        "occupations",
        concept={"name": "jobs", "stimuli": jobs},
        groups=[{"name": name, "words": [name]} for name in ("male", "female")],
        prompts={"neutral": "a {stimulus}", "guided": "a {attribute} {stimulus}"},
        images_per_prompt=20,
        guided_images_per_prompt=10,
        reference=reference("female", known),
    )
    # towards male
    leans = {job: 1.2 * (1 - 2 * share) * 0.8 for job, share in known.items()}
    scenes, texts = read_needs(
        needs(task, SETTINGS), leans, {"male": 1.0, "female": -1.0}
    )
    rng = np.random.default_rng(3)
    result = score(task, Space(strength=0.2).evidence(rng, scenes, texts), SETTINGS)
    slope = result.scores["slope"]
    assert slope.interval[0] < 0.96 < slope.interval[1]
    covered = []
    for row in result.by:
        beyond = row.scores["share_minus_reference:female"]
        true = (1 - leans[row.name]) / 2 - known[row.name]
        share = (1 - row.scores["lean"].value) / 2
        assert beyond.value == pytest.approx(share - known[row.name])
        covered.append(beyond.interval[0] <= true <= beyond.interval[1])
    assert np.mean(covered) >= 0.85
