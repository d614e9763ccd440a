"""List the hub files that adapters need, and their state on this machine.

An adapter says with `downloads` what its loader will read. The choice of files is the loader's:
safetensors and never the same weights in other formats, one variant of the weights, the
configurations, tokenizers and processors beside them.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from t2ibench.errors import UNEXPECTED_JSON, T2IBenchError, shown
from t2ibench.models.locations import is_path

# A function that returns the text of a small file of a repository, by its name.
Read = Callable[[str], str]
INDEX = "model_index.json"
_SHARD = r"-\d{5}-of-\d{5}"
_WEIGHTS = ("model", "diffusion_pytorch_model")
_OTHER_FORMATS = (
    "*.bin*",
    "*.msgpack*",
    "*.h5*",
    "*.onnx*",
    "*.ckpt",
    "*.pt",
    "*.pth",
    "*.gguf",
)
# Files of tokenizers and processors, in a repository whose files lie at its top.
_TEXT_FILES = (
    "*.json",
    "*.txt",
    "*.jinja",
    "*.model",
    "*.tiktoken",
    "additional_chat_templates/*",
)
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "vocab.json",
    "vocab.txt",
)
# What a pipeline reads at the top of its repository, beside its folders.
_AT_THE_TOP = (
    INDEX,
    "config.json",
    "scheduler_config.json",
    "chat_template.jinja",
    "generation_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
_WITHOUT_WEIGHTS = (
    "tokenizer",
    "scheduler",
    "feature_extractor",
    "image_processor",
    "processor",
)
_LORA = "pytorch_lora_weights.safetensors"
_NO_LORA = ("scheduler", "optimizer", "checkpoint")


class Files(Protocol):
    """A selection of the files of a repository.

    Attributes:
        patterns: Glob patterns that contain them, for `hf download --include`.
        excluded: Glob patterns of files to leave out of these.
    """

    @property
    def patterns(self) -> Sequence[str]:
        """Glob patterns of files to download (see the attributes)."""
        ...

    @property
    def excluded(self) -> Sequence[str]:
        """Glob patterns of files not to download (see the attributes)."""
        ...

    def wanted(self, listing: Sequence[str], read: Read) -> list[str]:
        """Return which files in `listing` to download; raise T2IBenchError if none is usable."""
        ...

    def missing(self, folder: Path) -> list[str]:
        """Return the needed files that a folder does not have, judging by the files it has."""
        ...


@dataclass(frozen=True, slots=True)
class Download:
    """A hub repository, and which of its files are read.

    Attributes:
        repository: Its id, ORG/NAME.
        files: Which of its files.
        revision: Branch, tag or commit; None for the main branch.
        part: The part of a model that it is, such as 'lora'; empty for the model itself.
        fetch: Downloads it, if the library has a function for that; None for the usual way.
    """

    repository: str
    files: Files
    revision: str | None = None
    part: str = ""
    fetch: Callable[[], object] | None = None

    def command(self) -> str:
        """Return the shell command that downloads the files on another machine.

        Examples:
            >>> Download("org/name", NamedFiles(("model.safetensors",))).command()
            'hf download org/name --include model.safetensors'
        """
        words = ["hf", "download", self.repository]
        if self.revision is not None:
            words += ["--revision", self.revision]
        for pattern in self.files.patterns:
            words += ["--include", pattern]
        for pattern in self.files.excluded:
            words += ["--exclude", pattern]
        return shlex.join(words)


def model_downloads(source: str) -> list[Download]:
    """Return the download of a transformers model from the hub; empty for a local path."""
    return [] if is_path(source) else [Download(source, ModelFiles())]


def snapshot_of(repository: str, revision: str | None = None) -> Path | None:
    """Return the folder of this machine's copy of a hub repository; None if there is none."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    try:
        name = repo_folder_name(repo_id=repository, repo_type="model")
        folder = Path(constants.HF_HUB_CACHE) / name
        branch = folder / "refs" / (revision or "main")
        commit = branch.read_text().strip() if branch.is_file() else revision
        snapshot = folder / "snapshots" / (commit or "main")
        return snapshot if snapshot.is_dir() else None
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """One file of a repository: the first of several names that exists there."""

    names: tuple[str, ...]

    @property
    def patterns(self) -> Sequence[str]:
        """The first name, as the only pattern."""
        return self.names[:1]

    @property
    def excluded(self) -> Sequence[str]:
        """No patterns, because nothing is excluded."""
        return ()

    def wanted(self, listing: Sequence[str], read: Read) -> list[str]:
        """Return the first of the names that is in `listing`; raise an error if none is."""
        there = [name for name in self.names if name in listing]
        if not there:
            raise T2IBenchError(f"it has no {' or '.join(self.names)}")
        return there[:1]

    def missing(self, folder: Path) -> list[str]:
        """Return the first of the names if the folder has a file of none of them; else nothing."""
        return (
            []
            if any((folder / name).is_file() for name in self.names)
            else [self.names[0]]
        )


