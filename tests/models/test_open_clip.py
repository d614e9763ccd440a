"""Whether an encoder of open_clip is the network that its weights were trained as."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders import DEFAULT_ENCODER, create_encoder
from t2ibench.models.encoders.open_clip_training import training_of_tag
from t2ibench.models.protocols import HasUntrained

pytestmark = [pytest.mark.networks, pytest.mark.slow]

MOBILE = "MobileCLIP-S1"  # its only tag has means of its own


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Build networks of one layer each without weights: no download, and hardly any memory."""
    import open_clip
    import torch
    from open_clip import transformer

    class Shallow(transformer.Transformer):
        def __init__(self, width: int, layers: int, *args: Any, **options: Any) -> None:
            super().__init__(width, min(layers, 1), *args, **options)

    class Tower(torch.nn.Module):
        """Of timm or transformers: their activation function is not open_clip's to choose."""

        def __init__(self, *args: Any, image_size: Any = None, **options: Any) -> None:
            super().__init__()
            self.image_size = image_size
            self.vocab_size = self.context_length = 1
            self.weight = torch.nn.Parameter(torch.zeros(1))

    monkeypatch.setattr(transformer, "Transformer", Shallow)
    for name in ("TimmModel", "HFTextEncoder"):
        monkeypatch.setattr(f"open_clip.model.{name}", Tower)
        monkeypatch.setattr(f"open_clip.coca_model.{name}", Tower, raising=False)
    monkeypatch.setattr(
        open_clip.factory, "download_pretrained", lambda *_, **__: "weights"
    )
    monkeypatch.setattr(open_clip.factory, "load_checkpoint", mock.Mock())
    monkeypatch.setattr(open_clip, "get_tokenizer", mock.Mock())
    monkeypatch.setattr(
        "t2ibench.models.encoders.open_clip.is_downloaded", lambda *_: True
    )
    monkeypatch.setattr("torch.nn.Module.to", lambda module, *_, **__: module)
    with torch.device("meta"):
        yield


def activations(network: Any) -> set[str]:
    """The activation functions of a network's blocks, by name."""
    return {
        type(module).__name__
        for name, module in network.named_modules()
        if name.endswith(("mlp.gelu", "mlp.act"))
    }


def expected_activation(architecture: str, configuration: dict[str, Any]) -> str:
    """As the tag says; where it says nothing, as the architecture does.

    roberta-ViT-B-32 is the one architecture with QuickGELU whose tag is silent: it was trained by
    that very configuration (mlfoundations/open_clip, pull request 221).
    """
    import open_clip

    named = open_clip.get_model_config(architecture).get("quick_gelu", False)
    return "QuickGELU" if configuration.get("quick_gelu", named) else "GELU"


@pytest.mark.usefixtures("without_weights")
def test_every_open_clip_tag_has_its_trained_activation_and_preprocessing() -> None:
    """Activation function, mean, std, interpolation and resize mode, of every tag there is."""
    import open_clip

    different = []
    tags = open_clip.list_pretrained()
    for architecture, tag in tags:
        configuration = open_clip.get_pretrained_cfg(architecture, tag)
        encoder = create_encoder(f"open_clip:{architecture}/{tag}", device="cpu")
        network = encoder.towers()
        preprocessing = network.visual.preprocess_cfg
        names = ("mean", "std", "interpolation", "resize_mode")
        if any(preprocessing[name] != configuration[name] for name in names):
            different.append((architecture, tag, preprocessing))
        wanted = expected_activation(architecture, configuration)
        assert encoder.network["activation"] == wanted
        assert [encoder.network[name] for name in names] == [
            list(value) if isinstance(value, tuple) else value
            for value in (configuration[name] for name in names)
        ]
        if activations(network) - {wanted}:
            different.append((architecture, tag, activations(network)))
    assert different == []
    assert len(tags) > 150


@pytest.mark.usefixtures("without_weights")
def test_plain_and_quickgelu_names_of_a_tag_are_one_network_and_so_are_their_twins() -> (
    None
):
    for tag, activation in (("openai", "QuickGELU"), ("laion2b_s34b_b79k", "GELU")):
        encoder = create_encoder(f"open_clip:ViT-B-32/{tag}", device="cpu")
        assert activations(encoder.towers()) == {activation}
        assert isinstance(encoder, HasUntrained)
        twin = encoder.untrained()
        assert activations(twin.towers()) == {activation}
        assert twin.fingerprint != encoder.fingerprint
    named = create_encoder("open_clip:ViT-B-32-quickgelu/openai", device="cpu")
    assert activations(named.towers()) == {"QuickGELU"}


