"""The Vendi score of a prompt's images, of few and of many."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.diversity import vendi_score


def unit_rows(count: int, width: int) -> Float64Array:
    rows = np.random.default_rng(0).normal(size=(count, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(("count", "width"), [(5, 8), (8, 8), (9, 8), (200, 8)])
def test_the_score_is_the_exponential_of_the_entropy_of_singular_values(
    count: int, width: int
) -> None:
    rows = unit_rows(count, width)
    shares = np.linalg.svd(rows, compute_uv=False) ** 2 / count
    expected = np.exp(-(shares * np.log(shares)).sum())
    assert vendi_score(rows) == pytest.approx(expected, rel=1e-12)


def test_memory_does_not_grow_with_pairs_of_images() -> None:
    """A prompt may have 100,000 images, whose pairs would take 80 GB."""
    rows = unit_rows(2_000, 4)
    tracemalloc.start()
    try:
        vendi_score(rows)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * rows.nbytes