@dataclass(frozen=True, slots=True)
class LoraFiles:
    """The LoRA weights of a repository: the file that diffusers loads by default."""

    patterns: Sequence[str] = ("*.safetensors",)
    excluded: Sequence[str] = ()

    def wanted(self, listing: Sequence[str], read: Read) -> list[str]:
        """Return diffusers' default LoRA file in `listing`, or else the first safetensors file."""
        files = [name for name in listing if name.endswith(".safetensors")]
        files = [name for name in files if not any(word in name for word in _NO_LORA)]
        usual = [name for name in files if name.endswith(_LORA)]
        if not files:
            raise T2IBenchError("it has no safetensors file that could be a LoRA")
        return (usual or files)[:1]

    def missing(self, folder: Path) -> list[str]:
        """Return the default file name of a LoRA if the folder has no safetensors file."""
        return [] if any(folder.rglob("*.safetensors")) else [_LORA]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model of transformers, whose files lie at the top of its repository.

    Attributes:
        with_weights: False for the tokenizer and the configuration alone.
    """

    with_weights: bool = True

    @property
    def patterns(self) -> Sequence[str]:
        """The patterns of text files and, if `with_weights`, of weights as safetensors."""
        return (*_TEXT_FILES, *(("model*.safetensors",) if self.with_weights else ()))

    @property
    def excluded(self) -> Sequence[str]:
        """The pattern of weight indexes in another format."""
        return ("*.bin.index.json",)

    def wanted(self, listing: Sequence[str], read: Read) -> list[str]:
        """Return configurations, tokenizer and processor files, and one set of weights."""
        texts = [
            name
            for name in listing
            if _fits(name, _TEXT_FILES)
            and not _fits(name, ("*.index.json", *_OTHER_FORMATS))
            and name.count("/") == name.startswith("additional_chat_templates/")
        ]
        return [*texts, *(_weights(listing, "", None) if self.with_weights else [])]

    def missing(self, folder: Path) -> list[str]:
        """Return which of configuration, weights and tokenizer a folder does not have."""
        missing: list[str] = []
        if self.with_weights:
            missing += [] if (folder / "config.json").is_file() else ["config.json"]
            missing += missing_weights(folder)
        if not any((folder / name).is_file() for name in _TOKENIZERS):
            missing.append("tokenizer.json")
        return missing


@dataclass(frozen=True, slots=True)
class PipelineFiles:
    """The files of a diffusers pipeline: a folder for each of its parts, and an index of them.

    Attributes:
        variant: Variant of the weights, such as 'fp16'; None for weights without a variant, or
            for 'fp16' where a part has no such weights.
        without: Parts that are not loaded.
        only: Parts that are loaded; empty for all of them.
    """

    variant: str | None = None
    without: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()

    @property
    def patterns(self) -> Sequence[str]:
        """The patterns of the pipeline's index and of the files of the parts that are loaded."""
        if self.only:
            return (INDEX, *(f"{name}/*" for name in sorted(self.only)))
        return ("*.json", "*/*")

    @property
    def excluded(self) -> Sequence[str]:
        """The patterns of other weight formats and variants, and of parts that are not loaded."""
        variants = () if self.variant else ("*.fp16*", "*.non_ema*")
        return (
            *_OTHER_FORMATS,
            *variants,
            *(f"{name}/*" for name in sorted(self.without)),
        )

    def _parts(self, index: str) -> list[str]:
        """Return the names of the loaded parts that a pipeline's JSON index lists."""
        try:
            parts = json.loads(index)
        except (ValueError, RecursionError):
            raise T2IBenchError(f"its {INDEX} is not JSON") from None
        if not isinstance(parts, Mapping):
            raise T2IBenchError(f"its {INDEX} lists no parts")
        named = [
            name
            for name, value in parts.items()
            if isinstance(value, list) and any(value) and not name.startswith("_")
        ]
        return [
            name
            for name in named
            if name not in self.without and (not self.only or name in self.only)
        ]

    def wanted(self, listing: Sequence[str], read: Read) -> list[str]:
        """Return the files in `listing` that diffusers would download.

        See DiffusionPipeline.download.
        """
        if INDEX not in listing:
            raise T2IBenchError(f"it has no {INDEX}, so it is no pipeline of diffusers")
        parts = self._parts(read(INDEX))
        weighed = _folders_with_weights(listing)
        loaded = [folder for folder in weighed if folder in parts]
        variant = self.variant
        are_plain = [_plain(listing, folder) for folder in loaded]
        if variant is None and not all(are_plain):
            variant = "fp16"  # A run also loads these if there are no others.
        files = [INDEX]
        if not self.only:
            files = [name for name in _AT_THE_TOP if name in listing]
        for folder in parts:
            files += _settings_of(listing, folder, has_weights=folder in weighed)
        # Without `only`, diffusers also loads weights of folders that the index does not name.
        folders = loaded if self.only else weighed
        for folder in folders:
            if folder not in self.without:
                files += _weights(listing, folder, variant, required=folder in loaded)
        return list(dict.fromkeys(files))

    def missing(self, folder: Path) -> list[str]:
        """Return the parts, or files of parts, that a downloaded folder does not have."""
        index = folder / INDEX
        if not index.is_file():
            return [INDEX]
        missing: list[str] = []
        for name in self._parts(index.read_text(encoding="utf-8")):
            part = folder / name
            if not part.is_dir() or not any(part.iterdir()):
                missing.append(f"{name}/")
            elif (part / "config.json").is_file() and not name.startswith(
                _WITHOUT_WEIGHTS
            ):
                missing += [f"{name}/{file}" for file in missing_weights(part)]
        return missing


