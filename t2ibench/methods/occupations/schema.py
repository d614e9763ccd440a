"""The schema of occupations tasks, with further checks that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from t2ibench.errors import did_you_mean, shown
from t2ibench.methods.core import checks
from t2ibench.methods.core.group_words import groups_named
from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.schema import (
    Concept,
    Identifier,
    Line,
    Reference,
    Strict,
    Text,
    WordGroup,
    of_word_list,
)

# the form that the headline is about, where a task has one of this name
NEUTRAL = "neutral"
_MOST_FORMS = 6


class Stimulus(Strict):
    """A stimulus of an occupations task, perhaps in several grammatical forms.

    A plain word in a task file is a stimulus without forms.

    Attributes:
        name: What reports call it, and what prompts say where it has no forms.
        forms: Name of a form, such as 'masculine', 'feminine' and 'neutral', to what neutral
            prompts say, with its article: 'ein Arzt'.
        guided: What prompts with a group say instead of the name: one text, or one by group
            ({male: Arzt, female: Ärztin}).
    """

    name: Annotated[Text, Field(max_length=200)]
    forms: dict[Identifier, Line] = Field(default_factory=dict)
    guided: dict[Text, Line] | Line | None = None

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> Any:
        """Return a stimulus as in a task file: its name alone if it has no forms.

        So the hash of its task stays what it was.
        """
        return handler(self) if self.forms or self.guided else self.name

    def text(self, form: str | None = None) -> str:
        """Return the words for the stimulus, in the given form, in prompts without a group."""
        return self.forms[form] if form is not None else self.name

    def text_with(self, group: str) -> str:
        """Return the words for the stimulus in prompts that name the given group."""
        if isinstance(self.guided, dict):
            return self.guided.get(group, self.name)
        return self.guided or self.name


def _stimulus(value: Any) -> Any:
    """Return a plain word as a stimulus of that name; anything else unchanged."""
    return value if isinstance(value, (dict, Stimulus)) else {"name": value}


class StimuliConcept(Strict):
    """A named set of stimuli, each of which may have several grammatical forms.

    Attributes:
        name: What reports call the concept.
        stimuli: Name of a word list, the words themselves, or words with their `forms`.
    """

    name: Text
    stimuli: Annotated[
        tuple[Annotated[Stimulus, BeforeValidator(_stimulus)], ...],
        of_word_list(),
        Field(min_length=1),
    ]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the concept's stimuli."""
        return tuple(stimulus.name for stimulus in self.stimuli)

    def stimulus(self, name: str) -> Stimulus:
        """Return the stimulus with the given name; a new one without forms if there is none."""
        return self._by_name.get(name) or Stimulus(name=name)

    @cached_property
    def _by_name(self) -> dict[str, Stimulus]:
        """The stimuli by their names; a search through 100,000 for each of them takes hours."""
        return {stimulus.name: stimulus for stimulus in self.stimuli}

    @property
    def forms(self) -> tuple[str, ...]:
        """Names of the forms that every stimulus has; empty without forms."""
        return tuple(self.stimuli[0].forms)

    @property
    def headline_form(self) -> str | None:
        """Form that the headline is about: the neutral one, or else the first."""
        if NEUTRAL in self.forms:
            return NEUTRAL
        return self.forms[0] if self.forms else None


class Fact(Strict):
    """A prompt that names no group, and the fact that fixes which group its images must show.

    Attributes:
        prompt: The prompt.
        group: The group, by its name in the task.
        source: What says so, and where it is written.
    """

    prompt: Line
    group: Text
    source: Text


class OccupationsTask(GuidedTask):
    """A task that measures how far images of each stimulus lean to groups.

    The method is that of Wang et al. 2023, sections 5.3 and 5.4.

    Attributes:
        concept: The stimuli, for example occupations. With `forms`, the grammatical forms of each
            stimulus are compared with each other.
        groups: Two or more attribute groups; every pair is compared.
        reference: Known shares to compare with.
        crossing: Name of an attribute to its two groups, for two or three attributes: every
            combination of their words is generated too, and the shares of the combinations in the
            images without a group are measured.
        sets: Two or more sets of the stimuli, whose mean leans are compared with each other.
        likeness: Whether to measure how far apart the images of the groups are, too.
        facts: Prompts that name no group, but whose answer a fact fixes. They have no part in
            leans; `frontier` counts images that contradict them.
    """

    later = frozenset({"likeness", "crossing", "sets", "facts"})

    method: Literal["occupations"]
    concept: StimuliConcept
    groups: Annotated[tuple[WordGroup, ...], Field(min_length=2)]
    reference: Reference | None = None
    crossing: Annotated[
        dict[Text, Annotated[tuple[WordGroup, ...], Field(min_length=2, max_length=2)]],
        Field(max_length=3),
    ] = Field(default_factory=dict)
    likeness: bool = False
    sets: tuple[Concept, ...] = ()
    facts: tuple[Fact, ...] = ()

    @property
    def combinations(self) -> list[WordGroup]:
        """Every combination of the attributes' groups; the last attribute changes first.

        The words of later attributes stand first, as in "old female".
        """
        if not self.crossing:
            return []
        return [_combined(groups) for groups in product(*self.crossing.values())]


