"""The encoder `wordllama`: real word vectors, out of the package alone."""

from __future__ import annotations

import logging
import socket
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import t2ibench
from t2ibench.errors import T2IBenchError
from t2ibench.models.contract import check_encoder
from t2ibench.models.encoders import create_encoder, embeds_images
from t2ibench.models.protocols import Encoder, HasUntrained

# Caliskan et al.'s effect size d with the vectors of wordllama 0.4.0.post1, by the number of the
# test. GloVe's are 1.5, 1.53, 1.41, 1.5, 1.28, 1.81, 1.06, 1.24, 1.38 and 1.21.
EFFECTS = (0.772, 0.215, -0.249, 0.008, 0.566, 0.886, 0.959, 0.134, 1.313, 1.030)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    """The encoder, made without network and without a cache of its own."""

    def refused(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setenv("HOME", "/nowhere")
    return create_encoder("wordllama")


def test_wordllama_meets_the_contract_of_an_encoder(encoder: Encoder) -> None:
    assert check_encoder(lambda: create_encoder("wordllama")) == []
    assert not encoder.embeds_images
    assert not embeds_images("wordllama")


def test_a_word_is_the_mean_of_the_vectors_of_its_pieces(encoder: Encoder) -> None:
    """Held against the package's table and tokenizer, read here from its files."""
    import wordllama
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(wordllama.__file__).parent
    table = load_file(folder / "weights" / "l2_supercat_256.safetensors")[
        "embedding.weight"
    ]
    files = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    tokenizer = Tokenizer.from_file(str(files))
    words = ["Amy", "Latisha", "NASA", "in love"]
    rows = encoder.encode_texts(words)
    for word, row in zip(words, rows, strict=True):
        pieces = tokenizer.encode(word, add_special_tokens=False).ids
        mean = table[pieces].astype(np.float64).mean(axis=0)
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert len(tokenizer.encode("Amy", add_special_tokens=False).ids) == 1
    assert len(tokenizer.encode("Latisha", add_special_tokens=False).ids) > 1


def test_a_text_without_pieces_is_unknown(encoder: Encoder) -> None:
    known, empty = encoder.encode_texts(["rose", ""])
    assert np.isnan(empty).all()
    assert not np.isnan(known).any()


def test_an_untrained_wordllama_has_no_meaning(encoder: Encoder) -> None:
    assert isinstance(encoder, HasUntrained)
    words = ["king", "queen", "cabbage"]
    king, queen, cabbage = encoder.encode_texts(words)
    assert king @ queen > king @ cabbage + 0.1
    twin = encoder.untrained()
    again = create_encoder("wordllama").untrained()  # type: ignore[attr-defined]
    rows = twin.encode_texts(words)
    assert np.array_equal(rows, again.encode_texts(words))
    # 256 random numbers: a cosine of .06
    assert abs(rows @ rows.T - np.eye(3)).max() < 0.25
    assert twin.name == "random:wordllama"
    assert twin.fingerprint == again.fingerprint != encoder.fingerprint
    # the encoder itself is unchanged
    assert np.array_equal(encoder.encode_texts(words)[0], king)


def test_loading_wordllama_does_not_change_the_root_logger(encoder: Encoder) -> None:
    """Importing the package calls logging.basicConfig(level=INFO)."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "wordllama"]:
        del sys.modules[name]
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    create_encoder("wordllama")
    assert (root.level, root.handlers) == before


def test_a_missing_wordllama_package_is_named_with_its_pip_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("t2ibench.models.encoders.wordllama.find_spec", lambda _: None)
    with pytest.raises(
        T2IBenchError, match=r'needs a package. *pip install "t2ibench\[wordllama'
    ):
        create_encoder("wordllama")


@pytest.mark.nightly
def test_the_ten_tests_of_words_give_the_values_recorded_for_these_vectors(
    tmp_path: Path,
) -> None:
    results = t2ibench.evaluate(
        None, "weat", encoder="wordllama", output_dir=str(tmp_path), n_permutations=2000
    )
    by_number = {int(name.split("_")[1]): task for name, task in results.tasks.items()}
    assert sorted(by_number) == list(range(1, 11))
    for number, expected in enumerate(EFFECTS, start=1):
        task = by_number[number]
        value = task.scores["effect_size"].value
        release = version("wordllama")
        assert value == pytest.approx(expected, abs=0.01), (task.title, release)
        assert len(task.published) == 2
        (glove, _) = task.published
        # The sign is that of GloVe, but for the names that these vectors put together from pieces.
        if number != 3:
            assert value * glove["scores"]["effect_size"] > 0, task.title
    flowers = by_number[1].headline  # the positive control passes
    assert flowers.p_holm is not None
    assert flowers.p_holm < 0.05
    # What the pieces alone show: random vectors tell no attributes apart.
    for task in by_number.values():
        assert "reads nothing" in task.controls["random_encoder"].says
