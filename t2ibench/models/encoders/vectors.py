"""The encoder `vectors:FILE`: word vectors in word2vec's text format (also GloVe's)."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter
from t2ibench.models.encoders.towers import TextsOnly, unit_rows
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.locations import is_file
from t2ibench.store.file_errors import reading
from t2ibench.store.user_paths import expanded

_DIGITS = 12  # of a number in the header


class VectorEncoder(TextsOnly):
    """An encoder that reads words' vectors from a file; letter case is significant.

    See models.protocols.Encoder.

    A text file has one word and its numbers a line; a first line of two numbers is word2vec's
    header. '.gz' files are read as they are.
    """

    def __init__(self, name: str, path: Path) -> None:
        if not is_file(path):
            raise T2IBenchError(
                f"No such file: '{shown(path)}'.", "Check the path after vectors:"
            )
        if path.suffix == ".bin":
            raise T2IBenchError(
                f"'{path}' is word2vec's binary format.",
                "Convert it to text, for example with gensim: "
                "KeyedVectors.load_word2vec_format(path, binary=True).save_word2vec_format(out).",
            )
        self.name = name
        self.path = path
        self.fingerprint = fingerprint(
            {"adapter": "vectors 1", "file": file_hash(path)}
        )
        self.batch_size = 1
        self._dim = self._dimension()

    def _dimension(self) -> int:
        """Return the length of the vectors, read from the first line with a word."""
        with reading(self.path), self._open() as file:
            for number, line in enumerate(file, start=1):
                cells = line.rstrip().split(b" ")
                if line.isspace() or (number == 1 and _is_header(cells)):
                    continue
                if len(cells) < 3:
                    raise self._malformed(number, "numbers")
                return len(cells) - 1
        raise T2IBenchError(
            f"'{self.path}' has no word vectors.",
            "Expected a word and its numbers on each line.",
        )

    def _malformed(self, line: int, numbers: str) -> T2IBenchError:
        return T2IBenchError(
            f"{shown(self.path)}:{line}: expected a word and {numbers}, with a space between each.",
            "Correct the line or remove it; if it is the last one, the file is incomplete.",
        )

    def _open(self) -> IO[bytes]:
        if self.path.suffix == ".gz":
            return gzip.open(self.path, "rb")  # type: ignore[return-value]
        return self.path.open("rb")

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Return the vectors of words, shape (n, d); NaN for words that the file does not have.

        The file is read once, in one pass.
        """
        places: dict[bytes, list[int]] = {}
        for index, text in enumerate(texts):
            for spelling in (text, text.replace(" ", "_")):
                places.setdefault(spelling.encode(errors="replace"), []).append(index)
        rows = np.full((len(texts), self._dim), np.nan, dtype=np.float64)
        first_words = {word.partition(b" ")[0] for word in places}
        with reading(self.path), self._open() as file:
            for number, line in enumerate(file, start=1):
                if line.isspace() or (number == 1 and _is_header(line.split())):
                    continue
                # Words may have spaces in them; too few cells are a line that was cut.
                if line.count(b" ") < self._dim:
                    raise self._malformed(number, f"{self._dim} numbers")
                if line.partition(b" ")[0] not in first_words:
                    continue
                word, *cells = line.rstrip().rsplit(b" ", self._dim)
                if word in places:
                    vector = self._vector(cells, number)
                    for index in places[word]:
                        if np.isnan(rows[index, 0]):  # the first line of a word counts
                            rows[index] = vector
        return unit_rows(rows)

    def _vector(self, cells: Sequence[bytes], number: int) -> list[float]:
        values = [math.nan]
        with suppress(ValueError):
            values = [float(cell) for cell in cells]
        if len(values) != self._dim or not all(map(math.isfinite, values)):
            raise self._malformed(number, f"{self._dim} numbers")
        return values


def _is_header(cells: Sequence[bytes]) -> bool:
    return len(cells) == 2 and all(
        cell.isdigit() and len(cell) <= _DIGITS for cell in cells
    )


ADAPTER = Adapter(
    create=lambda request: VectorEncoder(request.spec, expanded(request.source)),
    form="vectors:FILE",
    description="word vectors in word2vec's text format, also gzipped; for tasks on texts",
    embeds_images=False,
)
