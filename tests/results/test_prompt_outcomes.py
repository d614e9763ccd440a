"""What a model refused, filtered and rewrote: counted by group, against counts by hand."""

from __future__ import annotations

import pytest

from t2ibench.identity import ImageKey
from t2ibench.results.prompt_outcomes import prompt_outcomes, revised_line
from t2ibench.store.images import Attempt


def attempt(
    prompt: str, index: int, status: str = "ok", revised: str | None = None
) -> Attempt:
    return Attempt(ImageKey.of(prompt, index), 0, status, revised_prompt=revised)


def first(prompt: str, n: int, revised: str | None = None) -> list[Attempt]:
    return [attempt(prompt, index, revised=revised) for index in range(n)]


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

    def first(prompt: str, n: int) -> list[Attempt | None]:
        return [made.get((prompt, index)) for index in range(n)]

    whole, women, men = prompt_outcomes(counts, groups, first, 0.95)
    assert (whole.group, women.group, men.group) == (None, "women", "men")
    assert (whole.n_prompts, men.n_prompts) == (3, 2)
    assert (whole.refused.count, whole.refused.total) == (1, 6)
    assert whole.refused.share == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert (men.filtered.count, men.filtered.total, men.filtered.share) == (1, 3, 0.25)
    assert (
        whole.revised is not None
        and women.revised is not None
        and men.revised is not None
    )
    assert (whole.revised.count, whole.revised.total) == (2, 4)
    assert (women.revised.count, women.revised.share) == (1, 0.5)
    assert (men.revised.count, men.revised.total) == (1, 2)
    for part in (whole, women, men):
        for rate in (part.refused, part.filtered, part.revised):
            assert (
                rate is not None
                and rate.ci_low is not None
                and rate.ci_high is not None
            )
            assert 0 <= rate.ci_low <= (rate.share or 0.0) <= rate.ci_high <= 1
    line = revised_line([whole, women, men]) or ""
    assert (
        "rewrote the prompts of 2 of 4 images (50 %" in line
        and "women 50 %, men 50 %" in line
    )


def test_a_model_that_treats_all_prompts_alike_has_no_finding() -> None:
    assert prompt_outcomes({"a": 2}, {"a": "x"}, first, 0.95) == []
    assert prompt_outcomes({"a": 2}, {"a": "x"}, lambda p, n: [None] * n, 0.95) == []
    assert revised_line([]) is None
    same = prompt_outcomes(
        {"a": 2}, {"a": "x"}, lambda p, n: first(p, n, revised=p), 0.95
    )
    assert len(same) == 1 and same[0].revised is not None and same[0].revised.count == 0
    assert revised_line(same) is None
