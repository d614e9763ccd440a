"""The proposer `hf:ID_OR_DIR`: a chat model of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.devices import choose_device, model_dtype, quietly, torch_dtype
from t2ibench.models.fingerprint import find_weights, fingerprint
from t2ibench.models.hub import ask_hub
from t2ibench.models.places import loading_hint
from t2ibench.models.protocols import Message


class HfArguments(Arguments):
    """What --proposer-args are taken; `max_tokens` is the length of the longest reply."""

    max_tokens: PositiveInt = 1024


class ModelProposer:
    """A chat model of transformers, greedily (see models.protocols.Proposer).

    Args:
        name: As the user wrote it.
        source: A hub id, or a folder that save_pretrained wrote.
        device: Where it runs; None to choose.
        dtype: Its precision; None is bfloat16 on CUDA and float32 elsewhere.
        max_tokens: Longest reply.

    Raises:
        T2IBenchError: it cannot be loaded, or has no chat template.
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        device: str | None = None,
        dtype: str | None = None,
        max_tokens: int = 1024,
    ) -> None:
        where, identity = find_weights(source, "hf:")
        self.name = name
        self._device = choose_device(device)
        self._dtype = torch_dtype(model_dtype(dtype, self._device))
        self._max_tokens = max_tokens
        self._load(where)
        self.fingerprint = fingerprint(
            {
                "adapter": "hf proposer 1",
                "weights": identity(),
                "dtype": str(self._dtype),
                "max_tokens": max_tokens,
            }
        )

    def _load(self, source: str) -> None:
        local = ask_hub(source, "config.json")
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            with quietly():
                self._tokenizer = AutoTokenizer.from_pretrained(
                    source, trust_remote_code=False, **local
                )
                model = AutoModelForCausalLM.from_pretrained(
                    source,
                    use_safetensors=True,
                    trust_remote_code=False,
                    dtype=self._dtype,
                    **local,
                )
        except Exception as error:
            raise T2IBenchError(
                f"transformers could not load '{source}': {first_line(error)}",
                loading_hint(source, error)
                or "Give a hub id such as Qwen/Qwen2.5-7B-Instruct, or a local folder.",
            ) from error
        if not self._tokenizer.chat_template:
            raise T2IBenchError(
                f"'{source}' has no chat template.", "Give an instruction-tuned model."
            )
        self._model: Any = model.to(self._device).eval()

    def reply(self, messages: Sequence[Message]) -> str:
        """Generates a reply."""
        import torch

        inputs = self._tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
        ).to(self._device)
        with torch.inference_mode():
            out = self._model.generate(**inputs, do_sample=False, max_new_tokens=self._max_tokens)
        text: str = self._tokenizer.decode(
            out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )
        return text


def _create(request: Request[HfArguments]) -> ModelProposer:
    return ModelProposer(
        request.spec,
        request.source,
        device=request.device,
        dtype=request.dtype,
        max_tokens=request.args.max_tokens,
    )


ADAPTER = Adapter(
    create=_create,
    form="hf:ID_OR_DIR",
    description="a chat model of transformers",
    Args=HfArguments,
    check=lambda request: find_weights(request.source, "hf:"),
)
