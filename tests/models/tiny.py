"""Tiny pipelines and models with random weights, built from configs and saved: the loading code
under test is the one that real weights take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

WORDS = ["a", "an", "the", "of", "photo", "picture", "person", "nurse", "clerk", "rose", "ant", ","]


def _seed() -> None:
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


def t5_tokenizer(folder: Path) -> Any:
    """A word-level tokenizer where SD3 and Flux have T5's."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocab = {"<pad>": 0, "</s>": 1, "<unk>": 2}
    vocab |= {word: 3 + i for i, word in enumerate(WORDS)}
    raw = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=77,
    )


def _text_config(tokenizer: Any, **changes: Any) -> Any:
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


def _vae(**changes: Any) -> Any:
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
    return AutoencoderKL(**{**options, **changes})


def _unet(**changes: Any) -> Any:
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
    return UNet2DConditionModel(**{**options, **changes})


def stable_diffusion(folder: Path) -> Path:
    """Stable Diffusion 1 and 2."""
    from diffusers import DDIMScheduler, StableDiffusionPipeline
    from transformers import CLIPTextModel

    _seed()
    tokenizer = clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))
    StableDiffusionPipeline(
        unet=_unet(),
        vae=_vae(),
        text_encoder=CLIPTextModel(_text_config(tokenizer)),
        tokenizer=tokenizer,
        scheduler=DDIMScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder, safe_serialization=True)
    return folder


def sdxl(folder: Path) -> Path:
    """Stable Diffusion XL."""
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    _seed()
    tokenizer = clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))
    config = _text_config(tokenizer, hidden_act="gelu")
    StableDiffusionXLPipeline(
        unet=_unet(
            attention_head_dim=(2, 4),
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            transformer_layers_per_block=(1, 2),
            projection_class_embeddings_input_dim=80,
            cross_attention_dim=64,
        ),
        vae=_vae(),
        text_encoder=CLIPTextModel(config),
        tokenizer=tokenizer,
        text_encoder_2=CLIPTextModelWithProjection(config),
        tokenizer_2=tokenizer,
        scheduler=EulerDiscreteScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear"
        ),
        add_watermarker=False,
    ).save_pretrained(folder, safe_serialization=True)
    return folder


def _t5(tokenizer: Any) -> Any:
    from transformers import T5Config, T5EncoderModel

    return T5EncoderModel(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=32,
            d_kv=8,
            d_ff=37,
            num_layers=2,
            num_heads=4,
            pad_token_id=0,
            eos_token_id=1,
        )
    )


def sd3(folder: Path) -> Path:
    """Stable Diffusion 3."""
    from diffusers import (
        FlowMatchEulerDiscreteScheduler,
        SD3Transformer2DModel,
        StableDiffusion3Pipeline,
    )
    from transformers import CLIPTextModelWithProjection

    _seed()
    tokenizer = clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))
    t5 = t5_tokenizer(folder)
    config = _text_config(tokenizer, hidden_act="gelu")
    StableDiffusion3Pipeline(
        transformer=SD3Transformer2DModel(
            sample_size=32,
            patch_size=1,
            in_channels=4,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=4,
            caption_projection_dim=32,
            joint_attention_dim=32,
            pooled_projection_dim=64,
            out_channels=4,
        ),
        vae=_vae(
            use_quant_conv=False,
            use_post_quant_conv=False,
            shift_factor=0.0609,
            scaling_factor=1.5035,
        ),
        text_encoder=CLIPTextModelWithProjection(config),
        tokenizer=tokenizer,
        text_encoder_2=CLIPTextModelWithProjection(config),
        tokenizer_2=tokenizer,
        text_encoder_3=_t5(t5),
        tokenizer_3=t5,
        scheduler=FlowMatchEulerDiscreteScheduler(),
    ).save_pretrained(folder, safe_serialization=True)
    return folder


def flux(folder: Path) -> Path:
    """FLUX.1."""
    from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel
    from transformers import CLIPTextModel

    _seed()
    tokenizer = clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))
    t5 = t5_tokenizer(folder)
    FluxPipeline(
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=[4, 4, 8],
        ),
        vae=_vae(
            latent_channels=1,
            use_quant_conv=False,
            use_post_quant_conv=False,
            shift_factor=0.0609,
            scaling_factor=1.5035,
        ),
        text_encoder=CLIPTextModel(_text_config(tokenizer, hidden_act="gelu")),
        tokenizer=tokenizer,
        text_encoder_2=_t5(t5),
        tokenizer_2=t5,
        scheduler=FlowMatchEulerDiscreteScheduler(),
    ).save_pretrained(folder, safe_serialization=True)
    return folder


