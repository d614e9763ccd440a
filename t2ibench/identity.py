"""Identifiers made of content: of texts, and of the images of a run.

Runs made apart give the same things the same identifiers, so that they can be joined.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=2**18)
def content_id(*parts: str) -> int:
    """Return an identifier of texts: the first 63 bits of their SHA-256.

    Examples:
        >>> content_id("A photo of a nurse")
        8038286228448891276
    """
    # A text that somebody else wrote may hold half a surrogate pair.
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") >> 1


def sha256_of_json(content: Any) -> str:
    """Return the SHA-256 over JSON values, which does not depend on the order of their keys.

    Examples:
        >>> sha256_of_json({"a": 1, "b": 2}) == sha256_of_json({"b": 2, "a": 1})
        True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ImageKey:
    """The identity of one image of a run, whether or not the image exists yet.

    It is made with `ImageKey.of`: a plan's requests have keys, and an image store finds the record
    and the file of a key. Everything between passes keys on, compares them and collects them in
    sets, and does not look into them: what an image is made from is in the request for it and in
    the records of the store.

    Attributes:
        content: Content id of all that the images of one prompt are made from: the prompt and,
            where an image is made from another image, that one's file.
        index: Which of these images, from 0.
        prompt: The text. Like `source` it is part of `content` and therefore not compared: the
            row of a prompt may be damaged in a database that still holds its images.
        source: SHA-256 of the file of the image that this one is made from; None where the prompt
            is all that the model gets.
    """

    content: int
    index: int
    prompt: str = field(compare=False)
    source: str | None = field(default=None, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default, which copies field by field, takes several times as long.
        return ImageKey, (self.content, self.index, self.prompt, self.source)

    @classmethod
    def of(cls, prompt: str, index: int, source: str | None = None) -> ImageKey:
        """Return the key of a prompt's image `index`, made from the image `source` if it is given.

        Examples:
            >>> key = ImageKey.of("a nurse", 0)
            >>> key == ImageKey.of("a nurse", 0), key == ImageKey.of("a nurse", 0, "9f" * 32)
            (True, False)
        """
        parts = (prompt,) if source is None else (prompt, source)
        return cls(content_id(*parts), index, prompt, source)
