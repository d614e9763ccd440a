"""The evidence of a submission: embeddings in half precision, and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.pools import CaptionPool
from t2ibench.pipeline.plan import Plan
from t2ibench.results.run import RunFolder
from t2ibench.settings import RunSettings
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.images import Attempt

_Hashes = Mapping[tuple[str, int], str]


def without_paths(
    settings: RunSettings, pools: Mapping[str, CaptionPool] | None = None
) -> dict[str, object]:
    """The settings of a rewriter, and of captions, without the folders of their files."""
    names = {one.name: one.drawn.source for one in (pools or {}).values() if one.drawn is not None}
    captions = {key: names.get(key, text) for key, text in settings.captions.items()}
    return {"captions": captions, **_without_paths_of_rewriter(settings)}


def _without_paths_of_rewriter(settings: RunSettings) -> dict[str, object]:
    args = {
        key: f"@{Path(text[1:]).name}" if text.startswith("@") else text
        for key, text in settings.rewriter_args.items()
    }
    kind, colon, source = (settings.rewriter or "").partition(":")
    if not colon or kind != "file":
        return {"rewriter_args": args}
    return {"rewriter": f"file:{Path(source).name}", "rewriter_args": args}


def pack_evidence(folder: RunFolder, plan: Plan, attempts: Sequence[Attempt], target: Path) -> None:
    """Pack what a run's encoders, their controls and its judges observed."""
    hashes = {
        (attempt.prompt, attempt.index): attempt.sha256 for attempt in attempts if attempt.sha256
    }
    texts, images = _text_keys(plan.texts), _image_keys(hashes, plan.embedded)
    for name, encoder in folder.record.encoders.items():
        store = EvidenceStore(folder.evidence, name, encoder.fingerprint)
        if not encoder.embeds_images:
            _pack_embeddings(store, name, texts, [], target)
            continue
        prompts = _text_keys(plan.prompt_texts)
        known = sorted({*texts, *prompts} - set(store.missing("texts", prompts)))
        _pack_embeddings(store, name, sorted({*texts, *known}), images, target)
    texts, images = _text_keys(plan.controlled_texts), _image_keys(hashes, plan.controlled)
    for control in folder.record.controls.values():
        store = EvidenceStore(folder.evidence, control.name, control.fingerprint)
        _pack_embeddings(store, control.name, texts, images, target)
    for name, fingerprint in folder.record.judges.items():
        answers = AnswerStore(folder.evidence, name, fingerprint)
        lines = list(dict.fromkeys(_answers(answers, name, plan, hashes)))
        if lines:
            write_text(
                target / answers.folder.name / "answers-packed.jsonl", "\n".join(lines) + "\n"
            )


def _text_keys(texts: Sequence[str]) -> list[str]:
    return sorted(text_key(text) for text in texts)


def _image_keys(hashes: _Hashes, counts: Mapping[str, int]) -> list[str]:
    return sorted({sha for (prompt, index), sha in hashes.items() if index < counts.get(prompt, 0)})


def _pack_embeddings(
    store: EvidenceStore, name: str, texts: list[str], images: list[str], target: Path
) -> None:
    kinds: tuple[tuple[Literal["images", "texts"], list[str]], ...] = (
        ("texts", texts),
        ("images", images),
    )
    for kind, keys in kinds:
        lacking = store.missing(kind, keys)
        if lacking:
            raise T2IBenchError(
                f"{len(lacking)} {kind} have no embedding by {name}.",
                "Run the command again to complete the run.",
            )
        if keys:
            rows = np.stack([store.get(kind, key) for key in keys]).astype(np.float16)
            raw = np.frombuffer(bytes.fromhex("".join(keys)), np.uint8).reshape(len(keys), -1)
            path = target / store.folder.name / f"{kind}-packed.safetensors"
            _save(path, {"keys": raw, "embeddings": rows})


def _answers(answers: AnswerStore, name: str, plan: Plan, hashes: _Hashes) -> Iterator[str]:
    """One line an answer."""
    for prompt, questions in plan.questions.items():
        for (question, classes), count in questions.items():
            for index in range(count):
                sha = hashes.get((prompt, index))
                answer = answers.get(sha, question, classes) if sha else None
                if sha and answer is None:
                    raise T2IBenchError(
                        f"{name} has not answered '{question}' about every image.",
                        "Run the command again to complete the run.",
                    )
                if answer:
                    row = {
                        "image": answer.image,
                        "question": answer.question,
                        "classes": list(answer.classes),
                        "answer": answer.answer,
                    }
                    yield json.dumps(row, ensure_ascii=False)


def _save(path: Path, tensors: dict[str, Any]) -> None:
    write_bytes(path, save(tensors))
