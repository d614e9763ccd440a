"""`t2ibench check adapter`: does a model of one's own keep the contract?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from t2ibench.arguments import parse_args


def run(arguments: argparse.Namespace) -> int:
    """Print each part of the contract that an adapter breaks, one line each."""
    from t2ibench.models.devices import quietly

    kind = arguments.kind or _kind_of(arguments.spec)
    with quietly():  # libraries say at length that the odd prompts are odd
        lines = _CHECKS[kind](arguments)
    for line in lines:
        print(f"{arguments.spec}: {line}")
    if lines:
        count = len(lines)
        print(f"{count} problem{'s' if count != 1 else ''} found in the {kind}.")
        return 1
    print(f"{arguments.spec}: meets the contract of a{'n' if kind[0] in 'aeiou' else ''} {kind}.")
    return 0


def _kind_of(spec: str) -> str:
    """The kind whose registry has the name; a generator where none has."""
    from t2ibench.models.encoders import ENCODERS
    from t2ibench.models.generators import GENERATORS
    from t2ibench.models.judges import JUDGES
    from t2ibench.models.resolution import find_registered
    from t2ibench.models.rewriters import REWRITERS
    from t2ibench.registry import Registry, is_target, load_target

    kinds: dict[str, Registry[Any]] = {
        "generator": GENERATORS,
        "encoder": ENCODERS,
        "judge": JUDGES,
        "rewriter": REWRITERS,
    }
    for kind, registry in kinds.items():
        if find_registered(registry, spec):
            return kind
    if is_target(spec) and spec.partition(":")[0] not in GENERATORS:
        # A class tells by its members; a function is taken for one that makes a generator.
        value = load_target(spec)
        members = {"encode_images": "encoder", "answer": "judge", "rewrite": "rewriter"}
        return next((kind for name, kind in members.items() if hasattr(value, name)), "generator")
    return "generator"


def _makers(
    arguments: argparse.Namespace, create: Callable[..., Any]
) -> tuple[Callable[[], Any], Callable[[], Any] | None]:
    """What makes the model, and what makes one with other arguments."""
    args = parse_args(arguments.model_args or "")
    other = parse_args(arguments.other_args or "", "--other-args")

    def made(args: dict[str, str]) -> Any:
        return create(arguments.spec, args, device=arguments.device, dtype=arguments.dtype)

    made(args)  # a wrong name or argument is the user's to correct, not the adapter's
    return lambda: made(args), (lambda: made({**args, **other})) if other else None


def _generator(arguments: argparse.Namespace) -> list[str]:
    from t2ibench.models.contract import PROMPTS, check_generator
    from t2ibench.models.generators import create_generator, libraries_of

    make, make_other = _makers(arguments, create_generator)
    return check_generator(
        make,
        make_other=make_other,
        prompts=arguments.prompt or PROMPTS,
        pixel_tolerance=int("torch" in libraries_of(arguments.spec)),
    )


def _encoder(arguments: argparse.Namespace) -> list[str]:
    from t2ibench.models.contract import TEXTS, check_encoder
    from t2ibench.models.encoders import create_encoder

    make, make_other = _makers(arguments, create_encoder)
    return check_encoder(make, make_other=make_other, texts=arguments.prompt or TEXTS)


def _judge(arguments: argparse.Namespace) -> list[str]:
    from t2ibench.models.contract import check_judge
    from t2ibench.models.judges import answers_in_words, create_judges

    def create(spec: str, args: dict[str, str], **where: Any) -> Any:
        return create_judges([spec], args, encoders=["toyland"], **where)[0]

    make, make_other = _makers(arguments, create)
    return check_judge(make, make_other=make_other, free_text=answers_in_words(arguments.spec))


def _rewriter(arguments: argparse.Namespace) -> list[str]:
    from t2ibench.models.contract import REWRITTEN, check_rewriter
    from t2ibench.models.rewriters import create_rewriter

    make, make_other = _makers(arguments, create_rewriter)
    return check_rewriter(make, make_other=make_other, prompts=arguments.prompt or REWRITTEN)


_CHECKS: dict[str, Callable[[argparse.Namespace], list[str]]] = {
    "generator": _generator,
    "encoder": _encoder,
    "judge": _judge,
    "rewriter": _rewriter,
}
