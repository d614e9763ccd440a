"""The images of several prompts, and what methods compute of each prompt's images once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array, FloatArray, IntArray, as_floats
from t2ibench.methods.core.products import Products
from t2ibench.methods.core.strata import Strata


@dataclass(frozen=True, init=False)
class PromptImages:
    """Images of several prompts, in one array: those of one prompt follow one another.

    Embeddings are held as they are stored, in single precision. What is computed of them is
    computed in double precision, prompt by prompt, so that a task needs the memory of its stored
    embeddings and little else.

    Attributes:
        rows: Embeddings as they are stored, shape (n, d).
        clusters: Shape (n,), the number of each image's prompt, ascending.
        prompts: The prompts, by cluster number.
        indices: Shape (n,), sample number within the prompt.
        undivided: The images of which these are the same, divided by `lengths`; None where nothing
            is divided. The rows are those of `undivided`.
        lengths: Shape (prompts,), what each prompt's embeddings are divided by.
    """

    rows: FloatArray = field(init=False)
    clusters: IntArray
    prompts: list[str]
    indices: IntArray
    undivided: PromptImages | None = field(init=False)
    lengths: Float64Array | None = field(init=False)

    def __init__(
        self,
        embeddings: FloatArray,
        clusters: IntArray,
        prompts: list[str],
        indices: IntArray,
        *,
        undivided: PromptImages | None = None,
        lengths: Float64Array | None = None,
    ) -> None:
        """Hold embeddings in the precision in which they are given."""
        values = {
            "rows": embeddings,
            "clusters": clusters,
            "prompts": prompts,
            "indices": indices,
            "undivided": undivided,
            "lengths": lengths,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.clusters)

    @property
    def embeddings(self) -> Float64Array:
        """Embeddings in double precision, shape (n, d), computed whenever they are asked for."""
        return self._divided(as_floats(self.rows))

    @property
    def whole(self) -> bool:
        """Whether every prompt has an image."""
        return bool(len(self.prompts) and self.sizes.all())

    @cached_property
    def strata(self) -> Strata:
        """The images grouped by prompt, or all in one group where a prompt has a single image."""
        if self.undivided is not None:
            return self.undivided.strata
        return Strata.of(self.clusters, self.prompts, self.indices)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of images of each prompt, shape (prompts,)."""
        return np.bincount(self.clusters, minlength=len(self.prompts))

    @cached_property
    def means(self) -> Float64Array:
        """Mean embedding of each prompt's images, shape (prompts, d); 0 without an image."""
        if self.undivided is not None and self.lengths is not None:
            return self.undivided.means / self.lengths[:, None]
        sums = [rows.sum(axis=0) for rows in self.by_prompt()]
        return np.array(sums) / np.maximum(self.sizes, 1)[:, None]

    @cached_property
    def squares(self) -> Float64Array:
        """Squared distances of each prompt's images from their mean, summed, shape (prompts,)."""
        if self.undivided is not None and self.lengths is not None:
            return self.undivided.squares / self.lengths**2
        squares = []
        for rows, mean in zip(self.by_prompt(), self.means, strict=True):
            deviations = rows - mean
            squares.append(float(np.vdot(deviations, deviations)))
        return np.array(squares)

    @cached_property
    def products(self) -> list[Products]:
        """Inner products of each prompt's different images."""
        if self.undivided is None or self.lengths is None:
            return [Products.of(rows) for rows in self.by_prompt()]
        return [
            products.divided(float(length))
            for products, length in zip(
                self.undivided.products, self.lengths, strict=True
            )
        ]

    @cached_property
    def stratum_means(self) -> Float64Array:
        """Mean embedding of each stratum's images, shape (strata, d)."""
        if self._prompts_are_strata:
            return self.means[self.sizes > 0]
        means, _ = self.strata.deviations(self.embeddings)
        return means

    @cached_property
    def square(self) -> float:
        """Squared distances of the images from the mean of their stratum, summed."""
        if self._prompts_are_strata:
            return float(self.squares.sum())
        _, deviations = self.strata.deviations(self.embeddings)
        return float(np.vdot(deviations, deviations))

    @property
    def _prompts_are_strata(self) -> bool:
        """Whether every prompt with images is a stratum, rather than all images together."""
        return len(self.strata.sizes) == np.count_nonzero(self.sizes)

    def by_prompt(self) -> Iterator[Float64Array]:
        """Yield the embeddings of each prompt's images in double precision."""
        ends = np.cumsum(self.sizes)
        for number, (end, size) in enumerate(zip(ends, self.sizes, strict=True)):
            rows = as_floats(self.rows[end - size : end])
            yield rows if self.lengths is None else rows / self.lengths[number]

    def along(self, directions: Float64Array) -> Float64Array:
        """Return the position of each image along directions.

        Args:
            directions: A direction, shape (d,), or several, shape (d, s).

        Returns:
            Shape (n,) or (n, s).
        """
        return self._divided(as_floats(self.rows) @ directions)

    def _divided(self, values: Float64Array) -> Float64Array:
        """Return values of each image, linear in its embedding, divided as the embeddings are."""
        if self.lengths is None:
            return values
        lengths = self.lengths[self.clusters]
        return values / lengths.reshape(-1, *[1] * (values.ndim - 1))

    def divided(self, lengths: Float64Array) -> PromptImages:
        """Return the images with each prompt's embeddings divided by a length, shape (prompts,)."""
        images = self if self.undivided is None else self.undivided
        before = 1.0 if self.lengths is None else self.lengths
        return PromptImages(
            images.rows,
            images.clusters,
            images.prompts,
            images.indices,
            undivided=images,
            lengths=before * lengths,
        )

    def where(self, keep: BoolArray) -> PromptImages:
        """Return only the selected images; the prompts stay numbered as they are."""
        undivided = None if self.undivided is None else self.undivided.where(keep)
        return PromptImages(
            self.rows[keep] if undivided is None else undivided.rows,
            self.clusters[keep],
            self.prompts,
            self.indices[keep],
            undivided=undivided,
            lengths=self.lengths,
        )

    def samples(
        self, words: Mapping[str, str], numbers: Mapping[str, Float64Array]
    ) -> list[dict[str, Any]]:
        """Return a row for each image: prompt, index, the common `words`, its own `numbers`."""
        return [
            {"prompt": self.prompts[cluster], "index": int(index), **words}
            | {name: float(values[at]) for name, values in numbers.items()}
            for at, (cluster, index) in enumerate(
                zip(self.clusters, self.indices, strict=True)
            )
        ]

    @classmethod
    def merged(cls, parts: Sequence[PromptImages]) -> PromptImages:
        """Return several sets of images as one, in their order, with prompts renumbered."""
        if len(parts) == 1:
            return parts[0]
        offsets = np.cumsum([0, *(len(part.prompts) for part in parts)])
        clusters = [
            part.clusters + offset for part, offset in zip(parts, offsets, strict=False)
        ]
        is_divided = any(part.lengths is not None for part in parts)
        return cls(
            embeddings=np.concatenate(
                [part.embeddings if is_divided else part.rows for part in parts]
            ),
            clusters=np.concatenate(clusters),
            prompts=[prompt for part in parts for prompt in part.prompts],
            indices=np.concatenate([part.indices for part in parts]),
        )
