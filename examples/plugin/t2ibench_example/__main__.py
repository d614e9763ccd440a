"""Print the folder of this package's tasks: `--include-path $(python -m t2ibench_example)`."""

from t2ibench_example import TASKS

print(TASKS)
