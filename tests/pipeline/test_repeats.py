"""Images that show one picture count once: equal files, equal pixels, and re-encodings."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench import evaluate, score
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.methods.core.diversity import diversity_of
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.results.repeated_prompts import RepeatedPrompt, too_few
from t2ibench.store.pixels import looks_like_one, perceptual_hash

SMALL: dict[str, Any] = {
    "tasks": "t2iat_flowers_insects", "encoder": "toyland", "limit": 4, "n_permutations": 200,
    "n_bootstrap": 100, "name": "m",
}  # fmt: skip


class Forgetful(ToylandGenerator):
    """Toyland behind a server that ignores most seeds, and writes some images as JPEG."""

    def __init__(self, distinct: int = 3) -> None:
        super().__init__({})
        self.name = "forgetful"
        self._folder, self._distinct = Path(tempfile.mkdtemp()), distinct
        self._first: dict[tuple[str, int], int] = {}

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [self._image(request) for request in requests]

    def _image(self, request: ImageRequest) -> GeneratedImage:
        which = request.prompt, request.index % self._distinct
        seed = self._first.setdefault(which, request.seed)
        (drawn,) = super().generate([replace(request, seed=seed)])
        if request.index < 2 * self._distinct:
            return drawn
        path = self._folder / f"{len(list(self._folder.iterdir()))}.jpg"
        drawn.image.save(path, quality=90 + request.index)
        return GeneratedImage("ok", path=path)


def test_a_submission_has_what_tells_its_repeats(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="seems to ignore seeds"):
        made = evaluate(
            f"{__name__}:Forgetful", "occupations_t2iat,openbias_examples",
            encoder="toyland", judge="toyland", images_per_prompt=8, output_dir=tmp_path,
        )  # fmt: skip
    packed = pack(made.folder, tmp_path / "submissions", SilentReporter())
    verdict = verify(packed)
    assert (verdict.level, verdict.problems, verdict.tasks) == ("recomputed", [], 2)
    for name, task in read_results(packed).tasks.items():
        assert task.repeated_prompts == made.tasks[name].repeated_prompts
        assert {found.n_distinct for found in task.repeated_prompts} == {3}
        assert task.excluded == made.tasks[name].excluded


def test_half_of_a_group_with_two_images_is_too_few() -> None:
    groups = {
        f"{group} {k}": group
        for group in ("neutral", "male", "female")
        for k in range(8)
    }

    says = "4 of 24 prompts have fewer than 3 distinct images, too few to show how much images vary"
    for n_distinct, n, expected in ((2, 4, says), (2, 3, None), (3, 8, None)):
        counts = {"n_images": 10, "n_distinct": n_distinct}
        repeated = [RepeatedPrompt(prompt=f"neutral {k}", **counts) for k in range(n)]
        assert too_few(repeated, groups) == expected


def test_a_repeated_image_counts_once(tmp_path: Path) -> None:
    few = evaluate("toyland", output_dir=tmp_path / "few", images_per_prompt=2, **SMALL)
    with pytest.warns(UserWarning, match="seems to ignore seeds: 40 of 40 prompts"):
        many = evaluate(
            Forgetful(2), output_dir=tmp_path / "many", images_per_prompt=6, **SMALL
        )
    one, two = few.tasks["t2iat_flowers_insects"], many.tasks["t2iat_flowers_insects"]
    assert two.n_images == one.n_images == 80
    assert two.excluded["repeated"] == 160 and "repeated" not in one.excluded
    assert two.headline.value == one.headline.value
    assert two.headline.fixed_prompts == one.headline.fixed_prompts
    assert {(found.n_images, found.n_distinct) for found in two.repeated_prompts} == {
        (6, 2)
    }
    assert not one.repeated_prompts
    assert two.diversity == one.diversity
    assert "40 of 40 prompts have fewer than 3 distinct images" in str(two.inconclusive)
    assert one.inconclusive is None
    assert "seems to ignore seeds" in (many.folder / "results.md").read_text()
    assert (
        "40 prompts repeat their images." in (many.folder / "report.html").read_text()
    )
    with pytest.warns(UserWarning, match="seems to ignore seeds"):
        assert score(many.folder).tasks == many.tasks


@pytest.mark.parametrize(
    ("side", "kind", "quality"),
    [(64, "JPEG", 90), (300, "JPEG", 60), (300, "WEBP", 80), (600, "JPEG", 75)],
)
def test_a_re_encoded_image_has_nearly_the_same_perceptual_hash(
    side: int, kind: str, quality: int
) -> None:
    requests = [ImageRequest("an old male chef", k, k) for k in range(40)]
    drawn = [one.image for one in ToylandGenerator({}).generate(requests)]
    images = [
        one.resize((side, side), Image.Resampling.LANCZOS) for one in drawn if one
    ]
    rows = np.stack([perceptual_hash(image) for image in images])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    for number, image in enumerate(images):
        others = np.delete(rows, number, axis=0)
        assert not looks_like_one(rows[number], others)
        again = io.BytesIO()
        image.save(again, kind, quality=quality)
        row = perceptual_hash(Image.open(again))
        assert looks_like_one(row, rows[number : number + 1])
        assert not looks_like_one(row, others)


def test_diversity_is_the_mean_over_pairs_and_its_variance_a_jackknife() -> None:
    rows = np.random.default_rng(1).normal(size=(7, 5)) + 1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def by_pairs(some: np.ndarray[Any, Any]) -> float:
        cosines = some @ some.T
        return 1 - float(cosines[~np.eye(len(some), dtype=bool)].mean())

    without = np.array([by_pairs(np.delete(rows, k, axis=0)) for k in range(7)])
    value, variance = diversity_of(rows)
    assert value == pytest.approx(by_pairs(rows))
    assert variance == pytest.approx(6 / 7 * ((without - without.mean()) ** 2).sum())
