"""Tiny vision-language models of several architectures with random weights and their processors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models import tiny

_QWEN_CHAT = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def _tokenizer(specials: list[str], chat: str | None = None) -> Any:
    tokenizer = tiny.letter_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>", *specials]})
    if chat:
        tokenizer.chat_template = chat
    return tokenizer


def _text(tokenizer: Any, **changes: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8192,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **changes,
    }


def _sharpened(model: Any) -> Any:
    """Weights as large as trained ones, so that images and questions change the answers."""
    import torch

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim >= 2:
                weight.mul_(8 if "lm_head" in name or "embed" in name else 4)
    return model


def _qwen_ids(tokenizer: Any) -> dict[str, int]:
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return {key: tokenizer.convert_tokens_to_ids(token) for key, token in names.items()}


def _qwen_tokenizer() -> Any:
    return _tokenizer(
        ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"], _QWEN_CHAT
    )


def _qwen_processor(kind: Any, tokenizer: Any, patch: int) -> Any:
    from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    sizes = {"patch_size": patch, "temporal_patch_size": 2, "merge_size": 2}
    pixels = {"shortest_edge": 1024, "longest_edge": 4096}
    return kind(
        image_processor=Qwen2VLImageProcessor(**sizes, size=pixels),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**sizes, size=pixels),
        chat_template=_QWEN_CHAT,
    )


def qwen2_vl(folder: Path, *, layers: int = 2) -> Path:
    """Qwen2-VL, whose positions have three axes."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLProcessor

    tiny.seed()
    tokenizer = _qwen_tokenizer()
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
    config = Qwen2VLConfig(
        text_config=_text(tokenizer, rope_parameters=rope, num_hidden_layers=layers),
        vision_config={
            "depth": 2,
            "embed_dim": 32,
            "hidden_size": 32,
            "num_heads": 2,
            "mlp_ratio": 2,
            "patch_size": 8,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
        **_qwen_ids(tokenizer),
    )
    _sharpened(Qwen2VLForConditionalGeneration(config)).save_pretrained(folder)
    _qwen_processor(Qwen2VLProcessor, tokenizer, 8).save_pretrained(folder)
    return folder


def qwen2_5_vl(folder: Path) -> Path:
    """Qwen2.5-VL, whose vision tower attends in windows."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
    )

    tiny.seed()
    tokenizer = _qwen_tokenizer()
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
    config = Qwen2_5_VLConfig(
        text_config=_text(tokenizer, rope_parameters=rope),
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "out_hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 8,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "window_size": 32,
            "fullatt_block_indexes": [1],
        },
        **_qwen_ids(tokenizer),
    )
    _sharpened(Qwen2_5_VLForConditionalGeneration(config)).save_pretrained(folder)
    _qwen_processor(Qwen2_5_VLProcessor, tokenizer, 8).save_pretrained(folder)
    return folder


def qwen3_vl(folder: Path) -> Path:
    """Qwen3-VL, which adds features of the vision tower to deeper layers."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor

    tiny.seed()
    tokenizer = _qwen_tokenizer()
    rope = {
        "rope_type": "default",
        "rope_theta": 1e4,
        "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
    }
    config = Qwen3VLConfig(
        text_config=_text(tokenizer, rope_parameters=rope, head_dim=8),
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "out_hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 8,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        **_qwen_ids(tokenizer),
    )
    _sharpened(Qwen3VLForConditionalGeneration(config)).save_pretrained(folder)
    _qwen_processor(Qwen3VLProcessor, tokenizer, 8).save_pretrained(folder)
    return folder


def idefics3(folder: Path) -> Path:
    """Idefics3, the architecture of SmolVLM: an image is cut into tiles, each with its tokens."""
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessor,
        Idefics3Processor,
    )

    tiny.seed()
    tiles = [f"<row_{r}_col_{c}>" for r in range(1, 7) for c in range(1, 7)]
    tokenizer = _tokenizer(
        ["<fake_token_around_image>", "<end_of_utterance>", "<global-img>", *tiles]
    )
    text = _text(tokenizer)
    config = Idefics3Config(
        text_config={"model_type": "llama", **text},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 8,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
    )
    _sharpened(Idefics3ForConditionalGeneration(config)).save_pretrained(folder)
    Idefics3Processor(
        image_processor=Idefics3ImageProcessor(
            size={"longest_edge": 64}, max_image_size={"longest_edge": 32}
        ),
        tokenizer=tokenizer,
        image_seq_len=4,
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)
    return folder


