"""Tiny pipelines of tiny.yaml, and parts of models, with random weights."""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

TABLE = yaml.safe_load(
    Path(__file__).with_name("tiny.yaml").read_text(encoding="utf-8")
)
# What a class's signature wants, and no test uses.
_NOT_LOADED = {"safety_checker", "feature_extractor", "watermarker", "image_encoder"}
WORDS = [
    "a",
    "an",
    "the",
    "of",
    "photo",
    "picture",
    "person",
    "nurse",
    "clerk",
    "rose",
    "ant",
    ",",
]
_CHAT = (
    "{% for message in messages %}{{ message['role'] }} : "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{{ part['text'] or '' }}{% endfor %}{% endif %} "
    "{% endfor %}"
)


def seeded(module: Any, spread: float = 0.25) -> Any:
    """A module with random weights that are large enough for its input to be seen in its output.

    Many initialisations of transformers are so small, or zero at their gates, that a prompt would
    not change an image by one level of 255, and a mistake in batching would not be seen either.
    """
    import torch

    if not spread:
        return module
    generator = torch.Generator().manual_seed(len(list(module.parameters())))
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim < 2:  # norms and biases keep their places
                parameter.copy_(torch.nan_to_num(parameter) + 0.1 * noise)
            else:
                parameter.copy_(spread * noise)
    return module


def seed() -> None:
    """The same random weights every time."""
    import torch

    torch.manual_seed(0)


def clip_tokenizer() -> Any:
    """A CLIP tokenizer of single letters and nothing else; it reads any lower-case text."""
    from transformers import CLIPTokenizer

    letters = "abcdefghijklmnopqrstuvwxyz0123456789,.-'"
    vocab = {letter: i for i, letter in enumerate(letters)}
    vocab |= {f"{letter}</w>": len(vocab) + i for i, letter in enumerate(letters)}
    vocab |= {"<|startoftext|>": len(vocab), "<|endoftext|>": len(vocab) + 1}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "vocab.json").write_text(json.dumps(vocab))
        Path(folder, "merges.txt").write_text("#version: 0.2\n")
        tokenizer = CLIPTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 77
    return tokenizer


# Tokens of Qwen's that stand for an image, with their numbers in tiny.yaml.
_VISION = {
    "<|video_pad|>": 28,
    "<|image_pad|>": 29,
    "<|vision_end|>": 30,
    "<|vision_start|>": 31,
}


def words(
    longest: int = 77,
    *,
    vision: bool = False,
    tokens: Mapping[str, str] | None = None,
) -> Any:
    """A tokenizer of words, with a chat template, that closes a text with </s> as T5's does.

    With `vision` it has Qwen's tokens that stand for an image; `tokens` are further ones of a
    model's, by the names of their attributes.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocab = {"<pad>": 0, "</s>": 1, "<unk>": 2}
    vocab |= {word: 3 + i for i, word in enumerate(WORDS)}
    if vision:
        vocab |= {f"w{number}": number for number in range(len(vocab), 28)} | _VISION
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
        model_max_length=longest,
        chat_template=_CHAT,
        additional_special_tokens=list(_VISION) if vision else [],
        **(
            {"bos_token": "<s>", "extra_special_tokens": dict(tokens)} if tokens else {}
        ),
    )


def vision_processor(kind: Any, longest: int) -> Any:
    """A processor of texts and images as Qwen2-VL's, which sees few pixels.

    `kind` is its class, which later models of Qwen's have under other names.
    """
    from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    pixels = {"min_pixels": 56 * 56, "max_pixels": 56 * 56}
    return kind(
        image_processor=Qwen2VLImageProcessor(**pixels),
        tokenizer=words(longest, vision=True),
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=_CHAT,
    )


def _processor(kind: Any, longest: int) -> Any:
    if kind.__name__ == "GlmImageProcessor":
        return glm_processor(kind, longest)
    return vision_processor(kind, longest)


def glm_processor(kind: Any, longest: int) -> Any:
    """A processor of texts and images as GLM-Image's, whose tokens of images are named."""
    from transformers import GlmImageImageProcessor

    tokens = {
        "image_token": "<image>",
        "grid_bos_token": "<grid>",
        "grid_eos_token": "</grid>",
    }
    return kind(
        image_processor=GlmImageImageProcessor(),
        tokenizer=words(longest, tokens=tokens),
        chat_template=_CHAT,
    )


