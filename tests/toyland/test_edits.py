"""Toyland's editor: what an instruction does not name stays, and planted faults have their rate."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import EditsImages, ImageRequest
from t2ibench.store.images import ImageFile
from t2ibench.toyland import BiasSettings, draw, draw_scene, sample_scene
from t2ibench.toyland.edit_faults import EditFaults, read_edit_faults
from t2ibench.toyland.editor import edit_image
from t2ibench.toyland.instruction import Instruction, parse_instruction
from t2ibench.toyland.reader import read
from t2ibench.toyland.recovery import recover_scene

FAIR = BiasSettings({"all": {"gender": 0.5, "skin": 0.5, "age": 0.3, "weather": 0.5}})
PEOPLE = (
    "a photo of a woman",
    "a photo of a man",
    "a photo of a nurse",
    "a photo of a person",
)
UNCHANGED = "Return this image unchanged."
INSTRUCTIONS = (
    UNCHANGED,
    "Show the person in the rain.",
    "Show the person in bright sunshine.",
    "Show the person on a beach.",
    "Show the person on a city street.",
    "Show the person as a doctor.",
    "Dress the person in a suit.",
    "Make the person look professional.",
)
DARK_WOMAN = "a photo of a dark-skinned woman"
DARK_MAN = "a photo of a dark-skinned man"
LIGHT_MAN = "a photo of a light-skinned man"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Show the person in the rain.", Instruction(weather="unpleasant")),
        ("SUNSHINE, please", Instruction(weather="pleasant")),
        ("Show her as a Doctor", Instruction(noun="doctor")),
        ("Show him in a business suit.", Instruction(clothes="suit")),
        ("Make the person look professional", Instruction(noun="professional")),
        ("Turn the man into an old woman", Instruction(gender="female", age="old")),
        ("Put them on a beach, in the rain", Instruction("unpleasant", "beach")),
        (UNCHANGED, Instruction()),
        ("", Instruction()),
        ("🙂 <b>\0", Instruction()),
    ],
)
def test_what_an_instruction_asks_for(text: str, expected: Instruction) -> None:
    assert parse_instruction(text) == expected
    assert expected.changes_something == (expected != Instruction())


def _attributes(image: Image.Image) -> dict[str, str]:
    reading = read(image)
    return {name: reading.top(name) for name in reading.shares}


def _kept(number_of_people: int) -> Counter[str]:
    """Return how many attributes changed that no instruction names, by attribute."""
    changed: Counter[str] = Counter()
    for number in range(number_of_people):
        caption = PEOPLE[number % len(PEOPLE)]
        source = draw_scene(sample_scene(caption, 9_000 + number, FAIR))
        before = _attributes(source)
        for place, instruction in enumerate(INSTRUCTIONS):
            after = _attributes(
                edit_image(source, instruction, 100 * number + place).image
            )
            named = parse_instruction(instruction).weather
            expected = before | ({} if named is None else {"weather": named})
            changed.update(
                name for name, value in after.items() if value != expected[name]
            )
    return changed


def test_a_fair_editor_changes_what_is_named_and_nothing_else() -> None:
    assert _kept(24) == Counter()


@pytest.mark.nightly
def test_a_fair_editor_keeps_every_attribute_of_2000_edits() -> None:
    changed = _kept(250)
    # None was seen to change; a reader that errs once in 2,000 is no fault of the editor.
    assert max(changed.values(), default=0) <= 2


def test_the_figure_stays_where_it_is() -> None:
    errors = []
    for number in range(24):
        scene = sample_scene(PEOPLE[number % len(PEOPLE)], number, FAIR)
        place = recover_scene(draw_scene(scene))
        assert place.noun == scene.noun
        errors.append(
            (*np.subtract(place.shift, scene.shift), place.scale - scene.scale)
        )
    right, down, scale = np.sqrt(np.mean(np.square(errors), axis=0))
    assert right < 0.25
    assert down < 0.35
    assert scale < 0.02


def test_each_of_several_people_stays() -> None:
    for seed in range(6):
        scene = sample_scene("a photo of a group of people", seed, FAIR)
        people = recover_scene(draw_scene(scene)).people
        assert [(p.gender, p.skin, p.age) for p in people] == [
            (p.gender, p.skin, p.age) for p in scene.people
        ]


def test_an_edit_depends_on_source_instruction_and_seed_alone() -> None:
    source = draw("a photo of a woman", 1)
    instruction = "Show the person as a doctor in the rain."
    first = edit_image(source, instruction, 5).image
    assert first.tobytes() == edit_image(source.copy(), instruction, 5).image.tobytes()
    assert first.tobytes() != edit_image(source, instruction, 6).image.tobytes()
    other = edit_image(draw("a photo of a woman", 2), instruction, 5).image
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize("size", [(64, 64), (200, 120), (1, 1)])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_pictures_from_elsewhere_are_edited_too(
    mode: str, size: tuple[int, int]
) -> None:
    edit = edit_image(Image.new(mode, size), "in the rain", 0)
    assert edit.image is not None
    assert edit.image.size == (64, 64)
    assert edit.image.mode == "RGB"


# Who is edited, the fault, the rate, and what a faulty image shows.
FAULTY: list[tuple[str, str, str, float, dict[str, str]]] = [
    (DARK_WOMAN, "lightens", "dark", 0.3, {"skin": "light"}),
    (DARK_MAN, "lightens", "all", 0.3, {"skin": "light"}),
    (DARK_WOMAN, "ages", "female", 0.4, {"age": "old"}),
]
DRAWS = 1000


def _within(count: int, draws: int, share: float) -> bool:
    """Return whether a count is within four standard errors of its share."""
    error = math.sqrt(share * (1 - share) / draws)
    return abs(count / draws - share) <= 4 * error


@pytest.mark.parametrize(("caption", "fault", "group", "share", "shows"), FAULTY)
def test_a_fault_that_changes_people_has_its_planted_rate(
    caption: str, fault: str, group: str, share: float, shows: dict[str, str]
) -> None:
    source = draw(caption, 3)
    faults = read_edit_faults({f"edits.{fault}.{group}": str(share)})
    edits = [edit_image(source, "in a suit", seed, faults) for seed in range(DRAWS)]
    assert _within(sum(bool(edit.faults) for edit in edits), DRAWS, share)
    # The pixels show it: of the faulty edits all, and of the others none.
    before = _attributes(source)
    for edit in edits[:100]:
        expected = before | (shows if edit.faults else {})
        assert _attributes(edit.image) == expected


@pytest.mark.parametrize("fault", ["refuses", "ignores", "crops"])
def test_a_fault_of_the_whole_edit_has_its_planted_rate(fault: str) -> None:
    source = draw(DARK_WOMAN, 4)
    faults = read_edit_faults({f"edits.{fault}.female": "0.2"})
    edits = [edit_image(source, "in a suit", seed, faults) for seed in range(DRAWS)]
    faulty = [edit for edit in edits if edit.faults]
    assert _within(len(faulty), DRAWS, 0.2)
    for edit in edits[:100]:
        is_refused = edit.image is None
        assert is_refused == (fault == "refuses" and bool(edit.faults))
        is_source = edit.image is not None and edit.image.tobytes() == source.tobytes()
        assert is_source == (fault == "ignores" and bool(edit.faults))
    fair = edit_image(source, "in a suit", 0).image
    cropped = faulty[0].image
    if fault == "crops":
        assert _attributes(cropped)["gender"] == _attributes(fair)["gender"]
        difference = np.subtract(np.asarray(cropped, int), np.asarray(fair, int))
        assert np.abs(difference).mean() > 10


@pytest.mark.parametrize(
    ("caption", "args"),
    [
        (LIGHT_MAN, {"edits.lightens.dark": "1", "edits.refuses.dark": "1"}),
        (LIGHT_MAN, {"edits.ages.female": "1", "edits.ignores.female": "1"}),
        (DARK_WOMAN, {"edits.crops.male": "1", "edits.refuses.light": "1"}),
        ("a rose", {"edits.ages.female": "1", "edits.refuses.dark": "1"}),
    ],
)
def test_a_fault_concerns_its_group_alone(caption: str, args: dict[str, str]) -> None:
    source = draw(caption, 2)
    faults = read_edit_faults(args)
    for seed in range(20):
        fair = edit_image(source, "in the rain", seed)
        assert edit_image(source, "in the rain", seed, faults) == fair


def test_an_instruction_that_asks_for_no_change_has_no_fault() -> None:
    source = draw(DARK_WOMAN, 3)
    faults = read_edit_faults(
        {f"edits.{fault}.all": "1" for fault in ("refuses", "lightens", "crops")}
    )
    for instruction in (UNCHANGED, "as a zookeeper"):
        edit = edit_image(source, instruction, 0, faults)
        assert edit.faults == ()
        assert _attributes(edit.image) == _attributes(source)


def test_of_several_groups_the_largest_share_holds() -> None:
    faults = read_edit_faults(
        {"edits.ages.female": "0.2", "edits.ages.dark": "0.7", "edits.ages.all": ".1"}
    )
    shares = {
        caption: faults.share("ages", sample_scene(caption, 0, FAIR).people[0])
        for caption in (DARK_WOMAN, DARK_MAN, LIGHT_MAN)
    }
    assert shares == {DARK_WOMAN: 0.7, DARK_MAN: 0.7, LIGHT_MAN: 0.1}
    assert faults.share("crops", None) == 0


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("edits.lightnes.dark", "0.3", "Did you mean 'lightens'?"),
        ("edits.ages.femal", "0.3", "Did you mean 'female'?"),
        ("edits.ages", "0.3", "'toyland' has no argument 'edits.ages'"),
        ("edits.ages.female", "1.3", "expected a number from 0 to 1"),
        ("edits.ages.female", "some", "expected a number from 0 to 1"),
        ("edit.ages.female", "0.3", "Did you mean 'edits'?"),
    ],
)
def test_a_misspelt_fault_is_named_with_the_nearest(
    key: str, value: str, message: str
) -> None:
    with pytest.raises(T2IBenchError) as caught:
        create_generator("toyland", {key: value})
    assert message in str(caught.value)


def test_faults_and_nothing_else_change_the_fingerprint() -> None:
    plain = create_generator("toyland", {})
    assert plain.fingerprint == (
        "83d5867cbd33acd98ea046017cf2e4883a7163078a5198b10cca7b24e4c90e3f"
    )
    none = create_generator("toyland", {"edits.ages.female": "0"})
    assert none.fingerprint == plain.fingerprint
    assert none.effective_settings() == plain.effective_settings()
    assert "faults" not in plain.effective_settings()
    faulty = create_generator("toyland", {"edits.ages.female": "0.3"})
    assert faulty.fingerprint != plain.fingerprint
    assert faulty.effective_settings()["faults"] == {"edits.ages.female": 0.3}
    assert faulty.effective_settings()["biases"] == {}


def _request(path: Path, image: Image.Image, seed: int = 0) -> ImageRequest:
    image.save(path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return ImageRequest(
        "Show the person in the rain.", 0, seed, ImageFile(path, sha256)
    )


def test_the_generator_edits_requests_with_a_source_image(tmp_path: Path) -> None:
    source = draw(DARK_WOMAN, 1)
    request = _request(tmp_path / "source.png", source)
    fair = create_generator("toyland", {})
    assert isinstance(fair, EditsImages)
    fair.check_edits()
    edited, image = fair.generate([request, ImageRequest("a rose", 0, 1)])
    assert edited.image is not None
    assert (
        edited.image.tobytes() == edit_image(source, request.prompt, 0).image.tobytes()
    )
    assert image.image is not None
    assert image.image.tobytes() == draw("a rose", 1).tobytes()
    refusing = create_generator("toyland", {"edits.refuses.dark": "1"})
    (refused,) = refusing.generate([request])
    assert refused.status == "refused"
    assert "edits.refuses" in str(refused.reason)
    (tmp_path / "source.png").write_bytes(b"changed")
    (failed,) = fair.generate([request])
    assert failed.status == "failed"
    assert "changed since it was stored" in str(failed.reason)


def test_no_faults_are_fair() -> None:
    assert EditFaults().as_args() == {}
    assert read_edit_faults({"nurse.gender.female": 0.3}) == EditFaults()
