"""Proposers: language models that propose biases, and replies they gave before."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from t2ibench.arguments import take_args
from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.models.judges.arguments import SERVER

Message = Mapping[str, str]  # role and content
_SCHEMES = ("hf:", "openai:", "replay:")


class Proposer(Protocol):
    """Continues a conversation.

    Attributes:
        name: As the user wrote it.
        fingerprint: SHA-256 hex over everything that decides a reply.
    """

    name: str
    fingerprint: str

    def reply(self, messages: Sequence[Message]) -> str:
        """The next reply.

        Raises:
            T2IBenchError: there is none.
        """
        ...


def list_proposers() -> list[tuple[str, str]]:
    """Every kind of proposer with a line on it."""
    return [
        ("hf:ID_OR_DIR", "a chat model of transformers"),
        ("openai:MODEL", "any OpenAI-compatible server; --proposer-args base_url=…"),
        ("replay:FILE", "replies recorded before; nothing is asked"),
    ]


def create_proposer(
    spec: str, args: Mapping[str, str], *, device: str | None = None, dtype: str | None = None
) -> Proposer:
    """Make a proposer.

    Raises:
        T2IBenchError: there is no such proposer, or it cannot be loaded.
    """
    scheme, _, rest = spec.partition(":")
    if f"{scheme}:" not in _SCHEMES or not rest:
        raise T2IBenchError(
            f"There is no proposer '{spec}'.{did_you_mean(f'{scheme}:', _SCHEMES)}",
            "Proposers: " + ", ".join(name for name, _ in list_proposers()) + ".",
        )
    if scheme == "openai":
        taken = take_args(args, SERVER, spec, flag="--proposer-args")
        return ServerProposer(spec, rest, taken)
    if scheme == "replay":
        take_args(args, {}, spec, flag="--proposer-args")
        return ReplayProposer(spec, Path(rest).expanduser())
    taken = take_args(args, {"max_tokens": int}, spec, flag="--proposer-args")
    return ModelProposer(spec, rest, device=device, dtype=dtype, **taken)


def conversation_key(messages: Sequence[Message]) -> str:
    """What a recorded reply is found by."""
    return json.dumps([[m["role"], m["content"]] for m in messages], ensure_ascii=False)


class ServerProposer:
    """A model on a server."""

    def __init__(self, name: str, model: str, args: Mapping[str, Any]) -> None:
        from t2ibench.models.chat_server import ChatServer
        from t2ibench.models.fingerprint import fingerprint

        self.name = name
        self._server = ChatServer(model, **{"max_tokens": 1024, **args})
        self.fingerprint = fingerprint({"adapter": "openai proposer 1", **self._server.settings})

    def reply(self, messages: Sequence[Message]) -> str:
        """Asks the server."""
        return self._server.chat(messages)


class ReplayProposer:
    """Replies that were recorded, in the form that `t2ibench propose` writes."""

    def __init__(self, name: str, path: Path) -> None:
        from t2ibench.models.fingerprint import file_hash, fingerprint

        if not path.is_file():
            raise T2IBenchError(f"There is no file '{path}'.", "Check the path after replay:")
        self.name = f"replay:{path.name}"
        self._path = path
        self.fingerprint = fingerprint({"adapter": "replay 1", "file": file_hash(path)})
        self._replies: dict[str, str] = {}
        with path.open(encoding="utf-8") as file:
            for line, text in enumerate(file, start=1):
                try:
                    row = json.loads(text)
                    key, reply = conversation_key(row["messages"]), row["reply"]
                except (ValueError, KeyError, TypeError):
                    raise T2IBenchError(
                        f"{path}:{line}: expected an object with 'messages' and 'reply'."
                    ) from None
                self._replies[key] = str(reply)

    def reply(self, messages: Sequence[Message]) -> str:
        """The recorded reply to just this conversation."""
        found = self._replies.get(conversation_key(messages))
        if found is None:
            raise T2IBenchError("no recorded reply to this conversation")
        return found


class ModelProposer:
    """A chat model of transformers, greedily."""

    def __init__(
        self,
        name: str,
        source: str,
        *,
        device: str | None = None,
        dtype: str | None = None,
        max_tokens: int = 1024,
    ) -> None:
        from t2ibench.models.devices import choose_device, model_dtype, torch_dtype
        from t2ibench.models.fingerprint import find_weights, fingerprint

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
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from t2ibench.models.devices import quietly

        try:
            with quietly():
                self._tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
                model = AutoModelForCausalLM.from_pretrained(
                    source, use_safetensors=True, trust_remote_code=False, dtype=self._dtype
                )
        except Exception as error:
            raise T2IBenchError(
                f"transformers could not load '{source}': {first_line(error)}",
                "Give a hub id such as Qwen/Qwen2.5-7B-Instruct, or a local folder.",
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
