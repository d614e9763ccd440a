"""Encoders through the code that real weights take."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders import create_encoder
from t2ibench.models.protocols import Encoder, HasUntrained
from tests.models import tiny
from tests.models.parts import refused

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

TEXTS = ["a photo of a nurse", "a rose", "x" * 500]


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("encoders")
    architecture, weights = tiny.open_clip_model(root / "open_clip")
    return {
        "open_clip": f"open_clip:{architecture}/{weights}",
        "clip": f"clip:{tiny.clip_model(root / 'clip')}",
        "toyland": "toyland",
    }


def embed(encoder: Encoder, count: int = 5) -> np.ndarray:
    return encoder.encode_images([encoder.prepare(one) for one in tiny.images(count)])


@pytest.mark.parametrize("name", ["open_clip", "clip", "toyland"])
def test_no_bit_of_a_row_depends_on_the_batch(name: str, specs: dict[str, str]) -> None:
    """What else an encoder must do, test_contract.py says."""
    encoder = create_encoder(specs[name], device="cpu")
    images, texts = embed(encoder), encoder.encode_texts(TEXTS)
    assert not np.allclose(texts[0], texts[1])
    prepared = [encoder.prepare(one) for one in tiny.images(5)]
    singly = np.concatenate([encoder.encode_images([one]) for one in prepared])
    assert np.array_equal(singly, images)
    one_by_one = np.concatenate([encoder.encode_texts([text]) for text in TEXTS])
    assert np.array_equal(one_by_one, texts)


@pytest.mark.parametrize("name", ["open_clip", "clip", "toy-clip"])
def test_an_untrained_encoder_has_seeded_random_weights(
    name: str, specs: dict[str, str]
) -> None:
    import torch

    spec = specs.get(name, name)
    encoder = create_encoder(spec, device="cpu")
    assert isinstance(encoder, HasUntrained)
    images, texts = embed(encoder), encoder.encode_texts(TEXTS)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    twin = encoder.untrained()
    blind = embed(twin)
    # the caller's random numbers are left alone
    assert torch.equal(torch.rand(3), expected)
    again = create_encoder(spec, device="cpu").untrained()
    assert twin.name == again.name == f"random:{spec}"
    assert np.array_equal(blind, embed(again))
    assert np.array_equal(twin.encode_texts(TEXTS), again.encode_texts(TEXTS))
    # The encoder itself stays as it is.
    assert np.array_equal(embed(encoder), images)
    assert np.array_equal(encoder.encode_texts(TEXTS), texts)
    assert encoder.name == spec


def test_the_clip_encoder_gives_transformers_own_features(
    specs: dict[str, str],
) -> None:
    import torch
    from transformers import AutoTokenizer, CLIPModel

    folder = specs["clip"].removeprefix("clip:")
    model = CLIPModel.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(
        TEXTS[:2], padding=True, return_tensors="pt"
    )
    with torch.inference_mode():
        pooled = model.text_model(**tokens).pooler_output
        expected = model.text_projection(pooled).numpy()
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(
        create_encoder(specs["clip"]).encode_texts(TEXTS[:2]), expected, atol=1e-4
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("toylandd", "Unknown encoder 'toylandd'. Did you mean 'toyland'?"),
        ("openclip:ViT-B-32/openai", "Did you mean 'open_clip:'?"),
        ("open_clip:ViT-B-23/openai", "Did you mean 'ViT-B-32'?"),
        ("open_clip:ViT-B-32/opnai", "Did you mean 'openai'?"),
        ("open_clip:ViT-B-32/x/y.safetensors", "No such file"),
        ("clip:./nowhere", "No such folder"),
        ("vectors:nowhere.txt", "No such file"),
        ("vectors:", "Unknown encoder"),
    ],
)
def test_unknown_encoders_get_a_one_line_error(spec: str, message: str) -> None:
    with refused(message):
        create_encoder(spec)


def test_pickles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"x")
    with pytest.raises(T2IBenchError, match="not a safetensors file"):
        create_encoder(f"open_clip:ViT-B-32/{tmp_path / 'weights.pt'}")


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match="could not load"):
        create_encoder(f"clip:{tmp_path}")


VECTORS = "Rose 1 0 0\nant 0 2 0\nrose 0 0 1\nhead_nurse 3 4 0\nrose 9 9 9\n"


@pytest.mark.parametrize("header", ["", "5 3\n"])
def test_word_vectors(tmp_path: Path, header: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(header + VECTORS)
    encoder = create_encoder(f"vectors:{path}")
    rows = encoder.encode_texts(["rose", "Rose", "ant", "head nurse", "zebra"])
    assert rows[0].tolist() == [0, 0, 1]  # case counts, the first line of a word counts
    assert rows[1].tolist() == [1, 0, 0]
    assert rows[2].tolist() == [0, 1, 0]
    assert np.allclose(rows[3], [0.6, 0.8, 0])
    assert np.isnan(rows[4]).all()
    assert not encoder.embeds_images
    with pytest.raises(T2IBenchError, match="cannot embed images"):
        encoder.prepare(None)


def test_gzipped_word_vectors(tmp_path: Path) -> None:
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(VECTORS.encode()))
    assert np.isfinite(create_encoder(f"vectors:{path}").encode_texts(["ant"])).all()