def cogview4(folder: Path) -> Path:
    """CogView4, which pads prompts to the longest of a batch."""
    from diffusers import (
        CogView4Pipeline,
        CogView4Transformer2DModel,
        FlowMatchEulerDiscreteScheduler,
    )
    from transformers import GlmConfig, GlmModel

    _seed()
    tokenizer = t5_tokenizer(folder)
    tokenizer.padding_side = "left"
    tokenizer.model_max_length = 1024
    CogView4Pipeline(
        tokenizer=tokenizer,
        text_encoder=GlmModel(
            GlmConfig(
                vocab_size=len(tokenizer),
                hidden_size=32,
                intermediate_size=64,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=1,
                head_dim=16,
                pad_token_id=0,
                eos_token_id=1,
            )
        ).eval(),
        vae=_vae(force_upcast=True),
        transformer=CogView4Transformer2DModel(
            patch_size=2,
            in_channels=4,
            out_channels=4,
            num_layers=2,
            attention_head_dim=4,
            num_attention_heads=4,
            text_embed_dim=32,
            time_embed_dim=8,
            condition_dim=4,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(
            base_shift=0.25, max_shift=0.75, base_image_seq_len=256, use_dynamic_shifting=True
        ),
    ).save_pretrained(folder, safe_serialization=True)
    return folder


def amused(folder: Path) -> Path:
    """Amused, whose scheduler takes one random generator for a whole batch."""
    from diffusers import AmusedPipeline, AmusedScheduler, UVit2DModel, VQModel
    from transformers import CLIPTextModelWithProjection

    _seed()
    tokenizer = clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))
    AmusedPipeline(
        vqvae=VQModel(
            act_fn="silu",
            block_out_channels=[8],
            down_block_types=["DownEncoderBlock2D"],
            in_channels=3,
            latent_channels=8,
            layers_per_block=1,
            norm_num_groups=8,
            num_vq_embeddings=32,
            out_channels=3,
            sample_size=8,
            up_block_types=["UpDecoderBlock2D"],
            mid_block_add_attention=False,
            lookup_from_codebook=True,
        ),
        tokenizer=tokenizer,
        text_encoder=CLIPTextModelWithProjection(
            _text_config(tokenizer, hidden_size=8, num_attention_heads=1, projection_dim=8)
        ),
        transformer=UVit2DModel(
            hidden_size=8,
            use_bias=False,
            hidden_dropout=0.0,
            cond_embed_dim=8,
            micro_cond_encode_dim=2,
            micro_cond_embed_dim=10,
            encoder_hidden_size=8,
            vocab_size=32,
            codebook_size=32,
            in_channels=8,
            block_out_channels=8,
            num_res_blocks=1,
            downsample=True,
            upsample=True,
            block_num_heads=1,
            num_hidden_layers=1,
            num_attention_heads=1,
            attention_dropout=0.0,
            intermediate_size=8,
            layer_norm_eps=1e-6,
            ln_elementwise_affine=True,
        ),
        scheduler=AmusedScheduler(mask_token_id=31),
    ).save_pretrained(folder, safe_serialization=True)
    return folder


PIPELINES = {"sd": stable_diffusion, "sdxl": sdxl, "sd3": sd3, "flux": flux}


def clip_model(folder: Path) -> Path:
    """A CLIPModel folder with its tokenizer and image processor."""
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPVisionConfig

    _seed()
    tokenizer = clip_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=32,
        patch_size=8,
        projection_dim=24,
    )
    text = _text_config(tokenizer, projection_dim=24)
    config = CLIPConfig(
        text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=24
    )
    CLIPModel(config).save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    ).save_pretrained(folder)
    return folder


TINY_ARCHITECTURE = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
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
    _seed()
    model = open_clip.create_model("Tiny-t2ibench")
    save_file(model.state_dict(), folder / "tiny.safetensors")
    return "Tiny-t2ibench", folder / "tiny.safetensors"


_CHAT = (
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
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        additional_special_tokens=["<image>"],
        chat_template=_CHAT,
        model_max_length=4096,
    )


def _llama(tokenizer: Any) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def llava(folder: Path, text: Any = None, chat: str = _CHAT) -> Path:
    """A LLaVA with random weights and its processor; `text` configures its language model."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    _seed()
    tokenizer = letter_tokenizer()
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=32,
        patch_size=16,
        projection_dim=32,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text or _llama(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    size = {"height": 32, "width": 32}
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=size),
        tokenizer=tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=chat,
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def llama(folder: Path, *, chat: bool = True) -> Path:
    """A Llama with random weights and a chat template."""
    from transformers import LlamaForCausalLM

    _seed()
    tokenizer = letter_tokenizer()
    if not chat:
        tokenizer.chat_template = None
    LlamaForCausalLM(_llama(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def images(count: int, size: int = 40) -> list[Image.Image]:
    """Random images."""
    rng = np.random.default_rng(0)
    return [
        Image.fromarray(rng.integers(0, 256, (size, size + 8, 3), dtype=np.uint8))
        for _ in range(count)
    ]
