"""Vision-language judges and proposers of transformers, on tiny models with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.judges import create_judges
from t2ibench.models.judges.replies import instruction
from t2ibench.models.judges.vlm import VlmJudge
from t2ibench.models.proposers import create_proposer
from t2ibench.models.protocols import Query
from tests.models import tiny

# Loads torch models; the quick loop goes without.
pytestmark = pytest.mark.slow

CLASSES = ("male", "female", "a person of another gender")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def judge(folder: Path) -> VlmJudge:
    (found,) = create_judges([f"vlm:{folder}"], {"max_tokens": "5"}, device="cpu")
    assert isinstance(found, VlmJudge)
    return found


def queries(*classes: str) -> list[Query]:
    images = tiny.images(3)
    return [Query(image, "p", n, str(n), "Which?", classes) for n, image in enumerate(images)]


def by_hand(folder: Path, query: Query, name: str) -> float:
    """Mean log-probability of a class, token by token, each in a forward pass of its own.

    The model is loaded and asked here, not by the judge.
    """
    import torch
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    model = LlavaForConditionalGeneration.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    content = [
        {"type": "image"},
        {"type": "text", "text": instruction(query.question, query.classes)},
    ]
    prompt = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True
    )
    inputs = dict(processor(images=query.image, text=prompt, return_tensors="pt"))
    total = []
    for token in processor.tokenizer(name, add_special_tokens=False).input_ids:
        with torch.inference_mode():
            logits = model(**inputs).logits[0, -1].float()
        total.append(float(torch.log_softmax(logits, dim=-1)[token]))
        more = torch.tensor([[token]])
        inputs["input_ids"] = torch.cat([inputs["input_ids"], more], dim=1)
        mask = inputs["attention_mask"]
        inputs["attention_mask"] = torch.cat([mask, torch.ones_like(more)], dim=1)
    return float(np.mean(total))


def test_a_class_is_chosen_by_its_likelihood(folder: Path, judge: VlmJudge) -> None:
    for query, found in zip(queries(*CLASSES), judge.answer(queries(*CLASSES)), strict=True):
        scores: dict[str, Any] = json.loads(found.raw)
        assert set(scores) == {*CLASSES, "unknown"}
        assert found.answer == max(scores, key=lambda name: scores[name])
        for name, score in scores.items():
            assert score == pytest.approx(by_hand(folder, query, name), abs=2e-3)


def test_the_image_counts_and_the_order_does_not(judge: VlmJudge) -> None:
    answers = judge.answer(queries(*CLASSES))
    assert len({found.raw for found in answers}) == 3
    assert judge.answer(queries(*CLASSES)[::-1])[::-1] == answers


def test_free_text_is_greedy(judge: VlmJudge) -> None:
    first, again = judge.answer(queries()), judge.answer(queries())
    assert first == again
    assert all(found.answer for found in first)


def test_fingerprints(folder: Path, judge: VlmJudge) -> None:
    (other,) = create_judges([f"vlm:{folder}"], {"max_tokens": "6"}, device="cpu")
    assert other.fingerprint != judge.fingerprint


def test_what_is_no_vision_language_model(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match=r"could not load|no processor"):
        create_judges([f"vlm:{tiny.llama(tmp_path / 'llama')}"], {})
    with pytest.raises(T2IBenchError, match="has not been downloaded"):
        create_judges(["vlm:nobody/nothing"], {})


def test_a_proposer_of_transformers(tmp_path: Path) -> None:
    folder = tiny.llama(tmp_path / "llama")
    proposer = create_proposer(f"hf:{folder}", {"max_tokens": "8"}, device="cpu")
    messages = [{"role": "user", "content": "Prompt: a chef"}]
    assert proposer.reply(messages) == proposer.reply(messages)
    assert len(proposer.reply(messages)) <= 8
    with pytest.raises(T2IBenchError, match="no chat template"):
        create_proposer(f"hf:{tiny.llama(tmp_path / 'base', chat=False)}", {}, device="cpu")
    with pytest.raises(T2IBenchError, match="No such folder"):
        create_proposer("hf:./nowhere", {})
