"""At which level a verdict ends where parts cannot be made again, or differ a little."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from t2ibench.apps.leaderboard import reembed, regenerate
from t2ibench.apps.leaderboard.chosen import plan_problems
from t2ibench.apps.leaderboard.claims import (
    _mismatches,
    command_problems,
    manifest_problems,
    model_problems,
)
from t2ibench.apps.leaderboard.reembed import (
    _control,
    _dtype,
    _parts,
    check_answers,
    check_embeddings,
)
from t2ibench.apps.leaderboard.regenerate import Verdict, _generator
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.apps.leaderboard.tolerance import (
    are_alike,
    is_as_stored,
    largest_distance,
)
from t2ibench.apps.leaderboard.verify import _conclude
from t2ibench.decisions.plan import make_plan, write_plan
from t2ibench.errors import T2IBenchError
from t2ibench.results.fixed_before import RegisteredPlan
from t2ibench.settings import Measurement, RunSettings
from t2ibench.tasks.index import load_tasks
from tests import hand
from tests.decisions.made import lean_task, profile, scenario

SOME = {"images": 32}
PEOPLE: dict[str, Any] = {"judges": {"answers by anna": "c"}, "encoders": {}}


@pytest.mark.parametrize(
    ("found", "level"),
    [
        ({"parts": SOME}, "reproduced"),
        ({"parts": {"texts": 9}}, "reproduced"),
        ({"parts": SOME, "not_regenerated": ["a control"]}, "partly reproduced"),
        ({"parts": SOME, "differing": ["1 of 99 answers"]}, "partly reproduced"),
        ({"parts": {"texts": 9}, "not_regenerated": ["images"]}, "recomputed"),
        ({"parts": {"texts": 9}, "differing": ["1 of 99 answers"]}, "recomputed"),
        ({"parts": SOME, "not_asked": ["judge x"]}, "recomputed"),
        (
            {"parts": SOME, "not_asked": ["judge x"], "not_regenerated": ["a judge"]},
            "recomputed",
        ),
    ],
)
def test_only_what_was_made_again_and_is_the_same_raises_the_level(
    found: dict[str, Any], level: str
) -> None:
    verdict = Verdict("recomputed", **found, unconfirmed=["settings", "environment"])
    verdict.confirmed = {"settings"}
    _conclude(verdict, seed=11)
    assert verdict.level == level
    assert verdict.unconfirmed == ["environment"] and verdict.seed == 11
    said = "\n".join(verdict.notes)
    for line in (*verdict.not_asked, *verdict.not_regenerated, *verdict.differing):
        assert line in said


@pytest.mark.parametrize(("drawn", "share"), [(2, 78), (32, 9), (99, 3), (100, None)])
def test_the_share_that_could_be_forged_unnoticed_is_said(
    drawn: int, share: int | None
) -> None:
    """The images that the submitter could know beforehand to be drawn do not count."""
    at_random = {f"image {number}" for number in range(drawn)}
    pictured = {"a picture", "another picture"}
    verdict = Verdict(
        "recomputed",
        parts={"images": drawn + 2},
        totals={"images": 100},
        compared=at_random | pictured,
        at_random=at_random | {"one that could not be compared"},
    )
    _conclude(verdict, seed=0)
    said = [note for note in verdict.notes if "of its images forged" in note]
    if share is None:
        assert said == []
        return
    assert f"with {share} % of its images forged" in said[0]
    # The smallest whole share of which none is drawn in at most a twentieth of checks.
    unnoticed = [(1 - percent / 100) ** drawn for percent in (share, share - 1)]
    assert unnoticed[0] <= 0.05 < unnoticed[1]


def test_embeddings_may_differ_by_what_the_documentation_says() -> None:
    """1 - cosine: 1e-6 in float32, 2e-5 in float16, 2e-4 in bfloat16, the strictest if unknown."""
    row = np.array([1.0, 0.0, 0.0], dtype=np.float32)
    for dtype, limit in (
        *(("float32", 1e-6), ("float16", 2e-5), ("bfloat16", 2e-4)),
        *((None, 1e-6), ("float64", 1e-6)),
        # As a command may write them.
        *(("bf16", 2e-4), ("fp16", 2e-5), ("half", 2e-5), ("auto", 1e-6)),
    ):
        largest = largest_distance(dtype)
        assert largest == limit
        for share, alike in ((0.5, True), (2.0, False)):
            angle = math.acos(1 - share * limit)
            turned = np.array([math.cos(angle), math.sin(angle), 0.0], dtype=np.float64)
            # Neither length counts.
            assert are_alike(row, 3 * turned, largest) == alike
            assert are_alike(7 * turned, row, largest) == alike


def test_an_embedding_without_a_direction_is_like_no_other() -> None:
    row = np.ones(3, dtype=np.float32)
    none = np.full(3, np.nan, dtype=np.float32)
    zero = np.zeros(3, dtype=np.float32)
    assert are_alike(none, none, 1.0)
    for one, other in ((none, row), (row, none), (zero, row), (zero, zero)):
        assert not are_alike(one, other, 1.0)
    assert not are_alike(row, np.ones(4, dtype=np.float32), 1.0)
    assert is_as_stored(row + 1e-6, row) and not is_as_stored(row + 1e-2, row)


@pytest.mark.parametrize(
    ("where", "claimed", "computed", "same"),
    [
        ("headline.value", 0.5, 0.5 + 4e-7, True),
        ("headline.value", 0.5, 0.5 + 2e-6, False),
        ("headline.value", 1e-8, 9e-8, True),
        ("headline.value", 1e-8, 2e-7, False),
        ("headline.p", 0.03, 0.0301, True),
        ("headline.p_holm", 0.03, 0.0303, False),
        ("headline.ci_low", 0.03, 0.0301, False),
        ("headline.value", 1, 1.0000001, True),
        ("n_images", 1, 2, False),
        ("headline.value", None, 0.0, False),
        ("headline.value", "0.5", 0.5, False),
        ("by", [1, 2], [1, 2, 3], False),
        ("by", [1, 2], {"0": 1}, False),
        ("controls", {}, {"shuffled": None}, True),
        ("controls", {}, {"shuffled": {"value": 1.0}}, False),
        ("controls.shuffled.contradicts", "it does", "another sentence", True),
        ("controls.shuffled.contradicts", None, "it does", False),
        ("inconclusive", "", "the control contradicts", False),
        ("headline.direction", "fine", "not fine", True),
    ],
)
def test_what_is_claimed_is_what_the_evidence_gives(
    where: str, claimed: Any, computed: Any, same: bool
) -> None:
    """A millionth of a number, or 1e-7; of a p-value 2e-4 (leaderboard/README.md)."""
    for first, second in ((claimed, computed), (computed, claimed)):
        found = list(_mismatches(first, second, where))
        assert (not found) == same


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"model_args": {"steps": "9"}}, "names another model, or other arguments"),
        ({"model": "toy"}, "names another model, or other arguments"),
        ({"rewriter": "file:x.jsonl"}, "names another rewriter"),
        ({"encoder": ("toyland", "toy-clip")}, "names other encoders"),
        ({"judge": ("toyland",)}, "names other judges"),
        ({"images_per_prompt": 50}, "says images_per_prompt = 50"),
        # A model may have numbers of images of its own, and nothing else.
        ({"images_per_prompt": None}, None),
        ({"seed": 3}, "says seed = 3"),
    ],
)
def test_a_command_says_what_the_submission_says(
    changes: dict[str, Any], problem: str | None
) -> None:
    honest = RunSettings(
        model="toyland", tasks=("all",), encoder=("toyland",), images_per_prompt=7
    )
    manifest: Any = SimpleNamespace(
        model="toyland", model_args={}, encoders={"toyland": "a"}, judges={}
    )
    results: Any = SimpleNamespace(
        model=SimpleNamespace(rewriter=None), further_settings=None
    )
    recorded: Any = honest
    command = honest.model_copy(update=changes)
    problems = list(command_problems(command, manifest, results, recorded))
    if problem is None:
        assert problems == []
    else:
        (said,) = problems
        assert problem in said


def test_what_is_stated_of_a_model_is_what_it_has() -> None:
    stated = {"steps": 3, "size": [64, 64], "dtype": None}
    assert list(model_problems(stated, {**stated, "size": (64, 64), "more": 1})) == []
    for has in ({"steps": 3, "size": [64, 64]}, {**stated, "dtype": "float32"}):
        (said,) = model_problems(stated, has)
        assert said.startswith("it states dtype = null; the model has")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"name": "other"}, "different models"),
        ({"fingerprint": "b"}, "different models"),
        ({"revision": "other"}, "different revisions"),
        ({"t2ibench": "9"}, "different versions of t2ibench"),
        ({"model": "folder:/home/me/images", **PEOPLE}, "is a path; a submission"),
        ({"model": "folder:images"}, "is not a model: where its images come from"),
        # Images of an unknown origin may be shown where people answered.
        ({"model": "folder:images", **PEOPLE}, None),
    ],
)
def test_both_files_name_one_model(
    changes: dict[str, Any], problem: str | None
) -> None:
    model = SimpleNamespace(name="toyland", fingerprint="a", revision="1")
    results: Any = SimpleNamespace(model=model, t2ibench="0", environment={})
    given: dict[str, Any] = {
        "name": "toyland", "fingerprint": "a", "revision": "1", "t2ibench": "0",
        "model": "toyland", "judges": {}, "encoders": {"toyland": "a"},
    }  # fmt: skip
    manifest: Any = SimpleNamespace(**{**given, **changes})
    problems = list(manifest_problems(manifest, results))
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


def part(name: str, fingerprint: str) -> Any:
    return SimpleNamespace(name=name, fingerprint=fingerprint)


@pytest.mark.parametrize(
    ("name", "refused"), [("toyland", True), ("clip:org/name", False)]
)
def test_a_part_of_other_weights_is_asked_nothing(name: str, refused: bool) -> None:
    """What comes with t2ibench is the same everywhere; what is downloaded has versions."""
    verdict = Verdict("recomputed")
    here = {name: part(name, "a"), "whole": part("whole", "c")}
    stores: Any = {name: part(name, "b"), "whole": part("whole", "c")}
    asked = list(_parts("encoder", list(here), here.__getitem__, stores, verdict))
    assert [one.name for one, _ in asked] == ["whole"]
    assert verdict.not_asked == [f"encoder {name}"]
    assert bool(verdict.problems) == refused
    assert bool(verdict.not_regenerated) != refused


def test_a_part_that_cannot_be_loaded_is_not_asked_and_the_reason_is_said() -> None:
    def make(spec: str) -> Any:
        raise T2IBenchError(f"no memory for {spec}")

    verdict = Verdict("recomputed")
    stores: Any = {"vlm:x": part("vlm:x", "b")}
    assert list(_parts("judge", ["vlm:x"], make, stores, verdict)) == []
    assert verdict.not_asked == ["judge vlm:x"] and verdict.problems == []
    assert "no memory for vlm:x" in verdict.not_regenerated[0]


def test_no_path_that_a_submission_names_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = Mock()
    for name in ("create_encoder", "create_judges", "check_shifts"):
        monkeypatch.setattr(reembed, name, opened)
    encoder, judge = "vectors:/etc/passwd", "clip:/usr"
    claims: Any = SimpleNamespace(
        command=SimpleNamespace(
            encoder=(encoder,), judge=(judge,), judge_args={}, dtype=None
        ),
        results=SimpleNamespace(model=SimpleNamespace(settings={})),
        plan=None,
        stores=SimpleNamespace(
            encoders={encoder: part(encoder, "a")}, judges={judge: part(judge, "b")}
        ),
    )
    verdict = Verdict("recomputed")
    check_answers(claims, [], verdict)
    assert not opened.called
    check_embeddings(claims, [], verdict)
    # The check for tilts alone, of nothing.
    assert opened.call_count == 1
    assert verdict.not_asked == [f"judge {judge}", f"encoder {encoder}"]
    for line in verdict.not_regenerated:
        assert "is a path of this machine" in line


class Untrained:
    """An encoder with a control of random weights."""

    name = "clip"

    def untrained(self) -> Any:
        return part("random:clip", "here")


@pytest.mark.parametrize(
    ("encoder", "claimed", "asked", "outcome"),
    [
        (Untrained(), "here", "random", "made"),
        (Untrained(), "here, but of another name", "random", "other"),
        (Untrained(), "elsewhere", "random", "other"),
        (Untrained(), None, "none", "without"),
        (Untrained(), None, "random", "refused"),
        (Untrained(), "here", "none", "refused"),
        (part("clip", "x"), "here", "random", "refused"),
        (part("clip", "x"), None, "random", "without"),
    ],
)
def test_a_control_is_there_where_the_command_made_one(
    encoder: Any, claimed: str | None, asked: str, outcome: str
) -> None:
    controls = {}
    if claimed is not None:
        fingerprint, *of_another_name = claimed.split(", but ")
        name = "random:other" if of_another_name else "random:clip"
        controls = {"clip": part(name, fingerprint)}
    claims: Any = SimpleNamespace(
        manifest=SimpleNamespace(controls=controls),
        command=SimpleNamespace(control_encoder=asked),
    )
    verdict = Verdict("recomputed")
    made = _control(encoder, claims, verdict)
    assert (made is not None) == (outcome == "made")
    assert bool(verdict.problems) == (outcome == "refused")
    assert bool(verdict.not_regenerated) == (outcome == "other")


def test_the_precision_is_that_of_the_model_and_else_of_the_command() -> None:
    for of_model, expected in (("bfloat16", "bfloat16"), (None, "float32")):
        settings = {} if of_model is None else {"dtype": of_model}
        claims: Any = SimpleNamespace(
            results=SimpleNamespace(model=SimpleNamespace(settings=settings)),
            command=SimpleNamespace(dtype="float32"),
        )
        assert _dtype(claims) == expected


class Generator:
    """A generator that says what it was told."""

    size = 0

    def __init__(
        self, fingerprint: str, revision: str | None, settings: dict[str, Any]
    ) -> None:
        self.fingerprint = fingerprint
        self.revision = revision
        self.settings = settings

    def fix_batch_size(self, size: int, *, recorded: bool = False) -> None:
        self.size = size
        assert recorded


COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = COMMIT[::-1]


@pytest.mark.parametrize(
    ("fingerprint", "revision", "size", "outcome"),
    [
        ("a", COMMIT, 8, "made"),
        ("a", COMMIT, 64, "made"),
        ("a", COMMIT, 65, "at a time; 64 are the most here"),
        ("b", OTHER, 8, f"are of revision {OTHER}; it names {COMMIT}"),
        ("b", COMMIT, 8, "refused: has another fingerprint"),
        # What is no commit of the hub cannot be here in another one.
        ("b", "world 3", 8, "refused: has another fingerprint"),
        ("b", None, 8, "refused: has another fingerprint"),
        ("a", OTHER, 8, "refused: it states revision"),
    ],
)
def test_a_model_is_made_again_if_it_is_the_one_that_is_named(
    fingerprint: str,
    revision: str,
    size: int,
    outcome: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of another commit of the hub it is not at hand; with the same one it is another model."""
    settings = {"steps": 3, "dtype": "bfloat16", "deterministic": True}
    here = Generator(fingerprint, revision, settings)
    given: dict[str, Any] = {}

    def create_generator(model: str, args: Any, **keywords: Any) -> Generator:
        given.update(keywords)
        return here

    monkeypatch.setattr(regenerate, "create_generator", create_generator)
    model = SimpleNamespace(
        rewriter=None,
        settings=settings,
        revision=COMMIT,
        batch_size=size,
    )
    claims: Any = SimpleNamespace(
        manifest=SimpleNamespace(
            model="toyland", model_args={}, fingerprint="a", revision=COMMIT
        ),
        results=SimpleNamespace(model=model),
        command=SimpleNamespace(dtype="float32"),
        plan=SimpleNamespace(settings=SimpleNamespace(seed=5)),
    )
    verdict = Verdict("recomputed")
    made = _generator(claims, verdict)
    # With the seed of a model whose images have one that is derived from it.
    assert given == {
        "seed": 0, "dtype": "bfloat16", "deterministic": True, "recorded": True
    }  # fmt: skip
    if outcome == "made":
        assert made is here and here.size == size
        assert (verdict.problems, verdict.not_regenerated) == ([], [])
        assert verdict.confirmed == {"revision", "settings"}
    elif outcome.startswith("refused"):
        assert outcome.partition(": ")[2] in verdict.problems[0]
    else:
        assert made is None and verdict.problems == [] and verdict.confirmed == set()
        assert outcome in verdict.not_regenerated[0]


def test_a_plan_has_every_task_of_its_submission(tmp_path: Any) -> None:
    """A task that was added to what was planned may be the best of many."""
    name = "t2iat_flowers_insects"
    (task,) = load_tasks([name])
    gate = profile(scenario(measurement={"task": name, "statistic": "headline"}))
    plan = make_plan(gate, {name: task}, Measurement())
    write_plan(plan, tmp_path / "plan.json")
    planned = lean_task(0.0, task_hash=task.hash)
    results = hand.results(**{name: planned, "t2iat_science_arts": planned})
    results = results.model_copy(
        update={"registered_plan": RegisteredPlan(sha256=plan.sha256)}
    )
    manifest = Manifest(
        t2ibench="0", name="m", model="toyland", fingerprint="a" * 64,
        encoders=hand.ENCODERS, files={"plan.json": "b" * 64},
    )  # fmt: skip
    problems = list(plan_problems(tmp_path, manifest, results))
    assert "plan.json does not have the task t2iat_science_arts" in problems
