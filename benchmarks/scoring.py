"""How long scoring takes, and what it needs, as runs grow; beside a plain loop and scipy.

    python benchmarks/scoring.py [--images 1000 10000 100000] [--width 768] [--folder DIR]
                                 [--tasks 15] [--workers N] [--json FILE]

Made-up evidence goes through the real stores (records of images, parts of embeddings with their
checksums), and the fifteen association tasks (T2IAT, occupations, MCAS without its union) through
the functions that a run calls. No image file is written: scores need none.

The peers do a part of the same work on the same embeddings. The loop is that of the association
papers' code: cosines of one image after the other, then one relabelling after the other; it is
timed on few relabellings and scaled to 100,000. scipy gets the associations ready made, and does
one permutation test of prompt means and one bootstrap of image values a T2IAT task; of what a task
reports (a dozen scores, controls, leans, influences) that is a small part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import resource
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats as scipy_stats
from tabulate import tabulate
from timing import timed
from timing import write as write_json

from t2ibench.machine import cores
from t2ibench.methods.core.association import association
from t2ibench.pipeline.plan import Plan, make_plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.scoring import score_plan, scoring_processes
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.stores import Stores
from t2ibench.settings import Settings
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt, ImageStore, file_key
from t2ibench.tasks.index import load_tasks

TASKS = [
    "t2iat",
    "occupations",
    "mcas_objects",
    "mcas_occupations",
    "mcas_scenes",
    "mcas_sports",
]
GENERATOR, ENCODER = "f" * 64, "e" * 64
DRAWS, FEW = 100_000, 50


def plan_of(images: int, tasks: int) -> Plan:
    """The plan of the first tasks with about so many images."""
    chosen = load_tasks(TASKS, [], on_left_out=lambda _: None)[:tasks]
    size = len(make_plan(chosen, Settings()).requests)
    return make_plan(chosen, Settings(times=round(max(images / size, 0.1), 4)))


def embedded(text: str, width: int) -> np.ndarray:
    """The sum of a text's words, each a direction of its own: what words share, texts share."""
    total = np.zeros(width, np.float32)
    for word in text.lower().replace(",", "").split():
        seed = int(hashlib.sha256(word.encode()).hexdigest()[:8], 16)
        total += np.random.default_rng(seed).standard_normal(width, dtype=np.float32)
    return total / np.linalg.norm(total)


def write(root: Path, plan: Plan, width: int) -> None:
    """The evidence of a complete run."""
    images = ImageStore(Database(root), GENERATOR)
    store = EvidenceStore(Database(root), "made-up", ENCODER)
    rng, means = np.random.default_rng(0), {p: embedded(p, width) for p in plan.prompts}
    for number in range(plan.n_shards):
        attempts = []
        for one in plan.shard(number):
            key = file_key(GENERATOR, one.key)
            file, sha256 = (
                f"{key[:2]}/{key}.png",
                hashlib.sha256(key.encode()).hexdigest(),
            )
            attempts.append(Attempt(one.key, one.seed, "ok", file=file, sha256=sha256))
        rows = rng.standard_normal((len(attempts), width), dtype=np.float32) * (
            0.5 / width**0.5
        )
        rows += np.array([means[one.prompt] for one in attempts])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        images.record(attempts)
        store.add("images", [one.sha256 or "" for one in attempts], rows)
    if plan.texts:
        rows = np.array([embedded(text, width) for text in plan.texts])
        store.add("texts", [text_key(text) for text in plan.texts], rows)


