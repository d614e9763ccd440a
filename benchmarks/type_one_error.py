"""How often the tests reject where nothing is planted, when images of a prompt are alike.

    python benchmarks/type_one_error.py [--runs 2000]

16 + 16 prompts with 10 images each. The default test moves whole prompts; `unit: image` moves
images, as the papers' code does.
"""

from __future__ import annotations

import argparse

import numpy as np
from tabulate import tabulate

from t2ibench.stats import two_sample_permutation

PROMPTS, IMAGES = 32, 10


def rejected(icc: float, by_prompt: bool, runs: int) -> float:
    rng = np.random.default_rng([int(100 * icc), by_prompt])
    clusters = np.repeat(np.arange(PROMPTS), IMAGES)
    in_x = clusters < PROMPTS // 2
    count = 0
    for _ in range(runs):
        between = rng.normal(0, np.sqrt(icc), (PROMPTS, 1))
        values = (between + rng.normal(0, np.sqrt(1 - icc), (PROMPTS, IMAGES))).ravel()
        result = two_sample_permutation(
            values, in_x, clusters if by_prompt else None, n_draws=999, rng=rng
        )["mean_difference"]
        count += result.p <= 0.05
    return count / runs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    rows = [
        [f"ICC {icc}", rejected(icc, True, runs), rejected(icc, False, runs)] for icc in (0.2, 0.5)
    ]
    print(
        tabulate(
            rows,
            headers=["rejected at 5 %", "unit: prompt (default)", "unit: image"],
            floatfmt=".3f",
        )
    )


if __name__ == "__main__":
    main()
