"""The judge `vlm:ID_OR_DIR`: a vision-language model of transformers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.garbage import uncollected
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.devices import choose_device, model_dtype, torch_dtype
from t2ibench.models.downloads import model_downloads
from t2ibench.models.fingerprint import find_weights, fingerprint
from t2ibench.models.hub import ask_hub, load_part
from t2ibench.models.judges.choice_likelihoods import (
    Asked,
    Scored,
    SharedPasses,
    special_tokens,
)
from t2ibench.models.judges.replies import instruction
from t2ibench.models.locations import loading
from t2ibench.models.protocols import Answer, Query
from t2ibench.store.image_headers import UnreadableImageError

# Largest difference, in nats, between two ways of summing the same products: this many spacings of
# the dtype at the size of the largest logit, and at least _LEAST.
_SPACINGS = 2
_LEAST = 1e-3
_HINT = (
    "Give --judge vlm:ID_OR_DIR with a hub id such as Qwen/Qwen3-VL-4B-Instruct (safetensors "
    "weights) or a local folder."
)
_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"
_COMPARED = 3  # questions for which both ways are compared


class VlmArguments(Arguments):
    """The options of the judge `vlm` that --judge-args accepts; `max_tokens` limits free text."""

    max_tokens: PositiveInt = 32


class VlmJudge:
    """Asks a vision-language model (see models.protocols.Judge).

    A class is chosen by its likelihood as the answer (mean log-probability of its tokens), so there
    is nothing to parse; free text is generated greedily.

    An image is read once for all questions and classes (see `choice_likelihoods`). The first
    answers are compared with those of a pass for each class; a model whose cache does not allow
    sharing is asked in that slower way, with a message. Classes whose scores are closer to the best
    than rounding errors are scored again in that way, each by itself. So the answers are those of
    the slower way, whatever else is asked, and both ways have the same fingerprint; the stored
    scores may differ in their last digits. Exact ties go to the class named first.

    The weights are loaded with the first question, when the generator has left the memory.
    """

    def __init__(self, request: Request[VlmArguments]) -> None:
        self._source, identity = find_weights(request.source, "vlm:")
        self.name = request.spec
        self.batch_size = 32
        self._device = choose_device(request.device)
        self._dtype = torch_dtype(model_dtype(request.dtype, self._device))
        self._max_tokens = request.args.max_tokens
        self._model: Any = None
        self._passes: Any = None  # `SharedPasses`, with the first question
        self._shares = True
        self._agreed: set[bool] = set()
        self._tell: Callable[[str], None] = lambda _: None
        self._processor = self._load_processor()
        self.fingerprint = fingerprint(
            adapter=self._version(),
            weights=identity(),
            dtype=str(self._dtype),
            max_tokens=self._max_tokens,
        )

    def _version(self) -> str:
        """Return the adapter's version: 2 if prompts are built differently than in version 1."""
        changed = False
        # A template that fails raises its error with the first question.
        with suppress(Exception):
            prompt = self._prompt("Who is it?", ("a", "b"))
            begins_twice = bool(special_tokens(self._processor, prompt))
            thinks = _without_thinking(getattr(self._processor, "chat_template", None))
            changed = begins_twice or bool(thinks) or _THOUGHT_ENDS in prompt
        return "vlm judge 2" if changed else "vlm judge 1"

    def _load_processor(self) -> Any:
        self._local = ask_hub(self._source, "config.json")
        with uncollected():
            from transformers import AutoProcessor

        with loading(self._source, _HINT):
            processor = load_part(AutoProcessor, self._source, **self._local)
        if not hasattr(processor, "tokenizer") or not hasattr(
            processor, "image_processor"
        ):
            raise T2IBenchError(
                f"'{self._source}' has no processor for images and text.",
                "Give a vision-language model such as Qwen/Qwen3-VL-4B-Instruct.",
            )
        return processor

    def _loaded(self) -> Any:
        if self._model is None:
            from transformers import AutoModelForImageTextToText

            with loading(self._source, _HINT):
                options = {"use_safetensors": True, "dtype": self._dtype, **self._local}
                model = load_part(AutoModelForImageTextToText, self._source, **options)
            self._model = model.to(self._device).eval()
        return self._model

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Set the function that is called with messages about slower work.

        See models.protocols.ReportsWaits.
        """
        self._tell = tell

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Return an answer to each query, which does not depend on the other queries."""
        answers = dict(pair for part in self.answer_in_parts(queries) for pair in part)
        return [answers[number] for number in range(len(queries))]

    def answer_in_parts(
        self, queries: Sequence[Query]
    ) -> Iterator[list[tuple[int, Answer]]]:
        """Yield answers, with the indexes of their queries, a few images at a time.

        See models.protocols.AnswersInParts.
        """
        self._loaded()
        left = dict(enumerate(queries))
        for part in self._together(queries):
            for number, _ in part:
                del left[number]
            yield part
        for number, query in left.items():
            yield [(number, self._alone(query))]

    def _together(self, queries: Sequence[Query]) -> Iterator[list[tuple[int, Answer]]]:
        """Yield answers to questions with classes, reading each image once, except failed ones."""
        numbers = [number for number, query in enumerate(queries) if query.classes]
        if not self._shares or not numbers:
            return
        try:
            if self._passes is None:
                self._passes = SharedPasses(
                    self._loaded(), self._processor, self._device, self._dtype
                )
            passes = self._passes
            asked = [self._asked(queries[number]) for number in numbers]
            left = passes.groups(asked)
        except Exception as error:  # whatever it is, each class can be read on its own
            self._give_up_after(error)
            return
        while left and self._shares:
            count = passes.together()
            groups = left[:count]
            left = left[count:]
            try:
                scores = passes.scores([[asked[k] for k in group] for group in groups])
            except Exception as error:
                self._failed(error, len(groups))
                if len(groups) > 1:
                    left = groups + left
                continue
            scored_by_number = _by_number(numbers, groups, scores)
            if self._agrees(scored_by_number, queries, len(groups)):
                yield self._all_chosen(scored_by_number, queries)

    def _all_chosen(
        self, scored_by_number: Mapping[int, Scored], queries: Sequence[Query]
    ) -> list[tuple[int, Answer]]:
        """Return each query's index and its answer, chosen by the scores of its classes."""
        return [
            (number, self._chosen(queries[number], scored))
            for number, scored in scored_by_number.items()
        ]

    def _failed(self, error: Exception, images: int) -> None:
        """Continue with fewer images at a time, or without sharing if sharing has never worked."""
        import torch

        works = self._agreed and not isinstance(error, UnreadableImageError)
        if works or isinstance(error, torch.OutOfMemoryError):
            self._passes.take_fewer(images)
        else:
            self._give_up_after(error)

    def _give_up_after(self, error: Exception) -> None:
        """Read each class on its own from now on; raise the error if one image is its cause."""
        if isinstance(error, UnreadableImageError):
            raise error
        self._give_up(f"{type(error).__name__}: {first_line(error)[:100]}")

    def _asked(self, query: Query) -> Asked:
        tokens = self._processor.tokenizer
        answers = {
            name: tuple(tokens(name, add_special_tokens=False).input_ids)
            for name in (*query.classes, UNKNOWN)
        }
        if not all(answers.values()):
            raise ValueError("a class has no tokens")
        prompt = self._prompt(query.question, query.classes)
        return Asked(query.image, query.sha256, prompt, answers)

    def _agrees(
        self,
        scored_by_number: Mapping[int, Scored],
        queries: Sequence[Query],
        images: int,
    ) -> bool:
        """Return whether class scores from shared passes equal those from separate passes.

        It is tested once, and once more for the first batch with padding.
        """
        import torch

        padded = images > 1
        if padded in self._agreed:
            return True
        for number in list(scored_by_number)[
            :: max(1, len(scored_by_number) // _COMPARED)
        ]:
            with torch.inference_mode():
                alone = self._scores(queries[number])
            together = scored_by_number[number]
            differences = {
                name: abs(score - together.scores[name])
                for name, score in alone.items()
            }
            if all(
                value <= self._tolerance(together) for value in differences.values()
            ):
                continue
            if padded:
                self._passes.take_fewer(1)
            else:
                self._give_up(
                    f"log-probabilities differ by {max(differences.values()):.2g}"
                )
            return False
        self._agreed.add(padded)
        return True

    def _give_up(self, why: str) -> None:
        self._shares = False
        self._tell(
            f"{self.name} reads the image again for every class, which is slower: its cache cannot "
            f"be shared ({why})."
        )

    def _tolerance(self, scored: Scored) -> float:
        import torch

        return max(_LEAST, _SPACINGS * torch.finfo(self._dtype).eps * scored.largest)

    def _chosen(self, query: Query, scored: Scored) -> Answer:
        """Return the most likely class as the answer; score close classes again, each by itself."""
        scores = scored.scores
        if not all(map(math.isfinite, scores.values())):
            return self._alone(query)
        enough = max(scores.values()) - self._tolerance(scored)
        close = [name for name, score in scores.items() if score >= enough]
        return (
            _likeliest(scores)
            if len(close) == 1
            else self._rescored(query, scores, close)
        )

    def _rescored(
        self, query: Query, scores: Mapping[str, float], close: Sequence[str]
    ) -> Answer:
        """Return the likeliest of the close classes, by a separate pass of the model for each.

        The other classes cannot be the answer, so they keep the scores of the shared passes.
        """
        import torch

        try:
            with torch.inference_mode():
                inputs = self._inputs(query)
                separately = {name: self._score(inputs, name) for name in close}
        except (RuntimeError, ValueError) as error:
            return _failed_answer(error)
        return _likeliest(separately, {**scores, **separately})

    def _alone(self, query: Query) -> Answer:
        """Return the answer to one query, from a separate pass of the model for each class."""
        import torch

        try:
            with torch.inference_mode():
                return (
                    _likeliest(self._scores(query))
                    if query.classes
                    else self._in_words(query)
                )
        except (RuntimeError, ValueError) as error:
            return _failed_answer(error)

    def _prompt(self, question: str, classes: Sequence[str]) -> str:
        """Return the question with a place for its image, up to where the answer begins."""
        text = instruction(question, classes)
        content = [{"type": "image"}, {"type": "text", "text": text}]
        template = getattr(self._processor, "chat_template", None)
        if template:
            prompt = self._processor.apply_chat_template(
                [{"role": "user", "content": content}],
                add_generation_prompt=True,
                **_without_thinking(template),
            )
            return _answering(str(prompt))
        image_token = getattr(self._processor, "image_token", "<image>")
        return f"USER: {image_token}\n{text} ASSISTANT:"

    def _inputs(self, query: Query) -> dict[str, Any]:
        """Return the model's inputs for one query, as a batch of one."""
        prompt = self._prompt(query.question, query.classes)
        options = special_tokens(self._processor, prompt)
        inputs = self._processor(
            images=query.image, text=prompt, return_tensors="pt", **options
        )
        return {
            key: value.to(self._device, self._dtype)
            if value.is_floating_point()
            else value.to(self._device)
            for key, value in inputs.items()
        }

    def _scores(self, query: Query) -> dict[str, float]:
        inputs = self._inputs(query)
        return {name: self._score(inputs, name) for name in (*query.classes, UNKNOWN)}

    def _score(self, inputs: dict[str, Any], name: str) -> float:
        """Return the mean log-probability of the tokens of class `name` as the answer."""
        import torch

        tokens = self._processor.tokenizer(
            name, add_special_tokens=False, return_tensors="pt"
        ).input_ids.to(self._device)
        length = inputs["input_ids"].shape[1]
        longer = {
            key: _extended(value, tokens, key, length) for key, value in inputs.items()
        }
        logits = self._model(**longer).logits[0, -tokens.shape[1] - 1 : -1].float()
        chosen = torch.log_softmax(logits, dim=-1).gather(1, tokens[0][:, None])
        return float(chosen.mean())

    def _in_words(self, query: Query) -> Answer:
        inputs = self._inputs(query)
        out = self._model.generate(
            **inputs, do_sample=False, max_new_tokens=self._max_tokens
        )
        text = self._processor.tokenizer.decode(
            out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )
        return Answer(" ".join(text.split()) or UNKNOWN, text)


def _without_thinking(template: Any) -> dict[str, bool]:
    """Return template options that suppress reasoning before the answer, if there are any."""
    return {"enable_thinking": False} if "enable_thinking" in str(template) else {}


def _answering(prompt: str) -> str:
    """Return a prompt with its opened reasoning closed, so that the answer follows at once.

    Templates of models that always reason end with an opening mark, after which no class is likely.
    It is closed at once, as templates do in which reasoning can be switched off.
    """
    if not prompt.rstrip().endswith(_THOUGHT):
        return prompt
    return f"{prompt.rstrip()}\n\n{_THOUGHT_ENDS}\n\n"


def _likeliest(
    scores: Mapping[str, float], recorded: Mapping[str, float] | None = None
) -> Answer:
    """Return the class with the highest score as an answer, which records these or other scores."""
    best = max(scores, key=lambda name: scores[name])  # of equals, the first
    rounded = {name: round(value, 4) for name, value in (recorded or scores).items()}
    return Answer(best, json.dumps(rounded))


def _failed_answer(error: Exception) -> Answer:
    return Answer(None, reason=first_line(error)[:200])


def _extended(value: Any, tokens: Any, key: str, length: int) -> Any:
    """Return a model input extended by an answer's tokens; inputs of pixels are unchanged."""
    import torch

    if value.ndim != 2 or value.shape[1] != length or value.is_floating_point():
        return value
    if key == "input_ids":
        return torch.cat([value, tokens], dim=1)
    # A mask attends to the answer; a type id says that it is text.
    more = torch.full_like(tokens, 1 if "attention" in key else 0, dtype=value.dtype)
    return torch.cat([value, more], dim=1)


ADAPTER = Adapter(
    create=VlmJudge,
    form="vlm:ID_OR_DIR",
    description="a vision-language model of transformers (LLaVA, Qwen-VL, …)",
    Args=VlmArguments,
    check=lambda request: find_weights(request.source, "vlm:"),
    downloads=lambda request: model_downloads(request.source),
)


def _by_number(
    numbers: Sequence[int],
    groups: Sequence[Sequence[int]],
    scores: Sequence[Sequence[Scored]],
) -> dict[int, Scored]:
    """Return the class scores of grouped questions, keyed by the index of each query."""
    scored_by_number: dict[int, Scored] = {}
    for group, part in zip(groups, scores, strict=True):
        for place, scored in zip(group, part, strict=True):
            scored_by_number[numbers[place]] = scored
    return scored_by_number
