"""Models by name, by 'package.module:factory', and as objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Listed
from t2ibench.models.encoders import ENCODERS, create_encoder, embeds_images
from t2ibench.models.generators import (
    GENERATORS,
    can_regenerate,
    create_generator,
    default_encoder,
    default_judge,
)
from t2ibench.models.judges import JUDGES, check_judges, create_judges
from t2ibench.models.proposers import create_proposer
from t2ibench.models.resolution import listed
from t2ibench.registry import Registry
from tests.models.parts import Flat, Grey, Yes, refused

PARTS = "tests.models.parts"


def test_a_factory_gets_its_arguments_and_what_the_run_knows() -> None:
    made = create_generator(f"{PARTS}:Grey", {"value": "9"}, seed=3, device="cpu")
    assert isinstance(made, Grey)
    assert (made.value, made.seed, made.device) == (9, 3, "cpu")
    assert create_generator(f"{PARTS}:Grey").fingerprint == Grey().fingerprint


def test_an_adapter_as_a_target_is_used_like_a_registered_one() -> None:
    made = create_generator(f"{PARTS}:ADAPTER", {"value": "9"}, seed=2)
    assert isinstance(made, Grey) and (made.value, made.seed) == (9, 2)
    assert default_encoder(f"{PARTS}:ADAPTER") == "clip:grey"
    assert default_judge(f"{PARTS}:Grey") == "vlm:Qwen/Qwen3-VL-4B-Instruct"
    free = create_generator(f"{PARTS}:anything", {"a": "1", "b": "2"})
    assert isinstance(free, Grey) and free.value == 2


@pytest.mark.parametrize(
    ("spec", "args", "message"),
    [
        (f"{PARTS}:Grey", {"valu": "9"}, "no argument 'valu'. Did you mean 'value'?"),
        (f"{PARTS}:Grey", {"value": "grey"}, "value=grey: expected a whole number"),
        (f"{PARTS}:Grey", {"seed": "9"}, "no argument 'seed'"),
        (f"{PARTS}:ADAPTER", {"value": "0"}, "expected greater than or equal to 1"),
        (f"{PARTS}:Gray", {}, "has no 'Gray'. Did you mean 'Grey'?"),
        (f"{PARTS}:PARTS", {}, "has no 'PARTS'"),
        (f"{PARTS}:Grey.name", {}, "is a str, which cannot be called"),
        (f"{PARTS}:positional", {}, "cannot be made: TypeError"),
        (f"{PARTS}:halfway", {}, "is not a generator: it has no 'name', 'fingerprint'"),
        ("no_such_package_at_all:make", {}, "cannot be imported"),
        ("foldr:images", {}, "Did you mean 'folder:'?"),
        ("folder:", {}, "Something has to follow: folder:DIR."),
        ("sdlx", {}, "Did you mean 'sdxl'?"),
        ("fodler:my/images", {}, "Unknown model 'fodler:my/images'"),
        ("x" * 5000, {}, "Unknown model 'xxx"),
        ("toyland:x", {}, "Unknown model 'toyland:x'"),
        ("folder", {}, "Unknown model 'folder'"),
    ],
)
def test_generators_that_cannot_be_created_get_a_one_line_error(
    spec: str, args: dict[str, str], message: str
) -> None:
    with refused(message):
        create_generator(spec, args)


def test_objects_are_used_as_they_are() -> None:
    generator, encoder, judge = Grey(), Flat(), Yes()
    assert create_generator(generator) is generator
    assert create_encoder(encoder) is encoder
    assert create_judges([judge, "toyland"])[0] is judge
    with pytest.raises(T2IBenchError, match="is an object"):
        create_generator(generator, {"value": "3"})
    with pytest.raises(
        T2IBenchError, match="not an encoder: it has no 'embeds_images'"
    ):
        create_encoder(judge)  # type: ignore[arg-type]
    (clip,) = create_judges(["clip"], {}, encoders=[encoder])
    assert clip.name == "clip:flat"


def test_a_users_own_encoders_and_judges_are_created_with_arguments() -> None:
    assert isinstance(create_encoder(f"{PARTS}:Flat"), Flat)
    loud, _ = create_judges([f"{PARTS}:Yes", "clip"], {"loud": "yes", "margin": "0.2"},
                            encoders=["toyland"])  # fmt: skip
    assert isinstance(loud, Yes) and loud.loud
    with pytest.raises(
        T2IBenchError, match=r"no argument 'lout'\. Did you mean 'loud'"
    ):
        check_judges([f"{PARTS}:Yes", "toyland"], {"lout": "yes"})
    with pytest.raises(T2IBenchError, match="not a judge"):
        create_judges([f"{PARTS}:Flat"])
    with pytest.raises(T2IBenchError, match="not a proposer"):
        create_proposer(f"{PARTS}:Flat")
    with pytest.raises(T2IBenchError, match="encoders embeds images"):
        create_judges(["clip"], {}, encoders=["vectors:glove.txt"])


def test_an_alias_of_a_judge_creates_that_judge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def create(request: Any) -> Any:
        asked.append(request.source)
        judge = Yes()
        judge.name = request.spec
        return judge

    adapter = replace(JUDGES.get("vlm"), create=create, check=None)
    monkeypatch.setitem(vars(JUDGES)["_loaded"], "vlm", adapter)
    full = "vlm:llava-hf/llava-1.5-7b-hf"
    found = create_judges(["llava-1.5-7b", full])
    assert [judge.name for judge in found] == [full]
    assert asked == ["llava-hf/llava-1.5-7b-hf"]
    with pytest.raises(T2IBenchError, match=r"Did you mean 'llava-1\.5-7b'"):
        check_judges(["llava-1.5-7"])
    assert main(["ls", "judges", "--json"]) == 0
    rows = {row["judge"]: row for row in json.loads(capsys.readouterr().out)}
    row = rows["qwen3-vl-4b"]
    assert (row["weights"], row["licence"]) == ("9 GB", "Apache-2.0")
    assert (
        "default" in row["what it is"]
        and "Qwen/Qwen3-VL-4B-Instruct" in row["what it is"]
    )


def test_capabilities_of_names() -> None:
    assert embeds_images("clip:x") and embeds_images("gone.away:encoder")
    assert not embeds_images("vectors:glove.txt")
    assert (
        can_regenerate("toy")
        and can_regenerate("org/name")
        and can_regenerate("gone.away:make")
    )
    assert not can_regenerate("folder:images")
    wanted = {"toy": "toy-clip", "toy-fair": "toy-clip", "toyland": "toyland"}
    for name in (*wanted, "sdxl", "folder:x", "org/name", None):
        assert default_encoder(name) == wanted.get(
            name or "", "open_clip:ViT-L-14/openai"
        )
        judge = "toyland" if name in wanted else "vlm:Qwen/Qwen3-VL-4B-Instruct"
        assert default_judge(name) == judge


def test_a_name_in_a_file_cannot_ask_for_code() -> None:
    for create in (create_generator, create_encoder):
        with pytest.raises(T2IBenchError, match="it is not imported"):
            create("os:system", {"command": "exit 1"}, recorded=True)
    for spec in (f"{PARTS}:Yes", f"clip:{PARTS}:Flat"):
        assert create_judges([spec])
        with pytest.raises(T2IBenchError, match="it is not imported"):
            create_judges([spec], {}, recorded=True)
    assert can_regenerate("no.such.module:x") and embeds_images("no.such.module:x")
    assert create_generator("toyland", {}, recorded=True).name == "toyland"


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Registry[Any]]:
    """A registry with the entry points of packages that are not there."""

    def make(registry: Registry[Any], **points: str) -> Registry[Any]:
        found = [
            EntryPoint(name, value, registry.group) for name, value in points.items()
        ]
        monkeypatch.setattr(metadata, "entry_points", lambda group: found)
        monkeypatch.delitem(vars(registry), "_plugins", raising=False)
        return registry

    yield make  # type: ignore[misc]
    for registry in (GENERATORS, ENCODERS, JUDGES):
        vars(registry).pop("_plugins", None)


def test_plugins_stand_beside_the_others(
    plugins: Callable[..., Registry[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    registry = plugins(
        GENERATORS,
        grey=f"{PARTS}:Grey",
        broken="no_such_package:x",
        toyland=f"{PARTS}:Grey",
    )
    rows = {row.form: row for row in listed(registry)}
    assert rows["grey"] == Listed("grey", "Images of one grey.", PARTS)
    assert "cannot be loaded" in rows["broken"].description
    assert isinstance(create_generator("grey", {"value": "3"}), Grey)
    assert main(["ls", "models"]) == 0
    shown = capsys.readouterr()
    assert PARTS in shown.out and "'no_such_package' cannot be imported" in shown.out
    with pytest.raises(T2IBenchError, match="Repair or uninstall no_such_package"):
        create_generator("broken")


def test_a_path_and_a_path_object_are_the_same(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "x.png")
    for spec in (tmp_path, str(tmp_path)):
        with pytest.raises(
            T2IBenchError, match=r"no model_index\.json.*--model folder:"
        ):
            create_generator(spec)
