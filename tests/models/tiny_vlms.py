"""Tiny vision-language models of tiny_vlms.yaml with random weights, and their processors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.models import tiny

TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))[
    "models"
]
VLMS = ("llava", *TABLE)


def _tokenizer(entry: Mapping[str, Any]) -> Any:
    from transformers import PreTrainedTokenizerFast

    named, sides = entry.get("named", {}), range(1, entry.get("tiles", 0) + 1)
    tiles = [f"<row_{row}_col_{column}>" for row in sides for column in sides]
    tokenizer = tiny.letter_tokenizer()
    added = ["<image>", *entry.get("tokens", ()), *named.values(), *tiles]
    tokenizer.add_special_tokens({"additional_special_tokens": added})
    chat = tiny.CHAT.replace("<image>", entry.get("image", "<image>"))
    if not named:
        tokenizer.chat_template = chat
        return tokenizer
    # Newer processors want special tokens by name.
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer,
        **{key: getattr(tokenizer, key) for key in tiny.TOKENS},
        extra_special_tokens=named,
        chat_template=chat,
        model_max_length=4096,
    )


def save(name: str, folder: Path) -> Path:
    """Save a model and its processor into a folder, with the same weights every time."""
    import torch
    import transformers

    if name == "llava":
        return tiny.llava(folder)
    tiny.seed()
    entry = TABLE[name]
    tokenizer = _tokenizer(entry)
    config = {
        key: tokenizer.convert_tokens_to_ids(value) if isinstance(value, str) else value
        for key, value in entry["config"].items()
    }
    config["text_config"] = {**tiny.token_ids(tokenizer), **config["text_config"]}
    kinds = [
        getattr(transformers, entry["model"] + kind)
        for kind in ("Config", "ForConditionalGeneration", "Processor")
    ]
    model = kinds[1](kinds[0](**config))
    with torch.no_grad():
        if name == "gemma3":  # made of zeros, so that no image would count
            torch.nn.init.normal_(
                model.model.multi_modal_projector.mm_input_projection_weight
            )
        # Weights as large as trained ones, so that images and questions change the answers.
        for part, weight in model.named_parameters():
            if weight.ndim >= 2:
                weight.mul_(8 if "lm_head" in part or "embed" in part else 4)
    model.save_pretrained(folder)
    parts = {
        key: getattr(transformers, part["class"])(
            **{k: part[k] for k in part if k != "class"}
        )
        if isinstance(part, dict)
        else part
        for key, part in entry["processor"].items()
    }
    chat = tokenizer.chat_template
    kinds[2](tokenizer=tokenizer, chat_template=chat, **parts).save_pretrained(folder)
    return folder