@pytest.mark.usefixtures("without_weights")
def test_the_default_encoders_fingerprint_differs_from_the_mismatched_networks() -> (
    None
):
    from t2ibench.models.fingerprint import fingerprint

    encoder = create_encoder(DEFAULT_ENCODER, device="cpu")
    assert activations(encoder.towers()) == {"QuickGELU"}
    before = fingerprint(
        adapter="open_clip 1",
        architecture="ViT-L-14",
        weights="openai",
        dtype="torch.float32",
    )
    assert encoder.fingerprint != before


@pytest.mark.usefixtures("without_weights")
def test_a_library_that_builds_another_network_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import open_clip

    create = open_clip.create_model_and_transforms

    def forgetful(*args: Any, force_quick_gelu: bool, **options: Any) -> Any:
        return create(*args, **options)

    def silent(*args: Any, **options: Any) -> Any:
        return create(*args, quick_gelu=False, **options)

    for other, message in (
        (forgetful, "QuickGELU mismatch"),
        (silent, "trained with QuickGELU"),
    ):
        monkeypatch.setattr(open_clip, "create_model_and_transforms", other)
        with pytest.raises(T2IBenchError, match=message) as caught:
            create_encoder("open_clip:ViT-B-32/openai", device="cpu")
        assert "pip install" in str(caught.value.hint)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "open_clip_model.safetensors"
    path.write_bytes(b"weights")
    return path


@pytest.mark.usefixtures("without_weights")
def test_a_file_of_an_architecture_trained_in_several_ways_needs_a_tag(
    weights: Path,
) -> None:
    import open_clip

    with pytest.raises(T2IBenchError) as caught:
        create_encoder(f"open_clip:ViT-L-14/{weights}", device="cpu")
    assert (
        "trained in 3 ways that differ in activation and mean and std"
        in caught.value.message
    )
    assert "#openai (QuickGELU, 0.481" in str(caught.value.hint)
    for tag, activation in (("openai", "QuickGELU"), ("laion2b_s32b_b82k", "GELU")):
        encoder = create_encoder(f"open_clip:ViT-L-14/{weights}#{tag}", device="cpu")
        assert activations(encoder.towers()) == {activation}
        wanted = open_clip.get_pretrained_cfg("ViT-L-14", tag)["mean"]
        assert encoder.towers().visual.preprocess_cfg["mean"] == wanted
    with pytest.raises(T2IBenchError, match="Did you mean 'openai'"):
        create_encoder(f"open_clip:ViT-L-14/{weights}#opnai", device="cpu")


@pytest.mark.usefixtures("without_weights")
def test_a_file_needs_no_tag_where_all_tags_agree(weights: Path) -> None:
    quick = create_encoder(f"open_clip:ViT-L-14-quickgelu/{weights}", device="cpu")
    assert activations(quick.towers()) == {"QuickGELU"}
    mobile = create_encoder(f"open_clip:{MOBILE}/{weights}", device="cpu")
    assert mobile.towers().visual.preprocess_cfg["mean"] == (0.0, 0.0, 0.0)


@pytest.mark.usefixtures("without_weights")
def test_the_training_of_a_file_comes_from_the_configuration_beside_it(
    weights: Path,
) -> None:
    beside = weights.with_name("open_clip_config.json")
    preprocessing = {"mean": [0.5] * 3, "std": [0.25] * 3}
    for quick_gelu in (True, False):
        configuration = {
            "model_cfg": {"quick_gelu": quick_gelu},
            "preprocess_cfg": preprocessing,
        }
        beside.write_text(json.dumps(configuration))
        encoder = create_encoder(f"open_clip:ViT-L-14/{weights}", device="cpu")
        assert activations(encoder.towers()) == {"QuickGELU" if quick_gelu else "GELU"}
        assert encoder.towers().visual.preprocess_cfg["std"] == (0.25, 0.25, 0.25)
    with pytest.raises(T2IBenchError, match="trained without"):
        create_encoder(f"open_clip:ViT-L-14-quickgelu/{weights}", device="cpu")
    beside.write_text("[]")
    with pytest.raises(T2IBenchError, match="not a configuration of open_clip"):
        create_encoder(f"open_clip:ViT-L-14/{weights}", device="cpu")


def test_a_tag_without_an_activation_has_its_architectures() -> None:
    assert training_of_tag("roberta-ViT-B-32", "laion2b_s12b_b32k").quick_gelu
    assert not training_of_tag(
        "xlm-roberta-base-ViT-B-32", "laion5b_s13b_b90k"
    ).quick_gelu
