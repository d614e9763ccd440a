"""`t2ibench run --dry-run`: what would be generated, what is there, how long it may take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tabulate import tabulate

from t2ibench.methods import method_of, needs
from t2ibench.models.generators import ALIASES
from t2ibench.models.generators.published import PUBLISHED
from t2ibench.models.protocols import Charges, ImageRequest
from t2ibench.pipeline.pending import pending_images
from t2ibench.pipeline.rewriting import price_of, to_rewrite

if TYPE_CHECKING:
    from t2ibench.models.language import Rewriter
    from t2ibench.pipeline.prepare import Prepared

_PNG_BYTES = 1.5  # of a pixel of a photograph


def show(prepared: Prepared) -> None:
    """Print the plan and what is left to do.

    Args:
        prepared: The run, before anything is generated.
    """
    plan = prepared.plan
    waiting: dict[str, int] = {}
    left: list[ImageRequest] = []
    removed = 0
    if prepared.images is not None:
        for request in pending_images(plan, prepared.images):
            attempt = prepared.images.get(request.prompt, request.index)
            if attempt and attempt.status == "ok" and not prepared.settings.generate_only:
                removed += 1
            else:
                left.append(request)
                waiting[request.prompt] = waiting.get(request.prompt, 0) + 1
    _heading(prepared)
    rows = []
    for task in plan.tasks:
        needs = plan.needs[task.id]
        todo = sum(waiting.get(prompt, 0) for prompt in {need.prompt for need in needs.prompts})
        answers = sum(need.images for need in needs.questions)
        row = [task.id, needs.n_prompts, needs.n_images, todo, len(needs.texts), answers]
        rows.append(row)
    headers = ["Task", "Prompts", "Images", "To generate", "Texts", "Answers"]
    print(tabulate(rows, headers=headers, tablefmt="simple"))
    todo, texts = sum(waiting.values()), len(plan.texts_for(True))
    print(
        f"\nAll tasks together, each image once: {len(plan.prompts)} prompts, "
        f"{len(plan.requests)} images, of which {len(plan.requests) - todo} are stored and "
        f"{todo} have to be generated; {texts} texts, {plan.n_questions} answers of each "
        "judge."
    )
    if removed:
        print(
            f"{removed} of the stored images have no file any more. Those that an encoder or a "
            "judge has not seen yet are generated again; --generate-only makes all of them again."
        )
    print(_estimate(prepared, todo))
    for line in (*_asked(prepared, left), *_room(prepared, todo)):
        print(line)
    for line in _variant_costs(prepared):
        print(line)
    print("\nPrompts (images, to generate):")
    for prompt, count in sorted(plan.prompts.items()):
        print(f"  {count:5d} {waiting.get(prompt, 0):5d}  {json.dumps(prompt, ensure_ascii=False)}")
    for prompt, (available, needed) in sorted(prepared.lacking.items()):
        print(f"  has {available} of {needed}  {json.dumps(prompt, ensure_ascii=False)}")


def _heading(prepared: Prepared) -> None:
    plan = prepared.plan
    print(f"Run folder: {prepared.folder.path}")
    if prepared.rewriter is not None:
        print(f"Rewriter: {_rewriting(prepared, prepared.rewriter)}")
    if plan.needs_encoder:
        print(f"Encoders: {', '.join(prepared.settings.encoder)}")
    if plan.questions:
        print(f"Judges: {', '.join(prepared.settings.judge)}")
    print()


def _rewriting(prepared: Prepared, rewriter: Rewriter) -> str:
    """Who rewrites prompts, and how often it has to be asked."""
    left = len(to_rewrite(prepared))
    unit = "an image" if rewriter.per == "image" else "a prompt"
    calls = f"{left} rewritings have to be made" if left else "nothing has to be rewritten"
    price = price_of(rewriter)
    cost = f", which would cost {left * price:,.2f}" if left and price is not None else ""
    return f"{rewriter.name}, one rewriting {unit}; {calls} before the first image{cost}"


def _estimate(prepared: Prepared, todo: int) -> str:
    """Time that the missing images take, from the speed of earlier runs of this folder."""
    if not todo:
        return "Nothing has to be generated."
    rate = prepared.folder.record.speed()
    if rate is not None:
        return (
            f"At the {rate:.1f} images a second of the last run (scoring included): "
            f"about {duration(todo / rate)}."
        )
    unknown = "No run of this model is stored here to estimate its speed from"
    measure = "`--limit 1` makes a short run to measure it."
    published = PUBLISHED.get(str(prepared.settings.model))
    if published is None:
        return f"{unknown}; at 1 image a second: {duration(todo)}. {measure}"
    given = str(prepared.settings.model_args.get("steps"))
    steps = int(given) if given.isdecimal() else published.steps
    seconds = published.at(steps)
    return (
        f"{unknown}. Estimate: {duration(todo * seconds)}, at {seconds:.1f} seconds an image of "
        f"{steps} steps, published for one {published.gpu} ({published.source}). {measure}"
    )


def _room(prepared: Prepared, todo: int) -> list[str]:
    """Weights of an alias and images, on disk; estimates."""
    alias = ALIASES.get(str(prepared.settings.model))
    if alias is None or alias.gigabytes is None or alias.side is None or not todo:
        return []
    images = todo * alias.side**2 * _PNG_BYTES / 1e9
    return [
        f"Estimates: {alias.gigabytes:.0f} GB of weights in 16 bits, on disk and in memory (less "
        "with load.… quantisation or offload=model); "
        f"{images:.1f} GB of images at {alias.side} x {alias.side} pixels."
    ]


def duration(seconds: float) -> str:
    """A time in words.

    Args:
        seconds: How long.

    Returns:
        Seconds, minutes or hours.

    Examples:
        >>> duration(59.6), duration(600), duration(5400)
        ('60 seconds', '10 minutes', '1.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _asked(prepared: Prepared, left: list[ImageRequest]) -> list[str]:
    """Requests to a server and their cost."""
    generator = prepared.generator
    return [generator.forecast(left)] if left and isinstance(generator, Charges) else []


def _variant_costs(prepared: Prepared) -> list[str]:
    """What other designs of the same tasks would cost."""
    settings = prepared.plan.settings
    lines = []
    for task in prepared.plan.tasks:
        variants = method_of(task.spec).variants(task.spec)
        costs = [
            f"{needs(spec, settings).n_images} with {name}"
            + (" (this task)" if spec == task.spec else "")
            for name, spec in variants.items()
        ]
        if costs:
            lines.append(f"  {task.id}: {', '.join(costs)}")
    return ["\nImages by design:", *lines] if lines else []
