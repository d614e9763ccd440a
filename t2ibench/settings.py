"""Define all settings of a run, in one model.

The flags of `t2ibench run`, the keys of `--config`, the keywords of `evaluate()`, the settings in
run.db and results.json and the stored command are all derived from `RunSettings`. A new setting is
one field here.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from t2ibench.arguments import Args, Columns, Names, Paths, expected, format_args
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.redaction import Redaction, has_password, known_secrets

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Self

_T = TypeVar("_T")
Positive = Annotated[int, Field(strict=True, ge=1)]
MOST_IMAGES = 1_000_000  # of a prompt, before they are multiplied by `times`
MOST_TIMES = 1000
Images = Annotated[int, Field(strict=True, ge=1, le=MOST_IMAGES)]
Draws = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
NotNegative = Annotated[int, Field(strict=True, ge=0)]
# Settings with names that are stored with the run.
_STORED_NAMES = (
    "name",
    "output_dir",
    "model",
    "sources",
    "rewriter",
    "encoder",
    "judge",
    "judge_check",
)
# The part of a service's key that is random; a name such as sk-model-2 has none.
_LIKE_A_KEY = re.compile(r"[A-Za-z0-9]{20,}")
DERIVED = "derived"  # a seed that is taken from the model's fingerprint


@dataclass(frozen=True, slots=True)
class Flag:
    """How a setting appears on the command line."""

    group: Literal["what to measure", "how much", "where and how"]
    metavar: str
    help: str
    # Whether it affects results, and so belongs to the command that reproduces them.
    decides: bool = True


_what = partial(Flag, "what to measure")
_much = partial(Flag, "how much")
_where = partial(Flag, "where and how")
_NO_ARGS: Any = Field(default_factory=dict)
_auto = BeforeValidator(lambda value: None if value == "auto" else value)
_path = BeforeValidator(lambda value: str(value) if isinstance(value, Path) else value)


def derived_seed(fingerprint: str) -> int:
    """Return the run's seed that `--seed derived` stands for, from 1 to 2³¹ - 1.

    Nobody chooses it, and a model that was changed until its images looked fair has another one.
    The words of the tasks enter with each image's seed. Hashes of tasks do not: tasks share images,
    and a choice of tasks would be a choice of seeds.

    Args:
        fingerprint: SHA-256 of what decides the model's images.
    """
    digest = hashlib.sha256(f"derived seed\0{fingerprint}".encode()).digest()
    return int.from_bytes(digest[:4], "little") % (2**31 - 1) + 1


def _checked_shard(value: str | None) -> str | None:
    match = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", value or "1/1")
    if match is None or int(match[1]) > int(match[2]):
        raise ValueError("expected I/N, the I-th of N parts, such as 3/16")
    return value


class Measurement(BaseModel):
    """How a task is measured; stored with every result.

    Attributes:
        images_per_prompt: Images of every prompt; None leaves it to the model and the task.
        guided_images_per_prompt: Images of prompts that name an attribute;
            None is the same number as for other prompts.
        times: Images as a multiple of these numbers, rounded up.
        limit: Number of stimuli to use of each concept, and of facts, for a trial; None for all.
        seed: Seed of images, permutations and bootstrap.
        n_permutations: Monte Carlo draws of a permutation test.
        n_bootstrap: Bootstrap draws of an interval.
        level: Level of the confidence intervals, in (0, 1).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    images_per_prompt: Annotated[
        Images | None,
        _much("N", "generate N images of every prompt (default: the task's number)"),
    ] = None
    guided_images_per_prompt: Annotated[
        Images | None,
        _much(
            "N",
            "generate N images of every attribute prompt (default: as "
            "--images-per-prompt)",
        ),
    ] = None
    times: Annotated[
        float,
        Field(gt=0, le=MOST_TIMES, allow_inf_nan=False),
        _much("X", "multiply all numbers of images by X (default: 1)"),
    ] = 1.0
    limit: Annotated[
        Positive | None,
        _much(
            "N",
            "use only the first N stimuli of each concept, and facts, for a trial (default: all)",
        ),
    ] = None
    seed: Annotated[
        NotNegative,
        _much(
            "N|derived",
            "set the random seed of generation and statistics; derived takes it from the model's "
            "fingerprint, as a submission should (default: 0)",
        ),
    ] = 0
    n_permutations: Annotated[
        Draws, _much("N", "draw N permutations for each test (default: 100000)")
    ] = 100_000
    n_bootstrap: Annotated[
        Draws, _much("N", "draw N bootstrap samples for each interval (default: 10000)")
    ] = 10_000
    level: Annotated[
        float,
        Field(gt=0, lt=1),
        _much("L", "set the level of the confidence intervals (default: 0.95)"),
    ] = 0.95

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """Return an object of this class with the settings of a stored result or of a run."""
        names = cls.model_fields.keys() & type(measurement).model_fields.keys()
        return cls(**{name: getattr(measurement, name) for name in names})


