"""`t2ibench run --dry-run`: print what would be generated, what exists, and the time it takes."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tabulate import tabulate

from t2ibench.cli.what_fits import smaller_runs, smallest_run
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.edit_needs import expected_answers, expected_images
from t2ibench.models.devices import choose_device
from t2ibench.models.downloads import local_state
from t2ibench.models.generators.aliases import PUBLISHED
from t2ibench.models.protocols import (
    Charges,
    HasPrice,
    ImageRequest,
    MakesTrials,
)
from t2ibench.pipeline.computed_edits import is_computed
from t2ibench.pipeline.downloads import needed_models
from t2ibench.pipeline.generator_record import spent
from t2ibench.pipeline.planned_edits import planned_edits
from t2ibench.pipeline.progress import duration
from t2ibench.pipeline.rewriting import to_rewrite
from t2ibench.pipeline.source_images import SourceImages
from t2ibench.pipeline.worker_count import worker_count
from t2ibench.store.images import ImageFile

if TYPE_CHECKING:
    from t2ibench.methods.core.evidence import Needs
    from t2ibench.models.protocols import Generator
    from t2ibench.pipeline.run_context import Models, RunContext, SourceRun

_MANY = 20  # above this number of tasks, the table has groups of tasks
_LONG = 7200.0  # seconds, above which smaller runs are suggested


@dataclass(frozen=True, slots=True)
class _Bill:
    """A paid model, and the images that it still has to make."""

    generator: Charges
    requests: Sequence[ImageRequest]

    @property
    def price(self) -> float | None:
        """The price of an image; None if it is unknown."""
        if not isinstance(self.generator, HasPrice):
            return None
        return self.generator.price_per_image()

    @property
    def trials(self) -> int:
        """How many images it makes besides, to try something out."""
        if not isinstance(self.generator, MakesTrials):
            return 0
        return self.generator.trials(self.requests)


def show(context: RunContext, models: Models, verbose: bool = False) -> None:
    """Print the plan of a run and its remaining work, ending with the totals."""
    plan = context.plan
    left: list[ImageRequest] = []
    removed, images = 0, context.images
    for request in plan.requests:
        if images is None or images.is_done(request.key):
            continue
        attempt = images.get(request.key)
        if attempt and attempt.status == "ok" and not context.settings.generate_only:
            removed += 1
        else:
            left.append(request)
    if verbose:
        _prompts(context, left)
    width = max(shutil.get_terminal_size((100, 50)).columns, 60)
    _table(context, left, by_task=verbose or len(plan.tasks) <= _MANY)
    edits_to_come = _edits_to_come(context)
    todo, texts = len(left) + len(edits_to_come), len(plan.texts_for(True))
    n_images = len(plan.requests) + len(edits_to_come)
    lines = _heading(context, models)
    to_come = [*left, *edits_to_come, *_sources_left(context, models)]
    bills = _bills(context, models, to_come)
    lines += [bill.generator.forecast(bill.requests) for bill in bills]
    lines += _budget(context, bills)
    if removed:
        lines.append(
            f"{removed} of the stored images have no file any more. Those that are not yet "
            "embedded or judged are regenerated; --generate-only regenerates all of them."
        )
    lines.append(
        f"All tasks together, each image once: {len(plan.prompts):,} prompts, "
        f"{n_images:,} images, of which {n_images - todo:,} are stored and "
        f"{todo:,} have to be generated; {texts:,} texts, {_answers(context)}."
    )
    if plan.has_edits:
        lines.append(_edits(context))
    lines += _estimate(context, len(to_come))
    for line in lines:
        print(
            textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        )


def _edits_to_come(context: RunContext) -> list[ImageRequest]:
    """Return a request for each edit of a source image that does not exist yet, for counting."""
    there = _source_images(context)
    if there is None:
        return []
    requests: dict[tuple[str, object, int], ImageRequest] = {}
    for needs in context.plan.needs_of_part.values():
        for edit in needs.edits:
            attempt = there.attempt(edit.source)
            if attempt is not None and attempt.status != "failed":
                continue
            for index in range(edit.images):
                requests[edit.instruction, edit.source, index] = ImageRequest(
                    edit.instruction, index, 0, ImageFile("", "")
                )
    return list(requests.values())


def _sources_left(context: RunContext, models: Models) -> list[ImageRequest]:
    """Return the source images that the run's own model still has to make."""
    sources = context.sources
    if sources is None or sources.models.generator is not models.generator:
        return []
    return _missing_sources(sources)


