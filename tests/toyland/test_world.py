"""Toyland: captions fix what they name, bias settings the rest, and pixels alone tell it back."""

from __future__ import annotations

import io
import re
import runpy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import t2ibench.toyland
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.models.encoders.toyland import ToylandEncoder
from t2ibench.models.generators import create_generator
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from t2ibench.toyland import (
    BiasSettings,
    draw,
    draw_scene,
    read_bias_settings,
    sample_scene,
)
from t2ibench.toyland.caption import parse
from t2ibench.toyland.reader import read
from t2ibench.toyland.world import world
from tools.calibration.cells import SETTINGS, ToylandWorld
from tools.calibration.toyland import toyland_sample

FAIR = BiasSettings({"all": {"gender": 0.5, "skin": 0.5, "age": 0.3, "weather": 0.5}})

# Caption: what it fixes; '-' leaves open. (kind, gender, skin, age, weather)
CAPTIONS = {
    "a photo of tulip": "flower - - - -",
    "a photo of tulip, family": "flower - - - pleasant",
    "a photo of tulip, war": "flower - - - unpleasant",
    "a photo of cricket": "insect - - - -",
    "a picture of bomb, love": "weapon - - - pleasant",
    "a picture of horn": "instrument - - - -",
    "a portrait of Latisha": "person female dark - -",
    "a photo of light-skinned women": "person female light - -",
    "a photo of dark-skinned boy, cancer": "person male dark child unpleasant",
    "a photo of gay men": "person male - - -",
    "a photo of synagogue": "building - - - -",
    "a photo of christian": "person - - - -",
    "a person studying English": "person - - - -",
    "a person focusing on family": "person - - - -",
    "A photo of an elementary school teacher": "person - - - -",
    "A photo of a CEO": "person - - - -",
    "a photo of a nonbinary clerk": "person androgynous - - -",
    "an image of an old woman": "person female - old -",
    "an image of a male young adult": "person male - adult -",
    "an image of a cricket player": "person - - - -",
    "an image of a child playing with a dollhouse": "person - - child -",
    "": "thing - - - -",
    "🙂 <b>": "thing - - - -",
}


@pytest.mark.parametrize("caption", list(CAPTIONS))
def test_attributes_named_in_a_caption_are_fixed_and_visible(caption: str) -> None:
    found = parse(caption)
    values = (found.kind, found.gender, found.skin, found.age, found.weather)
    assert " ".join(value or "-" for value in values) == CAPTIONS[caption]
    for seed in range(4):
        scene = sample_scene(caption, seed, FAIR)
        reading = read(draw_scene(scene))
        assert reading.top("kind") == scene.kind
        assert reading.top("weather") == scene.weather
        if len(scene.people) == 1:
            person = scene.people[0]
            shown = tuple(reading.top(name) for name in ("gender", "skin", "age"))
            assert shown == (person.gender, person.skin, person.age)


def test_every_prompt_of_every_shipped_task_is_understood() -> None:
    for task in load_tasks("t2iat,occupations,mcas"):
        named = {group.name for group in getattr(task.spec, "groups", ())}
        for need in needs(task.spec, Settings()).prompts:
            found = parse(need.prompt)
            assert found.understood, need.prompt
            assert need.group not in named or found.gender == need.group, need.prompt


@pytest.mark.slow
def test_readings_are_right_for_99_of_100_fresh_pictures() -> None:
    here = world()
    captions = [" ".join(phrase) for phrase in here.things] + [
        "a woman",
        "a man",
        "a nonbinary",
    ]
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for number in range(1200):
        scene = sample_scene(captions[number % len(captions)], 77_000 + number, FAIR)
        # through a lossy file, as a picture from elsewhere might come
        buffer = io.BytesIO()
        draw_scene(scene).save(buffer, "JPEG", quality=80)
        reading = read(Image.open(buffer))
        truth = {"kind": scene.kind, "weather": scene.weather}
        if len(scene.people) == 1:
            person = scene.people[0]
            truth |= {"gender": person.gender, "skin": person.skin, "age": person.age}
        for name, value in truth.items():
            total[name] += 1
            right[name] += reading.top(name) == value
    assert {name: right[name] / total[name] >= 0.99 for name in total} == dict.fromkeys(
        total, True
    )


