"""Finding tasks by id, glob, group, tag and 'all', here and in further folders."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS
from t2ibench.tasks import LoadedTask, TaskIndex, build_index, load_tasks, loader
from t2ibench.tasks.folders import bundled_tasks, task_files
from tests.conftest import Cli
from tests.tasks.files import TEA, load, spoil


@pytest.fixture(scope="module")
def registry() -> TaskIndex[LoadedTask]:
    found, problems = build_index()
    assert problems == []
    return found


def ids(tasks: list[LoadedTask]) -> list[str]:
    return [task.id for task in tasks]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("mcas_sports", "mcas_sports"),
        (
            "*flowers*",
            "core_flowers_insects t2iat_flowers_insects weat_1_flowers_insects",
        ),
        ("weat_[12]_*", "weat_1_flowers_insects weat_2_instruments_weapons"),
        ("tag:religion", "t2iat_judaism_christianity"),
        ("mcas_sports, weat_7_math_arts", "mcas_sports weat_7_math_arts"),
        (
            "tag:age",
            "core_occupations_age edits_people objects_age occupations_intersections openbias_coco "
            "openbias_flickr30k openbias_intersections openbias_examples tibet_prompts "
            "weat_10_young_old_names",
        ),
    ],
)
def test_patterns_select_tasks(
    pattern: str, found: str, registry: TaskIndex[LoadedTask]
) -> None:
    assert (
        ids(registry.select(pattern.split(", ")))
        == found.split()
        == ids(load_tasks(pattern))
    )


def test_groups_in_natural_order(registry: TaskIndex[LoadedTask]) -> None:
    everything = registry.select(["all"])
    counts = {"mcas": 1, "openbias": 2, "tibet": 2, "vibex": 1}
    counts |= {"occupations": 3, "t2iat": 8, "weat": 5}
    assert (
        Counter(task.group for task in everything) == counts and len(everything) == 22
    )
    assert len(registry.select(["mcas"])) == 5 and len(registry.select(["core"])) == 7
    numbers = [int(task.id.split("_")[1]) for task in registry.select(["weat"])]
    assert numbers == list(range(1, 11))
    # No task twice.
    assert (
        registry.select(["openbias", "all", "mcas_all", "tag:religion"]) == everything
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("mcas_sport", "mcas_sports"),
        ("T2IAT", "t2iat"),
        ("ocupations", "occupations"),
        ("tag:religon", "tag:religion"),
        ("ALL", "all"),
        *((name, None) for name in ("qqqqqq", "tag:zzzz", "")),
    ],
)
def test_unknown_name_gives_the_nearest(
    registry: TaskIndex[LoadedTask], name: str, near: str | None
) -> None:
    with pytest.raises(
        T2IBenchError, match=r"Unknown task, group or tag.*t2ibench ls"
    ) as caught:
        registry.select(["weat", name])
    asks = f"'{name}'. Did you mean '{near}'?" in str(caught.value)
    assert asks == bool(near) == ("Did you mean" in str(caught.value))


def test_include_path_with_its_own_stimuli(tmp_path: Path) -> None:
    words = "source: my kitchen\nlists:\n  teas: [oolong, assam]\n"
    load(tmp_path, words, "stimuli/drinks.yaml")
    edited = spoil(TEA, ("[oolong, assam]", "teas"), ("[mocha, latte]", "male_names"))
    load(tmp_path, spoil(edited, ("[warm, hot]", "pleasant_9")), "drinks/hot/tea.yaml")
    registry, problems = build_index([tmp_path])
    assert [problem.message for problem in problems if not problem.warning] == []
    assert len(registry.select(["all"])) == 23
    task = registry.tasks["tea_coffee"]
    assert task.spec.method == "t2iat"
    assert task.spec.concepts.X.stimuli == ("oolong", "assam")
    assert task.spec.concepts.Y.stimuli[0] == "John"
    assert (task.group, task.line) == ("drinks/hot", 1)
    assert registry.groups["drinks"] == registry.groups["drinks/hot"] == ["tea_coffee"]


def test_an_extended_task_is_left_out_of_all(tmp_path: Path) -> None:
    load(tmp_path, TEA, "extended/t2iat/tea.yaml")
    standard = {
        task.id: task.hash for task in build_index([tmp_path])[0].select(["all"])
    }
    spoiled = spoil(TEA, ("version: 1", "version: 1\nextended: true"))
    load(tmp_path, spoiled, "extended/t2iat/tea.yaml")
    registry, problems = build_index([tmp_path])
    assert problems == []
    assert ids(registry.select(["all"])) == [
        name for name in standard if name != "tea_coffee"
    ]
    for pattern in ("extended", "tea_coffee", "extended/t2iat", "tea*"):
        assert "tea_coffee" in ids(registry.select([pattern]))
    assert "tea_coffee" not in ids(registry.select(["t2iat"]))
    # not what is scored
    assert registry.tasks["tea_coffee"].hash == standard["tea_coffee"]


def test_no_file_is_loaded_twice(tmp_path: Path) -> None:
    load(tmp_path, TEA, "drinks/tea.yaml")
    around = tmp_path / "drinks" / ".."
    registry, problems = build_index(
        [
            tmp_path,
            around,
            tmp_path / "drinks",
            bundled_tasks(),
            bundled_tasks() / "weat",
        ]
    )
    assert problems == []
    assert len(registry.select(["all"])) == 23


def test_changed_task_files_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what comes with t2ibench is read once a process."""
    own = spoil(TEA, ("[oolong, assam]", "teas"))
    other = spoil(own, ('neutral: "a cup', 'neutral: "a mug'))
    seen = []
    for teas, text in (
        ("oolong, assam", own),
        ("oolong, sencha", own),
        ("oolong, sencha", other),
    ):
        load(tmp_path, f"source: me\nlists: {{teas: [{teas}]}}\n", "stimuli/words.yaml")
        load(tmp_path, text)
        seen.append(build_index([tmp_path])[0].tasks["tea_coffee"].hash)
    assert len(set(seen)) == 3
    load(tmp_path, spoil(own, ("version: 1", "version: x")))
    assert "tea_coffee" not in build_index([tmp_path])[0].tasks
    load(tmp_path, own)  # at the top it is in the group of its method
    assert "tea_coffee" in build_index([tmp_path])[0].groups["t2iat"]
    without = {
        name: target for name, target in METHODS._entries.items() if name != "t2iat"
    }
    monkeypatch.setattr(METHODS, "_entries", without)
    assert "tea_coffee" not in build_index([tmp_path])[0].tasks


