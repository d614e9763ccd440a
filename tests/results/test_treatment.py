"""What a model refused, filtered and rewrote: counted by group, against counts by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

import t2ibench
from t2ibench.models.protocols import Drawn, ImageRequest
from t2ibench.results.files import read_results
from t2ibench.results.rates import revised_line, treatment
from t2ibench.store.images import Attempt
from t2ibench.toyland import draw
from tests import hand


def attempt(prompt: str, index: int, status: str = "ok", revised: str | None = None) -> Attempt:
    return Attempt("k", prompt, index, 0, status, revised_prompt=revised)


def test_shares_are_those_of_the_counts() -> None:
    made = {
        ("a", 0): attempt("a", 0, revised="a, diverse"),
        ("a", 1): attempt("a", 1, revised="a"),
        ("a", 2): attempt("a", 2, "refused"),
        ("a", 3): attempt("a", 3, "failed"),  # says nothing of the prompt
        ("b", 0): attempt("b", 0, revised="b  "),  # spaces are no other prompt
        ("b", 1): attempt("b", 1, "filtered", "bb"),
        ("c", 0): attempt("c", 0),
    }
    counts = {"a": 4, "b": 2, "c": 2}
    groups = {"a": "women", "b": "men", "c": "men"}
    whole, women, men = treatment(counts, groups, lambda p, i: made.get((p, i)), 0.95)
    assert (whole.group, women.group, men.group) == (None, "women", "men")
    assert (whole.n_prompts, men.n_prompts) == (3, 2)
    assert (whole.refused.count, whole.refused.total) == (1, 6)
    assert whole.refused.share == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert (men.filtered.count, men.filtered.total, men.filtered.share) == (1, 3, 0.25)
    assert whole.revised is not None and women.revised is not None and men.revised is not None
    assert (whole.revised.count, whole.revised.total) == (2, 4)
    assert (women.revised.count, women.revised.share) == (1, 0.5)
    assert (men.revised.count, men.revised.total) == (1, 2)
    for part in (whole, women, men):
        for rate in (part.refused, part.filtered, part.revised):
            assert rate is not None and rate.ci_low is not None and rate.ci_high is not None
            assert 0 <= rate.ci_low <= (rate.share or 0.0) <= rate.ci_high <= 1
    line = revised_line([whole, women, men])
    assert line is not None
    assert "rewrote the prompts of 2 of 4 images (50 %" in line and "women 50 %, men 50 %" in line


def test_nothing_is_said_of_a_model_that_treats_all_prompts_alike() -> None:
    assert treatment({"a": 2}, {"a": "x"}, attempt, 0.95) == []
    assert treatment({"a": 2}, {"a": "x"}, lambda p, i: None, 0.95) == []
    assert revised_line([]) is None
    same = treatment({"a": 2}, {"a": "x"}, lambda p, i: attempt(p, i, revised=p), 0.95)
    assert len(same) == 1 and same[0].revised is not None and same[0].revised.count == 0
    assert revised_line(same) is None


class Rewriter:
    """Toyland, which says that it rewrites the prompts of insects, and refuses the aster."""

    name = "rewriter"
    fingerprint = "0" * 64
    settings: ClassVar[dict[str, Any]] = {}
    revision = None
    images_per_prompt = None
    guided_images_per_prompt = None
    batch_size = 16
    insects = ("ant", "bee", "beetle", "caterpillar", "cockroach", "spider", "wasp")

    def generate(self, requests: list[ImageRequest]) -> list[Drawn]:
        return [self._one(request) for request in requests]

    def _one(self, request: ImageRequest) -> Drawn:
        if "aster" in request.prompt:
            return Drawn("refused", reason="no asters")
        insect = any(word in request.prompt for word in self.insects)
        revised = f"{request.prompt}, friendly" if insect else request.prompt
        return Drawn("ok", draw(request.prompt, request.seed), revised_prompt=revised)

    def available(self, prompt: str) -> int | None:
        return None


def test_a_run_says_what_was_rewritten_by_group(tmp_path: Path) -> None:
    results = t2ibench.evaluate(
        Rewriter(),
        "t2iat_flowers_insects",
        encoder="toyland",
        limit=3,
        images_per_prompt=3,
        n_bootstrap=200,
        n_permutations=200,
        output_dir=tmp_path,
    )
    task = results.tasks["t2iat_flowers_insects"]
    rows = hand.stored(tmp_path / "rewriter", "attempts")
    told = [row for row in rows if row["revised_prompt"] is not None]
    rewritten = [row for row in told if row["revised_prompt"] != row["prompt"]]
    whole = task.treatment[0]
    assert whole.revised is not None and len(rewritten) > 0
    assert (whole.revised.count, whole.revised.total) == (len(rewritten), len(told))
    shares = {part.group: part.revised.share for part in task.treatment[1:] if part.revised}
    assert min(shares.values()) == 0.0 and max(shares.values()) > 0.5
    assert any(part.refused.count for part in task.treatment[1:])
    says = f"rewrote the prompts of {len(rewritten)} of {len(told)} images"
    assert any(says in warning for warning in task.warnings)
    again = read_results(tmp_path / "rewriter" / "results.json")
    assert again.tasks["t2iat_flowers_insects"].treatment == task.treatment