def chat_glm_tokenizer(kind: Any) -> Any:
    """A tokenizer as Kolors', whose pieces are learned from the words of the tests."""
    import sentencepiece

    # It copies its file when it is saved, and not before.
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(WORDS)] * 20),
        model_prefix=str(folder / "tokenizer"),
        vocab_size=48,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    return kind(str(folder / "tokenizer.model"))


def tiny(kind: Any, options: Mapping[str, Any], like: str) -> Any:
    """A part of diffusers or transformers: sizes of the table, and options."""
    import torch
    import transformers

    sizes = TABLE["sizes"].get(like, {})
    if like == "transformer":
        sizes = {
            key: sizes[key] for key in sizes.keys() & inspect.signature(kind).parameters
        }
    sizes = {**sizes, **options}
    spread = sizes.pop("spread", 0.25)
    if issubclass(kind, transformers.PreTrainedModel):
        # PRX's text encoder is a part of a model, and has the configuration of that part.
        of_part = kind.__name__ == "T5GemmaEncoder"
        configured = transformers.T5GemmaModuleConfig if of_part else kind.config_class
        sizes = {"config": configured(**sizes)}
    one = kind(**sizes)
    if not isinstance(one, torch.nn.Module):
        return one
    if kind.__name__ == "ChatGLMModel":
        # Its norms and biases begin with whatever was in memory.
        for name, parameter in one.named_parameters():
            parameter.data.fill_(1 if "norm" in name else 0)
    seeded(one, spread)
    if kind.__name__ == "PriorTransformer":
        one.clip_std.data.fill_(1)
    return one.eval()


def entry_of(name: str) -> dict[str, Any]:
    entry = {**TABLE["pipelines"], **TABLE["editors"]}[name]
    return {**entry_of(entry["like"]), **entry} if "like" in entry else entry


def build(name: str) -> Any:
    """The tiny pipeline of a class of diffusers."""
    import diffusers
    import transformers

    pipeline, entry = getattr(diffusers, name), entry_of(name)
    types, made = pipeline._get_signature_types(), {}
    for part, parameter in inspect.signature(pipeline).parameters.items():
        encoder = re.sub("tokenizer|text_processor", "text_encoder", part)
        given = None if part in _NOT_LOADED else entry.get(encoder, {})
        if encoder not in entry and parameter.default is not parameter.empty:
            continue
        sees = "processor" in entry
        if part == entry.get("processor"):
            longest = entry["text_encoder"].get("longest", 77)
            made[part] = _processor(types[part][0], longest)
            continue
        if not isinstance(given, dict):
            made[part] = given
            continue
        if encoder != part and types[part][0].__name__ == "ChatGLMTokenizer":
            made[part] = chat_glm_tokenizer(types[part][0])
            continue
        if encoder != part:
            kind = given.get(
                "class", types[encoder][0].__name__ if encoder in types else ""
            )
            clip = kind.startswith("CLIP")
            made[part] = (
                clip_tokenizer()
                if clip
                else words(given.get("longest", 77), vision=sees)
            )
            continue
        options = {key: given[key] for key in given.keys() - {"class", "longest"}}
        name = given.get("class", "")
        kind = getattr(diffusers, name, getattr(transformers, name, types[part][0]))
        made[part] = tiny(
            kind, options, "transformer" if part == "transformer" else kind.__name__
        )
    return pipeline(**made)


def saved(name: str, folder: Path) -> Path:
    """Save the tiny pipeline of a class into a folder, with the same weights every time.

    It is built once a process, and copied: a test may change the files of its own folder.
    """
    # The files are dated anew, as those of a pipeline that was just built.
    return Path(shutil.copytree(_built(name), folder, copy_function=shutil.copyfile))


@functools.cache
def _built(name: str) -> Path:
    """The folder of a class's tiny pipeline, which is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    seed()
    build(name).save_pretrained(folder, safe_serialization=True)
    index = folder / "model_index.json"
    data = json.loads(index.read_text(encoding="utf-8"))
    if data.get("text_encoder") == ["transformers", "T5GemmaEncoder"]:
        # Published ones have the configuration of the whole model that it is a part of.
        config = folder / "text_encoder" / "config.json"
        of_part = json.loads(config.read_text(encoding="utf-8"))
        whole = {"model_type": "t5gemma", "encoder": of_part, "decoder": of_part}
        config.write_text(json.dumps(whole), encoding="utf-8")
    if data.get("vqgan") == ["diffusers", "PaellaVQModel"]:
        # Published ones have the name it had before diffusers put it among what is deprecated.
        data["vqgan"] = ["wuerstchen", "PaellaVQModel"]
        index.write_text(json.dumps(data), encoding="utf-8")
    return folder
