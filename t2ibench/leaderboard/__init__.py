"""The leaderboard: submissions that anybody can recompute, without images."""
