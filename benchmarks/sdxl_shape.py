"""The shape of Stable Diffusion XL, with random weights: 2.6 billion numbers in its denoiser."""

from __future__ import annotations

from typing import Any

import torch

# Of the published configurations of stable-diffusion-xl-base-1.0.
UNET = {
    "sample_size": 128,
    "block_out_channels": (320, 640, 1280),
    "layers_per_block": 2,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    "transformer_layers_per_block": (1, 2, 10),
    "attention_head_dim": (5, 10, 20),
    "cross_attention_dim": 2048,
    "use_linear_projection": True,
    "addition_embed_type": "text_time",
    "addition_time_embed_dim": 256,
    "projection_class_embeddings_input_dim": 2816,
}
VAE = {
    "sample_size": 1024,
    "block_out_channels": (128, 256, 512, 512),
    "layers_per_block": 2,
    "latent_channels": 4,
    "scaling_factor": 0.13025,
    "down_block_types": ["DownEncoderBlock2D"] * 4,
    "up_block_types": ["UpDecoderBlock2D"] * 4,
}
# Width, layers and heads of its two text encoders.
TEXTS = ((768, 12, 12), (1280, 32, 20))


def sdxl_of_the_real_shape(tokenizer: Any, device: str, dtype: torch.dtype) -> Any:
    """The pipeline, built on a device in a precision, so that nothing is copied or converted."""
    from diffusers import (
        AutoencoderKL,
        EulerDiscreteScheduler,
        StableDiffusionXLPipeline,
        UNet2DConditionModel,
    )
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            unet = UNet2DConditionModel(**UNET)
            vae = AutoencoderKL(**VAE)
            first = CLIPTextModel(_text_config(tokenizer, *TEXTS[0]))
            second = CLIPTextModelWithProjection(_text_config(tokenizer, *TEXTS[1]))
    finally:
        torch.set_default_dtype(before)
    return StableDiffusionXLPipeline(
        unet=unet,
        vae=vae,
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        text_encoder=first,
        text_encoder_2=second,
        scheduler=EulerDiscreteScheduler(),
        add_watermarker=False,
    )


def _text_config(tokenizer: Any, width: int, layers: int, heads: int) -> Any:
    from transformers import CLIPTextConfig

    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        projection_dim=width,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
