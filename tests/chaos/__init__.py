"""Any bytes, any kill, any damage: a value, the same results, or one clear line.

A few of each from fixed seeds, and many from a new seed, which is printed:

    python -m pytest tests/chaos -m nightly
    T2IBENCH_CHAOS_SEED=123 python -m pytest tests/chaos -m nightly       # the same ones again
"""