class Settings(Measurement):
    """Measurement settings that a method's `needs` and `score` receive.

    Attributes:
        max_exact: Largest number of partitions that a permutation test enumerates.
    """

    max_exact: Positive = 200_000

    def limited(self, items: Sequence[_T]) -> Sequence[_T]:
        """Return the first `limit` items; all of them without a limit.

        Args:
            items: Stimuli of one concept, or facts.

        Returns:
            The first of them; all of them without a limit.
        """
        return items if self.limit is None else items[: self.limit]

    def images(self, of_task: int) -> int:
        """Return how many images each prompt gets.

        Args:
            of_task: Number that the task asks for.

        Returns:
            `times` as many as `images_per_prompt`, or as the task's number.
        """
        return self._multiplied(self.images_per_prompt or of_task)

    def guided_images(self, of_task: int) -> int:
        """Return how many images each prompt that names an attribute gets.

        Args:
            of_task: Number that the task asks for.

        Returns:
            `times` as many as `guided_images_per_prompt`, else `images_per_prompt`, else the
            task's number.
        """
        return self._multiplied(
            self.guided_images_per_prompt or self.images_per_prompt or of_task
        )

    def _multiplied(self, images: int) -> int:
        return max(1, math.ceil(images * self.times - 1e-9))

    def rng(self, task_id: str, purpose: str) -> np.random.Generator:
        """Return a random number generator for one purpose within one task.

        It depends on neither encoder nor other tasks, so encoders are resampled in pairs and a
        task's numbers do not change with the tasks around it.

        Args:
            task_id: Id of the task.
            purpose: What it is for, such as 'bootstrap'.

        Returns:
            The generator; the same seed, task and purpose give the same numbers.
        """
        import numpy as np

        digest = hashlib.sha256(f"{task_id}\0{purpose}".encode()).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest[:8], "little")])


