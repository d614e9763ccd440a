"""What an encoder makes again of texts and images, and what follows where it makes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from t2ibench.apps.leaderboard import reembed, regenerate
from t2ibench.apps.leaderboard.reembed import _Comparison, check_embeddings
from t2ibench.apps.leaderboard.regenerate import Verdict
from t2ibench.apps.leaderboard.shifts import RemadeRows
from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.store.images import Attempt

ROW = np.array([1.0, 0.0, 0.0], dtype=np.float32)


def image(index: int, *, same_file: bool = True) -> Any:
    attempt = Attempt(ImageKey.of("a nurse", index), 7, "ok", sha256=f"{index:064x}")
    return SimpleNamespace(attempt=attempt, same_file=same_file)


def checked(
    monkeypatch: pytest.MonkeyPatch,
    *,
    counted: int = 2,
    has_images: bool = True,
    error: T2IBenchError | None = None,
) -> tuple[Verdict, list[int]]:
    """The verdict where so many of three images count for an encoder, and those it was given."""
    given: list[int] = []

    def unlike_images(images: Any, _: Verdict) -> list[str]:
        given.extend(each.attempt.index for each in images)
        return []

    comparison = SimpleNamespace(
        unlike_texts=Mock(return_value=[], side_effect=error),
        unlike_images=unlike_images,
    )
    stored = SimpleNamespace(embeds_images=True, has_any=lambda _: has_images)
    for name, change in (
        ("_parts", lambda *_: [(SimpleNamespace(name="toy"), stored)]),
        ("_control", lambda *_: None),
        ("_Comparison", lambda *_: comparison),
        ("is_counted", lambda key, _: key.index < counted),
        ("check_shifts", lambda *_: None),
    ):
        monkeypatch.setattr(reembed, name, change)
    claims: Any = SimpleNamespace(
        command=SimpleNamespace(encoder=("toy",), dtype=None),
        results=SimpleNamespace(model=SimpleNamespace(settings={})),
        plan=SimpleNamespace(embedded={}, texts_for=lambda _: ["a word"]),
        stores=SimpleNamespace(encoders={}),
    )
    verdict = Verdict("recomputed")
    check_embeddings(claims, [image(number) for number in range(3)], verdict)
    return verdict, given


@pytest.mark.parametrize(
    ("changes", "given", "was_asked"),
    [
        ({}, [0, 1], True),
        # An encoder of images of which none was drawn was compared by its texts alone.
        ({"counted": 0}, [], False),
        ({"counted": 0, "has_images": False}, [], True),
        ({"error": T2IBenchError("No memory.")}, [], False),
    ],
)
def test_an_encoder_that_embedded_none_of_its_images_was_not_asked(
    changes: dict[str, Any],
    given: list[int],
    was_asked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdict, compared = checked(monkeypatch, **changes)
    assert compared == given
    assert verdict.not_asked == ([] if was_asked else ["encoder toy"])
    assert verdict.problems == []
    if "error" in changes:
        assert verdict.not_regenerated == ["toy cannot embed here: No memory."]
        assert verdict.parts == {}
    else:
        assert verdict.parts == {"texts": 1}


@pytest.mark.parametrize(
    ("angle", "same_file", "alike"),
    [
        (0.0005, True, True),
        (0.01, True, False),
        # Another file of the same picture may be farther off.
        (0.01, False, True),
        (0.1, False, False),
    ],
)
def test_an_image_is_compared_within_the_tolerance_of_its_file(
    angle: float, same_file: bool, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned = np.array([np.cos(angle), np.sin(angle), 0.0], dtype=np.float64)
    of_image = image(3, same_file=same_file)
    rows = [(of_image, turned)]
    verdict, remade, lines = compared_rows(rows, monkeypatch)
    assert (not lines) == alike
    assert verdict.compared == ({of_image.attempt.file_key} if alike else set())
    assert bool(remade.by_encoder) == alike


def test_an_image_that_cannot_be_embedded_here_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model of the submission made it, and its encoder says that it has embedded it."""
    rows = [(image(3), T2IBenchError("It has no pixels."))]
    verdict, remade, (line,) = compared_rows(rows, monkeypatch)
    assert line.endswith("generated again, cannot be embedded: It has no pixels")
    assert verdict.compared == set() and remade.by_encoder == {}


def compared_rows(
    rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[Verdict, RemadeRows, list[str]]:
    monkeypatch.setattr(reembed, "_rows_of", lambda *_: rows)
    encoder: Any = SimpleNamespace(name="toy")
    evidence: Any = SimpleNamespace(get=lambda *_: ROW)
    remade = RemadeRows()
    comparison = _Comparison(encoder, evidence, 1e-6, 2e-4, remade)
    verdict = Verdict("recomputed")
    return verdict, remade, list(comparison.unlike_images([], verdict))


@pytest.mark.parametrize(
    ("model", "rewriter", "why"),
    [
        ("openai:gpt-image-1", None, "is on a server, which is not called"),
        ("comfyui:flux", None, "is on a server, which is not called"),
        ("folder:images", None, "the images exist already, and were not sent"),
        ("toyland", "openai:gpt", "rewritten by openai:gpt, which is not asked again"),
    ],
)
def test_no_model_is_made_that_a_server_or_others_would_have_to_help(
    model: str, rewriter: str | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Mock()
    monkeypatch.setattr(regenerate, "create_generator", made)
    by = None if rewriter is None else SimpleNamespace(name=rewriter)
    claims: Any = SimpleNamespace(
        manifest=SimpleNamespace(model=model, model_args={}),
        results=SimpleNamespace(model=SimpleNamespace(rewriter=by, settings={})),
    )
    verdict = Verdict("recomputed")
    assert regenerate._generator(claims, verdict) is None
    assert not made.called and verdict.problems == []
    (line,) = verdict.not_regenerated
    assert why in line


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ("openai:gpt", "openai:gpt is on a server, which is not called."),
        ("answers:sheet.csv", "answers:sheet.csv holds answers that were given once."),
    ],
)
def test_no_judge_is_made_that_is_on_a_server_or_a_file(
    judge: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Mock()
    monkeypatch.setattr(reembed, "create_judges", made)
    claims: Any = SimpleNamespace(
        command=SimpleNamespace(judge=(judge,), judge_args={}, dtype=None, encoder=()),
        stores=SimpleNamespace(judges={judge: SimpleNamespace(fingerprint="a")}),
    )
    verdict = Verdict("recomputed")
    reembed.check_answers(claims, [], verdict)
    assert not made.called
    assert verdict.not_asked == [f"judge {judge}"]
    assert why in verdict.not_regenerated[0]
