"""Parts that several tiny pipelines share: tokenizers of a few words, text encoders, VAEs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models import tiny

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


def words(**changes: Any) -> Any:
    """A tokenizer of words, with a chat template, that closes a text with </s> as T5's does."""
    tokenizer = tiny.t5_tokenizer(Path())
    tokenizer.chat_template = _CHAT
    tokenizer.model_max_length = changes.pop("longest", 77)
    for name, value in changes.items():
        setattr(tokenizer, name, value)
    return tokenizer


def clip_words(folder: Path) -> Any:
    """A CLIP tokenizer for the pipeline in a folder."""
    return tiny.clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))


def clip_text(tokenizer: Any, *, projection: bool = False, **changes: Any) -> Any:
    """A CLIP text encoder, 32 wide."""
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    kind = CLIPTextModelWithProjection if projection else CLIPTextModel
    return seeded(kind(tiny._text_config(tokenizer, **changes)))


def t5(tokenizer: Any) -> Any:
    """T5's encoder, 32 wide."""
    return seeded(tiny._t5(tokenizer))


def vae(**changes: Any) -> Any:
    """An AutoencoderKL that halves each side."""
    return tiny._vae(**changes).eval()


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
