"""`python -m t2ibench.cli`."""

import sys

from t2ibench.cli import main

sys.exit(main())
