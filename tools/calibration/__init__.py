"""Do the numbers hold? Every method, scored in simulated worlds whose bias is known."""
