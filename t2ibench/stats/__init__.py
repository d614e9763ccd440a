"""Statistics: numpy and scipy only, every draw from a generator that is passed in."""

from t2ibench.stats.bootstrap import (
    magnitude_interval,
    one_sample_bootstrap,
    percentile_interval,
    resample_weights,
    two_sample_bootstrap,
)
from t2ibench.stats.categorical import (
    concept_association,
    expected_severity,
    kl_divergence,
    macro_f1,
    mad,
    miller_madow,
    multinomial_test,
    severity,
)
from t2ibench.stats.correlation import correlation_permutation
from t2ibench.stats.effects import (
    cliffs_delta,
    cohens_d,
    two_sample_statistic,
    union_effect_size,
)
from t2ibench.stats.ks import group_distance, shuffled_labels
from t2ibench.stats.multiple import benjamini_hochberg, holm
from t2ibench.stats.permutation import (
    PermutationResult,
    p_value,
    two_sample_permutation,
)
from t2ibench.stats.signs import (
    null_abs_two_p_minus_one,
    share_positive_test,
    sign_flip_permutation,
)

__all__ = [
    "PermutationResult",
    "benjamini_hochberg",
    "cliffs_delta",
    "cohens_d",
    "concept_association",
    "correlation_permutation",
    "expected_severity",
    "group_distance",
    "holm",
    "kl_divergence",
    "macro_f1",
    "mad",
    "magnitude_interval",
    "miller_madow",
    "multinomial_test",
    "null_abs_two_p_minus_one",
    "one_sample_bootstrap",
    "p_value",
    "percentile_interval",
    "resample_weights",
    "severity",
    "share_positive_test",
    "shuffled_labels",
    "sign_flip_permutation",
    "two_sample_bootstrap",
    "two_sample_permutation",
    "two_sample_statistic",
    "union_effect_size",
]
