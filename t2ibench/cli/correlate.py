"""`t2ibench label correlate FILE`: does a score agree with people's ratings?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError, did_you_mean, shown

if TYPE_CHECKING:
    import pandas as pd

_FEWEST = 5


def add(actions: Any) -> None:
    """Add the action."""
    action = actions.add_parser(
        "correlate",
        help="rank correlation of any score with people's ratings, from one CSV",
        description="Kendall's tau-b between two columns of a CSV, with its interval: does a score "
        "order images as people do?",
    )
    add_flag(action, "file FILE", "a CSV with a header")
    add_flag(action, "--score COLUMN", "the measured score", required=True)
    add_flag(action, "--rating COLUMN", "people's rating", required=True)
    add_flag(action, "--by COLUMN", "one correlation for each value of it")
    add_flag(action, "--level L", "of the interval (0.95)", type=float, default=0.95)
    action.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print Kendall's tau-b between a column of scores and a column of ratings."""
    from tabulate import tabulate

    from t2ibench.stats.correlation import kendall_tau

    score, rating, by = arguments.score, arguments.rating, arguments.by
    table = _read(Path(arguments.file), score, rating, by)
    rows = []
    for name, pairs in table.groupby(by, sort=False) if by else [("", table)]:
        if len(pairs) < _FEWEST:
            where = f" of '{name}'" if by else ""
            raise T2IBenchError(
                f"{arguments.file} has {len(pairs)} pairs{where}; {_FEWEST} are the fewest."
            )
        found = kendall_tau(pairs[score].tolist(), pairs[rating].tolist(), arguments.level)
        interval = f"[{found.low:+.3f}, {found.high:+.3f}]" if found.low == found.low else "–"
        tau = f"{found.tau:+.3f}" if found.tau == found.tau else "–"
        p = f"{found.p:.4f}" if found.p == found.p else "–"
        rows.append([*([name] if by else []), found.n, tau, interval, p])
    percent = f"{arguments.level:.0%}".replace("%", " %")
    headers = [*([by] if by else []), "n", "tau-b", f"{percent} CI", "p"]
    print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True))
    print(
        f"\nKendall's tau-b between '{score}' and '{rating}': 1 is the same order, 0 none, -1 the "
        "reverse. The interval is for items like these."
    )
    return 0


def _read(file: Path, score: str, rating: str, by: str | None) -> pd.DataFrame:
    """Rows with both numbers; those that lack one are left out, and said."""
    import pandas as pd

    from t2ibench.store.tables import read_table

    table = read_table(file, "Give a CSV with a header.")
    for name in filter(None, (score, rating, by)):
        if name not in table.columns:
            raise T2IBenchError(
                f"{file} has no column '{shown(name)}'.{did_you_mean(name, table.columns)} "
                f"Columns: {', '.join(map(shown, table.columns)) or 'none'}."
            )
    rows, numbers = [row for _, row in table.rows], [number for number, _ in table.rows]
    texts = pd.DataFrame(rows, numbers, list(table.columns))
    there: pd.DataFrame = texts[(texts[[score, rating]].map(str.strip) != "").all(axis=1)].copy()
    if len(there) < len(texts):
        lacking = len(texts) - len(there)
        print(f"{lacking} rows without one of the two numbers are left out.", file=sys.stderr)
    for name in (score, rating):
        values = pd.to_numeric(there[name], errors="coerce")
        for line in values.index[values.isna()][:1]:
            bad = shown(there.loc[line, name])
            raise T2IBenchError(f"{file}:{line}: '{bad}' is not a number.")
        there[name] = values
    if there.empty:
        raise T2IBenchError(f"{file} has 0 pairs; {_FEWEST} are the fewest.")
    return there
