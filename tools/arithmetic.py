"""Do results travel? Submissions and fresh runs, read under the arithmetic of other processors.

    python tools/arithmetic.py                           # the shipped submissions and fresh runs
    python tools/arithmetic.py --stored                  # the shipped submissions alone
    python tools/arithmetic.py --python OLD/bin/python   # also by another environment's versions

Each arithmetic is a process of its own with one row of `ARITHMETICS` in its environment. What is
recomputed from one evidence has to give the same verdicts, states and sentences, and numbers within
the leaderboard's tolerance; what is generated anew, the same states and sentences, but for the last
digit of a number in a sentence. The largest differences are printed. What an untrained network
reads is left out where libraries differ: they draw its random weights, and another version draws
others.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_NUMPY = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
ARITHMETICS = {
    "as it is": {},
    "no vector units": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": _NUMPY,
        "ATEN_CPU_CAPABILITY": "default",
        "DNNL_MAX_CPU_ISA": "SSE41",
        "OMP_NUM_THREADS": "1",
    },
    "Haswell": {
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
        "ATEN_CPU_CAPABILITY": "avx2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "OMP_NUM_THREADS": "2",
    },
}
_FRESH = ("--limit", "3", "--images-per-prompt", "6", "--guided-images-per-prompt", "4")
_TASKS = (
    "t2iat_flowers_insects,occupations_t2iat,mcas_occupations,openbias_examples,tibet_occupations,"
    "vibex_gender,weat_8_science_arts"
)
_SENTENCES = frozenset(
    {"direction", "reason", "says", "contradicts", "inconclusive", "warnings"}
)


def recompute(target: Path) -> None:
    """Verify every shipped submission, and write what its evidence gives here."""
    from t2ibench.apps.leaderboard.verify import verify

    for folder in sorted((ROOT / "leaderboard" / "submissions").iterdir()):
        found = verify(folder)
        if found.results is None or found.problems:
            raise SystemExit(
                f"{folder.name}: {found.level}: {'; '.join(found.problems)}"
            )
        (target / f"{folder.name}.json").write_text(found.results.to_json())


def compared(first: Path, second: Path) -> Iterator[tuple[str, str, Any, Any]]:
    """What differs between two files: kind (state, sentence or number), place, both values."""
    from t2ibench.results.display import row_state, state_of
    from t2ibench.results.files import read_results

    one, other = (read_results(path) for path in (first, second))
    assert one.tasks.keys() == other.tasks.keys()
    for name, task in one.tasks.items():
        twin = other.tasks[name]
        states = [
            {"": state_of(found)}
            | {
                f"{row.name} {key}": row_state(score)
                for row in found.by
                for key, score in row.scores.items()
            }
            for found in (task, twin)
        ]
        yield from (
            ("state", f"{name} {row}", states[0].get(row), states[1].get(row))
            for row in states[0].keys() | states[1].keys()
            if states[0].get(row) != states[1].get(row)
        )
        pair = (task.model_dump(mode="json"), twin.model_dump(mode="json"))
        yield from _walk(*pair, name, sentence=False)


def _walk(
    one: Any, other: Any, where: str, sentence: bool
) -> Iterator[tuple[str, str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            inner = sentence or key in _SENTENCES
            yield from _walk(one.get(key), other.get(key), f"{where}.{key}", inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _walk(*pair, f"{where}[{number}]", sentence)
    elif one != other:
        numbers = isinstance(one, float | int) and isinstance(other, float | int)
        rounded = (
            isinstance(one, str) and isinstance(other, str) and _rounded(one, other)
        )
        if not rounded:
            yield (
                "number" if numbers and not sentence else "sentence",
                where,
                one,
                other,
            )


def _rounded(one: str, other: str) -> bool:
    """Whether two sentences differ only in the last digit of numbers in them."""
    parts, other_parts = (re.split(r"(\d+(?:\.\d+)?)", text) for text in (one, other))
    if parts[::2] != other_parts[::2]:
        return False
    for number, other_number in zip(parts[1::2], other_parts[1::2], strict=True):
        digits = len(number.partition(".")[2])
        if digits != len(other_number.partition(".")[2]):
            return False
        if abs(
            round(float(number) * 10**digits) - round(float(other_number) * 10**digits)
        ) > (digits > 0):
            return False
    return True


def summarised(folders: Mapping[str, Path], fresh: bool) -> bool:
    """Print what differs from the first arithmetic; whether all that has to be the same is."""
    (_, base), *others = folders.items()
    same = True
    for label, folder in others:
        for path in sorted(base.glob("*.json")):
            found = list(compared(path, folder / path.name))
            if fresh and label not in ARITHMETICS:
                found = [
                    one for one in found if ".controls.random_encoder" not in one[1]
                ]
            wrong = [one for one in found if one[0] != "number"]
            moved = max(
                (
                    (abs(a - b), where)
                    for kind, where, a, b in found
                    if kind == "number"
                ),
                default=(0.0, "nowhere"),
            )
            what = "generated anew" if fresh else "recomputed"
            print(
                f"{label}: {path.stem} {what}: {len(wrong)} states or sentences differ, "
                f"{len(found) - len(wrong)} numbers by at most {moved[0]:.1e} ({moved[1]})"
            )
            for kind, where, one, other in wrong[:10]:
                print(f"  {kind} {where}: {one!r} / {other!r}")
            same = same and not wrong
    return same


def main() -> int:
    """Run every arithmetic, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--python", action="append", default=[], help="of another environment"
    )
    parser.add_argument(
        "--only", choices=ARITHMETICS, action="append", help="beside the first"
    )
    parser.add_argument("--stored", action="store_true", help="no fresh runs")
    parser.add_argument("--recompute", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.recompute:
        recompute(arguments.recompute)
        return 0
    chosen = {
        key: ARITHMETICS[key] for key in ("as it is", *(arguments.only or ARITHMETICS))
    }
    ways = [(label, sys.executable, extra) for label, extra in chosen.items()]
    ways += [(path, path, {}) for path in arguments.python]
    with tempfile.TemporaryDirectory() as scratch:
        evidence: dict[str, Path] = {}
        fresh: dict[str, Path] = {}
        for number, (label, python, extra) in enumerate(ways):
            environment = {**os.environ, **extra, "PYTHONPATH": str(ROOT)}
            folder = evidence[label] = Path(scratch, f"{number}-evidence")
            folder.mkdir()
            subprocess.run(
                [python, __file__, "--recompute", folder], env=environment, check=True
            )
            folder = fresh[label] = Path(scratch, f"{number}-fresh")
            for model in () if arguments.stored else ("toyland", "toy"):
                subprocess.run(
                    [
                        python,
                        "-m",
                        "t2ibench",
                        "--model",
                        model,
                        "--tasks",
                        _TASKS,
                        *_FRESH,
                        "--output-dir",
                        folder,
                    ],
                    env=environment,
                    check=True,
                    capture_output=True,
                )
                (folder / f"{model}.json").write_bytes(
                    (folder / model / "results.json").read_bytes()
                )
        results = [summarised(evidence, fresh=False), summarised(fresh, fresh=True)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
