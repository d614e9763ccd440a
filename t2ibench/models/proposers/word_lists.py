"""The proposer `word-lists`: gender, age and race of the one person in a caption, without a model.

It makes a closed set of biases of a whole pool of captions, such as COCO's: those that classifiers
of faces can be asked about, too (D'Incà et al. 2024, section 4.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Message

_CAPTION = re.compile(r'^Prompt: "(.*)"$', re.DOTALL)
_CHILD = "child kid toddler baby infant boy girl"
_WORDS = {
    "gender": "man woman boy girl guy lady gentleman male female mother father mom dad wife "
    "husband son daughter brother sister king queen prince princess waitress waiter actress actor "
    "bride groom nun monk policeman policewoman fireman businessman businesswoman salesman "
    "saleswoman cowboy cowgirl his her he she him hers himself herself",
    "age": f"{_CHILD} young old older younger elderly teen teenage teenager adult grown "
    "middle-aged grandmother grandfather grandma grandpa grandparent student",
    "race": "white black asian latino latina hispanic indian african american european caucasian "
    "arab chinese japanese korean mexican middle-eastern",
}


_CLASSES = {
    "gender": ("male", "female"),
    "age": ("young", "middle-aged", "old"),
    "race": ("white", "black", "asian", "latino", "middle eastern", "indian"),
}


def _names(caption: str, words: str) -> bool:
    """Whether a caption has one of the words, in singular or plural."""
    found = set(re.findall(r"[a-z]+(?:-[a-z]+)*", caption.lower()))
    return any({word, f"{word}s"} & found for word in words.split())


def biases_of(caption: str) -> dict[str, dict[str, object]]:
    """The biases that a caption of one person may show.

    Args:
        caption: The caption.

    Returns:
        Number to bias, in the form that a language model is asked for; a child has no age.

    Examples:
        >>> found = biases_of("A man riding a wave")
        >>> [(bias["name"], bias["present in prompt"]) for bias in found.values()]
        [('person gender', True), ('person age', False), ('person race', False)]
        >>> biases_of("A toddler on a bench")["Bias1"]["question"]
        'What is the gender of the child?'
    """
    about = "child" if _names(caption, _CHILD) else "person"
    kinds = [kind for kind in _CLASSES if about == "person" or kind != "age"]
    return {
        f"Bias{number}": {
            "name": f"{about} {kind}",
            "classes": list(_CLASSES[kind]),
            "question": f"What is the {kind} of the {about}?",
            "present in prompt": _names(caption, _WORDS[kind]),
        }
        for number, kind in enumerate(kinds, start=1)
    }


class WordListsProposer:
    """Gender, age and race of the person in a caption, by fixed lists of words."""

    name = "word-lists"

    def __init__(self) -> None:
        lists = {kind: [*classes, _WORDS[kind]] for kind, classes in _CLASSES.items()}
        self.fingerprint = fingerprint({"adapter": "word-lists 1", "lists": lists})

    def reply(self, messages: Sequence[Message]) -> str:
        """The biases of the caption that is asked about last.

        Args:
            messages: The conversation.

        Returns:
            JSON.

        Raises:
            T2IBenchError: it is asked about anything else.
        """
        found = _CAPTION.match(messages[-1]["content"]) if messages else None
        if found is None:
            raise T2IBenchError(
                "The proposer 'word-lists' is for captions only.",
                "Use it with `--captions … --people`, or ask a language model.",
            )
        return json.dumps(biases_of(found[1]))


def _create(_: Request[Arguments]) -> WordListsProposer:
    return WordListsProposer()


ADAPTER = Adapter(
    create=_create,
    form="word-lists",
    description="gender, age and race of the one person in a caption; no model is asked",
)
