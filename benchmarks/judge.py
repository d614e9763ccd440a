"""Speed of the judge `vlm:…` beside plain loops over transformers, in one run.

    python benchmarks/judge.py [--images 2] [--device cpu] [--dtype float32] [--json FILE]
    python benchmarks/judge.py --size large --device cuda --dtype bfloat16

Models of two kinds with random weights, built here, read images as some 600 tokens. They are tiny
or, for a GPU, of about 1,000 million numbers ('large'). The loop is
what a user of transformers writes: for each class, the whole prompt with its image and the class
behind it goes through the model, and the class with the highest mean log-probability is the answer.
Both preprocess an image once for a question, and both must give the same answers. Free text is
compared with transformers' own pipeline. Times are the best of two, taken in turns.

Where classes are closer to the best than rounding errors, the judge scores those again in the
loop's way. Models with random weights do so more often than trained ones: the table counts it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from tabulate import tabulate
from timing import Timed, timed, write
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForImageTextToText,
    AutoProcessor,
    CLIPImageProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessor,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
    pipeline,
)

from t2ibench.models.adapter import Request
from t2ibench.models.judges.replies import instruction
from t2ibench.models.judges.vlm import VlmArguments, VlmJudge
from t2ibench.models.library_messages import collect_messages
from t2ibench.models.protocols import Answer, Query

CLASSES = (
    "female",
    "male",
    "young",
    "middle-aged",
    "old",
    "light skin",
    "dark skin",
    "a crowd",
)
QUESTIONS = (
    "What is the gender of the person in the image?",
    "How old is the person in the image?",
    "Which of these does the image show?",
)
CLASS_COUNTS = (2, 4, 8)
TOKENS = 12  # of a free answer
ROUNDS = 2
_PARTS = "{% for part in messages[0]['content'] %}{% if part['type'] == 'image' %}"
_ENDS = "{% else %}{{ part['text'] }}{% endif %}{% endfor %}\nassistant: "


def tokenizer(specials: list[str], image: str) -> PreTrainedTokenizerFast:
    """Byte pairs learnt from the questions, so that prompts are cut as coarsely as real ones."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    texts = [instruction(question, CLASSES) for question in QUESTIONS]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        initial_alphabet=alphabet,
        special_tokens=["<pad>", "</s>", *specials],
    )
    raw.train_from_iterator([*texts, "user: \nassistant: "] * 20, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        eos_token="</s>",
        additional_special_tokens=specials,
        chat_template="user: " + _PARTS + image + _ENDS,
        model_max_length=8192,
    )


# Of the text model, the image tower of LLaVA and that of Qwen2-VL.
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "tiny": {
        "text": {
            "hidden_size": 256,
            "intermediate_size": 704,
            "num_hidden_layers": 4,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
        },
        "rope": {"mrope_section": [4, 6, 6]},
        "clip": {
            "hidden_size": 192,
            "intermediate_size": 512,
            "num_hidden_layers": 4,
            "num_attention_heads": 6,
        },
        "qwen": {"depth": 2, "embed_dim": 64, "hidden_size": 256, "num_heads": 4},
    },
    "large": {
        "text": {
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "num_hidden_layers": 16,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
        },
        "rope": {"mrope_section": [16, 24, 24]},
        "clip": {
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
        },
        "qwen": {"depth": 32, "embed_dim": 1280, "hidden_size": 2048, "num_heads": 16},
    },
}


def text_config(tokens: PreTrainedTokenizerFast, size: str) -> dict[str, Any]:
    return {
        **SIZES[size]["text"],
        "vocab_size": len(tokens),
        "max_position_embeddings": 8192,
        "pad_token_id": tokens.pad_token_id,
        "eos_token_id": tokens.eos_token_id,
        "bos_token_id": None,
    }


def llava(folder: Path, size: str) -> None:
    """336 pixels in patches of 14: 576 tokens."""
    tokens = tokenizer(["<image>"], "<image>")
    vision = CLIPVisionConfig(**SIZES[size]["clip"], image_size=336, patch_size=14)
    config = LlavaConfig(
        vision_config=vision,
        text_config=LlamaConfig(**text_config(tokens, size)),
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    LlavaProcessor(
        image_processor=CLIPImageProcessor(
            size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336}
        ),
        tokenizer=tokens,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=tokens.chat_template,
    ).save_pretrained(folder)


def qwen2_vl(folder: Path, size: str) -> None:
    """28 pixels a token: 24 x 25 of them."""
    names = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    tokens = tokenizer(names, "<|vision_start|><|image_pad|><|vision_end|>")
    rope = {"rope_type": "default", "rope_theta": 1e4, **SIZES[size]["rope"]}
    ids = dict(zip(names, tokens.convert_tokens_to_ids(names), strict=True))
    config = Qwen2VLConfig(
        text_config={**text_config(tokens, size), "rope_parameters": rope},
        vision_config={**SIZES[size]["qwen"], "mlp_ratio": 2},
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    Qwen2VLForConditionalGeneration(config).save_pretrained(folder)
    Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(),
        tokenizer=tokens,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=tokens.chat_template,
    ).save_pretrained(folder)


