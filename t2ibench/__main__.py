"""Run the command line as `python -m t2ibench`."""

import sys

from t2ibench.cli import main

sys.exit(main())
