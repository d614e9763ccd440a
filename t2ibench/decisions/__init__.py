"""Decisions by a profile fixed beforehand: pass, fail or undecided, with their error rates."""
