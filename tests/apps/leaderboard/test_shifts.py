"""What the check for tilted embeddings is given, and how far it says that it reached."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from t2ibench.apps.leaderboard import shifts, tilts
from t2ibench.apps.leaderboard.regenerate import Verdict
from t2ibench.apps.leaderboard.shifts import CheckedTest, Deviations, RemadeRows
from t2ibench.apps.leaderboard.tilt_summary import CheckedTilt, tilt_summary
from t2ibench.apps.leaderboard.tilts import (
    FALSE_ALARMS,
    HEADLINE,
    Score,
    Shift,
    shift_of,
    smallest_noticed,
)
from t2ibench.settings import Settings
from tests import hand

ROW = np.array([1.0, 0.5])
TASK: Any = SimpleNamespace(id="t2iat_flowers_insects")


def group(**changes: Any) -> Deviations:
    """Four of ten images that came out as they were sent, unless something else is given."""
    given: dict[str, Any] = {"kind": "images", "rows": {"toy": {}}, "drawn": 4}
    return Deviations(**{**given, "total": 10, **changes})


def named(size: float | None, name: str = HEADLINE) -> Shift:
    return Shift(name, 0.0, 0.0, 0.0, noticed=size)


OTHER_ROW = {"toy": {"image": ROW}}


@pytest.mark.parametrize(
    ("groups", "of_scores", "noticed"),
    [
        ([group()], [], 0.0),
        ([group(rows=OTHER_ROW)], [named(0.03), named(None, "its score x")], 0.03),
        # Some images were not read again, or none of a group was drawn.
        ([group(), group(unread=1)], [], math.inf),
        ([group(), group(drawn=0)], [], math.inf),
        ([group(rows=OTHER_ROW, unread=1)], [named(0.03)], math.inf),
        # Embeddings came out otherwise, and no headline tells what that moves.
        ([group(rows=OTHER_ROW)], [], math.inf),
        ([group(rows=OTHER_ROW)], [named(math.inf)], math.inf),
    ],
)
def test_no_more_is_said_to_be_noticed_than_was_made_again(
    groups: list[Deviations], of_scores: list[Shift], noticed: float
) -> None:
    headline = SimpleNamespace(scale="lean")
    result = SimpleNamespace(
        headline=headline, by_encoder={"a": 1, "b": 2}, scores={"x": 3}
    )
    claims: Any = SimpleNamespace(results=SimpleNamespace(tasks={TASK.id: result}))
    checked = shifts._tested(claims, CheckedTest(TASK, groups, of_scores))
    assert checked.noticed == noticed
    assert checked.scores == 4 and not checked.squared
    headline.scale = "mean_square"
    assert shifts._tested(claims, CheckedTest(TASK, groups, of_scores)).squared
    assert list(checked.drawn) == [each.drawn for each in groups]


class Sent:
    """The embeddings that a submission holds, all of them (1, 0.5)."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys

    def has(self, _: str, key: str) -> bool:
        return key in self.keys

    def get(self, _: str, key: str) -> Any:
        return ROW.astype(np.float32)


def test_what_deviates_of_a_group_is_what_was_made_again_and_differs() -> None:
    remade = RemadeRows()
    for key, row in (
        ("the same", ROW),
        ("other", ROW + 0.01),
        ("no number", np.array([np.nan, 1.0])),
        ("not sent", ROW + 0.01),
        ("of another test", ROW + 0.01),
    ):
        remade.add("toy", "images", key, row.astype(np.float32))
    sent = Sent("the same", "other", "no number", "of another test", "not read")
    stores: Any = SimpleNamespace(encoders={"toy": sent})
    keys = {"the same", "other", "no number", "not sent", "not read"}
    made = shifts._group(stores, remade, "images", keys, total=30)
    assert list(made.rows["toy"]) == ["other"]
    assert (made.drawn, made.total, made.unread) == (5, 30, 1)