def memory() -> int:
    """MiB that this process and its largest child held at most."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(one).ru_maxrss for one in who) // 1024


def processor() -> float:
    """Seconds of processor time of this process and its children."""
    used = [
        resource.getrusage(one)
        for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(root: Path, images: int, tasks: int, workers: int | None) -> dict[str, Any]:
    """Every step of `t2ibench score`, in a process of its own."""
    plan_s, _, plan = timed(lambda: plan_of(images, tasks))
    with scoring_processes(plan, workers):
        records_s, _, store = timed(lambda: ImageStore(Database(root), GENERATOR))
        parts_s, _, rows = timed(
            lambda: EvidenceStore(Database(root), "made-up", ENCODER)
        )

        def lacking() -> int:
            found = [store.get(one.key) for one in plan.requests]
            return len(
                rows.missing(
                    "images", [one.sha256 for one in found if one and one.sha256]
                )
            )

        check_s, _, missing = timed(lacking)
        stores = Stores({"made-up": rows}, {})
        before = processor()  # what other processes did before belongs to scoring, too
        score_s, _, scored = timed(
            lambda: score_plan(plan, store, stores, SilentReporter(), workers)
        )
    assert (
        not missing
        and len(scored) == tasks
        and not any(one.incomplete for one in scored.values())
    )
    return {
        "images": len(plan.requests), "tasks": tasks, "workers": workers or cores(),
        "plan": plan_s, "open records": records_s, "open embeddings": parts_s,
        "look up": check_s, "score": score_s, "processor": processor() - before,
        "MiB": memory(),
        "headlines": {name: one.result.headline.value for name, one in scored.items()},
    }  # fmt: skip


def associations(
    root: Path, images: int
) -> list[tuple[list[np.ndarray], list[np.ndarray], Any]]:
    """Of each T2IAT task: the neutral images of X and of Y by prompt, and A's and B's images."""
    plan = plan_of(images, 15)
    store = ImageStore(Database(root), GENERATOR)
    rows = EvidenceStore(Database(root), "made-up", ENCODER)
    evidence = StoredEvidence(DistinctImages(store), rows)
    found = []
    for task in plan.tasks:
        if task.spec.method == "t2iat":
            counts = plan.needs[task.id].images_by_prompt
            by_size = sorted(counts, key=lambda prompt: (-counts[prompt], prompt))
            neutral = [p for p in by_size if counts[p] == counts[by_size[0]]]
            guided = [p for p in by_size if counts[p] != counts[by_size[0]]] or neutral
            loaded = [evidence.images(p, counts[p]).embeddings for p in neutral]
            marked = np.concatenate(
                [evidence.images(p, counts[p]).embeddings for p in guided]
            )
            half = len(loaded) // 2
            found.append((loaded[:half], loaded[half:], (marked[::2], marked[1::2])))
    return found


def by_loop(root: Path, images: int) -> float:
    """The papers' loop over the T2IAT tasks, seconds for 100,000 relabellings each."""
    total = 0.0
    for x, y, (a, b) in associations(root, images):

        def one_image(image: np.ndarray, a: np.ndarray = a, b: np.ndarray = b) -> float:
            cosines = [np.mean([image @ other for other in side]) for side in (a, b)]
            return float(cosines[0] - cosines[1])

        sample = x[0][:20]
        seconds, *_ = timed(
            lambda sample=sample: [one_image(image) for image in sample]
        )
        count = sum(map(len, (*x, *y)))
        total += seconds / len(sample) * count
        values = np.random.default_rng(0).normal(size=count)
        cut, rng = sum(map(len, x)), np.random.default_rng(1)

        def relabelled(
            values: np.ndarray = values, cut: int = cut, rng: Any = rng
        ) -> float:
            order = rng.permutation(len(values))
            left, right = values[order[:cut]], values[order[cut:]]
            return float(
                (left.mean() - right.mean()) / np.concatenate([left, right]).std(ddof=1)
            )

        seconds, *_ = timed(lambda call=relabelled: [call() for _ in range(FEW)])
        total += seconds / FEW * DRAWS
    return total


def by_scipy(root: Path, images: int) -> float:
    """scipy's permutation test and bootstrap of the T2IAT tasks, scaled from fewer draws."""
    total = 0.0

    def difference(left: np.ndarray, right: np.ndarray, axis: int) -> np.ndarray:
        return left.mean(axis=axis) - right.mean(axis=axis)

    for x, y, (a, b) in associations(root, images):
        sides = [[association(part, a, b) for part in side] for side in (x, y)]
        means = [np.array([part.mean() for part in side]) for side in sides]
        values = [np.concatenate(side) for side in sides]
        for few, draws, call in (
            (
                2_000,
                DRAWS,
                partial(scipy_stats.permutation_test, means, difference, batch=500),
            ),
            (
                100,
                10_000,
                partial(
                    scipy_stats.bootstrap,
                    values,
                    difference,
                    batch=20,
                    method="percentile",
                ),
            ),
        ):
            resampled = partial(call, n_resamples=few, vectorized=True)
            total += timed(resampled).seconds / few * draws
    return total


def apart(call: Callable[..., Any], *args: Any) -> Any:
    """The result of a call in a process of its own, whose peak of memory is its own, too."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(call, *args).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--images", type=int, nargs="+", default=[1_000, 10_000, 100_000]
    )
    parser.add_argument("--tasks", type=int, nargs="+", default=[15])
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument(
        "--folder", type=Path, help="keeps the evidence for another run"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    rows = []
    for images in options.images:
        for tasks in options.tasks:
            root = folder / f"{images}-{tasks}-{options.width}"
            if not root.exists():
                write(root, plan_of(images, tasks), options.width)
            row = apart(measure, root, images, tasks, options.workers)
            if not options.no_peers and tasks == 15:
                row["loop"], row["scipy"] = (
                    by_loop(root, images),
                    by_scipy(root, images),
                )
            rows.append(row)
            print(
                json.dumps({k: v for k, v in row.items() if k != "headlines"}),
                flush=True,
            )
    names = (
        "images", "tasks", "workers", "plan", "open records", "open embeddings", "look up",
        "score", "processor", "MiB",
    )  # fmt: skip
    table = [
        [row[name] for name in names]
        + [
            row[name] / row["score"] if name in row else None
            for name in ("loop", "scipy")
        ]
        for row in rows
    ]
    heads = [*names, "loop / ours", "scipy / ours"]
    print(tabulate(table, heads, floatfmt=".2f", tablefmt="github"))
    write_json(options.json, rows)
    if options.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
