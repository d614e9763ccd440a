"""Language models of transformers with random weights; classes: test_choice_likelihoods.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.judges import create_judges
from t2ibench.models.proposers import create_proposer
from tests.models import tiny

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]


def test_models_without_vision_are_refused_as_judges(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match=r"could not load|no processor"):
        create_judges([f"vlm:{tiny.llama(tmp_path / 'llama')}"], {})
    with pytest.raises(T2IBenchError, match="has not been downloaded"):
        create_judges(["vlm:nobody/nothing"], {})


def test_a_proposer_of_transformers(tmp_path: Path) -> None:
    folder = tiny.llama(tmp_path / "llama")
    proposer = create_proposer(f"hf:{folder}", {"max_tokens": "8"}, device="cpu")
    messages = [{"role": "user", "content": "Prompt: a chef"}]
    assert proposer.reply(messages) == proposer.reply(messages)
    assert len(proposer.reply(messages)) <= 8
    with pytest.raises(T2IBenchError, match="no chat template"):
        create_proposer(
            f"hf:{tiny.llama(tmp_path / 'base', chat=False)}", {}, device="cpu"
        )
