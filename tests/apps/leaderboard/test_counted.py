"""What a verdict counts and says of the parts that were made again, or could not be."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from t2ibench.apps.leaderboard import bounds, reembed, regenerate, verify
from t2ibench.apps.leaderboard.claims import differences
from t2ibench.apps.leaderboard.ranks import QUESTION_SCORE
from t2ibench.apps.leaderboard.regenerate import (
    RegeneratedImage,
    Verdict,
    sample_for_audit,
)
from t2ibench.identity import ImageKey
from t2ibench.models.protocols import GeneratedImage
from t2ibench.pipeline.plan import make_plan
from t2ibench.pipeline.work_items import AskReport
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings
from t2ibench.store.answers import StoredAnswer
from t2ibench.store.images import Attempt, StoredImage
from t2ibench.tasks import load_tasks
from tests import hand


def attempt(index: int = 0, **changes: Any) -> Attempt:
    given: dict[str, Any] = {"sha256": f"{index:064x}", **changes}
    return Attempt(ImageKey.of("a nurse", index), 7, given.pop("status", "ok"), **given)


def made(index: int, sha256: str | None = None) -> RegeneratedImage:
    """An image that was made again; with its submission's bytes unless told."""
    claimed = attempt(index)
    content = StoredImage(
        claimed.file_key, sha256 or claimed.sha256 or "", claimed.key, content=b""
    )
    return RegeneratedImage(claimed, content)


def test_an_image_that_nothing_was_compared_with_is_said() -> None:
    """The first is the same file; of the second an answer differs; the third was not read."""
    verdict = Verdict("recomputed")
    images = [made(0), made(1, "b" * 64), made(2, "c" * 64)]
    verdict.otherwise = {images[1].attempt.file_key}
    verify._count_images(images, verdict)
    assert (verdict.same_files, verdict.parts) == (1, {"images": 1})
    assert verdict.not_regenerated == [
        "1 images were generated, and there was nothing here to compare them with"
    ]
    # One of them has the bytes that are named.
    assert verdict.notes == []


def test_no_image_of_the_same_bytes_is_said() -> None:
    verdict = Verdict("recomputed")
    verify._count_images([made(0, "b" * 64)], verdict)
    assert verdict.parts == {} and "none of 1 images has the bytes" in verdict.notes[0]


def test_what_a_submission_holds_is_counted_by_kind() -> None:
    attempts = [attempt(0), attempt(1), attempt(2, status="refused", sha256=None)]
    judges = {"a": ["x"] * 3, "b": ["x"] * 4}
    claims: Any = SimpleNamespace(
        attempts=attempts, stores=SimpleNamespace(judges=judges)
    )
    verdict = Verdict("recomputed")
    verify._count_totals(claims, verdict)
    assert verdict.totals == {"images": 2, "refused": 1, "answers": 7}


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (bounds.TimeOver(), "making it again took too long here; --minutes gives it"),
        (RuntimeError("no driver"), "failed here with RuntimeError: no driver"),
    ],
)
def test_what_cannot_be_made_again_leaves_it_recomputed_and_is_said(
    error: BaseException, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "regenerate", Mock(side_effect=error))
    verdict = Verdict("recomputed")
    verify._regenerate(Mock(), 3, 0, verdict)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert line in verdict.not_regenerated[0]
    assert any(line in note for note in verdict.notes)


def test_a_check_that_takes_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything could be made again, a stranger's files took all the time."""
    monkeypatch.setattr(verify, "_verify", Mock(side_effect=bounds.TimeOver()))
    verdict = verify.verify(Mock(), minutes=2)
    assert verdict.level == "refused"
    assert verdict.problems == ["it takes more than 2 minutes to check (--minutes)"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"missing_prompts": ["a nurse"]}, "without 1 of its prompts"),
        ({"excluded": {"missing": 1}}, "lacks images: complete the run"),
        ({"excluded": {"failed": 1}}, "lacks images: complete the run"),
        ({"excluded": {"refused": 1}}, ""),
    ],
)
def test_a_run_that_is_not_complete_cannot_be_submitted(
    changes: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify.claims, "manifest_problems", lambda *_: [])
    task = hand.record(hand.mean_lean({"x": [1.0, -1.0, 1.0]})).model_copy(
        update=changes
    )
    results = hand.results(x=task)
    settings = task.settings
    manifest: Any = SimpleNamespace(encoders=settings.encoders, judges=settings.judges)
    problems = list(verify.provenance_problems(manifest, results))
    assert len(problems) == bool(problem) and problem in "".join(problems)
    # The weights count, not the name alone.
    name = next(iter(settings.encoders))
    others: Any = SimpleNamespace(
        encoders={**settings.encoders, name: "another"}, judges=settings.judges
    )
    assert any(
        f"scored by the encoder '{name}', which submission.json lacks" in line
        for line in verify.provenance_problems(others, results)
    )


