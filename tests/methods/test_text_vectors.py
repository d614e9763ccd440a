"""Texts that an encoder has no vector for: what they would say is unknown, never a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from t2ibench.arrays import Float64Array
from t2ibench.methods import METHODS
from t2ibench.methods.core.association import adherence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.obedience import Seen, obedience_control, obedience_scores
from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.core.synthetic_evidence import SyntheticEvidence
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from tests.methods.edits.hand import edits_task

SETTINGS = Settings(
    limit=4,
    images_per_prompt=6,
    guided_images_per_prompt=4,
    n_bootstrap=50,
    n_permutations=100,
    max_exact=1000,
)


class WithoutTexts(SyntheticEvidence):
    """Synthetic evidence in which some texts have no vector."""

    def __init__(self, needs: Needs, lacks: Callable[[str], bool]) -> None:
        super().__init__(needs, checked=False)
        self._lacks = lacks

    def texts(self, texts: Sequence[str]) -> Float64Array:
        rows = np.array(super().texts(texts))
        rows[[self._lacks(text) for text in texts]] = np.nan
        return rows


@cache
def shipped() -> dict[str, BaseTask]:
    """One shipped task of every method, by method."""
    tasks: dict[str, BaseTask] = {}
    for task in load_tasks("all"):
        tasks.setdefault(task.spec.method, task.spec)
    tasks["edits"] = edits_task()
    return tasks


def scored(name: str, lacks: Callable[[str], bool]) -> MethodResult:
    """The result of a method's task where some texts have no vector."""
    method, task = METHODS.get(name), shipped()[name]
    return method.score(
        task, WithoutTexts(method.needs(task, SETTINGS), lacks), SETTINGS
    )


def numbers(result: MethodResult) -> Iterator[tuple[str, Any]]:
    """Every number of a result with its name."""
    yield "headline", result.headline.value
    for name, estimate in result.scores.items():
        yield name, estimate.value
    for item in result.by:
        for name, estimate in item.scores.items():
            yield f"{item.name} {name}", estimate.value
    for name, control in result.controls.items():
        yield name, control.value


ON_IMAGES = ["mcas", "occupations", "t2iat"]  # their headline reads no text


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("name", METHODS.names())
def test_no_method_scores_a_text_without_a_vector(name: str, some: bool) -> None:
    result = scored(
        name, (lambda text: len(text) % 3 == 0) if some else (lambda _: True)
    )
    for what, value in numbers(result):
        assert value is None or np.isfinite(value), what
    for control in result.controls.values():
        assert "nan" not in control.says.split(), control.says
    assert not any("nan" in text.split() for text in result.warnings)


@pytest.mark.parametrize("name", ON_IMAGES)
def test_headlines_of_images_need_no_texts(name: str) -> None:
    with_texts, without = scored(name, lambda _: False), scored(name, lambda _: True)
    assert without.headline.value == with_texts.headline.value
    assert without.headline.p == with_texts.headline.p
    obedience = {
        name: control
        for name, control in without.controls.items()
        if name.startswith("obedience")
    }
    assert obedience
    for control in obedience.values():
        assert control.value is None
        assert control.says.startswith(
            "What the guided images show is unknown: the encoder has no"
        )
    unknown = [
        score for name, score in without.scores.items() if name.startswith("obedience:")
    ]
    assert unknown
    assert all(
        score.value is None and "no vectors" in str(score.reason) for score in unknown
    )
    assert not any(" 0 of " in warning for warning in without.warnings)


@pytest.mark.parametrize("name", ["occupations", "t2iat"])
def test_the_control_of_words_alone_is_unknown_where_a_stimulus_has_no_text_vector(
    name: str,
) -> None:
    needs = METHODS.get(name).needs(shipped()[name], SETTINGS)
    first = needs.prompts[0].unit
    unit = {need.prompt: need.unit for need in needs.prompts}
    result = scored(name, lambda text: unit.get(text) == first)
    says = result.controls["text_only"].says
    assert says.startswith(
        "What the words alone say is unknown: the encoder has no vectors"
    )
    assert " of 1 of " in says


def test_vibex_needs_the_texts_of_its_anchors_and_leaves_concepts_out() -> None:
    task = shipped()["vibex"]
    anchors = {anchor.text or anchor.prompt for anchor in task.anchors}
    nothing = scored("vibex", lambda text: text in anchors)
    assert "the encoder has no vectors of the texts of" in str(nothing.reason)
    forward = [concept for concept in task.concepts if concept.query == "forward"]
    result = scored("vibex", lambda text: text == forward[0].prompt)
    assert forward[0].name not in [
        item.name for item in result.by if item.group == "forward"
    ]
    assert forward[1].name in [
        item.name for item in result.by if item.group == "forward"
    ]
    assert any(forward[0].name in warning for warning in result.warnings)


def test_obedience_excludes_images_without_a_vector() -> None:
    nan = np.full((1, 2), np.nan)
    a, b = np.eye(2)[:1], np.eye(2)[1:]
    assert adherence(a, b, a, b) == (Seen(1, 1), Seen(1, 1))
    assert adherence(a, b, np.concatenate([nan, a]), b) == (Seen(1, 1), Seen(1, 1))
    assert adherence(a, b, nan, b) == (Seen(unknown=1), Seen(unknown=1))
    some = {"men": Seen(3, 4, unknown=2), "women": Seen(4, 4, unknown=2)}
    says = obedience_control(some, judged=False).says
    assert "3 of 4 asked for men" in says
    assert "Of 4 more it is unknown" in says
    none = {"men": Seen(unknown=2), "women": Seen(unknown=2)}
    assert obedience_control(none, judged=False).value is None
    assert obedience_scores(none)["obedience:men"].value is None
