"""Adapters beside the call that the library's own documentation shows (docs/encoders.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.models.encoders import create_encoder
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import HasUntrained, Query
from tests.models import tiny

pytestmark = [pytest.mark.networks, pytest.mark.slow]

TEXTS = ["a photo of a Nurse", "A ROSE", "an ant"]
SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 2}
GEMMA = 256_000
CONTEXT = 24


def siglip(folder: Path, kind: str, vocabulary: int) -> Path:
    """A SigLIP of a kind ('Siglip' or 'Siglip2') with random weights; its tokenizer gives masks."""
    import transformers

    tiny.seed()
    tokenizer = tiny.letter_tokenizer()
    tokenizer.padding_side = "left"  # as transformers' own default for SigLIP 2
    assert "attention_mask" in tokenizer(["a"])
    patches = {"num_patches": 16, "patch_size": 8} if kind == "Siglip2" else {}
    fixed = {"image_size": 32, "patch_size": 8} if kind == "Siglip" else {}
    config = getattr(transformers, f"{kind}Config")(
        text_config={
            **SIZES,
            "vocab_size": vocabulary,
            "max_position_embeddings": CONTEXT,
            "projection_size": 16,
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={**SIZES, **patches, **fixed},
    )
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    processor = getattr(transformers, f"{kind}ImageProcessor")
    options = {"patch_size": 8, "max_num_patches": 16} if kind == "Siglip2" else {}
    processor(**(options or {"size": {"height": 32, "width": 32}})).save_pretrained(
        folder
    )
    return folder


def unit(rows: Any) -> np.ndarray:
    """Rows of unit length."""
    features = getattr(rows, "pooler_output", rows).detach().numpy()
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def expected_texts(folder: Path, texts: list[str]) -> np.ndarray:
    """As the makers convert the model: padded on the right to its whole context, without a mask."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="right")
    tokens = tokenizer(
        texts, padding="max_length", max_length=CONTEXT, return_tensors="pt"
    )
    with torch.inference_mode():
        model = AutoModel.from_pretrained(folder).eval()
        return unit(model.get_text_features(input_ids=tokens["input_ids"]))


@pytest.mark.parametrize(
    ("kind", "vocabulary", "lower"),
    [("Siglip", 200, False), ("Siglip", GEMMA, True), ("Siglip2", GEMMA, True)],
)
def test_siglip_preprocesses_texts_as_in_its_training(
    kind: str, vocabulary: int, lower: bool, tmp_path: Path
) -> None:
    folder = siglip(tmp_path, kind, vocabulary)
    encoder = create_encoder(f"clip:{folder}", device="cpu")
    rows = encoder.encode_texts(TEXTS)
    texts = [text.lower() for text in TEXTS] if lower else TEXTS
    np.testing.assert_allclose(rows, expected_texts(folder, texts), atol=1e-5)
    shouted = encoder.encode_texts([text.upper() for text in TEXTS])
    assert np.array_equal(shouted, rows) == lower
    assert encoder.network["padding"] == "read"


@pytest.mark.parametrize("kind", ["Siglip", "Siglip2"])
def test_siglip_sees_images_of_any_format_as_its_processor_gives_them(
    kind: str, tmp_path: Path
) -> None:
    import torch
    from PIL import Image
    from transformers import AutoImageProcessor, AutoModel

    folder = siglip(tmp_path, kind, GEMMA)
    random = np.random.default_rng(0)
    shapes = ((32, 32), (64, 24), (20, 90))
    images = [
        Image.fromarray(random.integers(0, 256, (*shape, 3), dtype=np.uint8))
        for shape in shapes
    ]
    encoder = create_encoder(f"clip:{folder}", device="cpu")
    rows = encoder.encode_images([encoder.prepare(image) for image in images])
    processor, model = (
        part.from_pretrained(folder) for part in (AutoImageProcessor, AutoModel)
    )
    for image, row in zip(images, rows, strict=True):
        inputs = processor(images=image, return_tensors="pt")
        with torch.inference_mode():
            expected = unit(model.eval().get_image_features(**inputs))[0]
        np.testing.assert_allclose(row, expected, atol=1e-5)
    assert isinstance(encoder, HasUntrained)
    twin = encoder.untrained()
    blind = twin.encode_images([twin.prepare(image) for image in images])
    assert blind.shape == rows.shape
    assert not np.allclose(blind, rows)


def beginning(tokenizer: Any) -> Any:
    """A tokenizer that puts its token of beginning before each text, as Gemma's and Llama's do."""
    from tokenizers.processors import TemplateProcessing

    token = (tokenizer.bos_token, tokenizer.bos_token_id)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{token[0]} $A", special_tokens=[token]
    )
    return tokenizer


def judge_and_query(folder: Path) -> tuple[Any, Query]:
    (judge,) = create_judges([f"vlm:{folder}"], device="cpu")
    (image,) = tiny.images(1)
    return judge, Query(
        image, "a prompt", 0, "0" * 64, "Who is it?", ("male", "female")
    )


def reference_ids(folder: Path, judge: Any, query: Query, **options: Any) -> list[int]:
    """The library's own call: the template, tokenised by the processor."""
    from transformers import AutoProcessor

    from t2ibench.models.judges.replies import instruction

    processor = AutoProcessor.from_pretrained(folder)
    text = instruction(query.question, query.classes)
    content = [{"type": "image", "image": query.image}, {"type": "text", "text": text}]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        **options,
    )
    return inputs["input_ids"][0].tolist()


@pytest.mark.parametrize("written", [True, False])
def test_a_prompt_begins_with_one_token_of_beginning(
    written: bool, tmp_path: Path
) -> None:
    """Whether the template writes it or the tokenizer adds it."""
    chat = ("<s>" if written else "") + tiny.CHAT
    folder = tiny.llava(
        tmp_path / "vlm", chat=chat, tokenizer=beginning(tiny.letter_tokenizer())
    )
    judge, query = judge_and_query(folder)
    ids = judge._inputs(query)["input_ids"][0].tolist()
    begin = judge._processor.tokenizer.bos_token_id
    assert ids.count(begin) == 1
    assert ids == reference_ids(folder, judge, query)
    # The quicker way reads the same tokens, so it agrees with the slower one.
    lines: list[str] = []
    judge.report_waits(lines.append)
    (answer,) = judge.answer([query])
    assert answer.answer in (*query.classes, "unknown")
    assert lines == []


def test_a_model_that_always_thinks_answers_at_once(tmp_path: Path) -> None:
    chat = tiny.CHAT.replace("assistant: ", "assistant: <think>\n")
    folder = tiny.llava(tmp_path / "thinks", chat=chat)
    judge, query = judge_and_query(folder)
    prompt = judge._prompt(query.question, query.classes)
    assert prompt.endswith("assistant: <think>\n\n</think>\n\n")
    plain, _ = judge_and_query(tiny.llava(tmp_path / "plain"))
    assert plain._prompt(query.question, query.classes).endswith("assistant: ")


def test_reasoning_is_switched_off_if_the_template_allows_that(tmp_path: Path) -> None:
    thought = (
        "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% "
        "endif %}"
    )
    chat = tiny.CHAT.replace("assistant: ", f"assistant: {thought}")
    folder = tiny.llava(tmp_path / "told", chat=chat)
    judge, query = judge_and_query(folder)
    ids = judge._inputs(query)["input_ids"][0].tolist()
    assert ids == reference_ids(folder, judge, query, enable_thinking=False)
    assert ids != reference_ids(folder, judge, query)
