"""`text_of:MODEL`: the text encoders of text-to-image pipelines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders import create_encoder, embeds_images
from t2ibench.models.protocols import HasUntrained
from tests.models import tiny
from tests.models.parts import refused

pytestmark = pytest.mark.networks

TEXTS = ["a nurse", "joy", "a photo of a chef in a kitchen"]


@pytest.fixture(scope="module")
def sd3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.sd3(tmp_path_factory.mktemp("pipelines") / "sd3")


@pytest.mark.slow
def test_clips_text_is_what_the_pipeline_pools(sd3: Path) -> None:
    from diffusers import StableDiffusion3Pipeline

    pipeline = StableDiffusion3Pipeline.from_pretrained(sd3, use_safetensors=True)
    pooled = pipeline._get_clip_prompt_embeds(TEXTS, clip_model_index=1)[1]
    wanted = pooled.detach().numpy()
    wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    rows = create_encoder(f"text_of:{sd3}#text_encoder_2").encode_texts(TEXTS)
    np.testing.assert_allclose(rows, wanted, atol=1e-5)


@pytest.mark.slow
def test_where_the_hub_is_away_no_part_is_looked_for_there(
    sd3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoTokenizer, CLIPTextModelWithProjection

    monkeypatch.setattr(
        "t2ibench.models.encoders.text_of.ask_hub",
        lambda *_: {"local_files_only": True},
    )
    kinds = (AutoTokenizer, CLIPTextModelWithProjection)
    spies = [mock.Mock(wraps=kind.from_pretrained) for kind in kinds]
    for kind, spy in zip(kinds, spies, strict=True):
        monkeypatch.setattr(kind, "from_pretrained", spy)
    create_encoder(f"text_of:{sd3}")
    assert all(spy.call_args.kwargs["local_files_only"] for spy in spies)


def test_others_are_the_mean_over_tokens_without_padding(sd3: Path) -> None:
    import torch
    from transformers import AutoTokenizer, T5EncoderModel

    model = T5EncoderModel.from_pretrained(sd3, subfolder="text_encoder_3").eval()
    tokenizer = AutoTokenizer.from_pretrained(sd3, subfolder="tokenizer_3")
    encoder = create_encoder(f"text_of:{sd3}#text_encoder_3")
    rows = encoder.encode_texts(TEXTS)
    for row, text in zip(rows, TEXTS, strict=True):
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        mean = states.mean(dim=0).numpy()
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-5)
    # A text's row does not depend on the others.
    np.testing.assert_array_equal(encoder.encode_texts(TEXTS[1:2])[0], rows[1])


def test_each_tower_is_an_encoder_of_its_own(sd3: Path) -> None:
    first, second = (
        create_encoder(f"text_of:{sd3}{part}") for part in ("", "#text_encoder_2")
    )
    assert first.fingerprint != second.fingerprint
    assert not first.embeds_images and not embeds_images(f"text_of:{sd3}")
    assert isinstance(first, HasUntrained)
    random = first.untrained()
    assert np.abs(random.encode_texts(TEXTS) - first.encode_texts(TEXTS)).max() > 0.1
    np.testing.assert_array_equal(
        random.encode_texts(TEXTS), first.untrained().encode_texts(TEXTS)
    )


def test_invalid_text_encoders_get_a_one_line_error(sd3: Path, tmp_path: Path) -> None:
    with refused(
        "Did you mean 'text_encoder_3'", "text_encoder, text_encoder_2, text_encoder_3"
    ):
        create_encoder(f"text_of:{sd3}#text_encoder3")
    copy = tmp_path / "own"
    shutil.copytree(sd3, copy)
    index = json.loads((copy / "model_index.json").read_text())
    index["text_encoder"] = ["own_code", "Mine"]
    (copy / "model_index.json").write_text(json.dumps(index))
    with pytest.raises(T2IBenchError, match="not a model of transformers"):
        create_encoder(f"text_of:{copy}")
    (copy / "model_index.json").write_text("{")
    with pytest.raises(T2IBenchError, match="could not load model_index"):
        create_encoder(f"text_of:{copy}")
