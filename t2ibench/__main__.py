"""Run the command line as `python -m t2ibench`."""

import sys

from t2ibench.cli.termination import listen

listen()

from t2ibench.cli import main  # noqa: E402  # SIGTERM is heard while it is imported

sys.exit(main())