def test_hidden_folders_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in (
        ".github/workflows/ci.yaml",
        "stimuli/a.yaml",
        "notes.txt",
        "a.yml",
        "b/c.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert task_files(tmp_path) == [tmp_path / "a.yml", tmp_path / "b" / "c.yaml"]


def broken_folder(folder: Path) -> Path:
    """One good task, one that is no YAML, one that fits no schema."""
    load(folder, TEA, "tea.yaml")
    load(folder, "id: torn\nmethod: t2iat\nprompts: [\n", "torn.yaml")
    load(
        folder,
        spoil(TEA, ("id: tea_coffee", "id: odd"), ("version: 1", "version: x")),
        "2.yaml",
    )
    return folder


@pytest.mark.slow
def test_a_broken_file_stops_no_task_of_another(tmp_path: Path) -> None:
    lines: list[str] = []
    folder = broken_folder(tmp_path)
    for names in ("tea_coffee", "weat_7_math_arts", "tea_coffee,weat"):
        assert load_tasks(names, [folder], on_left_out=lines.append)
    assert len(set(lines)) == 2 and not any("\n" in line for line in lines)
    torn = next(line for line in lines if "torn.yaml" in line)
    assert f"{folder}/torn.yaml:4: malformed YAML" in torn
    assert f"t2ibench validate {folder}/torn.yaml" in torn
    with pytest.warns(UserWarning, match=r"torn\.yaml:4: malformed"):
        load_tasks("tea_coffee", [folder])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torn", r"torn\.yaml:4: malformed YAML"),
        ("odd", r"2\.yaml:2: version: "),
        (
            "nothing",
            r"Unknown task, group or tag 'nothing'.*could not be used, because of errors",
        ),
    ],
)
def test_an_id_of_a_broken_file_gets_its_problems(
    name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(T2IBenchError, match=message):
        load_tasks(["tea_coffee", name], [broken_folder(tmp_path)])


@pytest.mark.slow
def test_broken_words_stop_the_tasks_beside_them_and_change_no_others(
    tmp_path: Path,
) -> None:
    """A task may mean the broken words: here 'flowers', which the shipped tasks have, too."""
    before = load_tasks("t2iat_flowers_insects")[0].hash
    own = spoil(TEA, ("stimuli: [oolong, assam]", "stimuli: flowers"))
    load(tmp_path, own, "tea.yaml")
    load(
        tmp_path, "source: me\nlists: {flowers: [rose, tulip]}\n", "stimuli/words.yaml"
    )
    lines: list[str] = []
    (task,) = load_tasks("t2iat_flowers_insects", [tmp_path], on_left_out=lines.append)
    assert task.hash == before
    (line,) = lines
    assert "words.yaml:2: the name 'flowers' is already used in" in line
    assert (
        f"The tasks beside it are left out; see `t2ibench validate {tmp_path}`" in line
    )
    with pytest.raises(T2IBenchError, match="the name 'flowers' is already used in"):
        load_tasks("tea_coffee", [tmp_path])


def clone(folder: Path) -> Path:
    """A checkout of t2ibench beside the installed package: newer selves of the shipped tasks."""
    (folder / "t2ibench" / "tasks").mkdir(parents=True)
    (folder / "t2ibench" / "tasks" / "loader.py").touch()
    shutil.copytree(bundled_tasks(), folder / "tasks")
    file = folder / "tasks" / "t2iat" / "flowers_insects.yaml"
    file.write_text(file.read_text().replace("version: 1", "version: 99"))
    return folder / "tasks"


@pytest.mark.slow
def test_the_tasks_of_a_checkout_are_no_clash_with_the_installed_ones(
    tmp_path: Path, cli: Cli
) -> None:
    tasks = clone(tmp_path)
    one = tasks / "t2iat" / "flowers_insects.yaml"
    for path in (tasks, one, tasks / "t2iat"):
        status, out, err = cli("validate", "--strict", str(path))
        assert status == 0, out + err
    (found,) = load_tasks("t2iat_flowers_insects", [tasks])
    assert found.path == one and found.spec.version == 99
    (tmp_path / "mine").mkdir()
    # the same file elsewhere is one more of that id
    shutil.copy(one, tmp_path / "mine")
    status, out, _ = cli("validate", str(tmp_path / "mine"))
    assert status == 1 and "is used by a bundled task" in out


def test_shipped_files_are_read_once_per_process(
    registry: TaskIndex[LoadedTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a folder with tasks and word lists of its own comes to them."""
    (tmp_path / "tea.yaml").write_text(TEA, encoding="utf-8")
    (tmp_path / "stimuli").mkdir()
    lists = "source: mine\nlists: {teas: [oolong]}\n"
    (tmp_path / "stimuli" / "teas.yaml").write_text(lists, encoding="utf-8")
    paths: list[Path] = []
    read = loader.read_yaml
    monkeypatch.setattr(
        loader, "read_yaml", lambda path: (paths.append(path), read(path))[1]
    )
    for _ in range(2):
        index, problems = build_index([tmp_path])
        assert problems == [] and index.tasks.keys() > registry.tasks.keys()
    assert sorted({path.name for path in paths}) == ["tea.yaml", "teas.yaml"]