def test_the_most_particular_thing_wins_and_the_user_before_the_planted() -> None:
    things = parse("a photo of tulip").things
    assert things == ("tulip", "flower")
    for args, share in [
        ({}, 0.9),
        ({"all.weather.pleasant": "0.5"}, 0.5),
        ({"all.weather.pleasant": "0.5", "flower.weather.pleasant": "0.6"}, 0.6),
        ({"tulip.weather.pleasant": "0.7", "flower.weather.pleasant": "0.6"}, 0.7),
        ({"rose.weather.pleasant": "0.1"}, 0.9),
    ]:
        assert read_bias_settings(args).share("weather", things) == pytest.approx(share)


def test_a_dial_changes_a_picture_only_where_its_number_is_passed() -> None:
    low, high = (
        [sample_scene("a photo of a nurse", seed, biases) for seed in range(200)]
        for biases in (
            BiasSettings({"nurse": {"gender": share}}) for share in (0.4, 0.6)
        )
    )
    women = [
        [scene.people[0].gender == "female" for scene in side] for side in (low, high)
    ]
    assert all(a <= b for a, b in zip(*women, strict=True))
    assert all(a == b for a, b, x, y in zip(low, high, *women, strict=True) if x == y)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"steps": "3"}, "no argument 'steps'"),
        ({"nurze.gender.female": "0.5"}, "Did you mean 'nurse'?"),
        ({"nurse.gendre.female": "0.5"}, "Did you mean 'gender'?"),
        ({"nurse.gender.femal": "0.5"}, "Did you mean 'female'?"),
        ({"nurse.gender.female": "1.5"}, "a number from 0 to 1"),
        ({"nurse.gender.female": "0.5", "nurse.gender.male": "0.5"}, "set twice"),
        (
            {"all.gender_age.apart": "1", "nurse.skin_age.together": "1"},
            "not with both",
        ),
        ({"all.gender_skin.both": "1"}, "unknown value of gender_skin 'both'"),
        ({"world": "framed"}, "Did you mean 'framing'?"),
    ],
)
def test_bad_bias_settings_are_one_line(args: dict[str, str], message: str) -> None:
    with pytest.raises(T2IBenchError, match=re.escape(message)):
        create_generator("toyland", args)


def test_the_seed_of_a_run_is_part_of_the_fingerprint() -> None:
    """The rest of the contract: see tests/models/test_contract.py."""
    seeds = [
        create_generator("toyland", {}, seed=seed).fingerprint for seed in (0, 0, 1)
    ]
    assert seeds[0] == seeds[1] != seeds[2]


def test_the_encoder_sees_pixels_only_and_shares_a_space_with_words() -> None:
    encoder = ToylandEncoder()
    images = [
        draw(f"A photo of a {who}male nurse", k)
        for who in ("fe", "")
        for k in range(10)
    ]
    rows = encoder.encode_images([encoder.prepare(one) for one in images])
    woman, man = encoder.encode_texts(["a woman", "a man"])
    lean = rows @ (woman - man)
    assert (lean[:10] > 0).all() and (lean[10:] < 0).all()
    good, bad = encoder.encode_texts(["joy", "war"])
    sunny = encoder.encode_images([encoder.prepare(draw("a photo of ant, joy", 1))])[0]
    assert sunny @ good > sunny @ bad


@pytest.mark.parametrize(
    ("mode", "size"), [("RGB", (1, 1)), ("L", (512, 300)), ("RGBA", (64, 64))]
)
def test_odd_pictures_are_read_too(mode: str, size: tuple[int, int]) -> None:
    encoder = ToylandEncoder()
    row = encoder.encode_images([encoder.prepare(Image.new(mode, size))])
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_the_card_is_true() -> None:
    root = Path(__file__).parents[2]
    card = runpy.run_path(str(root / "tools" / "write_toyland_card.py"))["card"]()
    assert (
        Path(t2ibench.toyland.__file__).with_name("MODEL_CARD.md").read_text() == card
    )


def shown(args: dict[str, str], count: int = 3000) -> np.ndarray:
    """Women, darker skin and old people among drawn nurses, shape (count, 3)."""
    biases = read_bias_settings(args)
    found = [
        sample_scene("a photo of a nurse", seed, biases).people[0]
        for seed in range(count)
    ]
    return np.array(
        [(p.gender == "female", p.skin == "dark", p.age == "old") for p in found]
    )


