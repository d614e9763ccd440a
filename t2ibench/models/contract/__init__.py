"""What every adapter promises, tried out: `t2ibench check adapter` and the tests of adapters.

Each function makes a model twice, tries it, and returns a line for everything that breaks the
contract of `t2ibench.models.protocols` or `t2ibench.models.language`; an empty list means that it
keeps it.
"""

from t2ibench.models.contract.encoder import check_encoder
from t2ibench.models.contract.generator import check_generator
from t2ibench.models.contract.judge import check_judge
from t2ibench.models.contract.rewriter import check_rewriter

__all__ = ["check_encoder", "check_generator", "check_judge", "check_rewriter"]
