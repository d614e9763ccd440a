"""The bundled models: toy, toy-fair and toy-clip, through the ordinary adapters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench import evaluate
from t2ibench.methods import needs
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.models.bundled import bundled_model
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import ImageRequest
from t2ibench.results.schema import Results
from t2ibench.settings import Settings
from t2ibench.store.images import image_seed
from t2ibench.tasks import load_tasks
from tests.conftest import Cli
from tests.models.tiny import draw as draw_all

# Loads torch models; the quick loop goes without.
pytestmark = pytest.mark.slow

IMAGE_TASKS = "t2iat,occupations,mcas"


def requests_for(prompts: list[str], images: int = 1) -> list[ImageRequest]:
    return [
        ImageRequest(prompt, index, image_seed(0, prompt, index))
        for prompt in prompts
        for index in range(images)
    ]


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
            spelt += len(ids) - 2 > 2 * len(text.replace("-", " ").split()) + text.count(".")
    assert spelt <= 0.02 * len(texts)


def test_an_image_is_the_same_to_the_bit_in_every_batch() -> None:
    requests = requests_for(["A photo of a nurse", "a photo of tulip", "a photo of wasp"], 3)
    toy = create_generator("toy", {})
    together = draw_all(toy, requests, len(requests))
    assert together[0].shape == (64, 64, 3)
    assert all(map(np.array_equal, together[::4], draw_all(toy, requests[::4], 1)))
    backwards = draw_all(toy, requests[::-1], len(requests))[::-1]
    assert all(map(np.array_equal, together, backwards))


PLANTED = ("t2iat_flowers_insects", "occupations_t2iat")
NULL = "t2iat_judaism_christianity"
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
            ("null", "toy", NULL, 12),
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
def test_planted_nulls_are_not_found(runs: dict[str, Results]) -> None:
    headline = runs["null"].tasks[NULL].headline
    # A trained model need not be fair where nothing was planted; it may not be far from it.
    assert headline.p is not None and headline.p > 0.005
    assert headline.value is not None and abs(headline.value) < 0.3


def test_a_run_that_lacks_nothing_loads_no_model(cli: Cli, tmp_path: Path) -> None:
    flags = ["--model", "toy", "--tasks", "t2iat_flowers_insects", "--limit", "1"]
    flags += ["--images-per-prompt", "1", "--guided-images-per-prompt", "1"]
    flags += ["--permutations", "99", "--bootstrap", "50", "--output-dir", str(tmp_path)]
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
        [sys.executable, "-c", without_torch, *flags], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert "Nothing to do" in again.stderr and again.stdout.split() == out.split()
