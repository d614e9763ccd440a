"""Define the words and things that toyland knows, and the shares planted for open attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from t2ibench.errors import T2IBenchError, did_you_mean

KINDS = ("person", "flower", "insect", "instrument", "weapon", "building", "thing")
# The two values of each axis; a share is always that of the first.
AXES = {
    "gender": ("female", "male"),
    "skin": ("dark", "light"),
    "age": ("old", "adult"),
    "weather": ("pleasant", "unpleasant"),
}
# Pairs of axes of a person that can be correlated: the second is sampled given the first.
PAIRS = {
    f"{first}_{second}": (first, second)
    for first, second in (
        ("gender", "skin"),
        ("gender", "age"),
        ("skin", "age"),
    )
}
TOGETHER = "together"
SEPARATE = "apart"
# The argument that chooses a world, and the worlds.
WORLD = "world"
PLAIN = "plain"
FRAMING = "framing"
EDITS = "edits"  # arguments about faults of edits begin with it (see `edit_faults`)
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_FORM = (
    "It takes THING.AXIS.VALUE=SHARE, for example nurse.gender.female=0.9 or "
    "all.weather.pleasant=0.5; axes are "
    f"{', '.join(f'{axis} ({a} or {b})' for axis, (a, b) in AXES.items())}, and "
    f"{', '.join(PAIRS)} ({TOGETHER} or {SEPARATE}). Its model card lists things. "
    f"{WORLD}={FRAMING} frames people by how their caption is put. "
    f"{EDITS}.FAULT.GROUP=SHARE plants faults in edits."
)

Phrase = tuple[str, ...]


@dataclass(frozen=True)
class World:
    """The contents of world.yaml, ready for look-ups.

    Attributes:
        version: Raised when any image changes.
        things: The thing that a phrase names, its group (None if it has none) and its kind.
        fixed: Values that a phrase fixes, by axis.
        person: Words for a person that say nothing else.
        several: Words for several people.
        adjectives: Words that describe somebody without saying anything.
        plain: Words that say nothing about the image.
        shares: The planted biases: the share of each axis's first value, by thing and axis.
        longest: Number of words of the longest phrase.
        skies: The weather that a phrase of an instruction for an edit asks for.
        places: The place that a phrase of an instruction names.
        clothes: The clothes that a phrase of an instruction names.
        pronouns: Words of an instruction for the person who is there.
    """

    version: int
    things: dict[Phrase, tuple[str, str | None, str]]
    fixed: dict[Phrase, dict[str, str]]
    person: frozenset[str]
    several: frozenset[str]
    adjectives: frozenset[str]
    plain: frozenset[str]
    shares: dict[str, dict[str, float]]
    longest: int
    skies: dict[Phrase, str]
    places: dict[Phrase, str]
    clothes: dict[Phrase, str]
    pronouns: frozenset[str]


def words_of(text: str) -> list[str]:
    """Return the words of a text, with their capitals."""
    return _WORD.findall(text)


def thing_name(words: str) -> str:
    """Return a thing's name in settings: 'computer_programmer' for 'computer programmer'."""
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def _phrases(text: str) -> set[Phrase]:
    """Return a phrase as written and in lower case; a capitalised first name only as written."""
    words = tuple(words_of(text))
    if len(words) == 1 and words[0].istitle() and words[0] not in {"English"}:
        return {words}
    return {words, tuple(word.lower() for word in words)}


def _axis_shares(raw: Mapping[str, float]) -> dict[str, float]:
    """Return shares keyed by axis, from shares keyed by 'axis.value' for the first value."""
    return {key.split(".")[0]: float(value) for key, value in raw.items()}


def _meanings(phrases: Mapping[str, list[str]]) -> dict[Phrase, str]:
    """Return what each phrase means, from the phrases of each meaning."""
    return {
        tuple(words_of(text)): meaning
        for meaning, texts in phrases.items()
        for text in texts
    }


