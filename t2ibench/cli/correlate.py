"""`t2ibench label correlate FILE`: does a score agree with people's ratings?"""

from __future__ import annotations

import argparse
from pathlib import Path

_FEWEST = 5


def run(arguments: argparse.Namespace) -> int:
    """Print Kendall's tau-b between a column of scores and a column of ratings."""
    from tabulate import tabulate

    from t2ibench.stats.correlation import kendall_tau

    groups = _read(Path(arguments.file), arguments.score, arguments.rating, arguments.by)
    rows = []
    for name, pairs in groups.items():
        found = kendall_tau([x for x, _ in pairs], [y for _, y in pairs], arguments.level)
        interval = f"[{found.low:+.3f}, {found.high:+.3f}]" if found.low == found.low else "–"
        tau = f"{found.tau:+.3f}" if found.tau == found.tau else "–"
        p = f"{found.p:.4f}" if found.p == found.p else "–"
        rows.append([*([name] if arguments.by else []), found.n, tau, interval, p])
    percent = f"{arguments.level:.0%}".replace("%", " %")
    headers = [*([arguments.by] if arguments.by else []), "n", "tau-b", f"{percent} CI", "p"]
    print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True))
    print(
        f"\nKendall's tau-b between '{arguments.score}' and '{arguments.rating}': 1 is the same "
        "order, 0 none, -1 the reverse. The interval is for items like these."
    )
    return 0


def _read(
    file: Path, score: str, rating: str, by: str | None
) -> dict[str, list[tuple[float, float]]]:
    """Pairs of numbers, by group; rows that lack one of them are left out, and said."""
    import sys

    from t2ibench.errors import T2IBenchError, did_you_mean, shown
    from t2ibench.store.tables import read_table

    table = read_table(file, "Give a CSV with a header.")
    for name in filter(None, (score, rating, by)):
        if name not in table.columns:
            raise T2IBenchError(
                f"{file} has no column '{shown(name)}'.{did_you_mean(name, table.columns)} "
                f"Columns: {', '.join(map(shown, table.columns)) or 'none'}."
            )
    groups: dict[str, list[tuple[float, float]]] = {}
    lacking = 0
    for number, row in table.rows:
        texts = [row[name].strip() for name in (score, rating)]
        if not all(texts):
            lacking += 1
            continue
        try:
            pair = (float(texts[0]), float(texts[1]))
        except ValueError:
            bad = next(text for text in texts if not _is_number(text))
            raise T2IBenchError(f"{file}:{number}: '{shown(bad)}' is not a number.") from None
        groups.setdefault(row[by] if by else "", []).append(pair)
    if lacking:
        print(f"{lacking} rows without one of the two numbers are left out.", file=sys.stderr)
    few = [name for name, pairs in groups.items() if len(pairs) < _FEWEST]
    if few or not groups:
        where = f" of '{few[0]}'" if few and by else ""
        count = len(groups[few[0]]) if few else 0
        raise T2IBenchError(f"{file} has {count} pairs{where}; {_FEWEST} are the fewest.")
    return groups


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False
