"""The encoder `text_of:MODEL[#TOWER]`: a text encoder of a text-to-image pipeline.

An image begins with the embedding of its prompt by the pipeline's own text encoder, so the tests of
words can be run on that encoder beside those of images. CLIP's text models give their pooled text;
T5, Gemma, Qwen and the like the mean over the tokens of the last layer, as Sentence-T5 does (Ni et
al. 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.downloads import Download, PipelineFiles
from t2ibench.models.encoders.towers import (
    TextsOnly,
    TowerEncoder,
    architecture,
    untrained_copy,
)
from t2ibench.models.fingerprint import find_weights, fingerprint
from t2ibench.models.hub import ask_hub, load_part
from t2ibench.models.locations import is_path, loading

_CONTEXT = 77  # tokens; longer texts are cut, as CLIP's are
_DEFAULT = "text_encoder"


class TextEncoderOf(TextsOnly, TowerEncoder):
    """A text encoder of a diffusers pipeline (see models.protocols.Encoder).

    Its source is an alias, a hub id or a folder, and after '#' which text encoder: 'text_encoder'
    (the default), 'text_encoder_2', ….
    """

    def __init__(self, request: Request[Arguments]) -> None:
        from t2ibench.models.generators.aliases import ALIASES

        model, _, tower = request.source.partition("#")
        source = str(ALIASES[model].source) if model in ALIASES else model
        where, identity = find_weights(source, "text_of:")
        super().__init__(request)
        self._batch = self.batch_size = 32
        part = tower or _DEFAULT
        loaded, self._tokenizer = _load(where, part, self._dtype)
        loaded = loaded.to(self._device).eval()
        self.towers = lambda: loaded
        longest = getattr(loaded.config, "max_position_embeddings", None) or _CONTEXT
        self._context = min(_CONTEXT, longest, self._tokenizer.model_max_length)
        weights = identity()
        self.network: Mapping[str, Any] = {
            "library": "transformers",
            "weights": weights,
            "part": part,
        }
        self.fingerprint = fingerprint(
            adapter="text_of 1", weights=weights, part=part, dtype=str(self._dtype)
        )

    def untrained(self) -> TextEncoderOf:
        """Return the same architecture with random weights (see models.protocols.HasUntrained)."""
        import torch

        model = self.towers()
        kind, config = type(model), model.config
        return untrained_copy(
            self,
            lambda: kind._from_config(config, dtype=torch.float32),
            {
                "class": kind.__name__,
                "config": architecture(config.to_dict()),
                "dtype": str(self._dtype),
            },
            "transformers",
        )

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of texts, shape (n, d); texts of more than 77 tokens are cut."""

        def call(batch: Sequence[str]) -> Any:
            tokens = self._tokenizer(
                list(batch),
                # one shape for all batches: a text's row is always the same
                padding="max_length",
                max_length=self._context,
                truncation=True,
                return_tensors="pt",
            ).to(self._device)
            ids, mask = tokens["input_ids"], tokens["attention_mask"]
            return _pooled(self.towers(), ids, mask)

        return self._rows(texts, call)


def _pooled(model: Any, ids: Any, mask: Any) -> Any:
    """Return a row for each text: CLIP's pooled output, or the mean over tokens except padding."""
    is_clip = type(model).__name__.startswith("CLIPText")
    if is_clip:
        # As the pipelines call it: CLIP was trained on whole contexts, padding included.
        output = model(input_ids=ids)
        pooled = getattr(output, "text_embeds", None)
        return output.pooler_output if pooled is None else pooled
    output = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    states = getattr(output, "last_hidden_state", None)
    states = output.hidden_states[-1] if states is None else states
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def _load(where: str, part: str, dtype: Any) -> tuple[Any, Any]:
    """Return the text encoder of a pipeline that is named `part`, and its tokenizer."""
    import transformers
    from diffusers import DiffusionPipeline

    local = ask_hub(where, "model_index.json")
    pipeline = "Give a text-to-image pipeline that diffusers saved."
    what = f"model_index.json of '{shown(where)}'"
    with loading(where, pipeline, what=what, library="diffusers"):
        index = dict(DiffusionPipeline.load_config(where, **local))
    towers = [
        name
        for name, value in index.items()
        if name.startswith(_DEFAULT) and isinstance(value, list) and any(value)
    ]
    if part not in towers:
        raise T2IBenchError(
            f"'{shown(where)}' has no '{shown(part)}'.{did_you_mean(part, towers)}",
            f"Its text encoders: {', '.join(towers)}." if towers else pipeline,
        )
    library, name = index[part]
    kind: Any = (
        getattr(transformers, str(name), None) if library == "transformers" else None
    )
    if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
        raise T2IBenchError(
            f"'{shown(where)}': {part} is a {shown(str(library))}.{shown(str(name))}, which is not "
            "a model of transformers.",
            "Only text encoders of transformers are read.",
        )
    tokenizer_part = part.replace(_DEFAULT, "tokenizer")
    what = f"{part} of '{shown(where)}'"
    with loading(where, "Weights have to be safetensors.", what=what):
        options = {"use_safetensors": True, "dtype": dtype, **local}
        model = load_part(kind, where, subfolder=part, **options)
        options = {"subfolder": tokenizer_part, "padding_side": "right", **local}
        tokenizer = load_part(transformers.AutoTokenizer, where, **options)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def _downloads(request: Request[Arguments]) -> list[Download]:
    """Return the download of a pipeline's text encoder and tokenizer; [] for a local path."""
    from t2ibench.models.generators.aliases import ALIASES

    model, _, tower = request.source.partition("#")
    source = str(ALIASES[model].source) if model in ALIASES else model
    if is_path(source):
        return []
    part = tower or _DEFAULT
    only = frozenset({part, part.replace(_DEFAULT, "tokenizer")})
    return [Download(source, PipelineFiles(only=only))]


ADAPTER = Adapter(
    create=TextEncoderOf,
    downloads=_downloads,
    form="text_of:MODEL[#TOWER]",
    description="a text encoder of a text-to-image model, for tests of words",
    embeds_images=False,
)
