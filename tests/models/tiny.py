"""Tiny pipelines and models with random weights, built from configs and saved: the loading code
under test is the one that real weights take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from t2ibench.models.generators import create_generator
from t2ibench.models.generators.diffusers import DiffusersGenerator
from t2ibench.models.protocols import GeneratedImage, Generator, ImageRequest
from tests.models.pipelines.parts import TABLE, clip_tokenizer, saved, seed

ARGS = {"steps": "2", "size": "32"}
REQUESTS = [
    ImageRequest(f"a photo of a {word}", index, 1000 * index + len(word))
    for word in ("nurse", "clerk", "rose", "ant")
    for index in range(2)
]
# Each saves a pipeline into a folder, and gives the folder.
stable_diffusion = partial(saved, "StableDiffusionPipeline")
sdxl = partial(saved, "StableDiffusionXLPipeline")
sd3 = partial(saved, "StableDiffusion3Pipeline")
flux = partial(saved, "FluxPipeline")
cogview4 = partial(saved, "CogView4Pipeline")
amused = partial(saved, "AmusedPipeline")
PIPELINES = {"sd": stable_diffusion, "sdxl": sdxl, "sd3": sd3, "flux": flux}


def clip_model(folder: Path) -> Path:
    """A CLIPModel folder with its tokenizer and image processor."""
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    seed()
    sizes = TABLE["sizes"]
    vision = {
        **sizes["CLIPVisionModelWithProjection"],
        "num_hidden_layers": 2,
        "patch_size": 8,
    }
    text = {**sizes["CLIPTextModel"], "projection_dim": 24}
    config = CLIPConfig(
        text_config=text,
        vision_config={**vision, "projection_dim": 24},
        projection_dim=24,
    )
    CLIPModel(config).save_pretrained(folder, safe_serialization=True)
    clip_tokenizer().save_pretrained(folder)
    CLIPImageProcessor(**sizes["CLIPImageProcessor"]).save_pretrained(folder)
    return folder


TINY_ARCHITECTURE = {
    "embed_dim": 16,
    "vision_cfg": {
        "image_size": 32,
        "layers": 2,
        "width": 32,
        "head_width": 16,
        "patch_size": 8,
    },
    "text_cfg": {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 32,
        "heads": 2,
        "layers": 2,
    },
}


def open_clip_model(folder: Path) -> tuple[str, Path]:
    """A registered tiny architecture and a safetensors file of its weights."""
    import open_clip
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Tiny-t2ibench.json").write_text(json.dumps(TINY_ARCHITECTURE))
    open_clip.add_model_config(folder / "Tiny-t2ibench.json")
    seed()
    model = open_clip.create_model("Tiny-t2ibench")
    save_file(model.state_dict(), folder / "tiny.safetensors")
    return "Tiny-t2ibench", folder / "tiny.safetensors"


TOKENS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
}
CHAT = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def letter_tokenizer() -> Any:
    """A fast tokenizer of single characters with a chat template."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    specials = ["<pad>", "<s>", "</s>", "<unk>", "<image>"]
    letters = [chr(code) for code in range(32, 127)] + ["\n"]
    vocab = {token: place for place, token in enumerate([*specials, *letters])}
    raw = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    raw.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        **TOKENS,
        additional_special_tokens=["<image>"],
        chat_template=CHAT,
        model_max_length=4096,
    )


SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2}


def token_ids(tokenizer: Any) -> dict[str, int]:
    """What a language model's configuration says about its tokenizer."""
    names = [f"{name}_id" for name in TOKENS if name != "unk_token"]
    return {
        "vocab_size": len(tokenizer),
        **{name: getattr(tokenizer, name) for name in names},
    }


def _llama(tokenizer: Any) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(**token_ids(tokenizer), **SIZES, max_position_embeddings=4096)


def llava(
    folder: Path, text: Any = None, chat: str = CHAT, tokenizer: Any = None
) -> Path:
    """A LLaVA with random weights and its processor; `text` configures its language model."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    seed()
    tokenizer = tokenizer or letter_tokenizer()
    sizes = {key: SIZES[key] for key in SIZES if key != "num_key_value_heads"}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            **sizes, image_size=32, patch_size=16, projection_dim=32
        ),
        text_config=text or _llama(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    LlavaProcessor(
        image_processor=CLIPImageProcessor(**TABLE["sizes"]["CLIPImageProcessor"]),
        tokenizer=tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=chat,
    ).save_pretrained(folder)
    return folder


def llama(folder: Path, *, chat: bool = True) -> Path:
    """A Llama with random weights and a chat template."""
    from transformers import LlamaForCausalLM

    seed()
    tokenizer = letter_tokenizer()
    if not chat:
        tokenizer.chat_template = None
    LlamaForCausalLM(_llama(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def images(count: int, size: int = 40) -> list[Image.Image]:
    """Random images."""
    rng = np.random.default_rng(0)
    pixels = (
        rng.integers(0, 256, (size, size + 8, 3), dtype=np.uint8) for _ in range(count)
    )
    return [Image.fromarray(one) for one in pixels]


def made(folder: Path, **args: str) -> DiffusersGenerator:
    """The generator of a saved pipeline."""
    generator = create_generator(str(folder), {**ARGS, **args}, device="cpu")
    assert isinstance(generator, DiffusersGenerator)
    return generator


def draw(
    generator: Generator, requests: Sequence[ImageRequest], size: int
) -> list[np.ndarray]:
    """The images of requests, so many in one call."""
    drawn: list[GeneratedImage] = []
    for start in range(0, len(requests), size):
        drawn += generator.generate(requests[start : start + size])
    assert [one.status for one in drawn] == ["ok"] * len(requests), drawn
    return [np.asarray(one.image, dtype=int) for one in drawn]
