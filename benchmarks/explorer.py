"""How fast the explorer opens and answers over 10,000 images, and how smoothly its page scrolls.

    python benchmarks/explorer.py

The answer is compared with scipy's ks_2samp on the same similarities, in the same run. Opening and
scrolling need a Chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy import stats as scipy_stats
from timing import best, browsing

from t2ibench.apps.explorer.album import Picture, Source
from t2ibench.apps.explorer.collection import Collection
from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.identity import ImageKey
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore

N, DIM = 10_000, 768
SCROLL = """async grid => {
  const frames = [];
  let last = await new Promise(requestAnimationFrame);
  for (let at = 0; at < 300; at += 1) {
    grid.scrollTop += 400;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return [Math.max(...frames), frames.reduce((a, b) => a + b) / frames.length];
}"""


class Instant:
    """An encoder whose texts cost nothing: what is measured is all the rest."""

    name, fingerprint, embeds_images, batch_size = "instant", "0" * 64, True, 64

    def encode_texts(self, texts: Sequence[str]) -> Any:
        rows = np.stack([np.random.default_rng(len(t)).normal(size=DIM) for t in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def collection(folder: Path) -> Collection:
    rng = np.random.default_rng(0)
    store = EvidenceStore(Database(folder), "instant", "0" * 64)
    rows = rng.normal(size=(N, DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    keys = [f"{number:064x}" for number in range(N)]
    store.add("images", keys, rows)
    pictures = [
        Picture(
            folder, key, ImageKey.of("a woman" if number % 2 else "a man", number), 0
        )
        for number, key in enumerate(keys)
    ]
    return Collection(
        [Source("bench", folder, None, None, store.database)], Instant(), pictures
    )


def scipy_answer(values: Any, first: Any) -> float:
    return float(scipy_stats.ks_2samp(values[first], values[~first]).statistic)


def in_browser(folder: Path) -> tuple[float, float, float]:
    """Seconds until the first page shows images; longest and mean frame, ms, of scrolling."""
    pictures = folder / "pictures"
    rng = np.random.default_rng(1)
    for name in ("a man", "a woman"):
        (pictures / name).mkdir(parents=True)
    for number in range(N):
        pixels = np.tile(rng.integers(0, 256, (1, 1, 3), dtype=np.uint8), (64, 64, 1))
        name = "a woman" if number % 2 else "a man"
        Image.fromarray(pixels).save(pictures / name / f"{number:05d}.png")
    command = [
        sys.executable,
        "-m",
        "t2ibench",
        "explore",
        str(pictures),
        "--encoder",
        "toyland",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2]
        with browsing(viewport={"width": 1500, "height": 950}) as page:
            start = time.perf_counter()
            page.goto(address, wait_until="commit")
            page.wait_for_selector("#grid .tile img")
            opened = time.perf_counter() - start
            page.goto(f"{address}words")
            page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
            longest, mean = page.locator("#grid").evaluate(SCROLL)
        server.terminate()
    return opened, float(longest), float(mean)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = collection(folder / "evidence")
        reference = [f"word {number}" for number in range(2000)]
        asked = Question(["nurse"], ["a woman", "a man"], reference)
        found.texts(["nurse", *reference])

        def ask() -> Any:
            for scene in found.gallery.cache.values():
                scene.texts.clear()  # a text that was asked before costs nothing
            return score_texts(found, asked)

        ours = best(ask, 20).seconds
        plot = best(lambda: similarities(found, ["nurse"]), 20).seconds
        (values,) = similarities(found, ["nurse"])
        first = np.array([one.prompt == "a woman" for one in found.gallery.pictures])
        peer = plot + best(lambda: scipy_answer(values, first), 20).seconds
        ((score,),) = ask()
        assert score is not None
        assert (
            abs(score["kolmogorov_smirnov_distance"] - scipy_answer(values, first))
            < 1e-9
        )
        print(
            f"answer over {N:,} images: {1000 * ours:.1f} ms; similarities alone: {1000 * plot:.1f}"
        )
        print(
            f"scipy on the same similarities: {1000 * peer:.1f} ms, ratio {peer / ours:.2f}"
        )
        opened, longest, mean = in_browser(folder)
        print(f"first page of {N:,} images: {opened:.1f} s")
        print(
            f"scrolling {N:,} thumbnails: longest frame {longest:.0f} ms, mean {mean:.0f} ms"
        )


if __name__ == "__main__":
    main()
