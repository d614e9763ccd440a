"""Tiny pipelines whose prompts a language model reads: GLM, Gemma, Mistral, Qwen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models.pipelines import parts
from tests.models.pipelines.parts import seeded


def cogview4(folder: Path) -> Any:
    from diffusers import (
        CogView4Pipeline,
        CogView4Transformer2DModel,
        FlowMatchEulerDiscreteScheduler,
    )

    return CogView4Pipeline(
        tokenizer=parts.words(padding_side="left", longest=1024),
        text_encoder=parts.language_model("GlmModel", "GlmConfig", num_key_value_heads=1),
        vae=parts.vae(force_upcast=True),
        transformer=seeded(
            CogView4Transformer2DModel(
                patch_size=2,
                in_channels=4,
                out_channels=4,
                num_layers=2,
                attention_head_dim=4,
                num_attention_heads=4,
                text_embed_dim=16,
                time_embed_dim=8,
                condition_dim=4,
            )
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(
            base_shift=0.25, max_shift=0.75, base_image_seq_len=256, use_dynamic_shifting=True
        ),
    )


def _flux2_parts() -> dict[str, Any]:
    from diffusers import AutoencoderKLFlux2

    return {
        "vae": AutoencoderKLFlux2(
            sample_size=32,
            down_block_types=("DownEncoderBlock2D",),
            up_block_types=("UpDecoderBlock2D",),
            block_out_channels=(4,),
            layers_per_block=1,
            latent_channels=1,
            norm_num_groups=1,
            use_quant_conv=False,
            use_post_quant_conv=False,
        ).eval(),
        "scheduler": parts.flow(),
    }


def _flux2_transformer(**changes: Any) -> Any:
    from diffusers import Flux2Transformer2DModel

    return seeded(
        Flux2Transformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=16,
            timestep_guidance_channels=256,
            axes_dims_rope=[4, 4, 4, 4],
            **changes,
        )
    )


def flux2(folder: Path) -> Any:
    from diffusers import Flux2Pipeline
    from transformers import Mistral3Config, Mistral3ForConditionalGeneration

    config = Mistral3Config(
        text_config={
            "model_type": "mistral",
            "vocab_size": parts.VOCABULARY,
            "hidden_size": 16,
            "intermediate_size": 37,
            "max_position_embeddings": 512,
            "num_attention_heads": 4,
            "num_hidden_layers": 1,
            "num_key_value_heads": 2,
            "sliding_window": None,
            "pad_token_id": 0,
        },
        vision_config={
            "model_type": "pixtral",
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "intermediate_size": 37,
            "image_size": 30,
            "patch_size": 6,
        },
        image_token_index=parts.VOCABULARY - 1,
        vision_feature_layer=-1,
    )
    return Flux2Pipeline(
        transformer=_flux2_transformer(),
        text_encoder=seeded(Mistral3ForConditionalGeneration(config)),
        tokenizer=parts.words(longest=512),
        **_flux2_parts(),
    )


def flux2_klein(folder: Path) -> Any:
    from diffusers import Flux2KleinPipeline

    return Flux2KleinPipeline(
        transformer=_flux2_transformer(guidance_embeds=False),
        text_encoder=parts.language_model("Qwen3ForCausalLM", "Qwen3Config"),
        tokenizer=parts.words(longest=512),
        **_flux2_parts(),
    )


def lumina(folder: Path) -> Any:
    from diffusers import LuminaNextDiT2DModel, LuminaPipeline

    return LuminaPipeline(
        transformer=seeded(
            LuminaNextDiT2DModel(
                sample_size=16,
                patch_size=2,
                in_channels=4,
                hidden_size=8,
                num_layers=2,
                num_attention_heads=1,
                num_kv_heads=1,
                multiple_of=16,
                ffn_dim_multiplier=None,
                norm_eps=1e-5,
                learn_sigma=True,
                qk_norm=True,
                cross_attention_dim=16,
                scaling_factor=1.0,
            )
        ),
        vae=parts.vae(),
        scheduler=parts.flow(),
        tokenizer=parts.words(longest=256),
        text_encoder=parts.language_model("GemmaForCausalLM", "GemmaConfig"),
    )


def lumina2(folder: Path) -> Any:
    from diffusers import Lumina2Pipeline, Lumina2Transformer2DModel

    return Lumina2Pipeline(
        transformer=seeded(
            Lumina2Transformer2DModel(
                sample_size=16,
                patch_size=2,
                in_channels=4,
                hidden_size=8,
                num_layers=2,
                num_attention_heads=1,
                num_kv_heads=1,
                multiple_of=16,
                ffn_dim_multiplier=None,
                norm_eps=1e-5,
                scaling_factor=1.0,
                axes_dim_rope=[4, 2, 2],
                cap_feat_dim=16,
            )
        ),
        vae=parts.flow_vae(),
        scheduler=parts.flow(),
        tokenizer=parts.words(longest=256),
        text_encoder=parts.language_model("Gemma2Model", "Gemma2Config"),
    )


def _sana(kind: Any, scheduler: Any, **changes: Any) -> Any:
    from diffusers import AutoencoderDC, SanaTransformer2DModel

    return kind(
        transformer=seeded(
            SanaTransformer2DModel(
                patch_size=1,
                in_channels=4,
                out_channels=4,
                num_layers=1,
                num_attention_heads=2,
                attention_head_dim=4,
                num_cross_attention_heads=2,
                cross_attention_head_dim=4,
                cross_attention_dim=8,
                caption_channels=16,
                sample_size=32,
                **changes,
            )
        ),
        vae=AutoencoderDC(
            in_channels=3,
            latent_channels=4,
            attention_head_dim=2,
            encoder_block_types=("ResBlock", "EfficientViTBlock"),
            decoder_block_types=("ResBlock", "EfficientViTBlock"),
            encoder_block_out_channels=(8, 8),
            decoder_block_out_channels=(8, 8),
            encoder_qkv_multiscales=((), (5,)),
            decoder_qkv_multiscales=((), (5,)),
            encoder_layers_per_block=(1, 1),
            decoder_layers_per_block=[1, 1],
            downsample_block_type="conv",
            upsample_block_type="interpolate",
            decoder_norm_types="rms_norm",
            decoder_act_fns="silu",
            scaling_factor=0.41407,
        ).eval(),
        scheduler=scheduler,
        text_encoder=parts.language_model("Gemma2Model", "Gemma2Config"),
        tokenizer=parts.words(longest=300),
    )


def sana(folder: Path) -> Any:
    from diffusers import SanaPipeline

    return _sana(SanaPipeline, parts.flow())


def sana_sprint(folder: Path) -> Any:
    from diffusers import SanaSprintPipeline, SCMScheduler

    return _sana(
        SanaSprintPipeline, SCMScheduler(), qk_norm="rms_norm_across_heads", guidance_embeds=True
    )


def _qwen_vae() -> Any:
    from diffusers import AutoencoderKLQwenImage

    return AutoencoderKLQwenImage(
        base_dim=8,
        z_dim=4,
        dim_mult=[1, 2],
        num_res_blocks=1,
        temperal_downsample=[False],
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
    ).eval()


def qwen_image(folder: Path) -> Any:
    from diffusers import QwenImagePipeline, QwenImageTransformer2DModel

    return QwenImagePipeline(
        transformer=seeded(
            QwenImageTransformer2DModel(
                patch_size=2,
                in_channels=16,
                out_channels=4,
                num_layers=1,
                attention_head_dim=16,
                num_attention_heads=3,
                joint_attention_dim=16,
                guidance_embeds=False,
                axes_dims_rope=(8, 4, 4),
            )
        ),
        vae=_qwen_vae(),
        scheduler=parts.flow(),
        text_encoder=parts.qwen_vl(),
        tokenizer=parts.words(longest=1024),
    )


def kandinsky5(folder: Path) -> Any:
    from diffusers import Kandinsky5T2IPipeline, Kandinsky5Transformer3DModel

    tokenizer = parts.clip_words(folder)
    return Kandinsky5T2IPipeline(
        vae=parts.vae(latent_channels=16, scaling_factor=0.3611, shift_factor=0.1159),
        text_encoder=parts.qwen_vl(width=32),
        tokenizer=parts.words(longest=1024),
        text_encoder_2=parts.clip_text(tokenizer, hidden_size=16, num_attention_heads=2),
        tokenizer_2=tokenizer,
        transformer=seeded(
            Kandinsky5Transformer3DModel(
                in_visual_dim=16,
                in_text_dim=32,
                in_text_dim2=16,
                time_dim=16,
                out_visual_dim=16,
                patch_size=(1, 2, 2),
                model_dim=16,
                ff_dim=32,
                num_text_blocks=1,
                num_visual_blocks=1,
                axes_dims=(1, 1, 2),
                visual_cond=False,
                attention_type="regular",
            )
        ),
        scheduler=parts.flow(),
    )


def z_image(folder: Path) -> Any:
    from diffusers import ZImagePipeline, ZImageTransformer2DModel

    return ZImagePipeline(
        transformer=seeded(
            ZImageTransformer2DModel(
                all_patch_size=(2,),
                all_f_patch_size=(1,),
                in_channels=16,
                dim=32,
                n_layers=1,
                n_refiner_layers=1,
                n_heads=2,
                n_kv_heads=2,
                norm_eps=1e-5,
                qk_norm=True,
                cap_feat_dim=16,
                rope_theta=256.0,
                t_scale=1000.0,
                axes_dims=[8, 4, 4],
                axes_lens=[1024, 32, 32],
            )
        ),
        vae=parts.vae(latent_channels=16, scaling_factor=0.3611, shift_factor=0.1159),
        scheduler=parts.flow(),
        text_encoder=parts.language_model("Qwen3Model", "Qwen3Config"),
        tokenizer=parts.words(longest=512),
    )


def ovis_image(folder: Path) -> Any:
    from diffusers import OvisImagePipeline, OvisImageTransformer2DModel

    return OvisImagePipeline(
        transformer=seeded(
            OvisImageTransformer2DModel(
                patch_size=1,
                in_channels=4,
                out_channels=4,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=16,
                num_attention_heads=2,
                joint_attention_dim=16,
                axes_dims_rope=(4, 4, 8),
            )
        ),
        vae=parts.flow_vae(1),
        scheduler=parts.flow(),
        text_encoder=parts.language_model("Qwen3Model", "Qwen3Config"),
        tokenizer=parts.words(longest=1024),
    )


def krea2(folder: Path) -> Any:
    from diffusers import Krea2Pipeline, Krea2Transformer2DModel
    from transformers import Qwen3VLConfig, Qwen3VLModel

    text = {
        "vocab_size": parts.VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "pad_token_id": 0,
    }
    vision = {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": 16,
        "deepstack_visual_indexes": [0],
    }
    return Krea2Pipeline(
        transformer=seeded(
            Krea2Transformer2DModel(
                in_channels=16,
                num_layers=1,
                attention_head_dim=8,
                num_attention_heads=4,
                num_key_value_heads=2,
                intermediate_size=32,
                timestep_embed_dim=8,
                text_hidden_dim=16,
                num_text_layers=3,
                text_num_attention_heads=2,
                text_num_key_value_heads=1,
                text_intermediate_size=16,
                num_layerwise_text_blocks=1,
                num_refiner_text_blocks=1,
                axes_dims_rope=(4, 2, 2),
                rope_theta=1000.0,
            )
        ),
        vae=_qwen_vae(),
        scheduler=parts.flow(),
        text_encoder=seeded(Qwen3VLModel(Qwen3VLConfig(text_config=text, vision_config=vision))),
        tokenizer=parts.words(longest=1024),
        text_encoder_select_layers=(0, 1, 2),
    )
