"""What a model refused, filtered and rewrote: counted by group, against counts by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import t2ibench
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.results.files import read_results
from t2ibench.results.rates import prompt_outcomes, revised_line
from t2ibench.store.images import Attempt
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
    whole, women, men = prompt_outcomes(counts, groups, lambda p, i: made.get((p, i)), 0.95)
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
    assert prompt_outcomes({"a": 2}, {"a": "x"}, attempt, 0.95) == []
    assert prompt_outcomes({"a": 2}, {"a": "x"}, lambda p, i: None, 0.95) == []
    assert revised_line([]) is None
    same = prompt_outcomes({"a": 2}, {"a": "x"}, lambda p, i: attempt(p, i, revised=p), 0.95)
    assert len(same) == 1 and same[0].revised is not None and same[0].revised.count == 0
    assert revised_line(same) is None


INSECTS = ("ant", "bee", "beetle", "caterpillar", "cockroach", "spider", "wasp")


class Rewriter(ToylandGenerator):
    """Toyland, which says that it rewrites the prompts of insects, and refuses the aster."""

    def __init__(self) -> None:
        super().__init__({})
        self.name, self.fingerprint = "rewriter", "0" * 64

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [
            GeneratedImage("refused", reason="no asters")
            if "aster" in request.prompt
            else replace(image, revised_prompt=request.prompt + self._more(request.prompt))
            for request, image in zip(requests, super().generate(requests), strict=True)
        ]

    def _more(self, prompt: str) -> str:
        return ", friendly" if any(word in prompt for word in INSECTS) else ""


def test_a_run_says_what_was_rewritten_by_group(tmp_path: Path) -> None:
    results = t2ibench.evaluate(
        Rewriter(), "t2iat_flowers_insects", encoder="toyland", limit=3, images_per_prompt=3,
        n_bootstrap=200, n_permutations=200, output_dir=tmp_path,
    )  # fmt: skip
    task = results.tasks["t2iat_flowers_insects"]
    rows = hand.stored(tmp_path / "rewriter", "attempts")
    told = [row for row in rows if row["revised_prompt"] is not None]
    rewritten = [row for row in told if row["revised_prompt"] != row["prompt"]]
    whole = task.prompt_outcomes[0]
    assert whole.revised is not None and len(rewritten) > 0
    assert (whole.revised.count, whole.revised.total) == (len(rewritten), len(told))
    shares = {part.group: part.revised.share for part in task.prompt_outcomes[1:] if part.revised}
    assert min(shares.values()) == 0.0 and max(shares.values()) > 0.5
    assert any(part.refused.count for part in task.prompt_outcomes[1:])
    says = f"rewrote the prompts of {len(rewritten)} of {len(told)} images"
    assert any(says in warning for warning in task.warnings)
    again = read_results(tmp_path / "rewriter" / "results.json")
    assert again.tasks["t2iat_flowers_insects"].prompt_outcomes == task.prompt_outcomes
