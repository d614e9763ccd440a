"""An example of a package that extends t2ibench through entry points."""

from pathlib import Path

TASKS = Path(__file__).parent / "tasks"  # for --include-path