def missing_weights(folder: Path) -> list[str]:
    """Return the safetensors files that a model's folder does not have, judging by its index."""
    indexes = sorted(folder.glob("*.safetensors.index*.json"))
    for index in indexes:
        with suppress(OSError, *UNEXPECTED_JSON):
            shards = set(
                json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            )
            missing = sorted(name for name in shards if not (folder / name).is_file())
            if not missing:
                return []
            return missing
    weights = [
        path for path in folder.glob("*.safetensors") if path.name.startswith(_WEIGHTS)
    ]
    return [] if weights else ["model.safetensors"]


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _matching(listing: Sequence[str], folder: str, pattern: str) -> list[str]:
    """Return the weight files in a folder of a repository whose names match a pattern."""
    start = f"{folder}/" if folder else ""
    names = "|".join(_WEIGHTS)
    whole = re.compile(rf"{re.escape(start)}({names}){pattern}")
    return [name for name in listing if whole.fullmatch(name)]


def _folders_with_weights(listing: Sequence[str]) -> list[str]:
    """Return the folders of a repository that contain weights, in alphabetical order."""
    ends = (".safetensors", ".bin", ".msgpack", ".onnx", ".h5")
    weights = [name for name in listing if name.count("/") == 1 and name.endswith(ends)]
    return sorted({name.partition("/")[0] for name in weights})


def _settings_of(
    listing: Sequence[str], folder: str, *, has_weights: bool
) -> list[str]:
    """Return the files of a pipeline's part besides its weights, such as its configuration."""
    if not has_weights:
        return _texts_of(listing, folder)
    config = f"{folder}/config.json"
    return [config] if config in listing else []


