"""Tiny pipelines whose denoiser is a transformer and whose text encoders are CLIP, BERT or T5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models.pipelines import parts
from tests.models.pipelines.parts import seeded


def sd3(folder: Path) -> Any:
    from diffusers import SD3Transformer2DModel, StableDiffusion3Pipeline

    tokenizer, t5 = parts.clip_words(folder), parts.words()
    return StableDiffusion3Pipeline(
        transformer=seeded(
            SD3Transformer2DModel(
                sample_size=32,
                patch_size=1,
                in_channels=4,
                num_layers=2,
                attention_head_dim=8,
                num_attention_heads=4,
                caption_projection_dim=32,
                joint_attention_dim=32,
                pooled_projection_dim=64,
                out_channels=4,
            )
        ),
        vae=parts.flow_vae(),
        text_encoder=parts.clip_text(tokenizer, projection=True, hidden_act="gelu"),
        tokenizer=tokenizer,
        text_encoder_2=parts.clip_text(tokenizer, projection=True, hidden_act="gelu"),
        tokenizer_2=tokenizer,
        text_encoder_3=parts.t5(t5),
        tokenizer_3=t5,
        scheduler=parts.flow(),
    )


def flux(folder: Path) -> Any:
    from diffusers import FluxPipeline, FluxTransformer2DModel

    tokenizer, t5 = parts.clip_words(folder), parts.words()
    return FluxPipeline(
        transformer=seeded(
            FluxTransformer2DModel(
                patch_size=1,
                in_channels=4,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=16,
                num_attention_heads=2,
                joint_attention_dim=32,
                pooled_projection_dim=32,
                axes_dims_rope=[4, 4, 8],
            )
        ),
        vae=parts.flow_vae(1),
        text_encoder=parts.clip_text(tokenizer, hidden_act="gelu"),
        tokenizer=tokenizer,
        text_encoder_2=parts.t5(t5),
        tokenizer_2=t5,
        scheduler=parts.flow(),
    )


def chroma(folder: Path) -> Any:
    from diffusers import ChromaPipeline, ChromaTransformer2DModel

    tokenizer = parts.words()
    return ChromaPipeline(
        transformer=seeded(
            ChromaTransformer2DModel(
                patch_size=1,
                in_channels=4,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=16,
                num_attention_heads=2,
                joint_attention_dim=32,
                axes_dims_rope=[4, 4, 8],
                approximator_hidden_dim=32,
                approximator_layers=1,
                approximator_num_channels=16,
            )
        ),
        text_encoder=parts.t5(tokenizer),
        tokenizer=tokenizer,
        vae=parts.flow_vae(1),
        scheduler=parts.flow(),
        image_encoder=None,
        feature_extractor=None,
    )


def aura_flow(folder: Path) -> Any:
    from diffusers import AuraFlowPipeline, AuraFlowTransformer2DModel

    tokenizer = parts.words()
    return AuraFlowPipeline(
        transformer=seeded(
            AuraFlowTransformer2DModel(
                sample_size=32,
                patch_size=2,
                in_channels=4,
                num_mmdit_layers=1,
                num_single_dit_layers=1,
                attention_head_dim=8,
                num_attention_heads=4,
                caption_projection_dim=32,
                joint_attention_dim=32,
                out_channels=4,
                pos_embed_max_size=256,
            )
        ),
        text_encoder=parts.t5(tokenizer, "UMT5"),
        tokenizer=tokenizer,
        vae=parts.vae(),
        scheduler=parts.flow(),
    )


def _pixart(kind: Any) -> Any:
    from diffusers import DDIMScheduler, PixArtTransformer2DModel

    tokenizer = parts.words(longest=512)
    return kind(
        transformer=seeded(
            PixArtTransformer2DModel(
                sample_size=16,
                num_layers=2,
                patch_size=2,
                attention_head_dim=8,
                num_attention_heads=3,
                caption_channels=32,
                in_channels=4,
                cross_attention_dim=24,
                out_channels=8,
                attention_bias=True,
                activation_fn="gelu-approximate",
                num_embeds_ada_norm=1000,
                norm_type="ada_norm_single",
                norm_elementwise_affine=False,
                norm_eps=1e-6,
            )
        ),
        vae=parts.vae(),
        scheduler=DDIMScheduler(clip_sample=False),
        text_encoder=parts.t5(tokenizer),
        tokenizer=tokenizer,
    )


def pixart_alpha(folder: Path) -> Any:
    from diffusers import PixArtAlphaPipeline

    return _pixart(PixArtAlphaPipeline)


def pixart_sigma(folder: Path) -> Any:
    from diffusers import PixArtSigmaPipeline

    return _pixart(PixArtSigmaPipeline)


def cogview3(folder: Path) -> Any:
    from diffusers import (
        CogVideoXDDIMScheduler,
        CogView3PlusPipeline,
        CogView3PlusTransformer2DModel,
    )

    tokenizer = parts.words(longest=512)
    return CogView3PlusPipeline(
        transformer=seeded(
            CogView3PlusTransformer2DModel(
                patch_size=2,
                in_channels=4,
                num_layers=1,
                attention_head_dim=4,
                num_attention_heads=2,
                out_channels=4,
                text_embed_dim=32,
                time_embed_dim=8,
                condition_dim=2,
                pos_embed_max_size=8,
                sample_size=8,
            )
        ),
        vae=parts.vae(),
        scheduler=CogVideoXDDIMScheduler(),
        text_encoder=parts.t5(tokenizer),
        tokenizer=tokenizer,
    )


def hunyuan_dit(folder: Path) -> Any:
    from diffusers import DDPMScheduler, HunyuanDiT2DModel, HunyuanDiTPipeline
    from transformers import BertConfig, BertModel

    tokenizer, t5 = parts.words(), parts.words(longest=256)
    return HunyuanDiTPipeline(
        transformer=seeded(
            HunyuanDiT2DModel(
                sample_size=16,
                num_layers=2,
                patch_size=2,
                attention_head_dim=8,
                num_attention_heads=3,
                in_channels=4,
                cross_attention_dim=32,
                cross_attention_dim_t5=32,
                pooled_projection_dim=16,
                hidden_size=24,
                activation_fn="gelu-approximate",
            ),
            0.1,
        ),
        vae=parts.vae(
            block_out_channels=[8, 8, 8, 16],
            down_block_types=["DownEncoderBlock2D"] * 4,
            up_block_types=["UpDecoderBlock2D"] * 4,
        ),
        scheduler=DDPMScheduler(),
        text_encoder=seeded(
            BertModel(
                BertConfig(
                    vocab_size=len(tokenizer),
                    hidden_size=32,
                    intermediate_size=37,
                    num_hidden_layers=2,
                    num_attention_heads=4,
                )
            )
        ),
        tokenizer=tokenizer,
        text_encoder_2=parts.t5(t5),
        tokenizer_2=t5,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def bria(folder: Path) -> Any:
    from diffusers import BriaPipeline
    from diffusers.models.transformers.transformer_bria import BriaTransformer2DModel

    tokenizer = parts.words(longest=128)
    return BriaPipeline(
        transformer=seeded(
            BriaTransformer2DModel(
                patch_size=1,
                in_channels=16,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=8,
                num_attention_heads=2,
                joint_attention_dim=32,
                pooled_projection_dim=None,
                axes_dims_rope=[0, 4, 4],
            )
        ),
        vae=parts.vae(shift_factor=0, scaling_factor=0.13025),
        scheduler=parts.flow(),
        text_encoder=parts.t5(tokenizer),
        tokenizer=tokenizer,
        image_encoder=None,
        feature_extractor=None,
    )


def hidream(folder: Path) -> Any:
    from diffusers import HiDreamImagePipeline, HiDreamImageTransformer2DModel

    tokenizer, t5, llama = parts.clip_words(folder), parts.words(longest=128), parts.words()
    return HiDreamImagePipeline(
        transformer=seeded(
            HiDreamImageTransformer2DModel(
                patch_size=2,
                in_channels=4,
                out_channels=4,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=8,
                num_attention_heads=4,
                caption_channels=[32, 16],
                text_emb_dim=64,
                num_routed_experts=4,
                num_activated_experts=2,
                axes_dims_rope=(4, 2, 2),
                max_resolution=(32, 32),
                llama_layers=(0, 1),
            ),
            0.1,
        ),
        vae=parts.vae(scaling_factor=0.3611, shift_factor=0.1159),
        text_encoder=parts.clip_text(tokenizer, projection=True, max_position_embeddings=218),
        tokenizer=tokenizer,
        text_encoder_2=parts.clip_text(tokenizer, projection=True, max_position_embeddings=218),
        tokenizer_2=tokenizer,
        text_encoder_3=parts.t5(t5),
        tokenizer_3=t5,
        text_encoder_4=parts.language_model("LlamaForCausalLM", "LlamaConfig"),
        tokenizer_4=llama,
        scheduler=parts.flow(),
    )


def flux_kontext(folder: Path) -> Any:
    from diffusers import FluxKontextPipeline

    return FluxKontextPipeline(**flux(folder).components)
