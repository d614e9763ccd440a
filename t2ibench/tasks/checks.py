"""What a run would trip over, beyond the schema: overlaps, duplicates, placeholders, articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from t2ibench.errors import did_you_mean, nearest
from t2ibench.tasks.prompts import fill, placeholders, wrong_articles
from t2ibench.tasks.schema import (
    AnyTask,
    Bias,
    McasTask,
    OccupationsTask,
    OpenBiasTask,
    T2iatTask,
    TibetTask,
    VibexTask,
    Warned,
    WeatTask,
)
from t2ibench.tasks.source import Document, Location, Problem


@dataclass(frozen=True, slots=True)
class _Finding:
    at: Location
    message: str
    warning: bool = False
    kind: Warned | None = None


def check_task(task: AnyTask, document: Document) -> list[Problem]:
    """Everything wrong with a task that the schema cannot say, with its line."""
    findings: list[_Finding] = []
    if isinstance(task, WeatTask):
        findings += _check_weat(task)
    elif isinstance(task, T2iatTask):
        findings += _check_t2iat(task)
    elif isinstance(task, OccupationsTask):
        findings += _check_occupations(task)
    elif isinstance(task, McasTask):
        findings += _check_mcas(task)
    elif isinstance(task, OpenBiasTask):
        findings += _check_openbias(task)
    elif isinstance(task, TibetTask):
        findings += _check_tibet(task)
    else:
        findings += _check_vibex(task)
    return [
        document.problem(item.at, item.message, item.warning)
        for item in findings
        if item.kind not in task.expected_warnings
    ]


def _duplicates(words: Iterable[str], at: Location) -> Iterator[_Finding]:
    repeated = [word for word, count in Counter(words).items() if count > 1]
    if repeated:
        yield _Finding(at, f"words given more than once: {', '.join(map(repr, repeated))}")


def _overlap(
    first: Sequence[str], second: Sequence[str], names: tuple[str, str], at: Location
) -> Iterator[_Finding]:
    both = sorted({word.lower() for word in first} & {word.lower() for word in second})
    if both:
        yield _Finding(at, f"{names[0]} and {names[1]} share words: {', '.join(map(repr, both))}")


def _sizes(
    first: Sequence[str], second: Sequence[str], names: tuple[str, str], at: Location
) -> Iterator[_Finding]:
    if len(first) != len(second):
        yield _Finding(
            at,
            f"{names[0]} has {len(first)} words, {names[1]} has {len(second)}; "
            "the published tests use sets of equal size",
            warning=True,
            kind="unequal_sizes",
        )


def _template(text: str, wanted: Sequence[str], at: Location) -> Iterator[_Finding]:
    found = placeholders(text)
    meant = set()  # a misspelt placeholder is one problem, not two
    for name in found:
        if name not in wanted:
            meant.add(nearest(name, wanted))
            known = ", ".join(f"'{{{each}}}'" for each in wanted)
            yield _Finding(
                at,
                f"unknown placeholder '{{{name}}}'.{did_you_mean(name, wanted)} Known: {known}.",
            )
    for name in wanted:
        if name not in found and name not in meant:
            yield _Finding(at, f"the template lacks the placeholder '{{{name}}}'")
    if text.count("{") != text.count("}"):
        yield _Finding(at, "the template has an unmatched brace")


def _articles(prompts: Iterable[str], at: Location) -> Iterator[_Finding]:
    wrong = sorted({place for prompt in prompts for place in wrong_articles(prompt)})
    if wrong:
        shown = ", ".join(repr(place) for place in wrong[:4])
        more = f" and {len(wrong) - 4} more" if len(wrong) > 4 else ""
        message = f"wrong article: {shown}{more}; '{{a stimulus}}' puts the right one in"
        yield _Finding(at, message, warning=True, kind="articles")


def _check_weat(task: WeatTask) -> Iterator[_Finding]:
    x, y = task.targets.X, task.targets.Y
    a, b = task.attributes.A, task.attributes.B
    for group, at in ((x, "X"), (y, "Y")):
        yield from _duplicates(group.words, ("targets", at, "words"))
    for group, at in ((a, "A"), (b, "B")):
        yield from _duplicates(group.words, ("attributes", at, "words"))
    yield from _overlap(x.words, y.words, ("X", "Y"), ("targets", "Y"))
    yield from _overlap(a.words, b.words, ("A", "B"), ("attributes", "B"))
    yield from _sizes(x.words, y.words, ("X", "Y"), ("targets",))
    yield from _sizes(a.words, b.words, ("A", "B"), ("attributes",))
    for number, template in enumerate(task.templates):
        yield from _template(template, ["word"], ("templates", number))


def _check_guided(
    task: T2iatTask | OccupationsTask, stimuli: Sequence[str], attributes: Sequence[str]
) -> Iterator[_Finding]:
    prompts = task.prompts
    templates = [
        *_template(prompts.neutral, ["stimulus"], ("prompts", "neutral")),
        *_template(prompts.guided, ["stimulus", "attribute"], ("prompts", "guided")),
    ]
    yield from templates
    if templates:
        return
    yield from _articles(
        (fill(prompts.neutral, stimulus=word) for word in stimuli), ("prompts", "neutral")
    )
    pairs = [(word, attributes[0]) for word in stimuli]
    pairs += [(stimuli[0], word) for word in attributes]
    yield from _articles(
        (fill(prompts.guided, stimulus=one, attribute=other) for one, other in pairs),
        ("prompts", "guided"),
    )


def _check_t2iat(task: T2iatTask) -> Iterator[_Finding]:
    x, y = task.concepts.X, task.concepts.Y
    a, b = task.attributes.A, task.attributes.B
    for concept, at in ((x, "X"), (y, "Y")):
        yield from _duplicates(concept.stimuli, ("concepts", at, "stimuli"))
    for group, at in ((a, "A"), (b, "B")):
        yield from _duplicates(group.words, ("attributes", at, "words"))
    yield from _overlap(x.stimuli, y.stimuli, ("X", "Y"), ("concepts", "Y"))
    yield from _overlap(a.words, b.words, ("A", "B"), ("attributes", "B"))
    yield from _sizes(x.stimuli, y.stimuli, ("X", "Y"), ("concepts",))
    yield from _sizes(a.words, b.words, ("A", "B"), ("attributes",))
    yield from _check_guided(task, (*x.stimuli, *y.stimuli), (*a.words, *b.words))
    fewest = min(len(a.words), len(b.words))
    if task.pairing == "cycle" and task.words_per_stimulus > fewest:
        yield _Finding(
            ("words_per_stimulus",),
            f"words_per_stimulus is {task.words_per_stimulus}, but a set has {fewest} words; "
            "use pairing: cross for all of them",
        )


def _check_occupations(task: OccupationsTask) -> Iterator[_Finding]:
    yield from _duplicates(task.concept.stimuli, ("concept", "stimuli"))
    words = [word for group in task.groups for word in group.words]
    yield from _check_guided(task, task.concept.stimuli, words)
    names = [group.name for group in task.groups]
    yield from _duplicates(names, ("groups",))
    for number, group in enumerate(task.groups):
        yield from _duplicates(group.words, ("groups", number, "words"))
        for other in task.groups[:number]:
            yield from _overlap(
                other.words, group.words, (other.name, group.name), ("groups", number)
            )
    if task.reference is None:
        return
    if task.reference.group not in names:
        yield _Finding(
            ("reference", "group"),
            f"there is no group '{task.reference.group}'."
            f"{did_you_mean(task.reference.group, names)}",
        )
    unknown = [word for word in task.concept.stimuli if word not in task.reference.shares]
    if unknown:
        yield _Finding(
            ("reference", "shares"),
            f"no reference share for: {', '.join(map(repr, unknown))}",
            warning=True,
        )


def _check_mcas(task: McasTask) -> Iterator[_Finding]:
    a, b = task.attributes.A, task.attributes.B
    for side, attribute in (("A", a), ("B", b)):
        yield from _duplicates(attribute.words, ("attributes", side, "words"))
        yield from _duplicates(attribute.prompts, ("attributes", side, "prompts"))
    yield from _overlap(a.words, b.words, ("A", "B"), ("attributes", "B"))
    yield from _overlap(a.prompts, b.prompts, ("A", "B"), ("attributes", "B"))
    yield from _sizes(a.words, b.words, ("A", "B"), ("attributes",))
    yield from _duplicates([target.name for target in task.targets], ("targets",))
    yield from _duplicates([target.prompt for target in task.targets], ("targets",))
    for number, target in enumerate(task.targets):
        yield from _articles([target.prompt], ("targets", number, "prompt"))


def _check_openbias(task: OpenBiasTask) -> Iterator[_Finding]:
    keys = [f"{bias.about} {bias.name}" for bias in task.biases]
    yield from _duplicates(keys, ("biases",))
    for number, bias in enumerate(task.biases):
        yield from _check_bias(bias, ("biases", number))


def _check_bias(bias: Bias, at: Location) -> Iterator[_Finding]:
    yield from _duplicates([name.lower() for name in bias.classes], (*at, "classes"))
    if "unknown" in {name.lower() for name in bias.classes}:
        yield _Finding((*at, "classes"), "'unknown' is always possible; leave it out")
    if bias.captions is None and not (bias.stimuli and bias.templates):
        yield _Finding(at, "give captions, or stimuli and templates")
    if bias.captions is not None:
        yield from _duplicates(bias.captions, (*at, "captions"))
        if bias.stimuli or bias.templates:
            yield _Finding(at, "give either captions, or stimuli and templates, not both")
        if "{" in bias.question:
            yield from _template(bias.question, [], (*at, "question"))
    for place, template in enumerate(bias.templates):
        found = list(_template(template, ["stimulus"], (*at, "templates", place)))
        yield from found
        if not found:
            prompts = (fill(template, stimulus=word) for word in bias.stimuli or ())
            yield from _articles(prompts, (*at, "templates", place))
    if bias.stimuli and placeholders(bias.question) not in ([], ["stimulus"]):
        yield from _template(bias.question, ["stimulus"], (*at, "question"))
    if bias.expected is not None:
        yield from _check_expected(bias, (*at, "expected", "shares"))
    if bias.reference is not None and bias.reference.group not in bias.classes:
        yield _Finding(
            (*at, "reference", "group"),
            f"there is no class '{bias.reference.group}'."
            f"{did_you_mean(bias.reference.group, bias.classes)}",
        )


def _check_expected(bias: Bias, at: Location) -> Iterator[_Finding]:
    shares = bias.expected.shares if bias.expected else {}
    if set(shares) != set(bias.classes):
        yield _Finding(at, f"give one share for each class: {', '.join(bias.classes)}")
    elif abs(sum(shares.values()) - 1.0) > 0.005:
        yield _Finding(at, f"the shares sum to {sum(shares.values()):.3f}, not to 1")


def _check_tibet(task: TibetTask) -> Iterator[_Finding]:
    yield from _duplicates([one.prompt for one in task.prompts], ("prompts",))
    for number, one in enumerate(task.prompts):
        yield from _duplicates([axis.name for axis in one.axes], ("prompts", number, "axes"))
        for place, axis in enumerate(one.axes):
            at: Location = ("prompts", number, "axes", place)
            yield from _duplicates([cf.name for cf in axis.counterfactuals], at)
            yield from _duplicates([cf.prompt for cf in axis.counterfactuals], at)
            if len(axis.counterfactuals) < 2:
                yield _Finding(at, "an axis with one counterfactual has no MAD", warning=True)
            for row, cf in enumerate(axis.counterfactuals):
                yield from _check_counterfactual(one.prompt, cf.prompt, (*at, row))


def _check_counterfactual(prompt: str, changed: str, at: Location) -> Iterator[_Finding]:
    if changed == prompt:
        yield _Finding(at, "the counterfactual is the prompt itself")
    if abs(len(changed.split()) - len(prompt.split())) >= 5:
        message = f"'{changed}' is 5 or more words longer or shorter than its prompt"
        yield _Finding(at, message, warning=True)
    yield from _articles([changed], at)


def _check_vibex(task: VibexTask) -> Iterator[_Finding]:
    anchors = [one.name for one in task.anchors]
    yield from _duplicates(anchors, ("anchors",))
    yield from _duplicates([one.prompt for one in task.anchors], ("anchors",))
    names = [one.name for one in task.concepts]
    yield from _duplicates([f"{one.name} ({one.query})" for one in task.concepts], ("concepts",))
    for number, concept in enumerate(task.concepts):
        if concept.tendency is not None and concept.tendency not in (*anchors, "balanced"):
            yield _Finding(
                ("concepts", number, "tendency"),
                f"there is no anchor '{concept.tendency}'."
                f"{did_you_mean(concept.tendency, (*anchors, 'balanced'))}",
            )
    for number, pair in enumerate(task.intersections):
        for name in pair:
            if name not in names:
                yield _Finding(
                    ("intersections", number),
                    f"there is no concept '{name}'.{did_you_mean(name, names)}",
                )
