"""The parts of the docs site that are made from t2ibench itself."""
