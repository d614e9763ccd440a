"""Tiny pipelines whose denoiser is a U-Net: Stable Diffusion, its kin, and cascades of stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models.pipelines import parts
from tests.models.pipelines.parts import seeded


def stable_diffusion(folder: Path) -> Any:
    from diffusers import DDIMScheduler, StableDiffusionPipeline

    tokenizer = parts.clip_words(folder)
    return StableDiffusionPipeline(
        unet=parts.unet(),
        vae=parts.vae(),
        text_encoder=parts.clip_text(tokenizer),
        tokenizer=tokenizer,
        scheduler=DDIMScheduler(clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def latent_consistency(folder: Path) -> Any:
    from diffusers import LatentConsistencyModelPipeline, LCMScheduler

    tokenizer = parts.clip_words(folder)
    return LatentConsistencyModelPipeline(
        unet=parts.unet(time_cond_proj_dim=32),
        vae=parts.vae(),
        text_encoder=parts.clip_text(tokenizer),
        tokenizer=tokenizer,
        scheduler=LCMScheduler(beta_schedule="scaled_linear", clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
        image_encoder=None,
        requires_safety_checker=False,
    )


def sdxl(folder: Path) -> Any:
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline

    tokenizer = parts.clip_words(folder)
    return StableDiffusionXLPipeline(
        unet=parts.unet(
            attention_head_dim=(2, 4),
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            transformer_layers_per_block=(1, 2),
            projection_class_embeddings_input_dim=80,
            cross_attention_dim=64,
        ),
        vae=parts.vae(),
        text_encoder=parts.clip_text(tokenizer, hidden_act="gelu"),
        tokenizer=tokenizer,
        text_encoder_2=parts.clip_text(tokenizer, projection=True, hidden_act="gelu"),
        tokenizer_2=tokenizer,
        scheduler=EulerDiscreteScheduler(),
        add_watermarker=False,
    )


def deepfloyd_if(folder: Path) -> Any:
    from diffusers import DDPMScheduler, IFPipeline, UNet2DConditionModel

    tokenizer = parts.words()
    unet = UNet2DConditionModel(
        sample_size=32,
        layers_per_block=1,
        block_out_channels=[32, 64],
        down_block_types=["ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"],
        mid_block_type="UNetMidBlock2DSimpleCrossAttn",
        up_block_types=["SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"],
        in_channels=3,
        out_channels=6,
        cross_attention_dim=32,
        encoder_hid_dim=32,
        attention_head_dim=8,
        addition_embed_type="text",
        addition_embed_type_num_heads=2,
        cross_attention_norm="group_norm",
        resnet_time_scale_shift="scale_shift",
        act_fn="gelu",
    )
    return IFPipeline(
        text_encoder=parts.t5(tokenizer),
        tokenizer=tokenizer,
        unet=seeded(unet, 0.05),
        scheduler=DDPMScheduler(
            beta_schedule="squaredcos_cap_v2",
            thresholding=True,
            dynamic_thresholding_ratio=0.95,
            sample_max_value=1.0,
            variance_type="learned_range",
        ),
        watermarker=None,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def _movq() -> Any:
    from diffusers import VQModel

    return VQModel(
        block_out_channels=[32, 64],
        down_block_types=["DownEncoderBlock2D", "AttnDownEncoderBlock2D"],
        in_channels=3,
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=8,
        norm_type="spatial",
        num_vq_embeddings=12,
        out_channels=3,
        up_block_types=["AttnUpDecoderBlock2D", "UpDecoderBlock2D"],
        vq_embed_dim=4,
    ).eval()


def _prior(width: int, tokenizer: Any) -> dict[str, Any]:
    """The first stage of Kandinsky 2: from a text to the embedding of an image."""
    import torch
    from diffusers import PriorTransformer, UnCLIPScheduler
    from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModelWithProjection

    prior = seeded(
        PriorTransformer(
            num_attention_heads=2, attention_head_dim=12, embedding_dim=width, num_layers=1
        )
    )
    prior.clip_std = torch.nn.Parameter(torch.ones(prior.clip_std.shape))
    vision = CLIPVisionConfig(
        hidden_size=width,
        image_size=32,
        projection_dim=width,
        intermediate_size=37,
        num_attention_heads=4,
        num_hidden_layers=1,
        patch_size=16,
    )
    return {
        "prior_prior": prior,
        "prior_image_encoder": seeded(CLIPVisionModelWithProjection(vision)),
        "prior_text_encoder": parts.clip_text(tokenizer, projection=True),
        "prior_tokenizer": tokenizer,
        "prior_scheduler": UnCLIPScheduler(
            variance_type="fixed_small_log",
            prediction_type="sample",
            clip_sample=True,
            clip_sample_range=10.0,
        ),
        "prior_image_processor": CLIPImageProcessor(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        ),
    }


def _kandinsky_unet(embedding: str, projection: str) -> Any:
    from diffusers import UNet2DConditionModel

    return seeded(
        UNet2DConditionModel(
            sample_size=32,
            in_channels=4,
            out_channels=8,
            addition_embed_type=embedding,
            down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
            up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
            mid_block_type="UNetMidBlock2DSimpleCrossAttn",
            block_out_channels=(32, 64),
            layers_per_block=1,
            encoder_hid_dim=32,
            encoder_hid_dim_type=projection,
            cross_attention_dim=32,
            attention_head_dim=4,
            resnet_time_scale_shift="scale_shift",
            class_embed_type=None,
        ),
        0.05,
    )


def _kandinsky_scheduler() -> Any:
    from diffusers import DDIMScheduler

    return DDIMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        clip_sample=False,
        set_alpha_to_one=False,
        steps_offset=1,
    )


def kandinsky22(folder: Path) -> Any:
    from diffusers import KandinskyV22CombinedPipeline

    return KandinskyV22CombinedPipeline(
        unet=_kandinsky_unet("image", "image_proj"),
        scheduler=_kandinsky_scheduler(),
        movq=_movq(),
        **_prior(32, parts.clip_words(folder)),
    )


def kandinsky3(folder: Path) -> Any:
    from diffusers import DDPMScheduler, Kandinsky3Pipeline, Kandinsky3UNet

    tokenizer = parts.words(longest=128)
    return Kandinsky3Pipeline(
        unet=seeded(
            Kandinsky3UNet(
                in_channels=4,
                time_embedding_dim=4,
                groups=2,
                attention_head_dim=4,
                layers_per_block=3,
                block_out_channels=(32, 64),
                cross_attention_dim=4,
                encoder_hid_dim=32,
            ),
            0.05,
        ),
        scheduler=DDPMScheduler(beta_schedule="squaredcos_cap_v2", steps_offset=1),
        movq=_movq(),
        text_encoder=parts.t5(tokenizer),
        tokenizer=tokenizer,
    )


def _cascade_unet(**options: Any) -> Any:
    from diffusers.models import StableCascadeUNet

    return seeded(StableCascadeUNet(**options))


def stable_cascade(folder: Path) -> Any:
    from diffusers import DDPMWuerstchenScheduler, StableCascadeCombinedPipeline
    from diffusers.pipelines.deprecated.wuerstchen import PaellaVQModel

    tokenizer = parts.clip_words(folder)
    prior = _cascade_unet(
        conditioning_dim=32,
        block_out_channels=(32, 32),
        num_attention_heads=(2, 2),
        down_num_layers_per_block=(1, 1),
        up_num_layers_per_block=(1, 1),
        clip_image_in_channels=768,
        switch_level=(False,),
        clip_text_in_channels=32,
        clip_text_pooled_in_channels=32,
    )
    block = ("SDCascadeResBlock", "SDCascadeTimestepBlock")
    decoder = _cascade_unet(
        in_channels=4,
        out_channels=4,
        conditioning_dim=32,
        block_out_channels=(16, 32),
        num_attention_heads=(-1, 2),
        down_num_layers_per_block=(1, 1),
        up_num_layers_per_block=(1, 1),
        down_blocks_repeat_mappers=(1, 1),
        up_blocks_repeat_mappers=(1, 1),
        block_types_per_layer=(block, (*block, "SDCascadeAttnBlock")),
        switch_level=None,
        clip_text_pooled_in_channels=32,
        dropout=(0.1, 0.1),
    )
    return StableCascadeCombinedPipeline(
        text_encoder=parts.clip_text(tokenizer, projection=True),
        tokenizer=tokenizer,
        decoder=decoder,
        scheduler=DDPMWuerstchenScheduler(),
        vqgan=seeded(PaellaVQModel(bottleneck_blocks=1, num_vq_embeddings=2), 0.05),
        prior_text_encoder=parts.clip_text(tokenizer, projection=True),
        prior_tokenizer=tokenizer,
        prior_prior=prior,
        prior_scheduler=DDPMWuerstchenScheduler(),
        prior_feature_extractor=None,
        prior_image_encoder=None,
    )


def amused(folder: Path) -> Any:
    """Amused, whose scheduler takes one random generator for a whole batch."""
    from diffusers import AmusedPipeline, AmusedScheduler, UVit2DModel, VQModel
    from transformers import CLIPTextModelWithProjection

    tokenizer = parts.clip_words(folder)
    return AmusedPipeline(
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
            parts.text_config(tokenizer, hidden_size=8, num_attention_heads=1, projection_dim=8)
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
    )
