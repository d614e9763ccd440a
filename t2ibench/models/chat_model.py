"""Run a chat model with transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Request
from t2ibench.models.devices import choose_device, free_memory, model_dtype, torch_dtype
from t2ibench.models.fingerprint import find_weights
from t2ibench.models.hub import ask_hub, load_part
from t2ibench.models.language import Message
from t2ibench.models.locations import loading
from t2ibench.models.server_errors import IncompleteReplyError
from t2ibench.models.thinking import without_thinking


class ChatModel:
    """A chat model of transformers that answers one conversation at a time.

    Batches would be quicker, but padding changes the last digits of a model's numbers, and a reply
    must not depend on what else is asked. `identity()` identifies the weights; for a model of the
    hub it takes a request.
    """

    def __init__(self, request: Request[Any], max_tokens: int) -> None:
        self._where, self.identity = find_weights(request.source, "hf:")
        self._device = choose_device(request.device)
        self.dtype = model_dtype(request.dtype, self._device)
        self._max_tokens = max_tokens
        self._tokenizer: Any = None
        self._model: Any = None

    def load(self) -> None:
        """Load the model unless it is loaded."""
        if self._model is not None:
            return
        source = self._where
        local = ask_hub(source, "config.json")
        from transformers import AutoModelForCausalLM, AutoTokenizer

        with loading(
            source, "Give a hub id such as Qwen/Qwen2.5-7B-Instruct, or a local folder."
        ):
            self._tokenizer = load_part(AutoTokenizer, source, **local)
            options = {
                "use_safetensors": True,
                "dtype": torch_dtype(self.dtype),
                **local,
            }
            model = load_part(AutoModelForCausalLM, source, **options)
        if not self._tokenizer.chat_template:
            raise T2IBenchError(
                f"'{source}' has no chat template.", "Give an instruction-tuned model."
            )
        self._model = model.to(self._device).eval()

    def release(self) -> None:
        """Free the memory of the model; the next use loads it again."""
        self._model = None
        free_memory()

    def reply(
        self, messages: Sequence[Message], temperature: float = 0.0, seed: int = 0
    ) -> str:
        """Return the model's reply to a conversation, without its reasoning.

        Raises:
            IncompleteReplyError: the reply ends before its thoughts do.
        """
        import torch

        self.load()
        inputs = self._tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
        ).to(self._device)
        sampling: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            # The model's own top-k and top-p are off, so that the given temperature alone counts.
            sampling = {
                "do_sample": True,
                "temperature": temperature,
                "top_k": 0,
                "top_p": 1.0,
            }
        cards = (
            range(torch.cuda.device_count()) if self._device.startswith("cuda") else ()
        )
        with torch.inference_mode(), torch.random.fork_rng(cards):
            torch.manual_seed(seed)
            out = self._model.generate(
                **inputs, **sampling, max_new_tokens=self._max_tokens
            )
        written: str = self._tokenizer.decode(
            out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )
        answer = without_thinking(written)
        if answer is None:
            raise IncompleteReplyError(
                f"the reply ends before the thoughts do (max_tokens={self._max_tokens}); raise "
                "max_tokens"
            )
        return answer
