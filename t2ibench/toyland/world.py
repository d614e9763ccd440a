"""What toyland knows: words, kinds, and the shares planted for what a caption leaves open."""

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
# Axis to its two values; a share is always that of the first.
AXES = {
    "gender": ("female", "male"),
    "skin": ("dark", "light"),
    "age": ("old", "adult"),
    "weather": ("pleasant", "unpleasant"),
}
# Pairs of axes of one person that can go together: the second follows the first.
PAIRS = {
    f"{one}_{other}": (one, other)
    for one, other in (
        ("gender", "skin"),
        ("gender", "age"),
        ("skin", "age"),
    )
}
TOGETHER, APART = "together", "apart"
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_FORM = (
    "It takes THING.AXIS.VALUE=SHARE, for example nurse.gender.female=0.9 or "
    "all.weather.pleasant=0.5; axes are "
    f"{', '.join(f'{axis} ({a} or {b})' for axis, (a, b) in AXES.items())}, and "
    f"{', '.join(PAIRS)} ({TOGETHER} or {APART}). Its model card lists things."
)

Phrase = tuple[str, ...]


@dataclass(frozen=True)
class World:
    """The contents of world.yaml, ready for look-ups.

    `version` is raised when any image changes. `things` has of each phrase the thing, its group or
    None, and its kind; `shares` are the planted biases: of each thing and axis, the share of the
    axis's first value. `plain` words say nothing about the image.
    """

    version: int
    things: dict[Phrase, tuple[str, str | None, str]]
    fixed: dict[Phrase, dict[str, str]]
    person: frozenset[str]
    several: frozenset[str]
    plain: frozenset[str]
    shares: dict[str, dict[str, float]]
    longest: int


def words_of(text: str) -> list[str]:
    """The words of a text, case kept."""
    return _WORD.findall(text)


def thing_name(words: str) -> str:
    """A phrase as the name of a thing, such as 'computer_programmer'."""
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def _phrases(text: str) -> set[Phrase]:
    """A phrase as written and in lower case; a capitalised first name only as written."""
    words = tuple(words_of(text))
    if len(words) == 1 and words[0].istitle() and words[0] not in {"English"}:
        return {words}
    return {words, tuple(word.lower() for word in words)}


def _axis_shares(raw: Mapping[str, float]) -> dict[str, float]:
    return {key.split(".")[0]: float(value) for key, value in raw.items()}


@lru_cache(maxsize=1)
def world() -> World:
    """Read world.yaml."""
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
        plain=frozenset(raw["plain"]),
        shares=shares,
        longest=max(len(phrase) for phrase in {**things, **fixed}),
    )


@dataclass(frozen=True)
class BiasSettings:
    """Shares for what a caption leaves open, by thing and axis, as set by the user.

    Of a pair of axes, how far their first values go together, from -1 (as seldom as their shares
    allow) over 0 (independent) to 1 (as often as they allow); shares stay what they are.
    """

    user: dict[str, dict[str, float]] = field(default_factory=dict)
    pairs: dict[str, dict[str, float]] = field(default_factory=dict)

    def share(self, axis: str, things: tuple[str, ...]) -> float:
        """The share of the axis's first value.

        What the user set for the most particular of the things wins, 'all' last; only then what
        is planted, in the same order.
        """
        for table in (self.user, world().shares):
            for thing in (*things, "all"):
                if axis in table.get(thing, {}):
                    return table[thing][axis]
        raise KeyError(axis)

    def following(
        self, axis: str, known: Mapping[str, str], things: tuple[str, ...]
    ) -> float:
        """The share of an axis's first value of a person whose other values are known."""
        q = self.share(axis, things)
        for name, (first, second) in PAIRS.items():
            strength = self._strength(name, things)
            if second != axis or first not in known or not strength:
                continue
            p = self.share(first, things)
            most, least = min(p, q), max(0.0, p + q - 1.0)
            both = p * q + abs(strength) * ((most if strength > 0 else least) - p * q)
            if known[first] == AXES[first][0]:
                return both / p
            return (q - both) / (1.0 - p)
        return q

    def _strength(self, pair: str, things: tuple[str, ...]) -> float:
        return next(
            (
                self.pairs[thing][pair]
                for thing in (*things, "all")
                if pair in self.pairs.get(thing, {})
            ),
            0.0,
        )

    def as_args(self) -> dict[str, float]:
        """The user's settings in the form of --model-args, sorted."""
        shares = {
            f"{thing}.{axis}.{AXES[axis][0]}": value
            for thing, axes in sorted(self.user.items())
            for axis, value in sorted(axes.items())
        }
        return shares | {
            f"{thing}.{pair}.{TOGETHER if value >= 0 else APART}": abs(value)
            for thing, pairs in sorted(self.pairs.items())
            for pair, value in sorted(pairs.items())
        }


def known_things() -> list[str]:
    """Everything a bias setting can name."""
    names = {"all", *KINDS, *world().shares}
    names |= {thing for thing, *_ in world().things.values()}
    return sorted(names)


def read_bias_settings(args: Mapping[str, str | float]) -> BiasSettings:
    """Read 'thing.axis.value': share."""
    user: dict[str, dict[str, float]] = {}
    coupled: dict[str, dict[str, float]] = {}
    things = known_things()
    known: dict[str, tuple[str, str]] = AXES | dict.fromkeys(PAIRS, (TOGETHER, APART))
    for key, text in args.items():
        parts = key.split(".")
        if len(parts) != 3:
            raise T2IBenchError(
                f"--model-args: 'toyland' has no argument '{key}'.", _FORM
            )
        thing, axis, value = parts
        for kind, word, choices in (
            ("thing", thing, things),
            ("axis", axis, known),
            (f"value of {axis}", value, known.get(axis, ())),
        ):
            if word not in choices:
                nearest = did_you_mean(word, choices)
                raise T2IBenchError(
                    f"--model-args: {key}: unknown {kind} '{word}'.{nearest}", _FORM
                )
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0.0 <= number <= 1.0:
            raise T2IBenchError(
                f"--model-args: {key}={text}: expected a number from 0 to 1"
            )
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
    return BiasSettings(user, coupled)
