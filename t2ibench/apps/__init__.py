"""What is built upon runs; each app imports public names of the rooms below, and none another."""