def _combined(groups: Sequence[WordGroup]) -> WordGroup:
    """Return one group whose words combine one word of each given group.

    The words of later groups stand first, as in "old female".
    """
    words = product(*(group.words for group in groups))
    return WordGroup(
        name=" x ".join(group.name for group in groups),
        words=tuple(" ".join(reversed(combination)) for combination in words),
    )


def check(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Yield each problem of an occupations task that its schema cannot express."""
    yield from checks.duplicates(task.concept.names, ("concept", "stimuli"))
    words = [word for group in task.groups for word in group.words]
    yield from _check_forms(task)
    has_errors = False
    for finding in checks.guided(
        task.prompts, _texts(task), words, _guided_texts(task)
    ):
        has_errors = has_errors or not finding.warning
        yield finding
    if not has_errors:
        # These compare prompts, which templates with an unknown placeholder do not give.
        yield from _check_shared_prompts(task)
        yield from _check_fact_prompts(task)
    names = [group.name for group in task.groups]
    yield from checks.duplicates(names, ("groups",))
    for number, group in enumerate(task.groups):
        yield from checks.duplicates(group.words, ("groups", number, "words"))
    yield from checks.overlaps(
        (group.name, group.words, ("groups", number))
        for number, group in enumerate(task.groups)
    )
    yield from _check_crossing(task)
    yield from _check_lengths(task)
    yield from _check_facts(task)
    yield from _sets(task)
    if task.reference is None:
        return
    if task.reference.group not in names:
        unknown_group = task.reference.group
        hint = did_you_mean(unknown_group, names)
        yield checks.Finding(
            ("reference", "group"), f"unknown group '{shown(unknown_group)}'.{hint}"
        )
    unknown = [word for word in task.concept.names if word not in task.reference.shares]
    if unknown:
        yield checks.Finding(
            ("reference", "shares"),
            f"no reference share for: {', '.join(map(repr, unknown))}",
            warning=True,
        )


def _texts(task: OccupationsTask) -> list[str]:
    """Return the distinct names and forms of stimuli that prompts without a group contain."""
    forms: tuple[str | None, ...] = task.concept.forms or (None,)
    texts = [
        stimulus.text(form)
        for stimulus in task.concept.stimuli
        for form in forms
        if form is None or form in stimulus.forms
    ]
    return list(dict.fromkeys(texts))


def _guided_texts(task: OccupationsTask) -> list[str]:
    """Return the distinct texts of stimuli that prompts with a group contain."""
    texts = [
        stimulus.text_with(group.name)
        for stimulus in task.concept.stimuli
        for group in task.groups
    ]
    return list(dict.fromkeys(texts))


def _check_forms(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Yield a problem for each stimulus whose grammatical forms cannot be compared."""
    concept = task.concept
    groups = [group.name for group in task.groups]
    for number, stimulus in enumerate(concept.stimuli):
        at: checks.Location = ("concept", "stimuli", number)
        yield from _check_guided_texts(stimulus, groups, at)
        if set(stimulus.forms) != set(concept.forms):
            expected = ", ".join(concept.forms) or "none"
            message = (
                f"'{stimulus.name}' has the forms {', '.join(stimulus.forms) or 'none'}"
            )
            first = concept.stimuli[0].name
            yield checks.Finding(
                (*at, "forms"),
                f"{message}, but '{first}' has {expected}: all need the same",
            )
    if not concept.forms:
        return
    if not 2 <= len(concept.forms) <= _MOST_FORMS:
        message = (
            f"give two to {_MOST_FORMS} forms to compare, here: {len(concept.forms)}"
        )
        yield checks.Finding(("concept", "stimuli", 0, "forms"), message)
    if task.crossing:
        message = "a task with forms of its stimuli cannot have a crossing; make two tasks of it"
        yield checks.Finding(("crossing",), message)
    texts = [text for stimulus in concept.stimuli for text in stimulus.forms.values()]
    yield from checks.duplicates(texts, ("concept", "stimuli"))


def _check_guided_texts(
    stimulus: Stimulus, groups: list[str], at: checks.Location
) -> Iterator[checks.Finding]:
    """Yield a problem for each group that a stimulus's `guided` texts omit or do not know."""
    if stimulus.forms and stimulus.guided is None:
        texts = ", ".join(f"{group}: …" for group in groups)
        yield checks.Finding(
            at,
            f"'{stimulus.name}' has forms, so say what its prompts with a group are about: "
            f"guided: {{{texts}}}",
        )
    if not isinstance(stimulus.guided, dict):
        return
    for group in stimulus.guided:
        if group not in groups:
            hint = did_you_mean(group, groups)
            yield checks.Finding(
                (*at, "guided", group), f"unknown group '{shown(group)}'.{hint}"
            )
    missing = [group for group in groups if group not in stimulus.guided]
    if missing:
        message = f"'{stimulus.name}' has no text for {', '.join(map(repr, missing))}"
        yield checks.Finding((*at, "guided"), message)


def _check_shared_prompts(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Yield a problem for each neutral prompt that is also a prompt with a group."""
    for number, stimulus in enumerate(task.concept.stimuli):
        for form, text in stimulus.forms.items():
            for wording in task.prompts.wordings:
                guided = {
                    prompt
                    for group in task.groups
                    for prompt in wording.with_each(
                        stimulus.text_with(group.name), group.words
                    )
                }
                for prompt in wording.without_attribute(text):
                    if prompt in guided:
                        at = ("concept", "stimuli", number, "forms", form)
                        message = f"'{prompt}' is a prompt with a group as well"
                        yield checks.Finding(at, message)


def _check_crossing(task: OccupationsTask) -> Iterator[checks.Finding]:
    if len(task.crossing) == 1:
        yield checks.Finding(("crossing",), "give two or three attributes to cross")
    names = [group.name for groups in task.crossing.values() for group in groups]
    yield from checks.duplicates(names, ("crossing",))
    if task.crossing:
        words = [word for group in task.combinations for word in group.words]
        yield from checks.duplicates(words, ("crossing",))
        yield from checks.guided(task.prompts, task.concept.names, words)


def _check_lengths(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Yield a problem where only some wordings say what kind of prompt they are."""
    wordings = task.prompts.wordings
    kinds = {wording.asked_as for wording in wordings}
    if kinds != {None} and None in kinds:
        yield checks.Finding(
            ("prompts",),
            "some wordings say `asked_as` and others do not: all do, or none",
        )


def _sets(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Yield a problem for sets of stimuli that are too few, unknown, repeated or overlapping."""
    if len(task.sets) == 1:
        yield checks.Finding(
            ("sets",), "one set has nothing to be compared with: give two or more"
        )
    yield from checks.duplicates([concept.name for concept in task.sets], ("sets",))
    names = frozenset(task.concept.names)
    for number, concept in enumerate(task.sets):
        at: checks.Location = ("sets", number, "stimuli")
        yield from checks.duplicates(concept.stimuli, at)
        if len(concept.stimuli) < 2:
            yield checks.Finding(at, "a set needs two stimuli or more, here: 1")
        for word in concept.stimuli:
            if word not in names:
                near = did_you_mean(word, task.concept.names)
                yield checks.Finding(
                    at, f"'{shown(word)}' is not a stimulus of the concept.{near}"
                )
    yield from checks.overlaps(
        (concept.name, concept.stimuli, ("sets", number, "stimuli"))
        for number, concept in enumerate(task.sets)
    )


def _check_facts(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Yield each problem of a task's facts, such as one whose prompt names its answer."""
    if task.facts and task.prompts.question is None:
        yield checks.Finding(
            ("facts",),
            "give `prompts` a `question`: otherwise no judge says what the images show",
        )
    yield from checks.duplicates([fact.prompt for fact in task.facts], ("facts",))
    names = [group.name for group in task.groups]
    for number, fact in enumerate(task.facts):
        if fact.group not in names:
            yield checks.Finding(
                ("facts", number, "group"),
                f"'{shown(fact.group)}' is no group of this task: {', '.join(names)}",
            )
        named = groups_named(fact.prompt, names)
        if named:
            yield checks.Finding(
                ("facts", number, "prompt"),
                f"it names {', '.join(sorted(named))}: a fact has to fix the answer, not a word",
            )


def _check_fact_prompts(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Yield a problem for each fact whose prompt a stimulus has as well."""
    without_group = {
        prompt
        for wording in task.prompts.wordings
        for stimulus in task.concept.names
        for prompt in wording.without_attribute(stimulus)
    }
    for number, fact in enumerate(task.facts):
        if fact.prompt in without_group:
            yield checks.Finding(
                ("facts", number, "prompt"),
                "it is a prompt of a stimulus, too, whose images have no right answer",
            )