def _missing_sources(sources: SourceRun) -> list[ImageRequest]:
    images = sources.context.images
    assert images is not None
    return [
        request
        for request in sources.context.plan.requests
        if not images.is_done(request.key)
    ]


def _bills(
    context: RunContext, models: Models, to_come: Sequence[ImageRequest]
) -> list[_Bill]:
    """Return what the run still has to pay for, in the order in which it is made.

    Args:
        context: The run.
        models: Its models.
        to_come: The images that its own model still has to make.
    """
    images: list[tuple[Generator | None, Sequence[ImageRequest]]] = []
    sources = context.sources
    if sources is not None and sources.models.generator is not models.generator:
        # Their model takes its cost from the same --max-cost.
        images.append((sources.models.generator, _missing_sources(sources)))
    images.append((models.generator, to_come))
    bills: list[_Bill] = []
    for generator, requests in images:
        # What the run makes itself costs nothing.
        paid = [request for request in requests if not is_computed(request)]
        if paid and isinstance(generator, Charges):
            bills.append(_Bill(generator, paid))
    return bills


def _edits(context: RunContext) -> str:
    """Return how many source images a run has edited, and how many edits are still to be made."""
    plan = context.plan
    edits = plan.n_expected_edits
    answers = plan.n_expected_edit_answers
    sources = context.sources
    assert sources is not None
    of_sources = sources.context.plan
    stored = sources.context.images
    requests = of_sources.requests
    n_stored = sum(stored is not None and stored.is_done(each.key) for each in requests)
    model = context.settings.sources or context.settings.model or "the model"
    text = (
        f"Edits: {len(requests):,} source images by {model}, of which {n_stored:,} are stored; "
        f"{edits:,} images are made from them, with {of_sources.n_questions:,} and "
        f"{answers:,} answers of each judge."
    )
    return (
        f"{text} The numbers of images above include the edits, not the source images; price and "
        "time include both."
    )


def _answers(context: RunContext) -> str:
    """Return in words how many answers the judges give, also about edits to come."""
    plan = context.plan
    about_prompts = plan.n_questions - plan.edits.n_questions
    count = about_prompts + plan.n_expected_edit_answers
    if count and not context.settings.judge:
        return f"no judge (--judge would check guided images: {count:,} answers)"
    return f"{count:,} answers of each judge"


def _prompts(context: RunContext, left: Sequence[ImageRequest]) -> None:
    waiting = Counter(request.prompt for request in left if request.source is None)
    print("Prompts (images, to generate):")
    for prompt, count in sorted(context.plan.prompts.items()):
        print(
            f"  {count:5d} {waiting[prompt]:5d}  {json.dumps(prompt, ensure_ascii=False)}"
        )
    for prompt, (available, needed) in sorted(context.short_of_images.items()):
        print(
            f"  has {available} of {needed}  {json.dumps(prompt, ensure_ascii=False)}"
        )
    print()