class Loop:
    """The straightforward way: one forward pass of transformers for each class."""

    def __init__(self, folder: Path, device: str, dtype: torch.dtype) -> None:
        self.model = AutoModelForImageTextToText.from_pretrained(
            folder, dtype=dtype
        ).to(device)
        self.model.eval()
        self.processor = AutoProcessor.from_pretrained(folder)
        self.device, self.dtype = device, dtype

    @torch.inference_mode()
    def answer(self, query: Query) -> str:
        text = instruction(query.question, query.classes)
        content = [{"type": "image"}, {"type": "text", "text": text}]
        prompt = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        start = self.processor(images=query.image, text=prompt, return_tensors="pt")
        start = {
            key: value.to(
                self.device, self.dtype if value.is_floating_point() else None
            )
            for key, value in start.items()
        }
        length = start["input_ids"].shape[1]
        scores = {}
        for name in (*query.classes, "unknown"):
            answer = self.processor.tokenizer(
                name, add_special_tokens=False, return_tensors="pt"
            )
            tokens = answer.input_ids.to(self.device)
            inputs = dict(start)
            for key, value in start.items():
                # of each token: its id, its mask, its kind
                if value.shape == (1, length):
                    more = {
                        "input_ids": tokens,
                        "attention_mask": torch.ones_like(tokens),
                    }
                    inputs[key] = torch.cat(
                        [value, more.get(key, torch.zeros_like(tokens))], 1
                    )
            logits = self.model(**inputs).logits[0, length - 1 : -1].float()
            chosen = torch.log_softmax(logits, dim=-1).gather(1, tokens[0][:, None])
            scores[name] = float(chosen.mean())
        return max(scores, key=lambda name: scores[name])


def count_asked_again(judge: VlmJudge) -> list[Query]:
    """A list that receives each question of which the judge scores close classes again."""
    received: list[Query] = []
    rescore = judge._rescored

    def counted(query: Query, *given: Any) -> Answer:
        received.append(query)
        return rescore(query, *given)

    judge._rescored = counted  # type: ignore[method-assign]
    return received


def in_turns(*calls: Callable[[], Any]) -> list[Timed]:
    """The better time of some rounds of each, and what it gave."""
    rounds = [[timed(call) for call in calls] for _ in range(ROUNDS)]
    return [
        min(pair, key=lambda one: one.seconds) for pair in zip(*rounds, strict=True)
    ]


def queries(count: int, questions: int, classes: int) -> list[Query]:
    rng = np.random.default_rng(0)
    images = [
        Image.fromarray(rng.integers(0, 256, (672, 700, 3), dtype=np.uint8))
        for _ in range(count)
    ]
    return [
        Query(image, "", number, str(number), question, CLASSES[:classes])
        for number, image in enumerate(images)
        for question in QUESTIONS[:questions]
    ]


def measure(
    name: str, folder: Path, options: argparse.Namespace
) -> list[dict[str, Any]]:
    dtype = getattr(torch, options.dtype)
    args = VlmArguments(max_tokens=TOKENS)
    judge = VlmJudge(
        Request(
            f"vlm:{name}", str(folder), args, device=options.device, dtype=options.dtype
        )
    )
    said: list[str] = []
    judge.report_waits(said.append)
    again = count_asked_again(judge)
    loop = Loop(folder, options.device, dtype)
    judge.answer(queries(2, 1, 2))  # loads it, and compares its two ways of asking
    rows = []
    for questions, classes in [*((1, k) for k in CLASS_COUNTS), (3, 4)]:
        asked = queries(options.images, questions, classes)
        again.clear()
        ours, peer = in_turns(
            lambda asked=asked: judge.answer(asked),
            lambda asked=asked: [loop.answer(query) for query in asked],
        )
        assert [one.answer for one in ours.result] == peer.result, (name, classes)
        row = _row(name, asked, classes, ours, peer, (classes + 1) / 2)
        rows.append({**row, "asked again": len(again) // ROUNDS})
    assert not said, said
    asked = queries(options.images, 1, 0)
    task = pipeline(
        "image-text-to-text",
        model=loop.model,
        processor=loop.processor,
        device=options.device,
    )

    def chat(query: Query) -> list[dict[str, Any]]:
        text = instruction(query.question, ())
        content = [
            {"type": "image", "image": query.image},
            {"type": "text", "text": text},
        ]
        return [{"role": "user", "content": content}]

    def piped(query: Query) -> str:
        out = task(
            text=chat(query),
            max_new_tokens=TOKENS,
            generate_kwargs={"do_sample": False},
            return_full_text=False,
        )
        return str(out[0]["generated_text"])

    ours, peer = in_turns(
        lambda: judge.answer(asked), lambda: [piped(one) for one in asked]
    )
    texts = [
        (a.raw.strip(), b.strip())
        for a, b in zip(ours.result, peer.result, strict=True)
    ]
    assert all(a == b for a, b in texts), texts
    return [*rows, _row(name, asked, None, ours, peer, 1.0)]


def _row(
    name: str,
    asked: list[Query],
    classes: int | None,
    ours: Timed,
    peer: Timed,
    goal: float,
) -> dict[str, Any]:
    return {
        "model": name,
        "questions an image": len({query.question for query in asked}),
        "classes": classes,
        "t2ibench s/answer": ours.seconds / len(asked),
        "loop s/answer": peer.seconds / len(asked),
        "loop / ours": peer.seconds / ours.seconds,
        "goal": goal,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name, build in (("LLaVA-class", llava), ("Qwen2-VL-class", qwen2_vl)):
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as folder, collect_messages():
            # Built where it is fast; models are loaded from the folder.
            with torch.device(options.device):
                build(Path(folder), options.size)
            rows += measure(name, Path(folder), options)
    print(tabulate(rows, headers="keys", floatfmt=".2f", missingval="free text"))
    print("free text: the peer is transformers' pipeline('image-text-to-text')")
    write(options.json, rows)


if __name__ == "__main__":
    main()
