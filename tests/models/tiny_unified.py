"""Tiny models of Janus and Emu3 with random weights, and their processors, saved as theirs are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models import tiny

_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}
_CHAT = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)
_CODES = 16  # image tokens of Emu3's tiny vocabulary


def tokenizer(named: dict[str, str], further: list[str]) -> Any:
    from transformers import PreTrainedTokenizerFast

    letters = tiny.letter_tokenizer()
    letters.add_special_tokens(
        {"additional_special_tokens": ["<image>", *named.values(), *further]}
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=letters.backend_tokenizer,
        **{key: getattr(letters, key) for key in tiny.TOKENS},
        extra_special_tokens=named,
        chat_template=_CHAT,
        model_max_length=4096,
    )


def louder(model: Any) -> None:
    """Make weights as large as trained ones, so that prompts change the tokens."""
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim >= 2:
                weight.mul_(4)


def janus(folder: Path) -> Path:
    """Save a tiny Janus: 16 image tokens, images of 16 pixels."""
    import transformers

    tiny.seed()
    named = {
        "image_token": "<image>",
        "boi_token": "<begin_of_image>",
        "eoi_token": "<end_of_image>",
    }
    letters = tokenizer(named, [])
    ids = tiny.token_ids(letters)
    config = transformers.JanusConfig(
        text_config={"model_type": "llama", **_TEXT, **ids},
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "image_size": 16,
            "patch_size": 4,
            "num_image_tokens": 16,
            "projection_dim": 32,
        },
        vq_config={
            "embed_dim": 8,
            "num_embeddings": 64,
            "latent_channels": 32,
            "base_channels": 32,
            "channel_multiplier": [1, 1, 1],
            "num_res_blocks": 1,
            "projection_dim": 32,
            "image_token_embed_dim": 32,
        },
        image_token_id=letters.convert_tokens_to_ids("<image>"),
    )
    model = transformers.JanusForConditionalGeneration(config)
    louder(model)
    boi = letters.convert_tokens_to_ids("<begin_of_image>")
    model.generation_config = transformers.GenerationConfig(
        bos_token_id=letters.bos_token_id,
        eos_token_id=letters.eos_token_id,
        pad_token_id=letters.pad_token_id,
        do_sample=True,
        temperature=0.9,
        generation_kwargs={"boi_token_id": boi},
    )
    model.save_pretrained(folder)
    images = transformers.JanusImageProcessor(size={"height": 16, "width": 16})
    transformers.JanusProcessor(
        images, letters, chat_template=_CHAT, num_image_tokens=16
    ).save_pretrained(folder)
    return folder


def emu3(folder: Path) -> Path:
    """Save a tiny Emu3 with sixteen image tokens."""
    import transformers

    tiny.seed()
    named = {
        "image_token": "<image>",
        "boi_token": "<|image start|>",
        "eoi_token": "<|image end|>",
        "image_wrapper_token": "<|image token|>",
        "eof_token": "<|extra_201|>",
    }
    visual = [f"<|visual token {number:06d}|>" for number in range(_CODES)]
    letters = tokenizer(named, ["<|extra_200|>", *visual])
    config = transformers.Emu3Config(
        text_config={**_TEXT, **tiny.token_ids(letters), "attention_dropout": 0.0},
        vq_config={
            "codebook_size": _CODES,
            "embed_dim": 4,
            "latent_channels": 4,
            "base_channels": 32,
            "channel_multiplier": [1, 1, 1, 1],
            "num_res_blocks": 1,
            "hidden_size": 32,
            "attn_resolutions": [],
            "temporal_downsample_factor": 1,
        },
        vocabulary_map=letters.get_vocab(),
    )
    model = transformers.Emu3ForConditionalGeneration(config)
    louder(model)
    model.generation_config = transformers.GenerationConfig(
        bos_token_id=letters.bos_token_id,
        eos_token_id=letters.eos_token_id,
        pad_token_id=letters.pad_token_id,
        do_sample=True,
        top_k=12,
    )
    model.save_pretrained(folder)
    images = transformers.Emu3ImageProcessor(min_pixels=1024, max_pixels=4096)
    transformers.Emu3Processor(images, letters, chat_template=_CHAT).save_pretrained(
        folder
    )
    return folder


def chameleon(folder: Path) -> Path:
    """Save the configuration of a Chameleon, which is all that is read of it."""
    import transformers

    transformers.ChameleonConfig(vocabulary_map={"<image>": 4}).save_pretrained(folder)
    return folder