def _texts_of(listing: Sequence[str], folder: str) -> list[str]:
    """Return the files of a pipeline's part that has no weights, such as a tokenizer."""
    inside = [name for name in listing if name.startswith(f"{folder}/")]
    return [name for name in inside if not _fits(name, _OTHER_FORMATS)]


def _plain(listing: Sequence[str], folder: str) -> list[str]:
    """Return a folder's safetensors weights that have no variant, and their index."""
    weights = _matching(listing, folder, rf"({_SHARD})?\.safetensors")
    return weights and [
        *weights,
        *_matching(listing, folder, r"\.safetensors\.index\.json"),
    ]


def _weights(
    listing: Sequence[str], folder: str, variant: str | None, *, required: bool = True
) -> list[str]:
    """Return the names of a folder's weight files: the variant's, or else the plain ones."""
    if variant is not None:
        name = re.escape(variant)
        pattern = rf"(\.{name}({_SHARD})?|{_SHARD}\.{name})\.safetensors"
        weights = _matching(listing, folder, pattern)
        if weights:
            index = rf"\.safetensors\.(index\.{name}|{name}\.index)\.json"
            return [*weights, *_matching(listing, folder, index)]
    weights = _plain(listing, folder)
    whole = [
        name
        for name in weights
        if re.search(rf"/?({'|'.join(_WEIGHTS)})\.safetensors$", name)
    ]
    if not weights and required:
        where = f"in {shown(folder)} " if folder else ""
        raise T2IBenchError(
            f"it has no weights {where}as safetensors, and no others are loaded"
        )
    return whole if whole and not folder else weights


@dataclass(slots=True)
class DownloadState:
    """The state of a download: what it needs and which files are missing.

    Attributes:
        download: The download.
        role: Its purpose: model, encoder, judge or rewriter.
        name: The model, as the user or a default named it.
        commit: The commit of the repository; empty if unknown.
        files: Number of files that are read; None if the hub could not be asked.
        size: Bytes of all files; None if unknown.
        to_fetch: Bytes of missing files.
        missing: Names of missing files.
        problem: Why it cannot be downloaded, as a clause; empty if it can.
    """

    download: Download
    role: str
    name: str
    commit: str = ""
    files: int | None = None
    size: int | None = None
    to_fetch: int = 0
    missing: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def here(self) -> bool:
        """Whether this machine has every file of the download."""
        return not self.missing and not self.problem


def local_state(state: DownloadState) -> DownloadState:
    """Fill in and return a download's state, as far as this machine alone can tell."""
    download = state.download
    folder = snapshot_of(download.repository, download.revision)
    if folder is None:
        state.missing = list(download.files.patterns)
        return state
    state.commit = folder.name
    try:
        state.missing = download.files.missing(folder)
    except T2IBenchError as error:
        state.problem = error.message
    return state


def hub_state(state: DownloadState) -> DownloadState:
    """Fill in and return a download's state by asking the hub; raise OSError without an answer."""
    from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache

    download = state.download
    info = HfApi().model_info(
        download.repository, revision=download.revision, files_metadata=True, timeout=20
    )
    state.commit = info.sha or ""
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}

    def read(name: str) -> str:
        path = hf_hub_download(download.repository, name, revision=download.revision)
        return Path(path).read_text(encoding="utf-8")

    try:
        wanted = download.files.wanted(sorted(sizes), read)
    except T2IBenchError as error:
        state.problem = error.message
        return state

    def is_here(name: str) -> bool:
        cached: Any = try_to_load_from_cache(
            download.repository, name, revision=info.sha
        )
        return isinstance(cached, str)

    state.files, state.size = len(wanted), sum(sizes[name] for name in wanted)
    state.missing = [name for name in wanted if not is_here(name)]
    state.to_fetch = sum(sizes[name] for name in state.missing)
    return state


def fetch(state: DownloadState) -> None:
    """Download the missing files of a state, and point its branch to the downloaded commit."""
    from huggingface_hub import snapshot_download

    download = state.download
    if download.fetch is not None:
        download.fetch()
        return
    names = [re.sub(r"([*?[])", r"[\1]", name) for name in state.missing]
    snapshot_download(
        download.repository, revision=download.revision, allow_patterns=names
    )