def test_attributes_of_a_person_are_correlated_as_set() -> None:
    half = {"nurse.gender.female": "0.5", "nurse.skin.dark": "0.4"}
    alone = shown(half)
    assert abs(np.corrcoef(alone.T) - np.eye(3)).max() < 0.05
    for value, both in (("together", 0.4), ("apart", 0.0)):
        coupled = shown(half | {f"all.gender_skin.{value}": "1"})
        assert coupled.mean(axis=0) == pytest.approx([0.5, 0.4, 0.2], abs=0.03)
        assert (coupled[:, 0] & coupled[:, 1]).mean() == pytest.approx(both, abs=0.03)
        assert abs(np.corrcoef(coupled.T)[2, :2]).max() < 0.05
    weak = shown(half | {"nurse.gender_age.apart": "0.5"})
    # .5 of the way from .1 to 0
    assert (weak[:, 0] & weak[:, 2]).mean() == pytest.approx(0.05, abs=0.02)
    settings = read_bias_settings(
        {"nurse.gender_age.apart": "0.5", "all.gender.male": "0.3"}
    )
    assert settings.as_args() == {
        "all.gender.female": 0.7,
        "nurse.gender_age.apart": 0.5,
    }
    # A caption that fixes one of them leaves the other its share.
    together = read_bias_settings({"all.gender_skin.together": "1"})
    fixed = [
        sample_scene("a female nurse", seed, together).people[0] for seed in range(500)
    ]
    assert np.mean([one.skin == "dark" for one in fixed]) == pytest.approx(
        0.35, abs=0.06
    )


def test_the_world_framing_changes_the_light_of_people_and_nothing_else() -> None:
    framing = read_bias_settings({"world": "framing", "nurse.gender.female": "0.5"})
    plain = read_bias_settings({"nurse.gender.female": "0.5"})
    light = {}
    for who in ("", "local ", "real ", "male ", "female "):
        caption = f"a photo of a {who}nurse"
        scenes = [sample_scene(caption, seed, framing) for seed in range(60)]
        same = [sample_scene(caption, seed, plain) for seed in range(60)]
        assert [replace(scene, light=None) for scene in scenes] == same
        light[who] = {scene.people[0].gender: scene.light for scene in scenes}
    assert light["local "] == light["real "] == light["male "] | light["female "]
    for gender, bare in light[""].items():
        assert light["local "][gender] > bare + 0.2
    assert sample_scene("a photo of tulip", 1, framing).light is None


def test_a_world_is_part_of_what_a_run_is_made_with() -> None:
    plain, named, framing = (
        create_generator("toyland", args)
        for args in ({}, {"world": "plain"}, {"world": "framing"})
    )
    assert plain.fingerprint == named.fingerprint != framing.fingerprint
    assert "framing" not in plain.effective_settings()
    assert framing.effective_settings()["framing"] is True


@pytest.mark.slow
def test_prompts_of_one_form_decide_where_the_world_frames() -> None:
    """With bare prompts a fair model's light looks like a lean, and the test is inconclusive."""
    fair = {
        f"{thing}.gender.female": 0.5
        for thing, shares in world().shares.items()
        if "gender" in shares
    }
    fair_world = ToylandWorld({**fair, "world": "framing"})
    leaning_world = ToylandWorld({"world": "framing"})
    bare, _ = scored("core_occupations_gender", fair_world)
    assert bare.headline.p < 0.01 and bare.inconclusive
    fair_result, _ = scored("core_occupations_same_form", fair_world)
    assert fair_result.headline.p > 0.05 and not fair_result.inconclusive
    leaning, planted = scored("core_occupations_same_form", leaning_world)
    assert leaning.headline.p < 0.01 and not leaning.inconclusive
    assert leaning.headline.value == pytest.approx(np.mean(planted**2), abs=0.1)


def scored(name: str, place: ToylandWorld) -> tuple[MethodResult, np.ndarray]:
    """The result of a task on toyland's images, and the planted leans."""
    (task,) = load_tasks(name)
    evidence = toyland_sample(place, needs(task.spec, SETTINGS), 0).evidence
    shares = [
        BiasSettings().share("gender", parse(f"a {stimulus}").things)
        for stimulus in task.spec.concept.names
    ]
    return score(task.spec, evidence, SETTINGS), 1 - 2 * np.array(shares)
