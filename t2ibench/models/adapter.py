"""Adapters, which say how a generator, encoder, judge or proposer is named and created.

A plug-in gives an `Adapter` to the entry-point group of its kind, such as `t2ibench.encoders`.
This module and every adapter's module are imported to list what there is, so they import model
libraries inside functions only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from t2ibench.arguments import Arguments
from t2ibench.models.downloads import Download

T = TypeVar("T")
A_co = TypeVar("A_co", bound=Arguments, covariant=True)
_BYTES = 2  # bytes of a parameter in 16 bits


@dataclass(frozen=True, slots=True)
class Request(Generic[A_co]):
    """The name and arguments from which an adapter creates a model.

    Attributes:
        spec: What the user wrote, such as 'folder:my/images'.
        source: The part after the scheme, such as 'my/images'; empty where there is none.
        args: The checked arguments.
        seed: The run's seed.
        device: Where the model runs; None to choose.
        dtype: Its precision; None to choose.
        encoders: Names of the run's encoders, or the encoders themselves, for judges that use one.
        fixed_batch: Generate exactly this many images at a time; see `DiffusersGenerator`.
        deterministic: Use deterministic kernels.
        recorded: The name comes from a stored run or a submission; pass it on where a name inside
            `source` makes another model.
    """

    spec: str
    source: str
    args: A_co
    seed: int = 0
    device: str | None = None
    dtype: str | None = None
    encoders: tuple[Any, ...] = ()
    fixed_batch: int | None = None
    deterministic: bool = False
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Adapter(Generic[T]):
    """A kind of generator, encoder, judge or proposer, and how to create one.

    Attributes:
        create: Makes the model. It may load weights lazily.
        form: How a user writes it: 'toyland', 'folder:DIR', or 'clip[:ENCODER]' where the part
            after the colon may be omitted.
        description: One line for `t2ibench ls`.
        Args: Its arguments (`--model-args`, `--judge-args`, `--rewriter-args`, …).
        check: For judges: raises an error for an unusable request, without loading a model or
            contacting a server.
        embeds_images: For encoders: False for word vectors.
        regenerates: Whether its outputs can be regenerated, such as an image from its prompt,
            index and seed; False for images and answers that exist already.
        default_encoder: For generators: the encoder of a run that names none; None for t2ibench's
            default.
        default_judge: The same for the judge.
        libraries: Distributions whose versions affect the pixels.
        free_text: For judges: whether it answers questions that have no classes.
        unreachable: For judges: which classes of a question it can never answer with.
        downloads: Lists the files it reads from the hub, without loading a model or asking the
            hub; None if the adapter does not declare them.
        cpu_weights: For generators, encoders and judges: returns, without loading them, the bytes
            of weights that a process loads onto a CPU; None where the model runs elsewhere, or
            nobody can tell. Runs of small models start a worker for each core.
        imports: For generators and encoders: modules that it imports where it is loaded onto a CPU.
            On Linux, one process imports them for all workers of the machine, which are forked
            from there, so importing one must start no thread.
    """

    create: Callable[[Request[Any]], T]
    form: str
    description: str
    Args: type[Arguments] = Arguments
    check: Callable[[Request[Any]], object] | None = None
    embeds_images: bool = True
    regenerates: bool = True
    default_encoder: str | None = None
    default_judge: str | None = None
    libraries: tuple[str, ...] = ()
    free_text: bool = True
    unreachable: Callable[[Sequence[str]], frozenset[str]] | None = None
    downloads: Callable[[Request[Any]], Sequence[Download]] | None = None
    cpu_weights: Callable[[Request[Any]], int | None] | None = None
    imports: tuple[str, ...] = ()

    def takes(self, source: str | None) -> bool:
        """Return whether a name with this `source` after its colon fits the adapter's form.

        Args:
            source: The part after the colon; None where there is no colon.

        Returns:
            False where something is missing, or too much is given.
        """
        if source is None:
            return ":" not in self.form or "[:" in self.form
        return bool(source) and ":" in self.form


@dataclass(frozen=True, slots=True)
class Alias:
    """A short name for a diffusers pipeline, or for a vision-language model of transformers.

    Attributes:
        source: Hub id, or the folder of a model that comes with t2ibench.
        description: What it is.
        args: Arguments it needs to work as its makers meant; the user's own win.
        images_per_prompt: Images of a prompt by default; None leaves it to the task.
        guided_images_per_prompt: The same for guided prompts.
        fixed_batch: How many images it generates at a time, always.
        default_encoder: Encoder of a run that names none; None for t2ibench's default.
        default_judge: The same for the judge.
        device: Where it runs unless one is named; None to choose.
        licence: Of the weights, as their makers call it; empty where their card has to be read.
        side: Width and height in pixels of the images it was trained for.
        billions: Parameters of all its parts, text encoders included, in billions and rounded.
    """

    source: str | Path
    description: str
    args: Mapping[str, str] = field(default_factory=dict)
    images_per_prompt: int | None = None
    guided_images_per_prompt: int | None = None
    fixed_batch: int | None = None
    default_encoder: str | None = None
    default_judge: str | None = None
    device: str | None = None
    licence: str = ""
    side: int | None = None
    billions: float | None = None

    @property
    def gigabytes(self) -> float | None:
        """Approximate size of the model's weights in 16 bits, in gigabytes; None if unknown."""
        return None if self.billions is None else _BYTES * self.billions

    def facts(self) -> dict[str, str]:
        """Return image side, size of weights and licence as texts for columns of `t2ibench ls`."""
        weights = "" if self.gigabytes is None else f"{self.gigabytes:.0f} GB"
        pixels = {} if self.side is None else {"pixels": str(self.side)}
        return {**pixels, "weights": weights, "licence": self.licence or "see its card"}

    def line(self) -> str:
        """Return the alias's description, source and arguments, as a line of `t2ibench ls`."""
        args = ",".join(f"{key}={value}" for key, value in self.args.items())
        where = "bundled" if isinstance(self.source, Path) else self.source
        return f"{self.description} ({where}{f'; {args}' if args else ''})"


def read_aliases(path: Path) -> dict[str, Alias]:
    """Return the aliases that a YAML file defines, keyed by short name."""
    rows = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {name: Alias(**row) for name, row in rows.items()}


@dataclass(frozen=True, slots=True)
class Listed:
    """A model as `t2ibench ls` lists it, in one row.

    Attributes:
        form: How a user writes it.
        description: What it is.
        origin: The package it comes from.
        facts: Further properties, by the name of their column.
    """

    form: str
    description: str
    origin: str
    facts: Mapping[str, str] = field(default_factory=dict)
