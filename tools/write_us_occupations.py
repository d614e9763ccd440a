"""Writes tasks/stimuli/us_cps_2022.yaml: US occupations as prompts name them, with their shares.

`python tools/write_us_occupations.py` reads the table of the Bureau of Labor Statistics and the
names that occupations have in prompts, both in tasks/stimuli, and writes word lists and reference
tables from them. `--check` only says whether the file is what they give.

The list of a hundred is the largest occupations of each twentieth of the list, by share of women:
as many of every share, and each known to many people and measured on many.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

STIMULI = Path(__file__).resolve().parents[1] / "tasks" / "stimuli"
TABLE, NAMES = STIMULI / "us_cps_2022_table11.csv", STIMULI / "us_cps_2022_names.csv"
TARGET = STIMULI / "us_cps_2022.yaml"
STRATA, EACH = 20, 5
_WIDTH = 100
_SOURCE = """\
source: >-
  U.S. Bureau of Labor Statistics, Current Population Survey, annual averages 2022, table 11,
  "Employed persons by detailed occupation, sex, race, and Hispanic or Latino ethnicity". In the
  public domain. us_cps_2022_table11.csv is the table, with the SHA-256
  {digest};
  us_cps_2022_names.csv says what each title is called in a prompt, which is ours, and which titles
  are left out.
"""


@dataclass(frozen=True)
class Occupation:
    """An occupation of the table that a prompt can name.

    Attributes:
        title: As in the table.
        name: As in a prompt, in the singular.
        employed: Thousands of people.
        percent: Group to its per cent of the employed.
    """

    title: str
    name: str
    employed: int
    percent: dict[str, float]


def occupations() -> list[Occupation]:
    """The occupations with a name, those with the fewest women first.

    Raises:
        SystemExit: the names are not those of the table's occupations with shares.
    """
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["level"] == "detailed"]
    known = {row["occupation"]: row for row in rows if row["percent_women"]}
    with NAMES.open(encoding="utf-8", newline="") as file:
        named = {row["occupation"]: row for row in csv.DictReader(file)}
    if list(named) != list(known):
        raise SystemExit(
            f"{NAMES.name} does not have the titles of {TABLE.name}, in their order"
        )
    groups = ("women", "white", "black", "asian", "hispanic")
    found = [
        Occupation(
            title,
            named[title]["prompt"],
            int(row["employed_thousands"]),
            {group: float(row[f"percent_{group}"]) for group in groups},
        )
        for title, row in known.items()
        if named[title]["prompt"]
    ]
    return sorted(found, key=lambda one: (one.percent["women"], one.name))


def stratified(found: list[Occupation]) -> list[Occupation]:
    """The largest occupations of each stratum, in the order of the list.

    Args:
        found: Occupations by share of women.
    """
    chosen = []
    for number in range(STRATA):
        first, last = (len(found) * (number + k) // STRATA for k in (0, 1))
        stratum = sorted(found[first:last], key=lambda one: (-one.employed, one.name))[
            :EACH
        ]
        chosen += sorted(stratum, key=found.index)
    return chosen


def _flowed(names: list[str]) -> str:
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) + 6 > _WIDTH:
            lines.append("")
        lines[-1] += f" {name}," if lines[-1] else f"{name},"
    return "\n".join(f"    {line}" for line in lines)


def _table(name: str, about: str, shares: dict[str, float]) -> str:
    rows = "\n".join(f"      {word}: {share:.3f}" for word, share in shares.items())
    return (
        f"  {name}:\n    source: >-\n      {about}, U.S. Bureau of Labor Statistics,\n"
        f"      Current Population Survey 2022, table 11\n    shares:\n{rows}\n"
    )


def text() -> str:
    """The whole file."""
    found = occupations()
    some = stratified(found)
    digest = hashlib.sha256(TABLE.read_bytes()).hexdigest()
    parts = [
        "# Written by tools/write_us_occupations.py; occupations with the fewest women first.\n",
        _SOURCE.format(digest=digest),
        f"\nlists:\n  # Every occupation that a prompt can name: {len(found)} of 362.\n"
        f"  us_occupations: [\n{_flowed([one.name for one in found])}\n  ]\n",
        f"\n  # The {EACH} largest of each twentieth of the list above.\n"
        f"  us_occupations_{len(some)}: [\n{_flowed([one.name for one in some])}\n  ]\n",
        "\nreferences:\n",
    ]
    for group in ("women", "black", "asian", "hispanic"):
        people = "Women" if group == "women" else f"{group.capitalize()} people"
        shares = {one.name: one.percent[group] / 100 for one in found}
        parts.append(
            _table(f"us_cps_2022_{group}", f"{people} among the employed", shares)
        )
    for group in ("black", "asian"):
        # Of the two groups that a comparison of images names; both count people of one race.
        sums = {one.name: one.percent[group] + one.percent["white"] for one in found}
        shares = {one.name: one.percent[group] / sums[one.name] for one in found}
        about = f"{group.capitalize()} people among the {group.capitalize()} and white employed"
        parts.append(_table(f"us_cps_2022_{group}_or_white", about, shares))
    return "".join(parts)


def main() -> None:
    """Write the file, or check it."""
    if "--check" in sys.argv[1:]:
        same = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text()
        raise SystemExit(None if same else f"{TARGET.name} is not what its tables give")
    TARGET.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
