"""Do the numbers hold? Simulated worlds of known bias, and how large a run has to be."""