def _table(context: RunContext, left: Sequence[ImageRequest], *, by_task: bool) -> None:
    """Print a row for each task, or for each group of tasks if there are many."""
    plan = context.plan
    tasks: dict[str, list[Needs]] = {}
    of_this_part: dict[str, list[Needs]] = {}
    for task in plan.tasks:
        name = task.id if by_task or not task.group else task.group
        tasks.setdefault(name, []).append(plan.needs[task.id])
        of_this_part.setdefault(name, []).append(plan.needs_of_part[task.id])
    rows = []
    of_sources = _source_images(context)
    left_by_prompt: dict[str, list[int]] = {}
    for request in left:
        if request.source is None:
            left_by_prompt.setdefault(request.prompt, []).append(request.index)
    for name, needed in tasks.items():
        counts: Counter[str] = Counter()
        for task_needs in needed:
            # Tasks share images, so the largest count of a prompt is what is generated.
            counts |= Counter(task_needs.images_by_prompt)
        todo = sum(
            index < count
            for prompt, count in counts.items()
            for index in left_by_prompt.get(prompt, ())
        )
        answers = sum(
            need.images
            for task_needs in needed
            for need in (*task_needs.questions, *task_needs.checks)
        )
        edits_to_make = expected_images(of_this_part[name])
        edits_to_make -= _edits_made(context, of_this_part[name], of_sources)
        row = [
            name,
            len(needed),
            len(counts),
            counts.total() + expected_images(needed),
            todo + edits_to_make,
            answers + expected_answers(needed),
        ]
        rows.append(row)
    headers = ["", "Tasks", "Prompts", "Images", "To make", "Answers"]
    print(tabulate(rows, headers=headers, tablefmt="simple", intfmt=","))
    print()


def _source_images(context: RunContext) -> SourceImages | None:
    """Return the source images that exist; None for a run without edits."""
    sources = context.sources
    if sources is None or sources.context.images is None:
        return None
    return SourceImages(sources.context.images)


def _edits_made(
    context: RunContext, needed: Sequence[Needs], sources: SourceImages | None
) -> int:
    """Return how many edits that tasks need exist."""
    images = context.images
    if sources is None or images is None:
        return 0
    edits = planned_edits(needed, context.plan.settings.seed, sources)
    return sum(images.is_done(request.key) for request in edits.requests)


def _heading(context: RunContext, models: Models) -> list[str]:
    plan = context.plan
    lines = [f"Run folder: {context.folder.path}"]
    if (rewriter := models.rewriter) is not None:
        left = len(to_rewrite(context.plan, context.images, models.generator))
        unit = "an image" if rewriter.per == "image" else "a prompt"
        calls = (
            f"{left} rewritings have to be made"
            if left
            else "nothing has to be rewritten"
        )
        rewriting = f"{rewriter.name}, one rewriting {unit}"
        lines.append(f"Rewriter: {rewriting}; {calls} before the first image")
    if plan.needs_encoder:
        lines.append(f"Encoders: {', '.join(context.settings.encoder)}")
    if plan.asks_judges and context.settings.judge:
        lines.append(f"Judges: {', '.join(context.settings.judge)}")
    if context.settings.engine == "local":
        lines.append(worker_count(context, models).forecast())
    if missing := _not_here(context, models):
        lines.append(
            f"Not on this machine yet: {missing}; `t2ibench prefetch` downloads them."
        )
    try:  # workers may be on other machines
        choose_device(context.settings.device)
    except T2IBenchError as error:
        lines.append(f"Device: {error}")
    return lines


def _not_here(context: RunContext, models: Models) -> str:
    """Return the names of hub repositories that are missing on this machine; '' if none are."""
    generate_only = context.settings.generate_only
    needed = needed_models(context, models, generate_only=generate_only)
    states = [local_state(state) for model in needed for state in model.states()]
    return ", ".join(
        dict.fromkeys(state.download.repository for state in states if not state.here)
    )


