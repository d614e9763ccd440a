"""The tokenizer and the shape of the text encoders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from t2ibench.toyland.world import world
from toymodels.data import written_captions

LENGTH = 32  # tokens
_LETTERS = list("abcdefghijklmnopqrstuvwxyz0123456789,.-'&!?:;()/\"")


def build_tokenizer(folder: Path) -> Any:
    """A CLIP tokenizer whose merges were learnt on the tasks' words; anything else it spells."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import CLIPTokenizer

    raw = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    raw.normalizer = normalizers.Lowercase()
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=6000,
        min_frequency=1,
        end_of_word_suffix="</w>",
        initial_alphabet=_LETTERS,
        special_tokens=["<|startoftext|>", "<|endoftext|>"],
        show_progress=False,
    )
    here = world()
    words = {" ".join(phrase) for phrase in (*here.things, *here.fixed)}
    words |= here.person | here.several | here.plain
    raw.train_from_iterator([*written_captions(), *sorted(words)], trainer)
    trained = json.loads(raw.to_str())["model"]
    vocab: dict[str, int] = trained["vocab"]
    for letter in _LETTERS:
        for token in (letter, f"{letter}</w>"):
            vocab.setdefault(token, len(vocab))
    merges = [
        " ".join(pair) if isinstance(pair, list) else pair for pair in trained["merges"]
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    return CLIPTokenizer.from_pretrained(folder, model_max_length=LENGTH)


def tokens_of(tokenizer: Any, captions: list[str]) -> torch.Tensor:
    """Token ids, shape (n, LENGTH)."""
    found: torch.Tensor = tokenizer(
        captions,
        padding="max_length",
        max_length=LENGTH,
        truncation=True,
        return_tensors="pt",
    ).input_ids
    return found


def text_config(tokenizer: Any) -> Any:
    """Two layers of 64, for `toy` and for `toy-clip`."""
    from transformers import CLIPTextConfig

    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        projection_dim=48,
    )
