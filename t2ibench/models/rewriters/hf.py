"""The rewriter `hf:ID_OR_DIR`: a chat model of transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_model import ChatModel
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import RewriteRequest, Rewriting
from t2ibench.models.rewriters.instruction import Instruction, InstructionArguments, read_reply


class ModelRewriter:
    """A chat model of transformers (see models.language.Rewriter); loaded when it is first asked.

    Args:
        request: What is asked for, and how (see models.chat_model.ChatModel).

    Raises:
        T2IBenchError: it looks like a path, and the folder does not exist.
    """

    def __init__(self, request: Request[InstructionArguments]) -> None:
        self.name = request.spec
        self._instruction = Instruction(request.args)
        self._model = ChatModel(request, request.args.max_tokens)
        self.per = self._instruction.per
        self.settings = {
            "weights": self._model.identity(),
            "dtype": self._model.dtype,
            **self._instruction.settings,
        }
        parts = {"adapter": "hf rewriter 1", "per": self.per, **self.settings}
        self.fingerprint = fingerprint(parts)

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[Rewriting]:
        """One conversation a prompt."""
        return [one for part in self.rewrite_in_parts(requests) for _, one in part]

    def rewrite_in_parts(
        self, requests: Sequence[RewriteRequest]
    ) -> Iterator[list[tuple[int, Rewriting]]]:
        """The same, one after the other (see models.language.RewritesInParts)."""
        self._model.load()
        for number, request in enumerate(requests):
            yield [(number, self._rewritten(request))]

    def _rewritten(self, request: RewriteRequest) -> Rewriting:
        instruction = self._instruction
        try:
            reply = self._model.reply(
                instruction.messages(request), instruction.temperature, request.seed
            )
        except T2IBenchError:
            raise
        except Exception as error:  # one prompt, such as one that is too long, costs itself alone
            return Rewriting("failed", reason=f"{type(error).__name__}: {first_line(error)}"[:500])
        return read_reply(reply, request.prompt)

    def release(self) -> None:
        """Free its memory (see models.protocols.Releasable)."""
        self._model.release()


ADAPTER = Adapter(
    create=ModelRewriter,
    form="hf:ID_OR_DIR",
    description="a chat model of transformers; --rewriter-args template=@FILE, per=image",
    Args=InstructionArguments,
)
