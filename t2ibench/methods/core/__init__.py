"""The parts that all families share."""