def _estimate(context: RunContext, todo: int) -> list[str]:
    """Return lines on the time that the missing images take."""
    if not todo:
        return ["Nothing has to be generated."]
    seconds, source = _speed(context)
    if seconds is None:
        lines = [f"Time: unknown, {source}"]
    else:
        lines = [f"Time: about {duration(todo * seconds)}, {source}"]
    if seconds and todo * seconds > _LONG:
        most = int(_LONG / seconds)
        fitting = " or ".join(
            f"{smaller.flag} ({duration(smaller.images * seconds)})"
            for smaller in smaller_runs(context, most)
        )
        ways = fitting or "--tasks core, a short suite, or --model-args steps=…"
        lines.append(f"{most:,} images fit into 2 hours: {ways}.")
    return [
        *lines,
        "Leave --dry-run out to run it; --verbose lists every task and prompt.",
    ]


def _budget(context: RunContext, bills: Sequence[_Bill]) -> list[str]:
    """Return lines on whether --max-cost suffices for the missing images, and what it allows."""
    most = context.settings.max_cost
    if most is None or any(bill.price is None for bill in bills):
        return []
    priced = [(len(bill.requests), bill.price) for bill in bills if bill.price]
    if not priced:
        return []
    trials = sum(bill.trials * bill.price for bill in bills if bill.price)
    before = _spent(context)
    todo = sum(count for count, _ in priced)
    total = before + trials + sum(count * price for count, price in priced)
    paid = f", {before:,.2f} of them spent before," if before else ""
    if total <= most * (1 + 1e-9):
        return [
            f"--max-cost {most:g} suffices: the run costs {total:,.2f}{paid} at most."
        ]
    affordable = _affordable(most - before - trials, priced)
    lines = [
        f"--max-cost {most:g} does not suffice: the run costs {total:,.2f}{paid} and would end "
        f"after {affordable:,} of these {todo:,} images."
    ]
    if len(priced) == 1:
        _, price = priced[0]
        lines += _within(context, most, before + trials, price, affordable)
    return lines


def _spent(context: RunContext) -> float:
    """Return what a run's images, and its source images, have cost so far."""
    sources = context.sources
    elsewhere = 0.0 if sources is None else spent(sources.context.folder)
    return spent(context.folder) + elsewhere


def _affordable(money: float, priced: Sequence[tuple[int, float]]) -> int:
    """Return how many images can be paid for, in order.

    Args:
        money: What is left.
        priced: Numbers of images, each with the price of one.

    Examples:
        >>> _affordable(1.0, [(4, 0.2), (10, 0.05)])
        8
    """
    affordable = 0
    for count, price in priced:
        paid = min(count, max(0, int(money / price + 1e-9)))
        affordable += paid
        money -= paid * price
        if paid < count:
            break
    return affordable


def _within(
    context: RunContext, most: float, before: float, price: float, affordable: int
) -> list[str]:
    """Return a line on smaller runs that --max-cost suffices for, or that there are none."""
    fitting = [
        f"{smaller.flag} ({smaller.images:,} images, {before + smaller.images * price:,.2f})"
        for smaller in smaller_runs(context, affordable)
    ]
    if fitting:
        return [f"Within {most:g}: {' or '.join(fitting)}."]
    if context.settings.shard is None:
        least = smallest_run(context)
        cost = f"{before + least * price:,.2f}"
        return [
            f"No smaller run fits: one image of each prompt ({least:,}) costs {cost}."
        ]
    return []


def _speed(context: RunContext) -> tuple[float | None, str]:
    """Return the seconds per image, None if never measured, and their source in words."""
    rate = context.folder.record.speed()
    if rate is not None:
        return (
            1 / rate,
            f"at the {rate:.1f} images a second of the last run, all included.",
        )
    measure = "`--limit 1` makes a short run to measure it."
    published = PUBLISHED.get(str(context.settings.model))
    if published is None:
        return None, f"because no run of this model has measured it. {measure}"
    given = str(context.settings.model_args.get("steps"))
    steps = int(given) if given.isdecimal() else published.steps
    seconds = published.at(steps)
    source = f"published for one {published.gpu} ({published.source})"
    return (
        seconds,
        f"at {seconds:.1f} seconds an image of {steps} steps, {source}. {measure}",
    )
