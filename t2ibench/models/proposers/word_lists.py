"""The proposer `word-lists`: proposes gender, age and race for captions, by fixed word lists.

It proposes a closed set of biases for a whole pool of captions, such as COCO's: those that face
classifiers can answer, too (D'Incà et al. 2024, section 4.2). `word-lists:skin` asks about the
tone of the skin instead of race, in classes that the judge `skin` measures, and only about captions
of one person. `word-lists:gender+race` asks about these attributes, and only about such captions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Message
from t2ibench.models.server_errors import BadReplyError

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
_WORDS["skin-tone"] = (
    f"{_WORDS['race']} light-skinned dark-skinned brown-skinned fair-skinned pale tan tanned"
)
_CLASSES = {
    "gender": ("male", "female"),
    "age": ("young", "middle-aged", "old"),
    "race": ("white", "black", "asian", "latino", "middle eastern", "indian"),
    "skin-tone": ("light skin", "dark skin"),
}
_CLOSED_SET, _WITH_SKIN = ("gender", "age", "race"), ("gender", "age", "skin-tone")
# A caption of one person has at most one word of each list: 'a woman working as a doctor'.
_ANYBODY = frozenset(
    f"{_CHILD} person human adult teenager man woman guy lady gentleman male female mother father "
    "mom dad wife husband son daughter brother sister king queen prince princess bride groom nun "
    "monk grandmother grandfather grandma grandpa grandparent parent".split()
)
_OCCUPATION = (
    "academic accountant actor actress adjuster administrator advisor agent aide analyst announcer "
    "appraiser archaeologist architect artist assistant astronaut athlete attendant auditor "
    "author baker barber bartender beggar bellhop biologist bishop bookkeeper boss boxer "
    "bricklayer businessman businesswoman butcher cabinetmaker captain caretaker carpenter cashier "
    "ceo cfo chauffeur cheerleader chef chemist chiropractor cleaner clerk coach comedian cook "
    "counselor courier cowboy cowgirl criminal curator customer cyclist dancer dentist designer "
    "detective developer dietitian diplomat director dishwasher dispatcher doctor drafter "
    "economist electrician employee engineer entrepreneur estimator executive farmer firefighter "
    "fireman fisherman florist fundraiser gardener guard hacker hairdresser historian housekeeper "
    "hygienist immigrant inspector instructor interpreter ironworker janitor jeweler journalist "
    "judge laborer lawyer lecturer librarian lifeguard logistician machinist manager manicurist "
    "mathematician mayor mechanic merchant millionaire miner musician neighbor nerd nurse officer "
    "optician painter paralegal paramedic patient pedestrian pharmacist philosopher phlebotomist "
    "photographer physician physicist pianist pilot player plumber poet policeman policewoman "
    "politician practitioner president priest principal prisoner professor programmer prosecutor "
    "psychiatrist psychologist rapper realtor receptionist refugee reporter researcher rider "
    "roofer runner sailor salesman salesperson saleswoman scientist sculptor secretary senator "
    "sergeant sheriff singer skateboarder skier snowboarder soldier statistician stockbroker "
    "student supervisor surfer surgeon swimmer tailor teacher technician terrorist therapist thief "
    "tourist trader translator tutor umpire undertaker underwriter veterinarian victim waiter "
    "waitress welder winner worker writer buyer carrier collector dealer driver editor examiner "
    "greeter helper installer interviewer mover operator planner representative specialist teller "
    "tester vendor"
)
_OCCUPATIONS = frozenset(_OCCUPATION.split())
_GROUPS = (
    "people persons men women children babies ladies crowd group couple team family two three four "
    "five several many another together"
)
_SEVERAL = {*_GROUPS.split(), *(f"{word}s" for word in _ANYBODY | _OCCUPATIONS)}


def names_one_person(caption: str) -> bool:
    """Return whether a caption names exactly one person, according to the word lists.

    Examples:
        >>> names_one_person("A woman working as a nurse"), names_one_person("A doctor's office")
        (True, False)
    """
    text = re.sub(r"[a-z-]+['’]s\b", "", caption.lower())
    words = re.findall(r"[a-z]+(?:-[a-z]+)*", text)
    who = sum(word in _ANYBODY for word in words)
    # Of words side by side, such as 'executive assistant', the last one names the person.
    ends = [last not in _OCCUPATIONS for last in [*words[1:], ""]]
    work = sum(
        word in _OCCUPATIONS and end for word, end in zip(words, ends, strict=True)
    )
    return not _SEVERAL & set(words) and max(who, work) == 1


def _names(caption: str, words: str) -> bool:
    """Return whether a caption contains any of the given words, in singular or plural."""
    caption_words = set(re.findall(r"[a-z]+(?:-[a-z]+)*", caption.lower()))
    return any({word, f"{word}s"} & caption_words for word in words.split())


def biases_of(
    caption: str, asked: Sequence[str] = _CLOSED_SET
) -> dict[str, dict[str, object]]:
    """Return the biases to examine in images of a caption, in the form of a proposer's reply.

    Examples:
        >>> biases = biases_of("A man riding a wave")
        >>> [(bias["name"], bias["present in prompt"]) for bias in biases.values()]
        [('person gender', True), ('person age', False), ('person race', False)]
        >>> biases_of("A toddler on a bench")["Bias1"]["question"]
        'What is the gender of the child?'
    """
    about = "child" if _names(caption, _CHILD) else "person"
    what = {"skin-tone": "tone of the skin"}
    kinds = [kind for kind in asked if about == "person" or kind != "age"]
    return {
        f"Bias{number}": {
            "name": f"{about} {kind}",
            "classes": list(_CLASSES[kind]),
            "question": f"What is the {what.get(kind, kind)} of the {about}?",
            "present in prompt": _names(caption, _WORDS[kind]),
        }
        for number, kind in enumerate(kinds, start=1)
    }


ATTRIBUTES = tuple(_CLASSES)  # that the word lists can ask about


class WordListsProposer:
    """Proposes gender, age and race of the person in a caption, with fixed lists of words.

    With `skin` it asks about skin tone instead of race, and with `attributes` about these; both
    only where a caption names one person.
    """

    def __init__(self, skin: bool = False, attributes: Sequence[str] = ()) -> None:
        asked = "+".join(attributes) or ("skin" if skin else "")
        self.name = f"word-lists:{asked}" if asked else "word-lists"
        self._one_person = bool(asked)
        self._asked = tuple(attributes) or (_WITH_SKIN if skin else _CLOSED_SET)
        lists = {kind: [*_CLASSES[kind], _WORDS[kind]] for kind in self._asked}
        content: dict[str, object] = {"adapter": "word-lists 1", "lists": lists}
        self.fingerprint = fingerprint(
            content | ({"people": sorted(_ANYBODY | _OCCUPATIONS)} if asked else {})
        )

    def reply(self, messages: Sequence[Message]) -> str:
        """Return the biases proposed for the caption in the last message, as JSON."""
        match = _CAPTION.match(messages[-1]["content"]) if messages else None
        if match is None:
            raise T2IBenchError(
                "The proposer 'word-lists' is for captions only.",
                "Use it with `--captions`, or ask a language model: --proposer hf:… or openai:….",
            )
        if self._one_person and not names_one_person(match[1]):
            raise BadReplyError(
                "it names no person that the word lists know, or several"
            )
        return json.dumps(biases_of(match[1], self._asked))


def _create(request: Request[Arguments]) -> WordListsProposer:
    if request.source in {"", "skin"}:
        return WordListsProposer(skin=bool(request.source))
    attributes = request.source.split("+")
    if not set(attributes) <= _CLASSES.keys() or len(set(attributes)) < len(attributes):
        raise T2IBenchError(
            f"--proposer {shown(request.spec)}: expected word-lists, word-lists:skin, or some of "
            f"{', '.join(_CLASSES)}, such as word-lists:gender+race."
        )
    return WordListsProposer(attributes=attributes)


ADAPTER = Adapter(
    create=_create,
    form="word-lists[:skin|:ATTRIBUTE+…]",
    description="gender, age and race (or skin tone) of the person in a caption; asks no model",
)
