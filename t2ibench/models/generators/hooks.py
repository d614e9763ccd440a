"""Hooks: the user's own code between a loaded pipeline and its images.

A hook is how a debiasing method that needs no training is measured: it is called once with the
loaded pipeline, and may change it, replace it, or say image by image what the call is to be.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, failing, first_line, shown
from t2ibench.models.fingerprint import file_hash
from t2ibench.models.generators.pipeline_arguments import DiffusersArguments
from t2ibench.models.generators.pipelines import check_call
from t2ibench.models.protocols import ImageRequest
from t2ibench.registry import is_target, load_target

PerImage = Callable[[str, int], Mapping[str, Any] | None]
# Arguments that t2ibench sets, such as seed, form and size of an image.
_OWN = {
    "generator",
    "output_type",
    "return_dict",
    "num_images_per_prompt",
    "height",
    "width",
    "callback",
    "callback_steps",
    "callback_on_step_end",
    "self",
}


class HookFailed(Exception):
    """Raised if a hook fails to return the arguments of an image's call."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A user's function, `package.module:function`, and its keywords `hook.NAME=VALUE`.

    `digest` is the SHA-256 of the file of its module; of two files, where it is defined in another.
    """

    target: str
    digest: str
    function: Callable[..., Any]
    keywords: Mapping[str, Any]

    def apply(
        self, pipeline: Any, args: DiffusersArguments
    ) -> tuple[Any, PerImage | None]:
        """Call the hook; return the pipeline to use, and its function of each image's arguments.

        Returns:
            The pipeline to use, and the function that gives each image's arguments, if any.
        """
        where = f"--model-args: hook={self.target}"
        given = args.given().items()
        arguments = {
            name: value for name, value in given if name.partition(".")[0] != "hook"
        }
        with failing(f"{where} failed with"):
            returned = self.function(pipeline, arguments, **self.keywords)
        parts = returned if isinstance(returned, tuple) else (returned,)
        per_image: PerImage | None = None
        for part in parts:
            if hasattr(part, "components") and callable(part):
                pipeline = part
            elif inspect.isroutine(part) or (
                callable(part) and not isinstance(part, type)
            ):
                per_image = part
            elif part is not None:
                raise T2IBenchError(
                    f"{where} gives a {type(part).__name__}.",
                    "It gives a pipeline, a function of prompt and index, or both as a tuple.",
                )
        check_call(
            type(pipeline),
            args,
            f"hook={self.target} makes the pipeline one of another kind: ",
        )
        return pipeline, per_image


def find_hook(args: DiffusersArguments, *, recorded: bool = False) -> Hook | None:
    """Return the hook that arguments name, loaded and checked; None if they name none."""
    target, keywords = args.hook, args.to_hook
    if target is None:
        return None
    where = f"--model-args: hook={shown(target)}"
    if not is_target(target):
        raise T2IBenchError(
            f"{where}: expected package.module:function.",
            "A function in hooks.py of this folder is hook=hooks:function.",
        )
    if recorded:
        raise T2IBenchError(
            f"{where} names code, and it comes from a stored file, so it is not imported.",
            "Run the command yourself, where that code is yours.",
        )
    try:
        function = load_target(target)
    except T2IBenchError as error:
        hint = "It is looked for in the current folder and among installed packages."
        raise T2IBenchError(f"{where}: {error.message}", hint) from None
    _check_keywords(function, keywords, where)
    return Hook(target, _digest(target, function, where), function, keywords)


def calls(
    requests: Sequence[ImageRequest], per_image: PerImage, pipeline: Any, target: str
) -> Iterator[tuple[list[int], dict[str, Any], bool]]:
    """Yield requests grouped by equal hook arguments: indexes, arguments, and if to batch them.

    Yields:
        The numbers of the requests, their arguments, and whether the call may batch them.
    """
    groups: dict[str, tuple[list[int], dict[str, Any], bool]] = {}
    for number, request in enumerate(requests):
        options = _options(request, per_image, pipeline, target)
        try:
            key = json.dumps(options, sort_keys=True)
            plain = True
        except (TypeError, ValueError):
            key = f"{number}"
            plain = False
        groups.setdefault(key, ([], options, plain))[0].append(number)
    yield from groups.values()


def _options(
    request: ImageRequest, per_image: PerImage, pipeline: Any, target: str
) -> dict[str, Any]:
    where = f"--model-args: hook={target}"
    try:
        options = per_image(request.prompt, request.index)
    except Exception as error:
        raise HookFailed(
            f"the hook {target} failed with {type(error).__name__}: {first_line(error)}"
        ) from error
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise T2IBenchError(
            f"{where} gives a {type(options).__name__} for an image.",
            "Its function of prompt and index gives a mapping of arguments, or None.",
        )
    accepted = {*inspect.signature(type(pipeline).__call__).parameters} - _OWN
    for name in options:
        if name in _OWN:
            raise T2IBenchError(
                f"{where}: t2ibench sets {name} for each image.",
                "Leave it out; --seed and size=… in --model-args decide seeds and size.",
            )
        if name not in accepted:
            near = did_you_mean(str(name), accepted)
            raise T2IBenchError(
                f"{where}: {type(pipeline).__name__} takes no {name}.{near}",
                "Its function of prompt and index gives arguments of the pipeline's call.",
            )
    return dict(options)


def _check_keywords(
    function: Callable[..., Any], keywords: Mapping[str, Any], where: str
) -> None:
    """Raise an error for keywords that the hook does not take, before weights are loaded."""
    try:
        inspect.signature(function).bind(None, {}, **keywords)
    except (TypeError, ValueError) as error:
        raise T2IBenchError(
            f"{where}: {first_line(error)}.",
            "It is called with the pipeline, the model's arguments and hook.NAME=VALUE.",
        ) from None


def _digest(target: str, function: Any, where: str) -> str:
    """Return the SHA-256 of a hook's module, and of the module that defines it if it differs."""
    named = target.partition(":")[0]
    names = dict.fromkeys([named, getattr(function, "__module__", None) or named])
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    if not all(file and Path(file).is_file() for file in files):
        raise T2IBenchError(
            f"{where}: its module has no file, so nothing tells one version from another.",
            "Put the function into a file of its own.",
        )
    digests = [file_hash(Path(file)) for file in files if file]
    return "-".join(dict.fromkeys(digests))
