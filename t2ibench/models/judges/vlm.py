"""The judge `vlm:ID_OR_DIR`: a vision-language model of transformers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.devices import choose_device, model_dtype, quietly, torch_dtype
from t2ibench.models.fingerprint import find_weights, fingerprint
from t2ibench.models.judges.replies import instruction
from t2ibench.models.places import loading_hint
from t2ibench.models.protocols import Answer, Query


class VlmArguments(Arguments):
    """What --judge-args are taken; `max_tokens` is the length of the longest free answer."""

    max_tokens: PositiveInt = 32


class VlmJudge:
    """Asks a vision-language model (see models.protocols.Judge).

    A class is chosen by its likelihood as the answer (mean log-probability of its tokens), so there
    is nothing to parse; free text is generated greedily.

    Args:
        name: As the user wrote it.
        source: A hub id, or a folder that save_pretrained wrote (model and processor).
        device: Where it runs; None to choose.
        dtype: Its precision; None is bfloat16 on CUDA and float32 elsewhere.
        max_tokens: Longest free answer.

    Raises:
        T2IBenchError: the processor cannot be loaded. The weights are loaded with the first
            question, when the generator has left the memory.
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        device: str | None = None,
        dtype: str | None = None,
        max_tokens: int = 32,
    ) -> None:
        self._source, identity = find_weights(source, "vlm:")
        self.name = name
        self.batch_size = 8
        self._device = choose_device(device)
        self._dtype = torch_dtype(model_dtype(dtype, self._device))
        self._max_tokens = max_tokens
        self._model: Any = None
        self._processor = self._load_processor()
        self.fingerprint = fingerprint(
            {
                "adapter": "vlm judge 1",
                "weights": identity(),
                "dtype": str(self._dtype),
                "max_tokens": max_tokens,
            }
        )

    def _load_processor(self) -> Any:
        from transformers import AutoProcessor

        try:
            with quietly():
                processor = AutoProcessor.from_pretrained(self._source, trust_remote_code=False)
        except Exception as error:
            raise self._cannot_load(error) from error
        if not hasattr(processor, "tokenizer") or not hasattr(processor, "image_processor"):
            raise T2IBenchError(
                f"'{self._source}' has no processor for images and text.",
                "Give a vision-language model such as llava-hf/llava-1.5-7b-hf.",
            )
        return processor

    def _cannot_load(self, error: Exception) -> T2IBenchError:
        return T2IBenchError(
            f"transformers could not load '{self._source}': {first_line(error)}",
            loading_hint(self._source, error)
            or "Give --judge vlm:ID_OR_DIR with a hub id such as llava-hf/llava-1.5-7b-hf "
            "(safetensors weights) or a local folder.",
        )

    def _loaded(self) -> Any:
        if self._model is None:
            from transformers import AutoModelForImageTextToText

            try:
                with quietly():
                    model = AutoModelForImageTextToText.from_pretrained(
                        self._source,
                        use_safetensors=True,
                        trust_remote_code=False,
                        dtype=self._dtype,
                    )
            except Exception as error:
                raise self._cannot_load(error) from error
            self._model = model.to(self._device).eval()
        return self._model

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """One after another: an answer must not depend on what was padded beside it."""
        self._loaded()
        return [self._answer_query(query) for query in queries]

    def _answer_query(self, query: Query) -> Answer:
        import torch

        try:
            with torch.inference_mode():
                inputs = self._inputs(query)
                if query.classes:
                    return self._likeliest(inputs, (*query.classes, UNKNOWN))
                return self._in_words(inputs)
        except (RuntimeError, ValueError) as error:
            return Answer(None, reason=first_line(error)[:200])

    def _inputs(self, query: Query) -> dict[str, Any]:
        """The question with its image, up to where the answer begins; a batch of one."""
        text = instruction(query.question, query.classes)
        content = [{"type": "image"}, {"type": "text", "text": text}]
        if getattr(self._processor, "chat_template", None):
            prompt = self._processor.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True
            )
        else:
            image_token = getattr(self._processor, "image_token", "<image>")
            prompt = f"USER: {image_token}\n{text} ASSISTANT:"
        inputs = self._processor(images=query.image, text=prompt, return_tensors="pt")
        return {
            key: value.to(self._device, self._dtype)
            if value.is_floating_point()
            else value.to(self._device)
            for key, value in inputs.items()
        }

    def _likeliest(self, inputs: dict[str, Any], classes: Sequence[str]) -> Answer:
        scores = {name: self._score(inputs, name) for name in classes}
        best = max(classes, key=lambda name: scores[name])
        return Answer(best, json.dumps({name: round(value, 4) for name, value in scores.items()}))

    def _score(self, inputs: dict[str, Any], name: str) -> float:
        """Mean log-probability of a class's tokens as the answer."""
        import torch

        tokens = self._processor.tokenizer(
            name, add_special_tokens=False, return_tensors="pt"
        ).input_ids.to(self._device)
        length = inputs["input_ids"].shape[1]
        longer = {key: _extended(value, tokens, key, length) for key, value in inputs.items()}
        logits = self._model(**longer).logits[0, -tokens.shape[1] - 1 : -1].float()
        chosen = torch.log_softmax(logits, dim=-1).gather(1, tokens[0][:, None])
        return float(chosen.mean())

    def _in_words(self, inputs: dict[str, Any]) -> Answer:
        out = self._model.generate(**inputs, do_sample=False, max_new_tokens=self._max_tokens)
        text = self._processor.tokenizer.decode(
            out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )
        return Answer(" ".join(text.split()) or UNKNOWN, text)


def _extended(value: Any, tokens: Any, key: str, length: int) -> Any:
    """An input with the answer's tokens behind it; pixels and their shapes stay as they are."""
    import torch

    if value.ndim != 2 or value.shape[1] != length or value.is_floating_point():
        return value
    if key == "input_ids":
        return torch.cat([value, tokens], dim=1)
    # A mask attends to the answer; a type id says that it is text.
    more = torch.full_like(tokens, 1 if "attention" in key else 0, dtype=value.dtype)
    return torch.cat([value, more], dim=1)


def _create(request: Request[VlmArguments]) -> VlmJudge:
    return VlmJudge(
        request.spec,
        request.source,
        device=request.device,
        dtype=request.dtype,
        max_tokens=request.args.max_tokens,
    )


ADAPTER = Adapter(
    create=_create,
    form="vlm:ID_OR_DIR",
    description="a vision-language model of transformers (LLaVA, Qwen-VL, …)",
    Args=VlmArguments,
    check=lambda request: find_weights(request.source, "vlm:"),
)