def test_drawn_images_stand_for_all_of_their_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts = [
        SimpleNamespace(key=number, sha256=str(number), status="ok")
        for number in range(10)
    ]
    refused = SimpleNamespace(key=10, sha256=None, status="refused")

    def prompt_groups(_: Any, __: Any, with_image: list[Any]) -> list[list[Any]]:
        assert with_image == attempts
        return [attempts[:6], attempts[6:], []]

    monkeypatch.setattr(shifts, "prompt_groups", prompt_groups)
    claims: Any = SimpleNamespace(
        attempts=[*attempts, refused],
        stores=SimpleNamespace(encoders={"toy": Sent(*map(str, range(10)))}),
    )
    drawn: Any = [SimpleNamespace(attempt=attempts[number]) for number in (0, 5, 9)]
    made = list(
        shifts._image_deviations(claims, Any, TASK, drawn, RemadeRows())  # type: ignore[arg-type]
    )
    assert [(each.drawn, each.total) for each in made] == [(2, 6), (1, 4)]
    # Nobody read them again.
    assert [each.unread for each in made] == [2, 1]


def test_the_chance_of_a_false_alarm_is_shared_by_the_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = {HEADLINE: Score(0.5), "its score x": Score(0.1)}
    effects = np.array([9e-4, 1e-3, 1.1e-3, 1.05e-3] * 4)
    monkeypatch.setattr(shifts, "_scores", lambda *_: scores)
    monkeypatch.setattr(shifts, "_effects", lambda *_: dict.fromkeys(scores, effects))
    arguments: Any = (None, TASK, None, [group(drawn=16, total=100)])
    for tests in (1, 20):
        of_headline, of_score = shifts.shifts_of(*arguments, tests=tests)
        alone = shift_of(
            HEADLINE,
            scores[HEADLINE],
            [effects],
            [100],
            chance=FALSE_ALARMS / tests,
            scores=2,
        )
        assert (of_headline.least, of_headline.most) == (alone.least, alone.most)
        assert of_headline.noticed is not None and of_score.noticed is None


