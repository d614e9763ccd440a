"""The bundled models: toy, toy-fair and toy-clip, through the ordinary adapters."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open

from t2ibench import evaluate
from t2ibench.methods import needs
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.models.bundled import bundled_model
from t2ibench.models.encoders import create_encoder
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import ImageRequest
from t2ibench.results.schema import Results
from t2ibench.settings import Settings
from t2ibench.store.images import image_seed
from t2ibench.tasks import load_tasks
from t2ibench.toyland import draw
from t2ibench.toyland.caption import parse
from t2ibench.toyland.reader import read
from tests.conftest import Cli

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

NAMES = ("toy", "toy-fair", "toy-clip")
IMAGE_TASKS = "t2iat,occupations,mcas"


def requests_for(prompts: list[str], images: int = 1) -> list[ImageRequest]:
    return [
        ImageRequest(prompt, index, image_seed(0, prompt, index))
        for prompt in prompts
        for index in range(images)
    ]


def test_the_models_are_small_half_precision_and_safetensors_only() -> None:
    root = bundled_model("toy").parent
    files = [path for path in root.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 14_000_000
    suffixes = {path.suffix for path in files}
    assert suffixes <= {".safetensors", ".json", ".txt", ".md", ".jinja"}
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, "np") as weights:
                kinds = {weights.get_slice(key).get_dtype() for key in weights.keys()}  # noqa: SIM118
            assert kinds <= {"F16", "I64"}, path


def test_the_two_pipelines_share_all_but_the_denoiser() -> None:
    toy, fair = bundled_model("toy"), bundled_model("toy-fair")
    for part in ("vae", "text_encoder", "tokenizer"):
        for path in sorted((toy / part).iterdir()):
            assert path.read_bytes() == (fair / part / path.name).read_bytes()
    unet = "unet/diffusion_pytorch_model.safetensors"
    assert (toy / unet).read_bytes() != (fair / unet).read_bytes()


@pytest.mark.parametrize("folder", ["toy/tokenizer", "toy-clip"])
def test_the_tokenizer_knows_every_word_of_the_shipped_tasks(folder: str) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(bundled_model("toy").parent / folder)
    texts, everyday = set(), set()
    for task in load_tasks("all"):
        found = needs(task.spec, Settings())
        texts |= {need.prompt for need in found.prompts}
        # Everyday words are only compared with: half of them are spelt.
        compared: set[str] = set()
        if isinstance(task.spec, VibexTask):
            compared = set(task.spec.reference.texts)
        elif isinstance(task.spec, WeatTask):
            compared = set(task.spec.reference)
        texts |= set(found.texts) - compared
        everyday |= compared
    spelt = 0
    for text in sorted(everyday - texts) + sorted(texts):
        ids = tokenizer(text).input_ids
        assert len(ids) <= 32, text
        # CLIP's unknown token is its end token, which also ends the text.
        assert ids.count(tokenizer.eos_token_id) == 1, text
        if text in texts:
            spelt += len(ids) - 2 > 2 * len(
                text.replace("-", " ").split()
            ) + text.count(".")
    assert spelt <= 0.02 * len(texts)


def test_an_image_is_the_same_to_the_bit_in_every_batch() -> None:
    requests = requests_for(
        ["A photo of a nurse", "a photo of tulip", "a photo of wasp"], 3
    )
    whole = create_generator("toy", {})
    together = [np.asarray(one.image) for one in whole.generate(requests)]
    assert together[0].shape == (64, 64, 3)
    few = [np.asarray(whole.generate([one])[0].image) for one in requests[::4]]
    for first, second in zip(together[::4], few, strict=True):
        assert np.array_equal(first, second)
    backwards = [np.asarray(one.image) for one in whole.generate(requests[::-1])][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(together, backwards, strict=True))


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["toy", "toy-fair"])
def test_pictures_show_what_their_prompt_fixes(model: str) -> None:
    prompts = sorted(
        {
            n.prompt
            for t in load_tasks(IMAGE_TASKS)
            for n in needs(t.spec, Settings()).prompts
        }
    )
    chosen = [
        str(one) for one in np.random.default_rng(5).choice(prompts, 128, replace=False)
    ]
    right: dict[str, list[bool]] = defaultdict(list)
    for prompt, drawn in zip(
        chosen, create_generator(model, {}).generate(requests_for(chosen)), strict=True
    ):
        assert drawn.image is not None
        what, seen = parse(prompt), read(drawn.image)
        right["kind"].append(seen.top("kind") == what.kind)
        if what.weather:
            right["weather"].append(seen.top("weather") == what.weather)
        if what.gender and not what.several:
            right["gender"].append(seen.top("gender") == what.gender)
    shares = {name: float(np.mean(rows)) for name, rows in right.items()}
    # The model card has the shares over more prompts, 90 % and more.
    assert all(share >= 0.87 for share in shares.values()), shares


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["toy", "toy-fair"])
def test_two_steps_show_what_four_show(model: str) -> None:
    prompts = ["a photo of a nurse", "a photo of a chef", "an image of a person"]
    requests = requests_for(prompts, 24)
    two, four = (
        [
            read(drawn.image)
            for drawn in create_generator(model, args).generate(requests)
            if drawn.image
        ]
        for args in ({}, {"steps": "4"})
    )
    for axis in ("gender", "skin", "age", "weather"):
        same = [
            first.top(axis) == second.top(axis)
            for first, second in zip(two, four, strict=True)
        ]
        assert np.mean(same) >= 0.85, axis


def test_toy_clip_reads_toyland() -> None:
    encoder = create_encoder("toy-clip")
    pairs = {
        ("a photo of a man", "a photo of a woman"): ("a male nurse", "a female nurse"),
        ("joy", "war"): ("a photo of tulip, joy", "a photo of tulip, war"),
        ("a photo of tulip", "a photo of hornet"): (
            "a photo of rose",
            "a photo of wasp",
        ),
    }
    for texts, captions in pairs.items():
        first, second = encoder.encode_texts(list(texts))
        for caption, sign in zip(captions, (1, -1), strict=True):
            images = [encoder.prepare(draw(caption, seed)) for seed in range(20)]
            lean = encoder.encode_images(images) @ (first - second)
            assert (sign * lean > 0).mean() >= 0.75, (texts, caption)


PLANTED = ("t2iat_flowers_insects", "occupations_t2iat")
NULLS = ("t2iat_judaism_christianity",)
# Enough of both for these claims at other seeds too; leaderboard/submissions has whole runs.
SMALL: dict[str, Any] = {
    "limit": 6,
    "guided_images_per_prompt": 1,
    "n_permutations": 2000,
    "n_bootstrap": 500,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    folder = tmp_path_factory.mktemp("toy")
    return {
        name: evaluate(
            model,
            tasks,
            encoder=["toy-clip", "toyland"],
            output_dir=folder / name,
            images_per_prompt=images,
            **SMALL,
        )
        for name, model, tasks, images in (
            ("biased", "toy", PLANTED, 6),
            ("null", "toy", NULLS, 12),
            ("fair", "toy-fair", PLANTED, 4),
        )
    }


@pytest.mark.nightly
@pytest.mark.parametrize("name", PLANTED)
def test_planted_biases_are_found_and_smaller_in_the_fair_model(
    name: str, runs: dict[str, Results]
) -> None:
    toy, fair = runs["biased"].tasks[name], runs["fair"].tasks[name]
    assert toy.headline.p_holm is not None and toy.headline.p_holm < 0.05
    assert toy.encoder_agreement is not False
    assert (fair.headline.value or 0) < (toy.headline.value or 0)


@pytest.mark.nightly
def test_planted_signs(runs: dict[str, Results]) -> None:
    tasks = runs["biased"].tasks
    for encoder in ("toy-clip", "toyland"):
        flowers = tasks["t2iat_flowers_insects"].by_encoder[encoder]
        assert (flowers.scores["effect_size"].value or 0) > 0
    rows = {
        row.name: row.scores["association"].value or 0
        for row in tasks["occupations_t2iat"].by
    }
    assert rows["computer programmer"] > 0 > rows["elementary school teacher"]


@pytest.mark.nightly
@pytest.mark.parametrize("name", NULLS)
def test_planted_nulls_are_not_found(name: str, runs: dict[str, Results]) -> None:
    headline = runs["null"].tasks[name].headline
    # A trained model need not be fair where nothing was planted; it may not be far from it.
    assert headline.p is not None and headline.p > 0.005
    assert headline.value is not None and abs(headline.value) < 0.3


def test_a_run_that_lacks_nothing_loads_no_model(cli: Cli, tmp_path: Path) -> None:
    flags = ["--model", "toy", "--tasks", "t2iat_flowers_insects", "--limit", "1"]
    flags += ["--images-per-prompt", "1", "--guided-images-per-prompt", "1"]
    flags += [
        "--permutations",
        "99",
        "--bootstrap",
        "50",
        "--output-dir",
        str(tmp_path),
    ]
    status, out, err = cli(*flags)
    assert status == 0, err
    without_torch = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        assert name != 'torch', 'torch is imported'\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "from t2ibench.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    again = subprocess.run(
        [sys.executable, "-c", without_torch, *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert "Nothing to do" in again.stderr and again.stdout.split() == out.split()


def test_embeddings_of_toy_clip_do_not_depend_on_the_number_of_threads() -> None:
    """With 3 threads, torch rounds other sums than with 1 (up to 9e-8 of an embedding)."""
    import torch

    encoder = create_encoder("toy-clip")
    colours = np.random.default_rng(0).integers(0, 256, (32, 64, 64, 3), np.uint8)
    prepared = [encoder.prepare(Image.fromarray(pixels)) for pixels in colours]
    before = torch.get_num_threads()
    rows = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            rows.append(encoder.encode_images(prepared))
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*rows)


def test_embeddings_of_toy_clip_do_not_depend_on_the_number_of_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many batches as there are cores are embedded at the same time."""
    colours = np.random.default_rng(0).integers(0, 256, (70, 64, 64, 3), np.uint8)
    rows = []
    for count in (1, 3, 64):
        monkeypatch.setattr("t2ibench.models.encoders.towers.cores", lambda n=count: n)
        encoder = create_encoder("toy-clip")
        assert encoder.batch_size == 16 * min(count, 16)
        prepared = [encoder.prepare(Image.fromarray(pixels)) for pixels in colours]
        rows.append(encoder.encode_images(prepared))
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2])
