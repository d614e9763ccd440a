"""Speed of the resampling code, beside scipy and beside a plain loop, in one run.

    python benchmarks/stats.py [--draws 100000] [--json FILE]

320 + 320 images in 64 prompts with an intraclass correlation of 0.2. scipy has no clusters, so it
gets prompt means where whole prompts move and image values where images do. The plain loop draws
one relabelling at a time from Python lists, as the association tests' own code does; it is timed
on fewer draws and scaled.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
from scipy import stats as scipy_stats
from tabulate import tabulate
from timing import best, write

from t2ibench.stats import two_sample_bootstrap, two_sample_permutation

PROMPTS, IMAGES, ICC = 32, 10, 0.2


def sample(rng: np.random.Generator, shift: float) -> np.ndarray:
    between = rng.normal(shift, np.sqrt(ICC), (PROMPTS, 1))
    return (between + rng.normal(0, np.sqrt(1 - ICC), (PROMPTS, IMAGES))).ravel()


def loop_permutation(x: list[list[float]], y: list[list[float]], draws: int) -> float:
    """Whole prompts relabelled one draw at a time, means of Python lists."""
    pooled = x + y
    observed = np.mean([v for p in x for v in p]) - np.mean([v for p in y for v in p])
    count = 0
    for _ in range(draws):
        random.shuffle(pooled)
        first = [v for p in pooled[: len(x)] for v in p]
        second = [v for p in pooled[len(x) :] for v in p]
        if abs(np.mean(first) - np.mean(second)) >= abs(observed):
            count += 1
    return (1 + count) / (1 + draws)


def loop_bootstrap(x: list[list[float]], y: list[list[float]], draws: int) -> list[float]:
    found = []
    for _ in range(draws):
        sides = []
        for side in (x, y):
            picked = random.choices(side, k=len(side))
            sides.append(np.mean([v for p in picked for v in random.choices(p, k=len(p))]))
        found.append(sides[0] - sides[1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    draws = options.draws
    rng = np.random.default_rng(0)
    x, y = sample(rng, 0.25), sample(rng, 0.0)
    values, in_x = np.concatenate([x, y]), np.arange(len(x) + len(y)) < len(x)
    prompts = np.repeat(np.arange(2 * PROMPTS), IMAGES)
    x_means, y_means = (side.reshape(PROMPTS, IMAGES).mean(axis=1) for side in (x, y))

    def difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
        return a.mean(axis=axis) - b.mean(axis=axis)

    def ours_permutation(clusters: np.ndarray | None) -> object:
        return two_sample_permutation(
            values, in_x, clusters, n_draws=draws, rng=np.random.default_rng(1)
        )["mean_difference"]

    def scipy_permutation(a: np.ndarray, b: np.ndarray) -> object:
        return scipy_stats.permutation_test(
            (a, b),
            difference,
            n_resamples=draws,
            vectorized=True,
            alternative="two-sided",
            batch=5000,
            rng=np.random.default_rng(2),
        )

    def ours_bootstrap(c_x: np.ndarray | None, c_y: np.ndarray | None) -> object:
        return two_sample_bootstrap(x, y, c_x, c_y, n_draws=draws, rng=np.random.default_rng(3))[
            "mean_difference"
        ]

    def scipy_bootstrap() -> object:
        return scipy_stats.bootstrap(
            (x, y),
            difference,
            n_resamples=draws,
            vectorized=True,
            method="percentile",
            batch=5000,
            rng=np.random.default_rng(4),
        )

    few = max(200, draws // 50)
    x_lists, y_lists = (side.reshape(PROMPTS, IMAGES).tolist() for side in (x, y))
    half = np.repeat(np.arange(PROMPTS), IMAGES)
    runs = {
        "permutation of prompts": (
            best(lambda: ours_permutation(prompts)),
            best(lambda: scipy_permutation(x_means, y_means)),
            best(lambda: loop_permutation(x_lists, y_lists, few), 1),
        ),
        "permutation of images": (
            best(lambda: ours_permutation(None)),
            best(lambda: scipy_permutation(x, y)),
            None,
        ),
        "two-level bootstrap": (
            best(lambda: ours_bootstrap(half, half)),
            best(scipy_bootstrap),
            best(lambda: loop_bootstrap(x_lists, y_lists, few), 1),
        ),
        "bootstrap of images": (
            best(lambda: ours_bootstrap(None, None)),
            best(scipy_bootstrap),
            None,
        ),
    }
    record = {}
    for name, (ours, peer, loop) in runs.items():
        slow = loop.seconds * draws / few if loop else None
        record[name] = {
            "ours_s": ours.seconds,
            "scipy_s": peer.seconds,
            "loop_s": slow,
            "scipy_over_ours": peer.seconds / ours.seconds,
            "loop_over_ours": slow / ours.seconds if slow else None,
        }
    rows = [[name, *found.values()] for name, found in record.items()]
    heads = ["t2ibench s", "scipy s", "loop s", "scipy / ours", "loop / ours"]
    headers = [f"{draws:,} draws", *heads]
    print(tabulate(rows, headers=headers, floatfmt=".2f", missingval="–"))
    for name, clusters in (("prompts", prompts), ("images", None)):
        ours_p = ours_permutation(clusters).p
        pair = (x_means, y_means) if clusters is not None else (x, y)
        scipy_p = scipy_permutation(*pair).pvalue
        error = 4 * np.sqrt(2 * max(ours_p, 1e-4) / draws)
        assert abs(ours_p - scipy_p) <= error, (name, ours_p, scipy_p)
        print(f"p, {name} moved: t2ibench {ours_p:.5f}, scipy {scipy_p:.5f}")
    write(options.json, record)


if __name__ == "__main__":
    main()
