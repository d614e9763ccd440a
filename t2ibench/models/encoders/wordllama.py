"""The encoder `wordllama`: static word vectors out of the package wordllama; no download.

The package ships a table of 32,000 vectors, one for each piece of a word, distilled from the input
embeddings of large language models, with the tokenizer that goes with it. A text is the mean of the
vectors of its pieces, as the package's own `embed` has it, so a frequent word is one vector, as in
word2vec or GloVe, and a rare word is put together from parts.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.encoders.towers import TextsOnly, unit_rows
from t2ibench.models.fingerprint import file_hash, fingerprint

_INSTALL = 'pip install "t2ibench[wordllama]"'
# The files of the model that the package loads by default, in the folder of the package.
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_DIMENSIONS = 256
_SEED = 1  # of the untrained copy's random vectors


class WordLlamaEncoder(TextsOnly):
    """Embeds a text as the mean of its pieces' static vectors (see models.protocols.Encoder)."""

    def __init__(self, name: str) -> None:
        folder = _package_folder()
        files = {"weights": folder / _WEIGHTS, "tokenizer": folder / _TOKENIZER}
        missing = [path for path in files.values() if not path.is_file()]
        if missing:
            raise T2IBenchError(
                f"The package wordllama {version('wordllama')} has no {missing[0].name}.",
                f"Install it again, with its weights: {_INSTALL}",
            )
        self.name = name
        self.batch_size = 64
        self._hashes = {part: file_hash(path) for part, path in files.items()}
        self.fingerprint = fingerprint(adapter="wordllama 1", **self._hashes)
        self._model = _load(folder)

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of texts, shape (n, 256); NaN for a text without pieces, such as ''."""
        vectors: Float32Array = self._model.embed(list(texts))
        return unit_rows(vectors)

    def untrained(self) -> WordLlamaEncoder:
        """Return a copy with random vectors, which shows the effect of tokens alone."""
        untrained = copy.copy(self)
        untrained._model = copy.copy(self._model)
        shape = self._model.embedding.shape
        untrained._model.embedding = np.random.default_rng(_SEED).standard_normal(
            shape, np.float32
        )
        untrained.name = f"random:{self.name}"
        untrained.fingerprint = fingerprint(
            adapter="wordllama untrained 1",
            seed=_SEED,
            shape=list(shape),
            tokenizer=self._hashes["tokenizer"],
            numpy=version("numpy"),
        )
        return untrained


def _package_folder() -> Path:
    """Return the folder in which wordllama is installed, without importing it."""
    package = find_spec("wordllama")
    if package is None or package.origin is None:
        raise T2IBenchError("--encoder wordllama needs a package.", _INSTALL)
    return Path(package.origin).parent


def _load(folder: Path) -> Any:
    """Return wordllama's model, loaded from the package's own files without network access.

    It looks for its tokenizer in the folder of its cache alone, which is the package itself here.
    """
    with _root_logger_left_alone():
        try:
            from wordllama import WordLlama

            return WordLlama.load(
                cache_dir=folder, dim=_DIMENSIONS, disable_download=True
            )
        except Exception as error:
            raise T2IBenchError(
                f"The package wordllama cannot be loaded: {first_line(error)}", _INSTALL
            ) from error


@contextmanager
def _root_logger_left_alone() -> Iterator[None]:
    """Restore the root logger's level and handlers on exit, because wordllama changes them."""
    root = logging.getLogger()
    level = root.level
    handlers = list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


def _create(request: Request[Arguments]) -> WordLlamaEncoder:
    return WordLlamaEncoder(request.spec)


ADAPTER = Adapter(
    create=_create,
    form="wordllama",
    description="static word vectors out of a package, without a download; for tasks on texts",
    embeds_images=False,
)