def llava_onevision(folder: Path) -> Path:
    """LLaVA-OneVision: an image as a whole and in patches of its best resolution."""
    from transformers import (
        LlavaOnevisionConfig,
        LlavaOnevisionForConditionalGeneration,
        LlavaOnevisionImageProcessor,
        LlavaOnevisionProcessor,
        LlavaOnevisionVideoProcessor,
    )

    tiny.seed()
    tokenizer = _tokenizer(["<video>"])
    size = {"height": 32, "width": 32}
    pinpoints = [[32, 32], [32, 64], [64, 32], [64, 64]]
    config = LlavaOnevisionConfig(
        text_config={"model_type": "qwen2", **_text(tokenizer)},
        vision_config={
            "model_type": "siglip_vision_model",
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 8,
            "vision_use_head": False,
        },
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=pinpoints,
    )
    _sharpened(LlavaOnevisionForConditionalGeneration(config)).save_pretrained(folder)
    LlavaOnevisionProcessor(
        image_processor=LlavaOnevisionImageProcessor(size=size, image_grid_pinpoints=pinpoints),
        tokenizer=tokenizer,
        video_processor=LlavaOnevisionVideoProcessor(size=size),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)
    return folder


def _named_tokens(chat_image: str, **names: str) -> Any:
    """A tokenizer that knows its special tokens by name, as newer processors want it."""
    from transformers import PreTrainedTokenizerFast

    base = _tokenizer(list(names.values()))
    return PreTrainedTokenizerFast(
        tokenizer_object=base.backend_tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        extra_special_tokens=names,
        chat_template=tiny._CHAT.replace("<image>", chat_image),
        model_max_length=4096,
    )


def gemma3(folder: Path) -> Path:
    """Gemma 3: an image's tokens see one another both ways, and some layers see a window only."""
    import torch
    from transformers import (
        Gemma3Config,
        Gemma3ForConditionalGeneration,
        Gemma3ImageProcessor,
        Gemma3Processor,
    )

    tiny.seed()
    tokenizer = _named_tokens(
        "<start_of_image>",
        boi_token="<start_of_image>",
        eoi_token="<end_of_image>",
        image_token="<image_soft_token>",
    )
    config = Gemma3Config(
        text_config={
            **_text(tokenizer, head_dim=8),
            "sliding_window": 1024,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 8,
        },
        mm_tokens_per_image=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image_soft_token>"),
        boi_token_index=tokenizer.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=tokenizer.convert_tokens_to_ids("<end_of_image>"),
    )
    model = Gemma3ForConditionalGeneration(config)
    # It is made of zeros, so that no image would count.
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight)
    _sharpened(model).save_pretrained(folder)
    Gemma3Processor(
        image_processor=Gemma3ImageProcessor(size={"height": 32, "width": 32}),
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
        image_seq_length=4,
    ).save_pretrained(folder)
    return folder


def internvl(folder: Path) -> Path:
    """InternVL, which cuts an image into as many patches as its shape asks for."""
    from transformers import (
        GotOcr2ImageProcessor,
        InternVLConfig,
        InternVLForConditionalGeneration,
        InternVLProcessor,
        InternVLVideoProcessor,
    )

    tiny.seed()
    tokenizer = _named_tokens(
        "<IMG_CONTEXT>",
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )
    config = InternVLConfig(
        text_config={"model_type": "qwen2", **_text(tokenizer)},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": [32, 32],
            "patch_size": [8, 8],
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
        downsample_ratio=0.5,
    )
    _sharpened(InternVLForConditionalGeneration(config)).save_pretrained(folder)
    size = {"height": 32, "width": 32}
    InternVLProcessor(
        image_processor=GotOcr2ImageProcessor(size=size, crop_to_patches=True),
        tokenizer=tokenizer,
        video_processor=InternVLVideoProcessor(size=size),
        image_seq_length=4,
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)
    return folder


VLMS = {
    "llava": tiny.llava,
    "llava_onevision": llava_onevision,
    "idefics3": idefics3,
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "gemma3": gemma3,
    "internvl": internvl,
}
