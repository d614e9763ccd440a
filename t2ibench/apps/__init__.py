"""Applications built on stored runs; none imports from another app."""