class RunSettings(Measurement):
    """All settings of a run.

    Attributes:
        model: The generator; None to score text encoders alone.
        tasks: Ids, globs, groups, 'tag:NAME', 'all' or 'extended'.
        model_args: Arguments of the generator, as text.
        sources: The generator of the images that tasks have edited; None for the model itself.
        sources_args: Its arguments, as text.
        rewriter: The rewriter of prompts before the generator gets them; None for none.
        rewriter_args: Arguments of the rewriter, as text.
        encoder: Encoders; empty for the model's default.
        judge: Judges, for tasks that ask questions; empty for the model's default.
        judge_args: Arguments of the judges, as text.
        judge_check: Files of `t2ibench check judge --output`: shares are corrected by them.
        include_path: Folders of further tasks.
        captions: The file, folder or `datasets` id of each pool of captions, for tasks without
            captions.
        columns: Headings of the user's tables (prompts of a folder, answers, rewritings), by role,
            if they are not common ones.
        pattern: How names of the images of a folder give prompts, such as '{prompt}_{index}.png'.
        allow_missing: Score a task on the prompts that have images, where some have none; such a
            result is marked, and the leaderboard does not accept it.
        batch_size: Images in one call of the generator, the same for the whole run; None for what
            suits the model and its device.
        deterministic: Use deterministic kernels, so that a model gives the same bits again.
        device: Where models run; None to choose.
        dtype: Their precision; None to choose.
        name: Name of the run, its folder and its pages; None for the model's.
        output_dir: Folder of all runs.
        engine: Where the work runs: 'local' or 'ray'.
        workers: Number of worker processes; None for one per GPU, or per core for small models on
            a CPU, or one.
        engine_args: Arguments of the engine, as text.
        shard: 'I/N': do the I-th of N parts, each a run of its own, and score nothing.
        no_score: Stop before scoring; the machine that scores needs no model.
        control_encoder: The untrained control of each encoder: 'random', the same architecture
            with random weights, or 'none'.
        generate_only: Stop after generating.
        max_cost: Largest total cost of a run's images and rewritings; None for any.
        log_to: Destinations that get the results; see `t2ibench ls destinations`.
        log_args: Arguments of the destinations, as text.
        seed_is_derived: Whether the seed is taken from the model's fingerprint; `seed="derived"`
            sets it. Until the model is known, `seed` is the default.
    """

    @model_validator(mode="before")
    @classmethod
    def _read_derived_seed(cls, values: Any) -> Any:
        """Return given values with `seed="derived"` as its own setting."""
        if isinstance(values, dict) and values.get("seed") == DERIVED:
            without_seed = {key: values[key] for key in values if key != "seed"}
            return without_seed | {"seed_is_derived": True}
        return values

    model: Annotated[
        str | None,
        _what(
            "M",
            "measure this model: toy, toyland, an alias (sdxl), a hub id, a "
            "diffusers folder, folder:DIR, or package.module:factory "
            "(default: none, text encoders only)",
        ),
    ] = None
    tasks: Annotated[
        Names,
        _what(
            "T,…",
            "run these tasks: ids, globs, groups, tag:NAME or all; "
            "`t2ibench ls` lists them (required)",
        ),
    ] = ()
    model_args: Annotated[
        Args,
        _what(
            "k=v,…",
            "set options of the model: steps=30,size=768,lora=… (default: none)",
        ),
    ] = _NO_ARGS
    sources: Annotated[
        str | None,
        _what(
            "M",
            "make the source images of edits with this model, or take them from "
            "folder:DIR (default: the model itself)",
        ),
    ] = None
    sources_args: Annotated[
        Args,
        _what(
            "k=v,…",
            "set options of --sources: steps=30,size=768,… (default: none)",
        ),
    ] = _NO_ARGS
    rewriter: Annotated[
        str | None,
        _what(
            "R",
            "rewrite prompts before the model sees them: hf:MODEL, "
            "openai:MODEL, file:PATH (default: no rewriting)",
        ),
    ] = None
    rewriter_args: Annotated[
        Args,
        _what(
            "k=v,…",
            "set options of the rewriter: template=@FILE, per=image, "
            "base_url=… (default: none)",
        ),
    ] = _NO_ARGS
    encoder: Annotated[
        Names,
        _what(
            "E,…",
            "embed with these encoders, and average their scores (default: "
            "open_clip's ViT-L-14, or what a toy model brings; see `t2ibench ls encoders`)",
        ),
    ] = ()
    judge: Annotated[
        Names,
        _what(
            "J,…",
            "ask these judges about images, for tasks that need answers "
            "(default: Qwen3-VL-4B, or what a toy model brings; see `t2ibench ls judges`)",
        ),
    ] = ()
    judge_args: Annotated[
        Args,
        _what(
            "k=v,…", "set options of the judges: base_url=…, margin=… (default: none)"
        ),
    ] = _NO_ARGS
    judge_check: Annotated[
        Names,
        _what(
            "FILE,…",
            "correct shares with the errors of judges in these files, which "
            "`t2ibench check judge --output` writes (default: none)",
        ),
    ] = ()
    include_path: Annotated[
        Paths, _what("DIR", "add the tasks of a folder; repeatable (default: none)")
    ] = ()
    captions: Annotated[
        Args,
        _what(
            "P=FILE,…",
            "read captions from a file, a folder or a data set of the Hugging Face hub, "
            "for tasks without captions of their own (default: none)",
        ),
    ] = _NO_ARGS
    columns: Annotated[
        Columns,
        _what(
            "k=NAME,…",
            "name the columns of your image tables by their headings: image=Name,prompt=Text "
            "(default: common headings)",
        ),
    ] = _NO_ARGS
    pattern: Annotated[
        str | None,
        _what(
            "P",
            "read prompts from file names: '{prompt}_{index}.png' (default: "
            "from a table or sub-folders)",
        ),
    ] = None
    allow_missing: Annotated[
        bool,
        Field(strict=True),
        _what(
            "",
            "score a task even if some prompts have no image, and leave these "
            "prompts out (default: no score)",
        ),
    ] = False
    control_encoder: Annotated[
        Literal["random", "none"],
        _what(
            "C",
            "compare with an untrained encoder of the same architecture "
            "(random), or with none (default: random)",
        ),
    ] = "random"
    batch_size: Annotated[
        Positive | None,
        _auto,
        _where(
            "N|auto",
            "generate N images at once, in every batch of the run (default: auto, which is 8 of "
            "1024 pixels and 16 of 512 on a GPU with room for them, else fewer)",
        ),
    ] = None
    deterministic: Annotated[
        bool,
        Field(strict=True),
        _where(
            "",
            "use deterministic kernels, which may be slower on some GPUs "
            "(default: the fastest kernels)",
        ),
    ] = False
    device: Annotated[
        str | None,
        _where(
            "D",
            "run models on cuda, cuda:1, mps or cpu (default: the best that "
            "is available)",
            decides=False,
        ),
    ] = None
    dtype: Annotated[
        str | None,
        _where(
            "T", "run models in float32, float16 or bfloat16 (default: the model's)"
        ),
    ] = None
    name: Annotated[
        str | None,
        Field(min_length=1, max_length=100),
        _where("NAME", "name the run and its folder (default: the model's name)"),
    ] = None
    output_dir: Annotated[
        str, _path, _where("DIR", "write runs into this folder (default: runs)")
    ] = "runs"
    engine: Annotated[
        Literal["local", "ray"],
        _where(
            "E",
            "run the work in local processes (local) or on a Ray cluster (ray) "
            "(default: local)",
            decides=False,
        ),
    ] = "local"
    workers: Annotated[
        Positive | None,
        _auto,
        _where(
            "N|auto",
            "start N worker processes (default: one per GPU; for small models on a CPU, "
            "one per core; else 1)",
            decides=False,
        ),
    ] = None
    engine_args: Annotated[
        Args,
        _where(
            "k=v,…",
            "set options of the engine ray: address=…,num_gpus=… (default: none)",
            decides=False,
        ),
    ] = _NO_ARGS
    shard: Annotated[
        str | None,
        AfterValidator(_checked_shard),
        _where(
            "I/N",
            "run only part I of N; `t2ibench merge` joins the parts "
            "(default: everything)",
            decides=False,
        ),
    ] = None
    no_score: Annotated[
        bool,
        _where(
            "",
            "stop before scoring; `t2ibench score` scores later "
            "(default: go on to the scores)",
            decides=False,
        ),
    ] = False
    generate_only: Annotated[
        bool,
        _where(
            "", "stop after generating (default: go on to the scores)", decides=False
        ),
    ] = False
    max_cost: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False),
        _much(
            "X",
            "stop before the server's total price exceeds X, in its currency "
            "(default: no limit)",
            decides=False,
        ),
    ] = None
    log_to: Annotated[
        Names,
        _where(
            "D,…",
            "send the results to wandb, hf-dataset:OWNER/NAME, … (default: nowhere)",
            decides=False,
        ),
    ] = ()
    log_args: Annotated[
        Args,
        _where(
            "k=v,…", "set options of --log-to: project=… (default: none)", decides=False
        ),
    ] = _NO_ARGS

    # Not stored: it follows from the seed and the model's fingerprint (see `of_model`).
    seed_is_derived: bool = Field(default=False, exclude=True)

    def of_model(self, fingerprint: str) -> RunSettings:
        """Return these settings with a seed that is derived from this model, if it is.

        Where it was asked for, the seed is filled in. Settings that were stored with the number
        are recognised by it: nobody gets that number by chance.
        """
        seed = derived_seed(fingerprint)
        if not self.seed_is_derived and self.seed != seed:
            return self
        return self.model_copy(update={"seed": seed, "seed_is_derived": True})

    @property
    def seed_of_model(self) -> int:
        """The seed that the model is created with, which may be part of its fingerprint.

        It is the default where the run's seed is derived, since that follows from the fingerprint.
        """
        return Measurement().seed if self.seed_is_derived else self.seed

    def command(self) -> list[str]:
        """Return the words of a command that gives the same results, with all deciding settings.

        Parsing it gives the same settings back.

        Returns:
            The words of the command, 't2ibench' first.
        """
        words = ["t2ibench", "run"]
        for name, field, flag in flags():
            value = getattr(self, name)
            if name == "seed" and self.seed_is_derived:
                # The number would become part of the fingerprint, and so name another model.
                value = DERIVED
            if not flag.decides or value == field.get_default(
                call_default_factory=True
            ):
                continue
            option = flag_name(name)
            if value is True:
                words.append(option)
                continue
            texts = value if name == "include_path" else [_written(value)]
            for text in texts:
                # A value that begins like a flag has to be joined to its flag.
                words += (
                    [f"{option}={text}"] if text.startswith("-") else [option, text]
                )
        return words


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return format_args(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def flags() -> list[tuple[str, Any, Flag]]:
    """Return name, field and flag of each setting that has a flag, in the order of `--help`."""
    order = [*RunSettings.__annotations__, *Measurement.__annotations__]
    flags = []
    for name in order:
        field = RunSettings.model_fields[name]
        flag = next((item for item in field.metadata if isinstance(item, Flag)), None)
        if flag is not None:
            flags.append((name, field, flag))
    return flags


def flag_name(name: str) -> str:
    """Return the flag of a setting, such as '--seed' for 'seed'."""
    return "--" + name.removeprefix("n_").replace("_", "-")


def by_setting(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values keyed by setting; the given keys may also be written like flags."""
    setting_of = {
        word: name for name, _, _ in flags() for word in (name.removeprefix("n_"), name)
    }
    return {
        setting_of.get(key.replace("-", "_"), key): value
        for key, value in values.items()
    }


def read_settings(
    values: Mapping[str, Any], where: str = "", are_flags: bool = False
) -> RunSettings:
    """Return settings from any source, checked; raise T2IBenchError if one is invalid.

    Args:
        values: The settings, by their keys.
        where: What the message begins with, such as the file that they are read from.
        are_flags: Whether the message names the flag of a setting, such as '--seed', not its key.
    """
    try:
        settings = RunSettings(**by_setting(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        shown_name = flag_name(name) if are_flags else name
        raise T2IBenchError(f"{where}{_problem(name, shown_name, first)}") from None
    _refuse_secret_names(settings, where)
    return settings


def _refuse_secret_names(settings: RunSettings, where: str) -> None:
    """Raise an error where a name that goes into every file holds a secret.

    That is one of the environment, or what has the form of a service's key and contains a run of
    20 letters and digits that is no word.
    """
    secrets = Redaction(known_secrets())
    for setting, text in _stored_names(settings):
        if secrets.contains(text) or has_password(text):
            raise T2IBenchError(
                f"{where}{flag_name(setting)} holds a secret of the environment or a password, "
                "and is stored with the run.",
                "Choose another name.",
            )
        if any(_is_random(key) for key in secrets.keys(text)):
            raise T2IBenchError(
                f"{where}{flag_name(setting)} looks like the key of a service, and is stored with "
                "the run.",
                "Choose another name.",
            )


def _stored_names(settings: RunSettings) -> Iterator[tuple[str, str]]:
    """Yield every name that the user chose, with its setting."""
    for setting in _STORED_NAMES:
        value = getattr(settings, setting)
        texts = (value,) if isinstance(value, str) else value or ()
        for text in texts:
            yield setting, text


def _is_random(key: str) -> bool:
    """Return whether a key contains a run of letters and digits that is no word.

    Digits at the end alone, as in StableDiffusionXLBase10, are those of a version. A run of 30 is
    long enough without digits, since Hugging Face's keys may have none.
    """
    return any(
        len(run.group()) >= 30 or re.search(r"\d[A-Za-z]", run.group())
        for run in _LIKE_A_KEY.finditer(key)
    )


def _problem(name: str, shown_name: str, item: Any) -> str:
    """Return what is wrong with the setting `name`, which the message calls `shown_name`."""
    if item["type"] == "extra_forbidden":
        return f"unknown setting '{shown(name)}'.{did_you_mean(name, RunSettings.model_fields)}"
    return f"{shown_name}: {expected(item)}, found {shown(repr(item['input']))}."
