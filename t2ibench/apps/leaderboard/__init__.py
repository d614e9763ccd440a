"""The leaderboard: submissions that anyone can recompute without the images."""
