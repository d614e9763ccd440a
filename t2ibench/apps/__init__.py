"""Applications built on stored runs; each imports public names of lower rooms, and no other app."""
