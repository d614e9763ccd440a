"""How long the site takes for 200 models and 30 tasks, to build and to open.

    python benchmarks/leaderboard.py

The peer is writing the same numbers with csv alone: what no site can be faster than.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from timing import browsing, timed

from t2ibench.apps.leaderboard import downloads, site
from t2ibench.apps.leaderboard.board import read_board
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.apps.leaderboard.table import Entry
from t2ibench.apps.leaderboard.verify import Verdict
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence
from t2ibench.results.paired import PairedTask, dump_paired
from t2ibench.results.schema import (
    GeneratorInfo,
    Headline,
    Results,
    TaskResult,
    TaskSettings,
)
from t2ibench.tasks.index import build_index

MODELS, TASKS = 200, 30


def influences(
    tasks: Mapping[str, TaskResult], rng: np.random.Generator
) -> dict[str, PairedTask]:
    """One influence a headline, of a hundred images."""
    found = {}
    for name, task in tasks.items():
        influence = Influence.of_mean(name, np.arange(100), rng.normal(0, 0.5, 100))
        part = Part("", float(task.headline.value or 0), influence)
        found[name] = PairedTask("lean", "fixed_prompts", (part,), {})
    return found


def entry(number: int, rng: np.random.Generator) -> Entry:
    settings = TaskSettings(
        images_per_prompt=None, limit=None, seed=0, n_permutations=100_000, n_bootstrap=10_000,
        level=0.95, encoders={"e": "0" * 64},
    )  # fmt: skip
    tasks = {}
    for name, shipped in list(build_index()[0].tasks.items())[:TASKS]:
        family = shipped.spec.method
        value = float(rng.random())
        head = Headline(
            value=value,
            ci_low=max(0, value - 0.1),
            ci_high=min(1, value + 0.1),
            scale="lean",
            square=value**2 - 0.0025,
            fair_low=-0.1,
            fair_high=0.1,
            question="fixed_prompts",
            p_holm=0.01,
        )
        tasks[name] = TaskResult(
            version=1, method=family, task_hash=shipped.hash, family=family, title="t",
            headline=head, n_images=100, settings=settings,
        )  # fmt: skip
    model = GeneratorInfo(name=f"model {number}", fingerprint=f"{number:064x}")
    results = Results(
        t2ibench="0",
        model=model,
        command=["x"],
        environment={},
        limited=False,
        tasks=tasks,
    )
    manifest = Manifest(
        t2ibench="0", name=f"model {number}", model="m", fingerprint=f"{number:064x}", encoders={},
        files={},
    )  # fmt: skip
    return Entry(f"model-{number}", manifest, results, "recomputed", [])


def main() -> None:
    rng = np.random.default_rng(0)
    entries = [entry(number, rng) for number in range(MODELS)]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "submissions"
        for one in entries:
            folder = root / one.id
            folder.mkdir(parents=True)
            (folder / "submission.json").write_text(one.manifest.model_dump_json())
            (folder / "results.json").write_text(one.results.to_json())
            (folder / "influences.safetensors").write_bytes(
                dump_paired(influences(one.results.tasks, rng))
            )
        # Verifying is not timed.
        read, _, board = timed(
            lambda: read_board(root, lambda _: Verdict("recomputed"))
        )
        built = timed(lambda: site.build(board, Path(name))).seconds
        peer = timed(lambda: downloads.results_csv(board.entries)).seconds
        print(
            f"build: {read + built:.1f} s, of which {read:.1f} s reading {MODELS} submissions"
        )
        print(f"{built / peer:.1f} times a bare CSV of the same numbers ({peer:.2f} s)")
        size = (Path(name) / "index.html").stat().st_size
        with browsing() as page:
            page.goto("about:blank")

            def opened() -> None:
                page.goto((Path(name) / "index.html").as_uri())
                page.wait_for_selector("body[data-ready=yes]")

            print(f"open: {timed(opened).seconds:.2f} s ({size / 1e6:.2f} MB)")


if __name__ == "__main__":
    main()
