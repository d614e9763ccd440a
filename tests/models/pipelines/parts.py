"""Parts that several tiny pipelines share: tokenizers of a few words, text encoders, VAEs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORDS = ["a", "an", "the", "of", "photo", "picture", "person", "nurse", "clerk", "rose", "ant", ","]
_CHAT = (
    "{% for message in messages %}{{ message['role'] }} : "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{{ part['text'] or '' }}{% endfor %}{% endif %} "
    "{% endfor %}"
)
VOCABULARY = 32  # of the language models: at least what the tokenizer knows


def seeded(module: Any, spread: float = 0.25) -> Any:
    """A module with random weights that are large enough for its input to be seen in its output.

    Many initialisations of transformers are so small, or zero at their gates, that a prompt would
    not change an image by one level of 255, and a mistake in batching would not be seen either.
    """
    import torch

    generator = torch.Generator().manual_seed(len(list(module.parameters())))
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim < 2:  # norms and biases keep their places
                parameter.copy_(torch.nan_to_num(parameter) + 0.1 * noise)
            else:
                parameter.copy_(spread * noise)
    return module.eval()


def seed() -> None:
    """The same random weights every time."""
    import torch

    torch.manual_seed(0)


def clip_tokenizer(folder: Path) -> Any:
    """A CLIP tokenizer of single letters and nothing else; it reads any lower-case text."""
    from transformers import CLIPTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789,.-'"
    vocab = {letter: i for i, letter in enumerate(letters)}
    vocab |= {f"{letter}</w>": len(vocab) + i for i, letter in enumerate(letters)}
    vocab |= {"<|startoftext|>": len(vocab), "<|endoftext|>": len(vocab) + 1}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 77
    return tokenizer


def text_config(tokenizer: Any, **changes: Any) -> Any:
    """What CLIP's text encoder is made of, 32 wide and 2 layers deep."""
    from transformers import CLIPTextConfig

    options = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 37,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "projection_dim": 32,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.eos_token_id,
    }
    return CLIPTextConfig(**{**options, **changes})


def saved(build: Callable[[Path], Any], folder: Path) -> Path:
    """Build a pipeline, with the same random weights every time, and save it into a folder."""
    seed()
    build(folder).save_pretrained(folder, safe_serialization=True)
    return folder


def words(longest: int = 77, **changes: Any) -> Any:
    """A tokenizer of words, with a chat template, that closes a text with </s> as T5's does."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocab = {"<pad>": 0, "</s>": 1, "<unk>": 2}
    vocab |= {word: 3 + i for i, word in enumerate(WORDS)}
    raw = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=longest,
        chat_template=_CHAT,
    )
    for name, value in changes.items():
        setattr(tokenizer, name, value)
    return tokenizer


def clip_words(folder: Path) -> Any:
    """A CLIP tokenizer for the pipeline in a folder."""
    return clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))


def clip_text(tokenizer: Any, *, projection: bool = False, **changes: Any) -> Any:
    """A CLIP text encoder, 32 wide."""
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    kind = CLIPTextModelWithProjection if projection else CLIPTextModel
    return seeded(kind(text_config(tokenizer, **changes)))


def t5(tokenizer: Any, kind: str = "T5") -> Any:
    """The encoder of T5, or of UMT5, 32 wide."""
    import transformers

    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=37,
        num_layers=2,
        num_heads=4,
        pad_token_id=0,
        eos_token_id=1,
    )
    return seeded(getattr(transformers, f"{kind}EncoderModel")(config))


def vae(**changes: Any) -> Any:
    """An AutoencoderKL that halves each side."""
    from diffusers import AutoencoderKL

    options: dict[str, Any] = {
        "block_out_channels": [32, 64],
        "in_channels": 3,
        "out_channels": 3,
        "down_block_types": ["DownEncoderBlock2D"] * 2,
        "up_block_types": ["UpDecoderBlock2D"] * 2,
        "latent_channels": 4,
        "norm_num_groups": 8,
        "sample_size": 32,
    }
    return AutoencoderKL(**{**options, **changes}).eval()


def unet(**changes: Any) -> Any:
    """The denoiser of Stable Diffusion."""
    from diffusers import UNet2DConditionModel

    options: dict[str, Any] = {
        "block_out_channels": (32, 64),
        "layers_per_block": 1,
        "sample_size": 32,
        "in_channels": 4,
        "out_channels": 4,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
        "cross_attention_dim": 32,
        "norm_num_groups": 8,
    }
    return seeded(UNet2DConditionModel(**{**options, **changes}))


def flow_vae(channels: int = 4) -> Any:
    """An AutoencoderKL as flow models have it, with a shift."""
    return vae(
        latent_channels=channels,
        use_quant_conv=False,
        use_post_quant_conv=False,
        shift_factor=0.0609,
        scaling_factor=1.5035,
    )


def flow() -> Any:
    """The scheduler of flow models."""
    from diffusers import FlowMatchEulerDiscreteScheduler

    return FlowMatchEulerDiscreteScheduler()


def language_model(kind: str, config: str, **changes: Any) -> Any:
    """A language model of transformers, 16 wide and 2 layers deep."""
    import transformers

    options = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 1024,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 1,
    }
    made = getattr(transformers, config)(**{**options, **changes})
    return seeded(getattr(transformers, kind)(made))


def qwen_vl(kind: str = "Qwen2_5_VLForConditionalGeneration", width: int = 16) -> Any:
    """Qwen2.5-VL."""
    import transformers

    config = transformers.Qwen2_5_VLConfig(
        text_config={
            "vocab_size": VOCABULARY,
            "hidden_size": width,
            "intermediate_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "rope_scaling": {
                "mrope_section": [width // 16, width // 16, width // 8],
                "rope_type": "default",
                "type": "default",
            },
            "rope_theta": 1000000.0,
            "pad_token_id": 0,
        },
        vision_config={
            "depth": 1,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_heads": 2,
            "out_hidden_size": width,
        },
        vision_start_token_id=VOCABULARY - 1,
        vision_end_token_id=VOCABULARY - 2,
        image_token_id=VOCABULARY - 3,
        video_token_id=VOCABULARY - 4,
    )
    return seeded(getattr(transformers, kind)(config))
