"""Compute the likelihoods of many answers about an image in a single forward pass.

An image costs a vision-language model hundreds of tokens, a question some fifty, a class two. So
the image is read in one pass, and what follows it (every question, and behind it every class) in a
second pass over the first one's cache. All continuations lie in one sequence, as a tree, and a mask
lets each token see its own image and its own branch only. Positions are given, so a token is where
it would be if its branch stood alone. What comes out is what one pass for each class gives, up to
the rounding of sums in another order.

Several images go through both passes together. They are padded on the right, where no token sees
the padding, and every token keeps its position.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

# Tokens of all images in one pass; the cache of a token takes up to half a megabyte.
TOKENS_TOGETHER = 4096


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about an image and its possible answers as tokens.

    Attributes:
        image: The image.
        key: A key that is the same for the same image.
        prompt: The question in the form of the processor, up to where the answer begins.
        answers: The tokens of each possible answer.
    """

    image: Image
    key: str
    prompt: str
    answers: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a question's answers: the mean log-probability of the tokens of each.

    `largest` is the largest absolute value of the logits, with which rounding errors grow.
    """

    scores: dict[str, float]
    largest: float


def special_tokens(processor: Any, prompt: str) -> dict[str, bool]:
    """Return processor options with which a prompt begins with a single start token.

    Templates of some models (Gemma, Llama) write that token into the prompt, and their processor
    would put another before it. The library's own call of a template leaves it out, too.
    """
    begin = getattr(processor.tokenizer, "bos_token", None)
    return {"add_special_tokens": False} if begin and prompt.startswith(begin) else {}


class _Around(NamedTuple):
    """The tokens of a prompt before its image and after it."""

    head: tuple[int, ...]
    tail: tuple[int, ...]


class _Tree:
    """The tokens of questions and answers after an image, as a tree of shared beginnings."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.depths: list[int] = []
        self.read: list[dict[str, list[tuple[int, int]]]] = []
        self._places: dict[tuple[int, int], int] = {}

    def ask(self, tail: Sequence[int], answers: Mapping[str, tuple[int, ...]]) -> None:
        """Add a question with its possible answers to the tokens after an image."""
        *_, end = self.add(tail)
        branches = {}
        for name, tokens in answers.items():
            places = [end, *self.add(tokens[:-1], end)]
            branches[name] = list(zip(places, tokens, strict=True))
        self.read.append(branches)

    def add(self, tokens: Sequence[int], parent: int = -1) -> Iterator[int]:
        """Add tokens after the token at a place (-1: after the image), and yield their places."""
        for token in tokens:
            if (parent, token) not in self._places:
                self._places[parent, token] = len(self.tokens)
                self.tokens.append(token)
                self.parents.append(parent)
                self.depths.append(self.depths[parent] + 1 if parent >= 0 else 0)
            parent = self._places[parent, token]
            yield parent

    def visible(self, size: int) -> np.ndarray:
        """Return a matrix of which tokens each token attends to; padding attends to itself."""
        seen = np.eye(size, dtype=bool)
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                seen[place] |= seen[parent]
        return seen