@lru_cache(maxsize=1)
def world() -> World:
    """Return the world that world.yaml describes, which is read once."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (Path(__file__).parent / "world.yaml").read_text(encoding="utf-8")
    raw: dict[str, Any] = yaml.load(text, Loader=loader)
    things: dict[Phrase, tuple[str, str | None, str]] = {}
    shares = {"all": _axis_shares(raw["base"]["all"])}
    for group, content in raw["groups"].items():
        shares[group] = _axis_shares(content["shares"])
        for word in content["words"]:
            kind = raw["kinds"].get(word, content["kind"])
            for phrase in _phrases(word):
                things.setdefault(phrase, (thing_name(word), group, kind))
    for name, women in raw["occupations"].items():
        thing = thing_name(name)
        shares[thing] = {"gender": float(women)}
        for phrase in _phrases(name):
            things[phrase] = (thing, None, "person")
    fixed: dict[Phrase, dict[str, str]] = {}
    for key, words in raw["fixed"].items():
        axis, value = key.split(".")
        for word in words:
            for phrase in _phrases(word):
                fixed.setdefault(phrase, {})[axis] = value
    return World(
        version=int(raw["version"]),
        things=things,
        fixed=fixed,
        person=frozenset(raw["person"]),
        several=frozenset(raw["several"]),
        adjectives=frozenset(raw["adjectives"]),
        plain=frozenset(raw["plain"]),
        shares=shares,
        longest=max(len(phrase) for phrase in {**things, **fixed}),
        skies=_meanings(raw["instructions"]["weather"]),
        places=_meanings(raw["instructions"]["places"]),
        clothes=_meanings(raw["instructions"]["clothes"]),
        pronouns=frozenset(raw["instructions"]["pronouns"]),
    )


@dataclass(frozen=True)
class BiasSettings:
    """The user's shares for values that a caption leaves open.

    Attributes:
        user: The share of an axis's first value, by thing and axis.
        pairs: How strongly the first values of a pair of axes are correlated, by thing and pair:
            from -1 (together as seldom as their shares allow) over 0 (independent) to 1 (as often
            as they allow). The shares stay the same.
        framing: Whether people are framed by how their caption is put (see `framing`).
    """

    user: dict[str, dict[str, float]] = field(default_factory=dict)
    pairs: dict[str, dict[str, float]] = field(default_factory=dict)
    framing: bool = False

    def share(self, axis: str, things: tuple[str, ...]) -> float:
        """Return the share of an axis's first value for a subject.

        A share that the user set has precedence over a planted one. Among each of the two, that of
        the most specific thing has precedence, and that of 'all' comes last.
        """
        for table in (self.user, world().shares):
            for thing in (*things, "all"):
                if axis in table.get(thing, {}):
                    return table[thing][axis]
        raise KeyError(axis)

    def following(
        self, axis: str, sampled: Mapping[str, str], things: tuple[str, ...]
    ) -> float:
        """Return the share of an axis's first value, given the values `sampled` for a person."""
        share = self.share(axis, things)
        for name, (first, second) in PAIRS.items():
            strength = self._strength(name, things)
            if second != axis or first not in sampled or not strength:
                continue
            first_share = self.share(first, things)
            # The probability that both have their first value lies between these two.
            if strength > 0:
                extreme = min(first_share, share)
            else:
                extreme = max(0.0, first_share + share - 1.0)
            independent = first_share * share
            both = independent + abs(strength) * (extreme - independent)
            if sampled[first] == AXES[first][0]:
                return both / first_share
            return (share - both) / (1.0 - first_share)
        return share

    def _strength(self, pair: str, things: tuple[str, ...]) -> float:
        """Return how strongly a pair of axes is correlated for these things, from -1 to 1."""
        for thing in (*things, "all"):
            if pair in self.pairs.get(thing, {}):
                return self.pairs[thing][pair]
        return 0.0

    def as_args(self) -> dict[str, float]:
        """Return the user's settings as --model-args has them, keyed by argument and sorted."""
        shares = {
            f"{thing}.{axis}.{AXES[axis][0]}": value
            for thing, axes in sorted(self.user.items())
            for axis, value in sorted(axes.items())
        }
        return shares | {
            f"{thing}.{pair}.{TOGETHER if value >= 0 else SEPARATE}": abs(value)
            for thing, pairs in sorted(self.pairs.items())
            for pair, value in sorted(pairs.items())
        }


def known_things() -> list[str]:
    """Return every thing for which shares can be set."""
    names = {"all", *KINDS, *world().shares}
    names |= {thing for thing, *_ in world().things.values()}
    return sorted(names)


def read_bias_settings(args: Mapping[str, str | float]) -> BiasSettings:
    """Return toyland's arguments, shares keyed by 'thing.axis.value' and a 'world', as settings.

    Raises:
        T2IBenchError: a world, thing, axis or value is unknown, a share is not from 0 to 1, two
            arguments set the same, or both pairs of age are set.
    """
    shares = dict(args)
    is_framing = _is_framing(str(shares.pop(WORLD, PLAIN)))
    user: dict[str, dict[str, float]] = {}
    coupled: dict[str, dict[str, float]] = {}
    things = known_things()
    axes: dict[str, tuple[str, str]] = AXES | dict.fromkeys(PAIRS, (TOGETHER, SEPARATE))
    for key, text in shares.items():
        parts = key.split(".")
        if len(parts) != 3:
            raise T2IBenchError(
                f"--model-args: 'toyland' has no argument '{key}'.", _FORM
            )
        thing, axis, value = parts
        for kind, word, choices in (
            ("thing", thing, things),
            ("axis", axis, axes),
            (f"value of {axis}", value, axes.get(axis, ())),
        ):
            if word not in choices:
                others = (EDITS,) if kind == "thing" else ()
                nearest = did_you_mean(word, [*choices, *others])
                raise T2IBenchError(
                    f"--model-args: {key}: unknown {kind} '{word}'.{nearest}", _FORM
                )
        number = read_share(key, text)
        paired = axis in PAIRS
        chosen = (coupled if paired else user).setdefault(thing, {})
        if axis in chosen:
            raise T2IBenchError(
                f"--model-args: {thing}.{axis} is set twice.", "Keep one of them."
            )
        if paired:
            chosen[axis] = number if value == TOGETHER else -number
        else:
            chosen[axis] = number if value == AXES[axis][0] else 1.0 - number
    if {"gender_age", "skin_age"} <= {
        pair for chosen in coupled.values() for pair in chosen
    }:
        raise T2IBenchError(
            "--model-args: age can go together with gender or with skin, not with both.",
            "Keep gender_age or skin_age.",
        )
    return BiasSettings(user, coupled, is_framing)


def read_share(key: str, text: str | float) -> float:
    """Return the share that an argument gives; raise an error if it is not from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise T2IBenchError(
            f"--model-args: {key}={text}: expected a number from 0 to 1"
        )
    return number


def _is_framing(name: str) -> bool:
    """Return whether a world's name is 'framing'; raise an error for an unknown world."""
    worlds = (PLAIN, FRAMING)
    if name not in worlds:
        nearest = did_you_mean(name, worlds)
        raise T2IBenchError(
            f"--model-args: {WORLD}: unknown world '{name}'.{nearest}",
            f"Worlds: {', '.join(worlds)}.",
        )
    return name == FRAMING