def test_an_image_beyond_those_that_a_test_needs_is_never_drawn() -> None:
    plan = make_plan(load_tasks("openbias_examples"), Settings(images_per_prompt=2))
    prompt = plan.requests[0].prompt
    attempts = [Attempt(ImageKey.of(prompt, index), 1, "ok") for index in range(4)]
    for seed in range(5):
        drawn = sample_for_audit(attempts, plan, 4, random.Random(seed))
        assert sorted(each.index for each in drawn) == [0, 1]
    # No more than asked for.
    assert len(sample_for_audit(attempts, plan, 1, random.Random(0))) == 1


def test_every_image_may_be_the_one_that_is_drawn() -> None:
    """Who knew that the first ones of each prompt are drawn, or guided ones, would forge others."""
    settings = Settings(images_per_prompt=3, guided_images_per_prompt=2)
    plan = make_plan(load_tasks("occupations_t2iat"), settings)
    prompts = sorted({request.prompt for request in plan.requests})[:6]
    few = [request for request in plan.requests if request.prompt in prompts]
    attempts = [Attempt(request.key, request.seed, "ok") for request in few]
    guided = {"male", "female"}
    drawn = set()
    kinds_drawn_first = set()
    for seed in range(40):
        chosen = sample_for_audit(attempts, plan, 4, random.Random(seed))
        drawn |= {each.key for each in chosen}
        (first,) = sample_for_audit(attempts, plan, 1, random.Random(seed))
        kinds_drawn_first.add(bool(guided & set(first.prompt.split())))
    assert drawn == {attempt.key for attempt in attempts}
    assert kinds_drawn_first == {True, False}


class FakeModel:
    """A model that gives what it is told."""

    batch_size = 2
    name = "fake"

    def __init__(self, *outcomes: GeneratedImage) -> None:
        self.outcomes = list(outcomes)

    def generate(self, requests: Any) -> list[GeneratedImage]:
        return [self.outcomes.pop(0) for _ in requests]


def outcome(status: Any, reason: str | None = None) -> GeneratedImage:
    return GeneratedImage(status, reason=reason)


def test_an_outcome_that_differs_is_refused_and_one_that_fails_is_said() -> None:
    chosen = [
        attempt(0, status="refused", sha256=None),
        attempt(1, status="refused", sha256=None),
        attempt(2, status="refused", sha256=None),
    ]
    model: Any = FakeModel(
        outcome("refused"), outcome("filtered", "a filter"), outcome("failed", "no")
    )
    verdict = Verdict("recomputed")
    assert regenerate._generate(model, chosen, verdict) == []
    assert verdict.parts == {"refused": 1}
    (problem,) = verdict.problems
    assert "image 1 of 'a nurse' is called refused" in problem
    assert "tried again it is filtered (a filter)" in problem
    assert verdict.not_regenerated == [
        "1 images failed here, such as image 2 of 'a nurse' (no)"
    ]


def test_a_path_in_an_argument_of_a_model_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = Mock()
    monkeypatch.setattr(regenerate, "create_generator", opened)
    manifest = SimpleNamespace(model="toyland", model_args={"lora": "/etc/passwd"})
    claims: Any = SimpleNamespace(
        manifest=manifest,
        results=SimpleNamespace(model=SimpleNamespace(rewriter=None, settings={})),
        plan=SimpleNamespace(settings=SimpleNamespace(seed=0)),
        command=SimpleNamespace(dtype=None),
    )
    verdict = Verdict("recomputed")
    assert regenerate._generator(claims, verdict) is None
    assert not opened.called
    assert "/etc/passwd is a path of this machine" in verdict.not_regenerated[0]


QUESTION = ("Who is it?", ("woman", "man"))


