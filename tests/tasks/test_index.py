"""Finding tasks by id, glob, group, tag and 'all', here and in further folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.tasks import LoadedTask, TaskIndex, build_index, load_tasks
from t2ibench.tasks.loader import bundled_tasks, task_files
from tests.tasks.files import TEA, load, spoil


@pytest.fixture(scope="module")
def registry() -> TaskIndex:
    found, problems = build_index()
    assert problems == []
    return found


def ids(tasks: list[LoadedTask]) -> list[str]:
    return [task.id for task in tasks]


def test_by_id_and_list(registry: TaskIndex) -> None:
    assert ids(registry.select(["mcas_sports"])) == ["mcas_sports"]
    assert ids(load_tasks("mcas_sports, weat_7_math_arts")) == ["mcas_sports", "weat_7_math_arts"]
    assert ids(load_tasks(["mcas_sports"])) == ["mcas_sports"]


def test_groups(registry: TaskIndex) -> None:
    assert {name: len(tasks) for name, tasks in registry.groups.items()} == {
        "mcas": 5,
        "openbias": 2,
        "tibet": 2,
        "vibex": 4,
        "occupations": 3,
        "t2iat": 8,
        "weat": 10,
    }
    assert len(registry.select(["weat"])) == 10


def test_natural_order(registry: TaskIndex) -> None:
    numbers = [int(name.split("_")[1]) for name in registry.groups["weat"]]
    assert numbers == list(range(1, 11))


def test_globs(registry: TaskIndex) -> None:
    assert ids(registry.select(["*flowers*"])) == [
        "t2iat_flowers_insects",
        "weat_1_flowers_insects",
    ]
    assert ids(registry.select(["weat_[12]_*"])) == [
        "weat_1_flowers_insects",
        "weat_2_instruments_weapons",
    ]


def test_tags(registry: TaskIndex) -> None:
    assert ids(registry.select(["tag:religion"])) == ["t2iat_judaism_christianity"]
    assert ids(registry.select(["tag:age"])) == [
        *("openbias_examples", "tibet_prompts", "weat_10_young_old_names"),
    ]
    assert set(registry.tags["benign"]) == {
        "t2iat_flowers_insects",
        "t2iat_instruments_weapons",
        "vibex_training",
        "weat_1_flowers_insects",
        "weat_2_instruments_weapons",
    }


def test_all_and_no_task_twice(registry: TaskIndex) -> None:
    everything = registry.select(["all"])
    assert len(everything) == 34
    assert registry.select(["mcas", "all", "mcas_sports", "tag:gender"]) == everything


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("mcas_sport", "mcas_sports"),
        ("T2IAT", "t2iat"),
        ("ocupations", "occupations"),
        ("tag:religon", "tag:religion"),
        ("ALL", "all"),
    ],
)
def test_unknown_name_gives_the_nearest(registry: TaskIndex, name: str, near: str) -> None:
    with pytest.raises(T2IBenchError) as caught:
        registry.select(["weat", name])
    assert f"'{name}'. Did you mean '{near}'?" in str(caught.value)
    assert "t2ibench ls" in str(caught.value)


@pytest.mark.parametrize("name", ["qqqqqq", "zz*", "tag:zzzz", ""])
def test_unknown_name_without_a_near_one(registry: TaskIndex, name: str) -> None:
    with pytest.raises(T2IBenchError, match="Unknown task, group or tag"):
        registry.select([name])


def test_include_path_with_its_own_stimuli(tmp_path: Path) -> None:
    (tmp_path / "stimuli").mkdir()
    (tmp_path / "stimuli" / "drinks.yaml").write_text(
        "source: my kitchen\nlists:\n  teas: [oolong, assam]\n"
    )
    edited = spoil(TEA, ("[oolong, assam]", "teas"), ("[mocha, latte]", "male_names"))
    load(tmp_path, spoil(edited, ("[warm, hot]", "pleasant_9")), "drinks/hot/tea.yaml")
    registry, problems = build_index([tmp_path])
    assert [problem.message for problem in problems if not problem.warning] == []
    assert len(registry.tasks) == 35
    task = registry.tasks["tea_coffee"]
    assert task.spec.method == "t2iat"
    assert task.spec.concepts.X.stimuli == ("oolong", "assam")
    assert task.spec.concepts.Y.stimuli[0] == "John"
    assert (task.group, task.line) == ("drinks/hot", 1)
    assert registry.groups["drinks"] == registry.groups["drinks/hot"] == ["tea_coffee"]


def test_a_task_at_the_top_is_in_the_group_of_its_method(tmp_path: Path) -> None:
    load(tmp_path, TEA)
    registry, _ = build_index([tmp_path])
    assert "tea_coffee" in registry.groups["t2iat"]


def test_no_file_is_loaded_twice(tmp_path: Path) -> None:
    load(tmp_path, TEA, "drinks/tea.yaml")
    around = tmp_path / "drinks" / ".."
    registry, problems = build_index(
        [tmp_path, around, tmp_path / "drinks", bundled_tasks(), bundled_tasks() / "weat"]
    )
    assert problems == []
    assert len(registry.tasks) == 35


def test_hidden_folders_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in (".github/workflows/ci.yaml", "stimuli/a.yaml", "notes.txt", "a.yml", "b/c.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert task_files(tmp_path) == [tmp_path / "a.yml", tmp_path / "b" / "c.yaml"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match="No such folder"):
        load_tasks("all", [tmp_path / "nowhere"])
