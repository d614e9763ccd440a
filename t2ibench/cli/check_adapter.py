"""`t2ibench check adapter`: test whether the user's own model meets its contract."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from t2ibench.arguments import parse_args

KINDS = ("generator", "encoder", "judge")
_ODD_PROMPTS = ("truncated because", "sequence length is longer")


def run(arguments: argparse.Namespace) -> int:
    """Print each way in which an adapter breaks its contract; return 1 if there is any."""
    from t2ibench.models.library_messages import collect_messages

    kind = arguments.kind or _kind_of(arguments.spec)
    # The prompts are odd on purpose, so libraries' warnings about long ones are expected.
    with collect_messages(arguments.spec, expected=_ODD_PROMPTS):
        notes: list[str] = []
        lines = _problems(kind, arguments, notes)
    for note in notes:
        print(f"{arguments.spec}: {note}")
    for line in lines:
        print(f"{arguments.spec}: {line}")
    if lines:
        count = len(lines)
        print(f"{count} problem{'s' if count != 1 else ''} found in the {kind}.")
        return 1
    print(
        f"{arguments.spec}: meets the contract of a{'n' if kind[0] in 'aeiou' else ''} {kind}."
    )
    return 0


def _kind_of(spec: str) -> str:
    """Return the kind of adapter whose registry has the name `spec`; 'generator' by default."""
    from t2ibench.models.generators import GENERATORS
    from t2ibench.models.resolution import find_registered
    from t2ibench.registry import is_target, load_target

    for kind in KINDS:
        if find_registered(
            load_target(f"t2ibench.models.{kind}s:{kind.upper()}S"), spec
        ):
            return kind
    if is_target(spec) and spec.partition(":")[0] not in GENERATORS:
        # The members of a class show its kind; a function is assumed to create a generator.
        value = load_target(spec)
        members = {"encode_images": "encoder", "answer": "judge"}
        return next(
            (kind for name, kind in members.items() if hasattr(value, name)),
            "generator",
        )
    return "generator"


def _problems(kind: str, arguments: argparse.Namespace, notes: list[str]) -> list[str]:
    """Return one line for each way in which an adapter breaks the contract of its kind.

    `notes` gets a sentence about whether edits of a generator were tried.
    """
    from t2ibench.models import contract
    from t2ibench.models.encoders import create_encoder
    from t2ibench.models.generators import create_generator, libraries_of
    from t2ibench.models.judges import answers_in_words, create_judges

    spec, given = arguments.spec, arguments.prompt
    create: Callable[..., Any]
    check: Callable[..., list[str]]
    if kind == "generator":
        near = int("torch" in libraries_of(spec))
        create, prompts = create_generator, given or contract.PROMPTS
        check = partial(
            contract.check_generator,
            prompts=prompts,
            pixel_tolerance=near,
            tell=notes.append,
        )
    elif kind == "encoder":
        create = create_encoder
        check = partial(contract.check_encoder, texts=given or contract.TEXTS)
    else:

        def create(spec: str, args: dict[str, str], **where: Any) -> Any:
            return create_judges([spec], args, encoders=["toyland"], **where)[0]

        check = partial(contract.check_judge, free_text=answers_in_words(spec))
    args = parse_args(arguments.model_args or "")
    other = parse_args(arguments.other_args or "", "--other-args")
    where = {"device": arguments.device, "dtype": arguments.dtype}
    create(spec, args, **where)  # raises the usual error for a wrong name or argument
    make_other = partial(create, spec, {**args, **other}, **where) if other else None
    return check(partial(create, spec, args, **where), make_other=make_other)