def compared_answers(
    images: list[RegeneratedImage],
    differing: set[int],
    monkeypatch: pytest.MonkeyPatch,
    unanswered: frozenset[int] = frozenset(),
) -> Verdict:
    """The verdict where a judge says 'man' about some images; 'woman' was sent of all."""
    answers = [
        StoredAnswer(
            image.image.sha256,
            *QUESTION,
            "man" if image.attempt.index in differing else "woman",
            "",
        )
        for image in images
        if image.attempt.index not in unanswered
    ]
    report = AskReport(answers=answers)
    monkeypatch.setattr(reembed, "answered", lambda *_: [report])
    questions: Any = [(image.image, [QUESTION]) for image in images]
    judge: Any = SimpleNamespace(name="toyland")
    store: Any = SimpleNamespace(get=lambda *_: SimpleNamespace(answer="woman"))
    verdict = Verdict("recomputed")
    same = reembed._compare_answers(judge, images, questions, store, verdict)
    assert same == verdict.parts.get("answers", 0)
    return verdict


@pytest.mark.parametrize(("differing", "refused"), [(0, False), (2, False), (3, True)])
def test_two_of_a_hundred_answers_about_other_files_may_differ(
    differing: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [made(index, f"{index + 500:064x}") for index in range(100)]
    verdict = compared_answers(images, set(range(differing)), monkeypatch)
    assert bool(verdict.problems) == refused
    assert len(verdict.differing) == (differing == 2)
    assert verdict.parts == {"answers": 100 - differing}
    assert len(verdict.compared) == 100 - differing
    assert len(verdict.otherwise) == (0 if refused else differing)


@pytest.mark.parametrize("differing", [{0}, {0, 1}, {0, 99}, {99, 50}])
def test_no_answer_about_the_same_file_may_differ(
    differing: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stands among those that may: half of the images are the same files here."""
    images = [
        made(index, None if index % 2 == 0 else f"{index + 500:064x}")
        for index in range(100)
    ]
    verdict = compared_answers(images, differing, monkeypatch)
    assert len(verdict.problems) == len(differing) and verdict.differing == []


def test_answers_that_do_not_come_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    images = [made(index) for index in range(4)]
    verdict = compared_answers(images, set(), monkeypatch, frozenset({1, 2, 3}))
    assert verdict.not_regenerated == ["3 of 4 answers of toyland"]
    assert (verdict.parts, verdict.problems) == ({"answers": 1}, [])


@pytest.mark.parametrize(
    ("stored", "same", "not_asked"),
    [(["x"], 0, ["judge toyland"]), (["x"], 1, []), ([], 0, [])],
)
def test_a_judge_that_gave_no_answer_here_was_not_asked(
    stored: list[str], same: int, not_asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission is not more than recomputed where it has answers and none was compared."""
    parts = [(SimpleNamespace(name="toyland"), stored)]
    monkeypatch.setattr(reembed, "_parts", lambda *_: parts)
    monkeypatch.setattr(reembed, "_compare_answers", lambda *_: same)
    claims: Any = SimpleNamespace(
        stores=SimpleNamespace(judges={}), command=SimpleNamespace(judge=())
    )
    verdict = Verdict("recomputed")
    reembed.check_answers(claims, [], verdict)
    assert verdict.not_asked == not_asked


def test_the_board_holds_of_a_task_what_it_compares_models_by() -> None:
    """The influences of all submissions are held at once."""
    part: Any = object()
    kept = ("gender", QUESTION_SCORE)
    paired = PairedTask(
        scale="lean",
        question="fixed_prompts",
        headline=(part,),
        rows={kept: part, ("gender", "another score"): part, ("a nurse", "lean"): part},
        agreement={"toyland": ()},
    )
    held = verify._for_board(paired)
    assert held.headline == (part,)
    assert dict(held.rows) == {kept: part}
    assert held.agreement == {}


@pytest.mark.parametrize(
    "part",
    [
        "headline", "scores", "by", "by_encoder", "controls", "inconclusive", "excluded",
        "n_images", "n_prompts", "text_image_alignment", "prompt_outcomes",
    ],
)  # fmt: skip
def test_each_number_of_a_task_is_compared_with_the_evidence(part: str) -> None:
    assert part in TaskResult.model_fields

    def results_with(value: int) -> Any:
        record = {**dict.fromkeys(TaskResult.model_fields, 0), part: value}
        return {"x": SimpleNamespace(model_dump=lambda mode: record)}

    claimed: Any = SimpleNamespace(tasks=results_with(1))
    assert differences(claimed, results_with(1)) == []
    (problem,) = differences(claimed, results_with(0))
    assert problem.startswith(f"x: {part} says ")
