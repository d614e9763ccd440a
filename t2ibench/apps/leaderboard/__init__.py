"""The leaderboard: submissions whose scores anyone can recompute without the images."""