def test_tests_in_which_nothing_deviates_share_no_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of four tests two deviate: their texts in one, their images in the other."""
    tasks = [SimpleNamespace(id=str(number)) for number in range(4)]
    asked: dict[str, int] = {}

    def shifts_of(_: Any, task: Any, *__: Any, tests: int) -> list[Shift]:
        asked[task.id] = tests
        return []

    def of_texts(_: Any, task: Any, *__: Any) -> list[Deviations]:
        return [group(kind="texts", rows=OTHER_ROW)] if task.id == "1" else []

    def of_images(_: Any, __: Any, task: Any, *___: Any) -> list[Deviations]:
        return [group(rows=OTHER_ROW), group()] if task.id == "2" else [group()]

    for name, change in (
        ("shifts_of", shifts_of),
        ("_text_deviations", of_texts),
        ("_image_deviations", of_images),
        ("DistinctImages", lambda images: images),
        ("replace", lambda part, **_: part),
    ):
        monkeypatch.setattr(shifts, name, change)
    plan = SimpleNamespace(settings=Settings(), tasks=tasks)
    claims: Any = SimpleNamespace(images=None, stores=None, plan=plan)
    tests = shifts._checked_tests(claims, [], RemadeRows())
    assert asked == {"1": 2, "2": 2}
    assert [len(test.groups) for test in tests] == [1, 2, 2, 1]


def test_a_tilted_score_is_a_problem_and_an_open_one_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tilted = Shift("its score x", 0.02, 0.006, 0.03)
    undecided = Shift(HEADLINE, 0.0, 0.0, 0.03, noticed=0.1)
    tests = [
        CheckedTest(TASK, [group()], [undecided, tilted]),
        CheckedTest(TASK, [group()], [replace_name(undecided, "its score x")]),
    ]
    monkeypatch.setattr(shifts, "_checked_tests", lambda *_: tests)
    monkeypatch.setattr(shifts, "_reads_embeddings", lambda *_: False)
    verdict = Verdict("recomputed")
    shifts.check_shifts(Any, [], RemadeRows(), verdict)  # type: ignore[arg-type]
    (problem,) = verdict.problems
    assert "the embeddings made here move its score x by +0.020" in problem
    (note,) = verdict.notes
    assert "move 1 of 2 tests to one side by 0.02" in note


def replace_name(shift: Shift, name: str) -> Shift:
    return Shift(name, shift.size, shift.least, shift.most)


ROUNDING = np.array([2e-4, -2.2e-4, 1.9e-4, -1.6e-4] * 3)


def smallest(effects: Any, score: Score) -> float:
    return smallest_noticed(score, [effects], [100], chance=FALSE_ALARMS)


@pytest.mark.parametrize(
    "score", [Score(0.5), Score(0.25, squared=True), Score(0.09, squared=True)]
)
def test_a_tilt_as_large_as_named_is_noticed_to_either_side_with_room_for_chance(
    score: Score,
) -> None:
    """A root falls faster than it rises; the room is that of 95 of 100 checks."""
    named_size = smallest(ROUNDING, score)
    enlarged = tilts._spread_of_others((len(ROUNDING),), (100,))
    rounding = enlarged * (ROUNDING - ROUNDING.mean())
    spread = 100 * rounding.std(ddof=1) / math.sqrt(len(ROUNDING))
    room = float(t.ppf(0.95, len(ROUNDING) - 1)) * spread
    start = score.shown(0.0)
    for side in (1.0, -1.0):
        end = start + side * named_size
        by = (end**2 if score.squared else end) - score.value
        moved = rounding + (by - side * room) / 100
        found = shift_of(HEADLINE, score, [moved], [100], chance=FALSE_ALARMS)
        assert found.tilted and math.copysign(1.0, found.size) == side


def test_deviations_are_enlarged_before_a_size_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    centred = ROUNDING - ROUNDING.mean()
    monkeypatch.setattr(tilts, "_spread_of_others", lambda *_: 3.0)
    enlarged = smallest(centred, Score(0.5))
    monkeypatch.setattr(tilts, "_spread_of_others", lambda *_: 1.0)
    assert enlarged == pytest.approx(smallest(3 * centred, Score(0.5)))
    assert enlarged > 2 * smallest(centred, Score(0.5))


def test_a_tilt_of_every_lean_to_0_is_noticed_in_no_mean_square() -> None:
    """The limit that docs/reproducibility.md and the verdict state.

    A mean square moves with the products of two images of a prompt. Where the leans that are sent
    are 0, one image that is made again has nothing to be multiplied with.
    """
    rng = np.random.default_rng(0)
    of_images = rng.normal(0, 0.1, (40, 20))
    sent = of_images - of_images.mean(axis=1, keepdims=True)
    leans = np.tile([[0.075], [-0.075]], (20, 1))
    made_here = sent + leans + rng.normal(0, 0.005, sent.shape)
    before = _mean_square(sent)
    assert before < 0 and math.sqrt(_mean_square(made_here)) > 0.07
    effects = []
    for place in rng.choice(sent.size, 32, replace=False):
        changed = sent.copy()
        changed.flat[place] = made_here.flat[place]
        effects.append(_mean_square(changed) - before)
    score = Score(before, squared=True)
    arguments: Any = (score, [np.array(effects)], [sent.size])
    found = shift_of(HEADLINE, *arguments, chance=FALSE_ALARMS)
    assert (found.tilted, found.undecided) == (False, False)
    # A tilt in proportion to what was sent, as large as this, would have been noticed.
    assert smallest_noticed(*arguments, chance=FALSE_ALARMS) < 0.05
    tested = CheckedTilt("a", scores=1, drawn=[32], noticed=0.04, squared=True)
    assert "a tilt of every prompt's lean to exactly 0 could have gone" in tilt_summary(
        [tested]
    )


def _mean_square(images: Any) -> float:
    """The mean over prompts of the squared lean, without what chance adds."""
    leans = {str(number): row for number, row in enumerate(images)}
    value = hand.mean_square(leans).headline.value
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("embeds", "is_judged", "groups", "reads"),
    [
        (True, False, [group()], True),
        (True, True, [group()], True),
        (False, True, [group()], False),
        # Words alone.
        (False, False, [group(kind="texts")], True),
        (True, False, [], False),
    ],
)
def test_tests_that_embeddings_could_tilt_are_counted(
    embeds: bool, is_judged: bool, groups: list[Deviations], reads: bool
) -> None:
    needs = {TASK.id: SimpleNamespace(embeds=embeds, is_judged=is_judged)}
    claims: Any = SimpleNamespace(plan=SimpleNamespace(needs=needs))
    assert shifts._reads_embeddings(claims, CheckedTest(TASK, groups, [])) == reads
