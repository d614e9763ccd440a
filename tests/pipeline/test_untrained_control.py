"""An encoder of random weights beside every encoder that can be made untrained."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench import evaluate, load_tasks, score
from t2ibench.methods import METHODS
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import Evidence, Needs, PromptNeed, QuestionNeed
from t2ibench.methods.core.headline import lean_headline
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.schema import BaseTask
from t2ibench.pipeline.plan import make_plan
from t2ibench.results.run import open_run
from t2ibench.settings import Settings

pytestmark = pytest.mark.usefixtures("few_words")

TASK = "weat_8_science_arts"
PROMPTS = ("a photo of a rose", "a photo of a wasp")
NEEDS = Needs(tuple(PromptNeed(prompt, 12) for prompt in PROMPTS), texts=("a rose",))


def mean_lean(task: BaseTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """The first coordinate of every image: a lean if there ever was one."""
    evidence.texts(NEEDS.texts)
    found = [evidence.images(prompt, 12) for prompt in PROMPTS]
    rows = np.concatenate(
        [one.embeddings[:, 0] for one in found if len(one.indices)] or [[]]
    )
    if len(rows) < 2:
        return MethodResult.undefined("there are no images")
    headline = lean_headline(
        float(rows.mean()),
        Influence.of_mean("all", np.arange(len(rows)), rows),
        settings.level,
    )
    scores = {"d": Estimate(headline.value)}
    return MethodResult(headline, scores, n_images=len(rows), n_prompts=2)


@pytest.fixture(autouse=True)
def a_method_of_images(monkeypatch: pytest.MonkeyPatch) -> None:
    family = replace(
        METHODS.get("weat"),
        needs=lambda task, settings: NEEDS,
        score=mean_lean,
        describe=lambda task, result: "It was measured.",
        combine=METHODS.get("t2iat").combine,
    )
    whole = METHODS.get
    monkeypatch.setattr(
        METHODS, "get", lambda name: family if name == "weat" else whole(name)
    )


class Leaning:
    """Every image leans to a side; a little of its own comes from its brightness."""

    embeds_images, batch_size = True, 8

    def __init__(self, name: str, lean: float) -> None:
        self.name, self._lean, self.calls = name, lean, 0
        self.fingerprint = hashlib.sha256(f"{name} {lean}".encode()).hexdigest()

    def prepare(self, image: Any) -> float:
        return float(np.asarray(image.convert("L")).mean()) / 255

    def encode_images(self, prepared: Sequence[float]) -> Any:
        self.calls += 1
        first = np.clip(self._lean + 0.2 * (np.asarray(prepared) - 0.5), -1, 1)
        return np.stack([first, np.sqrt(1 - first**2)], axis=1).astype(np.float32)

    def encode_texts(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        return np.tile(np.float32([0, 1]), (len(texts), 1))


class Learnt(Leaning):
    def __init__(
        self, lean: float, blind: Leaning | None, name: str = "learnt"
    ) -> None:
        super().__init__(name, lean)
        self.blind = blind

    def untrained(self) -> Leaning:
        if self.blind is None:
            raise RuntimeError("no memory")
        return self.blind


def run(folder: Path, encoder: Any, **settings: Any) -> Any:
    sizes: dict[str, Any] = {"n_permutations": 100, "n_bootstrap": 50, **settings}
    return evaluate("toyland", TASK, encoder=encoder, output_dir=folder, **sizes).tasks[
        TASK
    ]


def test_the_untrained_encoder_is_a_control_and_not_an_encoder_of_the_results(
    tmp_path: Path,
) -> None:
    task = run(tmp_path, Learnt(0.5, Leaning("random:learnt", 0.3)))
    control = task.controls["random_encoder"]
    assert control.value == pytest.approx(0.3, abs=0.1)
    assert control.ci_low < control.value < control.ci_high and control.p < 0.05
    assert control.says.endswith("which is less.") and control.contradicts is None
    assert task.inconclusive is None
    assert task.headline.value == pytest.approx(0.5, abs=0.1)
    assert list(task.settings.encoders) == ["learnt"] and not task.by_encoder
    folder = open_run(tmp_path / "toyland")
    assert list(folder.record.encoders) == ["learnt"]
    assert folder.record.controls["learnt"].name == "random:learnt"
    query = "SELECT count(DISTINCT model) FROM embeddings WHERE dtype = 'float32'"
    assert folder.database.read(query) == [(2,)]


@pytest.mark.parametrize(
    ("seen", "blind", "contradicted"),
    [
        (-0.5, 0.5, "reads the opposite"),
        (-0.5, -0.6, "it is not told from brightness and colour"),
        (0.0, 0.5, None),
    ],
)
def test_a_result_that_random_weights_reproduce_or_contradict_is_inconclusive(
    seen: float, blind: float, contradicted: str | None, tmp_path: Path
) -> None:
    task = run(tmp_path, Learnt(seen, Leaning("random:learnt", blind)))
    assert (task.controls["random_encoder"].contradicts is None) == (
        contradicted is None
    )
    assert task.headline.value == pytest.approx(seen, abs=0.1)
    assert (
        contradicted in task.inconclusive if contradicted else task.inconclusive is None
    )


def test_an_older_run_gets_the_untrained_control_and_nothing_else(
    tmp_path: Path,
) -> None:
    blind = Leaning("random:learnt", 0.3)
    learnt = Learnt(0.5, blind)
    without = run(tmp_path, learnt, control_encoder="none")
    assert "random_encoder" not in without.controls and blind.calls == 0
    calls = learnt.calls
    task = run(tmp_path, learnt)
    assert task.controls.pop("random_encoder").value == pytest.approx(0.3, abs=0.1)
    assert task == without and learnt.calls == calls
    # Scored again and run again it is the same: everything is there.
    file = tmp_path / "toyland" / "results.json"
    before, calls = file.read_bytes(), blind.calls
    score(tmp_path / "toyland")
    assert file.read_bytes() == before
    run(tmp_path, learnt)
    assert file.read_bytes() == before and blind.calls == calls


def test_one_control_an_encoder(tmp_path: Path) -> None:
    one = Learnt(0.5, Leaning("random:a", 0.3))
    other = Learnt(0.3, Leaning("random:b", 0.1), "other")
    found = run(tmp_path, [one, other, Leaning("without", 0.4)])
    values = {
        name: scores.controls["random_encoder"].value
        for name, scores in found.by_encoder.items()
        if "random_encoder" in scores.controls
    }
    assert values == pytest.approx({"learnt": 0.3, "other": 0.1}, abs=0.1)
    assert found.controls["random_encoder"].value == pytest.approx(0.2, abs=0.1)
    assert set(found.settings.encoders) == {"learnt", "other", "without"}


def test_a_control_that_fails_costs_itself_alone(tmp_path: Path) -> None:
    class Failing(Leaning):
        def encode_images(self, prepared: Sequence[float]) -> Any:
            raise RuntimeError("out of memory")

    task = run(tmp_path / "a", Learnt(0.5, Failing("random:learnt", 0.3)))
    assert task.headline.value == pytest.approx(0.5, abs=0.1)
    assert "reads nothing" in task.controls["random_encoder"].says
    task = run(tmp_path / "b", Learnt(0.5, None))
    assert task.headline.value == pytest.approx(0.5, abs=0.1)
    assert "random_encoder" not in task.controls


def test_images_that_are_only_judged_are_not_embedded_for_the_control() -> None:
    judged = Needs(
        (PromptNeed("a nurse", 9), PromptNeed(PROMPTS[0], 20)),
        texts=("a nurse",),
        questions=(QuestionNeed("a nurse", 9, "Who?", ("man", "woman")),),
    )
    one, other = load_tasks(f"{TASK},weat_7_math_arts")
    plan = make_plan([one, other], Settings(), {one.id: NEEDS, other.id: judged})
    assert plan.embedded == {PROMPTS[0]: 20, PROMPTS[1]: 12, "a nurse": 9}
    assert plan.controlled == dict.fromkeys(PROMPTS, 12)
    assert plan.texts == ("a nurse", "a rose") and plan.controlled_texts == ("a rose",)
