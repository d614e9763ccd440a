"""The encoder `vectors:FILE`: word vectors in word2vec's text format (also GloVe's)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.fingerprint import file_hash, fingerprint


class VectorEncoder:
    """Word vectors (see models.protocols.Encoder). Case counts, as the tests' names need it.

    Args:
        name: As the user wrote it.
        path: A text file, one word and its numbers a line; a first line of two numbers is
            word2vec's header. '.gz' files are read as they are.

    Raises:
        T2IBenchError: the file is missing, binary or malformed.
    """

    def __init__(self, name: str, path: Path) -> None:
        if not path.is_file():
            raise T2IBenchError(f"No such file: '{path}'.", "Check the path after vectors:")
        if path.suffix == ".bin":
            raise T2IBenchError(
                f"'{path}' is word2vec's binary format.",
                "Convert it to text, for example with gensim: "
                "KeyedVectors.load_word2vec_format(path, binary=True).save_word2vec_format(out).",
            )
        self.name = name
        self.path = path
        self.fingerprint = fingerprint({"adapter": "vectors 1", "file": file_hash(path)})
        self.embeds_images = False
        self.batch_size = 1
        self._dim = self._dimension()

    def _dimension(self) -> int:
        for line, cells in self._lines():
            if len(cells) > 2:
                return len(cells) - 1
            if line > 1 or not _is_header(cells):
                break
        raise T2IBenchError(
            f"'{self.path}' has no word vectors.", "Expected a word and its numbers on each line."
        )

    def _open(self) -> IO[bytes]:
        if self.path.suffix == ".gz":
            return gzip.open(self.path, "rb")  # type: ignore[return-value]
        return self.path.open("rb")

    def _lines(self) -> Iterator[tuple[int, list[bytes]]]:
        with self._open() as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip().split(b" ")

    def prepare(self, image: Any) -> Any:
        """Word vectors see no images."""
        raise T2IBenchError(f"'{self.name}' cannot embed images.", "Add an --encoder that can.")

    def encode_images(self, prepared: Sequence[Any]) -> Float32Array:
        """Word vectors see no images."""
        raise T2IBenchError(f"'{self.name}' cannot embed images.", "Add an --encoder that can.")

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Vectors of words, one pass over the file; nan where the vocabulary lacks one.

        Args:
            texts: The words.

        Returns:
            Shape (n, d), rows of unit length or nan.

        Raises:
            T2IBenchError: a line that is needed is malformed.
        """
        places: dict[bytes, list[int]] = {}
        for index, text in enumerate(texts):
            places.setdefault(text.encode(), []).append(index)
            places.setdefault(text.replace(" ", "_").encode(), []).append(index)
        rows = np.full((len(texts), self._dim), np.nan, dtype=np.float64)
        with self._open() as file:
            for number, line in enumerate(file, start=1):
                word = line.partition(b" ")[0]
                if word in places and not (number == 1 and _is_header(line.split())):
                    vector = self._vector(line, number)
                    for index in places[word]:
                        if np.isnan(rows[index, 0]):  # the first line of a word counts
                            rows[index] = vector
        with np.errstate(invalid="ignore", divide="ignore"):
            unit: Float32Array = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(
                np.float32
            )
        return unit

    def _vector(self, line: bytes, number: int) -> list[float]:
        cells = line.split()[1:]
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            values = []
        if len(values) != self._dim or not np.isfinite(values).all():
            raise T2IBenchError(
                f"{self.path}:{number}: expected a word and {self._dim} numbers, found "
                f"{len(cells)} cells.",
                "Correct the line or remove it.",
            )
        return values


def _is_header(cells: Sequence[bytes]) -> bool:
    return len(cells) == 2 and all(cell.isdigit() for cell in cells)


def _create(request: Request[Arguments]) -> VectorEncoder:
    return VectorEncoder(request.spec, Path(request.source).expanduser())


ADAPTER = Adapter(
    create=_create,
    form="vectors:FILE",
    description="word vectors in word2vec's text format, also gzipped; for tasks on texts",
    check=_create,
    embeds_images=False,
)