class SharedPasses:
    """Reads each image once for all questions and classes, with a loaded model of transformers."""

    def __init__(
        self, model: Any, processor: Any, device: str | torch.device, dtype: torch.dtype
    ) -> None:
        self._model = model
        self._processor = processor
        self._device = device
        self._dtype = dtype
        config = model.config
        tokens = (
            getattr(config, name, None)
            for name in ("image_token_id", "image_token_index")
        )
        self._image_token = next((token for token in tokens if token is not None), None)
        self._window = _window(config)
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._around: dict[str, _Around] = {}
        self._longest = TOKENS_TOGETHER  # so that the first pass has a single image
        self._most = TOKENS_TOGETHER

    def together(self) -> int:
        """Return how many images one forward pass can read within the reserved memory."""
        return max(1, min(self._most, TOKENS_TOGETHER // self._longest))

    def take_fewer(self, count: int) -> None:
        """Read at most half of `count` images in one pass from here on."""
        self._most = max(1, count // 2)

    def groups(self, asked: Sequence[Asked]) -> list[list[int]]:
        """Return the indexes of questions in groups that share the reading of an image."""
        groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        for number, question in enumerate(asked):
            # A template that puts the question first has another head for each question.
            groups.setdefault((question.key, self._split(question).head), []).append(
                number
            )
        return list(groups.values())

    def scores(self, groups: Sequence[Sequence[Asked]]) -> list[list[Scored]]:
        """Return the scores of each question's answers, by group; a group shares an image."""
        import torch

        with torch.inference_mode():
            images = self._read_images([group[0] for group in groups])
            trees = [_Tree() for _ in groups]
            for tree, group in zip(trees, groups, strict=True):
                for question in group:
                    tree.ask(self._split(question).tail, question.answers)
            return self._read_trees(images, trees)

    def _split(self, question: Asked) -> _Around:
        """Return the tokens around the image in a question's prompt, computed once a prompt."""
        if question.prompt not in self._around:
            ids = self._encode([question])["input_ids"][0].tolist()
            self._around[question.prompt] = self._cut(ids)[0]
        return self._around[question.prompt]

    def _cut(self, ids: Sequence[int]) -> tuple[_Around, int]:
        """Return the tokens before and after the image, and the position at which it ends."""
        places = [
            place for place, token in enumerate(ids) if token == self._image_token
        ]
        if not places or places[-1] + 1 == len(ids):
            raise ValueError("its prompt has no image token with a text behind it")
        around = _Around(tuple(ids[: places[0]]), tuple(ids[places[-1] + 1 :]))
        return around, places[-1] + 1

    def _encode(self, asked: Sequence[Asked]) -> dict[str, torch.Tensor]:
        """Return images with their prompts as model inputs, padded on the right."""
        options: dict[str, Any] = special_tokens(self._processor, asked[0].prompt)
        if len(asked) > 1:
            options |= {"padding": True, "padding_side": "right"}
        return dict(
            self._processor(
                images=[
                    [question.image] for question in asked
                ],  # each prompt has its own
                text=[question.prompt for question in asked],
                return_tensors="pt",
                **options,
            )
        )

    def _read_images(self, asked: Sequence[Asked]) -> tuple[Any, list[int], list[int]]:
        """Read images; return their cache, their lengths in tokens and the position after each."""
        import torch

        encoded = self._encode(asked)
        ids, mask = encoded["input_ids"], encoded["attention_mask"]
        lengths = []
        for row, real, question in zip(ids, mask, asked, strict=True):
            around, length = self._cut(row[: int(real.sum())].tolist())
            if around != self._split(question):
                raise ValueError(
                    "its prompt is cut into tokens differently for each image"
                )
            lengths.append(length)
        self._longest = longest = max(lengths)
        inside = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
        inputs = {}
        for key, value in encoded.items():
            if value.shape == ids.shape and not value.is_floating_point():
                pad = (
                    self._processor.tokenizer.pad_token_id or 0
                    if key == "input_ids"
                    else 0
                )
                inputs[key] = value[:, :longest].where(inside, pad).to(self._device)
            else:
                dtype = self._dtype if value.is_floating_point() else value.dtype
                inputs[key] = value.to(self._device, dtype)
        out = self._model(**inputs, use_cache=True, **self._keeping(1))
        starts = list(lengths)
        deltas = getattr(self._inner(), "rope_deltas", None)
        if deltas is not None:  # an image of Qwen-VL takes fewer positions than tokens
            starts = [
                a + int(b) for a, b in zip(lengths, deltas.flatten(), strict=True)
            ]
        return out.past_key_values, lengths, starts

    def _inner(self) -> Any:
        return getattr(self._model, "model", self._model)

    def _keeping(self, which: Any) -> dict[str, Any]:
        return {"logits_to_keep": which} if self._keeps else {}

    def _read_trees(
        self, images: tuple[Any, list[int], list[int]], trees: Sequence[_Tree]
    ) -> list[list[Scored]]:
        import torch

        cache, lengths, starts = images
        size = max(len(tree.tokens) for tree in trees)
        longest = max(lengths)
        if self._window is not None:
            deepest = max(max(tree.depths) for tree in trees)
            if longest + deepest >= self._window:
                raise ValueError("the question is longer than its attention window")
        ids = torch.zeros(len(trees), size, dtype=torch.long)
        positions = torch.zeros_like(ids)
        sees = torch.zeros(len(trees), 1, size, longest + size, dtype=torch.bool)
        for row, tree in enumerate(trees):
            count = len(tree.tokens)
            ids[row, :count] = torch.tensor(tree.tokens)
            positions[row, :count] = torch.tensor(tree.depths)
            positions[row] += starts[row]
            sees[row, 0, :count, : lengths[row]] = True
            sees[row, 0, :, longest:] = torch.from_numpy(tree.visible(size))
        hidden = torch.finfo(self._dtype).min
        mask = torch.zeros(sees.shape, dtype=self._dtype).masked_fill(~sees, hidden)
        if hasattr(self._inner(), "rope_deltas"):
            # time, height, width: a text has one
            positions = positions[None].expand(3, -1, -1)
        answers = [
            pairs for tree in trees for asked in tree.read for pairs in asked.values()
        ]
        places = sorted({place for pairs in answers for place, _ in pairs})
        read_at = torch.tensor(places, device=self._device)
        logits = self._model(
            input_ids=ids.to(self._device),
            attention_mask=mask.to(self._device),
            position_ids=positions.to(self._device),
            past_key_values=cache,
            use_cache=True,
            **self._keeping(read_at),
        ).logits
        if logits.shape[1] != len(places):
            logits = logits[:, read_at]
        where = {place: number for number, place in enumerate(places)}
        return [
            _read_off(logits[row].float(), where, tree)
            for row, tree in enumerate(trees)
        ]


def _window(config: Any) -> int | None:
    """Return the smallest attention window of a model's layers; None if none is limited."""
    text = config.get_text_config()
    kinds = set(getattr(text, "layer_types", None) or ())
    if other := kinds - {"full_attention", "sliding_attention", "chunked_attention"}:
        # Branches would write to such a layer's memory in turn.
        raise ValueError(f"it has layers of the kind {min(other)}")
    if kinds == {"full_attention"}:
        return None
    windows = (
        getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")
    )
    return min((window for window in windows if window), default=None)


def _read_off(
    logits: torch.Tensor, where: Mapping[int, int], tree: _Tree
) -> list[Scored]:
    """Return the scores of the answers to a tree's questions, from the logits at their places."""
    import torch

    logs = torch.log_softmax(logits, dim=-1)
    scored = []
    for branches in tree.read:
        rows = [where[place] for pairs in branches.values() for place, _ in pairs]
        tokens = [token for pairs in branches.values() for _, token in pairs]
        values = iter(logs[rows, tokens].tolist())
        scores = {
            name: float(np.mean([next(values) for _ in pairs]))
            for name, pairs in branches.items()
        }
        largest = (
            torch.cat([logits[rows, tokens], logits[rows].amax(dim=-1)]).abs().max()
        )
        scored.append(Scored(scores, float(largest)))
    return scored
