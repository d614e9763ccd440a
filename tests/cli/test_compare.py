"""Two runs side by side, and captions for pictures that have none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.results.compare import compare, difference_interval
from t2ibench.results.schema import Score
from t2ibench.toyland import draw

Cli = Callable[..., tuple[int, str, str]]


def test_the_interval_of_a_difference() -> None:
    first = Score(value=0.6, ci_low=0.5, ci_high=0.8)
    second = Score(value=0.2, ci_low=0.1, ci_high=0.25)
    low, high = difference_interval(first, second)
    assert low == pytest.approx(0.4 - (0.1**2 + 0.05**2) ** 0.5)
    assert high == pytest.approx(0.4 + (0.2**2 + 0.1**2) ** 0.5)
    assert difference_interval(first, Score(value=0.1)) == (None, None)


@pytest.mark.slow
def test_a_model_and_its_debiased_version(tmp_path: Path, cli: Cli) -> None:
    quick = {"n_permutations": 500, "n_bootstrap": 300, "images_per_prompt": 6}
    tasks = "openbias_winobias,occupations_t2iat"
    biased = evaluate("toyland", tasks, output_dir=tmp_path, **quick)
    args = {"all.gender.female": 0.5}
    fair = evaluate("toyland", tasks, model_args=args, output_dir=tmp_path, **quick)
    rows = {(one.task, one.row): one for one in compare(biased, fair)}
    headline = rows["openbias_winobias", ""]
    assert headline.low is not None and headline.low > 0 and not headline.note
    assert rows["openbias_winobias", "person gender"].name in {"h", "lean"}
    folders = sorted(path for path in tmp_path.iterdir() if path.is_dir())
    status, out, _ = cli("compare", *folders, "--rows")
    assert status == 0 and "person gender" in out and "occupations_t2iat" in out
    assert "\\toprule" in cli("compare", *folders, "--format", "latex")[1]
    status, _, errors = cli("compare", folders[0], tmp_path / "nowhere")
    assert status == 1 and "cannot be read" in errors


def test_captions_by_a_judge(tmp_path: Path, cli: Cli) -> None:
    for number, prompt in enumerate(("a nurse", "a rose", "a man")):
        draw(prompt, number).save(tmp_path / f"{number}.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    status, _, errors = cli("caption", tmp_path, "--judge", "toyland")
    assert status == 3 and "broken.png cannot be used: it cannot be read as an image" in errors
    rows = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    assert [row["file"] for row in rows] == ["0.png", "1.png", "2.png"]
    assert rows[1]["prompt"].startswith("flower")
    (tmp_path / "broken.png").unlink()
    assert cli("caption", tmp_path, "--judge", "toyland")[0] == 0
    assert len((tmp_path / "prompts.jsonl").read_text().splitlines()) == 3
    status, _, errors = cli("caption", tmp_path / "nowhere", "--judge", "toyland")
    assert status == 1 and "No such folder" in errors
