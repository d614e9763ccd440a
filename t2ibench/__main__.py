"""Run the command line as `python -m t2ibench`."""

import sys

from t2ibench.cli import program

if __name__ == "__main__":
    sys.exit(program())
